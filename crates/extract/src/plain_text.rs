//! Plain text: itself, and the URLs in it. A list of URLs is a sitemap in its text form.

use std::borrow::Cow;

use memchr::memmem;
use teia_base::{Flags, LinkKind, MediaType, Rel};

use crate::budget::Budget;
use crate::charset::{Decoded, Language};
use crate::fold::Folded;
use crate::links::Links;
use crate::{Extracted, Extractor, Limits, Source};

/// Reads plain text.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainText;

impl Extractor for PlainText {
    fn accepts(&self, media_type: &MediaType) -> bool {
        matches!(
            media_type.essence(),
            "text/plain"
                | "text/markdown"
                | "text/csv"
                | "text/tab-separated-values"
                | "text/x-rst"
        )
    }

    fn extract(&self, source: &Source<'_>, limits: &Limits) -> Extracted {
        let decoded = Decoded::new(source, Language::Plain);
        let mut extracted = decoded.begin();
        let is_list = Self::is_list(decoded.text.as_bytes());
        let (kind, mut links) = if is_list {
            (LinkKind::Sitemap, Links::of_sitemap(limits.sitemap_urls))
        } else {
            (LinkKind::Text, Links::new(limits.links_per_page))
        };
        let mut budget = Budget::new(limits.cpu);
        for url in urls(&decoded.text) {
            if budget.is_spent() {
                extracted.flags.add(Flags::PARSE_TIMEOUT);
                break;
            }
            if url.len() <= limits.attr_bytes {
                links.add(Cow::Borrowed(url), kind, Rel::default());
            }
        }
        if !is_list {
            let mut text = Folded::default();
            text.push(crate::fold::cut(&decoded.text, limits.text_bytes));
            extracted.text = text.into_string();
        }
        if !is_list && decoded.text.len() > limits.text_bytes {
            extracted.flags.add(Flags::PARSE_PARTIAL);
        }
        links.resolve_into(source.url, &mut extracted);
        extracted
    }
}

impl PlainText {
    /// Whether the first lines are URLs and nothing else.
    pub(crate) fn is_list(body: &[u8]) -> bool {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let start = &body[..body.len().min(4096)];
        let cut = start.len() < body.len() || start.len() == 4096;
        let mut lines: Vec<&[u8]> = start
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .collect();
        if cut && lines.len() > 1 {
            lines.pop();
        }
        let mut lines = lines.into_iter().filter(|line| !line.is_empty()).peekable();
        lines.peek().is_some()
            && lines.all(|line| {
                let is_url = line.starts_with(b"http://") || line.starts_with(b"https://");
                is_url && !line.iter().any(u8::is_ascii_whitespace)
            })
    }
}

/// The URLs in a text, in order.
fn urls(text: &str) -> impl Iterator<Item = &str> {
    let finder = memmem::Finder::new("://");
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let colon = at + finder.find(&text.as_bytes()[at..])?;
            at = colon + 3;
            let before = &text[..colon];
            let Some(start) = ["https", "http", "ftp"].iter().find_map(|scheme| {
                let start = colon.checked_sub(scheme.len())?;
                before
                    .get(start..)?
                    .eq_ignore_ascii_case(scheme)
                    .then_some(start)
            }) else {
                continue;
            };
            if before[..start].ends_with(|c: char| c.is_ascii_alphanumeric()) {
                continue;
            }
            let rest = &text[start..];
            let end = rest.find(ends_url).unwrap_or(rest.len());
            let url = trim_sentence(&rest[..end]);
            at = at.max(start + url.len());
            if url.len() > colon - start + 3 {
                return Some(url);
            }
        }
    })
}

fn ends_url(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '<' | '>' | '"' | '`' | '{' | '}' | '|' | '\\' | '^' | '«' | '»' | '“' | '”'
        )
}

/// Without the punctuation of the sentence around it; a closing bracket stays if it has a partner.
fn trim_sentence(url: &str) -> &str {
    let open = url.matches('(').count();
    let mut close = url.matches(')').count();
    let mut url = url;
    loop {
        let trimmed = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', ']', '*', '_']);
        if trimmed.ends_with(')') && close > open {
            close -= 1;
            url = &trimmed[..trimmed.len() - 1];
        } else if trimmed.len() == url.len() {
            return url;
        } else {
            url = trimmed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(urls(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn urls_end_before_the_sentence_does() {
        check(
            "See http://a.example/b. Or <https://c.example/>!",
            &["http://a.example/b", "https://c.example/"],
        );
        check(
            "(http://a.example/x_(y)) [z](http://b.example/).",
            &["http://a.example/x_(y)", "http://b.example/"],
        );
        check("xhttp://a.example http:// é://b ://", &[]);
        check("HTTP://A.example/é…", &["HTTP://A.example/é…"]);
    }

    #[test]
    fn many_brackets_take_linear_time() {
        let text = format!("http://a.example/{}", ")".repeat(100_000));
        check(&text, &["http://a.example/"]);
    }

    #[test]
    fn a_list_of_urls_is_known() {
        assert!(PlainText::is_list(
            b"http://a.example/\r\n\r\nhttps://b.example/x\n"
        ));
        assert!(!PlainText::is_list(b"http://a.example/ is nice\n"));
        assert!(!PlainText::is_list(b""));
    }
}
