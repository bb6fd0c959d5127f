//! An index with very many pages.

use std::path::Path;

use teia_base::{CanonicalUrl, Directives, Document, Flags, MediaType, Outcome, Timestamp};
use teia_search::{Extras, IndexConfig, Writer};

/// Adds so many pages with a word to an index, beside what it has.
pub(crate) fn add_pages(root: &Path, collection: &str, word: &str, count: usize) {
    let path = root.join(collection).join("index");
    let mut writer = Writer::open(&path, IndexConfig::default()).unwrap();
    let position = writer.position();
    for number in 0..count {
        let document = Document {
            url: CanonicalUrl::parse(&format!("http://many.example/{number}")).unwrap(),
            requested: None,
            outcome: Outcome::http(200),
            flags: Flags::default(),
            fetched: Timestamp::parse("2026-03-01").unwrap(),
            capture: None,
            media_type: MediaType::parse("text/html"),
            depth: 0,
            title: format!("Page {number}"),
            description: String::new(),
            headings: Vec::new(),
            text: format!("{word} {number}"),
            margins: Vec::new(),
            language: None,
            links: Vec::new(),
            robots: Directives::default(),
        };
        writer.add(&document, &Extras::default()).unwrap();
    }
    writer.commit(position).unwrap();
    writer.close().unwrap();
}
