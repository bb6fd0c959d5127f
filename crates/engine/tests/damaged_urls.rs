//! A file of the URLs on disk is damaged or gone: the crawl goes on around it, and the next one has everything.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::{attempts, called_new, crawl_with};
use teia_base::journal::Next;
use teia_base::{DiskFiles, SystemClock};
use teia_engine::{CollectionConfig, Control, Event, Feedback, Parts, Report};
use teia_fetch::ScriptedFetcher;
use teia_repository::Backing;
use teia_repository::blocks::Store;

const HOSTS: u64 = 20;
const PAGES: u64 = 50;

fn url(host: u64, page: u64) -> String {
    format!("http://h{host}.hurt.test/page-{page}.html")
}

/// Every page links to three of its host and to the same page of the next one.
fn web() -> (ScriptedFetcher, BTreeSet<String>) {
    let mut fetcher = ScriptedFetcher::new(Arc::new(SystemClock));
    let mut all = BTreeSet::new();
    for (host, page) in (0..HOSTS).flat_map(|host| (0..PAGES).map(move |page| (host, page))) {
        let links = [
            url(host, (page + 1) % PAGES),
            url(host, (page * 7 + 3) % PAGES),
            url(host, (page * 11 + 5) % PAGES),
            url((host + 1) % HOSTS, page),
        ];
        let links = links
            .iter()
            .map(|link| format!("<a href={link}>{page}</a> "));
        let text = format!("<title>{host}/{page}</title>{}", links.collect::<String>());
        fetcher = fetcher.page(&url(host, page), "text/html; charset=utf-8", &text);
        all.insert(url(host, page));
    }
    (fetcher, all)
}

fn config(pages: Option<u64>) -> CollectionConfig {
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.filter.scope = "suffix:.hurt.test".parse().unwrap();
    config.run.commit_every = Duration::from_millis(10);
    config.run.alias_pages = 0;
    config.filter.max_pages = pages;
    config.run.repository_memory = MEMORY;
    config.traps.enabled = false;
    config.archive.enabled = false;
    config
}

/// Whether damage was told of.
#[derive(Debug, Default)]
struct Damage(AtomicBool);

impl Feedback for Damage {
    fn hear(&self, event: &Event) {
        if let Event::Notice { text, .. } = event
            && text.contains("is damaged at byte")
        {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// What came of it, and whether damage was told of.
fn crawl(root: &Path, fetcher: &ScriptedFetcher, pages: Option<u64>) -> (Report, bool) {
    let damage = Arc::new(Damage::default());
    let parts = Parts {
        fetcher: Some(Arc::new(fetcher.clone())),
        feedback: damage.clone(),
        ..Parts::default()
    };
    let (config, control) = (config(pages), Control::default());
    let report = crawl_with(root, &config, &[url(0, 0)], parts, &control).unwrap();
    (report, damage.0.load(Ordering::Relaxed))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The largest runs of the URLs on disk: what is damaged in them is met for sure. An end may leave files of a fold that was not
/// taken in: nobody names them, and whoever opens the store removes them.
fn some_files(root: &Path) -> Vec<String> {
    let files = Arc::new(DiskFiles::new(root).unwrap());
    let backing = Backing {
        files: files.clone(),
        prefix: URLS.into(),
        memory: MEMORY,
        window: 100,
        filter_bits: 0,
    };
    drop(Store::open(files, backing.store_config(7)).unwrap());
    let files = std::fs::read_dir(root.join(URLS)).unwrap();
    let files = files.map(|entry| entry.unwrap());
    let mut files: Vec<_> = files
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (file.metadata().unwrap().len(), name)
        })
        .filter(|(_, name)| name.starts_with("run-"))
        .collect();
    files.sort();
    let largest = files.into_iter().rev().take(4);
    largest.map(|(_, name)| name).collect()
}

const MEMORY: u64 = 16 << 10;
const URLS: &str = "default/part-0/urls";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Hurt {
    /// A bit in the first page, which is behind nothing.
    FirstPage,
    /// The pages cannot be found any more.
    Cut,
    Gone,
}

fn hurt(file: &PathBuf, way: Hurt) {
    let mut bytes = std::fs::read(file).unwrap();
    match way {
        Hurt::FirstPage => bytes[12] ^= 0x10,
        Hurt::Cut => bytes.truncate(bytes.len() / 2),
        Hurt::Gone => return std::fs::remove_file(file).unwrap(),
    }
    std::fs::write(file, bytes).unwrap();
}

/// A crawl that ended halfway with files of URLs on disk. A fold runs beside the crawl, which waits for none at its end, and 500
/// pages may be there before the first one is.
fn half_a_crawl(fetcher: &ScriptedFetcher, pages: u64) -> (tempfile::TempDir, Vec<String>) {
    for _ in 0..100 {
        let root = tempfile::tempdir().unwrap();
        let (report, _) = crawl(root.path(), fetcher, Some(pages));
        assert!(report.waiting > 0, "{report:?}");
        let names = some_files(root.path());
        if !names.is_empty() {
            return (root, names);
        }
    }
    panic!("of 100 crawls none wrote its URLs to disk");
}

#[test]
fn a_crawl_goes_on_around_damage_and_the_next_one_has_everything() {
    let (fetcher, all) = web();
    let (half, names) = half_a_crawl(&fetcher, all.len() as u64 / 2);
    for name in names {
        for way in [Hurt::FirstPage, Hurt::Cut, Hurt::Gone] {
            let what = format!("{name} {way:?}");
            let home = tempfile::tempdir().unwrap();
            copy(half.path(), home.path());
            hurt(&home.path().join(URLS).join(&name), way);
            let (second, is_told) = crawl(home.path(), &fetcher, None);
            println!("{what}: {} fetched, told: {is_told}", second.fetched);
            // A page of which nobody needs anything is not read.
            assert!(is_told || way == Hurt::FirstPage, "{what}");
            let (third, _) = crawl(home.path(), &fetcher, None);
            assert!(!third.blocks_damaged, "{what}");
            check(home.path(), &all, &what);
        }
    }
}

/// Every page was fetched once, and called new once.
fn check(root: &Path, all: &BTreeSet<String>, what: &str) {
    let files = DiskFiles::new(root).unwrap();
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for attempt in attempts(&files) {
        if attempt.next == Next::Done && !attempt.is_robots() {
            *done.entry(attempt.url.normal().to_string()).or_default() += 1;
        }
    }
    for (counted, by) in [(done, "fetched"), (called_new(&files), "called new")] {
        let lost: Vec<_> = all
            .iter()
            .filter(|url| !counted.contains_key(*url))
            .collect();
        assert_eq!(
            lost.len(),
            0,
            "{what}: never {by}: {:?}",
            &lost[..lost.len().min(3)]
        );
        let twice: Vec<_> = counted.iter().filter(|(_, count)| **count != 1).collect();
        assert_eq!(
            twice.len(),
            0,
            "{what}: {by} twice: {:?}",
            &twice[..twice.len().min(3)]
        );
    }
}
