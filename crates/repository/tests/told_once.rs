//! What a fold found out is told once, also where a process ends between two pieces of it; and what a move to
//! disk keeps of hosts and rules; and files that were damaged and found again are written anew.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use support::{ByDepth, Draw, at, exclusion, found};
use teia_base::journal::{Added, Attempt, Commit, Entry, Folded, LinkRecord, LinkVerdict, Record};
use teia_base::{Files, LinkKind, Outcome, Rel, SimulatedDisk};
use teia_repository::blocks::{Decided, Link, Store, StoreConfig, StoreError};
use teia_repository::{Admission, Backing, News, Offer, Repository, RepositoryConfig};

struct Process {
    repository: Repository,
    journal: Vec<Entry>,
    untold: VecDeque<News>,
}

fn backing(files: &Arc<dyn Files>, memory: u64) -> Backing {
    Backing {
        files: Arc::clone(files),
        prefix: PathBuf::from("urls"),
        memory,
        window: 1000,
        filter_bits: 10,
    }
}

impl Process {
    fn start(files: &Arc<dyn Files>, memory: u64, journal: Vec<Entry>) -> Self {
        let config = RepositoryConfig {
            key: 3,
            order: Arc::new(ByDepth),
            keep_links: false,
            revisit_share: None,
            new_hosts: teia_repository::NewHosts::default(),
        };
        let mut repository = Repository::open(config, backing(files, memory)).unwrap();
        for entry in &journal {
            repository.replay(entry);
        }
        repository.mend_files();
        repository.maintain(at(1), true).unwrap();
        Self {
            repository,
            journal,
            untold: VecDeque::new(),
        }
    }

    fn commit(&mut self, record: Record) {
        let entry = Entry {
            sequence: self.journal.len() as u64 + 1,
            wall: at(1),
            run: 1,
            record,
        };
        self.repository.apply(&entry);
        self.journal.push(entry);
    }

    fn add(&mut self, urls: impl Iterator<Item = String>) {
        let mut added = Added::default();
        for url in urls {
            let url = found(&url);
            let verdict = self.repository.offer(&Offer::added(&url), at(1)).verdict;
            added.urls.push((url, verdict));
        }
        self.commit(Record::Added(added));
    }

    /// Writes news down.
    fn write_news(&mut self) {
        while self.write_news_until_half_told() {}
    }

    /// Writes news down up to a piece that is not all of its fold, the rest of which stays untold.
    fn write_news_until_half_told(&mut self) -> bool {
        self.untold.extend(self.repository.take_news());
        while let Some(news) = self.untold.pop_front() {
            let is_part = !news.is_last;
            self.commit(Record::Folded(Folded {
                fold: news.fold,
                changes: news.changes,
                is_last: news.is_last,
            }));
            if is_part {
                return true;
            }
        }
        false
    }

    /// Adds a thousand at a time; ends where a piece of news is written down that is not all of its fold.
    fn add_until_half_told(&mut self, numbers: Range<u64>) -> bool {
        for first in numbers.step_by(1000) {
            self.add((first..first + 1000).map(url));
            loop {
                self.repository.maintain(at(1), true).unwrap();
                if self.write_news_until_half_told() {
                    return true;
                }
                if !self.repository.is_behind() {
                    break;
                }
            }
        }
        false
    }

    fn decide(&mut self) {
        while self.repository.decide_everything().unwrap() {
            self.write_news();
        }
        self.write_news();
    }
}

fn url(number: u64) -> String {
    format!("https://h{}.test/some/path/{number}", number % 50)
}

fn called_new(journal: &[Entry]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in journal {
        let new: Vec<String> = match &entry.record {
            Record::Added(added) => {
                let new = added.urls.iter().filter(|it| it.1 == LinkVerdict::New);
                new.map(|it| it.0.normal().to_string()).collect()
            }
            Record::Folded(folded) => {
                let new = folded.changes.iter();
                let new = new.filter(|it| it.verdict == LinkVerdict::New);
                new.map(|it| it.url.to_string()).collect()
            }
            _ => Vec::new(),
        };
        for url in new {
            *counts.entry(url).or_default() += 1;
        }
    }
    counts
}

