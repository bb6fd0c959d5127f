//! The parts of the ring, replaced and read from outside: one claim each.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use std::any::Any;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use script::Script;
use scripted::{SEED, config, links, run_on, run_with};
use teia_archive::{Found, WarcReader};
use teia_base::filter::{Candidate, Filter, RuleKind, Verdict};
use teia_base::{CanonicalUrl, Document, Files, HostFacts, HostId, Outcome, SimulatedDisk};
use teia_engine::{
    Analyzer, Control, Crawl, DryRun, Event, Executor, Feedback, Insight, Layout, Parts,
};
use teia_frontier::{Answer, Frontier, Unhurried};

#[test]
fn metadata_records_hold_the_links_of_each_page() {
    let script = Script::default()
        .html(SEED, "<a href=/one>1</a><img src=/i.png>")
        .html("http://a.test/one", "one");
    let mut config = config();
    config.archive.warc.metadata_records = true;
    let disk = SimulatedDisk::new();
    run_on(&disk, &script, &config, Parts::default());
    let folder = Layout::new("default").unwrap().archive();
    let mut blocks = Vec::new();
    for name in disk.list(&folder).unwrap() {
        if !name.ends_with(".warc.gz") {
            continue;
        }
        let path = folder.join(&name);
        let file = disk.open(&path).unwrap();
        let mut reader = WarcReader::new(file, Path::new(&name), 0).unwrap();
        while let Some(found) = reader.next_found().unwrap() {
            let Found::Record(record) = found else {
                panic!("damage in {name}");
            };
            if record.header.kind() == "metadata" && record.header.url() == Some(SEED) {
                let mut block = String::new();
                let mut body = record.body.reader(0, record.body.len());
                body.read_to_string(&mut block).unwrap();
                blocks.push(block);
            }
        }
    }
    let [block] = blocks.as_slice() else {
        panic!("{} metadata records", blocks.len());
    };
    assert!(
        block.contains("outlink: http://a.test/one L anchor"),
        "{block}"
    );
    assert!(
        block.contains("outlink: http://a.test/i.png E image"),
        "{block}"
    );
}

