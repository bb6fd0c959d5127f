//! Sitemaps in XML: pages, further sitemaps, and the pictures and films of pages.

use std::borrow::Cow;

use teia_base::{Flags, LinkKind, MediaType, Rel, Timestamp};

use crate::budget::Budget;
use crate::charset::{Decoded, Language};
use crate::links::Links;
use crate::markup::{Rules, Scanner, TagEnd, Token, decode_text, key};
use crate::xml::{Attributes, local_key, moment};
use crate::{Extracted, Extractor, Limits, Source};

/// Open elements past which a sitemap is not one.
const MAX_DEPTH: usize = 128;

/// Reads `urlset` and `sitemapindex` as far as they go: URLs before a break are kept, wrong or
/// missing namespaces do not matter, nothing a document type declares is expanded.
///
/// XML of other kinds has no links here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sitemap;

impl Extractor for Sitemap {
    fn accepts(&self, media_type: &MediaType) -> bool {
        matches!(media_type.essence(), "application/xml" | "text/xml")
    }

    fn extract(&self, source: &Source<'_>, limits: &Limits) -> Extracted {
        let decoded = Decoded::new(source, Language::Xml);
        let mut extracted = decoded.begin();
        let mut reader = Reader {
            scanner: Scanner::new(&decoded.text, Rules::Xml),
            links: Links::of_sitemap(limits.sitemap_urls),
            flags: Flags::default(),
            is_index: false,
            media: Media::None,
            value: None,
            entry: Entry::default(),
        };
        reader.read(limits);
        extracted.is_sitemap_index = reader.is_index;
        extracted.flags.add(reader.flags);
        reader.links.resolve_into(source.url, &mut extracted);
        extracted
    }
}

/// What `loc` and `url` name at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Media {
    /// The page or sitemap itself.
    None,
    Image,
    Video,
}

/// The `<url>` or `<sitemap>` being read.
#[derive(Debug, Default)]
struct Entry {
    locations: Vec<String>,
    last_modified: Option<Timestamp>,
}

#[derive(Debug)]
struct Reader<'a> {
    scanner: Scanner<'a>,
    links: Links<'a>,
    flags: Flags,
    is_index: bool,
    media: Media,
    /// The element whose text is being read, and its text.
    value: Option<(u64, String)>,
    entry: Entry,
}

impl<'a> Reader<'a> {
    fn read(&mut self, limits: &Limits) {
        let mut budget = Budget::new(limits.cpu);
        let mut attributes = Attributes::default();
        let mut depth = 0_usize;
        let mut closed = false;
        while let Some(token) = self.scanner.next() {
            match token {
                Token::Start(name) => {
                    attributes.read(&mut self.scanner, limits.attrs_per_tag);
                    let local = local_key(name.text);
                    if depth == 0 && !is_root(local) {
                        return;
                    }
                    if budget.is_spent() {
                        self.flags.add(Flags::PARSE_TIMEOUT);
                        break;
                    }
                    match self.scanner.tag_end() {
                        TagEnd::Open => depth += 1,
                        TagEnd::SelfClosing => {}
                        TagEnd::Missing => break,
                    }
                    if depth > MAX_DEPTH {
                        self.flags.add(Flags::PARSE_DEPTH_LIMITED);
                        break;
                    }
                    self.start(local, &attributes);
                    if self.scanner.tag_end() == TagEnd::SelfClosing {
                        self.end(local);
                    }
                }
                Token::End(name) => {
                    depth = depth.saturating_sub(1);
                    let local = local_key(name.text);
                    self.end(local);
                    closed |= is_root(local);
                }
                Token::Text(text) => self.text(&decode_text(text), limits),
                Token::Cdata(text) => self.text(text, limits),
                Token::Doctype(true) => self.flags.add(Flags::PARSE_PARTIAL),
                Token::Doctype(false) => {}
            }
        }
        self.end_entry();
        if !closed {
            self.flags.add(Flags::PARSE_PARTIAL);
        }
    }

    fn start(&mut self, local: u64, attributes: &Attributes<'a>) {
        // An element inside a value ends it: the end tag was forgotten.
        self.end_value();
        match local {
            name if is_entry(name) => {
                self.end_entry();
                self.is_index |= name == const { key("sitemap") };
                // Some write the URL here, without `loc`.
                self.value = Some((name, String::new()));
            }
            name if name == const { key("image") } => self.media = Media::Image,
            name if name == const { key("video") } => self.media = Media::Video,
            name if name == const { key("link") } => {
                let rel = attributes.get("rel").unwrap_or_default();
                if rel.eq_ignore_ascii_case("alternate")
                    && let Some(href) = attributes.get("href").filter(|href| !href.is_empty())
                {
                    self.links.add(href, LinkKind::Alternate, Rel::default());
                }
            }
            name if const {
                [
                    key("loc"),
                    key("lastmod"),
                    key("content_loc"),
                    key("player_loc"),
                    key("thumbnail_loc"),
                ]
            }
            .contains(&name) =>
            {
                self.value = Some((name, String::new()));
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, limits: &Limits) {
        if let Some((_, value)) = &mut self.value
            && value.len() + text.len() <= limits.attr_bytes
        {
            value.push_str(text);
        }
    }

    fn end(&mut self, local: u64) {
        self.end_value();
        match local {
            name if is_entry(name) => self.end_entry(),
            name if name == const { key("image") } || name == const { key("video") } => {
                self.media = Media::None;
            }
            _ => {}
        }
    }

    fn end_value(&mut self) {
        let Some((name, value)) = self.value.take() else {
            return;
        };
        let value = value.trim();
        if value.is_empty() {
            return;
        }
        let kind = match (name, self.media) {
            (name, _) if name == const { key("lastmod") } => {
                self.entry.last_modified = self.entry.last_modified.or_else(|| moment(value));
                return;
            }
            (name, Media::None) if is_entry(name) && !value.starts_with("http") => return,
            (name, Media::None) if is_entry(name) || name == const { key("loc") } => {
                self.entry.locations.push(value.to_owned());
                return;
            }
            (name, _) if name == const { key("thumbnail_loc") } => LinkKind::Image,
            (_, Media::Image) => LinkKind::Image,
            _ => LinkKind::Media,
        };
        self.links
            .add(Cow::Owned(value.to_owned()), kind, Rel::default());
    }

    fn end_entry(&mut self) {
        let entry = std::mem::take(&mut self.entry);
        for location in entry.locations {
            if let Some(link) =
                self.links
                    .add(Cow::Owned(location), LinkKind::Sitemap, Rel::default())
            {
                self.links.set_last_modified(link, entry.last_modified);
            }
        }
        self.media = Media::None;
    }
}

fn is_entry(local: u64) -> bool {
    local == const { key("url") } || local == const { key("sitemap") }
}

fn is_root(local: u64) -> bool {
    local == const { key("urlset") } || local == const { key("sitemapindex") }
}
