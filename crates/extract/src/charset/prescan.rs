//! The charset a document declares in its first 1,024 bytes.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, X_USER_DEFINED};

use super::label;
use crate::markup::is_space;

const BYTES: usize = 1024;
const LATE_BYTES: usize = 64 << 10;

/// Of a page, by the standard's "prescan a byte stream to determine its encoding", with the
/// XML declaration where no meta says anything.
pub(super) fn html(body: &[u8]) -> Option<&'static Encoding> {
    if let Some(encoding) = utf16_declaration(body) {
        return Some(encoding);
    }
    metas(&body[..body.len().min(BYTES)]).or_else(|| xml_declaration(body))
}

/// Of a page whose meta comes too late for the prescan.
pub(super) fn late_html(body: &[u8]) -> Option<&'static Encoding> {
    metas(&body[..body.len().min(LATE_BYTES)])
}

/// Of XML: its declaration.
pub(super) fn xml(body: &[u8]) -> Option<&'static Encoding> {
    utf16_declaration(body).or_else(|| xml_declaration(body.trim_ascii_start()))
}

/// Of a style sheet: `@charset "…";` as its very first bytes.
pub(super) fn css(body: &[u8]) -> Option<&'static Encoding> {
    let rest = body.strip_prefix(b"@charset \"")?;
    let end = memchr::memchr(b'"', &rest[..rest.len().min(BYTES)])?;
    readable(&rest[..end])
}

/// `<?xml` in UTF-16, which no label could be read from otherwise.
fn utf16_declaration(body: &[u8]) -> Option<&'static Encoding> {
    if body.starts_with(b"<\0?\0x\0") {
        Some(UTF_16LE)
    } else if body.starts_with(b"\0<\0?\0x") {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// The standard's "get an XML encoding".
fn xml_declaration(body: &[u8]) -> Option<&'static Encoding> {
    if !body.starts_with(b"<?xml") {
        return None;
    }
    let end = memchr::memchr(b'>', &body[..body.len().min(BYTES)])?;
    let declaration = &body[..end];
    let at = memchr::memmem::find(declaration, b"encoding")? + b"encoding".len();
    let is_blank = |byte: &u8| *byte <= b' ';
    let rest = &declaration[at..];
    let rest = &rest[rest.iter().take_while(|byte| is_blank(byte)).count()..];
    let rest = rest.strip_prefix(b"=")?;
    let rest = &rest[rest.iter().take_while(|byte| is_blank(byte)).count()..];
    let quote = *rest
        .first()
        .filter(|&&byte| byte == b'"' || byte == b'\'')?;
    let length = memchr::memchr(quote, &rest[1..])?;
    readable(&rest[1..=length])
}

/// The encoding of a label that was read as ASCII: then it cannot be UTF-16.
fn readable(name: &[u8]) -> Option<&'static Encoding> {
    if name.len() > 64 {
        return None;
    }
    let encoding = label(std::str::from_utf8(name).ok()?)?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        encoding_rs::WINDOWS_1252
    } else {
        encoding
    })
}

fn metas(bytes: &[u8]) -> Option<&'static Encoding> {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'<', &bytes[at.min(bytes.len())..]) {
        at += found;
        let rest = &bytes[at..];
        if rest.starts_with(b"<!--") {
            // The dashes of the opening may be those of the closing: `<!-->`.
            at += 2 + memchr::memmem::find(&rest[2..], b"-->")? + 3;
        } else if is_meta(rest) {
            let mut attributes = Attributes { bytes, at: at + 6 };
            if let Some(encoding) = meta(&mut attributes) {
                return Some(encoding);
            }
            at = attributes.at;
        } else if is_tag(rest) {
            at += 1 + rest[1..]
                .iter()
                .position(|&byte| is_space(byte) || byte == b'>')?;
            let mut attributes = Attributes { bytes, at };
            while attributes.next().is_some() {}
            at = attributes.at;
        } else if rest.len() > 1 && matches!(rest[1], b'!' | b'/' | b'?') {
            at += memchr::memchr(b'>', rest)? + 1;
        } else {
            at += 1;
        }
    }
    None
}

fn is_meta(bytes: &[u8]) -> bool {
    bytes.get(..6).is_some_and(|word| {
        word[..5].eq_ignore_ascii_case(b"<meta") && (is_space(word[5]) || word[5] == b'/')
    })
}

