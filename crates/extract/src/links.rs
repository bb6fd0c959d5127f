//! The links of one document, gathered as found and resolved at its end.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use teia_base::{Flags, Link, LinkKind, Rel, Timestamp};
use url::Url;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::Extracted;
use crate::resolve::{DROPPED, Resolver};

/// Bytes of URLs and texts that the links of a page may have: 10,000 of 400 bytes.
const PAGE_BYTES: usize = 4 << 20;
/// The same for a sitemap: 50,000 of 335 bytes.
const SITEMAP_BYTES: usize = 16 << 20;

/// References in the order found, each once for each kind.
///
/// They are resolved at the end because `<base>` may stand after links it holds for.
/// Past its limits it takes nothing more and says so: a short page can have many very long links, because
/// one long `<base>` is enough.
#[derive(Debug)]
pub(crate) struct Links<'a> {
    found: Vec<Found<'a>>,
    seen: Seen,
    max: usize,
    max_bytes: usize,
    /// Left out for the limit.
    left_out: usize,
    schemes: BTreeMap<&'static str, u32>,
}

/// What became of gathered links.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) links: Vec<Link>,
    /// Left out for a limit.
    pub(crate) left_out: usize,
    /// Those that name nothing to fetch.
    pub(crate) schemes: BTreeMap<&'static str, u32>,
}

#[derive(Debug)]
struct Found<'a> {
    reference: Cow<'a, str>,
    kind: LinkKind,
    rel: Rel,
    anchor: String,
    last_modified: Option<Timestamp>,
}

/// Names a gathered link, to give it its text later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkId(usize);

impl<'a> Links<'a> {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            found: Vec::new(),
            seen: Seen::default(),
            max,
            max_bytes: PAGE_BYTES,
            left_out: 0,
            schemes: BTreeMap::new(),
        }
    }

    /// For the URLs of a sitemap.
    pub(crate) fn of_sitemap(max: usize) -> Self {
        Self {
            max_bytes: SITEMAP_BYTES,
            ..Self::new(max)
        }
    }

    /// Adds a reference. One met before gives its earlier id.
    pub(crate) fn add(
        &mut self,
        reference: Cow<'a, str>,
        kind: LinkKind,
        rel: Rel,
    ) -> Option<LinkId> {
        let reference = bare(reference);
        if let Some(scheme) = scheme_of_nothing(&reference) {
            *self.schemes.entry(scheme).or_default() += 1;
            return None;
        }
        let hash = xxh3_64_with_seed(reference.as_bytes(), kind as u64);
        if let Some(&index) = self.seen.get(&hash) {
            let earlier = &mut self.found[index];
            if earlier.kind == kind && earlier.reference == reference {
                earlier.rel = weaker(earlier.rel, rel);
                return Some(LinkId(index));
            }
        }
        if self.found.len() >= self.max {
            self.left_out += 1;
            return None;
        }
        let index = self.found.len();
        self.seen.insert(hash, index);
        self.found.push(Found {
            reference,
            kind,
            rel,
            anchor: String::new(),
            last_modified: None,
        });
        Some(LinkId(index))
    }

    /// Counts a reference that is too long to be looked at; a picture that stands in the page itself is none.
    pub(crate) fn leave_out(&mut self, reference: &str) {
        match scheme_of_nothing(bare_text(reference)) {
            Some(scheme) => *self.schemes.entry(scheme).or_default() += 1,
            None => self.left_out += 1,
        }
    }

    /// Gives a link its text, unless it has one.
    pub(crate) fn set_anchor(&mut self, link: LinkId, anchor: impl FnOnce() -> String) {
        let found = &mut self.found[link.0];
        if found.anchor.is_empty() {
            found.anchor = anchor();
        }
    }

    /// Gives a link the moment its target last changed, unless it has one.
    pub(crate) fn set_last_modified(&mut self, link: LinkId, moment: Option<Timestamp>) {
        let found = &mut self.found[link.0];
        found.last_modified = found.last_modified.or(moment);
    }

    /// Gives a document its links, absolute, each once for each kind, and says how many were left out for
    /// the limits; one that stands there several times counts each time.
    pub(crate) fn resolve_into(self, base: &Url, extracted: &mut Extracted) {
        let Resolved {
            links,
            left_out,
            schemes,
        } = self.resolve_in(base, extracted.charset);
        if left_out > 0 {
            extracted.flags.add(Flags::PARSE_PARTIAL);
        }
        extracted.links = links;
        extracted.links_left_out += left_out;
        extracted.count_schemes(&schemes);
    }

    /// The links, for a document that is in no charset.
    pub(crate) fn resolve(self, base: &Url) -> Vec<Link> {
        self.resolve_in(base, None).links
    }

    /// The links of a page in this charset, and what is none of them.
    pub(crate) fn resolve_in(self, base: &Url, charset: Option<&str>) -> Resolved {
        let (mut left_out, mut schemes) = (self.left_out, self.schemes);
        let mut bytes = 0;
        let resolver = Resolver::new(base).in_charset(charset);
        let mut links: Vec<Link> = Vec::with_capacity(self.found.len());
        let mut seen = Seen::default();
        seen.reserve(self.found.len());
        for found in self.found {
            let Some(url) = resolver.resolve(&found.reference) else {
                // White space in it may have hidden what it is.
                if let Some(scheme) = resolver.dropped_scheme(&found.reference) {
                    *schemes.entry(scheme).or_default() += 1;
                }
                continue;
            };
            let hash = xxh3_64_with_seed(url.as_bytes(), found.kind as u64);
            if let Some(&index) = seen.get(&hash) {
                let earlier: &mut Link = &mut links[index];
                if earlier.kind == found.kind && earlier.url == url {
                    merge(earlier, found);
                    continue;
                }
            }
            bytes += url.len() + found.anchor.len();
            if bytes > self.max_bytes {
                left_out += 1;
                continue;
            }
            seen.insert(hash, links.len());
            let Found {
                kind,
                rel,
                anchor,
                last_modified,
                ..
            } = found;
            links.push(Link {
                url,
                kind,
                rel,
                anchor,
                last_modified,
            });
        }
        Resolved {
            links,
            left_out,
            schemes,
        }
    }
}