#[test]
fn a_kill_between_two_pieces_of_news_tells_none_of_them_again() {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let memory = 20_000 * 1024;
    let mut process = Process::start(&files, memory, Vec::new());
    // The first fill has a filter, the second process none, so that folds have much to tell.
    process.add((0..60_000).map(url));
    process.repository.maintain(at(1), true).unwrap();
    process.decide();
    let mut process = Process::start(&files, memory, process.journal);
    let is_half_told = process.add_until_half_told(60_000..140_000);
    assert!(is_half_told, "no fold had more than one piece of news");
    let journal = process.journal.clone();
    drop(process);
    let mut process = Process::start(&files, memory, journal);
    process.write_news();
    process.add((60_000..140_000).map(url));
    process.decide();
    let new = called_new(&process.journal);
    let not_once = new.values().filter(|count| **count != 1).count();
    assert_eq!((new.len(), not_once), (140_000, 0));
    assert_eq!(process.repository.len(), 140_000);
}

/// The blocks are lost, and a process that makes them again ends before it has told what they find out, several times.
#[test]
fn blocks_that_are_made_again_call_nothing_new_twice_and_leave_nothing_out() {
    let memory = 20_000 * 1024;
    for seed in 0..6_u64 {
        let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
        let mut draw = Draw::new(seed);
        let mut process = Process::start(&files, memory, Vec::new());
        process.add((0..60_000).map(url));
        process.repository.maintain(at(1), true).unwrap();
        let mut process = Process::start(&files, memory, process.journal);
        // Much of it is told, some of it in part, and some waits.
        for first in [60_000, 70_000, 80_000, 90_000] {
            process.add_until_half_told(first..first + 10_000);
            process.write_news();
            // As at the end of a run: other moments than those of a process that only reads.
            process.decide();
        }
        process.add_until_half_told(95_000..105_000);
        let mut journal = process.journal;
        for life in 0..4 {
            if life == 0 || draw.below(3) == 0 {
                Store::forget(&*files, Path::new("urls")).unwrap();
            }
            let mut process = Process::start(&files, memory, journal);
            assert!(process.repository.is_on_disk());
            let first = draw.below(100) * 1000;
            process.add((first..first + 5000).map(url));
            for _ in 0..draw.below(4) {
                process.repository.maintain(at(1), true).unwrap();
                process.write_news_until_half_told();
            }
            journal = process.journal;
        }
        let mut process = Process::start(&files, memory, journal);
        process.add((0..105_000).map(url));
        process.decide();
        let new = called_new(&process.journal);
        let not_once = new.values().filter(|count| **count != 1).count();
        assert_eq!((new.len(), not_once), (105_000, 0), "seed {seed}");
        assert_eq!(process.repository.len(), 105_000, "seed {seed}");
    }
}

/// A run that visits everything again, or gives every page its next visit, cannot do so where a page of what waits is
/// damaged; and does not try for ever.
#[test]
fn a_run_begins_or_fails_where_waiting_news_is_damaged() {
    for periodic in [true, false] {
        let disk = SimulatedDisk::new();
        let files: Arc<dyn Files> = Arc::new(disk.clone());
        let memory = 256 << 10;
        let mut process = Process::start(&files, memory, Vec::new());
        process.add((0..20_000).map(url));
        process.decide();
        let mut process = Process::start(&files, memory, process.journal);
        let mut visited = Commit::default();
        for number in 0..2000 {
            let attempt = Attempt::new(found(&url(number)), at(2), Outcome::http(200));
            visited.attempts.push(attempt);
        }
        process.commit(Record::Commit(visited));
        for first in (20_000..40_000).step_by(500) {
            process.add((first..first + 500).map(url));
            process.repository.maintain(at(3), true).unwrap();
            // A fold that nobody waits for leaves files that no manifest names; damage to those is no loss.
            process.repository.catch_up().unwrap();
            process.write_news();
        }
        let journal = process.journal.clone();
        drop(process);
        let names = disk.list(Path::new("urls")).unwrap();
        let pending: Vec<_> = names
            .iter()
            .filter(|it| it.starts_with("pending-"))
            .collect();
        assert!(!pending.is_empty(), "{names:?}");
        for name in pending {
            let path = Path::new("urls").join(name);
            let mut bytes = disk.read(&path).unwrap();
            bytes[60] ^= 0xFF;
            disk.replace(&path, &bytes).unwrap();
        }
        let mut process = Process::start(&files, memory, journal);
        if periodic {
            process.repository.begin_again();
        } else {
            process.repository.begin_revisits(Duration::from_secs(60));
        }
        let error = process.repository.maintain(at(9), true).unwrap_err();
        assert!(
            error.is_loss() && error.to_string().contains("pending-"),
            "{error}"
        );
    }
}

