//! Feeds: RSS of every age, Atom, RDF, CDF, JSON Feed.

use std::borrow::Cow;

use teia_base::{Flags, LinkKind, MediaType};
use url::Url;

use crate::budget::Budget;
use crate::charset::{Decoded, Language};
use crate::feed_items::{Collected, Item};
use crate::fold::{fold, fold_title};
use crate::html;
use crate::json_feed;
use crate::markup::{Name, Rules, Scanner, TagEnd, Token, decode_text, key};
use crate::resolve::Resolver;
use crate::xml::{Attributes, local_key, moment};
use crate::{Extracted, Extractor, Limits, Source};

/// Open elements past which a feed is not one.
const MAX_DEPTH: usize = 128;

/// Reads feeds for their links, titles and dates; what is ill-formed is passed over.
///
/// An item's page is a link of kind `Feed` with the item's title as its text; the page that the
/// feed belongs to is an `Alternate`; links in the HTML of items keep their kinds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feed;

impl Extractor for Feed {
    fn accepts(&self, media_type: &MediaType) -> bool {
        matches!(
            media_type.essence(),
            "application/rss+xml"
                | "application/atom+xml"
                | "application/rdf+xml"
                | "application/feed+json"
                | "application/x-rss+xml"
                | "application/rss"
                | "text/rss+xml"
                | "application/x-cdf"
        )
    }

    fn extract(&self, source: &Source<'_>, limits: &Limits) -> Extracted {
        if source
            .media_type
            .is_some_and(|media_type| media_type.essence().ends_with("json"))
        {
            return json_feed::extract(source, limits);
        }
        let decoded = Decoded::new(source, Language::Xml);
        let mut reader = Reader {
            source,
            limits,
            scanner: Scanner::new(&decoded.text, Rules::Xml),
            bases: Vec::new(),
            depth: 0,
            item: None,
            feed: Collected::new(limits, decoded.begin()),
            items: 0,
        };
        reader.read();
        reader.feed.finish(source.url)
    }
}

#[derive(Debug)]
struct Reader<'a, 's> {
    source: &'s Source<'s>,
    limits: &'s Limits,
    scanner: Scanner<'a>,
    /// `xml:base` values in force, with the depth of their elements.
    bases: Vec<(usize, Url)>,
    depth: usize,
    item: Option<Item>,
    feed: Collected<'s>,
    items: usize,
}

