//! Crawls with far too little memory for their URLs: the same pages, each once, with the URLs on disk.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use support::{attempts, called_new, crawl_on, requested};
use teia_base::journal::Next;
use teia_base::{Files, SimulatedDisk, SystemClock};
use teia_engine::{CollectionConfig, Control, Layout, Parts, Report};
use teia_fetch::ScriptedFetcher;
use teia_repository::blocks::{Store, StoreStats};
use teia_repository::{Backing, State};
use teia_testweb::{Listen, Server, WebConfig};

const HOSTS: u64 = 12;
const PAGES: u64 = 150;

fn url(host: u64, page: u64) -> String {
    format!(
        "http://h{host}.large.test/directory-{}/page-{page}.html",
        page % 7
    )
}

/// Every page links to others of its host, to one of the next host, and to one outside.
fn web() -> (ScriptedFetcher, BTreeSet<String>) {
    let mut fetcher = ScriptedFetcher::new(Arc::new(SystemClock));
    let mut all = BTreeSet::new();
    for host in 0..HOSTS {
        for page in 0..PAGES {
            let links = [
                url(host, (page + 1) % PAGES),
                url(host, (page * 7 + 3) % PAGES),
                url(host, (page * 11 + 5) % PAGES),
                url((host + 1) % HOSTS, page),
                format!("http://outside.test/{}", page % 40),
            ];
            let body: String = links
                .iter()
                .map(|link| format!("<a href=\"{link}\">{page}</a> "))
                .collect();
            let text = format!("<title>{host}/{page}</title>{body}");
            fetcher = fetcher.page(&url(host, page), "text/html; charset=utf-8", &text);
            all.insert(url(host, page));
        }
    }
    (fetcher, all)
}

fn config(memory: u64) -> CollectionConfig {
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.filter.scope = "suffix:.large.test".parse().unwrap();
    config.run.commit_every = Duration::from_millis(10);
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    config.run.repository_memory = memory;
    config.archive.enabled = false;
    config
}

fn crawl(disk: &SimulatedDisk, fetcher: &ScriptedFetcher, config: &CollectionConfig) -> Report {
    let parts = Parts {
        fetcher: Some(Arc::new(fetcher.clone())),
        ..Parts::default()
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    crawl_on(files, config, &[url(0, 0)], parts, &Control::default()).unwrap()
}

fn done(disk: &SimulatedDisk) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for attempt in attempts(disk) {
        if attempt.next == Next::Done && !attempt.is_robots() {
            *counts.entry(attempt.url.normal().to_string()).or_default() += 1;
        }
    }
    counts
}

fn store(disk: &SimulatedDisk, memory: u64) -> Store {
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let backing = Backing {
        files: Arc::clone(&files),
        prefix: Layout::new("default").unwrap().urls(),
        memory,
        window: 10,
        filter_bits: 10,
    };
    Store::open(files, backing.store_config(7)).unwrap()
}

#[test]
fn a_crawl_far_beyond_memory_fetches_what_one_in_memory_does() {
    let (fetcher, all) = web();
    let in_memory = SimulatedDisk::new();
    let expected = crawl(&in_memory, &fetcher, &config(512 << 20));
    assert!(!in_memory.exists(&Layout::new("default").unwrap().urls().join("manifest")));
    for memory in [4 << 10, 64 << 10] {
        let disk = SimulatedDisk::new();
        let report = crawl(&disk, &fetcher, &config(memory));
        let counts = done(&disk);
        let found: BTreeSet<String> = counts.keys().cloned().collect();
        let lost: Vec<_> = all.difference(&found).take(5).collect();
        assert_eq!(
            (found.len(), lost),
            (all.len(), Vec::new()),
            "{memory}: {report:?}"
        );
        let twice = counts.iter().find(|(_, count)| **count != 1);
        assert_eq!(twice, None);
        let new = called_new(&disk);
        let not_once: Vec<_> = new.iter().filter(|(_, count)| **count != 1).collect();
        assert_eq!((new.len(), not_once), (all.len(), Vec::new()), "called new");
        assert_eq!(report.states, expected.states, "{memory}");
        assert_eq!(report.known_urls, expected.known_urls);
        assert_eq!(report.hosts, expected.hosts);
        let store = store(&disk, memory);
        let StoreStats { blocks, urls, .. } = store.stats();
        println!("{memory}: {:?}", store.stats());
        assert!(blocks > 1, "the blocks must have been split");
        assert!(store.last_fold() > 3, "there must have been folds");
        assert_eq!(urls, expected.known_urls);
        assert_eq!(store.count(State::Waiting), 0);
        assert!(store.verify().problems.is_empty());
    }
}

/// One host has so many URLs that they are chosen on a thread of their own.
#[test]
fn a_large_host_is_collected_while_its_urls_are_chosen_beside_it() {
    const PAGES: u64 = 2600;
    let mut fetcher = ScriptedFetcher::new(Arc::new(SystemClock));
    for page in 0..PAGES {
        let links: String = match page {
            0 => (1..PAGES)
                .map(|page| format!("<a href=\"{}\">x</a>", url(0, page)))
                .collect(),
            _ => format!("<a href=\"{}\">x</a>", url(0, page / 2)),
        };
        let text = format!("<title>{page}</title>{links}");
        fetcher = fetcher.page(&url(0, page), "text/html; charset=utf-8", &text);
    }
    let disk = SimulatedDisk::new();
    let report = crawl(&disk, &fetcher, &config(4 << 10));
    let counts = done(&disk);
    assert_eq!(counts.len() as u64, PAGES, "{report:?}");
    assert_eq!(counts.iter().find(|(_, count)| **count != 1), None);
    assert_eq!(report.waiting, 0);
}

/// Retries, redirects, sitemaps, requisites, traps: whatever makes a URL wait, move or fail.
#[test]
fn a_web_with_everything_is_the_same_beyond_memory() {
    let everything = || {
        let config = WebConfig {
            calendar: false,
            ..WebConfig::everything(3)
        };
        Server::start(config, Listen::Names { port: 0 }).unwrap()
    };
    let over = |memory| {
        let server = everything();
        let directory = tempfile::tempdir().unwrap();
        let mut config = support::config(&server);
        config.run.repository_memory = memory;
        let seeds = [server.web().front(0)];
        support::crawl(directory.path(), &config, &seeds).unwrap();
        let asked: BTreeSet<String> = requested(&server)
            .into_keys()
            .filter(|url| !server.web().is_trap(url))
            .collect();
        // A second run has nothing left to do, however the URLs are kept.
        server.clear_log();
        support::crawl(directory.path(), &config, &seeds).unwrap();
        let again = requested(&server);
        (asked, again)
    };
    let (in_memory, again_in_memory) = over(512 << 20);
    let (on_disk, again_on_disk) = over(4 << 10);
    let missing: Vec<_> = in_memory.difference(&on_disk).take(9).collect();
    let extra: Vec<_> = on_disk.difference(&in_memory).take(9).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{missing:?} {extra:?}"
    );
    assert_eq!(again_in_memory, again_on_disk);
}