fn is_tag(bytes: &[u8]) -> bool {
    match bytes {
        [_, b'/', letter, ..] | [_, letter, ..] => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

/// What one meta says.
fn meta(attributes: &mut Attributes<'_>) -> Option<&'static Encoding> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut got_pragma = false;
    let mut need_pragma = None;
    let mut charset = None;
    while let Some((name, value)) = attributes.next() {
        if names.contains(&name) {
            continue;
        }
        match name.as_slice() {
            b"http-equiv" => got_pragma |= value == b"content-type",
            b"content" if charset.is_none() => {
                if let Some(encoding) = content_charset(&value) {
                    charset = Some(encoding);
                    need_pragma = Some(true);
                }
            }
            b"charset" => {
                charset = readable(value.trim_ascii());
                need_pragma = Some(false);
            }
            _ => {}
        }
        names.push(name);
    }
    match need_pragma? {
        true if !got_pragma => None,
        _ => charset,
    }
}

/// The standard's "extract a character encoding from a meta element".
fn content_charset(value: &[u8]) -> Option<&'static Encoding> {
    let mut rest = value;
    loop {
        let at = memchr::memmem::find(rest, b"charset")?;
        rest = rest[at + b"charset".len()..].trim_ascii_start();
        if let Some(after) = rest.strip_prefix(b"=") {
            rest = after.trim_ascii_start();
            break;
        }
    }
    let name = match rest.first()? {
        quote @ (b'"' | b'\'') => {
            let length = memchr::memchr(*quote, &rest[1..])?;
            &rest[1..=length]
        }
        _ => {
            let end = rest.iter().position(|&byte| is_space(byte) || byte == b';');
            &rest[..end.unwrap_or(rest.len())]
        }
    };
    readable(name)
}

/// The standard's "get an attribute", over and over: names and values in small letters.
struct Attributes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Attributes<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        while self
            .peek()
            .is_some_and(|byte| is_space(byte) || byte == b'/')
        {
            self.at += 1;
        }
        if self.peek()? == b'>' {
            return None;
        }
        let mut name = Vec::new();
        loop {
            match self.peek()? {
                b'=' if !name.is_empty() => break,
                byte if is_space(byte) => {
                    self.skip_spaces();
                    if self.peek()? != b'=' {
                        return Some((name, Vec::new()));
                    }
                    break;
                }
                b'/' | b'>' => return Some((name, Vec::new())),
                byte => name.push(byte.to_ascii_lowercase()),
            }
            self.at += 1;
        }
        self.at += 1;
        self.skip_spaces();
        let mut value = Vec::new();
        match self.peek()? {
            quote @ (b'"' | b'\'') => {
                self.at += 1;
                while self.peek()? != quote {
                    value.push(self.bytes[self.at].to_ascii_lowercase());
                    self.at += 1;
                }
                self.at += 1;
            }
            b'>' => {}
            _ => {
                while !matches!(self.peek()?, byte if is_space(byte) || byte == b'>') {
                    value.push(self.bytes[self.at].to_ascii_lowercase());
                    self.at += 1;
                }
            }
        }
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, charset: Option<&str>) {
        assert_eq!(html(body.as_bytes()).map(Encoding::name), charset);
    }

    #[test]
    fn metas_say_it_in_two_ways() {
        check("<meta charset=koi8-r>", Some("KOI8-R"));
        check(
            "<META content='text/html;charset= \"big5\" ' HTTP-EQUIV=Content-Type>",
            Some("Big5"),
        );
        check("<meta content='text/html;charset=big5'>", None);
        check(
            "<!-- <meta charset=big5> --><meta charset=utf-16>",
            Some("UTF-8"),
        );
        check("<a title='<meta charset=big5>'>", None);
        check("<!--><meta charset=big5>", Some("Big5"));
        check("<meta charset=iso-2022-kr>", None);
    }

    #[test]
    fn xml_declares_it_before_its_root() {
        check(
            "<?xml version='1.0' encoding='shift_jis'?>",
            Some("Shift_JIS"),
        );
        check("<?xml version='1.0'?>", None);
        assert_eq!(css(b"@charset \"big5\";").map(Encoding::name), Some("Big5"));
    }

    #[test]
    fn only_the_first_bytes_count() {
        check(&format!("{}<meta charset=big5>", " ".repeat(1020)), None);
    }
}
