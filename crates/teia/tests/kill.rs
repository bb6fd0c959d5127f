//! The main proof: the real program, killed at random moments, again and again, loses nothing,
//! doubles nothing, repeats little, and stays polite.
//!
//! `TEIA_KILLS=N` kills N times (15 without it); `TEIA_SEED=N` replays the moments of a failure.
//! `./dev soak kill --kills N` is this test with a large N.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use support::{
    Draw, Home, Running, answered, assert_polite, assert_same, crawl, crawl_with, from_environment,
    is_final, owned, requested, until,
};
use teia_base::journal::Record;
use teia_testweb::{Failure, Listen, RequestLog, Rules, Scope, Server, WebConfig};

/// The gap, also across kills.
const GAP: Duration = Duration::from_millis(50);
/// Kills that one crawl of the web suffers at most; then the next one begins.
const KILLS_A_ROUND: u64 = 15;
/// A run without a kill takes less.
const MOST: Duration = Duration::from_secs(60);

#[test]
fn killed_again_and_again_it_loses_nothing_and_doubles_nothing() {
    let seed = from_environment("TEIA_SEED").unwrap_or_else(|| std::process::id().into());
    let mut kills = from_environment("TEIA_KILLS").unwrap_or(KILLS_A_ROUND);
    let mut round = seed;
    while kills > 0 {
        let made = replayable(round, |draw| {
            one_round(draw, kills.min(KILLS_A_ROUND), "512MiB")
        });
        println!("seed {round}: {made} kills");
        kills -= made;
        round += 1;
    }
}

#[test]
fn with_its_urls_on_disk_it_loses_nothing_and_doubles_nothing_either() {
    let seed = from_environment("TEIA_SEED").unwrap_or_else(|| std::process::id().into());
    let kills = from_environment("TEIA_KILLS").unwrap_or(KILLS_A_ROUND);
    replayable(seed, |draw| {
        one_round(draw, kills.min(KILLS_A_ROUND), "8KiB")
    });
}

#[test]
fn max_pages_is_exact_across_kills() {
    replayable(
        from_environment("TEIA_SEED").unwrap_or_else(|| std::process::id().into()),
        |draw| {
            let server = Server::start(
                WebConfig {
                    hosts: 3,
                    pages_per_host: 60,
                    ..web(draw.next())
                },
                Listen::Names { port: 0 },
            )
            .unwrap();
            let home = Home::new();
            let first = crawl(&home, &server, "50ms", &["--max-pages", "60"]);
            run_with_kills(&home, &first, 3, draw, (300, 900));
            let attempts = home.attempts();
            assert_eq!(answered(&attempts).count(), 60);
            assert_eq!(home.status()["state"], "ended (max-pages)");
            assert_polite(&server, GAP);
            0
        },
    );
}

#[test]
fn a_limit_of_depth_gives_the_same_set_across_kills() {
    let seed = from_environment("TEIA_SEED").unwrap_or_else(|| std::process::id().into());
    replayable(seed, |draw| {
        let config = WebConfig {
            seed: draw.next(),
            hosts: 4,
            pages_per_host: 60,
            links_per_page: 6,
            redirects: 3,
            ..WebConfig::default()
        };
        let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
        let home = Home::new();
        // The last one in goes first: most pages are met on a long way before the short one.
        let first = crawl(
            &home,
            &server,
            "30ms",
            &["--max-depth", "4", "--order", "depth"],
        );
        run_with_kills(&home, &first, 4, draw, (500, 1200));
        let want = server.web().depth_map(&[server.web().front(0)], Some(4));
        let repository = home.reading().repository().unwrap();
        let fetched = repository.urls().filter(|url| url.fetched.is_some());
        let got: BTreeMap<String, u32> = fetched
            .map(|url| (url.url.request().to_owned(), url.depth.into()))
            .collect();
        let disallowed = |url: &str| server.web().is_honeypot(url);
        let got: BTreeMap<String, u32> = got
            .into_iter()
            .filter(|(url, _)| !disallowed(url))
            .collect();
        assert_same(
            "settled",
            &got.keys().cloned().collect(),
            &want.keys().cloned().collect(),
        );
        assert_eq!(got, want, "depths");
        0
    });
}

