//! What the end of a file name tells of a document before it is fetched.

use std::sync::LazyLock;

use crate::{CanonicalUrl, MediaPattern, MediaType};

/// Media types in which links are looked for, whether or not they are kept.
///
/// Gzip is one of them because sitemaps come so.
const LINK_TYPES: [&str; 14] = [
    "text/html",
    "application/xhtml+xml",
    "application/vnd.wap.xhtml+xml",
    "text/xml",
    "application/xml",
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
    "application/feed+json",
    "text/plain",
    "text/css",
    "application/gzip",
    "application/x-gzip",
    "inode/directory",
];

static LINK_PATTERNS: LazyLock<Vec<MediaPattern>> = LazyLock::new(|| {
    LINK_TYPES
        .iter()
        .map(|essence| essence.parse().expect("the list has media types only"))
        .collect()
});

/// Patterns of the types in which links are looked for.
pub(super) fn link_patterns() -> &'static [MediaPattern] {
    &LINK_PATTERNS
}

/// Whether links are looked for in documents of this type.
pub(super) fn holds_links(media_type: &MediaType) -> bool {
    LINK_PATTERNS
        .iter()
        .any(|pattern| pattern.matches(media_type))
}

/// The media types that a URL surely leads to, if its file name says so; empty where it might be
/// anything. No type in which links are looked for is ever among them.
pub(super) fn types_of(url: &CanonicalUrl) -> &'static [MediaType] {
    let name = url.path().rsplit('/').next().unwrap_or("");
    // Wikis have pages that are named like the file they describe: `/wiki/File:Photo.jpg`.
    if name.contains(':') || name.to_ascii_lowercase().contains("%3a") {
        return &[];
    }
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return &[];
    };
    if stem.is_empty() || extension.len() > 5 {
        return &[];
    }
    let extension = extension.to_ascii_lowercase();
    TABLE
        .binary_search_by(|row| row.0.cmp(extension.as_str()))
        .map_or(&[], |at| TABLE[at].1.as_slice())
}

static TABLE: LazyLock<Vec<(&str, Vec<MediaType>)>> = LazyLock::new(|| {
    let mut table: Vec<(&str, Vec<MediaType>)> = EXTENSIONS
        .iter()
        .map(|(extension, types)| {
            (
                *extension,
                types.split(' ').filter_map(MediaType::parse).collect(),
            )
        })
        .collect();
    table.sort_unstable_by_key(|row| row.0);
    table
});

