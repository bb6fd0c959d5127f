//! The ring over the test web: every reachable page in scope once, none outside, politely.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

mod support;

use std::time::Duration;

use support::{config, crawl, requested, set};
use teia_base::DiskFiles;
use teia_testweb::{Listen, Rules, Scope, Server, WebConfig};

#[test]
fn every_reachable_page_is_fetched_once_and_none_outside() {
    let server = Server::start(
        WebConfig {
            hosts: 4,
            pages_per_host: 40,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap();
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    let report = crawl(directory.path(), &config(&server), &[web.front(0)]).unwrap();
    let truth = web.reachable(
        &[web.front(0)],
        &Rules {
            scope: Scope::Web,
            ..Rules::default()
        },
    );
    let requested = requested(&server);
    assert_eq!(
        set(requested.keys().cloned()),
        set(truth.fetched().into_iter().map(str::to_owned))
    );
    assert!(requested.values().all(|&count| count == 1));
    assert_eq!(report.fetched, requested.len() as u64);
    let log = server.log();
    assert!(log.hosts_without_robots_first().is_empty());
    assert!(log.entries.iter().all(|entry| !web.is_honeypot(&entry.url)));
    let files = DiskFiles::existing(directory.path());
    assert!(support::attempts(&files).len() >= requested.len());
}

#[test]
fn a_web_with_everything_is_crawled_as_the_oracle_says() {
    let server = Server::start(
        WebConfig {
            calendar: false,
            ..WebConfig::everything(3)
        },
        Listen::Names { port: 0 },
    )
    .unwrap();
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    let report = crawl(directory.path(), &config(&server), &[web.front(0)]).unwrap();
    let rules = Rules {
        scope: Scope::Web,
        requisites: true,
        sitemaps: Some(1),
        feeds: true,
        ..Rules::default()
    };
    let truth = web.reachable(&[web.front(0)], &rules);
    let requested = requested(&server);
    // Sitemaps are read like pages, and the oracle counts only what they name.
    let trap = |url: &str| web.is_trap(url) || url.ends_with("/sitemap.xml");
    let got = set(requested.keys().filter(|url| !trap(url)).cloned());
    let want = set(truth
        .fetched()
        .into_iter()
        .filter(|url| !trap(url))
        .map(str::to_owned));
    let missing: Vec<_> = want.difference(&got).take(20).collect();
    let extra: Vec<_> = got.difference(&want).take(20).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "missing {missing:#?}\nextra {extra:#?}\n{:?}",
        report.stats.codes
    );
    let log = server.log();
    assert!(log.hosts_without_robots_first().is_empty());
    assert!(log.entries.iter().all(|entry| !web.is_honeypot(&entry.url)));
}

#[test]
fn the_gap_holds_and_there_is_one_request_at_a_time() {
    let server = Server::start(
        WebConfig {
            hosts: 3,
            pages_per_host: 6,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap();
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    let delay = Duration::from_millis(120);
    let mut config = config(&server);
    config.politeness.delay = delay;
    crawl(directory.path(), &config, &[web.front(0)]).unwrap();
    let log = server.log();
    for host in 0..3 {
        assert!(log.max_concurrent(host) <= 1);
        let gap = log.min_gap(host).unwrap();
        assert!(gap >= delay, "{gap:?}");
        assert!(server.max_connections(host) <= 1);
    }
}

/// A commit is closed by its time or its size while something may still come into it.
#[test]
fn the_end_of_a_run_does_not_wait_until_its_last_commit_is_due() {
    let web = WebConfig {
        hosts: 2,
        pages_per_host: 10,
        ..WebConfig::default()
    };
    let server = Server::start(web, Listen::Names { port: 0 }).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&server);
    config.run.commit_every = Duration::from_mins(10);
    let seeds = [server.web().front(0)];
    let report = crawl(directory.path(), &config, &seeds).unwrap();
    assert!(report.elapsed < config.run.commit_every, "{report:?}");
    let attempts = support::attempts(&DiskFiles::existing(directory.path()));
    let pages = attempts.iter().filter(|attempt| !attempt.is_robots());
    assert!(report.fetched > 0 && pages.count() as u64 >= report.fetched);
    assert_eq!(report.waiting, 0);
}
