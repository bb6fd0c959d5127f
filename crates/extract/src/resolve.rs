//! References to absolute URLs.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use teia_base::plain_url::{is_plain_authority, is_plain_path};
use url::Url;

/// Schemes that name nothing to fetch.
pub(crate) const DROPPED: [&str; 8] = [
    "javascript",
    "mailto",
    "tel",
    "data",
    "blob",
    "about",
    "vbscript",
    "intent",
];

/// The most that `max-url-bytes` can be set to; what it is set to holds where links are judged. With a
/// long base, short references could make a page's links a thousand times as long as the page.
const MAX_URL_BYTES: usize = 64 << 10;

/// Resolves references against one base, as the URL standard says, without fragment.
///
/// Most references of real pages are plain: they can be joined by putting two texts together,
/// ten times as fast as parsing. [`Resolver::resolve`] does so where it can prove that the result
/// is the same; a property test compares both ways.
#[derive(Debug)]
pub(crate) struct Resolver<'a> {
    base: &'a Url,
    /// `https:`, for references that begin with two slashes; empty where no reference is plain.
    scheme: &'a str,
    /// `https://example.org`.
    origin: &'a str,
    /// `https://example.org/a/`, up to the last slash of the path.
    directory: &'a str,
    /// In which a query is written; none for UTF-8.
    encoding: Option<&'static Encoding>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(base: &'a Url) -> Self {
        if !matches!(base.scheme(), "http" | "https") {
            return Self {
                base,
                scheme: "",
                origin: "",
                directory: "",
                encoding: None,
            };
        }
        let text = base.as_str();
        let origin = &text[..text.len() - suffix_length(base)];
        let path = base.path();
        let directory_length = path.rfind('/').map_or(0, |at| at + 1);
        Self {
            base,
            scheme: &text[..base.scheme().len() + 1],
            origin,
            directory: &text[..origin.len() + directory_length],
            encoding: None,
        }
    }

    /// For references of a page in this charset: their queries are written in it, as browsers do, and
    /// everything else in UTF-8.
    pub(crate) fn in_charset(mut self, charset: Option<&str>) -> Self {
        let encoding = charset.and_then(|name| Encoding::for_label(name.as_bytes()));
        self.encoding = encoding
            .map(Encoding::output_encoding)
            .filter(|encoding| *encoding != UTF_8);
        self
    }

    /// The absolute URL; none where it cannot be parsed or its scheme names nothing to fetch.
    pub(crate) fn resolve(&self, reference: &str) -> Option<String> {
        self.resolve_plain(reference)
            .or_else(|| self.resolve_any(reference))
            .filter(|url| url.len() <= MAX_URL_BYTES)
    }

    /// The scheme of a reference that names nothing to fetch.
    pub(crate) fn dropped_scheme(&self, reference: &str) -> Option<&'static str> {
        // Most that are no URLs have none at all.
        let url = reference
            .contains(':')
            .then(|| self.base.join(reference).ok())??;
        DROPPED.into_iter().find(|scheme| *scheme == url.scheme())
    }

    fn resolve_any(&self, reference: &str) -> Option<String> {
        let mut url = match self.encoding.filter(|_| !reference.is_ascii()) {
            None => self.base.join(reference).ok()?,
            Some(encoding) => Url::options()
                .base_url(Some(self.base))
                .encoding_override(Some(&|query| encode(encoding, query)))
                .parse(reference)
                .ok()?,
        };
        if DROPPED.contains(&url.scheme()) {
            return None;
        }
        url.set_fragment(None);
        Some(url.into())
    }

    /// The URL, if the reference is plain.
    fn resolve_plain(&self, reference: &str) -> Option<String> {
        if self.scheme.is_empty() {
            return None;
        }
        let rest = reference
            .strip_prefix("https://")
            .or_else(|| reference.strip_prefix("http://"))
            .map(|rest| ("", rest))
            .or_else(|| reference.strip_prefix("//").map(|rest| (self.scheme, rest)));
        if let Some((scheme, rest)) = rest {
            let secure = reference.starts_with("https:") || scheme == "https:";
            let default_port = if secure { "443" } else { "80" };
            let host_length = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at(host_length);
            if !is_plain_authority(authority, default_port) || !is_plain_path(path) {
                return None;
            }
            let slash = if path.is_empty() { "/" } else { "" };
            return Some([scheme, reference, slash].concat());
        }
        match reference.as_bytes().first()? {
            b'/' => is_plain_path(reference).then(|| [self.origin, reference].concat()),
            // A colon in the first segment may end a scheme.
            byte if byte.is_ascii_alphanumeric() => {
                let first = reference.split(['/', '?']).next().unwrap_or("");
                let plain = !first.contains(':') && is_plain_path(reference);
                plain.then(|| [self.directory, reference].concat())
            }
            _ => None,
        }
    }
}

