//! `teia serve` as it minds collections: runs begin when they are due, go on after a kill, and are steered
//! from another terminal; and options that reach a run in another process.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use support::{Home, LIMIT, Running, assert_polite, crawl, requested, until};
use teia_testweb::{Listen, Server, WebConfig};

fn web() -> Server {
    Server::start(
        WebConfig {
            hosts: 3,
            pages_per_host: 40,
            ..WebConfig::default()
        },
        Listen::Names { port: 0 },
    )
    .unwrap()
}

/// A collection whose run was due long ago, and is due again in a year.
fn collection(home: &Home, server: &Server, name: &str, more: &str) {
    home.good(&["collection", "new", name, &server.web().front(0)]);
    let resolve = format!("fetch.resolve=[\"*.test={}\"]", server.addr());
    let mut edit = vec!["collection", "edit", name];
    for setting in [
        resolve.as_str(),
        "filter.scope=suffix:.web.test",
        "politeness.delay=30ms",
        "politeness.latency-factor=0",
        "run.alias-pages=0",
        "schedule.start=2026-01-01",
        "schedule.every=3650d",
    ]
    .into_iter()
    .chain(more.split_whitespace())
    {
        edit.extend(["--set", setting]);
    }
    home.good(&edit);
}

fn serve(home: &Home, more: &[&str]) -> Running {
    let arguments: Vec<&str> = ["serve", "--listen", "127.0.0.1:0"]
        .iter()
        .chain(more)
        .copied()
        .collect();
    let server = home.start(&arguments);
    server.address();
    server
}

fn status(home: &Home, name: &str) -> Value {
    home.json(&["status", name, "--json"])["collections"][0].clone()
}

