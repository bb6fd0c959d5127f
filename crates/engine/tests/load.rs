//! The number of hosts at once sinks when this machine cannot keep up, and recovers when it can.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use script::Script;
use scripted::{SEED, config};
use support::crawl_on;
use teia_base::filter::{Candidate, Fetched, Filter, Verdict};
use teia_base::{Request, SimulatedDisk};
use teia_engine::{Control, EndReason, Event, Feedback, Parts};
use teia_fetch::{Fetcher, Fetching};

const HOSTS: usize = 12;
const SUNK: usize = 4;

/// The machine's load: while it is high, the worker threads get nowhere.
#[derive(Debug)]
struct Load {
    high: AtomicBool,
    /// Limits that were told, in order, each once in a row.
    limits: Mutex<Vec<usize>>,
    most_active: AtomicUsize,
    control: Control,
}

struct Busy(Arc<Load>);

impl Filter for Busy {
    fn before(&self, _: &Candidate<'_>) -> Verdict {
        Verdict::KEEP_AND_FOLLOW
    }

    fn after(&self, _: &Fetched<'_>) -> Verdict {
        while self.0.high.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(2));
        }
        Verdict::KEEP_AND_FOLLOW
    }
}

impl Feedback for Load {
    fn hear(&self, event: &Event) {
        let Event::Progress(progress) = event else {
            return;
        };
        let mut limits = self.limits.lock().unwrap();
        let sunk = limits.iter().any(|limit| *limit <= SUNK);
        if limits.last() != Some(&progress.hosts_limit) {
            limits.push(progress.hosts_limit);
        }
        if progress.hosts_limit <= SUNK {
            self.high.store(false, Ordering::SeqCst);
        }
        self.most_active
            .fetch_max(progress.hosts_active, Ordering::SeqCst);
        if sunk && progress.hosts_limit == HOSTS {
            self.control.stop();
        }
    }
}

#[test]
fn hosts_at_once_sink_under_pressure_and_recover_without_it() {
    let mut front = String::new();
    let mut script = Script::default();
    for host in 0..HOSTS {
        for page in 0..400 {
            let url = format!("http://h{host}.test/{page}");
            front += &format!("<a href={url}>.</a>");
            script = script.html(&url, "page");
        }
    }
    let script = script.html(SEED, &front).slowly(Duration::from_millis(20));
    let control = Control::default();
    let load = Arc::new(Load {
        high: AtomicBool::new(false),
        limits: Mutex::default(),
        most_active: AtomicUsize::new(0),
        control: control.clone(),
    });
    // Pressure begins with the second page: the first one names the others.
    let late = Arc::clone(&load);
    let busy = Busy(Arc::clone(&load));
    let asked = script.clone();
    std::thread::spawn(move || {
        while asked.pages().len() < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        late.high.store(true, Ordering::SeqCst);
    });
    let mut config = config();
    config.run.hosts_at_once = Some(HOSTS);
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    // A bound, so that a limit that never recovers is a failure and not a test without end.
    config.run.max_time = Some(Duration::from_secs(120));
    let parts = Parts {
        fetcher: Some(Arc::new(script)),
        filter: Some(Arc::new(busy)),
        feedback: Arc::clone(&load) as Arc<dyn Feedback>,
        ..Parts::default()
    };
    let files = Arc::new(SimulatedDisk::new());
    let report = crawl_on(files, &config, &[SEED.to_owned()], parts, &control).unwrap();
    let limits = load.limits.lock().unwrap().clone();
    // It began with all of them; what is told first is what was left after the first look.
    assert!(limits.iter().any(|limit| *limit <= SUNK), "{limits:?}");
    assert_eq!(report.reason, EndReason::Stopped, "{limits:?}");
    assert_eq!(limits.last(), Some(&HOSTS), "{limits:?}");
    assert!(load.most_active.load(Ordering::SeqCst) <= HOSTS);
}

/// Answers honest hosts at once, and the others never.
struct Silent {
    script: Script,
    control: Control,
    honest: usize,
}

impl Fetcher for Silent {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        let is_honest = request
            .url
            .host_str()
            .is_some_and(|host| host.starts_with('h'));
        let is_robots = request.url.path() == "/robots.txt";
        if !is_honest && !is_robots {
            return Box::pin(std::future::pending());
        }
        let fetching = self.script.fetch(request);
        if self.script.pages().len() >= self.honest {
            self.control.stop();
        }
        fetching
    }
}

#[test]
fn hosts_that_let_us_wait_take_no_places_from_others() {
    // More of them than are ever asked at once, and they come first.
    let silent = (0..300).map(|n| format!("http://silent{n}.test/"));
    let honest: Vec<String> = (0..20).map(|n| format!("http://h{n}.test/")).collect();
    let seeds: Vec<String> = silent.chain(honest.iter().cloned()).collect();
    let mut script = Script::default();
    for url in &honest {
        script = script.html(url, "an honest page");
    }
    let control = Control::default();
    let fetcher = Arc::new(Silent {
        script: script.clone(),
        control: control.clone(),
        honest: honest.len(),
    });
    let mut config = config();
    config.run.hosts_at_once = None;
    // Were the places gone, this would end the run, with the honest pages unasked.
    config.run.max_time = Some(Duration::from_secs(120));
    config.run.alias_pages = 0;
    let parts = Parts {
        fetcher: Some(fetcher),
        ..Parts::default()
    };
    let disk = Arc::new(SimulatedDisk::new());
    let report = crawl_on(disk, &config, &seeds, parts, &control).unwrap();
    let mut pages = script.pages();
    pages.sort();
    let mut want = honest;
    want.sort();
    assert_eq!(pages, want);
    assert_eq!(report.reason, EndReason::Stopped);
}
