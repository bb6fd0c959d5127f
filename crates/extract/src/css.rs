//! Style sheets: `url()` and `@import`.

use std::borrow::Cow;

use teia_base::{LinkKind, MediaType, Rel};

use crate::budget::Budget;
use crate::charset::{Decoded, Language};
use crate::links::Links;
use crate::{Extracted, Extractor, Limits, Source};

/// Reads style sheets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Css;

impl Extractor for Css {
    fn accepts(&self, media_type: &MediaType) -> bool {
        media_type.essence() == "text/css"
    }

    fn extract(&self, source: &Source<'_>, limits: &Limits) -> Extracted {
        let decoded = Decoded::new(source, Language::Css);
        let mut links = Links::new(limits.links_per_page);
        let mut budget = Budget::new(limits.cpu);
        let mut extracted = decoded.begin();
        for (reference, kind) in references(&decoded.text, &mut budget) {
            if reference.len() <= limits.attr_bytes {
                links.add(reference, kind, Rel::default());
            }
        }
        if budget.was_spent() {
            extracted.flags.add(teia_base::Flags::PARSE_TIMEOUT);
        }
        links.resolve_into(source.url, &mut extracted);
        extracted
    }
}

/// The references of a style sheet, or of a `style` attribute, in order: `Style` for `@import`,
/// `Css` for other `url()`. Those in comments and strings are none. They end where the time does.
pub(crate) fn references<'c>(
    css: &'c str,
    budget: &mut Budget,
) -> impl Iterator<Item = (Cow<'c, str>, LinkKind)> {
    let bytes = css.as_bytes();
    let end = last_candidate(bytes);
    let mut at = 0;
    let mut import = false;
    std::iter::from_fn(move || {
        loop {
            while at < end && !SPECIAL[usize::from(bytes[at])] {
                at += 1;
            }
            if at >= end || budget.is_spent() {
                return None;
            }
            match bytes[at] {
                b'/' if bytes.get(at + 1) == Some(&b'*') => at = comment_end(bytes, at + 2),
                b'"' | b'\'' => {
                    let (text, end) = string(css, at);
                    at = end;
                    if std::mem::take(&mut import) {
                        return Some((text, LinkKind::Style));
                    }
                }
                b'(' if ends_with_url(&bytes[..at]) => {
                    let (text, end) = url_argument(css, at + 1);
                    at = end;
                    let kind = if std::mem::take(&mut import) {
                        LinkKind::Style
                    } else {
                        LinkKind::Css
                    };
                    if !text.is_empty() {
                        return Some((text, kind));
                    }
                }
                b'@' => {
                    at += 1;
                    import = is_import(bytes, at);
                }
                b'\\' => at += 2,
                b';' | b'{' | b'}' => {
                    import = false;
                    at += 1;
                }
                _ => at += 1,
            }
        }
    })
}

/// Where nothing more can follow: after the last `url(`, or the value of the last `@import`.
/// Most style sheets of pages hold neither, and this is many times faster than reading them.
///
/// It looks from the end, and at the value of one `@import` only: a sheet of nothing else would be
/// read as often as it has them.
fn last_candidate(bytes: &[u8]) -> usize {
    let mut last_url = None;
    for at in memchr::memrchr2_iter(b'(', b'@', bytes) {
        if bytes[at] == b'(' {
            if last_url.is_none() && ends_with_url(&bytes[..at]) {
                last_url = Some(at + 1);
            }
        } else if is_import(bytes, at + 1) {
            let value = memchr::memchr3(b'"', b'\'', b';', &bytes[at..]);
            let end = value.map_or(bytes.len(), |length| at + length + 1);
            return end.max(last_url.unwrap_or(0));
        }
    }
    last_url.unwrap_or(0)
}

fn is_import(bytes: &[u8], start: usize) -> bool {
    bytes
        .get(start..start + 6)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"import"))
}

/// Bytes at which something may begin or end.
const SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let bytes = b"/\"'(@\\;{}";
    let mut at = 0;
    while at < bytes.len() {
        special[bytes[at] as usize] = true;
        at += 1;
    }
    special
};

/// Whether what precedes a parenthesis is the function `url`, not the end of a longer name.
fn ends_with_url(before: &[u8]) -> bool {
    let Some(start) = before.len().checked_sub(3) else {
        return false;
    };
    before[start..].eq_ignore_ascii_case(b"url")
        && !start
            .checked_sub(1)
            .is_some_and(|at| is_name_byte(before[at]))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' || byte >= 0x80
}

