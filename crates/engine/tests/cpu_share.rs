//! A run that may use a part of the cores uses no more of them, measured by what its threads have computed.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use script::Script;
use scripted::{SEED, config, links, run_with};
use teia_base::{Files, MediaType, Request, SimulatedDisk};
use teia_engine::{CollectionConfig, Company, Control, Parts};
use teia_extract::{Extracted, Extractor, Limits, Source};
use teia_fetch::{Fetcher, Fetching};

const PAGES: u32 = 20;

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap(),
        time.tv_nsec.try_into().unwrap(),
    )
}

/// Computes for a while at each text, and notes for how long.
#[derive(Debug, Default)]
struct Busy(Mutex<Duration>);

impl Extractor for Busy {
    fn accepts(&self, media_type: &MediaType) -> bool {
        media_type.essence() == "text/plain"
    }

    fn extract(&self, _: &Source<'_>, _: &Limits) -> Extracted {
        let begun = thread_cpu();
        while thread_cpu() - begun < Duration::from_millis(15) {}
        *self.0.lock().unwrap() += thread_cpu() - begun;
        Extracted::default()
    }
}

fn web() -> Script {
    let paths: Vec<String> = (0..PAGES).map(|n| format!("/{n}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut script = Script::default().html(SEED, &links(&paths));
    for n in 0..PAGES {
        script = script.text(&format!("http://a.test/{n}"), &format!("text {n}"));
    }
    script
}

fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap(),
        time.tv_nsec.try_into().unwrap(),
    )
}

/// Computes for a while before each answer, on threads that are no workers.
#[derive(Debug)]
struct BusyFetcher(Script);

impl Fetcher for BusyFetcher {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        let begun = thread_cpu();
        while thread_cpu() - begun < Duration::from_millis(15) {}
        self.0.fetch(request)
    }
}

/// One after the other: what the process computes counts.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn what_others_than_workers_compute_counts_too() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut config: CollectionConfig = config();
    config.run.cpu_share = Some("10%".to_owned().try_into().unwrap());
    // So that fetching waits for the workers.
    config.run.hosts_at_once = Some(1);
    let parts = Parts {
        fetcher: Some(Arc::new(BusyFetcher(web()))),
        ..Parts::default()
    };
    let (begun, before) = (Instant::now(), process_cpu());
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let seeds = [SEED.to_owned()];
    let report = support::crawl_on(files, &config, &seeds, parts, &Control::default()).unwrap();
    let (took, computed) = (begun.elapsed(), process_cpu() - before);
    assert_eq!(report.fetched, u64::from(PAGES) + 1);
    assert!(computed >= Duration::from_millis(15) * PAGES);
    // What is under way when the share is used up goes on: half of it is slack.
    let cores = std::thread::available_parallelism().unwrap().get();
    let all = took * u32::try_from(cores).unwrap();
    assert!(computed * 5 <= all, "{computed:?} of {all:?}");
}

#[test]
fn workers_keep_to_their_share_of_all_cores() {
    check_workers(None);
}

/// In `teia serve` a run cannot tell what of the process is its own: its workers keep to the share all the same.
#[test]
fn workers_keep_to_their_share_in_company_too() {
    check_workers(Some(Company::new(64)));
}

fn check_workers(company: Option<Arc<Company>>) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut config: CollectionConfig = config();
    config.run.cpu_share = Some("10%".to_owned().try_into().unwrap());
    let busy = Arc::new(Busy::default());
    let parts = Parts {
        extractor: Some(Arc::clone(&busy) as Arc<dyn Extractor>),
        company,
        ..Parts::default()
    };
    let begun = Instant::now();
    let (report, _) = run_with(&web(), &config, parts);
    let took = begun.elapsed();
    assert_eq!(report.fetched, u64::from(PAGES) + 1);
    let computed = *busy.0.lock().unwrap();
    assert!(computed >= Duration::from_millis(15) * PAGES);
    // Each worker may owe the rest for its last page when the run is over; half of the share is slack besides.
    let cores = std::thread::available_parallelism().unwrap().get();
    let all = took * u32::try_from(cores).unwrap();
    assert!(computed * 5 <= all, "{computed:?} of {all:?}");
}
