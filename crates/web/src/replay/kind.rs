//! What a copy is, by its bytes more than by its name: only what is known to be harmless is shown in place.

use super::Role;

/// How a copy is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A page, rewritten.
    Html,
    /// A style sheet, rewritten.
    Css,
    /// Plain text.
    Text,
    /// A picture, sound, film or font whose bytes say the same as its type.
    Media(&'static str),
    /// A drawing that can hold scripts: shown only as a picture inside a page, else saved.
    Svg,
    /// Everything else is saved, never shown.
    Attachment,
}

impl Kind {
    pub(crate) fn of(declared: &str, bytes: &[u8], role: Role) -> Self {
        let by_bytes = media_type_of(bytes);
        if let Some(media_type) = by_bytes {
            return Self::Media(media_type);
        }
        match declared {
            "text/html" | "application/xhtml+xml" => match role {
                Role::Page | Role::Frame => Self::Html,
                _ => Self::Attachment,
            },
            "text/css" => Self::Css,
            "image/svg+xml" => Self::Svg,
            "text/plain" => Self::Text,
            declared if is_readable(declared) => Self::Text,
            // Declared as a picture, a font or a film, and not one that is known.
            declared if declared.starts_with("image/") || declared.starts_with("font/") => {
                Self::Attachment
            }
            "" if role == Role::Style => Self::Css,
            "" if matches!(role, Role::Page | Role::Frame) && looks_like_html(bytes) => Self::Html,
            _ => Self::Attachment,
        }
    }
}

/// Types that people read as they are. A browser is told that it is plain text, and not to guess.
fn is_readable(declared: &str) -> bool {
    matches!(
        declared,
        "text/markdown"
            | "text/x-markdown"
            | "text/csv"
            | "text/tab-separated-values"
            | "text/javascript"
            | "text/x-rst"
            | "text/calendar"
            | "text/vtt"
            | "application/json"
            | "application/x-ndjson"
            | "application/javascript"
            | "application/yaml"
            | "application/toml"
    ) || declared.starts_with("application/") && declared.ends_with("+json")
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(512)];
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let start = start.trim_start();
    start.starts_with("<!doctype html") || start.starts_with("<html") || start.contains("<head")
}

/// Pictures, fonts, films and sounds by their first bytes.
fn media_type_of(bytes: &[u8]) -> Option<&'static str> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let at = |place: usize, magic: &[u8]| bytes.get(place..place + magic.len()) == Some(magic);
    Some(match () {
        () if starts(b"\x89PNG\r\n\x1a\n") => "image/png",
        () if starts(b"\xff\xd8\xff") => "image/jpeg",
        () if starts(b"GIF87a") || starts(b"GIF89a") => "image/gif",
        () if starts(b"RIFF") && at(8, b"WEBP") => "image/webp",
        () if starts(b"RIFF") && at(8, b"WAVE") => "audio/wav",
        () if starts(b"BM") && bytes.len() > 26 && at(6, &[0, 0, 0, 0]) => "image/bmp",
        () if starts(&[0, 0, 1, 0]) => "image/x-icon",
        () if at(4, b"ftypavif") || at(4, b"ftypavis") => "image/avif",
        () if at(4, b"ftyp") => "video/mp4",
        () if starts(b"\x1aE\xdf\xa3") => "video/webm",
        () if starts(b"OggS") => "audio/ogg",
        () if starts(b"ID3") || starts(&[0xff, 0xfb]) => "audio/mpeg",
        () if starts(b"wOFF") => "font/woff",
        () if starts(b"wOF2") => "font/woff2",
        () if starts(b"OTTO") => "font/otf",
        () if starts(&[0, 1, 0, 0, 0]) => "font/ttf",
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_calls_itself_a_picture_is_saved() {
        let page = b"<html><script>alert(1)</script>";
        assert_eq!(Kind::of("image/png", page, Role::Image), Kind::Attachment);
        assert_eq!(Kind::of("text/html", page, Role::Image), Kind::Attachment);
        assert_eq!(
            Kind::of("text/xml", b"<?xml-stylesheet?>", Role::Page),
            Kind::Attachment
        );
        assert_eq!(
            Kind::of("application/pdf", b"%PDF-1.4", Role::Page),
            Kind::Attachment
        );
        for readable in ["text/csv", "text/markdown", "application/ld+json"] {
            assert_eq!(Kind::of(readable, page, Role::Page), Kind::Text);
        }
        assert_eq!(
            Kind::of("text/html", b"GIF89a<script>", Role::Page),
            Kind::Media("image/gif")
        );
    }
}