/// Whoever opens the blocks asks which hosts have news that waits: not once for each URL of it, of which there may be tens of millions.
#[test]
fn hosts_of_waiting_news_are_told_once_for_a_file() {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let memory = 256 << 10;
    let mut process = Process::start(&files, memory, Vec::new());
    for first in (0..40_000).step_by(500) {
        process.add((first..first + 500).map(url));
        process.repository.maintain(at(3), true).unwrap();
        process.repository.catch_up().unwrap();
        process.write_news();
    }
    drop(process);
    let config = backing(&files, memory).store_config(3);
    let store = Store::open(Arc::clone(&files), config).unwrap();
    let mut told = Vec::new();
    store
        .waiting_hosts(|host| told.push(host.to_owned()))
        .unwrap();
    let names = files.list(Path::new("urls")).unwrap();
    let pending = names.iter().filter(|it| it.starts_with("pending-")).count();
    let mut hosts = told.clone();
    hosts.sort();
    hosts.dedup();
    assert!(!told.is_empty() && told.len() <= pending * hosts.len());
    let rows = store.stats().waiting_rows;
    assert!(
        rows > 5 * told.len() as u64,
        "{rows} rows, {} told",
        told.len()
    );
}

#[test]
fn hosts_cost_the_manifest_nothing_and_are_there_after_a_start() {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let hosts = 20_000;
    let mut process = Process::start(&files, 64 << 10, Vec::new());
    process.add((0..hosts).map(|host| format!("http://host-number-{host}.many.test/")));
    process.repository.maintain(at(1), true).unwrap();
    process.decide();
    let manifest = files
        .open(Path::new("urls/manifest"))
        .unwrap()
        .len()
        .unwrap();
    assert!(manifest < 5 * hosts, "{manifest} bytes");
    let process = Process::start(&files, 64 << 10, process.journal);
    assert_eq!(process.repository.host_count() as u64, hosts);
}

#[test]
fn long_urls_are_folded_by_their_bytes() {
    let mut store = Store::open(
        Arc::new(SimulatedDisk::new()),
        StoreConfig {
            prefix: PathBuf::from("urls"),
            front_urls: 1000,
            ..StoreConfig::default()
        },
    )
    .unwrap();
    let long = "x".repeat(2000);
    for number in 0..100 {
        let url = format!("http://long.test/{number}/{long}");
        store.replay(&Link::new(&url, 0), Decided::New);
        assert!(!store.wants_fold(), "{number}");
    }
    for number in 100..140 {
        let url = format!("http://long.test/{number}/{long}");
        store.replay(&Link::new(&url, 0), Decided::New);
    }
    assert!(store.wants_fold(), "280 kB of 1,000 URLs");
}

fn link_to(url: &str, verdict: LinkVerdict) -> LinkRecord {
    LinkRecord {
        url: found(url),
        kind: LinkKind::Anchor,
        rel: Rel::default(),
        anchor: String::new(),
        last_modified: None,
        depth: 3,
        requisite: false,
        chain: None,
        verdict,
    }
}

