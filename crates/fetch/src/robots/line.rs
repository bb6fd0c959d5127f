//! The text of a robots.txt: from raw bytes to lines, and from a line to what it says.

use std::borrow::Cow;

use memchr::{memchr, memchr2};
use serde::{Deserialize, Serialize};

/// Bytes of a robots.txt that are read when nothing else is configured (RFC 9309 §2.5 asks for at least 500 KiB).
pub const MAX_BYTES: usize = 512 * 1024;

/// However generous the configuration: positions inside the text fit `u32` with room for percent-encoding.
const HIGHEST_MAX_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of one line that are read, the rest of the line is passed over. Google's figure.
const MAX_LINE_BYTES: usize = 2083 * 8 - 1;

/// The part of a file that is read.
pub(super) struct Readable<'a> {
    /// At most the limit, in UTF-8 or a superset of ASCII, ending at a line end where it was cut.
    pub(super) text: Cow<'a, [u8]>,
    /// Whether something was left away.
    pub(super) cut: bool,
}

/// Decodes UTF-16 where a byte order mark says so, and cuts at the last line end within `max_bytes`.
///
/// Reading the result again yields the same text.
pub(super) fn readable(bytes: &[u8], max_bytes: usize) -> Readable<'_> {
    let max_bytes = max_bytes.min(HIGHEST_MAX_BYTES);
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf16(rest, max_bytes, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf16(rest, max_bytes, u16::from_be_bytes)),
        _ => Cow::Borrowed(bytes),
    };
    if text.len() <= max_bytes {
        return Readable { text, cut: false };
    }
    // A line that ends exactly at the limit is whole: its line end is the byte after it. One that goes on beyond is
    // dropped, unless what is left away would be passed over anyhow.
    let end = match text[..=max_bytes]
        .iter()
        .rposition(|byte| is_line_end(*byte))
    {
        Some(at) if at == max_bytes => max_bytes,
        last => {
            let start = last.map_or(0, |at| at + 1);
            if max_bytes - start < MAX_LINE_BYTES {
                start
            } else {
                max_bytes
            }
        }
    };
    let text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    };
    Readable { text, cut: true }
}

/// Each unit gives one byte or more, so one unit past the limit is enough to see that something is cut.
fn utf16(bytes: &[u8], max_bytes: usize, unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (pairs, _odd) = bytes.as_chunks::<2>();
    let units = pairs.iter().take(max_bytes + 1).map(|pair| unit(*pair));
    let text: String = char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    text.into_bytes()
}

/// The lines with their numbers, from 1: ended by LF, CR or CRLF, cut at [`MAX_LINE_BYTES`], comments and blanks gone.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    // As Google: a byte order mark that lost its tail is skipped as far as it goes.
    let mark = [0xef, 0xbb, 0xbf];
    let skip = text.iter().zip(mark).take_while(|(a, b)| *a == b).count();
    let mut rest = Some(&text[skip..]);
    let mut number = 0;
    std::iter::from_fn(move || {
        let text = rest?;
        let line = match memchr2(b'\n', b'\r', text) {
            Some(end) => {
                let crlf = text[end..].starts_with(b"\r\n");
                rest = Some(&text[end + 1 + usize::from(crlf)..]);
                &text[..end]
            }
            None => {
                rest = None;
                text
            }
        };
        number += 1;
        Some((number, meaningful(&line[..line.len().min(MAX_LINE_BYTES)])))
    })
}

/// A NUL ends a line for Google's parser, as `#` does; being C it could not do otherwise, and the web has settled on it.
fn meaningful(line: &[u8]) -> &[u8] {
    let end = memchr2(b'#', 0, line).unwrap_or(line.len());
    line[..end].trim_ascii()
}

fn is_line_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Which spellings of a line's first word are taken for it. A colon that is missing is never minded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spelling {
    /// The right ones.
    #[default]
    Strict,
    /// Also the frequent typos that Google's parser takes (`Dissallow`, `User agent`), and as there a longer word.
    Tolerant,
}