#[test]
fn a_host_in_trouble_that_asks_for_nothing_is_left_alone_across_a_kill() {
    let config = WebConfig {
        hosts: 1,
        pages_per_host: 40,
        flaky: 1,
        flaky_manner: Failure::Unavailable(None),
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let settings = "[politeness]\nretry-wait = \"3s\"\n";
    let running = home.start(&crawl_with(&home, &server, "10ms", settings, &[]));
    until("a 503", || {
        server.log().entries.iter().any(|entry| entry.status == 503)
    });
    until("it to be committed", || {
        home.attempts().iter().any(|it| it.outcome.number() == 503)
    });
    running.kill();
    assert_eq!(home.run(&["resume"]).code, Some(0));
    let log = server.log();
    let is_refusal = |entry: &teia_testweb::Entry| entry.status == 503;
    let refusal = log.entries.iter().position(is_refusal).unwrap();
    let rest = log.entries[refusal + 1].start - log.entries[refusal].end.unwrap();
    assert!(rest >= Duration::from_secs(3), "{rest:?}");
    assert_polite(&server, Duration::from_millis(10));
}

#[test]
fn a_slow_host_rests_as_long_as_it_has_earned_across_a_kill() {
    let config = WebConfig {
        hosts: 1,
        pages_per_host: 6,
        latency: Duration::from_millis(300),
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    // Four times the latency, but at most ten delays: a second.
    let mut running = home.start(&crawl(&home, &server, "100ms", &[]));
    for _ in 0..2 {
        let asked = server.log().entries.len();
        until("two more answers that are committed", || {
            let log = server.log();
            let second = log.entries.get(asked + 1).map(|entry| &entry.url);
            second.is_some_and(|url| home.attempts().iter().any(|it| it.url.request() == url))
        });
        running.kill();
        running = home.start(&["resume"]);
    }
    assert_eq!(running.wait(MOST).code, Some(0));
    assert_polite(&server, Duration::from_secs(1));
}

#[test]
fn a_rest_that_a_host_asked_for_is_kept_across_a_kill() {
    let manner = Failure::Unavailable(Some(3));
    let config = WebConfig {
        hosts: 1,
        pages_per_host: 40,
        flaky: 1,
        flaky_manner: manner,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let running = home.start(&crawl(&home, &server, "10ms", &[]));
    until("a 503", || {
        server.log().entries.iter().any(|entry| entry.status == 503)
    });
    until("it to be committed", || {
        home.attempts().iter().any(|it| it.outcome.number() == 503)
    });
    running.kill();
    assert_eq!(home.run(&["resume"]).code, Some(0));
    let log = server.log();
    let refusal = log
        .entries
        .iter()
        .position(|entry| entry.status == 503)
        .unwrap();
    let rest = log.entries[refusal + 1].start - log.entries[refusal].end.unwrap();
    assert!(rest >= Duration::from_secs(3), "{rest:?}");
    assert_eq!(
        requested(&log).len(),
        server.web().depth_map(&[server.web().front(0)], None).len()
    );
}

/// Runs with draws from the seed, and names the seed if that fails.
fn replayable(seed: u64, run: impl FnOnce(&mut Draw) -> u64) -> u64 {
    match catch_unwind(AssertUnwindSafe(|| run(&mut Draw(seed)))) {
        Ok(made) => made,
        Err(panic) => {
            eprintln!("to replay: TEIA_SEED={seed}");
            resume_unwind(panic)
        }
    }
}

/// Some hosts with a bit of everything that makes a URL wait, move or fail.
fn web(seed: u64) -> WebConfig {
    WebConfig {
        seed,
        hosts: 6,
        pages_per_host: 70,
        redirects: 3,
        redirect_loop: true,
        missing: 2,
        flaky: 2,
        requisites: true,
        sitemap: true,
        orphans: 2,
        feed: true,
        copies: 2,
        gzip_every: 3,
        chunked_every: 4,
        latency: Duration::from_millis(5),
        ..WebConfig::default()
    }
}

/// One crawl of a web of its own, killed up to so many times; how many it took.
fn one_round(draw: &mut Draw, kills: u64, memory: &str) -> u64 {
    let began = Instant::now();
    let server = Server::start(web(draw.next()), Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    // Segments are packed all the time, so that kills fall there too.
    let settings = format!(
        "[run]\nrepository-memory = \"{memory}\"\njournal-segment-bytes = \"8KiB\"\njournal-bytes = \"16KiB\"\n"
    );
    let first = crawl_with(&home, &server, "50ms", &settings, &["--report", "json"]);
    let moments = run_with_kills(&home, &first, kills, draw, (50, 1400));
    let killed: Vec<Duration> = moments
        .iter()
        .map(|moment| moment.duration_since(began))
        .collect();
    check_nothing_lost(&home, &server);
    check_nothing_doubled(&home);
    check_little_repeated(&server.log(), &killed);
    assert_polite(&server, GAP);
    check_readable(&home, draw);
    let on_disk = home.data().join("default/part-0/urls/manifest").exists();
    assert_eq!(on_disk, memory == "8KiB", "where the URLs are");
    let history = std::fs::read_dir(home.data().join("default/part-0/history")).unwrap();
    let is_pack = |name: std::ffi::OsString| name.to_string_lossy().ends_with(".pack");
    let packs = history.filter(|it| is_pack(it.as_ref().unwrap().file_name()));
    assert!(packs.count() > 0, "nothing was packed");
    moments.len() as u64
}

/// Starts the crawl, kills it at drawn moments, resumes it, until it ends by itself; when it was killed.
fn run_with_kills(
    home: &Home,
    first: &[String],
    kills: u64,
    draw: &mut Draw,
    (least, most): (u64, u64),
) -> Vec<Instant> {
    let mut killed = Vec::new();
    loop {
        let mut running = begin(home, first);
        let patience = if killed.len() as u64 == kills {
            MOST
        } else {
            Duration::from_millis(draw.between(least, most))
        };
        if running.ends_within(patience).is_some() {
            let ended = running.wait(MOST);
            assert_eq!(
                ended.code,
                Some(0),
                "after {} kills: {}",
                killed.len(),
                ended.err
            );
            return killed;
        }
        assert!(
            (killed.len() as u64) < kills,
            "still running after {MOST:?}: {}",
            running.said()
        );
        if has_ended(home) {
            // The run is over; index and graph are being finished. A kill would begin another run.
            assert_eq!(running.wait(MOST).code, Some(0));
            return killed;
        }
        running.kill();
        killed.push(Instant::now());
    }
}

/// Whether the journal says that the run is over.
fn has_ended(home: &Home) -> bool {
    let mut ended = false;
    if home.data().join("collections/default.toml").exists() {
        let read = home.reading().entries(|entry| {
            ended = matches!(entry.record, Record::RunEnded(_));
        });
        read.unwrap();
    }
    ended
}

/// Begins, or goes on where the last process was killed.
fn begin(home: &Home, first: &[String]) -> Running {
    // A process that was killed before it wrote down what to collect has to be told again.
    if home.data().join("collections/default.toml").exists() {
        home.start(&["resume"])
    } else {
        home.start(first)
    }
}

/// G-1, G-12: what the oracle says is what was fetched, and every URL has one state.
fn check_nothing_lost(home: &Home, server: &Server) {
    let web = server.web();
    let rules = Rules {
        scope: Scope::Web,
        requisites: true,
        sitemaps: Some(1),
        feeds: true,
        ..Rules::default()
    };
    let truth = web.reachable(&[web.front(0)], &rules);
    let want = owned(truth.fetched());
    let is_sitemap = |url: &String| url.ends_with("/sitemap.xml") || url.ends_with("/robots.txt");
    let attempts = home.attempts();
    let got: BTreeSet<String> = answered(&attempts)
        .map(|attempt| attempt.url.request().to_owned())
        .collect();
    assert_same(
        "settled",
        &got.into_iter().filter(|url| !is_sitemap(url)).collect(),
        &want,
    );
    let kept: BTreeSet<String> = home
        .all_captures()
        .into_iter()
        .map(|entry| entry.url)
        .collect();
    assert_same(
        "archived",
        &kept.into_iter().filter(|url| !is_sitemap(url)).collect(),
        &want,
    );
    let status = home.status();
    let sum: u64 = ["fetched", "gone", "waiting", "failed", "excluded"]
        .iter()
        .map(|state| status[state].as_u64().unwrap())
        .sum();
    assert_eq!(status["known"].as_u64(), Some(sum), "{status}");
    assert_eq!(status["waiting"], 0, "{status}");
    assert_eq!(status["state"], "ended (done)");
}

/// G-2: one capture for each answer in the journal, and one final answer for each URL.
fn check_nothing_doubled(home: &Home) {
    let attempts = home.attempts();
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for attempt in answered(&attempts) {
        *ends.entry(attempt.url.normal().as_str()).or_default() += 1;
    }
    ends.retain(|_, count| *count != 1);
    assert!(ends.is_empty(), "fetched more than once: {ends:#?}");

    let captures = home.all_captures();
    let ids: BTreeSet<u64> = captures.iter().map(|entry| entry.id.unwrap().0).collect();
    assert_eq!(ids.len(), captures.len(), "a number was given twice");
    let named: BTreeSet<u64> = attempts
        .iter()
        .filter_map(|attempt| attempt.capture)
        .map(|id| id.0)
        .collect();
    assert_eq!(ids, named, "archive and journal name different captures");
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in captures.iter().filter(|entry| entry.status != Some(503)) {
        *versions.entry(entry.url.as_str()).or_default() += 1;
    }
    versions.retain(|_, count| *count != 1);
    assert!(
        versions.is_empty(),
        "archived more than once: {versions:#?}"
    );
}

/// G-3: what was asked again was in flight, or in the last second, when a kill struck.
fn check_little_repeated(log: &RequestLog, killed: &[Duration]) {
    const LAST: Duration = Duration::from_secs(1);
    let hosts = log.hosts().len();
    let answers: Vec<_> = log.entries.iter().filter(|entry| is_final(entry)).collect();
    let distinct: BTreeSet<&str> = answers.iter().map(|entry| entry.url.as_str()).collect();
    let repeated = answers.len() - distinct.len();
    let late = |kill: &Duration| {
        answers
            .iter()
            .filter(|entry| entry.start <= *kill && entry.start + LAST >= *kill)
            .count()
    };
    let bound: usize = killed.iter().map(|kill| hosts + late(kill)).sum();
    println!(
        "{} requests, {} URLs, {repeated} repeated, at most {bound} allowed",
        log.entries.len(),
        distinct.len()
    );
    assert!(
        repeated <= bound,
        "{repeated} requests were repeated after {} kills; {bound} may be",
        killed.len()
    );
}

/// G-4, and that a URL can be explained: every committed record is whole, and so is its story.
fn check_readable(home: &Home, draw: &mut Draw) {
    let scrubbed = home.captures().scrub().unwrap();
    assert!(scrubbed.wounds.is_empty(), "{:#?}", scrubbed.wounds);
    assert!(scrubbed.records > 0);
    let attempts = home.attempts();
    let pages: Vec<_> = answered(&attempts).collect();
    for _ in 0..5 {
        let page = draw.one(&pages);
        let told = home.json(&["page", page.url.request(), "--json"]);
        assert_eq!(told["outcome"], page.outcome.number(), "{told:#}");
        assert_eq!(told["depth"], page.depth, "{told:#}");
    }
}