fn comment_end(bytes: &[u8], start: usize) -> usize {
    memchr::memmem::find(&bytes[start..], b"*/").map_or(bytes.len(), |at| start + at + 2)
}

/// The argument of `url(`, quoted or not, and where to go on.
fn url_argument(css: &str, start: usize) -> (Cow<'_, str>, usize) {
    let bytes = css.as_bytes();
    let mut at = start;
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    if matches!(bytes.get(at), Some(b'"' | b'\'')) {
        return string(css, at);
    }
    let first = at;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b')' => break,
            b'\\' => at += 1,
            // A quote or parenthesis inside makes a bad URL, which ends at its parenthesis.
            b'"' | b'\'' | b'(' => {
                let end =
                    memchr::memchr(b')', &bytes[at..]).map_or(bytes.len(), |found| at + found + 1);
                return (Cow::Borrowed(""), end);
            }
            _ => {}
        }
        at += 1;
    }
    let end = at.min(css.len());
    let text = css
        .get(first..end)
        .unwrap_or("")
        .trim_matches(|c: char| c.is_ascii_whitespace());
    (unescape(text), (end + 1).min(css.len()))
}

/// The string that begins with the quote at `start`, and where to go on. A line break ends a
/// string that was not closed.
fn string(css: &str, start: usize) -> (Cow<'_, str>, usize) {
    let bytes = css.as_bytes();
    let quote = bytes[start];
    let first = start + 1;
    let mut at = first;
    while let Some(&byte) = bytes.get(at) {
        if byte == quote {
            return (unescape(&css[first..at]), at + 1);
        }
        match byte {
            b'\n' => return (Cow::Borrowed(""), at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    (unescape(&css[first..]), css.len())
}

/// Replaces `\29 ` and `\)`; an escaped line break vanishes.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let mut code = 0;
        let mut digits = 0;
        while digits < 6
            && let Some(digit) = chars.peek().and_then(|c| c.to_digit(16))
        {
            code = code * 16 + digit;
            digits += 1;
            chars.next();
        }
        if digits > 0 {
            out.push(
                char::from_u32(code)
                    .filter(|&c| c != '\0')
                    .unwrap_or('\u{fffd}'),
            );
            chars.next_if(|c| c.is_ascii_whitespace());
        } else if let Some(c) = chars.next()
            && c != '\n'
        {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(css: &str, expected: &[(&str, LinkKind)]) {
        let mut budget = Budget::new(std::time::Duration::from_secs(60));
        let found: Vec<_> = references(css, &mut budget).collect();
        let found: Vec<_> = found
            .iter()
            .map(|(text, kind)| (text.as_ref(), *kind))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn urls_are_quoted_or_not() {
        use LinkKind::Css;
        check("a{b:url(x.png)}", &[("x.png", Css)]);
        check(
            "a{b:URL( 'x y.png' ) , url(\"z)\")}",
            &[("x y.png", Css), ("z)", Css)],
        );
        check("a{b:url(  x  )}", &[("x", Css)]);
        check("curl(x) my-url(y) url()", &[]);
        check("a{b:url(x", &[("x", Css)]);
    }

    #[test]
    fn imports_are_styles() {
        use LinkKind::{Css, Style};
        check(
            "@import 'a.css';@IMPORT url(b.css) print; c{d:url(e)}",
            &[("a.css", Style), ("b.css", Style), ("e", Css)],
        );
        check("@media x{ a{content:'b'} }", &[]);
        check("@import /* url(a) */ 'b.css'", &[("b.css", Style)]);
    }

    #[test]
    fn without_time_nothing_more_is_found() {
        let mut budget = Budget::new(std::time::Duration::ZERO);
        let css = "a{b:url(c)}".repeat(10_000);
        assert!(references(&css, &mut budget).count() < 10_000);
        assert!(budget.was_spent());
    }

    #[test]
    fn comments_and_strings_hold_no_links() {
        check("/* url(a) */ b{content:'url(c)'} /* url(d)", &[]);
        check("a{content:'\\'url(b)'}", &[]);
    }

    #[test]
    fn escapes_are_replaced() {
        check(r"a{b:url(x\29 y\(z)}", &[("x)y(z", LinkKind::Css)]);
        check("a{b:url(\\", &[]);
        check("a{b:url('\\e9 é')}", &[("éé", LinkKind::Css)]);
    }
}
