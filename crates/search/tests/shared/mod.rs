//! Documents for tests, and the shared data where it is.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};

use teia_base::{
    CanonicalUrl, CaptureId, Directives, Document, Flags, MediaType, Outcome, Timestamp,
};
use teia_search::{
    Extras, IndexConfig, Results, SearchConfig, SearchRequest, Searcher, Weights, Writer,
};

/// A directory of the shared data, or none, said loudly: the tests then pass without it.
pub(crate) fn data(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("TEIA_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let directory = shared.join("data").join(name);
    if directory.is_dir() {
        return Some(directory);
    }
    eprintln!(
        "SKIPPED {name}: shared data missing at {}",
        directory.display()
    );
    None
}

pub(crate) fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

/// A page with a title and a text.
pub(crate) fn document(address: &str, title: &str, text: &str) -> Document {
    Document {
        url: url(address),
        requested: None,
        outcome: Outcome::http(200),
        flags: Flags::default(),
        fetched: Timestamp::parse("2026-03-01").unwrap(),
        capture: Some(CaptureId(7)),
        media_type: MediaType::parse("text/html; charset=utf-8"),
        depth: 0,
        title: title.into(),
        description: String::new(),
        headings: Vec::new(),
        text: text.into(),
        margins: Vec::new(),
        language: Some("pt".into()),
        links: Vec::new(),
        robots: Directives::default(),
    }
}

/// An index in a folder of its own.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) writer: Writer,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
        Self { folder, writer }
    }

    /// Adds pages (address, title, text) and commits.
    pub(crate) fn with(pages: &[(&str, &str, &str)]) -> Self {
        let mut place = Self::new();
        for (address, title, text) in pages {
            place
                .writer
                .add(&document(address, title, text), &Extras::default())
                .unwrap();
        }
        place.writer.commit(1).unwrap();
        place
    }

    pub(crate) fn searcher(&self) -> Searcher {
        let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
        searcher.open("test", self.folder.path()).unwrap();
        searcher
    }

    pub(crate) fn results(&self, query: &str) -> Results {
        self.searcher().search(&SearchRequest::new(query)).unwrap()
    }

    /// The last parts of the addresses found.
    pub(crate) fn found(&self, query: &str) -> Vec<String> {
        let hits = self.results(query).hits;
        hits.iter()
            .map(|hit| hit.url.rsplit('/').next().unwrap().to_owned())
            .collect()
    }
}

/// Many different words, the same for the same seed.
pub(crate) fn prose(seed: usize, words: usize) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "co", "di", "fe", "ga", "lu", "mi", "no", "pa", "qui", "ro", "sa", "te", "vi", "xo",
        "zu",
    ];
    let mut state = seed as u64 * 7_919 + 1;
    let mut text = String::new();
    for _ in 0..words {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mut bits = state >> 33;
        for _ in 0..3 {
            text.push_str(SYLLABLES[usize::try_from(bits % 16).unwrap()]);
            bits /= 16;
        }
        text.push(' ');
    }
    text
}
