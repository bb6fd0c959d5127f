//! The `Link:` header (RFC 8288).

use teia_base::{LinkKind, Rel};
use url::Url;

use crate::link_rel;
use crate::links::Links;

/// Links of one header value are bounded like those of a page, by their list; this bounds the
/// text looked at.
const MAX_BYTES: usize = 64 << 10;

/// Adds the links of one header value; gives the canonical URL if it names one.
pub(crate) fn read(value: &str, url: &Url, links: &mut Links<'_>) -> Option<String> {
    let mut canonical = None;
    let mut rest = crate::fold::cut(value, MAX_BYTES);
    while let Some(open) = rest.find('<') {
        let Some(length) = rest[open..].find('>') else {
            break;
        };
        let reference = &rest[open + 1..open + length];
        let (parameters, after) = split_parameters(&rest[open + length + 1..]);
        rest = after;
        let rel = parameter(parameters, "rel").unwrap_or_default();
        let destination = parameter(parameters, "as").unwrap_or_default();
        let Some(kind) = link_rel::kind(rel, destination) else {
            continue;
        };
        // An anchor makes it a link of another page, which we did not fetch.
        if parameter(parameters, "anchor").is_some() {
            continue;
        }
        if kind == LinkKind::Canonical && canonical.is_none() {
            canonical = crate::resolve::Resolver::new(url).resolve(reference.trim());
        }
        let kind = if kind.is_requisite() {
            kind
        } else {
            LinkKind::Header
        };
        links.add(reference.to_owned().into(), kind, Rel::parse(rel));
    }
    canonical
}

/// The parameters up to the comma that ends this link, and what follows it.
fn split_parameters(text: &str) -> (&str, &str) {
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, "")
}

/// The first parameter of this name, without its quotes.
fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    parameters.split(';').find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim()
            .eq_ignore_ascii_case(name)
            .then(|| value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, canonical: Option<&str>, urls: &[&str]) {
        let url = Url::parse("http://a.example/x").unwrap();
        let mut links = Links::new(10);
        assert_eq!(read(value, &url, &mut links).as_deref(), canonical);
        let found: Vec<String> = links
            .resolve(&url)
            .into_iter()
            .map(|link| link.url)
            .collect();
        assert_eq!(found, urls);
    }

    #[test]
    fn several_links_stand_in_one_value() {
        check(
            "<b>; rel=\"canonical\", </c,d>; title=\"e, <f>\"; rel=next , <g>",
            Some("http://a.example/b"),
            &["http://a.example/b", "http://a.example/c,d"],
        );
        check(
            "<b>;rel=preconnect, <c>; rel=next; anchor=\"#d\"",
            None,
            &[],
        );
        check("<b; rel=next", None, &[]);
        check("", None, &[]);
    }
}
