//! HTML: links, title, headings and visible text in one pass, without a tree.
//!
//! ```text
//! text ──> markup::Scanner ──> Page (what each tag means) ──> Extracted
//!                                ├─ attributes   the values that matter
//!                                ├─ foreign      where SVG and MathML rules hold
//!                                ├─ margins      what stands beside the main text
//!                                └─ elements, meta, refresh: which values are links
//! ```
//!
//! A tree would cost ten times as much. What it would know better (misnested tables and
//! framesets) changes no link: `tests/differential.rs` compares with html5ever and lists the few cases where
//! it does.

mod attributes;
mod concealed;
mod elements;
mod foreign;
mod margins;
mod meta;
mod page;
pub(crate) mod refresh;
mod tag;
#[cfg(test)]
mod tests;

use teia_base::MediaType;

use crate::charset::{Decoded, Language};
use crate::markup::Rules;
use crate::{Extracted, Extractor, Limits, Source};

/// Reads HTML, XHTML and SVG pictures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Html;

impl Extractor for Html {
    fn accepts(&self, media_type: &MediaType) -> bool {
        media_type.is_html() || media_type.essence() == "image/svg+xml"
    }

    fn extract(&self, source: &Source<'_>, limits: &Limits) -> Extracted {
        let is_xml = source.media_type.is_some_and(MediaType::is_xml);
        let (language, rules) = if is_xml {
            (Language::Xml, Rules::Xml)
        } else {
            (Language::Html, Rules::Html)
        };
        let decoded = Decoded::new(source, language);
        let mut page = page::Page::new(&decoded.text, rules, source, limits, decoded.begin());
        page.read();
        page.finish()
    }
}

/// Reads HTML that stands inside another document: the content of a feed's item.
pub(crate) fn fragment(html: &str, source: &Source<'_>, limits: &Limits) -> Extracted {
    let mut page = page::Page::new(html, Rules::Html, source, limits, Extracted::default());
    page.read();
    page.finish()
}
