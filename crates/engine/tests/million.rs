//! One million queued URLs on 100,000 hosts within 512 MiB, and still in fair turns.
//!
//! In a file of its own, so that no other test's memory is counted.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

use std::sync::Arc;
use std::time::Instant;

use teia_base::{CanonicalUrl, FoundUrl, HostFacts, Timestamp};
use teia_frontier::{Breadth, Frontier, PoliteFrontier, Politeness};
use teia_repository::{Admission, Offer, Repository, RepositoryConfig, State};

const HOSTS: usize = 100_000;
const URLS: usize = 1_000_000;

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn a_million_queued_urls_fit_in_512_mib() {
    let before = resident_bytes();
    let wall = Timestamp::parse("2026-11-15").unwrap();
    let mut repository = Repository::new(RepositoryConfig {
        key: 1,
        order: Arc::new(Breadth),
        keep_links: false,
        revisit_share: None,
        new_hosts: teia_repository::NewHosts::default(),
    });
    let mut frontier = PoliteFrontier::new(Politeness::default(), Arc::new(Breadth));
    let now = Instant::now();
    for number in 0..URLS {
        let text = format!(
            "http://host-number-{}.example.org/section/{}/a-page-with-a-usual-name-{number}.html",
            number % HOSTS,
            number % 97
        );
        let url = FoundUrl::from(CanonicalUrl::parse(&text).unwrap());
        let offered = repository.offer(
            &Offer {
                url: &url,
                depth: 1,
                referrer: None,
                requisite: false,
                chain: None,
                last_modified: None,
                seed: None,
                admission: Admission::Admit,
            },
            wall,
        );
        let facts = HostFacts {
            waiting: 1,
            fetched: 0,
            last_turn: 0,
            latency_micros: 0,
        };
        frontier.wake(offered.host, facts, now);
    }
    let used = resident_bytes().saturating_sub(before);
    println!(
        "{URLS} URLs on {HOSTS} hosts: {} MiB, {} bytes a URL",
        used >> 20,
        used / URLS
    );
    assert!(used < 512 << 20, "{} MiB", used >> 20);
    assert_eq!(repository.count(State::Waiting), URLS as u64);
    // Every host gets its first turn before any gets its second.
    let mut seen = std::collections::HashSet::new();
    for _ in 0..HOSTS {
        let host = frontier.lease(Instant::now()).unwrap();
        assert!(seen.insert(host), "a host had two turns");
        assert_eq!(repository.window(host, 1, wall).len(), 1);
    }
    assert!(
        frontier.lease(Instant::now()).is_none(),
        "every host is leased once"
    );
}
