//! Which media types are documents: files that people write, larger than pages and worth waiting for.

use teia_base::MediaType;

/// Whole families, by how their names begin.
const FAMILIES: [&str; 4] = [
    "application/vnd.oasis.opendocument.",
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.ms-",
    "application/x-iwork",
];

/// Single types, sorted.
const TYPES: [&str; 12] = [
    "application/epub+zip",
    "application/gzip",
    "application/msword",
    "application/pdf",
    "application/postscript",
    "application/rtf",
    "application/x-gzip",
    "application/x-pdf",
    "application/x-tar",
    "application/zip",
    "image/vnd.djvu",
    "text/rtf",
];

/// Whether it may be a sitemap or a feed: a list of URLs, of which the beginning is as good as the whole.
pub(crate) fn may_be_list(media_type: &MediaType) -> bool {
    media_type.is_xml() && !media_type.is_html() && media_type.essence() != "image/svg+xml"
}

/// Whether the limits of documents are for this type.
pub(crate) fn is_document(media_type: &MediaType) -> bool {
    let name = media_type.essence();
    TYPES.binary_search(&name).is_ok() || FAMILIES.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_people_write_are_documents_and_pages_are_not() {
        assert!(TYPES.is_sorted());
        let is = |name: &str| is_document(&MediaType::parse(name).unwrap());
        assert!(is("application/pdf; version=1.7"));
        assert!(is(
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
        ));
        let may_be_list = |name: &str| may_be_list(&MediaType::parse(name).unwrap());
        assert!(may_be_list("text/xml; charset=utf-8") && may_be_list("application/rss+xml"));
        assert!(!may_be_list("application/xhtml+xml") && !may_be_list("text/html"));
        for page in [
            "text/html",
            "text/plain",
            "image/png",
            "application/json",
            "video/mp4",
        ] {
            assert!(!is(page), "{page}");
        }
    }
}
