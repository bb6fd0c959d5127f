//! What one call on the caller's thread does is bounded by counts, however much a fold finds out:
//! commits go on beside it.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use teia_base::journal::{Added, Entry, Folded, LinkVerdict, Record};
use teia_base::{Files, NormalForm, Order, SimulatedDisk, Timestamp, UrlFacts};
use teia_repository::blocks::{Link, News, Store, StoreConfig};
use teia_repository::{Backing, Offer, Repository, RepositoryConfig};

fn url(number: u64) -> String {
    format!("https://h{}.steps.test/page-{number}", number % 300)
}

#[test]
fn news_comes_in_steps_each_url_once_and_the_last_step_says_so() {
    let config = StoreConfig {
        page_bytes: 2000,
        block_bytes: 40_000,
        ..StoreConfig::default()
    };
    let mut store = Store::open(Arc::new(SimulatedDisk::new()), config.clone()).unwrap();
    let mut told = BTreeSet::new();
    for fold in 1..4_u64 {
        for number in 0..4000 * fold {
            store.offer(&Link::new(&url(number), 1));
        }
        store.fold_everything(fold).unwrap();
        let mut steps = 0;
        let mut is_over = false;
        while let Some(news) = store.some_verdicts(500).unwrap() {
            assert_eq!(news.fold, store.last_fold());
            assert!(!is_over, "nothing comes after the last step");
            // One page more than was asked for, at most.
            assert!(news.urls.len() < 500 + 200, "{} at once", news.urls.len());
            for it in news.urls.iter().filter(|it| it.news == News::New) {
                assert!(told.insert(it.url.clone()), "{} twice", it.url);
            }
            is_over = news.is_last;
            steps += 1;
        }
        assert!(is_over && steps >= 6, "{steps} steps");
        assert_eq!(told.len() as u64, 4000 * fold);
        assert!(!store.has_verdicts());
        store.acknowledge(fold);
    }
}

#[test]
fn a_start_in_the_middle_of_the_steps_tells_all_of_them_again() {
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk);
    let config = StoreConfig {
        page_bytes: 2000,
        ..StoreConfig::default()
    };
    let mut store = Store::open(Arc::clone(&files), config.clone()).unwrap();
    for number in 0..5000 {
        store.offer(&Link::new(&url(number), 1));
    }
    store.fold_everything(1).unwrap();
    let first = store.some_verdicts(500).unwrap().unwrap();
    assert!(!first.is_last);
    let mut store = Store::open(files, config).unwrap();
    let all: usize = store
        .verdicts()
        .unwrap()
        .iter()
        .map(|news| news.urls.len())
        .sum();
    assert_eq!(all, 5000);
}

#[derive(Debug)]
struct AsMet;

impl Order for AsMet {
    fn url_key(&self, url: &UrlFacts) -> u64 {
        url.sequence
    }
}

/// A Repository on disk, as the ring looks after it, and the journal behind it.
struct Ring {
    repository: Repository,
    journal: Vec<Entry>,
    at_once: u64,
    late: BTreeSet<String>,
    /// The most changes that one call brought.
    most: usize,
}

impl Ring {
    fn open(files: &Arc<dyn Files>, journal: Vec<Entry>, filter_bits: u32) -> Self {
        let backing = Backing {
            files: Arc::clone(files),
            prefix: PathBuf::from("urls"),
            // Room for two fronts of 20,000 URLs.
            memory: 20_000 * 1024,
            window: 100,
            filter_bits,
        };
        let config = RepositoryConfig {
            key: 3,
            order: Arc::new(AsMet),
            keep_links: false,
            revisit_share: None,
            new_hosts: teia_repository::NewHosts::default(),
        };
        let mut repository = Repository::open(config, backing).unwrap();
        for entry in &journal {
            repository.replay(entry);
        }
        repository
            .maintain(Timestamp::from_micros(1), true)
            .unwrap();
        Self {
            repository,
            journal,
            at_once: 0,
            late: BTreeSet::new(),
            most: 0,
        }
    }

    fn commit(&mut self, record: Record) {
        let entry = Entry {
            sequence: self.journal.len() as u64 + 1,
            wall: Timestamp::from_micros(1),
            run: 1,
            record,
        };
        self.repository.apply(&entry);
        self.journal.push(entry);
    }

    fn offer(&mut self, numbers: Range<u64>) {
        let wall = Timestamp::from_micros(1);
        let mut added = Added::default();
        for number in numbers {
            let url = NormalForm::default().parse(&url(number)).unwrap();
            let verdict = self.repository.offer(&Offer::added(&url), wall).verdict;
            self.at_once += u64::from(verdict == LinkVerdict::New);
            added.urls.push((url, verdict));
        }
        self.commit(Record::Added(added));
    }