impl<'a> Reader<'a, '_> {
    fn read(&mut self) {
        let mut budget = Budget::new(self.limits.cpu);
        let mut attributes = Attributes::default();
        while let Some(token) = self.scanner.next() {
            match token {
                Token::Start(name) => {
                    attributes.read(&mut self.scanner, self.limits.attrs_per_tag);
                    let tag_end = self.scanner.tag_end();
                    if tag_end == TagEnd::Missing {
                        break;
                    }
                    if budget.is_spent() {
                        self.feed.extracted.flags.add(Flags::PARSE_TIMEOUT);
                        break;
                    }
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        self.feed.extracted.flags.add(Flags::PARSE_DEPTH_LIMITED);
                        break;
                    }
                    if !self.start(name, &attributes, tag_end) {
                        break;
                    }
                    if tag_end == TagEnd::SelfClosing {
                        self.end(local_key(name.text));
                    }
                }
                Token::End(name) => self.end(local_key(name.text)),
                Token::Doctype(true) => self.feed.extracted.flags.add(Flags::PARSE_PARTIAL),
                Token::Doctype(false) | Token::Text(_) | Token::Cdata(_) => {}
            }
        }
        self.end_item();
    }

    /// Reads an element; false once the feed has given enough items.
    fn start(&mut self, name: Name<'a>, attributes: &Attributes<'a>, tag_end: TagEnd) -> bool {
        let local = local_key(name.text);
        if let Some(base) = attributes.get("xml:base")
            && let Ok(base) = self.base().join(&base)
        {
            self.bases.push((self.depth, base));
        }
        if self.depth == 1
            && let Some(language) = attributes.get("xml:lang")
        {
            self.feed.extracted.language = crate::extracted::language(&language);
        }
        let open = tag_end == TagEnd::Open;
        match local {
            _ if local == const { key("item") } || local == const { key("entry") } => {
                self.end_item();
                if self.items >= self.limits.feed_items {
                    self.feed.extracted.flags.add(Flags::PARSE_PARTIAL);
                    return false;
                }
                self.items += 1;
                let page = attributes.get("href").and_then(|href| self.resolve(&href));
                let fallback = attributes
                    .get("rdf:about")
                    .and_then(|about| self.resolve(&about));
                self.item = Some(Item {
                    pages: page.into_iter().collect(),
                    fallback,
                    ..Item::default()
                });
            }
            _ if local == const { key("link") } => self.link(name, attributes, open),
            _ if is_aside(local) && open => {
                self.scanner.raw_text(name.text);
            }
            _ => self.element(local, name, attributes, open),
        }
        true
    }

    /// `<link>` in its two forms: with `href`, or with the URL as its text.
    fn link(&mut self, name: Name<'a>, attributes: &Attributes<'a>, open: bool) {
        let Some(href) = attributes.get("href") else {
            if open {
                let text = plain(self.scanner.raw_text(name.text)).0;
                if let Some(url) = self.resolve(text.trim()) {
                    self.page(url);
                }
            }
            return;
        };
        let Some(url) = self.resolve(&href) else {
            return;
        };
        let rel = attributes.get("rel").unwrap_or(Cow::Borrowed("alternate"));
        let rel = rel.rsplit('/').next().unwrap_or(&rel).to_ascii_lowercase();
        match rel.as_str() {
            "alternate" | "" => self.page(url),
            "enclosure" => self.other(url, LinkKind::Media),
            "next" | "prev" | "previous" | "first" | "last" | "prev-archive" | "next-archive"
            | "current" | "replies" | "related" | "via" | "hub-page" => {
                self.other(url, LinkKind::Alternate);
            }
            _ => {}
        }
    }

    fn element(&mut self, local: u64, name: Name<'a>, attributes: &Attributes<'a>, open: bool) {
        macro_rules! is {
            ($($name:literal)|+) => { $(local == const { key($name) })||+ };
        }
        if is!("enclosure") {
            self.media(attributes.get("url"), LinkKind::Media);
        } else if is!("thumbnail") {
            self.media(attributes.get("url"), LinkKind::Image);
        } else if is!("image") {
            self.media(attributes.get("href"), LinkKind::Image);
        } else if is!("channel") {
            self.media(attributes.get("href"), LinkKind::Alternate);
        }
        // `media:content` names a file; `content` of Atom holds text.
        if is!("content")
            && let Some(url) = attributes.get("url")
        {
            let word = |name: &str| {
                attributes
                    .get(name)
                    .unwrap_or_default()
                    .to_ascii_lowercase()
            };
            let is_image = word("medium") == "image" || word("type").starts_with("image/");
            self.media(
                Some(url),
                if is_image {
                    LinkKind::Image
                } else {
                    LinkKind::Media
                },
            );
            return;
        }
        if !open {
            return;
        }
        if is!("title") {
            let title = self.title(name, attributes);
            match &mut self.item {
                Some(item) if item.title.is_empty() => item.title = title,
                None if self.feed.extracted.title.is_empty() => self.feed.extracted.title = title,
                _ => {}
            }
        } else if is!("guid" | "id") {
            let text = plain(self.scanner.raw_text(name.text)).0;
            let is_link = attributes
                .get("ispermalink")
                .is_none_or(|value| !value.eq_ignore_ascii_case("false"));
            let is_url = text.trim().starts_with("http://") || text.trim().starts_with("https://");
            let url = self
                .resolve(text.trim())
                .filter(|_| is_link && is_url && is!("guid"));
            if let Some(item) = &mut self.item {
                item.fallback = url.or(item.fallback.take());
            }
        } else if is!("pubdate"
            | "date"
            | "updated"
            | "published"
            | "modified"
            | "issued"
            | "created")
        {
            let text = plain(self.scanner.raw_text(name.text)).0;
            if let Some(item) = &mut self.item {
                // The last change counts, where several moments are told.
                item.moment = item.moment.max(moment(&text));
            }
        } else if is!("language") {
            let text = plain(self.scanner.raw_text(name.text)).0;
            if self.feed.extracted.language.is_none() {
                self.feed.extracted.language = crate::extracted::language(&text);
            }
        } else if is!("comments") {
            let text = plain(self.scanner.raw_text(name.text)).0;
            self.media(Some(Cow::Owned(text)), LinkKind::Alternate);
        } else if is!("description"
            | "summary"
            | "content"
            | "encoded"
            | "body"
            | "subtitle"
            | "tagline"
            | "abstract")
        {
            self.content(name, attributes);
        }
    }

    fn title(&mut self, name: Name<'a>, attributes: &Attributes<'a>) -> String {
        let html = self.html(name, attributes);
        let source = Source {
            url: self.source.url,
            ..self.source.clone()
        };
        let text = html::fragment(&html, &source, self.limits).text;
        fold_title(&text, self.limits.title_bytes)
    }

    fn content(&mut self, name: Name<'a>, attributes: &Attributes<'a>) {
        let html = self.html(name, attributes);
        let base = self.base().clone();
        match &mut self.item {
            Some(item) if item.contents.len() < 8 => item.contents.push((html, base)),
            Some(_) => {}
            None if self.feed.extracted.description.is_empty() => {
                let source = Source {
                    url: &base,
                    ..self.source.clone()
                };
                let text = html::fragment(&html, &source, self.limits).text;
                self.feed.extracted.description = fold(&text, self.limits.title_bytes);
            }
            None => {}
        }
    }

    /// The text of an element as HTML, whichever way it was written.
    fn html(&mut self, name: Name<'a>, attributes: &Attributes<'a>) -> String {
        let kind = attributes
            .get("type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let mode = attributes
            .get("mode")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let raw = self.scanner.raw_text(name.text);
        if mode == "base64"
            || (kind.contains('/') && !kind.starts_with("text/") && !kind.ends_with("xml"))
        {
            return String::new();
        }
        let (text, has_markup) = plain(raw);
        if has_markup {
            return raw.to_owned();
        }
        if matches!(kind.as_str(), "text" | "text/plain") && mode != "escaped" {
            return text.replace('&', "&amp;").replace('<', "&lt;");
        }
        text
    }

    fn media(&mut self, reference: Option<Cow<'_, str>>, kind: LinkKind) {
        if let Some(url) = reference.and_then(|reference| self.resolve(&reference)) {
            self.other(url, kind);
        }
    }

    fn page(&mut self, url: String) {
        match &mut self.item {
            Some(item) => item.pages.push(url),
            None => self.feed.add(url, LinkKind::Alternate),
        }
    }

    fn other(&mut self, url: String, kind: LinkKind) {
        match &mut self.item {
            Some(item) => item.others.push((url, kind)),
            None => self.feed.add(url, kind),
        }
    }

    fn end(&mut self, local: u64) {
        if local == const { key("item") } || local == const { key("entry") } {
            self.end_item();
        }
        self.depth = self.depth.saturating_sub(1);
        while self
            .bases
            .last()
            .is_some_and(|(depth, _)| *depth > self.depth)
        {
            self.bases.pop();
        }
    }

    fn end_item(&mut self) {
        if let Some(item) = self.item.take() {
            self.feed.push_item(item, self.source);
        }
    }

    fn base(&self) -> &Url {
        self.bases.last().map_or(self.source.url, |(_, base)| base)
    }

    fn resolve(&self, reference: &str) -> Option<String> {
        let reference = reference.trim();
        if reference.is_empty() || reference.len() > self.limits.attr_bytes {
            return None;
        }
        Resolver::new(self.base()).resolve(reference)
    }
}

