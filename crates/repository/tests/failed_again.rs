//! A run begins, and very many URLs that failed get another chance, within the memory that was set. Alone in its process, because it
//! looks at the whole of it.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod support;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use support::{ByDepth, at, found};
use teia_base::journal::{Added, Attempt, Commit, Entry, Folded, Record};
use teia_base::{DiskFiles, Files, Outcome};
use teia_repository::{Backing, Offer, Repository, RepositoryConfig, State};

const URLS: u64 = 60_000;

fn url(number: u64) -> String {
    format!("http://failing.test/{number}/{}", "x".repeat(1500))
}

/// The most memory that this process has had since it was last asked, in MiB.
fn high_water() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.unwrap().trim().trim_end_matches("kB").trim();
    let most = kibibytes.parse::<u64>().unwrap() >> 10;
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    most
}

struct Process {
    repository: Repository,
    sequence: u64,
}

impl Process {
    fn commit(&mut self, record: Record) {
        self.sequence += 1;
        self.repository.apply(&Entry {
            sequence: self.sequence,
            wall: at(1),
            run: 1,
            record,
        });
        self.repository.maintain(at(1), true).unwrap();
        self.repository.catch_up().unwrap();
        for news in self.repository.take_news() {
            self.sequence += 1;
            self.repository.apply(&Entry {
                sequence: self.sequence,
                wall: at(1),
                run: 1,
                record: Record::Folded(Folded {
                    fold: news.fold,
                    changes: news.changes,
                    is_last: news.is_last,
                }),
            });
        }
    }
}

#[test]
fn urls_that_failed_wait_again_within_the_memory_that_was_set() {
    let folder = tempfile::tempdir().unwrap();
    let files: Arc<dyn Files> = Arc::new(DiskFiles::new(folder.path()).unwrap());
    let config = RepositoryConfig {
        key: 3,
        order: Arc::new(ByDepth),
        keep_links: false,
        revisit_share: None,
        new_hosts: teia_repository::NewHosts::default(),
    };
    let backing = Backing {
        files,
        prefix: PathBuf::from("urls"),
        memory: 4 << 20,
        window: 100,
        filter_bits: 0,
    };
    let mut process = Process {
        repository: Repository::open(config, backing).unwrap(),
        sequence: 0,
    };
    let numbers: Vec<u64> = (0..URLS).collect();
    for some in numbers.chunks(1000) {
        let mut added = Added::default();
        for number in some {
            let url = found(&url(*number));
            let offered = process.repository.offer(&Offer::added(&url), at(1));
            added.urls.push((url, offered.verdict));
        }
        process.commit(Record::Added(added));
    }
    while process.repository.decide_everything().unwrap() {
        process.commit(Record::Commit(Commit::default()));
    }
    assert!(process.repository.is_on_disk());
    for some in numbers.chunks(1000) {
        let attempts = some.iter().map(|number| {
            let mut attempt = Attempt::new(found(&url(*number)), at(2), Outcome::http(500));
            attempt.next = teia_base::journal::Next::Failed;
            attempt
        });
        process.commit(Record::Commit(Commit {
            attempts: attempts.collect(),
            ..Commit::default()
        }));
    }
    process.repository.decide_everything().unwrap();
    assert_eq!(process.repository.count(State::Failed), URLS);
    high_water();
    let before = high_water();
    process
        .repository
        .begin_run(at(1_000_000), Duration::from_secs(60));
    let more = high_water().saturating_sub(before);
    process.repository.check().unwrap();
    assert_eq!(process.repository.count(State::Failed), 0);
    assert_eq!(process.repository.count(State::Waiting), URLS);
    // All of their texts are 90 MB, and were held several times.
    assert!(more <= 64, "{more} MiB more than before");
}
