//! Incremental collections: a run that does not end by itself visits every page again at an interval,
//! never sooner, beside new pages; limits and people end it.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/changing.rs"]
mod changing;
#[path = "support/shifted.rs"]
mod shifted;
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use changing::ChangingWeb;
use shifted::ShiftedClock;
use support::{crawl_on, entries};
use teia_base::journal::{Next, Record};
use teia_base::{Files, SimulatedDisk};
use teia_engine::{
    CollectionConfig, Control, EndReason, Event, Feedback, Layout, Mode, Parts, Report,
};

const INTERVAL: Duration = Duration::from_millis(150);

fn config(on_disk: bool) -> CollectionConfig {
    let mut config = CollectionConfig {
        mode: Mode::Incremental,
        ..CollectionConfig::default()
    };
    config.links.enabled = false;
    config.politeness.delay = Duration::ZERO;
    config.filter.scope = "suffix:.web.test".parse().unwrap();
    config.run.revisit = INTERVAL;
    config.run.commit_every = Duration::from_millis(5);
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    if on_disk {
        config.run.repository_memory = 4 << 10;
    }
    config
}

fn run(
    disk: &SimulatedDisk,
    web: &ChangingWeb,
    config: &CollectionConfig,
    parts: Parts,
    control: &Control,
) -> Report {
    let parts = Parts {
        fetcher: Some(Arc::new(web.clone())),
        ..parts
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    crawl_on(files, config, &[web.url(0)], parts, control).unwrap()
}

fn moments(web: &ChangingWeb) -> BTreeMap<String, Vec<Instant>> {
    let mut moments: BTreeMap<String, Vec<Instant>> = BTreeMap::new();
    for (url, moment) in web.asked() {
        moments.entry(url).or_default().push(moment);
    }
    moments
}

fn check(on_disk: bool) {
    let (disk, web) = (SimulatedDisk::new(), ChangingWeb::new(3, 40, 4));
    let pages = web.truth(0, None, &[].into()).len();
    let mut config = config(on_disk);
    config.filter.max_pages = Some(8 * pages as u64);
    let report = run(&disk, &web, &config, Parts::default(), &Control::default());
    assert_eq!(report.reason, EndReason::MaxPages);
    assert_eq!(report.fetched, 8 * pages as u64);
    let moments = moments(&web);
    assert_eq!(moments.len(), pages);
    for (url, moments) in &moments {
        assert!(
            moments.len() >= 3,
            "{url} was visited {} times",
            moments.len()
        );
        for pair in moments.windows(2) {
            let gap = pair[1] - pair[0];
            assert!(gap >= INTERVAL, "{url} was visited again after {gap:?}");
        }
    }
    let urls = Layout::new("default").unwrap().urls().join("manifest");
    assert_eq!(disk.exists(&urls), on_disk, "where the URLs are");
    // Every visit of a page has its number, and every one says when the next is due.
    let mut visits: BTreeMap<String, u32> = BTreeMap::new();
    for entry in entries(&disk) {
        let Record::Commit(commit) = entry.record else {
            continue;
        };
        for attempt in commit.attempts.iter().filter(|it| !it.is_robots()) {
            let visit = visits.entry(attempt.url.normal().to_string()).or_default();
            *visit += 1;
            assert_eq!(attempt.visit, *visit, "{}", attempt.url.normal());
            let Next::Again(due) = attempt.next else {
                panic!("{:?}", attempt.next);
            };
            assert!(due >= attempt.started.plus(INTERVAL));
        }
    }
}

#[test]
fn every_page_is_visited_again_and_none_too_soon_in_memory() {
    check(false);
}

#[test]
fn every_page_is_visited_again_and_none_too_soon_on_disk() {
    check(true);
}

/// Stops the run when so many attempts are committed.
#[derive(Debug)]
struct StopAfter {
    left: std::sync::atomic::AtomicI64,
    control: Control,
}

impl Feedback for StopAfter {
    fn hear(&self, event: &Event) {
        if let Event::Committed { attempts, .. } = event {
            let attempts = i64::try_from(*attempts).unwrap();
            let before = self
                .left
                .fetch_sub(attempts, std::sync::atomic::Ordering::SeqCst);
            if before <= attempts {
                self.control.interrupt();
            }
        }
    }
}

/// Runs until so many requests were answered and committed, robots.txt included.
fn run_for(
    disk: &SimulatedDisk,
    web: &ChangingWeb,
    config: &CollectionConfig,
    attempts: usize,
    clock: &Arc<ShiftedClock>,
) {
    let control = Control::default();
    let parts = Parts {
        clock: Arc::clone(clock) as Arc<dyn teia_base::Clock>,
        feedback: Arc::new(StopAfter {
            left: i64::try_from(attempts).unwrap().into(),
            control: control.clone(),
        }),
        ..Parts::default()
    };
    let report = run(disk, web, config, parts, &control);
    assert_eq!(report.reason, EndReason::Interrupted);
}

#[test]
fn what_is_due_after_days_is_visited_then_and_not_before() {
    for on_disk in [false, true] {
        let (disk, web) = (SimulatedDisk::new(), ChangingWeb::new(4, 40, 4));
        let pages = web.truth(0, None, &[].into()).len();
        let mut config = config(on_disk);
        config.run.revisit = Duration::from_secs(7 * 86_400);
        // A copy of robots.txt that is too old would be one request more.
        config.robots.fresh_for = Duration::from_secs(7 * 86_400);
        config.run.sitemaps = false;
        let clock = Arc::new(ShiftedClock::right());
        run_for(&disk, &web, &config, pages + 4, &clock);
        assert_eq!(web.asked().len(), pages, "on disk: {on_disk}");
        for round in 2..=3 {
            // Six days later nothing is due; on the eighth everything is.
            clock.advance(Duration::from_secs(6 * 86_400));
            let mut limited = config.clone();
            limited.run.max_time = Some(Duration::from_millis(300));
            let parts = Parts {
                clock: Arc::clone(&clock) as Arc<dyn teia_base::Clock>,
                ..Parts::default()
            };
            let report = run(&disk, &web, &limited, parts, &Control::default());
            assert_eq!(report.reason, EndReason::MaxTime);
            assert_eq!(web.asked().len(), (round - 1) * pages, "on disk: {on_disk}");
            clock.advance(Duration::from_secs(2 * 86_400));
            run_for(&disk, &web, &config, pages + 4, &clock);
            assert!(web.asked().len() >= round * pages, "on disk: {on_disk}");
            let counts: Vec<usize> = moments(&web).values().map(Vec::len).collect();
            assert!(counts.iter().all(|count| *count == round), "{counts:?}");
        }
    }
}

#[test]
fn what_was_collected_once_is_visited_again_from_then_on() {
    let (disk, web) = (SimulatedDisk::new(), ChangingWeb::new(5, 40, 4));
    let pages = web.truth(0, None, &[].into()).len();
    let mut once = config(false);
    once.mode = Mode::Once;
    let clock = Arc::new(ShiftedClock::right());
    let parts = Parts {
        clock: Arc::clone(&clock) as Arc<dyn teia_base::Clock>,
        ..Parts::default()
    };
    run(&disk, &web, &once, parts, &Control::default());
    let mut config = config(false);
    config.run.revisit = Duration::from_secs(3600);
    clock.advance(Duration::from_secs(3700));
    run_for(&disk, &web, &config, pages, &clock);
    let counts: Vec<usize> = moments(&web).values().map(Vec::len).collect();
    assert_eq!(counts, vec![2; pages]);
}
