//! URL texts of every shape, many of them, and single claims about the life of a URL.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod support;

use std::collections::HashSet;
use std::time::Duration;

use support::{at, exclusion, found, offer, offer_as, repository};
use teia_base::journal::{Attempt, Commit, Entry, LinkVerdict, Next, Record};
use teia_base::{FoundUrl, Outcome};
use teia_repository::{Admission, Repository, State};

fn commit(attempts: Vec<Attempt>) -> Entry {
    Entry {
        sequence: 1,
        wall: at(1_800_000_000),
        run: 1,
        record: Record::Commit(Commit {
            attempts,
            ..Commit::default()
        }),
    }
}

/// Leases the URL's host, and ends the lease with this outcome.
fn settle(repository: &mut Repository, url: &FoundUrl, outcome: Outcome, next: Next, when: i64) {
    let host = repository.host(url.normal().host_str()).unwrap();
    let window = repository.window(host, usize::MAX, at(when));
    for other in window.iter().filter(|state| state.url != *url) {
        repository.release(other.reference);
    }
    let mut attempt = Attempt::new(url.clone(), at(when), outcome);
    attempt.next = next;
    repository.apply(&commit(vec![attempt]));
}

#[test]
fn texts_of_every_shape_are_told_apart() {
    let long = format!("http://long.test/{}", "a".repeat(100_000));
    let mut texts = vec![
        "http://a.test".to_owned(),
        "http://a.test/?".to_owned(),
        "http://a.test/?q".to_owned(),
        "http://a.test//".to_owned(),
        "https://a.test/".to_owned(),
        "http://a.test:8080/".to_owned(),
        "http://b.a.test/".to_owned(),
        "http://a.test/b".to_owned(),
        "http://a.test/b/".to_owned(),
        "http://a.test/B".to_owned(),
        "http://a.test/%2F".to_owned(),
        "http://a.test/é/ção?x=ñ&y=%FF".to_owned(),
        "http://bücher.test/".to_owned(),
        "http://例え.テスト/".to_owned(),
        "http://[::1]/".to_owned(),
        "http://127.0.0.1/".to_owned(),
        "ftp://a.test/".to_owned(),
        format!("{long}1"),
        format!("{long}2"),
        long,
    ];
    texts.extend((0..500).map(|n| format!("http://prefix.test/{}", "x/".repeat(n))));
    let mut repository = repository();
    let mut normal = HashSet::new();
    for text in &texts {
        let url = found(text);
        let offered = offer(&mut repository, &url, 1);
        assert!(normal.insert(url.normal().clone()), "{text}");
        assert_eq!(offered.verdict, LinkVerdict::New, "{text}");
        assert_eq!(repository.host_name(offered.host), url.normal().host_str());
    }
    for text in &texts {
        let url = found(text);
        assert_eq!(offer(&mut repository, &url, 1).verdict, LinkVerdict::Known);
        let state = repository.state(url.normal()).unwrap();
        assert_eq!(state.url, url, "{text}");
    }
    assert_eq!(repository.len(), texts.len() as u64);
    let told: Vec<FoundUrl> = repository.urls().map(|state| state.url).collect();
    let given: Vec<FoundUrl> = texts.iter().map(|text| found(text)).collect();
    assert_eq!(told, given, "in the order in which they were met");
}

#[test]
fn one_host_with_200_000_urls_hands_each_out_once() {
    let mut repository = repository();
    let urls: Vec<FoundUrl> = (0..200_000)
        .map(|n| found(&format!("http://big.test/p/{n}")))
        .collect();
    for (n, url) in urls.iter().enumerate() {
        let depth = u16::try_from(n % 7).unwrap();
        assert_eq!(offer(&mut repository, url, depth).verdict, LinkVerdict::New);
    }
    let host = repository.host("big.test").unwrap();
    let mut seen = HashSet::new();
    let mut depth = 0;
    loop {
        let window = repository.window(host, 997, at(1_800_000_000));
        for state in &window {
            assert!(seen.insert(state.reference), "handed out twice");
            assert!(state.depth >= depth, "nearer URLs go first");
            depth = state.depth;
        }
        if window.is_empty() {
            break;
        }
    }
    assert_eq!(seen.len(), urls.len());
    assert_eq!(repository.next_due(host, at(1_800_000_000)), None);
    assert_eq!(repository.host_counts(host), (200_000, 200_000, 0));
}

#[test]
fn fifty_thousand_hosts_with_one_url_each_have_it() {
    let mut repository = repository();
    for n in 0..50_000 {
        offer(
            &mut repository,
            &found(&format!("http://h{n}.many.test/")),
            0,
        );
    }
    assert_eq!(repository.host_count(), 50_000);
    let hosts: Vec<_> = repository
        .hosts()
        .map(|(host, name)| (host, name.to_owned()))
        .collect();
    for (host, name) in hosts {
        let window = repository.window(host, 5, at(1_800_000_000));
        let [state] = window.as_slice() else {
            panic!("{name}: {} URLs", window.len());
        };
        assert_eq!(state.url.normal().host_str(), name);
    }
}

