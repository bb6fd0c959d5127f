//! The Repository on disk, with hardly any memory, over a life of random commits, kills and starts, is what the one
//! in memory is that hears the same journal: of every URL and of every host.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use support::{ByDepth, at, exclusion, found};
use teia_base::journal::{
    Added, Attempt, Commit, Entry, Folded, LinkRecord, LinkVerdict, Next, Record,
};
use teia_base::{Files, LinkKind, Outcome, Rel, SimulatedDisk};
use teia_repository::{
    Admission, Backing, NewHosts, Offer, Repository, RepositoryConfig, State, UrlState,
};

const HOSTS: u64 = 12;
const PAGES: u64 = 700;

struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

struct Life {
    files: Arc<dyn Files>,
    repository: Repository,
    journal: Vec<Entry>,
    draw: Draw,
    second: i64,
    share: Option<u8>,
    /// How often each URL was called new.
    told: BTreeMap<String, u32>,
    fetched: u64,
}

fn config(share: Option<u8>) -> RepositoryConfig {
    RepositoryConfig {
        key: 5,
        order: Arc::new(ByDepth),
        keep_links: false,
        revisit_share: share,
        new_hosts: NewHosts::ShortestPath,
    }
}

fn open(files: &Arc<dyn Files>, share: Option<u8>) -> Repository {
    let backing = Backing {
        files: Arc::clone(files),
        prefix: "urls".into(),
        memory: 48 << 10,
        window: 20,
        filter_bits: 8,
    };
    Repository::open(config(share), backing).unwrap()
}

impl Life {
    fn new(seed: u64, share: Option<u8>) -> Self {
        let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
        Self {
            repository: open(&files, share),
            files,
            journal: Vec::new(),
            draw: Draw(seed),
            second: 1_000_000,
            share,
            told: BTreeMap::new(),
            fetched: 0,
        }
    }

    fn url(&mut self) -> String {
        let host = self.draw.below(HOSTS);
        // Small numbers are met often.
        let most = self.draw.below(PAGES) + 1;
        let page = self.draw.below(most);
        format!("http://h{host}.model.test/{}/{page}", page % 7)
    }

    fn commit(&mut self, record: Record) {
        let entry = Entry {
            sequence: self.journal.len() as u64 + 1,
            wall: at(self.second),
            run: 1,
            record,
        };
        self.repository.apply(&entry);
        self.journal.push(entry);
    }

    fn note(&mut self, url: &str, verdict: &LinkVerdict) {
        if *verdict == LinkVerdict::New {
            *self.told.entry(url.to_owned()).or_default() += 1;
        }
    }

    fn links(&mut self, depth: u16) -> Vec<LinkRecord> {
        let mut links = Vec::new();
        for _ in 0..self.draw.below(12) {
            let text = self.url();
            let url = found(&text);
            // Whether a URL is outside depends on the URL: rules do not change in this test.
            let is_outside = text.len() % 11 == 3;
            let admission = if is_outside {
                Admission::Exclude(exclusion("outside"))
            } else {
                Admission::Admit
            };
            let offer = Offer {
                depth,
                admission,
                ..Offer::added(&url)
            };
            let verdict = self.repository.offer(&offer, at(self.second)).verdict;
            self.note(&text, &verdict);
            links.push(LinkRecord {
                url,
                kind: LinkKind::Anchor,
                rel: Rel::default(),
                anchor: String::new(),
                last_modified: None,
                depth,
                requisite: false,
                chain: None,
                verdict,
            });
        }
        links
    }

    fn attempt(&mut self, url: &UrlState) -> Attempt {
        let number =
            [200, 200, 200, 304, 404, 500, -10][usize::try_from(self.draw.below(7)).unwrap()];
        let outcome = Outcome::from_number(number);
        let mut attempt = Attempt::new(url.url.clone(), at(self.second), outcome);
        attempt.visit = url.next_visit();
        attempt.try_number = url.tries + 1;
        let soon = Duration::from_secs(30 + self.draw.below(100));
        let far = Duration::from_secs(200 + self.draw.below(2000));
        attempt.next = match self.draw.below(6) {
            0 if url.tries < 3 => Next::RetryAt(at(self.second).plus(soon)),
            1 if number < 0 => Next::Failed,
            2 | 3 => Next::Again(at(self.second).plus(far)),
            _ => Next::Done,
        };
        if number == 200 {
            attempt.text_digest = Some(u128::from(self.draw.below(2)));
            attempt.media_type = Some(
                ["text/html", "image/png"][usize::try_from(self.draw.below(2)).unwrap()].into(),
            );
            attempt.etag = Some(format!("\"{}\"", self.draw.below(9)));
            attempt.links = self.links(url.depth + 1);
            self.fetched += 1;
        }
        attempt
    }

