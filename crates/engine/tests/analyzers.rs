//! Analyzers get each committed document at least once, also over a kill.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use support::{config, crawl_with};
use teia_base::Document;
use teia_engine::{Control, Parts};
use teia_testweb::{Listen, Server, WebConfig};

fn listener(seen: &Arc<Mutex<BTreeSet<String>>>) -> Parts {
    let seen = Arc::clone(seen);
    let listen = move |document: &Document| {
        assert!(
            !document.text.is_empty(),
            "{} came without its text",
            document.url
        );
        seen.lock().unwrap().insert(document.url.to_string());
    };
    Parts {
        analyzers: vec![Arc::new(listen)],
        ..Parts::default()
    }
}

#[test]
fn what_was_committed_without_them_is_handed_over_at_the_next_start() {
    let web = WebConfig {
        hosts: 2,
        pages_per_host: 20,
        ..WebConfig::default()
    };
    let server = Server::start(web, Listen::Names { port: 0 }).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&server);
    let seeds = [server.web().front(0)];
    // A run without Analyzers is, to them, one whose documents were lost on the way.
    config.filter.max_pages = Some(15);
    crawl_with(
        directory.path(),
        &config,
        &seeds,
        Parts::default(),
        &Control::default(),
    )
    .unwrap();
    let seen = Arc::default();
    config.filter.max_pages = None;
    let report = crawl_with(
        directory.path(),
        &config,
        &seeds,
        listener(&seen),
        &Control::default(),
    )
    .unwrap();
    assert_eq!(report.fetched, 25);
    assert_eq!(seen.lock().unwrap().len(), 40);
    // Handed over once, they do not come again.
    let again = Arc::default();
    crawl_with(
        directory.path(),
        &config,
        &seeds,
        listener(&again),
        &Control::default(),
    )
    .unwrap();
    assert_eq!(again.lock().unwrap().len(), 0);
}

#[test]
fn what_was_missed_is_handed_over_segment_by_segment() {
    let web = WebConfig {
        hosts: 2,
        pages_per_host: 20,
        ..WebConfig::default()
    };
    let server = Server::start(web, Listen::Names { port: 0 }).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&server);
    config.run.journal_segment_bytes = 1;
    config.run.commit_every = std::time::Duration::from_millis(1);
    let seeds = [server.web().front(0)];
    let go = |parts: Parts| {
        crawl_with(
            directory.path(),
            &config,
            &seeds,
            parts,
            &Control::default(),
        )
        .unwrap()
    };
    assert_eq!(go(Parts::default()).fetched, 40);
    // How far they are is noted on the way: a kill meanwhile does not begin anew.
    let seen: Arc<Mutex<Vec<(String, u64)>>> = Arc::default();
    let notes = Arc::clone(&seen);
    let place = directory.path().join("default/part-0/analyzed");
    let listen = move |document: &Document| {
        let noted = std::fs::read_to_string(&place).unwrap_or_default();
        let noted = noted.lines().next().unwrap_or_default();
        let noted = noted.parse().unwrap_or(0);
        notes
            .lock()
            .unwrap()
            .push((document.url.to_string(), noted));
    };
    go(Parts {
        analyzers: vec![Arc::new(listen)],
        ..Parts::default()
    });
    let seen = seen.lock().unwrap();
    let urls: BTreeSet<&String> = seen.iter().map(|(url, _)| url).collect();
    assert_eq!((seen.len(), urls.len()), (40, 40), "each once");
    assert!(seen.is_sorted_by_key(|(_, noted)| *noted));
    let places: BTreeSet<u64> = seen.iter().map(|(_, noted)| *noted).collect();
    assert!(places.len() > 3, "{places:?}");
}
