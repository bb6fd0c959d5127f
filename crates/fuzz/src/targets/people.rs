//! What people write.

use std::sync::{LazyLock, Mutex, PoisonError};

use teia_base::Seed;
use teia_engine::CollectionConfig;
use teia_search::{IndexConfig, SearchConfig, SearchRequest, Searcher, Weights, Writer};

use super::{Target, hold, texts};

pub(super) const COLLECTION: Target = Target {
    name: "collection",
    words: &[
        "[run]", "=", "\"", "[", "]", "1s", "200KB", "-1", "1e99", "\n", "true", "seeds",
        "[fetch]", "'''", "\u{0}",
    ],
    inputs_in_tests: 5_000,
    examples: || {
        let default = CollectionConfig::default().to_toml();
        vec![
            default.into_bytes(),
            b"mode = \"once\"\nseeds = [\"http://a.example/\"]\n[run]\nmax-pages = 10\n".to_vec(),
        ]
    },
    read: |input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return Ok(());
        };
        let Ok(config) = CollectionConfig::parse(text) else {
            return Ok(());
        };
        let written = config.to_toml();
        let again =
            CollectionConfig::parse(&written).map_err(|error| format!("{written}: {error}"))?;
        let rewritten = again.to_toml();
        hold(rewritten == written, || {
            format!("{written} becomes {rewritten}")
        })
    },
};

pub(super) const SEED: Target = Target {
    name: "seed",
    words: &[
        "http://",
        "#",
        " ",
        "localhost",
        ":80",
        "[::1]",
        "//",
        "user:pw@",
        "\u{feff}",
    ],
    inputs_in_tests: 10_000,
    examples: || {
        texts(&[
            "example.com",
            "http://a.example/x # why",
            "  localhost:8080/",
            "# nothing",
            "",
        ])
    },
    read: |input| {
        if let Ok(Some(seed)) = Seed::parse(&String::from_utf8_lossy(input)) {
            seed.http();
        }
        Ok(())
    },
};

pub(super) const QUERY: Target = Target {
    name: "query",
    words: &[
        "+",
        "-",
        "\"",
        "(",
        ")",
        " OR ",
        "title:",
        "site:",
        "lang:",
        "type:",
        "inurl:",
        "before:",
        "after:",
        "*",
        "a*",
        "2026-02-30",
        "café",
        "NOT",
        ":",
        "\\",
    ],
    inputs_in_tests: 3_000,
    examples: || {
        texts(&[
            "quero café",
            "+melro -gaiola \"bico amarelo\" title:ave site:a.example",
            "(a OR b) lang:pt before:2026-01-01 inurl:x pref*",
        ])
    },
    read: |input| {
        let searcher = SEARCHER.lock().unwrap_or_else(PoisonError::into_inner);
        let query = String::from_utf8_lossy(input);
        // A refused query is an answer as well.
        let _ = searcher.1.search(&SearchRequest::new(query));
        Ok(())
    },
};

/// An empty index is enough: what a query means is decided before documents are looked at.
static SEARCHER: LazyLock<Mutex<(tempfile::TempDir, Searcher)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut writer = Writer::open(folder.path(), IndexConfig::default()).expect("a new index");
    writer.commit(0).expect("an empty index");
    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    searcher.open("all", folder.path()).expect("an index");
    Mutex::new((folder, searcher))
});
