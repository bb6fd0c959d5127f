//! What concerns very many URLs at once is committed in bounded steps, and survives an end in between.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use script::Script;
use scripted::{SEED, links};
use support::crawl_on;
use teia_base::journal::{Commit, LinkVerdict, Record, read_segment, segments};
use teia_base::scope::Scope;
use teia_base::{CanonicalUrl, Files, HostFacts, HostId, Outcome, SimulatedDisk};
use teia_engine::{CollectionConfig, Control, Event, Feedback, Layout, Parts};
use teia_frontier::{Answer, Breadth, Frontier, PoliteFrontier};

/// URLs that the step concerns.
const MANY: usize = 25_000;
/// Changes that one commit may hold.
const MOST: usize = 5000;
const SECOND: &str = "http://b.test/";

fn config() -> CollectionConfig {
    let mut config = scripted::config();
    config.extract.links_per_page = MANY;
    config
}

/// Links to pages that robots.txt keeps us out of: decided without a request.
fn many_links() -> String {
    (0..MANY).map(|n| format!("<a href=/n/{n}>.</a>")).collect()
}

fn commits(disk: &SimulatedDisk) -> Vec<Commit> {
    let directory = Layout::new("default").unwrap().journal();
    let found = segments(disk, &directory).unwrap();
    let read = |(at, first): (usize, &u64)| {
        read_segment(disk, &directory, *first, at + 1 == found.len()).unwrap()
    };
    let entries = found.iter().enumerate().map(read).flat_map(|it| it.entries);
    entries
        .filter_map(|entry| match entry.record {
            Record::Commit(commit) => Some(commit),
            _ => None,
        })
        .collect()
}

fn admitted(commits: &[Commit]) -> usize {
    let changes = commits.iter().flat_map(|commit| &commit.changes);
    changes
        .filter(|change| change.verdict == LinkVerdict::Readmitted)
        .count()
}

fn kept_out(commits: &[Commit]) -> usize {
    let attempts = commits.iter().flat_map(|commit| &commit.attempts);
    attempts
        .filter(|attempt| attempt.outcome == Outcome::ROBOTS_DISALLOWED)
        .count()
}

fn go(
    disk: &SimulatedDisk,
    script: &Script,
    config: &CollectionConfig,
    seeds: &[&str],
    control: &Control,
    feedback: Arc<dyn Feedback>,
) {
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let seeds: Vec<String> = seeds.iter().map(|&seed| seed.to_owned()).collect();
    let parts = Parts {
        fetcher: Some(Arc::new(script.clone())),
        feedback,
        ..Parts::default()
    };
    crawl_on(files, config, &seeds, parts, control).unwrap();
}

fn run(disk: &SimulatedDisk, script: &Script, config: &CollectionConfig, seeds: &[&str]) {
    let silence = Arc::new(teia_engine::Silence);
    go(disk, script, config, seeds, &Control::default(), silence);
}

fn check_steps(commits: &[Commit]) {
    let most = commits.iter().map(|commit| commit.changes.len()).max();
    assert!(most.unwrap() <= MOST, "{most:?} changes in one commit");
}

#[test]
fn what_wider_rules_let_in_is_committed_in_steps() {
    let script = Script::default()
        .text("http://a.test/robots.txt", "User-agent: *\nDisallow: /n/\n")
        .html(SEED, &many_links());
    let disk = SimulatedDisk::new();
    let mut narrow = config();
    narrow.filter.max_depth = Some(0);
    run(&disk, &script, &narrow, &[SEED]);
    assert_eq!(
        (admitted(&commits(&disk)), kept_out(&commits(&disk))),
        (0, 0)
    );
    run(&disk, &script, &config(), &[SEED]);
    let commits = commits(&disk);
    check_steps(&commits);
    assert_eq!((admitted(&commits), kept_out(&commits)), (MANY, MANY));
}

