//! Steering a run from outside: signals, and `pause`, `resume`, `stop`, `status` through the socket.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::time::Duration;

use rustix::process::Signal;
use support::{Home, Running, assert_polite, assert_same, crawl, requested, until};
use teia_testweb::{Listen, Server, WebConfig};

/// Nothing here waits for it; a machine that is busy may need some of it.
const SOON: Duration = Duration::from_secs(60);

/// A web that takes some seconds with a gap of 30 ms.
fn web() -> Server {
    Server::start(
        WebConfig {
            hosts: 3,
            pages_per_host: 80,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap()
}

/// Starts a crawl and lets it come to so many requests.
fn started(home: &Home, server: &Server, requests: usize) -> Running {
    let running = home.start(&crawl(home, server, "30ms", &[]));
    until("the first requests", || {
        server.log().entries.len() >= requests
    });
    running
}

/// Everything was fetched, and everything once, robots.txt too.
#[track_caller]
fn check_once_each(server: &Server) {
    let log = server.log();
    let want = server.web().depth_map(&[server.web().front(0)], None);
    assert_same(
        "requested",
        &requested(&log).into_keys().collect(),
        &want.into_keys().collect(),
    );
    let again: Vec<_> = log
        .counts()
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .collect();
    assert!(again.is_empty(), "asked for again: {again:?}");
    assert_polite(server, Duration::from_millis(30));
}

#[test]
fn a_signal_commits_and_ends_and_nothing_is_fetched_again() {
    for signal in [Signal::INT, Signal::TERM] {
        let (server, home) = (web(), Home::new());
        let running = started(&home, &server, 40);
        running.signal(signal);
        let ended = running.wait(SOON);
        assert_eq!(ended.code, Some(130), "{}", ended.err);
        let asked = server.log().entries.len();
        assert!(asked < 200, "there was nothing left to interrupt");
        assert_eq!(home.status()["state"], "ended (interrupted)");
        let committed = home.attempts().len();
        assert!(
            committed >= asked,
            "{committed} attempts of {asked} requests are committed"
        );
        home.good(&["resume"]);
        check_once_each(&server);
    }
}

/// Limits are for the run, however many processes it takes; who wonders where the pages are is told.
#[test]
fn what_a_signal_ended_goes_on_as_the_same_run_with_the_limits_of_it() {
    let (server, home) = (web(), Home::new());
    let running = started(&home, &server, 40);
    running.signal(Signal::INT);
    assert_eq!(running.wait(SOON).code, Some(130));
    let said = home.good(&crawl(&home, &server, "30ms", &["--max-pages", "100"]));
    assert!(
        said.contains("pages before it went on, which count"),
        "{said}"
    );
    assert!(said.starts_with("Collection default: 100 pages"), "{said}");
    assert_eq!(home.status()["run"], 1);
}

#[test]
fn no_request_goes_out_after_a_signal() {
    let (server, home) = (web(), Home::new());
    let running = started(&home, &server, 40);
    running.signal(Signal::TERM);
    until("the signal to be heard", || {
        running.said().contains("stopping")
    });
    std::thread::sleep(Duration::from_millis(100)); // One request of each host may be under way.
    let asked = server.log().entries.len();
    assert_eq!(running.wait(SOON).code, Some(130));
    assert_eq!(server.log().entries.len(), asked);
}

#[test]
fn the_second_signal_ends_at_once_and_what_was_committed_stays() {
    let latency = Duration::from_secs(8);
    let server = Server::start(
        WebConfig {
            hosts: 1,
            pages_per_host: 10,
            slow: 1,
            slow_latency: latency,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap();
    let home = Home::new();
    let mut running = home.start(&crawl(&home, &server, "0s", &["--order", "depth"]));
    let is_slow = |url: &str| url.contains("/lenta/");
    until("the slow page", || {
        server.log().entries.iter().any(|entry| is_slow(&entry.url))
    });
    until("the others to be committed", || {
        home.attempts().len() + 1 >= server.log().entries.len()
    });
    running.signal(Signal::INT);
    assert!(
        running.ends_within(Duration::from_millis(400)).is_none(),
        "it did not wait for what was under way"
    );
    running.signal(Signal::INT);
    let ended = running.wait(SOON);
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    let slow = server.log().entries.into_iter().find(|it| is_slow(&it.url));
    assert!(slow.unwrap().end.is_none(), "it waited for the slow page");
    home.good(&["resume"]);
    let again: Vec<_> = requested(&server.log())
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .collect();
    assert!(
        again.iter().all(|(url, count)| is_slow(url) && *count == 2),
        "{again:?}"
    );
}

#[test]
fn a_paused_run_asks_nothing_and_goes_on_when_resumed() {
    let (server, home) = (web(), Home::new());
    let running = started(&home, &server, 30);
    assert!(home.good(&["pause", "default"]).contains("rests"));
    until("what was under way to end", || {
        server.log().entries.iter().all(|entry| entry.end.is_some())
    });
    let asked = server.log().entries.len();
    let status = home.status();
    assert_eq!(status["state"], "paused");
    assert!(status["fetched"].as_u64().unwrap() > 0, "{status}");
    std::thread::sleep(Duration::from_millis(1000));
    assert_eq!(
        server.log().entries.len(),
        asked,
        "a paused run asked for something"
    );
    assert!(home.good(&["resume", "default"]).contains("goes on"));
    let ended = running.wait(SOON);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    check_once_each(&server);
}

#[test]
fn a_stopped_run_ends_well_and_can_be_resumed() {
    let (server, home) = (web(), Home::new());
    let running = started(&home, &server, 30);
    assert_eq!(
        home.run(&["stop", "birds"]).code,
        Some(2),
        "another collection was stopped"
    );
    assert_eq!(home.status()["state"], "running");
    assert!(home.good(&["status"]).contains("pages/s"));
    home.good(&["stop", "default"]);
    assert_eq!(running.wait(SOON).code, Some(0));
    assert_eq!(home.status()["state"], "ended (stopped)");
    assert!(!home.data().join("control.sock").exists());
    home.good(&["resume", "default"]);
    check_once_each(&server);
}

#[test]
fn a_paused_run_can_be_stopped_and_interrupted() {
    for (order, code) in [("stop", 0), ("signal", 130)] {
        let (server, home) = (web(), Home::new());
        let running = started(&home, &server, 10);
        home.good(&["pause"]);
        if order == "stop" {
            home.good(&["stop"]);
        } else {
            running.signal(Signal::INT);
        }
        assert_eq!(running.wait(SOON).code, Some(code), "{order}");
    }
}

#[test]
fn options_for_a_run_that_is_under_way_count_and_are_not_dropped() {
    let (server, home) = (web(), Home::new());
    let running = started(&home, &server, 10);
    home.good(&["pause"]);
    until("it rests", || {
        home.status()["progress"]["hosts_active"] == 0
    });
    let most = requested(&server.log()).len() + 20;
    let limit = most.to_string();
    let said = home.good(&["resume", "default", "--max-pages", &limit, "--no-archive"]);
    // What cannot change under a run is said.
    assert!(
        said.contains("`archive.enabled`") && said.contains("next start"),
        "{said}"
    );
    let ended = running.wait(SOON);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(requested(&server.log()).len(), most);
    assert_eq!(home.status()["state"], "ended (max-pages)");
}

#[test]
fn options_of_a_run_that_was_killed_count_when_it_goes_on() {
    let (server, home) = (web(), Home::new());
    started(&home, &server, 10).kill();
    let killed_after = |options: &[&str]| {
        let asked = server.log().entries.len();
        let mut arguments = vec!["resume", "default"];
        arguments.extend(options);
        let running = home.start(&arguments);
        until("more requests", || server.log().entries.len() > asked + 5);
        running.kill();
    };
    killed_after(&["--max-pages", "70", "--retries", "2", "--max-depth", "50"]);
    // Whoever edits one of them while nothing runs decides anew.
    home.good(&[
        "collection",
        "edit",
        "default",
        "--set",
        "filter.max-depth=60",
    ]);
    killed_after(&[]);
    let said = home.run(&["resume", "default"]);
    assert!(
        said.err
            .contains("alone: `filter.max-pages`, `run.retries`"),
        "{}",
        said.err
    );
    assert_eq!(home.status()["state"], "ended (max-pages)");
    let events = std::fs::read_to_string(home.data().join("default/events.jsonl")).unwrap();
    let last = events.lines().last().unwrap();
    assert!(
        last.contains("the run has ended: the limit of pages is reached"),
        "{last}"
    );
    // It was that run's; and what is said now counts more than what was said before.
    killed_after(&["--max-pages", "200"]);
    let said = home.run(&["resume", "default", "--max-pages", "none"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(home.status()["state"], "ended (done)");
}

#[test]
fn another_collection_of_a_directory_in_use_cannot_be_resumed() {
    let (server, home) = (web(), Home::new());
    let more = ["--collection", "birds", "--max-pages", "1"];
    home.good(&crawl(&home, &server, "0s", &more));
    let running = started(&home, &server, 10);
    for options in [
        &["resume", "birds"] as &[&str],
        &["resume", "birds", "--retries", "1"],
    ] {
        let ended = home.run(options);
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        for word in ["in use", "`default`", &running.id().to_string()] {
            assert!(ended.err.contains(word), "no {word:?} in {}", ended.err);
        }
    }
    running.kill();
}

#[test]
fn a_long_path_of_the_data_directory_is_no_hindrance() {
    let server = web();
    let folder = tempfile::tempdir().unwrap();
    let home = Home::with_data(folder.path().join("a-long-name/".repeat(16)).join("data"));
    assert!(home.data().as_os_str().len() > 200);
    let running = started(&home, &server, 10);
    assert_eq!(home.status()["state"], "running");
    assert!(home.good(&["pause"]).contains("rests"));
    assert_eq!(home.status()["state"], "paused");
    home.good(&["stop"]);
    let ended = running.wait(SOON);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(!home.data().join("control.sock").exists());
}

#[test]
fn a_pause_holds_across_a_kill_until_it_is_lifted() {
    let (server, home) = (web(), Home::new());
    let running = started(&home, &server, 30);
    home.good(&["pause", "default"]);
    running.kill();
    let state = home.status()["state"].as_str().unwrap().to_owned();
    assert!(state.starts_with("paused"), "{state}");
    assert!(state.contains("teia resume default"), "{state}");

    // Whoever else starts it, it rests; the seeds that come with it are taken in.
    let asked = server.log().entries.len();
    let running = home.start(&crawl(&home, &server, "30ms", &[]));
    until("the note", || running.said().contains("was paused"));
    until("the socket", || home.status()["state"] == "paused");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(server.log().entries.len(), asked, "it did not rest");
    // A signal, as of a machine that is shut down, does not lift it either.
    running.signal(Signal::TERM);
    assert_eq!(running.wait(SOON).code, Some(130));
    let state = home.status()["state"].as_str().unwrap().to_owned();
    assert!(state.starts_with("paused"), "{state}");

    home.good(&["resume", "default"]);
    assert_eq!(home.status()["state"], "ended (done)");
    let want = server.web().depth_map(&[server.web().front(0)], None);
    assert_same(
        "requested",
        &requested(&server.log()).into_keys().collect(),
        &want.into_keys().collect(),
    );
    assert_polite(&server, Duration::from_millis(30));
}

#[test]
fn a_pause_that_was_lifted_or_stopped_is_over_after_a_kill() {
    for lift in ["resume", "stop"] {
        let (server, home) = (web(), Home::new());
        let running = started(&home, &server, 10);
        home.good(&["pause"]);
        home.good(&[lift]);
        if lift == "resume" {
            running.kill();
        } else {
            running.wait(SOON);
        }
        let state = home.status()["state"].as_str().unwrap().to_owned();
        assert!(!state.contains("paused"), "{lift}: {state}");
        let asked = server.log().entries.len();
        let running = home.start(&crawl(&home, &server, "30ms", &[]));
        until("more requests", || server.log().entries.len() > asked + 5);
        running.kill();
    }
}

/// No limit ends a pause, and its time does not count.
#[test]
fn a_limit_of_time_does_not_lift_a_pause() {
    let (server, home) = (web(), Home::new());
    let more = ["--max-time", "3s"];
    let running = home.start(&crawl(&home, &server, "30ms", &more));
    until("some requests", || server.log().entries.len() > 10);
    home.good(&["pause"]);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(home.status()["state"], "paused");
    running.kill();
    let state = home.status()["state"].as_str().unwrap().to_owned();
    assert!(state.starts_with("paused"), "{state}");
}