    fn step(&mut self) {
        self.second += 7;
        let host = format!("h{}.model.test", self.draw.below(HOSTS));
        if let Some(host) = self.repository.host(&host)
            && self.draw.below(10) > 0
        {
            let n = usize::try_from(self.draw.below(6)).unwrap();
            let window = self.repository.window(host, n, at(self.second));
            let mut commit = Commit::default();
            for url in window {
                assert_eq!(url.state, State::Waiting);
                assert!(url.due.is_none_or(|due| due <= at(self.second)));
                if self.draw.below(20) == 0 {
                    self.repository.release(url.reference);
                    continue;
                }
                let attempt = self.attempt(&url);
                commit.attempts.push(attempt);
            }
            self.commit(Record::Commit(commit));
        } else {
            let mut added = Added::default();
            for _ in 0..self.draw.below(30) {
                let text = self.url();
                let url = found(&text);
                let verdict = self
                    .repository
                    .offer(&Offer::added(&url), at(self.second))
                    .verdict;
                self.note(&text, &verdict);
                added.urls.push((url, verdict));
            }
            self.commit(Record::Added(added));
        }
        if self.draw.below(4) == 0 {
            let urls = (0..self.draw.below(6))
                .map(|_| self.url())
                .collect::<Vec<_>>();
            let urls = urls.iter().map(|url| found(url).normal().clone());
            let urls = urls.filter(|url| self.repository.state(url).is_some());
            let urls: Vec<_> = urls.collect();
            let urls = urls.into_iter().map(|url| {
                let priority = i32::try_from(self.draw.below(9)).unwrap() - 4;
                (url, priority)
            });
            let urls = urls.collect();
            self.commit(Record::Prioritised(urls));
        }
        self.repository.maintain(at(self.second), true).unwrap();
        self.write_news_down();
    }

    fn write_news_down(&mut self) {
        for news in self.repository.take_news() {
            for change in &news.changes {
                self.note(change.url.as_str(), &change.verdict);
            }
            self.commit(Record::Folded(Folded {
                fold: news.fold,
                changes: news.changes,
                is_last: news.is_last,
            }));
        }
    }

    /// The process ends without a word, and another one begins.
    fn start_again(&mut self) {
        self.repository = open(&self.files, self.share);
        for entry in &self.journal {
            self.repository.replay(entry);
        }
        self.repository.maintain(at(self.second), true).unwrap();
        self.write_news_down();
    }

    fn check(&mut self) {
        while self.repository.decide_everything().unwrap() {
            self.write_news_down();
        }
        self.write_news_down();
        let mut in_memory = Repository::new(config(self.share));
        for entry in &self.journal {
            in_memory.replay(entry);
        }
        assert_eq!(self.repository.len(), in_memory.len());
        for state in State::ALL {
            assert_eq!(
                self.repository.count(state),
                in_memory.count(state),
                "{state:?}"
            );
        }
        for want in in_memory.urls() {
            let url = want.url.normal();
            let mut is = self.repository.state(url).unwrap();
            if self.repository.is_in_memory(url) {
                // Taken out while a shorter way to it, or its priority, was still on its way: its row on disk knows.
                assert!(is.depth >= want.depth, "{url}");
                is.depth = want.depth;
                is.priority = want.priority;
            }
            assert_eq!(shown(&is), shown(&want), "{url}");
        }
        for (host, name) in in_memory.hosts() {
            let is = self.repository.host(name).unwrap();
            assert_eq!(
                self.repository.host_counts(is),
                in_memory.host_counts(host),
                "{name}"
            );
        }
        let twice = self.told.iter().filter(|(_, times)| **times > 1);
        assert_eq!(twice.count(), 0, "told twice");
    }
}

/// Whatever waits is handed out once its time has come: none is forgotten, and none comes twice.
fn drain(life: &mut Life) {
    let mut in_memory = Repository::new(config(life.share));
    for entry in &life.journal {
        in_memory.replay(entry);
    }
    let waiting = in_memory.urls().filter(|url| url.state == State::Waiting);
    let waiting: BTreeSet<String> = waiting.map(|url| url.url.normal().to_string()).collect();
    let mut handed = BTreeSet::new();
    // In steps of time, so that what is due later comes to what was looked at before.
    for _ in 0..30 {
        life.second += 100;
        for host in 0..HOSTS {
            let Some(host) = life.repository.host(&format!("h{host}.model.test")) else {
                continue;
            };
            for url in life.repository.window(host, 15, at(life.second)) {
                assert!(handed.insert(url.url.normal().to_string()), "twice");
            }
        }
    }
    life.second += 100_000;
    for host in 0..HOSTS {
        let Some(host) = life.repository.host(&format!("h{host}.model.test")) else {
            continue;
        };
        for url in life.repository.window(host, usize::MAX, at(life.second)) {
            assert!(handed.insert(url.url.normal().to_string()), "twice");
        }
    }
    let lost: Vec<_> = waiting.difference(&handed).collect();
    assert!(lost.is_empty(), "{} never come: {lost:?}", lost.len());
    assert_eq!(waiting.len(), handed.len());
}

/// All that is to be the same. Times on disk are whole seconds, and not before they are due.
fn shown(state: &UrlState) -> String {
    let fetched = state.fetched.as_ref().map(|it| {
        (
            (
                it.last_attempt.as_seconds(),
                it.outcome,
                it.visits,
                it.changes,
            ),
            (
                it.last_change.map(|at| at.as_seconds()),
                it.quiet_seconds,
                it.changed_seconds,
            ),
            (it.media_type.clone(), it.text_digest, it.etag.clone()),
        )
    });
    format!(
        "{:?} depth {} tries {} rule {:?} priority {} {fetched:?}",
        state.state, state.depth, state.tries, state.exclusion, state.priority
    )
}

fn live(seed: u64, share: Option<u8>) {
    let mut life = Life::new(seed, share);
    for step in 0..2500 {
        life.step();
        if step % 401 == 400 {
            life.start_again();
        }
        if step % 833 == 832 {
            life.check();
        }
    }
    assert!(life.repository.is_on_disk());
    life.check();
    drain(&mut life);
    assert!(life.fetched > 1000, "{} were fetched", life.fetched);
}

#[test]
fn on_disk_everything_is_as_in_memory() {
    for seed in 0..4 {
        live(seed, None);
    }
}

#[test]
fn so_it_is_where_revisits_share_the_turns() {
    for (seed, share) in [(11, 25), (12, 0), (13, 100)] {
        live(seed, Some(share));
    }
}