#[test]
fn what_wider_rules_let_in_on_disk_is_looked_for_in_rounds() {
    let script = Script::default()
        .text("http://a.test/robots.txt", "User-agent: *\nDisallow: /n/\n")
        .html(SEED, &many_links());
    let disk = SimulatedDisk::new();
    let mut wide = config();
    wide.run.repository_memory = 64 << 10;
    let mut narrow = wide.clone();
    narrow.filter.exclude = vec!["/n/".to_owned()];
    run(&disk, &script, &narrow, &[SEED]);
    let manifest = Layout::new("default").unwrap().urls().join("manifest");
    assert!(disk.exists(&manifest), "the URLs must lie on disk");
    assert_eq!(kept_out(&commits(&disk)), 0);
    run(&disk, &script, &wide, &[SEED]);
    let commits = commits(&disk);
    check_steps(&commits);
    assert_eq!((admitted(&commits), kept_out(&commits)), (MANY, MANY));
}

/// Ends the run as soon as the second seed has been answered.
#[derive(Debug)]
struct EndThere(Control);

impl Feedback for EndThere {
    fn hear(&self, event: &Event) {
        if let Event::Attempted { url, .. } = event
            && url.as_str() == SECOND
        {
            self.0.interrupt();
        }
    }

    fn wants_attempts(&self) -> bool {
        true
    }
}

#[test]
fn a_shorter_way_to_a_large_page_is_followed_in_steps_also_over_an_end_in_between() {
    let script = Script::default()
        .text("http://a.test/robots.txt", "User-agent: *\nDisallow: /n/\n")
        .html(SEED, &links(&["/1"]))
        .html("http://a.test/1", &links(&["/hub"]))
        .html("http://a.test/hub", &many_links())
        .html(SECOND, &links(&["http://a.test/hub"]));
    let mut config = config();
    config.filter.scope = Scope::Any;
    config.filter.max_depth = Some(2);
    let disk = SimulatedDisk::new();
    run(&disk, &script, &config, &[SEED]);
    assert_eq!(admitted(&commits(&disk)), 0, "they are three hops away");
    // Now there is a way of two hops; the run ends before all of them are let in.
    let control = Control::default();
    let end = Arc::new(EndThere(control.clone()));
    go(&disk, &script, &config, &[SEED, SECOND], &control, end);
    let halfway = admitted(&commits(&disk));
    assert!(halfway < MANY, "{halfway}");
    run(&disk, &script, &config, &[SEED, SECOND]);
    let commits = commits(&disk);
    check_steps(&commits);
    assert_eq!((admitted(&commits), kept_out(&commits)), (MANY, MANY));
}

/// The usual Frontier, which counts how often a host was handed out.
#[derive(Debug)]
struct Counting {
    inner: PoliteFrontier,
    leases: Arc<AtomicUsize>,
}

impl Frontier for Counting {
    fn wake(&mut self, host: HostId, facts: HostFacts, due: Instant) {
        self.inner.wake(host, facts, due);
    }
    fn lease(&mut self, now: Instant) -> Option<HostId> {
        let host = self.inner.lease(now)?;
        self.leases.fetch_add(1, Ordering::SeqCst);
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
        self.inner.inform(url, extra);
    }
}

#[test]
fn urls_that_wait_for_robots_txt_are_passed_over_in_steps() {
    let many: String = (0..MANY)
        .map(|n| format!("<a href=http://a.test/n/{n}>.</a>"))
        .collect();
    // The robots.txt of the many lies on another host, and takes its time.
    let script = Script::default()
        .html(SECOND, &many)
        .redirect("http://a.test/robots.txt", "http://r.test/robots.txt")
        .text("http://r.test/robots.txt", "User-agent: *\nDisallow: /n/\n")
        .slowly(Duration::from_millis(300));
    let mut config = config();
    config.filter.scope = Scope::Any;
    // So that no commit divides the work, but for its size.
    config.run.commit_every = Duration::from_secs(3);
    let leases = Arc::new(AtomicUsize::new(0));
    let frontier = Counting {
        inner: PoliteFrontier::new(config.politeness.clone(), Arc::new(Breadth)),
        leases: Arc::clone(&leases),
    };
    let disk = SimulatedDisk::new();
    let parts = Parts {
        fetcher: Some(Arc::new(script)),
        frontier: Some(Box::new(frontier)),
        ..Parts::default()
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let seeds = [SECOND.to_owned()];
    crawl_on(files, &config, &seeds, parts, &Control::default()).unwrap();
    assert_eq!(kept_out(&commits(&disk)), MANY);
    // A thousand at most each time: they were passed over at least once, and then decided.
    let leases = leases.load(Ordering::SeqCst);
    assert!(leases >= 2 * MANY / 1000, "{leases}");
}
