//! What an extractor gives back.

use std::collections::BTreeMap;

use teia_base::{CharsetSource, Directives, Flags, Link, Margin, MarginKind, MediaType};

/// A page, understood as far as it could be.
#[derive(Clone, Debug, Default)]
pub struct Extracted {
    /// The declared type, or the one its bytes show where that was missing or plainly wrong.
    pub media_type: Option<MediaType>,
    /// The charset it was decoded from, by its WHATWG name; none for what is not text.
    pub charset: Option<&'static str>,
    /// Who said that it is this charset.
    pub charset_source: CharsetSource,
    /// Title, white space folded, at most [`Limits::title_bytes`](crate::Limits::title_bytes).
    pub title: String,
    /// The author's description of the page.
    pub description: String,
    /// Headings in order, at most [`Limits::headings`](crate::Limits::headings).
    pub headings: Vec<String>,
    /// Visible text, white space folded to one space, or to the end of a line between blocks; at most [`Limits::text_bytes`](crate::Limits::text_bytes).
    pub text: String,
    /// Parts of the text that are navigation, or not to be quoted, by where they begin.
    pub margins: Vec<Margin>,
    /// The language the page says it is in: `pt-PT`.
    pub language: Option<String>,
    /// The URL the page says it should be known by, absolute.
    pub canonical: Option<String>,
    /// What the page and its headers ask of robots.
    pub robots: Directives,
    /// Links in order: absolute, without fragment, each URL once for each kind.
    pub links: Vec<Link>,
    /// References beyond [`Limits::links_per_page`](crate::Limits::links_per_page), or longer together than
    /// a page may have, which were left out.
    pub links_left_out: usize,
    /// How many references named nothing to fetch, by scheme: `mailto`, `javascript`, `data`…
    pub schemes: BTreeMap<&'static str, u32>,
    /// Whether its links are to further sitemaps: it is an index of them.
    pub is_sitemap_index: bool,
    /// What extraction gave up on.
    pub flags: Flags,
}

impl Extracted {
    pub(crate) fn count_schemes(&mut self, more: &BTreeMap<&'static str, u32>) {
        for (scheme, count) in more {
            let sum = self.schemes.entry(scheme).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// The text is another one now. What was not to be quoted somewhere in it is quoted nowhere.
    pub(crate) fn forget_margins(&mut self) {
        let mut margins = self.margins.iter();
        let unquoted = margins.find(|margin| margin.kind == MarginKind::Unquoted);
        let unquoted = unquoted.map(|margin| Margin {
            from: 0,
            to: u32::MAX,
            ..*margin
        });
        self.margins = unquoted.into_iter().collect();
    }
}

/// The first language tag of a declaration (`pt-PT, en`), if it has the form of one.
pub(crate) fn language(declared: &str) -> Option<String> {
    let tag = declared.split([',', ';']).next()?.trim();
    let mut parts = tag.split(['-', '_']);
    let primary = parts.next()?;
    let good = (2..=3).contains(&primary.len())
        && primary.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts
            .all(|part| part.len() <= 8 && part.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        && tag.len() <= 35;
    good.then(|| tag.to_owned())
}
