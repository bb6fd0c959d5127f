//! New URLs and those that are due again share the turns of a host.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use teia_base::SimulatedDisk;
use teia_base::journal::Added;
use teia_base::journal::{Attempt, Commit, Entry, Next, Record};
use teia_base::{NormalForm, Outcome, Timestamp};
use teia_repository::{Backing, NewHosts, Offer, Repository, RepositoryConfig};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// A Repository in memory, or on disk with hardly any memory, and its journal's last entry.
struct Shelf {
    repository: Repository,
    sequence: u64,
}

impl Shelf {
    fn new(on_disk: bool, revisit_share: Option<u8>, new_hosts: NewHosts) -> Self {
        let config = RepositoryConfig {
            key: 7,
            order: Arc::new(support::ByDepth),
            keep_links: false,
            revisit_share,
            new_hosts,
        };
        let backing = Backing {
            files: Arc::new(SimulatedDisk::new()),
            prefix: "urls".into(),
            memory: 16 << 10,
            window: 20,
            filter_bits: 0,
        };
        Self {
            repository: if on_disk {
                Repository::open(config, backing).unwrap()
            } else {
                Repository::new(config)
            },
            sequence: 0,
        }
    }

    fn commit(&mut self, wall: Timestamp, record: Record) {
        self.sequence += 1;
        self.repository.apply(&Entry {
            sequence: self.sequence,
            wall,
            run: 1,
            record,
        });
        self.repository.maintain(wall, true).unwrap();
        while self.repository.decide_everything().unwrap() {}
        self.repository.take_news();
    }

    fn add(&mut self, urls: impl IntoIterator<Item = String>) {
        let mut added = Added::default();
        for url in urls {
            let url = NormalForm::default().parse(&url).unwrap();
            let verdict = self
                .repository
                .offer(&Offer::added(&url), at(1_000))
                .verdict;
            added.urls.push((url, verdict));
        }
        self.commit(at(1_000), Record::Added(added));
    }

    /// Visits all that waits, one a second, and again an hour after.
    fn visit_all(&mut self, host: &str) -> u32 {
        let host = self.repository.host(host).unwrap();
        let mut second = 0;
        loop {
            let leased = self.repository.window(host, 100, at(1_000));
            if leased.is_empty() {
                return second;
            }
            let mut commit = Commit::default();
            for url in leased {
                let moment = at(2_000 + i64::from(second));
                second += 1;
                let mut attempt = Attempt::new(url.url, moment, Outcome::http(200));
                attempt.next = Next::Again(moment.plus(Duration::from_secs(3600)));
                commit.attempts.push(attempt);
            }
            self.commit(at(2_100), Record::Commit(commit));
        }
    }
}

fn pages(numbers: std::ops::Range<u32>) -> impl Iterator<Item = String> {
    numbers.map(|number| format!("http://a.test/{number}"))
}

#[test]
fn new_urls_and_due_ones_share_the_turns_and_the_oldest_is_first() {
    for on_disk in [false, true] {
        let mut shelf = Shelf::new(on_disk, Some(25), NewHosts::Order);
        shelf.add(pages(0..400));
        assert_eq!(shelf.visit_all("a.test"), 400);
        let host = shelf.repository.host("a.test").unwrap();
        assert!(shelf.repository.window(host, 1, at(5_599)).is_empty());
        shelf.add(pages(400..2_000));
        assert_eq!(shelf.repository.is_on_disk(), on_disk);
        let turns = shelf.repository.window(host, 800, at(99_000));
        let again: Vec<_> = turns.iter().filter(|url| url.next_visit() == 2).collect();
        // The first turn is theirs.
        assert!(
            (200..=201).contains(&again.len()),
            "{on_disk}: {}",
            again.len()
        );
        for (url, number) in again.iter().zip(0..) {
            let last = url.fetched.as_ref().unwrap().last_attempt;
            assert_eq!(last, at(2_000 + number), "{on_disk}");
        }
        // What the one has not, the other gets.
        assert_eq!(
            shelf.repository.window(host, 9_000, at(99_000)).len(),
            1_200
        );
        assert!(shelf.repository.window(host, 1, at(99_000)).is_empty());
    }
}

/// VEUNI's two ways to refill a window.
#[test]
fn a_window_expands_or_refreshes() {
    for on_disk in [false, true] {
        for (share, visit) in [(0, 1), (100, 2)] {
            let mut shelf = Shelf::new(on_disk, Some(share), NewHosts::Order);
            shelf.add(pages(0..300));
            shelf.visit_all("a.test");
            shelf.add(pages(300..600));
            let host = shelf.repository.host("a.test").unwrap();
            let turns = shelf.repository.window(host, 600, at(99_000));
            assert_eq!(turns.len(), 600);
            for (at, url) in turns.iter().enumerate() {
                let is_first = url.next_visit() == visit;
                assert_eq!(
                    is_first,
                    at < 300,
                    "disk {on_disk}, share {share}, turn {at}"
                );
            }
        }
    }
}

#[test]
fn on_a_new_host_the_shortest_path_is_first_until_it_has_answered() {
    for on_disk in [false, true] {
        let mut shelf = Shelf::new(on_disk, None, NewHosts::ShortestPath);
        let deep = |number: u32| format!("http://b.test/a/long/way/down/{number:04}");
        shelf.add(
            (0..500).map(deep).chain(
                ["http://b.test/ab", "http://b.test/", "http://b.test/c"].map(str::to_owned),
            ),
        );
        shelf.add(pages(0..50));
        assert_eq!(shelf.repository.is_on_disk(), on_disk);
        let host = shelf.repository.host("b.test").unwrap();
        let first = shelf.repository.window(host, 2, at(2_000));
        let texts: Vec<_> = first.iter().map(|url| url.url.normal().as_str()).collect();
        assert_eq!(texts, ["http://b.test/", "http://b.test/c"], "{on_disk}");
        let attempt = Attempt::new(first[0].url.clone(), at(2_000), Outcome::http(200));
        let commit = Commit {
            attempts: vec![Attempt {
                next: Next::Done,
                visit: 1,
                ..attempt
            }],
            ..Commit::default()
        };
        shelf.commit(at(2_001), Record::Commit(commit));
        // It goes by the order now, which is that in which they were met.
        let next = shelf.repository.window(host, 600, at(2_100));
        assert_eq!(next.len(), 501);
        assert_eq!(next[0].url.normal().as_str(), deep(0), "{on_disk}");
    }
}