/// Extensions that servers use for one kind of file only, with every name that its type goes by.
const EXTENSIONS: [(&str, &str); 74] = [
    // pictures
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("jpe", "image/jpeg"),
    ("jfif", "image/jpeg"),
    ("png", "image/png"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("heic", "image/heic"),
    ("bmp", "image/bmp image/x-ms-bmp"),
    ("ico", "image/x-icon image/vnd.microsoft.icon"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("psd", "image/vnd.adobe.photoshop application/octet-stream"),
    ("svg", "image/svg+xml"),
    ("svgz", "image/svg+xml"),
    // sound and film
    ("mp3", "audio/mpeg audio/mp3"),
    ("m4a", "audio/mp4 audio/x-m4a"),
    ("wav", "audio/wav audio/x-wav"),
    ("flac", "audio/flac audio/x-flac"),
    ("aac", "audio/aac"),
    ("ogg", "audio/ogg video/ogg application/ogg"),
    ("oga", "audio/ogg"),
    ("opus", "audio/ogg audio/opus"),
    ("wma", "audio/x-ms-wma"),
    ("mid", "audio/midi"),
    ("mp4", "video/mp4"),
    ("m4v", "video/mp4 video/x-m4v"),
    ("webm", "video/webm audio/webm"),
    ("ogv", "video/ogg"),
    ("mpg", "video/mpeg"),
    ("mpeg", "video/mpeg"),
    ("avi", "video/x-msvideo video/avi"),
    ("mov", "video/quicktime"),
    ("wmv", "video/x-ms-wmv"),
    ("flv", "video/x-flv"),
    ("mkv", "video/x-matroska"),
    ("3gp", "video/3gpp audio/3gpp"),
    // archives and programs
    (
        "zip",
        "application/zip application/x-zip-compressed application/octet-stream",
    ),
    (
        "rar",
        "application/vnd.rar application/x-rar-compressed application/octet-stream",
    ),
    ("7z", "application/x-7z-compressed application/octet-stream"),
    ("tar", "application/x-tar application/octet-stream"),
    (
        "tgz",
        "application/gzip application/x-gzip application/x-compressed application/octet-stream",
    ),
    ("bz2", "application/x-bzip2 application/octet-stream"),
    ("xz", "application/x-xz application/octet-stream"),
    ("zst", "application/zstd application/octet-stream"),
    (
        "iso",
        "application/x-iso9660-image application/octet-stream",
    ),
    (
        "dmg",
        "application/x-apple-diskimage application/octet-stream",
    ),
    (
        "exe",
        "application/x-msdownload application/vnd.microsoft.portable-executable application/octet-stream",
    ),
    ("msi", "application/x-msi application/octet-stream"),
    (
        "deb",
        "application/vnd.debian.binary-package application/x-debian-package application/octet-stream",
    ),
    (
        "rpm",
        "application/x-rpm application/x-redhat-package-manager application/octet-stream",
    ),
    (
        "apk",
        "application/vnd.android.package-archive application/octet-stream",
    ),
    ("jar", "application/java-archive application/octet-stream"),
    ("swf", "application/x-shockwave-flash"),
    ("wasm", "application/wasm"),
    (
        "js",
        "text/javascript application/javascript application/x-javascript",
    ),
    ("mjs", "text/javascript application/javascript"),
    // fonts
    (
        "woff",
        "font/woff application/font-woff application/x-font-woff",
    ),
    ("woff2", "font/woff2 application/font-woff2"),
    (
        "ttf",
        "font/ttf font/sfnt application/x-font-ttf application/octet-stream",
    ),
    (
        "otf",
        "font/otf font/sfnt application/x-font-otf application/octet-stream",
    ),
    ("eot", "application/vnd.ms-fontobject"),
    // documents
    ("pdf", "application/pdf application/x-pdf"),
    ("ps", "application/postscript"),
    ("epub", "application/epub+zip"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document application/octet-stream",
    ),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet application/octet-stream",
    ),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation application/octet-stream",
    ),
    ("xls", "application/vnd.ms-excel application/octet-stream"),
    (
        "ppt",
        "application/vnd.ms-powerpoint application/octet-stream",
    ),
    (
        "odt",
        "application/vnd.oasis.opendocument.text application/octet-stream",
    ),
    (
        "ods",
        "application/vnd.oasis.opendocument.spreadsheet application/octet-stream",
    ),
    (
        "odp",
        "application/vnd.oasis.opendocument.presentation application/octet-stream",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn essences(path: &str) -> Vec<&'static str> {
        let url = CanonicalUrl::parse(&format!("http://a.example{path}")).unwrap();
        types_of(&url).iter().map(MediaType::essence).collect()
    }

    #[test]
    fn a_plain_file_name_tells_its_type() {
        assert_eq!(essences("/a/photo.JPG?w=100"), ["image/jpeg"]);
        assert_eq!(
            essences("/a.b/archive.tar.xz"),
            ["application/x-xz", "application/octet-stream"]
        );
    }

    #[test]
    fn whatever_might_have_links_is_not_told() {
        for path in [
            "/",
            "/a",
            "/a.html",
            "/a.php",
            "/photo.jpg/",
            "/show.asp?f=a.jpg",
            "/feed.xml",
            "/sitemap.xml.gz",
            "/style.css",
            "/robots.txt",
            "/.png",
            "/wiki/File:Photo.jpg",
            "/wiki/Datei%3APhoto.jpg",
            "/v1.2",
        ] {
            assert!(essences(path).is_empty(), "{path}");
        }
    }

    #[test]
    fn the_table_is_sound() {
        assert_eq!(TABLE.len(), EXTENSIONS.len());
        for (row, (extension, types)) in TABLE
            .iter()
            .zip(EXTENSIONS.iter().collect::<std::collections::BTreeSet<_>>())
        {
            assert_eq!(row.0, *extension);
            assert_eq!(row.1.len(), types.split(' ').count(), "{extension}");
            // `.tgz` is gzip and no sitemap.
            assert!(
                *extension == "tgz" || !row.1.iter().any(holds_links),
                "{extension}"
            );
        }
    }
}
