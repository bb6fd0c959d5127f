//! What the tags of a page mean.

use std::borrow::Cow;

use teia_base::{Flags, LinkKind};
use url::Url;

use super::attributes::{Attributes, Slot};
use super::concealed::Concealed;
use super::foreign::Foreign;
use super::margins::Margins;
use super::tag::Tag;
use crate::budget::Budget;
use crate::fold::{Folded, cut, fold, fold_title};
use crate::links::{LinkId, Links};
use crate::markup::{Name, Rules, Scanner, TagEnd, Token, decode_text, is_space, key};
use crate::resolve::Resolver;
use crate::{Extracted, Limits, Source};

/// A page while it is read.
#[derive(Debug)]
pub(super) struct Page<'a, 's> {
    pub(super) source: &'s Source<'s>,
    pub(super) limits: &'s Limits,
    pub(super) attributes: Attributes<'a>,
    pub(super) extracted: Extracted,
    pub(super) links: Links<'a>,
    /// A refresh was met; later ones do not count.
    pub(super) refreshed: bool,
    /// `og:description`, for pages without a description.
    pub(super) second_description: String,
    scanner: Scanner<'a>,
    rules: Rules,
    pub(super) budget: Budget,
    text: Folded,
    margins: Margins,
    /// Where the text of the last link ended.
    link_end: usize,
    foreign: Foreign,
    pub(super) anchor: Option<OpenAnchor<'a>>,
    /// Where the text of the open heading begins.
    heading: Option<usize>,
    hidden: Hidden,
    concealed: Concealed,
    /// Open `<template>`: what is inside belongs to no document yet.
    pub(super) templates: usize,
    depth: usize,
    frames: Frames,
    pub(super) base: Option<Cow<'a, str>>,
    pub(super) canonical: Option<Cow<'a, str>>,
    pub(super) srcdocs: Vec<Cow<'a, str>>,
}

/// The `<a>` whose text is being read.
#[derive(Debug)]
pub(super) struct OpenAnchor<'a> {
    link: LinkId,
    start: usize,
    pub(super) alt: Option<Cow<'a, str>>,
    title: Option<Cow<'a, str>>,
}

/// Elements whose text is not shown: it is written, so that links inside have their text, and
/// taken back at their end.
#[derive(Debug, Default)]
struct Hidden {
    depth: usize,
    start: usize,
}

/// Whether a `<frameset>` would still be taken for one, or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frames {
    Possible,
    Refused,
    Inside,
}

impl<'a, 's> Page<'a, 's> {
    pub(super) fn new(
        text: &'a str,
        rules: Rules,
        source: &'s Source<'s>,
        limits: &'s Limits,
        extracted: Extracted,
    ) -> Self {
        Self {
            source,
            limits,
            attributes: Attributes::new(),
            extracted,
            links: Links::new(limits.links_per_page),
            refreshed: false,
            second_description: String::new(),
            scanner: Scanner::new(text, rules),
            rules,
            budget: Budget::new(limits.cpu),
            text: Folded::for_page(text.len()),
            margins: Margins::default(),
            link_end: 0,
            foreign: Foreign::default(),
            anchor: None,
            heading: None,
            hidden: Hidden::default(),
            concealed: Concealed::default(),
            templates: 0,
            depth: 0,
            frames: Frames::Possible,
            base: None,
            canonical: None,
            srcdocs: Vec::new(),
        }
    }

    /// Reads to the end of the page, or of its time.
    pub(super) fn read(&mut self) {
        while let Some(token) = self.scanner.next() {
            match token {
                Token::Text(text) => self.text(text),
                Token::Cdata(text) => self.characters(text),
                Token::Start(name) => {
                    self.start(name);
                    if self.budget.is_spent() || self.budget.was_spent() {
                        self.extracted.flags.add(Flags::PARSE_TIMEOUT);
                        return;
                    }
                }
                Token::End(name) => self.end(name.key),
                Token::Doctype(_) => {}
            }
        }
    }