/// A query in a charset; a letter that it does not have is written by its number, as the URL standard says.
fn encode<'t>(encoding: &'static Encoding, query: &'t str) -> Cow<'t, [u8]> {
    let (bytes, _, has_unmappable) = encoding.encode(query);
    if !has_unmappable {
        return bytes;
    }
    let mut written = Vec::new();
    for letter in query.chars() {
        let mut buffer = [0; 4];
        let (bytes, _, is_unmappable) = encoding.encode(letter.encode_utf8(&mut buffer));
        if is_unmappable {
            written.extend(format!("%26%23{}%3B", u32::from(letter)).into_bytes());
        } else {
            written.extend_from_slice(&bytes);
        }
    }
    Cow::Owned(written)
}

/// Bytes of path, query and fragment.
fn suffix_length(url: &Url) -> usize {
    let part = |text: Option<&str>| text.map_or(0, |text| text.len() + 1);
    url.path().len() + part(url.query()) + part(url.fragment())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(reference: &str, url: Option<&str>) {
        let base = Url::parse("https://example.org/a/b?c#d").unwrap();
        assert_eq!(Resolver::new(&base).resolve(reference).as_deref(), url);
    }

    #[test]
    fn references_are_joined_as_browsers_do() {
        check("x.html", Some("https://example.org/a/x.html"));
        check("/x", Some("https://example.org/x"));
        check("../x/./y", Some("https://example.org/x/y"));
        check("?q=1", Some("https://example.org/a/b?q=1"));
        check("", Some("https://example.org/a/b?c"));
        check("//b.example", Some("https://b.example/"));
        check("HTTP:\\\\B.example\\x y", Some("http://b.example/x%20y"));
        check("ftp://b.example/x", Some("ftp://b.example/x"));
        check("http://[", None);
    }

    #[test]
    fn a_query_is_written_in_the_charset_of_the_page_and_a_path_in_utf_8() {
        let base = Url::parse("https://example.org/a/b").unwrap();
        let in_charset = |charset: &str, reference: &str| {
            let resolver = Resolver::new(&base).in_charset(Some(charset));
            resolver.resolve(reference).unwrap()
        };
        let site = "https://example.org/a";
        for (charset, query) in [
            ("windows-1252", "%E9"),
            ("ISO-8859-1", "%E9"),
            ("utf-8", "%C3%A9"),
            ("UTF-16LE", "%C3%A9"),
            ("koi8-r", "%26%23233%3B"),
        ] {
            let url = in_charset(charset, "\u{e9}?q=\u{e9}#\u{e9}");
            assert_eq!(url, format!("{site}/%C3%A9?q={query}"), "{charset}");
            // What was written once stays as it is.
            assert_eq!(in_charset(charset, &url), url);
        }
        assert_eq!(
            in_charset("Shift_JIS", "?\u{3042}"),
            format!("{site}/b?%82%A0")
        );
    }

    #[test]
    fn what_cannot_be_fetched_is_dropped() {
        check("javascript:void(0)", None);
        check("java\nscript:void(0)", None);
        check("MailTo:a@b", None);
        check("data:text/html,x", None);
    }

    proptest! {
        #[test]
        fn the_fast_way_and_the_parser_agree(
            base in "https?://[a-z]{1,3}(\\.[a-z]{2}|:80|:8080)?(/[a-z.]{0,3}){0,3}(\\?[a-z]{1,2})?",
            reference in "(https?:)?(//)?([a-zA-Z0-9%.:/?&=_~'|^ -]|%2e|%2E|\\.\\.|xn--|é){0,12}",
        ) {
            let base = Url::parse(&base).unwrap();
            let resolver = Resolver::new(&base);
            if let Some(plain) = resolver.resolve_plain(&reference) {
                prop_assert_eq!(Some(plain), resolver.resolve_any(&reference));
            }
        }

        #[test]
        fn common_references_take_the_fast_way_and_agree(
            reference in "(https?://[a-z0-9-]{1,4}\\.[a-z0-9]{1,3}(:80|:443|:81)?)?/?[a-z0-9%./_-]{0,8}(\\?[a-z=&./%]{0,5})?",
        ) {
            let base = Url::parse("http://a.example:81/x/y/z?u").unwrap();
            let resolver = Resolver::new(&base);
            if let Some(plain) = resolver.resolve_plain(&reference) {
                prop_assert_eq!(Some(plain), resolver.resolve_any(&reference));
            }
        }
    }
}