    fn write_news_down(&mut self) -> usize {
        let mut changes = 0;
        for news in self.repository.take_news() {
            changes += news.changes.len();
            for change in &news.changes {
                if change.verdict == LinkVerdict::New {
                    let text = change.url.to_string();
                    assert!(self.late.insert(text), "{} twice", change.url);
                }
            }
            self.commit(Record::Folded(Folded {
                fold: news.fold,
                changes: news.changes,
                is_last: news.is_last,
            }));
        }
        changes
    }

    fn look_after(&mut self) {
        let wall = Timestamp::from_micros(1);
        if self.repository.is_behind() {
            // The thread of the fold is waited for here as a test must; what it found out is not
            // heard in one go because of that.
            while self.repository.is_behind() {
                std::thread::yield_now();
                self.repository.maintain(wall, true).unwrap();
                let changes = self.write_news_down();
                self.most = self.most.max(changes);
            }
        }
        self.repository.maintain(wall, true).unwrap();
        let changes = self.write_news_down();
        self.most = self.most.max(changes);
    }
}

#[test]
fn no_call_of_maintain_brings_more_than_a_step() {
    const FIRST: u64 = 60_000;
    const ALL: u64 = 140_000;
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut ring = Ring::open(&files, Vec::new(), 10);
    for first in (0..FIRST).step_by(1000) {
        ring.offer(first..first + 1000);
        ring.look_after();
    }
    while ring.repository.decide_everything().unwrap() {
        ring.write_news_down();
    }
    assert!(ring.repository.is_on_disk());
    assert_eq!(ring.repository.len(), FIRST);
    let met = ring.at_once + ring.late.len() as u64;
    assert_eq!(met, FIRST);

    // Without a filter nothing but visits can say what is new.
    let mut ring = Ring::open(&files, ring.journal, 0);
    for first in (0..ALL).step_by(1000) {
        ring.offer(first..first + 1000);
        ring.look_after();
    }
    let most = ring.most;
    while ring.repository.decide_everything().unwrap() {
        ring.write_news_down();
    }
    assert_eq!(ring.at_once + ring.late.len() as u64, ALL - FIRST);
    assert_eq!(ring.repository.len(), ALL);
    assert!(ring.late.len() > 20_000, "{} came late", ring.late.len());
    // A step, and the rest of a page.
    assert!(most > 5000 && most < 13_000, "{most} at once");
}

#[test]
fn after_a_start_new_urls_are_known_at_once_again() {
    const FIRST: u64 = 60_000;
    const ALL: u64 = 200_000;
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut ring = Ring::open(&files, Vec::new(), 10);
    for first in (0..FIRST).step_by(1000) {
        ring.offer(first..first + 1000);
        ring.look_after();
    }
    while ring.repository.decide_everything().unwrap() {
        ring.write_news_down();
    }
    // Filters are in memory only. They are made again, each with the first visit of its block.
    let mut ring = Ring::open(&files, ring.journal, 10);
    for first in (0..ALL).step_by(1000) {
        ring.offer(first..first + 1000);
        ring.look_after();
    }
    while ring.repository.decide_everything().unwrap() {
        ring.write_news_down();
    }
    assert_eq!(ring.at_once + ring.late.len() as u64, ALL - FIRST);
    let at_once = ring.at_once * 100 / (ALL - FIRST);
    assert!(at_once >= 90, "{at_once} % at once");
}

#[test]
fn a_survey_tells_of_each_url_once_a_page_at_a_time_while_folds_go_on() {
    const FIRST: u64 = 60_000;
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut ring = Ring::open(&files, Vec::new(), 0);
    for first in (0..FIRST).step_by(1000) {
        ring.offer(first..first + 1000);
        ring.look_after();
    }
    assert!(ring.repository.is_on_disk());
    // Much of it was not decided yet, and more is met while it goes on.
    ring.repository.begin_survey();
    let (mut told, mut met, mut calls) = (BTreeSet::new(), FIRST, 0);
    while ring.repository.is_surveying() {
        ring.offer(met..met + 1000);
        met += 1000;
        ring.look_after();
        let before = told.len();
        let gone_on = ring.repository.survey_some(
            1,
            |_| true,
            |url| {
                assert!(told.insert(url.url.normal().to_string()), "twice");
            },
        );
        gone_on.unwrap();
        let at_once = told.len() - before;
        assert!(at_once < 5000, "{at_once} at once");
        calls += usize::from(at_once > 0);
        assert!(met < 100 * FIRST, "it does not end");
    }
    assert!(calls > 10, "{calls} calls");
    assert!(ring.most > 0, "no fold went on beside it");
    for number in 0..FIRST {
        assert!(told.contains(&url(number)), "{}", url(number));
    }
}