/// What one line says, with its value as written.
pub(super) enum Directive<'a> {
    UserAgent(&'a [u8]),
    Allow(&'a [u8]),
    Disallow(&'a [u8]),
    CrawlDelay(&'a [u8]),
    Sitemap(&'a [u8]),
}

impl<'a> Directive<'a> {
    /// None for a line that says nothing to us.
    pub(super) fn read(line: &'a [u8], spelling: Spelling) -> Option<Self> {
        let (key, value) = key_and_value(line)?;
        let is = |name: &str, typos: &[&str]| match spelling {
            Spelling::Strict => key.eq_ignore_ascii_case(name.as_bytes()),
            Spelling::Tolerant => {
                starts_with(key, name) || typos.iter().any(|typo| starts_with(key, typo))
            }
        };
        if is("user-agent", &["useragent", "user agent"]) {
            Some(Self::UserAgent(value))
        } else if is("allow", &[]) {
            Some(Self::Allow(value))
        } else if is(
            "disallow",
            &["dissallow", "dissalow", "disalow", "diasllow", "disallaw"],
        ) {
            Some(Self::Disallow(value))
        } else if is("sitemap", &["site-map"]) {
            Some(Self::Sitemap(value))
        } else if is("crawl-delay", &["crawldelay", "crawl delay"]) {
            Some(Self::CrawlDelay(value))
        } else {
            None
        }
    }
}

/// Parts a line at its colon, or where there is none at the only blank: `Disallow /x` is a frequent slip.
fn key_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (key, value) = match memchr(b':', line) {
        Some(colon) => (&line[..colon], line[colon + 1..].trim_ascii()),
        None => {
            let blank = memchr2(b' ', b'\t', line)?;
            let value = line[blank..].trim_ascii();
            if memchr2(b' ', b'\t', value).is_some() {
                return None;
            }
            (&line[..blank], value)
        }
    };
    let key = key.trim_ascii();
    (!key.is_empty()).then_some((key, value))
}

fn starts_with(key: &[u8], name: &str) -> bool {
    key.get(..name.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_cut(bytes: &[u8], max_bytes: usize, expected: &[u8]) {
        let read = readable(bytes, max_bytes);
        assert_eq!(read.text, expected);
        assert_eq!(read.cut, expected.len() < bytes.len());
        assert_eq!(readable(&read.text, max_bytes).text, expected);
    }

    #[test]
    fn a_long_file_is_cut_at_a_line_end() {
        check_cut(b"abc\ndef\n", 8, b"abc\ndef\n");
        check_cut(b"abc\ndef\n", 7, b"abc\ndef");
        check_cut(b"abc\ndef\n", 6, b"abc\n");
        check_cut(b"abc\rdef\r", 5, b"abc\r");
        check_cut(b"abcdef", 4, b"");
        let endless = [b'a'; 2 * MAX_LINE_BYTES];
        check_cut(&endless, MAX_LINE_BYTES, &endless[..MAX_LINE_BYTES]);
        check_cut(&endless, MAX_LINE_BYTES - 1, b"");
        check_cut(b"abc\n", 0, b"");
    }

    #[test]
    fn utf_16_is_decoded_before_it_is_cut() {
        let text = "a: é\nb: 𝄞\n";
        for (mark, bytes) in [
            ([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
            ([0xfe, 0xff], u16::to_be_bytes),
        ] {
            let mut file = mark.to_vec();
            file.extend(text.encode_utf16().flat_map(bytes));
            file.push(b'x');
            assert_eq!(readable(&file, 100).text, text.as_bytes());
            assert_eq!(readable(&file, 8).text, "a: é\n".as_bytes());
        }
    }

    #[test]
    fn lines_end_in_lf_cr_or_crlf() {
        let found: Vec<_> = lines(b"a\r\nb\rc\n\nd # e\n  f\0g").collect();
        let expected: [(u32, &[u8]); 6] = [
            (1, b"a"),
            (2, b"b"),
            (3, b"c"),
            (4, b""),
            (5, b"d"),
            (6, b"f"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_line_without_a_colon_is_parted_at_its_only_blank() {
        assert_eq!(
            key_and_value(b"Disallow \t /x"),
            Some((&b"Disallow"[..], &b"/x"[..]))
        );
        assert_eq!(key_and_value(b"Disallow /x /y"), None);
        assert_eq!(key_and_value(b": /x"), None);
    }
}
