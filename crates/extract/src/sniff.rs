//! What a body really is: signatures, and the first element of markup.
//!
//! A declared type is believed unless the bytes plainly say otherwise: a picture is no page,
//! and a feed served as `text/xml`, `text/plain` or `text/html` is still a feed.

use std::borrow::Cow;

use teia_base::MediaType;

use crate::markup::{Rules, Scanner, Token, key};

/// How much of a body is looked at.
const BYTES: usize = 8 << 10;

/// The type a body should be read as.
pub(crate) fn sniff(declared: Option<&MediaType>, body: &[u8]) -> Option<MediaType> {
    let charset = declared.and_then(MediaType::charset);
    let declared = declared.filter(|media_type| !is_generic(media_type));
    let found = match declared {
        None => {
            if body.is_empty() {
                return None;
            }
            signature(body)
                .or_else(|| markup(body).or_else(|| json(body)))
                .or_else(|| plain(body))
        }
        Some(declared) if is_textual(declared) => {
            signature(body).or_else(|| match declared.essence() {
                "text/css" | "text/javascript" => None,
                "application/json" | "application/feed+json" => json(body),
                _ => markup(body).filter(|found| may_replace(declared, found)),
            })
        }
        Some(_) => signature(body).or_else(|| markup(body).filter(|found| *found == HTML)),
    };
    match (declared, found) {
        (Some(declared), None) => Some(declared.clone()),
        (Some(declared), Some(found)) if declared.essence() == found => Some(declared.clone()),
        // A container that the signature knows less well: `.docx` is a zip file.
        (Some(declared), Some("application/zip" | "text/xml" | "application/gzip"))
            if !is_textual(declared) =>
        {
            Some(declared.clone())
        }
        (_, Some(found)) => with_charset(found, charset),
        (None, None) => MediaType::parse("application/octet-stream"),
    }
}

/// The type to report: what was declared, where reading it as another is only a finer word for
/// the same.
pub(crate) fn reported(
    declared: Option<&MediaType>,
    read_as: Option<&MediaType>,
) -> Option<MediaType> {
    match (declared, read_as) {
        (Some(declared), Some(read_as)) if !is_generic(declared) => {
            let same_family = declared.is_xml() && (read_as.is_xml() || read_as.is_html())
                || declared.essence() == "application/json"
                || declared.essence() == "text/plain" && read_as.is_xml();
            Some(if same_family { declared } else { read_as }.clone())
        }
        (_, read_as) => read_as.cloned(),
    }
}

/// Whether the type says nothing.
pub(crate) fn is_generic(media_type: &MediaType) -> bool {
    matches!(
        media_type.essence(),
        "application/octet-stream"
            | "binary/octet-stream"
            | "application/unknown"
            | "unknown/unknown"
            | "application/x-unknown"
            | "*/*"
    )
}

/// Whether the type is one of text that an extractor may read.
pub(crate) fn is_textual(media_type: &MediaType) -> bool {
    media_type.essence().starts_with("text/")
        || media_type.is_xml()
        || media_type.is_html()
        || matches!(
            media_type.essence(),
            "application/json"
                | "application/feed+json"
                | "application/javascript"
                | "application/rss"
        )
}

const HTML: &str = "text/html";
const XHTML: &str = "application/xhtml+xml";

/// Whether a body declared so may be read as what its first element shows.
fn may_replace(declared: &MediaType, found: &str) -> bool {
    match declared.essence() {
        // Browsers never take plain text for a page; a feed or sitemap is worth it.
        "text/plain" => !matches!(found, HTML | XHTML | "image/svg+xml" | "text/xml"),
        "text/html" => !matches!(found, XHTML | "image/svg+xml" | "text/xml"),
        XHTML => !matches!(found, HTML | "text/xml"),
        _ if declared.is_xml() => found != "text/xml",
        _ => false,
    }
}

