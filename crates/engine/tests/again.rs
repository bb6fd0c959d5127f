//! Periodic collections: the same collection, run again and again over a web that changes, visits,
//! versions and counts as the truth says; in memory and on disk, with the power cut in between.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/changing.rs"]
mod changing;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use changing::{ChangingWeb, Content};
use support::{crawl_on, entries};
use teia_archive::Captures;
use teia_base::journal::{Attempt, Next, Record};
use teia_base::{Files, Outcome, PowerCut, SimulatedDisk};
use teia_engine::{CollectionConfig, Control, EndReason, LastRun, Layout, Mode, Parts, Report};
use teia_testweb::{Asked, Listen, Server, WebConfig};

const PAGES: u64 = 60;
const RUNS: u32 = 4;

fn config(max_depth: Option<u16>, on_disk: bool) -> CollectionConfig {
    let mut config = CollectionConfig {
        mode: Mode::Periodic,
        ..CollectionConfig::default()
    };
    config.links.enabled = false;
    config.politeness.delay = Duration::ZERO;
    config.filter.scope = "suffix:.web.test".parse().unwrap();
    config.filter.max_depth = max_depth;
    config.run.commit_every = Duration::from_millis(5);
    config.run.commit_bytes = 8 << 10;
    config.run.journal_segment_bytes = 16 << 10;
    config.archive.warc.max_file_bytes = 1 << 20;
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
) -> Result<Report, teia_engine::EngineError> {
    let parts = Parts {
        fetcher: Some(Arc::new(web.clone())),
        ..Parts::default()
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    crawl_on(files, config, &[web.url(0)], parts, &Control::default())
}

/// The attempts of each run, in order.
fn by_run(disk: &SimulatedDisk) -> BTreeMap<u32, Vec<Attempt>> {
    let mut runs: BTreeMap<u32, Vec<Attempt>> = BTreeMap::new();
    for entry in entries(disk) {
        if let Record::Commit(commit) = entry.record {
            let pages = commit.attempts.into_iter().filter(|it| !it.is_robots());
            runs.entry(entry.run).or_default().extend(pages);
        }
    }
    runs
}

/// Holds what is in the journal against the truth of each run; returns how many pages were unchanged.
fn check_runs(disk: &SimulatedDisk, web: &ChangingWeb, max_depth: Option<u16>, seed: u64) -> usize {
    let runs = by_run(disk);
    assert_eq!(
        runs.keys().copied().collect::<Vec<_>>(),
        (1..=RUNS).collect::<Vec<_>>(),
        "seed {seed}: runs are numbered"
    );
    let mut before: BTreeSet<u64> = BTreeSet::new();
    let mut last: BTreeMap<u64, (u32, Option<u128>, Content)> = BTreeMap::new();
    let mut digests: BTreeMap<(u64, u64), u128> = BTreeMap::new();
    let mut unchanged = 0;
    for (run, attempts) in runs {
        let epoch = run - 1;
        let truth = web.truth(epoch, max_depth, &before);
        let mut visited: BTreeMap<u64, u16> = BTreeMap::new();
        for attempt in &attempts {
            let page = web.page(attempt.url.normal().as_str()).unwrap();
            let what = format!("seed {seed}, run {run}, page {page}");
            assert_eq!(attempt.next, Next::Done, "{what}");
            assert_eq!(visited.insert(page, attempt.depth), None, "{what}: twice");
            let content = web.content(page, epoch);
            let known = last.get(&page);
            let visit = known.map_or(1, |(visit, ..)| visit + 1);
            assert_eq!(attempt.visit, visit, "{what}: which visit");
            let expected = match &content {
                Content::Missing => Outcome::http(404),
                Content::Redirect(_) => Outcome::http(301),
                Content::Page(..)
                    if !page.is_multiple_of(5)
                        && known.is_some_and(|(_, _, was)| *was == content) =>
                {
                    unchanged += 1;
                    Outcome::NOT_MODIFIED
                }
                Content::Page(..) => Outcome::http(200),
            };
            assert_eq!(attempt.outcome, expected, "{what}: {content:?}, {known:?}");
            if let Content::Page(words, _) = content {
                // Equal words have equal digests, other words have others.
                let digest = attempt.text_digest.unwrap();
                assert_eq!(
                    *digests.entry((page, words)).or_insert(digest),
                    digest,
                    "{what}"
                );
            }
            if attempt.outcome == Outcome::NOT_MODIFIED {
                let revisit = attempt.revisit.as_ref().unwrap();
                assert_eq!(revisit.url, web.url(page), "{what}");
            }
            last.insert(page, (visit, attempt.text_digest, content));
        }
        assert_eq!(
            visited.keys().collect::<Vec<_>>(),
            truth.keys().collect::<Vec<_>>(),
            "seed {seed}, run {run}: what is visited"
        );
        for (page, depth) in &visited {
            match truth[page] {
                // The way by which it was met first may have been a longer one.
                Some(least) => assert!(
                    *depth >= least && *depth < u16::MAX,
                    "seed {seed}, run {run}, page {page}: {depth}, and {least} is right"
                ),
                None => assert_eq!(*depth, u16::MAX, "seed {seed}, run {run}, page {page}"),
            }
        }
        before.extend(visited.keys());
    }
    let distinct: BTreeSet<u128> = digests.values().copied().collect();
    assert_eq!(distinct.len(), digests.len(), "seed {seed}");
    unchanged
}

/// What the last run leaves in each state.
fn check_states(report: &Report, disk: &SimulatedDisk) {
    let mut last: BTreeMap<String, Outcome> = BTreeMap::new();
    for attempt in by_run(disk).into_values().flatten() {
        last.insert(attempt.url.normal().to_string(), attempt.outcome);
    }
    let gone = last.values().filter(|it| it.number() == 404).count() as u64;
    assert!(gone > 0, "nothing vanished: this shows nothing");
    let states = &report.states;
    assert_eq!(states["gone"], gone);
    assert_eq!(states["waiting"], 0);
    assert_eq!(states["fetched"], last.len() as u64 - gone);
    assert_eq!(states["excluded"], 0);
    assert_eq!(report.known_urls, last.len() as u64);
}

fn check(seed: u64, max_depth: Option<u16>, on_disk: bool) {
    let disk = SimulatedDisk::new();
    let web = ChangingWeb::new(seed, PAGES, 4);
    let config = config(max_depth, on_disk);
    let mut report = None;
    for epoch in 0..RUNS {
        web.set_epoch(epoch);
        let ended = run(&disk, &web, &config).unwrap();
        assert_eq!(ended.reason, EndReason::Done);
        // Each run counts for itself.
        let attempts = &by_run(&disk)[&(epoch + 1)];
        assert_eq!(ended.fetched, attempts.len() as u64);
        report = Some(ended);
    }
    let unchanged = check_runs(&disk, &web, max_depth, seed);
    assert!(unchanged > 0 && web.not_modified() == unchanged as u64);
    if max_depth.is_none() {
        check_states(&report.unwrap(), &disk);
    }
    let urls = Layout::new("default").unwrap().urls().join("manifest");
    assert_eq!(disk.exists(&urls), on_disk, "where the URLs are");
    check_archive(&disk);
}

/// Every capture can be read, an unchanged page as what it was.
fn check_archive(disk: &SimulatedDisk) {
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let captures = Captures::open(files, &Layout::new("default").unwrap().archive()).unwrap();
    let mut revisits = 0;
    for entry in captures.all().unwrap() {
        let entry = entry.unwrap();
        let stored = captures.read(&entry).unwrap();
        if entry.is_revisit() {
            revisits += 1;
            assert_eq!(stored.response.status, 200, "{}", entry.url);
        }
    }
    assert!(revisits > 0);
}

#[test]
fn each_run_visits_everything_again_in_memory() {
    for seed in 0..12 {
        check(seed, None, false);
    }
}

#[test]
fn each_run_visits_everything_again_on_disk() {
    for seed in 0..12 {
        check(seed, None, true);
    }
}

#[test]
fn each_run_counts_hops_for_itself() {
    for seed in 0..12 {
        check(seed, Some(3), false);
    }
}

#[test]
fn a_run_whose_power_is_cut_goes_on_as_the_same_run() {
    let mut cuts = 0;
    for seed in 100..130 {
        let on_disk = seed % 2 == 1;
        let max_depth = (seed % 4 == 0).then_some(4);
        let disk = SimulatedDisk::new();
        let web = ChangingWeb::new(seed, PAGES, 4);
        let config = config(max_depth, on_disk);
        let mut draw = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut draw = |bound: u64| {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            draw % bound
        };
        for epoch in 0..RUNS {
            web.set_epoch(epoch);
            let mut left = 3;
            loop {
                if left > 0 {
                    let after_calls = draw(if on_disk { 400 } else { 90 });
                    disk.plan(PowerCut { after_calls });
                }
                if run(&disk, &web, &config).is_ok() {
                    break;
                }
                left -= 1;
                cuts += 1;
                disk.cut_power(draw(u64::MAX));
                // The power may have gone after the end of the run was on disk.
                let files: Arc<dyn Files> = Arc::new(disk.clone());
                let last = LastRun::read(&files, &Layout::new("default").unwrap());
                if last
                    .unwrap()
                    .is_some_and(|last| last.number == epoch + 1 && !last.goes_on())
                {
                    break;
                }
            }
        }
        check_attempts_over_cuts(&disk, &web, max_depth, seed);
    }
    assert!(
        cuts > 30,
        "the power must be cut often, or this shows nothing"
    );
}

/// As the truth says also over cuts: what was committed in a run is not visited again in it.
fn check_attempts_over_cuts(
    disk: &SimulatedDisk,
    web: &ChangingWeb,
    max_depth: Option<u16>,
    seed: u64,
) {
    let mut before = BTreeSet::new();
    let runs = by_run(disk);
    let told: Vec<String> = entries(disk)
        .iter()
        .filter_map(|entry| match &entry.record {
            Record::RunStarted(_) => Some(format!("{}: run {} begins", entry.sequence, entry.run)),
            Record::RunEnded(end) => Some(format!("{}: {}", entry.sequence, end.reason)),
            _ => None,
        })
        .collect();
    assert_eq!(runs.len(), RUNS as usize, "seed {seed}: {told:#?}");
    for (run, attempts) in runs {
        let truth = web.truth(run - 1, max_depth, &before);
        let mut visited = BTreeSet::new();
        for attempt in attempts {
            let page = web.page(attempt.url.normal().as_str()).unwrap();
            assert!(
                visited.insert(page),
                "seed {seed}, run {run}: page {page} twice"
            );
        }
        assert_eq!(
            visited.iter().collect::<Vec<_>>(),
            truth.keys().collect::<Vec<_>>(),
            "seed {seed}, run {run}"
        );
        before.extend(visited);
    }
}

#[test]
fn limits_hold_for_each_run_and_a_run_at_its_limit_is_over() {
    let disk = SimulatedDisk::new();
    let web = ChangingWeb::new(5, PAGES, 4);
    let mut config = config(None, false);
    config.filter.max_pages = Some(7);
    for _ in 0..3 {
        let report = run(&disk, &web, &config).unwrap();
        assert_eq!((report.reason, report.fetched), (EndReason::MaxPages, 7));
    }
    let runs = by_run(&disk);
    assert_eq!(runs.len(), 3);
    for attempts in runs.values() {
        // Each begins at the seed.
        assert_eq!(attempts[0].url.normal().as_str(), web.url(0));
        assert_eq!(attempts.len(), 7);
    }
}

#[test]
fn what_was_collected_once_can_be_visited_again() {
    let disk = SimulatedDisk::new();
    let web = ChangingWeb::new(6, PAGES, 4);
    let mut config = config(None, false);
    config.mode = Mode::Once;
    run(&disk, &web, &config).unwrap();
    let first = web.asked().len();
    // A second run of such a collection asks for nothing that was fetched.
    run(&disk, &web, &config).unwrap();
    assert_eq!(web.asked().len(), first);
    config.mode = Mode::Periodic;
    run(&disk, &web, &config).unwrap();
    assert_eq!(web.asked().len(), 2 * first);
}

#[test]
fn over_http_only_what_has_changed_is_sent_again() {
    let web = WebConfig {
        conditional: true,
        changing_every: 4,
        redirects: 2,
        missing: 1,
        gzip_every: 3,
        chunked_every: 4,
        sitemap: true,
        orphans: 2,
        ..WebConfig::default()
    };
    let server = Server::start(web, Listen::Names { port: 0 }).unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut config = support::config(&server);
    config.mode = Mode::Periodic;
    let seeds = [server.web().front(0)];
    let (mut asked, mut sets) = (0, Vec::new());
    for epoch in 0..3 {
        server.set_epoch(epoch);
        let report = support::crawl(root.path(), &config, &seeds).unwrap();
        assert_eq!(report.reason, EndReason::Done);
        let log = server.log();
        let mut urls = BTreeSet::new();
        for entry in log.entries[asked..].iter().filter(|it| !it.is_robots()) {
            assert!(urls.insert(entry.url.clone()), "{} twice", entry.url);
            let host = entry.host.unwrap();
            let path = entry.url.splitn(4, '/').nth(3).unwrap();
            let body = |epoch: u32| {
                let asked = Asked {
                    epoch,
                    ..Asked::default()
                };
                let answer = server.web().answer(host, &format!("/{path}"), &asked);
                (answer.status, answer.header("ETag").map(str::to_owned))
            };
            let expected = match body(epoch) {
                (200, Some(tag))
                    if epoch > 0 && body(epoch - 1).1.as_deref() == Some(tag.as_str()) =>
                {
                    304
                }
                (status, _) => status,
            };
            assert_eq!(entry.status, expected, "epoch {epoch}: {}", entry.url);
        }
        asked = log.entries.len();
        sets.push(urls);
    }
    assert!(sets[0] == sets[1] && sets[1] == sets[2]);
    let counts = |status: u16| {
        let entries = server.log().entries;
        entries.iter().filter(|it| it.status == status).count()
    };
    // Some pages change in each epoch, most do not.
    assert!(
        counts(304) > counts(200) / 2,
        "{} {}",
        counts(304),
        counts(200)
    );
}
