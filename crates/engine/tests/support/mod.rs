//! What the ring's tests share: a test web, a data directory, and one run over them.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use teia_base::journal::{Attempt, Entry, LinkVerdict, Record, all_segments, walk};
use teia_base::{DiskFiles, Files, Seed};
use teia_engine::{
    CollectionConfig, Control, Crawl, EngineError, Executor, Layout, Parts, Report, ThisMachine,
};
use teia_testweb::Server;

/// Settings for a crawl of the test web: no gap, names mapped to its port.
pub(crate) fn config(server: &Server) -> CollectionConfig {
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.politeness.retry_wait = Duration::from_millis(20);
    config.robots.first_retry = Duration::from_millis(20);
    config.fetch.resolve = vec![format!("*.test={}", server.addr())];
    config.filter.scope = "suffix:.web.test".parse().unwrap();
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    config
}

pub(crate) fn crawl(
    root: &Path,
    config: &CollectionConfig,
    seeds: &[String],
) -> Result<Report, EngineError> {
    crawl_with(root, config, seeds, Parts::default(), &Control::default())
}

pub(crate) fn crawl_with(
    root: &Path,
    config: &CollectionConfig,
    seeds: &[String],
    parts: Parts,
    control: &Control,
) -> Result<Report, EngineError> {
    let files: Arc<dyn Files> = Arc::new(DiskFiles::new(root).unwrap());
    crawl_on(files, config, seeds, parts, control)
}

pub(crate) fn crawl_on(
    files: Arc<dyn Files>,
    config: &CollectionConfig,
    seeds: &[String],
    parts: Parts,
    control: &Control,
) -> Result<Report, EngineError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let crawl = Crawl {
        files,
        root: "data".into(),
        key: 7,
        layout: Layout::new("default").unwrap(),
        config: config.clone(),
        save: false,
        seeds: seeds
            .iter()
            .map(|seed| Seed::parse(seed).unwrap().unwrap())
            .collect(),
        parts,
        control: control.clone(),
    };
    runtime.block_on(ThisMachine.run(crawl))
}

/// Every entry of the journal that is there, packed or not.
pub(crate) fn entries(files: &(impl Files + Clone)) -> Vec<Entry> {
    entries_on(&disk(files))
}

/// The same, on any disk.
pub(crate) fn entries_on(files: &Arc<dyn Files>) -> Vec<Entry> {
    let directory = Layout::new("default").unwrap().journal();
    let mut entries = Vec::new();
    let found = all_segments(&**files, &directory).unwrap();
    let first = found.first().copied().unwrap_or(1);
    walk(files, &directory, first, |entry| entries.push(entry)).unwrap();
    entries
}

fn disk(files: &(impl Files + Clone)) -> Arc<dyn Files> {
    Arc::new(files.clone())
}

/// Every attempt in the journal.
pub(crate) fn attempts(files: &(impl Files + Clone)) -> Vec<Attempt> {
    let records = entries_on(&disk(files))
        .into_iter()
        .map(|entry| entry.record);
    let attempts = records.filter_map(|record| match record {
        Record::Commit(commit) => Some(commit.attempts),
        _ => None,
    });
    attempts.flatten().collect()
}

/// How often the journal says of each URL that it is new.
pub(crate) fn called_new(files: &(impl Files + Clone)) -> BTreeMap<String, usize> {
    called_new_in(&entries_on(&disk(files)))
}

/// The same, of entries that were read.
pub(crate) fn called_new_in(entries: &[Entry]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut count = |url: &teia_base::CanonicalUrl, verdict: &LinkVerdict| {
        if *verdict == LinkVerdict::New {
            *counts.entry(url.to_string()).or_default() += 1;
        }
    };
    for entry in entries {
        match &entry.record {
            Record::RunStarted(run) => {
                for seed in &run.seeds {
                    count(seed.url.normal(), &seed.verdict);
                }
            }
            Record::Commit(commit) => {
                for link in commit.attempts.iter().flat_map(|attempt| &attempt.links) {
                    count(link.url.normal(), &link.verdict);
                }
            }
            Record::Folded(folded) => {
                for change in &folded.changes {
                    count(&change.url, &change.verdict);
                }
            }
            _ => {}
        }
    }
    counts
}

/// The number of the last entry in the journal; 0 where there is none.
pub(crate) fn last_entry(files: &(impl Files + Clone)) -> u64 {
    entries_on(&disk(files))
        .last()
        .map_or(0, |entry| entry.sequence)
}

/// Requests that the web saw for each URL, robots.txt apart.
pub(crate) fn requested(server: &Server) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in &server.log().entries {
        if !entry.url.ends_with("/robots.txt") {
            *counts.entry(entry.url.clone()).or_default() += 1;
        }
    }
    counts
}

pub(crate) fn set<T: Ord + Clone>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    items.into_iter().collect()
}
