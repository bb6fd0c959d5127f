//! Two collections in one process: they share the gap of every host, copies of robots.txt, and what
//! the machine can do at once, by their weights.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

#[path = "support/script.rs"]
mod script;
mod support;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use script::Script;
use support::config;
use teia_base::{DiskFiles, Files, Seed, SimulatedDisk};
use teia_engine::{
    CollectionConfig, Company, Control, Crawl, EndReason, Executor, Layout, Parts, Report,
    ThisMachine,
};
use teia_fetch::Fetcher;
use teia_testweb::{Listen, Server, WebConfig};

/// A run of a collection on a thread of its own.
fn start(
    files: Arc<dyn Files>,
    name: &str,
    config: &CollectionConfig,
    seeds: &[String],
    parts: Parts,
    control: &Control,
) -> std::thread::JoinHandle<Report> {
    let crawl = Crawl {
        files,
        root: "data".into(),
        key: 7,
        layout: Layout::new(name).unwrap(),
        config: config.clone(),
        save: false,
        seeds: seeds
            .iter()
            .map(|seed| Seed::parse(seed).unwrap().unwrap())
            .collect(),
        parts,
        control: control.clone(),
    };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(ThisMachine.run(crawl)).unwrap()
    })
}

fn on_disk(root: &Path) -> Arc<dyn Files> {
    Arc::new(DiskFiles::new(root).unwrap())
}

#[test]
fn two_collections_share_the_gap_of_a_host_and_its_robots_txt() {
    let web = WebConfig {
        hosts: 5,
        pages_per_host: 12,
        latency: Duration::from_millis(3),
        ..WebConfig::default()
    };
    let server = Server::start(web, Listen::Names { port: 0 }).unwrap();
    let root = tempfile::tempdir().unwrap();
    let company = Company::new(64);
    let gap = Duration::from_millis(20);
    let mut config = config(&server);
    config.politeness.delay = gap;
    config.politeness.latency_factor = 0;
    config.run.sitemaps = false;
    config.catalog.enabled = false;
    let seeds = [server.web().front(0)];
    let runs: Vec<_> = ["one", "two"]
        .into_iter()
        .map(|name| {
            let parts = Parts {
                company: Some(Arc::clone(&company)),
                ..Parts::default()
            };
            let files = on_disk(root.path());
            start(files, name, &config, &seeds, parts, &Control::default())
        })
        .collect();
    let reports: Vec<Report> = runs.into_iter().map(|run| run.join().unwrap()).collect();
    // Both have everything.
    for report in &reports {
        assert_eq!((report.reason, report.fetched), (EndReason::Done, 5 * 12));
    }
    let log = server.log();
    assert_eq!(log.dropped, 0);
    let mut robots = 0;
    for host in log.hosts() {
        assert_eq!(log.max_concurrent(host), 1, "two at once to host {host}");
        let rest = log.min_gap(host).unwrap();
        assert!(rest >= gap, "host {host} rested {rest:?} of {gap:?}");
        robots += log.of_host(host).filter(|entry| entry.is_robots()).count();
    }
    assert_eq!(log.entries.len(), 2 * 5 * 12 + robots);
    assert!(
        (5..=10).contains(&robots),
        "{robots} requests for robots.txt"
    );
    // A run that comes later has the copies of those before it.
    let parts = Parts {
        company: Some(Arc::clone(&company)),
        ..Parts::default()
    };
    let files = on_disk(root.path());
    let third = start(files, "three", &config, &seeds, parts, &Control::default());
    assert_eq!(third.join().unwrap().fetched, 5 * 12);
    let log = server.log();
    let asked = log.entries.iter().filter(|entry| entry.is_robots());
    assert_eq!(asked.count(), robots);
}

/// Requests of two runs: all of them, and those since both were well under way.
#[derive(Debug, Default)]
struct Counts {
    all: [u64; 2],
    counted: [u64; 2],
}

/// Counts the requests of a run, and lets both end when there were enough.
#[derive(Debug)]
struct Counted {
    at: usize,
    script: Script,
    counts: Arc<Mutex<Counts>>,
    most: u64,
    controls: [Control; 2],
}