    /// The page, its links resolved.
    pub(super) fn finish(mut self) -> Extracted {
        self.close_anchor();
        self.close_heading();
        let url = self.source.url;
        let base = self.base.take().and_then(|href| base_url(url, &href));
        let base = base.as_ref().unwrap_or(url);
        for srcdoc in std::mem::take(&mut self.srcdocs) {
            let mut inner = Page::new(
                &srcdoc,
                Rules::Html,
                self.source,
                self.limits,
                Extracted::default(),
            );
            inner.read();
            inner.close_anchor();
            let inner_base = inner.base.take().and_then(|href| base_url(base, &href));
            let inner_base = inner_base.as_ref().unwrap_or(base);
            let found = inner.links.resolve_in(inner_base, self.extracted.charset);
            self.extracted.links_left_out += found.left_out;
            self.extracted.count_schemes(&found.schemes);
            for link in found.links {
                if let Some(id) = self.links.add(Cow::Owned(link.url), link.kind, link.rel) {
                    self.links.set_anchor(id, || link.anchor);
                }
            }
        }
        let mut extracted = self.extracted;
        if self.text.len() > self.limits.text_bytes {
            extracted.flags.add(Flags::PARSE_PARTIAL);
        }
        self.text.truncate(self.limits.text_bytes);
        extracted.margins = self.margins.finish(self.text.len());
        extracted.text = self.text.into_string();
        if extracted.description.is_empty() {
            extracted.description = self.second_description;
        }
        extracted.canonical = self.canonical.and_then(|href| {
            let resolver = Resolver::new(base).in_charset(extracted.charset);
            resolver.resolve(bare(&href))
        });
        self.links.resolve_into(base, &mut extracted);
        extracted
    }

    #[inline]
    fn text(&mut self, raw: &str) {
        // NUL is nothing: a frameset may still follow it.
        if raw.bytes().all(|byte| is_space(byte) || byte == 0) {
            self.text.break_word();
            return;
        }
        self.characters(&decode_text(raw));
    }

    fn characters(&mut self, text: &str) {
        if self.foreign.is_open() {
            if self.foreign.innermost_is(const { key("style") }) {
                self.style(Cow::Owned(text.to_owned()));
                return;
            }
            if self.foreign.innermost_is(const { key("script") }) {
                return;
            }
        }
        match self.frames {
            Frames::Refused => {}
            Frames::Possible => self.frames = Frames::Refused,
            Frames::Inside => return,
        }
        // Past the limit only the texts of links and headings still matter.
        if self.text.len() <= self.limits.text_bytes
            || self.anchor.is_some()
            || self.heading.is_some()
        {
            self.text.push(text);
        }
    }

    #[inline]
    fn start(&mut self, name: Name<'a>) {
        self.attributes.read(&mut self.scanner, self.limits);
        let tag_end = self.scanner.tag_end();
        if tag_end == TagEnd::Missing {
            return;
        }
        if self.foreign.is_open() {
            let has_look = [Slot::Color, Slot::Face, Slot::Size]
                .iter()
                .any(|&slot| self.attributes.has(slot));
            let is_font_with_look = name.key == const { key("font") } && has_look;
            if self.foreign.enters(name.key, is_font_with_look) {
                self.start_foreign(name.key, tag_end);
                return;
            }
            self.scanner.cdata = self.rules == Rules::Xml || self.foreign.is_open();
        }
        let tag = Tag::from_key(name.key);
        if self.frames != Frames::Refused && self.is_outside_frames(tag, name.key) {
            return;
        }
        if !tag.is_inline(name.key) {
            self.border(tag, name.key);
        } else if tag == Tag::Anchor && self.link_end == self.text.len() {
            // Links that touch are the buttons of a menu: a style sheet keeps them apart.
            self.text.break_word();
        }
        let role = self.attributes.raw(Slot::Role).unwrap_or_default();
        let is_unquoted = self.attributes.has(Slot::DataNosnippet);
        let shown = self.text.len();
        if let Some(start) = self.concealed.start(tag, name.key, &self.attributes, shown) {
            self.take_back(start);
        }
        self.margins
            .start(tag, name.key, role, is_unquoted, self.text.len());
        self.deepen(tag);
        self.links_of(tag);
        if tag_end == TagEnd::SelfClosing && self.rules == Rules::Xml {
            self.end(name.key);
            return;
        }
        self.content_of(tag, name.key, tag_end);
    }

