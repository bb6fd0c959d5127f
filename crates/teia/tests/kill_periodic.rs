//! `teia serve` with a collection that is visited again and again, killed at all kinds of moments: no run is
//! forgotten, none is begun twice, and each visits everything once.
//!
//! `TEIA_SEED=N` replays the moments of a failure.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use support::{
    Draw, Home, Running, answered, assert_polite, assert_same, from_environment, requested, until,
};
use teia_base::journal::{Attempt, Record};
use teia_base::{Clock, SystemClock};
use teia_testweb::{Listen, Server, WebConfig};

const GAP: Duration = Duration::from_millis(30);
const RUNS: u32 = 3;
const KILLS_A_RUN: u32 = 5;

/// This second, as schedules write it.
fn second() -> String {
    SystemClock.wall().to_rfc3339_micros()[..19].to_owned()
}

fn collection(home: &Home, server: &Server) {
    home.good(&["collection", "new", "default", &server.web().front(0)]);
    let resolve = format!("fetch.resolve=[\"*.test={}\"]", server.addr());
    let mut edit = vec!["collection", "edit", "default"];
    for setting in [
        resolve.as_str(),
        "mode=periodic",
        "filter.scope=suffix:.web.test",
        "politeness.delay=30ms",
        "politeness.latency-factor=0",
        "run.alias-pages=0",
        "traps.enabled=false",
    ] {
        edit.extend(["--set", setting]);
    }
    home.good(&edit);
}

/// A run is due from now on; the one after it in ten years.
fn make_due(home: &Home) {
    // A later second than that of the run before.
    let last = second();
    until("the next second", || second() > last);
    let start = format!("schedule.start={}", second());
    let every = "schedule.every=3650d";
    home.good(&[
        "collection",
        "edit",
        "default",
        "--set",
        &start,
        "--set",
        every,
    ]);
}

fn serve(home: &Home) -> Running {
    let serving = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    serving.address();
    serving
}

/// What the journal says of one run.
#[derive(Default)]
struct Told {
    attempts: Vec<Attempt>,
    ends: Vec<String>,
}

/// Each run that was begun.
fn runs(home: &Home) -> BTreeMap<u32, Told> {
    let mut runs: BTreeMap<u32, Told> = BTreeMap::new();
    if !home.data().join("default/part-0").exists() {
        return runs;
    }
    let read = home.reading().entries(|entry| match entry.record {
        Record::RunStarted(_) => {
            runs.entry(entry.run).or_default();
        }
        Record::Commit(commit) => {
            let run = runs.entry(entry.run).or_default();
            run.attempts.extend(commit.attempts);
        }
        Record::RunEnded(end) => runs.entry(entry.run).or_default().ends.push(end.reason),
        _ => {}
    });
    read.unwrap();
    runs
}

fn has_ended(home: &Home, run: u32) -> bool {
    runs(home).get(&run).is_some_and(|run| !run.ends.is_empty())
}

#[test]
fn periodic_runs_of_a_killed_server_are_neither_forgotten_nor_doubled() {
    let seed = from_environment("TEIA_SEED").unwrap_or_else(|| std::process::id().into());
    println!("seed {seed}");
    let mut draw = Draw(seed);
    let config = WebConfig {
        hosts: 3,
        pages_per_host: 30,
        missing: 2,
        redirects: 2,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    collection(&home, &server);
    for run in 1..=RUNS {
        make_due(&home);
        for _ in 0..KILLS_A_RUN {
            let before = server.log().entries.len();
            let serving = serve(&home);
            match draw.between(0, 3) {
                // As soon as it serves: the run may not have begun.
                0 => {}
                // When the run is written down.
                1 => until("the run", || runs(&home).contains_key(&run)),
                // In the middle of it.
                2 => {
                    let more = usize::try_from(draw.between(1, 40)).unwrap();
                    until("requests, or the end", || {
                        server.log().entries.len() >= before + more || has_ended(&home, run)
                    });
                }
                // When its end is written down, and nobody has heard of it.
                _ => until("its end", || has_ended(&home, run)),
            }
            serving.kill();
        }
        let serving = serve(&home);
        until("its end", || has_ended(&home, run));
        // And it stays ended for whoever starts next.
        serving.kill();
    }
    check(&home, &server);
}

#[track_caller]
fn check(home: &Home, server: &Server) {
    let web = server.web();
    let want: BTreeSet<String> = web.depth_map(&[web.front(0)], None).into_keys().collect();
    let runs = runs(home);
    assert_eq!(
        runs.keys().copied().collect::<Vec<u32>>(),
        (1..=RUNS).collect::<Vec<u32>>()
    );
    for (number, run) in &runs {
        assert_eq!(run.ends, ["done"], "run {number}");
        let urls: Vec<String> = answered(&run.attempts)
            .map(|attempt| attempt.url.normal().as_str().to_owned())
            .collect();
        let once: BTreeSet<String> = urls.iter().cloned().collect();
        assert_same(&format!("run {number}"), &once, &want);
        assert_eq!(urls.len(), once.len(), "run {number} has a URL twice");
    }
    // What is counted of a run is what it has visited, over all its processes.
    let stats = home.json(&["stats", "--json"]);
    let counted = stats["runs"].as_array().unwrap().iter();
    let counted: Vec<u64> = counted
        .map(|run| run["stats"]["fetched"].as_u64().unwrap())
        .collect();
    assert_eq!(counted, vec![want.len() as u64; runs.len()]);
    // What was asked for and not yet committed is asked for again, once for each kill at most.
    let most = usize::try_from(RUNS * (KILLS_A_RUN + 1)).unwrap();
    for (url, count) in requested(&server.log()) {
        let least = usize::try_from(RUNS).unwrap();
        assert!((least..=least + most).contains(&count), "{url}: {count}");
    }
    assert_polite(server, GAP);
}