fn merge(link: &mut Link, found: Found<'_>) {
    link.rel = weaker(link.rel, found.rel);
    link.last_modified = link.last_modified.or(found.last_modified);
    if link.anchor.is_empty() {
        link.anchor = found.anchor;
    }
}

/// A link that stands on the page once without `nofollow` may be followed.
fn weaker(a: Rel, b: Rel) -> Rel {
    Rel {
        nofollow: a.nofollow && b.nofollow,
        foreign: a.foreign && b.foreign,
    }
}

/// The reference without the white space around it and without its fragment.
fn bare(reference: Cow<'_, str>) -> Cow<'_, str> {
    match reference {
        Cow::Borrowed(text) => Cow::Borrowed(bare_text(text)),
        Cow::Owned(text) => {
            let bare = bare_text(&text);
            if bare.len() == text.len() {
                Cow::Owned(text)
            } else {
                Cow::Owned(bare.to_owned())
            }
        }
    }
}

fn bare_text(text: &str) -> &str {
    let text = text.trim_matches(|c: char| c <= ' ');
    memchr::memchr(b'#', text.as_bytes()).map_or(text, |at| &text[..at])
}

/// The scheme of a reference that plainly names nothing to fetch; the resolver finds the rest.
fn scheme_of_nothing(reference: &str) -> Option<&'static str> {
    DROPPED.into_iter().find(|scheme| {
        let start = reference.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && reference.as_bytes().get(scheme.len()) == Some(&b':')
    })
}

/// Where a hash was met. Equality of the text decides; the hash only finds.
type Seen = HashMap<u64, usize, BuildHasherDefault<Hashed>>;

/// Takes a key that is a hash already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(references: &[(&'static str, LinkKind)]) -> Vec<String> {
        let mut links = Links::new(3);
        for &(reference, kind) in references {
            links.add(Cow::Borrowed(reference), kind, Rel::default());
        }
        let base = Url::parse("http://a.example/x/").unwrap();
        links
            .resolve(&base)
            .into_iter()
            .map(|link| link.url)
            .collect()
    }

    #[test]
    fn a_url_is_kept_once_for_each_kind() {
        use LinkKind::{Anchor, Image};
        assert_eq!(
            resolve(&[("b#1", Anchor), (" b#2", Anchor), ("./b", Anchor)]),
            ["http://a.example/x/b"]
        );
        assert_eq!(resolve(&[("b", Anchor), ("b", Image)]).len(), 2);
    }

    #[test]
    fn past_the_limit_nothing_is_taken() {
        use LinkKind::Anchor;
        assert_eq!(
            resolve(&[
                ("a", Anchor),
                ("b", Anchor),
                ("c", Anchor),
                ("d", Anchor),
                ("a", Anchor)
            ])
            .len(),
            3
        );
    }

    #[test]
    fn long_links_are_bounded_in_bytes_and_counted() {
        let base = format!("http://a.example/{}/", "x".repeat(1000));
        let base = Url::parse(&base).unwrap();
        let mut extracted = Extracted::default();
        let mut links = Links::new(10_000);
        for n in 0..10_000 {
            links.add(Cow::Owned(n.to_string()), LinkKind::Anchor, Rel::default());
        }
        links.resolve_into(&base, &mut extracted);
        let bytes: usize = extracted.links.iter().map(|link| link.url.len()).sum();
        assert!((PAGE_BYTES - 2000..=PAGE_BYTES).contains(&bytes), "{bytes}");
        assert_eq!(extracted.links.len() + extracted.links_left_out, 10_000);
        assert!(extracted.flags.has(Flags::PARSE_PARTIAL));
    }

    #[test]
    fn one_link_without_nofollow_is_enough() {
        let mut links = Links::new(9);
        let nofollow = Rel::parse("nofollow");
        let first = links
            .add(Cow::Borrowed("a"), LinkKind::Anchor, nofollow)
            .unwrap();
        links.add(Cow::Borrowed("./a"), LinkKind::Anchor, Rel::default());
        links.set_anchor(first, String::new);
        links.set_anchor(first, || "second".to_owned());
        links.set_anchor(first, || "third".to_owned());
        let links = links.resolve(&Url::parse("http://a.example/").unwrap());
        assert_eq!(links.len(), 1);
        assert!(!links[0].rel.nofollow);
        assert_eq!(links[0].anchor, "second");
    }
}