#[test]
fn a_dry_run_asks_for_nothing_and_remembers_the_seeds() {
    let script = Script::default().html(SEED, "here");
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let crawl = Crawl {
        files,
        root: "data".into(),
        key: 7,
        layout: Layout::new("default").unwrap(),
        config: config(),
        save: false,
        seeds: vec![teia_base::Seed::parse(SEED).unwrap().unwrap()],
        parts: Parts {
            fetcher: Some(Arc::new(script.clone())),
            ..Parts::default()
        },
        control: Control::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let report = runtime.block_on(DryRun.run(crawl)).unwrap();
    assert_eq!((report.fetched, report.waiting), (0, 1));
    assert!(script.asked().is_empty());
    let (report, _) = run_on(&disk, &script, &config(), Parts::default());
    assert_eq!(report.fetched, 1);
}

#[test]
fn a_dry_run_does_not_lift_a_pause() {
    let script = Script::default().html(SEED, "here");
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let crawl = |control: &Control| Crawl {
        files: Arc::clone(&files),
        root: "data".into(),
        key: 7,
        layout: Layout::new("default").unwrap(),
        config: config(),
        save: false,
        seeds: vec![teia_base::Seed::parse(SEED).unwrap().unwrap()],
        parts: Parts {
            fetcher: Some(Arc::new(script.clone())),
            ..Parts::default()
        },
        control: control.clone(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    // Paused by a person, and left so by a signal.
    let control = Control::default();
    control.pause();
    let noted = control.clone();
    std::thread::spawn(move || {
        while !noted.is_pause_noted() {
            std::thread::sleep(Duration::from_millis(5));
        }
        noted.interrupt();
    });
    runtime
        .block_on(teia_engine::ThisMachine.run(crawl(&control)))
        .unwrap();
    let report = runtime
        .block_on(DryRun.run(crawl(&Control::default())))
        .unwrap();
    assert_eq!(report.reason, teia_engine::EndReason::Stopped);
    // Still paused: the next run rests until it is told to go on.
    let control = Control::default();
    let ended = control.clone();
    std::thread::spawn(move || {
        while !ended.is_paused() {
            std::thread::sleep(Duration::from_millis(5));
        }
        ended.interrupt();
    });
    let report = runtime
        .block_on(teia_engine::ThisMachine.run(crawl(&control)))
        .unwrap();
    assert_eq!((report.fetched, script.asked().len()), (0, 0));
}

/// Leaves out what has `secret` in its address, and counts.
struct NoSecrets(Mutex<u32>);

impl Filter for NoSecrets {
    fn before(&self, link: &Candidate<'_>) -> Verdict {
        *self.0.lock().unwrap() += 1;
        if link.url.as_str().contains("secret") {
            return Verdict::refuse(RuleKind::Custom, "no secrets", Outcome::OUT_OF_SCOPE);
        }
        Verdict::KEEP_AND_FOLLOW
    }
}

/// What an Analyzer tells the Frontier.
#[derive(Debug, PartialEq)]
struct Taste(u32);

#[derive(Debug)]
struct Tasting;

impl Analyzer for Tasting {
    fn analyze(&self, document: &Document) -> Vec<Insight> {
        vec![Insight {
            url: document.url.clone(),
            priority: Some(3),
            extra: Some(Box::new(Taste(7))),
        }]
    }
}

/// An Unhurried that notes what it is told.
#[derive(Debug, Default)]
struct Told {
    inner: Unhurried,
    leases: Arc<Mutex<Vec<HostId>>>,
    tastes: Arc<Mutex<Vec<String>>>,
}

impl Frontier for Told {
    fn wake(&mut self, host: HostId, facts: HostFacts, due: Instant) {
        self.inner.wake(host, facts, due);
    }
    fn lease(&mut self, now: Instant) -> Option<HostId> {
        let host = self.inner.lease(now)?;
        self.leases.lock().unwrap().push(host);
        Some(host)
    }
    fn next_moment(&mut self) -> Option<Instant> {
        self.inner.next_moment()
    }
    fn settle(&mut self, host: HostId, answer: &Answer) {
        self.inner.settle(host, answer);
    }
    fn release(&mut self, host: HostId) {
        self.inner.release(host);
    }
    fn hold(&mut self, host: HostId, until: Instant) {
        self.inner.hold(host, until);
    }
    fn set_crawl_delay(&mut self, host: HostId, delay: Option<Duration>) {
        self.inner.set_crawl_delay(host, delay);
    }
    fn leased(&self) -> usize {
        self.inner.leased()
    }
    fn queued(&self) -> usize {
        self.inner.queued()
    }
    fn inform(&mut self, url: &CanonicalUrl, extra: &dyn Any) {
        assert_eq!(extra.downcast_ref(), Some(&Taste(7)));
        self.tastes.lock().unwrap().push(url.to_string());
    }
}

#[derive(Debug, Default)]
struct Ears(Mutex<Vec<String>>);

impl Feedback for Ears {
    fn hear(&self, event: &Event) {
        let word = match event {
            Event::Attempted { outcome, .. } => format!("attempted {outcome}"),
            Event::Committed { .. } => "committed".to_owned(),
            Event::Progress(_) => "progress".to_owned(),
            _ => "other".to_owned(),
        };
        self.0.lock().unwrap().push(word);
    }

    fn wants_attempts(&self) -> bool {
        true
    }
}

#[test]
fn every_part_can_be_replaced_and_is_called() {
    // Two pages: what is said of the first must reach the Frontier while the second is fetched.
    let script = Script::default()
        .html(SEED, &links(&["/one", "/secret"]))
        .html("http://a.test/one", &links(&["http://b.test/"]))
        .html("http://b.test/", "far")
        .slowly(Duration::from_millis(40));
    let filter = Arc::new(NoSecrets(Mutex::default()));
    let frontier = Told::default();
    let (leases, tastes) = (Arc::clone(&frontier.leases), Arc::clone(&frontier.tastes));
    let ears = Arc::new(Ears::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noting = Arc::clone(&seen);
    let closure = move |document: &Document| {
        noting.lock().unwrap().push(document.url.to_string());
    };
    let parts = Parts {
        filter: Some(filter.clone()),
        frontier: Some(Box::new(frontier)),
        analyzers: vec![Arc::new(Tasting), Arc::new(closure)],
        feedback: ears.clone(),
        ..Parts::default()
    };
    let mut config = config();
    config.run.commit_every = Duration::from_millis(1);
    let (report, _) = run_with(&script, &config, parts);
    let want = [SEED, "http://a.test/one", "http://b.test/"];
    assert_eq!(script.pages(), want, "the filter has no scope but its own");
    assert_eq!(*seen.lock().unwrap(), want, "in the order of the commits");
    assert_eq!(report.fetched, 3);
    assert!(*filter.0.lock().unwrap() >= 4);
    assert!(
        leases.lock().unwrap().len() >= 5,
        "three pages and two robots.txt"
    );
    assert!(tastes.lock().unwrap().contains(&SEED.to_owned()));
    let heard = ears.0.lock().unwrap();
    for word in ["attempted 200 ok", "committed", "progress"] {
        assert!(heard.iter().any(|it| it == word), "{word} of {heard:?}");
    }
}

#[test]
fn the_unhurried_frontier_gets_through_failures_and_closed_doors() {
    let robots = "http://a.test/robots.txt";
    let script = Script::default()
        .status(robots, 503, "")
        .text(robots, "")
        .html(SEED, &links(&["/flaky"]))
        .status("http://a.test/flaky", 503, "")
        .html("http://a.test/flaky", "at last");
    let parts = Parts {
        frontier: Some(Box::new(Unhurried::default())),
        ..Parts::default()
    };
    let (report, _) = run_with(&script, &config(), parts);
    assert_eq!((report.fetched, report.waiting), (2, 0));
}
