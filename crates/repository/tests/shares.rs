//! New URLs and those that are due again share the turns of a host.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use teia_base::journal::{Attempt, Commit, Entry, Next, Record};
use teia_base::{NormalForm, Outcome, Timestamp};
use teia_repository::{Offer, Repository, RepositoryConfig};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

#[test]
fn new_urls_and_due_ones_share_the_turns_and_the_oldest_is_first() {
    let mut repository = Repository::new(RepositoryConfig {
        key: 7,
        order: Arc::new(support::ByDepth),
        keep_links: false,
        revisit_share: Some(25),
    });
    let offer = |repository: &mut Repository, numbers: std::ops::Range<u32>| {
        for number in numbers {
            let url = format!("http://a.test/{number}");
            let url = NormalForm::default().parse(&url).unwrap();
            repository.offer(&Offer::added(&url), at(1_000));
        }
    };
    offer(&mut repository, 0..100);
    let host = repository.host("a.test").unwrap();
    // All of them are visited, one a second, and due again an hour after.
    let leased = repository.window(host, 100, at(1_000));
    let attempts = leased.iter().zip(0..).map(|(url, second)| {
        let moment = at(2_000 + second);
        let mut attempt = Attempt::new(url.url.clone(), moment, Outcome::http(200));
        attempt.next = Next::Again(moment.plus(Duration::from_secs(3600)));
        attempt
    });
    let commit = Commit {
        attempts: attempts.collect(),
        ..Commit::default()
    };
    repository.apply(&Entry {
        sequence: 1,
        wall: at(2_100),
        run: 1,
        record: Record::Commit(commit),
    });
    assert!(repository.window(host, 1, at(5_599)).is_empty());
    assert_eq!(repository.next_due(host, at(5_000)), Some(at(5_600)));
    offer(&mut repository, 100..400);
    let turns = repository.window(host, 80, at(9_000));
    let again: Vec<_> = turns.iter().filter(|url| url.next_visit() == 2).collect();
    // The first turn is theirs.
    assert!((20..=21).contains(&again.len()), "{}", again.len());
    for (url, number) in again.iter().zip(0..) {
        assert_eq!(
            url.fetched.as_ref().unwrap().last_attempt,
            at(2_000 + number)
        );
    }
    // What the one has not, the other gets.
    assert_eq!(repository.window(host, 1000, at(9_000)).len(), 320);
}