impl Fetcher for Counted {
    fn fetch(&self, request: teia_base::Request) -> teia_fetch::Fetching<'_> {
        let mut counts = self.counts.lock().unwrap();
        counts.all[self.at] += 1;
        // One run may begin long before the other on a machine that is busy.
        if counts.all.iter().all(|count| *count >= 40) {
            if counts.counted.iter().sum::<u64>() < self.most {
                counts.counted[self.at] += 1;
            } else {
                self.controls.iter().for_each(Control::stop);
            }
        }
        drop(counts);
        self.script.fetch(request)
    }
}

/// Two runs with hosts of their own, of weights 1 and 3, and far more pages than are asked for: the requests of each.
#[derive(Clone, Copy)]
struct Weighed {
    places: usize,
    hosts: u32,
    latency: Duration,
    words: u32,
    most: u64,
}

impl Weighed {
    fn web(self, prefix: &str) -> Script {
        let mut script = Script::default().slowly(self.latency);
        let word = |at: u32| format!("w{} ", at.wrapping_mul(2_654_435_761) % 5000);
        let text: String = (0..self.words).map(word).collect();
        for host in 0..self.hosts {
            for page in 0..80 {
                let next = (page + 1) % 80;
                let (here, on) = (host, (host + 1) % self.hosts);
                let body = format!(
                    "<a href=\"http://{prefix}{here}.test/{next}\">a</a> <a href=\"http://{prefix}{on}.test/0\">b</a> {page} {text}"
                );
                script = script.html(&format!("http://{prefix}{host}.test/{page}"), &body);
            }
        }
        script
    }

    fn run(self) -> [u64; 2] {
        let company = Company::new(self.places);
        let counts = Arc::<Mutex<Counts>>::default();
        let controls = [Control::default(), Control::default()];
        let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
        let mut runs = Vec::new();
        for (at, (name, weight)) in [("light", 1), ("heavy", 3)].into_iter().enumerate() {
            let mut config = CollectionConfig::default();
            config.politeness.delay = Duration::ZERO;
            config.filter.scope = "suffix:.test".parse().unwrap();
            config.run.ignore_robots = true;
            config.run.hosts_at_once = Some(60);
            config.run.alias_pages = 0;
            config.traps.enabled = false;
            config.archive.enabled = false;
            config.index.enabled = false;
            config.links.enabled = false;
            config.catalog.enabled = false;
            config.schedule.weight = weight;
            let counted = Arc::new(Counted {
                at,
                script: self.web(name),
                counts: Arc::clone(&counts),
                most: self.most,
                controls: controls.clone(),
            });
            let parts = Parts {
                fetcher: Some(counted),
                company: Some(Arc::clone(&company)),
                ..Parts::default()
            };
            // All hosts are known from the start, so that both always want more than there is.
            let seeds: Vec<String> = (0..self.hosts)
                .map(|host| format!("http://{name}{host}.test/0"))
                .collect();
            let files = Arc::clone(&files);
            runs.push(start(files, name, &config, &seeds, parts, &controls[at]));
        }
        for run in runs {
            assert_eq!(run.join().unwrap().reason, EndReason::Stopped);
        }
        let counted = counts.lock().unwrap().counted;
        assert_eq!(counted.iter().sum::<u64>(), self.most);
        counted
    }
}

#[test]
fn requests_go_by_weight() {
    let most = 1600;
    let [light, heavy] = Weighed {
        places: 8,
        hosts: 60,
        latency: Duration::from_millis(2),
        words: 0,
        most,
    }
    .run();
    let wanted = most / 4;
    assert!(
        light.abs_diff(wanted) <= wanted / 10,
        "{light} and {heavy} requests; {wanted} and {} are right",
        3 * wanted
    );
}

/// Both have all the places that they can use, and pages that keep every worker busy. How exact it is shows in the tests of
/// `shares`: here other things of the machine have a say, and without weights both get the half.
#[test]
fn the_processor_goes_by_weight_where_there_are_places_for_all() {
    let most = 1200;
    let [light, heavy] = Weighed {
        places: 256,
        hosts: 20,
        latency: Duration::ZERO,
        words: 12_000,
        most,
    }
    .run();
    println!("{light} and {heavy} requests");
    let wanted = most / 4;
    assert!(
        light.abs_diff(wanted) <= wanted / 3,
        "{light} and {heavy} requests; {wanted} and {} are right",
        3 * wanted
    );
}