    /// Reads what follows a start tag where that is not ordinary markup.
    #[inline]
    fn content_of(&mut self, tag: Tag, name: u64, tag_end: TagEnd) {
        match tag {
            Tag::Script => {
                self.scanner.script_text();
            }
            Tag::Style => {
                let text = self.scanner.raw_text("style");
                self.style(Cow::Borrowed(text));
            }
            Tag::Title => {
                let text = self.scanner.raw_text("title");
                if self.extracted.title.is_empty() && self.templates == 0 {
                    self.extracted.title = fold_title(&decode_text(text), self.limits.title_bytes);
                }
            }
            Tag::Textarea => {
                self.scanner.raw_text("textarea");
            }
            Tag::Iframe => {
                self.scanner.raw_text("iframe");
            }
            Tag::Noembed => {
                self.scanner.raw_text("noembed");
            }
            Tag::Noframes => {
                self.scanner.raw_text("noframes");
            }
            Tag::Xmp => {
                let text = self.scanner.raw_text("xmp");
                self.characters(text);
            }
            Tag::Plaintext => {
                let text = self.scanner.rest();
                self.characters(text);
            }
            Tag::Heading => {
                self.close_heading();
                self.heading = Some(self.text.len());
            }
            Tag::Noscript | Tag::Template => {
                if tag == Tag::Template {
                    self.templates += 1;
                }
                if self.hidden.depth == 0 {
                    self.hidden.start = self.text.len();
                }
                self.hidden.depth += 1;
            }
            Tag::Svg | Tag::Math if tag_end == TagEnd::Open => {
                self.foreign.push(name, false);
                self.scanner.cdata = true;
            }
            _ => {}
        }
    }

    /// A start tag inside SVG or MathML.
    fn start_foreign(&mut self, name: u64, tag_end: TagEnd) {
        self.text.break_word();
        let href = if self.attributes.has(Slot::Href) {
            Slot::Href
        } else {
            Slot::XlinkHref
        };
        if name == const { key("a") } {
            self.close_anchor();
            self.open_anchor(href);
        } else if const { [key("image"), key("use"), key("feimage")] }.contains(&name) {
            let fragment = self.attributes.get(href).unwrap_or_default();
            if !fragment.trim_start().starts_with('#') {
                self.link(href, LinkKind::Image);
            }
        } else if name == const { key("script") } {
            self.link(href, LinkKind::Script);
        }
        if let Some(style) = self.attributes.get(Slot::Style) {
            self.style(style);
        }
        if tag_end == TagEnd::Open {
            self.deepen(Tag::from_key(name));
            let encoding = self.attributes.get(Slot::Encoding).unwrap_or_default();
            let is_html = encoding.eq_ignore_ascii_case("text/html")
                || encoding.eq_ignore_ascii_case("application/xhtml+xml");
            self.foreign
                .push(name, is_html && name == const { key("annotation-xml") });
        }
    }

    #[inline]
    fn end(&mut self, name: u64) {
        let tag = Tag::from_key(name);
        if !tag.is_inline(name) {
            self.border(tag, name);
        }
        self.margins.end(tag, name, self.text.len());
        if !tag.is_uncounted() {
            self.depth = self.depth.saturating_sub(1);
        }
        match tag {
            Tag::Anchor => {
                self.close_anchor();
                self.link_end = self.text.len();
            }
            Tag::Heading => self.close_heading(),
            Tag::Noscript | Tag::Template if self.hidden.depth > 0 => {
                if tag == Tag::Template {
                    self.templates = self.templates.saturating_sub(1);
                }
                self.hidden.depth -= 1;
                if self.hidden.depth == 0 {
                    self.take_back(self.hidden.start);
                }
            }
            _ => {}
        }
        if let Some(start) = self.concealed.end(name) {
            self.take_back(start);
        }
        if self.foreign.is_open() {
            self.foreign.close(name);
            self.scanner.cdata = self.rules == Rules::Xml || self.foreign.is_open();
        }
    }

