//! A process that has nearly all the memory that it may have: one page at a time, and no more work than that.
//!
//! In a file of its own, because the memory is that of the whole process.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use script::Script;
use scripted::config;
use support::crawl_on;
use teia_base::{Clock, Request, SimulatedDisk, SystemClock, Timestamp};
use teia_engine::{Control, Event, Feedback, Level, Parts};
use teia_fetch::{Fetcher, Fetching};

/// The least that a process may be given.
const CAP: usize = 128 << 20;

/// How often the time was asked for: several times in each turn of the ring's loop.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl Clock for Counting {
    fn now(&self) -> Instant {
        self.0.fetch_add(1, Ordering::Relaxed);
        SystemClock.now()
    }

    fn wall(&self) -> Timestamp {
        SystemClock.wall()
    }
}

/// How many requests there are at once, at most.
#[derive(Debug)]
struct AtOnce {
    script: Script,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Fetcher for AtOnce {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        Box::pin(async move {
            let exchange = self.script.fetch(request).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            exchange
        })
    }
}

#[derive(Debug, Default)]
struct Warnings(Mutex<Vec<String>>);

impl Feedback for Warnings {
    fn hear(&self, event: &Event) {
        if let Event::Notice {
            level: Level::Warning,
            text,
        } = event
        {
            self.0.lock().unwrap().push(text.clone());
        }
    }
}

#[test]
fn one_page_at_a_time_is_fetched_and_the_loop_sleeps_meanwhile() {
    const HOSTS: usize = 8;
    let held = std::hint::black_box(vec![7_u8; CAP + CAP / 4]);
    let seeds: Vec<String> = (0..HOSTS)
        .map(|host| format!("http://h{host}.test/"))
        .collect();
    let mut script = Script::default();
    for url in &seeds {
        script = script.html(url, "the end");
    }
    let fetcher = Arc::new(AtOnce {
        script: script.slowly(Duration::from_millis(200)),
        now: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
    });
    let (clock, warnings) = (Arc::new(Counting::default()), Arc::new(Warnings::default()));
    let parts = Parts {
        clock: clock.clone(),
        fetcher: Some(fetcher.clone()),
        feedback: warnings.clone(),
        ..Parts::default()
    };
    let mut config = config();
    config.run.memory = Some(CAP as u64);
    let files = Arc::new(SimulatedDisk::new());
    let report = crawl_on(files, &config, &seeds, parts, &Control::default()).unwrap();
    assert_eq!(held.len(), CAP + CAP / 4);
    assert_eq!(report.fetched, HOSTS as u64, "everything is fetched");
    assert_eq!(fetcher.most.load(Ordering::SeqCst), 1);
    let warnings = warnings.0.lock().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("128 MiB") && warnings[0].contains("`memory` in [run]"),
        "{warnings:?}"
    );
    // A page and its robots.txt are some ten turns: answered, read, committed, and what the ticks bring. A loop that does
    // not sleep makes a hundred thousand in the time that they take.
    let asked = clock.0.load(Ordering::Relaxed);
    println!("the time was asked for {asked} times");
    assert!(asked < 2_000 * 2 * HOSTS, "{asked} times");
}
