//! Few URLs that were visited again and again: a start must not read all of that for ever.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::sync::Arc;

use support::ByDepth;
use teia_base::journal::{Attempt, Commit, Entry, LinkVerdict, Record, RunStarted, SeedRecord};
use teia_base::{FoundUrl, NormalForm, Outcome, SimulatedDisk, Timestamp};
use teia_repository::{Backing, Repository, RepositoryConfig};

const URLS: u64 = 50;

fn url(number: u64) -> FoundUrl {
    let form = NormalForm::default();
    form.parse(&format!("http://few.test/{number}")).unwrap()
}

fn at(second: u64) -> Timestamp {
    Timestamp::from_micros(i64::try_from(second).unwrap() * 1_000_000)
}

/// All seeds, and then each URL visited so many times.
fn past(visits: u64) -> Vec<Entry> {
    let seeds = (0..URLS).map(|number| SeedRecord {
        url: url(number),
        fallback_http: false,
        verdict: LinkVerdict::New,
    });
    let mut records = vec![Record::RunStarted(RunStarted {
        options: String::new(),
        seeds: seeds.collect(),
        version: String::new(),
    })];
    for visit in 0..visits {
        let attempts = (0..URLS).map(|number| {
            let mut attempt = Attempt::new(url(number), at(100 + visit), Outcome::http(200));
            attempt.visit = u32::try_from(visit).unwrap() + 1;
            attempt.text_digest = Some(u128::from(visit / 3));
            attempt
        });
        records.push(Record::Commit(Commit {
            attempts: attempts.collect(),
            ..Commit::default()
        }));
    }
    let entry = |(sequence, record): (u64, Record)| Entry {
        sequence,
        wall: at(100 + sequence),
        run: 1,
        record,
    };
    (1..).zip(records).map(entry).collect()
}

fn config() -> RepositoryConfig {
    RepositoryConfig {
        key: 7,
        order: Arc::new(ByDepth),
        keep_links: false,
        revisit_share: None,
        new_hosts: teia_repository::NewHosts::default(),
    }
}

#[test]
fn a_long_past_goes_on_disk_and_is_not_read_again() {
    let disk = SimulatedDisk::new();
    let open = || {
        let backing = Backing {
            files: Arc::new(disk.clone()),
            prefix: "urls".into(),
            memory: 64 << 10,
            window: 10,
            filter_bits: 10,
        };
        Repository::open(config(), backing).unwrap()
    };
    // 64 KiB would hold these URLs, and as many things told as 2,048.
    for (visits, is_long) in [(39, false), (45, true)] {
        let entries = past(visits);
        let mut repository = open();
        let mut in_memory = Repository::new(config());
        for entry in &entries {
            repository.replay(entry);
            in_memory.replay(entry);
        }
        repository.maintain(at(10_000), true).unwrap();
        assert_eq!(repository.is_on_disk(), is_long, "{visits} visits");
        repository.decide_everything().unwrap();
        let position = repository.position();
        for number in 0..URLS {
            let known = |it: &Repository| {
                let state = it.state(url(number).normal()).unwrap();
                (state.state, state.fetched.map(|fetched| fetched.outcome))
            };
            assert_eq!(known(&repository), known(&in_memory));
        }
        drop(repository);
        // The next start begins where the blocks end.
        assert_eq!(open().position(), if is_long { position } else { 0 });
    }
}
