//! Which attributes of which elements are links.

use std::borrow::Cow;

use teia_base::{LinkKind, Rel};

use super::attributes::Slot;
use super::page::{Page, bare};
use super::tag::Tag;
use crate::fold::fold;
use crate::links::LinkId;
use crate::{css, link_rel, srcset};

/// `srcdoc` documents read for one page.
const MAX_SRCDOCS: usize = 16;

impl<'a> Page<'a, '_> {
    /// Adds the links of a start tag.
    #[inline]
    pub(super) fn links_of(&mut self, tag: Tag) {
        if tag == Tag::Anchor {
            self.close_anchor();
        }
        if self.attributes.is_empty() {
            return;
        }
        match tag {
            Tag::Anchor => self.open_anchor(Slot::Href),
            Tag::Area => {
                if let Some(link) = self.self_link(Slot::Href, LinkKind::Area) {
                    self.describe(link, Slot::Alt);
                }
            }
            Tag::Img => self.image(),
            Tag::Link => self.link_element(),
            Tag::Meta if self.templates == 0 => self.meta(),
            Tag::Base if self.base.is_none() && self.templates == 0 => {
                self.base = self.attributes.get(Slot::Href);
            }
            Tag::Script => self.link(Slot::Src, LinkKind::Script),
            Tag::Iframe => self.iframe(),
            Tag::Frame => self.link(Slot::Src, LinkKind::Frame),
            Tag::Source => {
                self.link(Slot::Src, LinkKind::Media);
                self.candidates(Slot::Srcset);
                self.candidates(Slot::DataSrcset);
            }
            Tag::Audio | Tag::Track => self.link(Slot::Src, LinkKind::Media),
            Tag::Video => {
                self.link(Slot::Src, LinkKind::Media);
                self.link(Slot::Poster, LinkKind::Image);
            }
            Tag::Embed => self.link(Slot::Src, LinkKind::Object),
            Tag::Object => self.link(Slot::Data, LinkKind::Object),
            Tag::Form => {
                let method = self.attributes.get(Slot::Method).unwrap_or_default();
                let method = method.trim();
                if !method.eq_ignore_ascii_case("post") && !method.eq_ignore_ascii_case("dialog") {
                    self.link(Slot::Action, LinkKind::Form);
                }
            }
            Tag::Input => {
                let kind = self.attributes.get(Slot::Type).unwrap_or_default();
                if kind.trim().eq_ignore_ascii_case("image") {
                    self.link(Slot::Src, LinkKind::Image);
                }
            }
            Tag::Html => self.html_language(),
            _ => {}
        }
        if self.attributes.has(Slot::Style)
            && let Some(style) = self.attributes.get(Slot::Style)
        {
            self.style(style);
        }
        if self.attributes.has(Slot::Background) {
            self.link(Slot::Background, LinkKind::Image);
        }
    }

    fn image(&mut self) {
        if let Some(anchor) = &mut self.anchor
            && anchor.alt.is_none()
        {
            anchor.alt = self
                .attributes
                .get(Slot::Alt)
                .filter(|alt| !alt.trim().is_empty());
        }
        for slot in [Slot::Src, Slot::DataSrc] {
            if let Some(link) = self.full_link(slot, LinkKind::Image, Rel::default()) {
                self.describe(link, Slot::Alt);
            }
        }
        self.candidates(Slot::Srcset);
        self.candidates(Slot::DataSrcset);
    }

    fn link_element(&mut self) {
        let rel = self.attributes.get(Slot::Rel).unwrap_or_default();
        let destination = self.attributes.get(Slot::As).unwrap_or_default();
        let Some(kind) = link_rel::kind(&rel, &destination) else {
            return;
        };
        if kind == LinkKind::Canonical && self.canonical.is_none() && self.templates == 0 {
            self.canonical = self
                .attributes
                .get(Slot::Href)
                .filter(|href| !href.trim().is_empty());
        }
        if let Some(link) = self.full_link(Slot::Href, kind, Rel::parse(&rel)) {
            self.describe(link, Slot::Title);
        }
        self.candidates(Slot::Imagesrcset);
    }

    fn iframe(&mut self) {
        self.link(Slot::Src, LinkKind::Frame);
        if self.srcdocs.len() < MAX_SRCDOCS
            && let Some(srcdoc) = self.attributes.get(Slot::Srcdoc)
        {
            self.srcdocs.push(srcdoc);
        }
    }

    fn html_language(&mut self) {
        let language = self
            .attributes
            .get(Slot::Lang)
            .or_else(|| self.attributes.get(Slot::XmlLang));
        if let Some(language) = language {
            self.set_language(&language);
        }
    }

    /// Adds a link that may be empty and so mean the page itself.
    pub(super) fn self_link(&mut self, slot: Slot, kind: LinkKind) -> Option<LinkId> {
        let rel = self
            .attributes
            .get(Slot::Rel)
            .map_or_else(Rel::default, |rel| Rel::parse(&rel));
        let value = self.attributes.get(slot)?;
        self.add(value, kind, rel)
    }

    /// Adds a link that names something else than the page.
    fn full_link(&mut self, slot: Slot, kind: LinkKind, rel: Rel) -> Option<LinkId> {
        let value = self.attributes.get(slot)?;
        if bare(&value).is_empty() {
            return None;
        }
        self.add(value, kind, rel)
    }

    pub(super) fn link(&mut self, slot: Slot, kind: LinkKind) {
        self.full_link(slot, kind, Rel::default());
    }

    pub(super) fn add(&mut self, value: Cow<'a, str>, kind: LinkKind, rel: Rel) -> Option<LinkId> {
        if value.len() > self.limits.attr_bytes {
            self.links.leave_out(&value);
            return None;
        }
        self.links.add(value, kind, rel)
    }

    fn describe(&mut self, link: LinkId, slot: Slot) {
        if let Some(text) = self.attributes.get(slot) {
            let max = self.limits.anchor_bytes;
            self.links.set_anchor(link, || fold(&text, max));
        }
    }

    fn candidates(&mut self, slot: Slot) {
        match self.attributes.get(slot) {
            Some(Cow::Borrowed(value)) => {
                for url in srcset::candidates(value) {
                    self.add(Cow::Borrowed(url), LinkKind::Image, Rel::default());
                }
            }
            Some(Cow::Owned(value)) => {
                for url in srcset::candidates(&value) {
                    self.add(Cow::Owned(url.to_owned()), LinkKind::Image, Rel::default());
                }
            }
            None => {}
        }
    }

    /// Adds the links of a style sheet or a `style` attribute.
    pub(super) fn style(&mut self, css: Cow<'a, str>) {
        match css {
            Cow::Borrowed(css) => {
                for (reference, kind) in css::references(css, &mut self.budget) {
                    if reference.len() <= self.limits.attr_bytes {
                        self.links.add(reference, kind, Rel::default());
                    }
                }
            }
            Cow::Owned(css) => {
                for (reference, kind) in css::references(&css, &mut self.budget) {
                    if reference.len() <= self.limits.attr_bytes {
                        let reference = Cow::Owned(reference.into_owned());
                        self.links.add(reference, kind, Rel::default());
                    }
                }
            }
        }
    }
}
