//! A crawl with an index, to see what people find of it.

use std::sync::Arc;

use teia_base::{DiskFiles, Seed};
use teia_engine::{CollectionConfig, Control, Crawl, Executor, Layout, Parts, ThisMachine};
use teia_search::{Hit, SearchConfig, SearchRequest, Searcher, Weights};

/// What was collected, and can be searched.
pub(crate) struct Searchable {
    home: tempfile::TempDir,
}

impl Searchable {
    /// Crawls from these seeds, over a real disk.
    pub(crate) fn new(config: &CollectionConfig, seeds: &[String]) -> Self {
        let home = tempfile::tempdir().unwrap();
        crawl_in(&home, config, seeds);
        Self { home }
    }

    /// Goes on with it.
    pub(crate) fn again(&self, config: &CollectionConfig, seeds: &[String]) {
        crawl_in(&self.home, config, seeds);
    }

    /// All that is found for a query, near-duplicates too.
    pub(crate) fn hits(&self, query: &str) -> Vec<Hit> {
        let index = self
            .home
            .path()
            .join(Layout::new("default").unwrap().index());
        let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
        searcher.open("default", &index).unwrap();
        let request = SearchRequest {
            group_similar: false,
            limit: 100,
            ..SearchRequest::new(query)
        };
        searcher.search(&request).unwrap().hits
    }

    /// The addresses of them, sorted.
    pub(crate) fn found(&self, query: &str) -> Vec<String> {
        let mut urls: Vec<String> = self.hits(query).into_iter().map(|hit| hit.url).collect();
        urls.sort();
        urls
    }
}

fn crawl_in(home: &tempfile::TempDir, config: &CollectionConfig, seeds: &[String]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let crawl = Crawl {
        files: Arc::new(DiskFiles::new(home.path()).unwrap()),
        root: home.path().to_owned(),
        key: 7,
        layout: Layout::new("default").unwrap(),
        config: config.clone(),
        save: false,
        seeds: seeds
            .iter()
            .map(|seed| Seed::parse(seed).unwrap().unwrap())
            .collect(),
        parts: Parts::default(),
        control: Control::default(),
    };
    runtime.block_on(ThisMachine.run(crawl)).unwrap();
}