fn state(home: &Home, name: &str) -> String {
    status(home, name)["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_due_run_begins_goes_on_after_a_kill_and_is_not_begun_twice() {
    let (server, home) = (web(), Home::new());
    collection(&home, &server, "daily", "");
    // Only who is to collect does.
    let reader = serve(&home, &["--no-collect"]);
    reader.signal(Signal::TERM);
    assert_eq!(reader.wait(LIMIT).code, Some(130));
    assert_eq!(server.log().entries.len(), 0);
    let mut requests = 0;
    for _ in 0..2 {
        let serving = serve(&home, &[]);
        until("requests", || server.log().entries.len() > requests + 25);
        serving.kill();
        requests = server.log().entries.len();
    }
    let serving = serve(&home, &[]);
    until("the end of the run", || {
        state(&home, "daily") == "ended (done)"
    });
    assert_eq!(status(&home, "daily")["run"], 1);
    let asked = requested(&server.log());
    let want = server.web().depth_map(&[server.web().front(0)], None);
    assert_eq!(asked.len(), want.len());
    assert_polite(&server, Duration::from_millis(30));
    serving.signal(Signal::TERM);
    assert_eq!(serving.wait(LIMIT).code, Some(130));
    let requests = server.log().entries.len();
    // Another start finds nothing due. It says so by serving, after it has looked.
    let serving = serve(&home, &[]);
    home.good(&["collection", "new", "other", &server.web().front(1)]);
    let other = format!("fetch.resolve=[\"*.test={}\"]", server.addr());
    home.good(&[
        "collection",
        "edit",
        "other",
        "--set",
        &other,
        "--set",
        "schedule.start=2026-01-01",
        "--set",
        "filter.max-pages=1",
    ]);
    until("the other's run", || {
        state(&home, "other") == "ended (max-pages)"
    });
    assert_eq!(status(&home, "daily")["run"], 1);
    let more = server.log().entries.len() - requests;
    assert_eq!(more, 2, "robots.txt and one page of the other");
    drop(serving);
}

/// A URL of an earlier run that this one has not come to is in scope, and said to be.
#[test]
fn what_a_run_has_not_reached_yet_is_not_called_left_out() {
    let (server, home) = (web(), Home::new());
    collection(&home, &server, "birds", "mode=periodic");
    home.good(&["resume", "birds"]);
    home.good(&["resume", "birds", "--max-pages", "2"]);
    // Two pages lead no further than to what is two steps from the seed.
    let depths = server.web().depth_map(&[server.web().front(0)], None);
    let deepest = depths.into_iter().max_by_key(|(_, depth)| *depth);
    let (url, depth) = deepest.unwrap();
    assert!(depth > 2, "{url} is {depth} steps away");
    let known = home.json(&["page", &url, "--json", "--collection", "birds"]);
    assert_eq!(known["state"], "unreached", "{known}");
    assert!(known["excluded_by"].is_null(), "{known}");
    let told = home.good(&["page", &url, "--collection", "birds"]);
    assert!(
        told.contains("not reached yet: visited in an earlier run"),
        "{told}"
    );
    assert!(!told.contains("scope leaves it out"), "{told}");
}

#[test]
fn runs_of_a_server_are_steered_from_another_terminal() {
    let (server, home) = (web(), Home::new());
    collection(&home, &server, "one", "politeness.delay=150ms");
    collection(&home, &server, "two", "politeness.delay=150ms");
    let serving = serve(&home, &[]);
    until("both run", || {
        let is_running = |name: &str| state(&home, name) == "running";
        is_running("one") && is_running("two")
    });
    let unclear = home.run(&["stop"]);
    assert_eq!(unclear.code, Some(2), "{}", unclear.err);
    assert!(
        unclear.err.contains("`one`") && unclear.err.contains("`two`"),
        "{}",
        unclear.err
    );
    home.good(&["pause", "one"]);
    assert_eq!(state(&home, "one"), "paused");
    home.good(&["stop", "two"]);
    until("the end of two", || {
        state(&home, "two") == "ended (stopped)"
    });
    // A pause holds across a restart.
    serving.signal(Signal::TERM);
    assert_eq!(serving.wait(LIMIT).code, Some(130));
    let serving = serve(&home, &[]);
    until("one rests again", || state(&home, "one") == "paused");
    let requests = server.log().entries.len();
    assert_eq!(state(&home, "two"), "ended (stopped)");
    assert_eq!(server.log().entries.len(), requests);
    home.good(&["resume", "one"]);
    until("the end of one", || state(&home, "one") == "ended (done)");
    assert_polite(&server, Duration::from_millis(30));
    drop(serving);
}

#[test]
fn options_reach_a_run_in_another_process() {
    let (server, home) = (web(), Home::new());
    let running = home.start(&crawl(&home, &server, "200ms", &[]));
    until("the first requests", || server.log().entries.len() >= 6);
    home.good(&["pause"]);
    // What was under way when it was paused counts as well.
    let fetched = || home.status()["progress"]["hosts_active"] == 0;
    until("it rests", fetched);
    let most = requested(&server.log()).len() + 5;
    // A mistake is refused, and nothing changes.
    let refused = home.run(&["resume", "--exclude", "("]);
    assert_ne!(refused.code, Some(0), "{}", refused.text());
    assert_eq!(home.status()["state"], "paused");
    let said = home.good(&["resume", "--max-pages", &most.to_string()]);
    assert!(said.contains("new settings"), "{said}");
    let ended = running.wait(LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(requested(&server.log()).values().sum::<usize>(), most);
    assert_eq!(home.status()["state"], "ended (max-pages)");
}

#[test]
fn an_edited_file_reaches_a_run_in_another_process() {
    let (server, home) = (web(), Home::new());
    let running = home.start(&crawl(&home, &server, "200ms", &[]));
    until("the first requests", || server.log().entries.len() >= 6);
    home.good(&["resume", "--exclude", "/never/"]);
    home.good(&["pause"]);
    until("it rests", || {
        home.status()["progress"]["hosts_active"] == 0
    });
    let most = requested(&server.log()).len() + 5;
    let setting = format!("filter.max-pages={most}");
    let edited = home.run(&["collection", "edit", "default", "--set", &setting]);
    assert_eq!(edited.code, Some(0), "{}", edited.err);
    for words in ["new settings", "run alone stays", "`filter.exclude`"] {
        assert!(edited.err.contains(words), "{}", edited.err);
    }
    home.good(&["resume"]);
    let ended = running.wait(LIMIT);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(home.status()["state"], "ended (max-pages)");
}

#[test]
fn removals_and_edits_at_once_are_all_there_afterwards() {
    let home = Home::new();
    home.good(&["collection", "new", "default", "a.example"]);
    let names: Vec<String> = (0..12)
        .map(|at| format!("https://a.example/{at}"))
        .collect();
    let commands = names
        .iter()
        .map(|name| home.start(&["remove", name.as_str()]));
    for command in commands.collect::<Vec<_>>() {
        let ended = command.wait(LIMIT);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
    }
    let listed = home.good(&["remove", "--list"]);
    for name in &names {
        assert!(listed.contains(name.as_str()), "{name} is lost: {listed}");
    }
    let settings = ["filter.max-pages=7", "politeness.delay=9s", "run.retries=5"];
    let commands = settings.map(|it| home.start(&["collection", "edit", "default", "--set", it]));
    for command in commands {
        assert_eq!(command.wait(LIMIT).code, Some(0));
    }
    let text = home.good(&["collection", "show", "default"]);
    for line in ["max-pages = 7", "delay = \"9s\"", "retries = 5"] {
        assert!(text.contains(line), "{line} is lost: {text}");
    }
}

#[test]
fn a_collection_is_deleted_while_another_runs_and_not_while_it_runs_itself() {
    let (server, home) = (web(), Home::new());
    collection(&home, &server, "one", "politeness.delay=150ms");
    home.good(&["collection", "new", "other", &server.web().front(1)]);
    let serving = serve(&home, &[]);
    until("one runs", || state(&home, "one") == "running");
    let refused = home.run(&["collection", "remove", "one", "--yes"]);
    assert_ne!(refused.code, Some(0), "{}", refused.text());
    home.good(&["collection", "remove", "other", "--yes"]);
    assert!(!home.data().join("collections/other.toml").exists());
    assert_eq!(state(&home, "one"), "running");
    drop(serving);
}