/// The type that the first element of markup shows.
fn markup(body: &[u8]) -> Option<&'static str> {
    let start = beginning(body);
    let trimmed = start.trim_start();
    if !trimmed.starts_with('<') {
        return None;
    }
    let is_xml = trimmed.starts_with("<?xml");
    let mut scanner = Scanner::new(trimmed, Rules::Xml);
    while let Some(token) = scanner.next() {
        match token {
            Token::Start(name) => {
                let local = name.text.rsplit(':').next().unwrap_or(name.text);
                return root(local, name.key, is_xml);
            }
            Token::Text(text) if !text.trim().is_empty() => break,
            Token::Doctype(_) if !is_xml && trimmed.len() > 14 => {
                let doctype = trimmed.get(..14).unwrap_or("");
                if doctype.eq_ignore_ascii_case("<!doctype html") {
                    return Some(HTML);
                }
            }
            _ => {}
        }
    }
    is_xml.then_some("text/xml")
}

fn root(local: &str, name: u64, is_xml: bool) -> Option<&'static str> {
    let is = |names: &[&str]| names.iter().any(|name| local.eq_ignore_ascii_case(name));
    if is(&["rss", "channel"]) {
        Some("application/rss+xml")
    } else if is(&["feed"]) {
        Some("application/atom+xml")
    } else if is(&["rdf"]) {
        Some("application/rdf+xml")
    } else if is(&["urlset", "sitemapindex"]) {
        Some("application/xml")
    } else if is(&["html"]) {
        Some(if is_xml { XHTML } else { HTML })
    } else if is(&["svg"]) {
        Some("image/svg+xml")
    } else if is_xml {
        Some("text/xml")
    } else {
        let html = const {
            [
                key("head"),
                key("script"),
                key("iframe"),
                key("h1"),
                key("div"),
                key("font"),
                key("table"),
                key("a"),
                key("style"),
                key("title"),
                key("b"),
                key("body"),
                key("br"),
                key("p"),
                key("meta"),
                key("link"),
                key("frameset"),
                key("center"),
                key("form"),
                key("ul"),
                key("span"),
                key("base"),
                key("img"),
            ]
        };
        html.contains(&name).then_some(HTML)
    }
}

/// The first characters, whatever Unicode form they have.
fn beginning(body: &[u8]) -> Cow<'_, str> {
    let start = &body[..body.len().min(BYTES)];
    if let Some((encoding, length)) = encoding_rs::Encoding::for_bom(start) {
        return encoding.decode_without_bom_handling(&start[length..]).0;
    }
    if start.starts_with(b"<\0") {
        return encoding_rs::UTF_16LE.decode_without_bom_handling(start).0;
    }
    if start.starts_with(b"\0<") {
        return encoding_rs::UTF_16BE.decode_without_bom_handling(start).0;
    }
    match std::str::from_utf8(start) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            encoding_rs::WINDOWS_1252
                .decode_without_bom_handling(start)
                .0
        }
    }
}

fn json(body: &[u8]) -> Option<&'static str> {
    let start = beginning(body);
    let trimmed = start.trim_start();
    if !trimmed.starts_with('{') {
        return None;
    }
    let feed = trimmed.contains("://jsonfeed.org/version/")
        || trimmed.contains(":\\/\\/jsonfeed.org\\/version\\/");
    Some(if feed {
        "application/feed+json"
    } else {
        "application/json"
    })
}

/// Text, if nothing in it is binary (WHATWG MIME Sniffing, section 7.2).
fn plain(body: &[u8]) -> Option<&'static str> {
    let start = &body[..body.len().min(1445)];
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    let marked = encoding_rs::Encoding::for_bom(start).is_some();
    (marked || !start.iter().any(is_binary)).then_some("text/plain")
}

fn with_charset(essence: &str, charset: Option<&str>) -> Option<MediaType> {
    match charset {
        Some(charset) => MediaType::parse(&format!("{essence}; charset={charset}")),
        None => MediaType::parse(essence),
    }
}

/// The type that the first bytes name.
fn signature(body: &[u8]) -> Option<&'static str> {
    for &(offset, magic, essence) in SIGNATURES {
        if body
            .get(offset..)
            .is_some_and(|rest| rest.starts_with(magic))
        {
            return Some(essence);
        }
    }
    match body {
        [b'R', b'I', b'F', b'F', _, _, _, _, kind @ ..] => match kind.get(..4)? {
            b"WEBP" => Some("image/webp"),
            b"WAVE" => Some("audio/wav"),
            b"AVI " => Some("video/x-msvideo"),
            _ => None,
        },
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand.get(..4)? {
            b"avif" | b"avis" => Some("image/avif"),
            b"heic" | b"heix" | b"mif1" => Some("image/heic"),
            b"M4A " => Some("audio/mp4"),
            b"qt  " => Some("video/quicktime"),
            _ => Some("video/mp4"),
        },
        _ => None,
    }
}

