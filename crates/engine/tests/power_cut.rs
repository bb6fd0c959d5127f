//! The engine over a disk whose power is cut: nothing committed is lost, nothing is there twice.
//!
//! SIGKILL keeps the page cache, so only a disk like this one shows a missing sync: what the engine
//! said was committed must be there after the cut. Each seed is a crawl with several cuts, also
//! inside recovery; `TEIA_SEEDS` sets how many (200 by default; `./dev soak power` does thousands).

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use support::{attempts, called_new, crawl_on, last_entry};
use teia_archive::Captures;
use teia_base::journal::Next;
use teia_base::{Files, PowerCut, SimulatedDisk, SystemClock};
use teia_engine::{CollectionConfig, Control, Event, Feedback, Layout, Parts};
use teia_fetch::ScriptedFetcher;

const HOSTS: u64 = 3;
const PAGES: u64 = 16;

fn url(host: u64, page: u64) -> String {
    format!("http://h{host}.cut.test/p{page}")
}

/// Every page links to three others of its host and one of the next; all are reachable.
fn web() -> (ScriptedFetcher, BTreeSet<String>) {
    let mut fetcher = ScriptedFetcher::new(Arc::new(SystemClock));
    let mut all = BTreeSet::new();
    for host in 0..HOSTS {
        for page in 0..PAGES {
            let links = [
                url(host, (page + 1) % PAGES),
                url(host, (page * 7 + 3) % PAGES),
                url(host, (page * 5 + 1) % PAGES),
                url((host + 1) % HOSTS, page),
            ];
            let body: String = links
                .iter()
                .map(|link| format!("<a href=\"{link}\">{page}</a> "))
                .collect();
            let text = format!(
                "<title>{host}/{page}</title><p>{}</p>{body}",
                "palavra ".repeat(usize::try_from(20 + page).unwrap())
            );
            fetcher = fetcher.page(&url(host, page), "text/html; charset=utf-8", &text);
            all.insert(url(host, page));
        }
    }
    (fetcher, all)
}

/// Every other seed has so little memory for URLs that they are soon on disk.
fn config(seed: u64) -> CollectionConfig {
    let mut config = CollectionConfig::default();
    // Here the power is cut while journal and archive are written; the graph has such a test of its own.
    config.links.enabled = false;
    config.politeness.delay = Duration::ZERO;
    config.filter.scope = "suffix:.cut.test".parse().unwrap();
    config.run.commit_every = Duration::from_millis(2);
    config.run.commit_bytes = 2 << 10;
    config.run.journal_segment_bytes = 6 << 10;
    config.archive.warc.max_file_bytes = 12 << 10;
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    if seed % 2 == 1 {
        config.run.repository_memory = 4 << 10;
    }
    // And every other pair packs its journal as soon as it can.
    if seed / 2 % 2 == 1 {
        config.run.journal_bytes = 0;
    }
    config
}

/// The last entry of which the engine said that it is on disk.
#[derive(Debug, Default)]
struct Acknowledged(AtomicU64);

impl Feedback for Acknowledged {
    fn hear(&self, event: &Event) {
        if let Event::Committed { sequence, .. } = event {
            self.0.fetch_max(*sequence, Ordering::Relaxed);
        }
    }
}

#[test]
fn nothing_committed_is_lost_and_nothing_is_there_twice() {
    let seeds: u64 = std::env::var("TEIA_SEEDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(200);
    let first: u64 = std::env::var("TEIA_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let (fetcher, all) = web();
    let (mut cuts, mut packs) = (0, 0);
    for seed in first..first + seeds {
        let (more_cuts, more_packs) = check_seed(seed, &fetcher, &all);
        (cuts, packs) = (cuts + more_cuts, packs + more_packs);
    }
    println!("{seeds} seeds, {cuts} power cuts, {packs} segments packed");
    assert!(packs > 0 || seeds < 10, "nothing was packed");
    assert!(
        cuts > seeds,
        "the power must be cut more than once a seed, or this shows nothing"
    );
}

/// Crawls until done, with the power cut at seeded moments; returns how often it was.
fn check_seed(seed: u64, fetcher: &ScriptedFetcher, all: &BTreeSet<String>) -> (u64, usize) {
    let disk = SimulatedDisk::new();
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let mut committed: BTreeSet<String> = BTreeSet::new();
    let mut cuts = 0;
    loop {
        if cuts < 6 {
            disk.plan(PowerCut {
                after_calls: draw(if seed % 2 == 1 { 240 } else { 90 }),
            });
        }
        let acknowledged = Arc::new(Acknowledged::default());
        let parts = Parts {
            fetcher: Some(Arc::new(fetcher.clone())),
            feedback: acknowledged.clone(),
            ..Parts::default()
        };
        let files: Arc<dyn Files> = Arc::new(disk.clone());
        let result = crawl_on(
            files,
            &config(seed),
            &[url(0, 0)],
            parts,
            &Control::default(),
        );
        if result.is_ok() {
            break;
        }
        cuts += 1;
        assert!(cuts < 50, "seed {seed}: the crawl never ends");
        disk.cut_power(draw(u64::MAX));
        let (said, kept) = (acknowledged.0.load(Ordering::Relaxed), last_entry(&disk));
        assert!(
            kept >= said,
            "seed {seed}: entry {said} was called committed, and only {kept} are there"
        );
        let now = fetched(&disk);
        let lost: Vec<_> = committed.difference(&now).collect();
        // What one process saw as committed, every later one must see too.
        assert!(lost.is_empty(), "seed {seed}: lost {lost:?}");
        committed = now;
    }
    let found = fetched(&disk);
    assert_eq!(
        &found, all,
        "seed {seed}: TEIA_SEED={seed} TEIA_SEEDS=1 replays it"
    );
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for attempt in attempts(&disk) {
        if attempt.next == Next::Done {
            *counts.entry(attempt.url.normal().to_string()).or_default() += 1;
        }
    }
    assert!(
        counts.values().all(|&count| count == 1),
        "seed {seed}: {counts:?}"
    );
    check_archive(seed, &disk, all);
    let new = called_new(&disk);
    let not_once: Vec<_> = new.iter().filter(|(_, count)| **count != 1).collect();
    assert_eq!(
        (new.len(), not_once),
        (all.len(), Vec::new()),
        "seed {seed}: called new"
    );
    let on_disk = disk.exists(&Layout::new("default").unwrap().urls().join("manifest"));
    assert_eq!(on_disk, seed % 2 == 1, "seed {seed}: where the URLs are");
    let history = Layout::new("default").unwrap().history();
    let packs = disk.list(&history).unwrap().len();
    assert!(
        packs == 0 || seed / 2 % 2 == 1,
        "seed {seed}: what is packed"
    );
    (cuts, packs)
}

fn fetched(disk: &SimulatedDisk) -> BTreeSet<String> {
    let done = attempts(disk)
        .into_iter()
        .filter(|attempt| attempt.next == Next::Done);
    done.map(|attempt| attempt.url.normal().to_string())
        .collect()
}

fn check_archive(seed: u64, disk: &SimulatedDisk, all: &BTreeSet<String>) {
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let captures = Captures::open(files, &Layout::new("default").unwrap().archive()).unwrap();
    let mut pages = BTreeSet::new();
    for entry in captures.all().unwrap() {
        let entry = entry.unwrap();
        if entry.url.ends_with("/robots.txt") {
            continue;
        }
        assert!(
            pages.insert(entry.url.clone()),
            "seed {seed}: {} is archived twice",
            entry.url
        );
        captures.read(&entry).unwrap();
    }
    assert_eq!(&pages, all, "seed {seed}: the archive");
}
