//! What feeds of every form come to: items, and their links in one list.

use std::borrow::Cow;

use teia_base::{Flags, LinkKind, Rel, Timestamp};
use url::Url;

use crate::fold::{Folded, fold};
use crate::html;
use crate::links::Links;
use crate::{Extracted, Limits, Source};

/// What a feed of any form has given so far.
#[derive(Debug)]
pub(crate) struct Collected<'l> {
    pub(crate) extracted: Extracted,
    pub(crate) links: Links<'static>,
    text: Folded,
    limits: &'l Limits,
}

/// One entry of a feed of any form.
#[derive(Debug, Default)]
pub(crate) struct Item {
    pub(crate) title: String,
    pub(crate) moment: Option<Timestamp>,
    /// Pages, absolute; the first is the item's own.
    pub(crate) pages: Vec<String>,
    /// A page to fall back to where no link is given.
    pub(crate) fallback: Option<String>,
    /// Pictures, sounds and other pages, absolute.
    pub(crate) others: Vec<(String, LinkKind)>,
    /// HTML, with the base for its links.
    pub(crate) contents: Vec<(String, Url)>,
}

impl<'l> Collected<'l> {
    pub(crate) fn new(limits: &'l Limits, extracted: Extracted) -> Self {
        Self {
            extracted,
            links: Links::new(limits.links_per_page),
            text: Folded::default(),
            limits,
        }
    }

    pub(crate) fn add(&mut self, url: String, kind: LinkKind) {
        self.links.add(Cow::Owned(url), kind, Rel::default());
    }

    pub(crate) fn push_item(&mut self, mut item: Item, source: &Source<'_>) {
        if item.pages.is_empty() {
            item.pages.extend(item.fallback.take());
        }
        self.text.break_line();
        self.text.push(&item.title);
        for page in item.pages {
            if let Some(link) = self
                .links
                .add(Cow::Owned(page), LinkKind::Feed, Rel::default())
            {
                self.links
                    .set_anchor(link, || fold(&item.title, self.limits.anchor_bytes));
                self.links.set_last_modified(link, item.moment);
            }
        }
        for (url, kind) in item.others {
            self.add(url, kind);
        }
        for (html, base) in item.contents {
            let source = Source {
                url: &base,
                ..source.clone()
            };
            let inner = html::fragment(&html, &source, self.limits);
            for link in inner.links {
                if let Some(id) = self.links.add(Cow::Owned(link.url), link.kind, link.rel) {
                    self.links.set_anchor(id, || link.anchor);
                }
            }
            for line in inner.text.lines() {
                self.text.break_line();
                self.text.push(line);
            }
        }
    }

    pub(crate) fn finish(mut self, url: &Url) -> Extracted {
        if self.text.len() > self.limits.text_bytes {
            self.extracted.flags.add(Flags::PARSE_PARTIAL);
        }
        self.text.truncate(self.limits.text_bytes);
        self.extracted.text = self.text.into_string();
        self.links.resolve_into(url, &mut self.extracted);
        self.extracted
    }
}