#[test]
fn a_url_keeps_the_rule_that_left_it_out_while_rows_move_to_the_disk() {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut process = Process::start(&files, 40 << 20, Vec::new());
    let url = |number: u64| format!("http://out{}.test/some/path/{number}", number % 100);
    let offer_out = |process: &mut Process, text: &str| {
        let url = found(text);
        let offer = Offer {
            admission: Admission::Exclude(exclusion("scope host")),
            depth: 3,
            ..Offer::added(&url)
        };
        process.repository.offer(&offer, at(1)).verdict
    };
    for number in 0..120_000 {
        offer_out(&mut process, &url(number));
    }
    // Some have moved, some have not, when a known link is committed.
    process.repository.maintain(at(1), true).unwrap();
    assert!(process.repository.is_on_disk());
    let mut attempt = Attempt::new(found("http://page.test/"), at(2), Outcome::http(200));
    let targets = [10, 60_000, 100_000, 119_999].map(url);
    for target in &targets {
        let verdict = offer_out(&mut process, target);
        attempt.links.push(link_to(target, verdict));
    }
    process.commit(Record::Commit(Commit {
        attempts: vec![attempt],
        ..Commit::default()
    }));
    for _ in 0..5 {
        process.repository.maintain(at(3), true).unwrap();
    }
    process.decide();
    for target in &targets {
        let state = process.repository.state(found(target).normal()).unwrap();
        assert_eq!(state.exclusion, Some(exclusion("scope host")), "{target}");
    }
}

/// In a store of many blocks most of them have no news, and are not visited again for long.
#[test]
fn files_that_were_found_again_are_written_anew_by_the_next_process_that_has_nothing_else_to_do() {
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let memory = 40 * 1024;
    let mut process = Process::start(&files, memory, Vec::new());
    for first in (0..12_000).step_by(200) {
        process.add((first..first + 200).map(url));
        process.repository.maintain(at(1), true).unwrap();
        process.write_news();
    }
    process.decide();
    let (journal, known) = (process.journal.clone(), process.repository.len());
    drop(process);
    // A process in between has heard of all that is told.
    let mut process = Process::start(&files, memory, journal);
    process.decide();
    let journal = process.journal.clone();
    drop(process);
    let folder = Path::new("urls");
    let runs: Vec<PathBuf> = disk
        .list(folder)
        .unwrap()
        .into_iter()
        .map(|it| folder.join(it))
        .collect();
    let runs = runs
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("run-"));
    let mut hurt = 0;
    for (number, path) in runs.enumerate() {
        let mut bytes = disk.read(&path).unwrap();
        let trailer = bytes.len() - 64;
        let index = usize::try_from(u64::from_le_bytes(
            bytes[trailer + 8..trailer + 16].try_into().unwrap(),
        ));
        match number % 5 {
            0 => bytes[trailer + 44] ^= 1,
            1 => bytes.extend([7; 100]),
            2 => bytes[index.unwrap() + 20] ^= 1,
            3 => bytes[trailer - 3] ^= 1,
            _ => continue,
        }
        hurt += 1;
        disk.replace(&path, &bytes).unwrap();
    }
    assert!(hurt > 8, "{hurt}");
    let mut process = Process::start(&files, memory, journal);
    assert!(process.repository.verify().unwrap().problems.len() >= hurt);
    process.decide();
    // Of a block with several damaged directories one is told of.
    let damage = process.repository.take_damage();
    assert!(
        damage.len() > hurt / 2 && damage.iter().all(StoreError::is_mended),
        "{damage:?}"
    );
    let journal = process.journal.clone();
    drop(process);
    let mut process = Process::start(&files, memory, journal);
    assert_eq!(process.repository.verify().unwrap().problems.len(), 0);
    process.add((0..12_000).map(url));
    process.decide();
    assert_eq!(process.repository.take_damage().len(), 0);
    assert_eq!((process.repository.len(), known), (12_000, 12_000));
    assert!(
        called_new(&process.journal)
            .values()
            .all(|count| *count == 1)
    );
}