/// Elements whose own links and titles are not those of the feed.
fn is_aside(local: u64) -> bool {
    const {
        [
            key("image"),
            key("textinput"),
            key("author"),
            key("contributor"),
            key("source"),
            key("owner"),
            key("cloud"),
            key("generator"),
        ]
    }
    .contains(&local)
}

/// The characters of an XML value, and whether elements stand among them.
fn plain(raw: &str) -> (String, bool) {
    let mut scanner = Scanner::new(raw, Rules::Xml);
    let mut text = String::with_capacity(raw.len());
    let mut has_markup = false;
    while let Some(token) = scanner.next() {
        match token {
            Token::Text(piece) => text.push_str(&decode_text(piece)),
            Token::Cdata(piece) => text.push_str(piece),
            Token::Start(_) => {
                has_markup = true;
                while scanner.next_attribute().is_some() {}
            }
            Token::End(_) | Token::Doctype(_) => {}
        }
    }
    (text, has_markup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::Timestamp;

    /// `kind URL anchor` of each link, the host left out.
    fn read(feed: &str) -> (Extracted, Vec<String>) {
        let url = Url::parse("http://a.example/feed").unwrap();
        let extracted = Feed.extract(&Source::new(&url, feed.as_bytes()), &Limits::default());
        let short = |url: &str| {
            url.strip_prefix("http://a.example")
                .unwrap_or(url)
                .to_owned()
        };
        let line = |link: &teia_base::Link| {
            format!("{} {} {}", link.kind.name(), short(&link.url), link.anchor)
                .trim_end()
                .to_owned()
        };
        let lines = extracted.links.iter().map(line).collect();
        (extracted, lines)
    }

    #[track_caller]
    fn check(feed: &str, links: &[&str]) {
        assert_eq!(read(feed).1, links);
    }

    #[test]
    fn rss_items_link_to_their_pages() {
        let feed = "<rss><channel><title>T &amp; U</title><link>/</link><language>pt</language>\
            <image><url>i</url><link>no</link></image>\
            <item><title>One</title><link> /1?a=1&amp;b=2 </link><pubDate>Sun, 15 Nov 2026 20:00:00 GMT</pubDate>\
            <description>&lt;a href='/x'>X&lt;/a> y</description><enclosure url='/e.mp3'/></item>\
            <item><guid>http://a.example/2</guid></item>\
            <item><guid isPermaLink='false'>http://a.example/no</guid></item>";
        let (page, links) = read(feed);
        assert_eq!(
            links,
            [
                "alternate /",
                "feed /1?a=1&b=2 One",
                "media /e.mp3",
                "anchor /x X",
                "feed /2"
            ]
        );
        assert_eq!(
            (page.title.as_str(), page.language.as_deref()),
            ("T & U", Some("pt"))
        );
        assert_eq!(page.text, "One\nX y");
        assert_eq!(
            page.links[1].last_modified,
            Timestamp::parse("2026-11-15T20:00:00Z")
        );
    }

    #[test]
    fn atom_entries_have_links_by_relation_and_bases() {
        check(
            "<feed xml:base='/b/'><link rel='self' href='no'/><link href='home'/><link rel='next' href='p2'/>\
             <entry><title type='html'>&lt;b>One&lt;/b></title><link href='1' xml:base='c/'/>\
             <link rel='enclosure' href='e'/><author><uri>no</uri></author>\
             <content type='xhtml'><div><a href='x'>X</a></div></content></entry></feed>",
            &[
                "alternate /b/home",
                "alternate /b/p2",
                "feed /b/c/1 One",
                "media /b/e",
                "anchor /b/x X",
            ],
        );
    }

    #[test]
    fn older_and_broken_feeds_are_read_too() {
        check(
            "<rdf:RDF><channel/><item rdf:about='/1'><title>x</title></item></rdf:RDF>",
            &["feed /1 x"],
        );
        check(
            "<channel href='/'><item href='/1'><title>x</title></item></channel>",
            &["alternate /", "feed /1 x"],
        );
        check(
            "<rss><item><title>a & b</title><link><![CDATA[/1]]></link><item><link>javascript:x</link>",
            &["feed /1 a & b"],
        );
    }
}