/// Offset, bytes, type.
const SIGNATURES: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"BM\0", "image/bmp"),
    (0, b"\0\0\x01\0", "image/x-icon"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\xff\x0a", "image/jxl"),
    (0, b"\0\0\0\x0cJXL \r\n", "image/jxl"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"%!PS-Adobe-", "application/postscript"),
    (0, b"{\\rtf", "application/rtf"),
    (
        0,
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "application/x-ole-storage",
    ),
    (30, b"mimetypeapplication/epub+zip", "application/epub+zip"),
    (
        30,
        b"mimetypeapplication/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.text",
    ),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (257, b"ustar", "application/x-tar"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"OggS\0", "application/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"MThd\0\0\0\x06", "audio/midi"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (0, b"FLV\x01", "video/x-flv"),
    (0, b"\0\0\x01\xba", "video/mpeg"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"OTTO", "font/otf"),
    (0, b"\0\x01\0\0\0", "font/ttf"),
    (0, b"\0asm", "application/wasm"),
    (0, b"\x7fELF", "application/x-elf"),
    (
        0,
        b"MZ\x90\0",
        "application/vnd.microsoft.portable-executable",
    ),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"\xca\xfe\xba\xbe", "application/java-vm"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(declared: &str, body: &[u8], read_as: &str, report: &str) {
        let declared = MediaType::parse(declared);
        let found = sniff(declared.as_ref(), body);
        assert_eq!(found.as_ref().map(MediaType::essence), Some(read_as));
        let reported = reported(declared.as_ref(), found.as_ref());
        assert_eq!(reported.as_ref().map(MediaType::essence), Some(report));
    }

    #[test]
    fn a_missing_type_is_found_in_the_bytes() {
        check("", b"\x89PNG\r\n\x1a\nxx", "image/png", "image/png");
        check(
            "application/octet-stream",
            b"<!DOCTYPE html><p>",
            "text/html",
            "text/html",
        );
        check("", b" <p>a", "text/html", "text/html");
        check("", b"just words", "text/plain", "text/plain");
        check(
            "",
            b"a\0b",
            "application/octet-stream",
            "application/octet-stream",
        );
        check("", b"%PDF-1.4", "application/pdf", "application/pdf");
    }

    #[test]
    fn a_plainly_wrong_type_is_not_believed() {
        check(
            "image/png",
            b"<!doctype html><title>x</title>",
            "text/html",
            "text/html",
        );
        check("text/html", b"GIF89a...", "image/gif", "image/gif");
        check(
            "image/svg+xml",
            b"<?xml version='1.0'?><svg/>",
            "image/svg+xml",
            "image/svg+xml",
        );
        check(
            "application/vnd.oasis.opendocument.text",
            b"PK\x03\x04",
            "application/vnd.oasis.opendocument.text",
            "application/vnd.oasis.opendocument.text",
        );
    }

    #[test]
    fn plain_text_with_markup_stays_plain() {
        check(
            "text/plain",
            b"<!doctype html><p>",
            "text/plain",
            "text/plain",
        );
        check("text/css", b"<p>", "text/css", "text/css");
    }

    #[test]
    fn feeds_and_sitemaps_are_known_by_their_root() {
        check(
            "text/xml",
            b"<?xml version='1.0'?><!-- x --><rss>",
            "application/rss+xml",
            "text/xml",
        );
        check(
            "text/html",
            b"<feed xmlns='http://www.w3.org/2005/Atom'>",
            "application/atom+xml",
            "application/atom+xml",
        );
        check("text/plain", b"<urlset>", "application/xml", "text/plain");
        check(
            "application/rss+xml",
            b"<!DOCTYPE html><html>",
            "text/html",
            "application/rss+xml",
        );
        check(
            "application/json",
            b"{\"version\":\"https://jsonfeed.org/version/1\"}",
            "application/feed+json",
            "application/json",
        );
        check("text/html", b"<html><rss>", "text/html", "text/html");
        check(
            "application/xml",
            "\u{feff}<ns:urlset>".as_bytes(),
            "application/xml",
            "application/xml",
        );
    }
}