    /// One more element is open.
    #[inline]
    fn deepen(&mut self, tag: Tag) {
        if !tag.is_uncounted() {
            self.depth += 1;
            if self.depth > self.limits.depth {
                self.extracted.flags.add(Flags::PARSE_DEPTH_LIMITED);
            }
        }
    }

    /// What was written since then is no text of the page.
    fn take_back(&mut self, start: usize) {
        self.text.truncate(start);
        self.margins.truncate(start);
    }

    /// Whether the tag is one that browsers pass over because the page is a frameset.
    fn is_outside_frames(&mut self, tag: Tag, name: u64) -> bool {
        if self.frames == Frames::Inside {
            return !matches!(tag, Tag::Frame | Tag::Frameset | Tag::Noframes | Tag::Html);
        }
        let refuses = match tag {
            Tag::Frameset if self.templates > 0 => return true,
            Tag::Frameset => {
                self.frames = Frames::Inside;
                return false;
            }
            Tag::Body
            | Tag::Area
            | Tag::Embed
            | Tag::Img
            | Tag::Object
            | Tag::Textarea
            | Tag::Xmp
            | Tag::Iframe => true,
            Tag::Input => {
                let kind = self.attributes.get(Slot::Type).unwrap_or_default();
                !kind.eq_ignore_ascii_case("hidden")
            }
            _ => const {
                [
                    key("pre"),
                    key("listing"),
                    key("li"),
                    key("dd"),
                    key("dt"),
                    key("button"),
                    key("applet"),
                    key("marquee"),
                    key("table"),
                    key("br"),
                    key("keygen"),
                    key("wbr"),
                    key("hr"),
                    key("select"),
                ]
            }
            .contains(&name),
        };
        if refuses {
            self.frames = Frames::Refused;
        }
        false
    }

    /// A word and a block end here, and where it is shown so, a line.
    #[inline]
    fn border(&mut self, tag: Tag, name: u64) {
        if tag.begins_line(name) {
            self.text.break_line();
        } else {
            self.text.break_word();
        }
        let open = self.anchor.as_ref().map(|anchor| anchor.start);
        self.margins.border(open, self.text.len());
    }

    pub(super) fn open_anchor(&mut self, href: Slot) {
        let Some(link) = self.self_link(href, LinkKind::Anchor) else {
            return;
        };
        self.anchor = Some(OpenAnchor {
            link,
            start: self.text.len(),
            alt: None,
            title: self.attributes.get(Slot::Title),
        });
    }

    pub(super) fn close_anchor(&mut self) {
        let Some(anchor) = self.anchor.take() else {
            return;
        };
        self.margins.link(anchor.start, self.text.len());
        let max = self.limits.anchor_bytes;
        self.links.set_anchor(anchor.link, || {
            let text = cut(self.text.since(anchor.start), max).trim_end();
            if text.is_empty() {
                fold(&anchor.alt.or(anchor.title).unwrap_or_default(), max)
            } else {
                one_line(text)
            }
        });
    }

    fn close_heading(&mut self) {
        let Some(start) = self.heading.take() else {
            return;
        };
        let text = cut(self.text.since(start), self.limits.title_bytes).trim_end();
        let is_shown = !text.is_empty() && !self.concealed.is_open();
        if is_shown && self.extracted.headings.len() < self.limits.headings {
            self.extracted.headings.push(one_line(text));
        }
    }

    /// The first language said wins.
    pub(super) fn set_language(&mut self, language: &str) {
        if self.extracted.language.is_none() {
            self.extracted.language = crate::extracted::language(language);
        }
    }
}

/// The base that `<base href>` sets, unless its scheme is one that pages may not use for it.
fn base_url(url: &Url, href: &str) -> Option<Url> {
    let base = url.join(href).ok()?;
    (!matches!(base.scheme(), "data" | "javascript") && !base.cannot_be_a_base()).then_some(base)
}

/// A title or a name in which other blocks stand is still one.
fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

pub(super) fn bare(reference: &str) -> &str {
    reference.trim_matches(|c: char| c <= ' ')
}