#[test]
fn a_url_whose_depth_falls_while_it_waits_goes_earlier() {
    let mut repository = repository();
    let [near, far] = ["http://a.test/near", "http://a.test/far"].map(found);
    let host = offer(&mut repository, &near, 3).host;
    offer(&mut repository, &far, 9);
    let offered = offer(&mut repository, &far, 1);
    assert!(offered.lowered);
    assert!(
        !offer(&mut repository, &far, 4).lowered,
        "a longer way is no news"
    );
    let order: Vec<FoundUrl> = repository
        .window(host, 9, at(1_800_000_000))
        .into_iter()
        .map(|state| state.url)
        .collect();
    assert_eq!(order, [far, near]);
}

#[test]
fn a_url_left_out_is_admitted_when_a_rule_lets_it_in() {
    let mut repository = repository();
    let url = found("http://a.test/deep");
    let refuse = || Admission::Exclude(exclusion("max-depth 3"));
    let first = offer_as(&mut repository, &url, 4, refuse());
    assert_eq!(
        first.verdict,
        LinkVerdict::Excluded(exclusion("max-depth 3"))
    );
    assert_eq!(repository.next_due(first.host, at(1_800_000_000)), None);
    let again = offer_as(&mut repository, &url, 5, refuse());
    assert_eq!(again.verdict, LinkVerdict::Known);
    assert_eq!(
        offer(&mut repository, &url, 2).verdict,
        LinkVerdict::Readmitted
    );
    assert_eq!(offer(&mut repository, &url, 2).verdict, LinkVerdict::Known);
    let state = repository.state(url.normal()).unwrap();
    assert_eq!((state.state, state.depth), (State::Waiting, 2));
    assert_eq!(state.exclusion, None);
    assert_eq!(repository.window(first.host, 9, at(1_800_000_000)).len(), 1);
}

#[test]
fn a_retry_goes_out_when_it_is_due_and_not_before() {
    let mut repository = repository();
    let url = found("http://a.test/busy");
    let host = offer(&mut repository, &url, 0).host;
    let next = Next::RetryAt(at(1_100));
    settle(&mut repository, &url, Outcome::http(503), next, 1_000);
    assert_eq!(repository.next_due(host, at(1_000)), Some(at(1_100)));
    assert!(repository.window(host, 9, at(1_099)).is_empty());
    let window = repository.window(host, 9, at(1_100));
    assert_eq!(window.len(), 1);
    assert_eq!(window[0].tries, 1);
    assert!(
        repository.window(host, 9, at(2_000)).is_empty(),
        "it is leased"
    );
}

#[test]
fn a_shorter_way_does_not_make_a_retry_due() {
    let mut repository = repository();
    let url = found("http://a.test/busy");
    let host = offer(&mut repository, &url, 5).host;
    let next = Next::RetryAt(at(1_100));
    settle(&mut repository, &url, Outcome::http(503), next, 1_000);
    assert!(offer(&mut repository, &url, 1).lowered);
    assert!(repository.window(host, 9, at(1_050)).is_empty());
    assert_eq!(repository.window(host, 9, at(1_100)).len(), 1);
    assert!(repository.window(host, 9, at(1_200)).is_empty());
}

#[test]
fn a_new_run_gives_another_chance_to_passing_failures_only() {
    let mut repository = repository();
    let [refused, gone, late, fresh] =
        ["refused", "gone", "late", "fresh"].map(|name| found(&format!("http://{name}.test/")));
    for url in [&refused, &gone, &late, &fresh] {
        offer(&mut repository, url, 0);
    }
    let failed = Next::Failed;
    settle(
        &mut repository,
        &refused,
        Outcome::ROBOTS_DISALLOWED,
        Next::Done,
        1_000,
    );
    settle(
        &mut repository,
        &gone,
        Outcome::http(404),
        Next::Done,
        1_000,
    );
    settle(
        &mut repository,
        &late,
        Outcome::CONNECT_REFUSED,
        failed,
        1_000,
    );
    settle(
        &mut repository,
        &fresh,
        Outcome::CONNECT_REFUSED,
        failed,
        1_050,
    );
    assert_eq!(repository.count(State::Failed), 3);
    repository.begin_run(at(1_060), Duration::from_secs(60));
    let state =
        |repository: &Repository, url: &FoundUrl| repository.state(url.normal()).unwrap().state;
    assert_eq!(state(&repository, &refused), State::Failed);
    assert_eq!(state(&repository, &gone), State::Gone);
    assert_eq!(state(&repository, &late), State::Waiting);
    assert_eq!(
        state(&repository, &fresh),
        State::Failed,
        "it failed just now"
    );
    assert_eq!(repository.state(late.normal()).unwrap().tries, 0);
    let host = repository.host("late.test").unwrap();
    assert_eq!(repository.window(host, 9, at(1_060)).len(), 1);
}

#[test]
fn what_a_kept_page_needs_stays_needed_when_a_plain_link_to_it_is_left_out() {
    let mut repository = repository();
    let url = found("http://pictures.test/a.png");
    let requisite = teia_repository::Offer {
        url: &url,
        depth: 2,
        referrer: None,
        requisite: true,
        chain: None,
        last_modified: None,
        seed: None,
        admission: Admission::Admit,
    };
    repository.offer(&requisite, at(1_000));
    offer_as(
        &mut repository,
        &url,
        2,
        Admission::Exclude(exclusion("scope host")),
    );
    let state = repository.state(url.normal()).unwrap();
    assert!(state.requisite, "or its own links would be followed");
    assert_eq!(state.state, State::Waiting);
}
