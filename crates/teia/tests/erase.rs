//! `teia remove --erase`: what was asked to go is gone from every file, and everything else is as it was.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use support::{Home, LIMIT, Plain, requested, until};
use teia_archive::Scrubbed;
use teia_testweb::{Listen, Server, WebConfig};

/// Said only by the host that is erased.
const MARKER: &str = "zebrafinchquartz";
/// Said by pages of both hosts, byte for byte.
const SHARED: &str =
    "<html><title>Both</title><body>A page that two hosts serve, kept once.</body></html>";

/// Two hosts of one server: `/a…` is linked from the first, `/b…` from the second, `/shared` from both.
fn two_hosts() -> Plain {
    Plain::start(|path| match path {
        "/a" => (
            200,
            format!(
                "<title>{MARKER} front</title><p>{MARKER}</p><a href=/a/1>{MARKER} link</a><a href=/shared>s</a>"
            ),
        ),
        "/a/1" => (200, format!("<title>{MARKER}</title><p>more {MARKER}</p>")),
        "/b" => (
            200,
            "<title>Honest front</title><p>wagtail</p><a href=/b/1>one</a><a href=/shared>s</a>"
                .to_owned(),
        ),
        "/b/1" => (
            200,
            "<title>Honest</title><p>another wagtail</p>".to_owned(),
        ),
        "/shared" => (200, SHARED.to_owned()),
        _ => (404, String::new()),
    })
}

/// Collects the host that is to go, and then the one that stays: its shared page is a repeat.
fn collected(plain: &Plain, home: &Home) {
    for seed in ["/a", "/b"] {
        home.good(&crawl(plain, home, seed));
    }
    let repeats = home.all_captures();
    assert!(
        repeats
            .iter()
            .any(|it| it.is_revisit() && it.url.contains("b.test"))
    );
}

fn crawl(plain: &Plain, home: &Home, seed: &str) -> Vec<String> {
    let file = home.write("settings.toml", "[run]\nalias-pages = 0\n");
    let host = &seed[1..2];
    [
        "crawl",
        &format!("http://{host}.test{seed}"),
        "--delay",
        "0s",
        "--resolve",
        &format!("*.test={}", plain.addr),
        "--config",
        &file,
    ]
    .map(str::to_owned)
    .to_vec()
}

fn scrubbed(home: &Home) -> Scrubbed {
    home.captures().scrub().unwrap()
}

/// Every file below a directory, unpacked where it is packed with gzip.
fn contents(directory: &Path, into: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            contents(&path, into);
        } else if let Ok(mut bytes) = std::fs::read(&path) {
            if path.extension().is_some_and(|extension| extension == "gz") {
                let mut plain = Vec::new();
                let mut decoder = flate2::read::MultiGzDecoder::new(&*bytes);
                decoder.read_to_end(&mut plain).unwrap();
                bytes = plain;
            }
            into.push((path.display().to_string(), bytes));
        }
    }
}

/// Files in which a text stands, but for the list of what is hidden.
fn holding(home: &Home, text: &str) -> Vec<String> {
    let mut all = Vec::new();
    contents(home.data(), &mut all);
    assert!(all.len() > 5, "{all:?}");
    all.retain(|(_, bytes)| {
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    });
    all.into_iter().map(|(name, _)| name).collect()
}

/// Nothing is left of the host, and all of the other is there.
#[track_caller]
fn check_erased(plain: &Plain, home: &Home) {
    assert_eq!(holding(home, MARKER), Vec::<String>::new());
    let archives: Vec<String> = holding(home, "http://a.test/")
        .into_iter()
        .filter(|name| name.contains("/archive/"))
        .collect();
    assert_eq!(archives, Vec::<String>::new());
    let after = scrubbed(home);
    assert_eq!(after.wounds, Vec::new());
    let captures = home.all_captures();
    assert!(captures.iter().all(|it| !it.url.contains("a.test")));
    assert_eq!(home.good(&["get", "http://b.test/shared"]), SHARED);
    assert!(
        home.good(&["get", "http://b.test/b/1"])
            .contains("another wagtail")
    );
    assert_ne!(home.run(&["get", "http://a.test/a"]).code, Some(0));
    let total = |query: &str| home.json(&["search", "--json", query])["total"].clone();
    assert_eq!(total(MARKER), 0);
    assert_eq!(total("wagtail"), 2);
    // It is not fetched again, also where a person names it as a seed.
    let asked = plain.paths().len();
    home.run(&crawl(plain, home, "/a/new")).code.unwrap();
    assert_eq!(plain.paths().len(), asked);
    assert_eq!(holding(home, MARKER), Vec::<String>::new());
}

#[test]
fn an_erased_host_is_gone_from_every_file_and_the_other_is_as_it_was() {
    let (plain, home) = (two_hosts(), Home::new());
    collected(&plain, &home);
    assert!(!holding(&home, MARKER).is_empty());
    let said = home.good(&["remove", "--host", "a.test", "--erase"]);
    assert!(said.contains("erased: "), "{said}");
    assert!(said.contains("1 page of other URLs"), "{said}");
    check_erased(&plain, &home);
    // Once more changes nothing, and other pages can be erased one by one.
    home.good(&["remove", "--host", "a.test", "--erase"]);
    home.good(&["remove", "http://b.test/b/1", "--erase"]);
    assert_eq!(holding(&home, "another wagtail"), Vec::<String>::new());
    assert_eq!(scrubbed(&home).wounds, Vec::new());
    assert_eq!(home.good(&["get", "http://b.test/shared"]), SHARED);
    // A new page may be collected into what is left, and a run goes on as before.
    home.good(&["resume"]);
    assert_eq!(scrubbed(&home).wounds, Vec::new());
}

/// From when to when the collection ran, for how long, and its last commit, as everybody says it.
fn period(home: &Home) -> (Vec<serde_json::Value>, serde_json::Value) {
    let summary = home.json(&["stats", "--table", "summary", "--json"]);
    let rows = summary["rows"].as_array().unwrap().iter();
    let mut rows: Vec<_> = rows.cloned().collect();
    rows.retain(|row| {
        ["from", "to", "effective time in seconds"].contains(&row[0].as_str().unwrap())
    });
    assert_eq!(rows.len(), 3, "{summary}");
    (rows, home.status()["last_commit"].clone())
}

#[test]
fn an_erasure_makes_no_run_longer_and_begins_none() {
    let (plain, home) = (two_hosts(), Home::new());
    collected(&plain, &home);
    let before = period(&home);
    // Moments are told in seconds.
    std::thread::sleep(Duration::from_millis(2100));
    home.good(&["remove", "--host", "a.test", "--erase"]);
    assert_eq!(period(&home), before);
    home.good(&["catalog", "rebuild"]);
    assert_eq!(period(&home), before);
    let reading = home.reading();
    let last = teia_engine::LastRun::read(&reading.files(), reading.layout());
    let last = last.unwrap().unwrap();
    assert!(!last.goes_on(), "a server would go on with it: {last:?}");
}

#[test]
fn other_readers_accept_what_is_left() {
    let Ok(python) = std::env::var("TEIA_PYTHON") else {
        println!("SKIPPED: TEIA_PYTHON names no Python with warcio");
        return;
    };
    let (plain, home) = (two_hosts(), Home::new());
    collected(&plain, &home);
    home.good(&["remove", "--host", "a.test", "--erase"]);
    let archive = home.reading().layout().archive();
    let folder = home.data().join(archive);
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().ends_with(".warc.gz") {
            continue;
        }
        count += 1;
        let checked = Command::new(&python)
            .args(["-m", "warcio.cli", "check", "-v"])
            .arg(&path)
            .output()
            .unwrap();
        let said = [checked.stdout, checked.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(checked.status.success(), "{}: {said}", path.display());
    }
    assert!(count >= 2);
}

#[test]
fn nothing_is_erased_under_a_run_and_it_is_hidden_all_the_same() {
    let (plain, home) = (two_hosts(), Home::new());
    collected(&plain, &home);
    let directory = teia_engine::Directory::open(home.data()).unwrap();
    let lock = directory.lock().unwrap();
    let ended = home.run(&["remove", "--host", "a.test", "--erase"]);
    assert_ne!(ended.code, Some(0));
    assert!(ended.err.contains("it is hidden"), "{}", ended.err);
    assert!(!holding(&home, MARKER).is_empty());
    drop(lock);
    assert_ne!(home.run(&["get", "http://a.test/a"]).code, Some(0));
    home.good(&["remove", "--host", "a.test", "--erase"]);
    check_erased(&plain, &home);
}

#[test]
fn killed_at_any_moment_it_is_ended_by_asking_again() {
    let plain = two_hosts();
    let mut wait = Duration::ZERO;
    for _ in 0..6 {
        let home = Home::new();
        collected(&plain, &home);
        let mut running = home.start(&["remove", "--host", "a.test", "--erase"]);
        // Later and later, until it was not interrupted any more.
        let ended = running.ends_within(wait);
        running.kill();
        assert_eq!(scrubbed(&home).wounds, Vec::new(), "after {wait:?}");
        assert_eq!(home.good(&["get", "http://b.test/shared"]), SHARED);
        home.good(&["remove", "--host", "a.test", "--erase"]);
        check_erased(&plain, &home);
        if ended.is_some() {
            return;
        }
        wait = wait * 2 + Duration::from_millis(20);
    }
}

#[test]
fn what_is_removed_under_a_run_is_not_fetched_any_more() {
    let config = WebConfig {
        hosts: 2,
        pages_per_host: 200,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    // Each host takes ten seconds at least, and the list is looked at every second.
    let running = home.start(&support::crawl(&home, &server, "50ms", &[]));
    let asked = |host: u32| {
        let log = server.log().matching(|entry| entry.host == Some(host));
        requested(&log).len()
    };
    until("requests to host 1", || asked(1) >= 3);
    let name = server.web().host_name(1);
    home.good(&["remove", "--host", &name]);
    assert_eq!(running.wait(LIMIT).code, Some(0));
    assert!(asked(1) < 200, "{}", asked(1));
    assert!(asked(0) >= 200, "{}", asked(0));
    let excluded = home.good(&["urls", "list", "--state", "excluded"]);
    assert!(excluded.contains(&name), "{excluded}");
    // Shown again, it is collected.
    home.good(&["remove", "--host", &name, "--restore"]);
    home.good(&["resume", "--delay", "0s"]);
    assert!(asked(1) >= 200, "{}", asked(1));
}

/// URLs that wait, as everybody who counts them says: two commands, and the run where there is one.
#[track_caller]
fn check_waiting(home: &Home, server: &Server, hosts: &[u32]) {
    let all = ["urls", "list", "--state", "waiting", "--limit", "100000"];
    let listed = home.good(&all);
    for host in 0..2 {
        let name = server.web().host_name(host);
        let is_there = listed.contains(&name);
        assert_eq!(is_there, hosts.contains(&host), "{name} in {listed}");
    }
    let status = home.status();
    assert_eq!(status["waiting"], listed.lines().count(), "{status}");
    if status["progress"].is_object() {
        assert_eq!(status["progress"]["queue"], status["waiting"], "{status}");
    }
}

fn check_what_waits(memory: &str) {
    let config = WebConfig {
        hosts: 2,
        pages_per_host: 200,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let file = home.write(
        "memory.toml",
        &format!(
            "[run]\nalias-pages = 0\nrepository-memory = \"{memory}\"\n[traps]\nenabled = false\n[politeness]\nlatency-factor = 0\n"
        ),
    );
    let resolve = format!("*.test={}", server.addr());
    let seed = server.web().front(0);
    home.good(&[
        "crawl",
        seed.as_str(),
        "--resolve",
        &resolve,
        "--scope",
        "suffix:.web.test",
        "--delay",
        "0s",
        "--config",
        &file,
        "--max-pages",
        "60",
    ]);
    let name = server.web().host_name(1);
    let asked = |host: u32| {
        let log = server.log().matching(|entry| entry.host == Some(host));
        requested(&log).len()
    };
    // Nothing runs: it is so for whoever looks, before any run has written it down.
    check_waiting(&home, &server, &[0, 1]);
    home.good(&["remove", "--host", &name]);
    check_waiting(&home, &server, &[0]);
    home.good(&["remove", "--host", &name, "--restore"]);
    check_waiting(&home, &server, &[0, 1]);

    // In a run of another process, which rests: when the command ends, nothing of it waits.
    let running = home.start(&["resume", "--max-pages", "none", "--delay", "50ms"]);
    let before = asked(1);
    until("more requests", || asked(1) > before + 1);
    home.good(&["pause"]);
    until("it rests", || {
        home.status()["progress"]["hosts_active"] == 0
    });
    home.good(&["remove", "--host", &name]);
    check_waiting(&home, &server, &[0]);
    let asked_then = asked(1);
    home.good(&["resume"]);
    assert_eq!(running.wait(LIMIT).code, Some(0));
    assert_eq!(asked(1), asked_then);
    assert_eq!(home.status()["waiting"], 0);
    assert!(asked(0) >= 200, "{}", asked(0));
}

#[test]
fn what_is_removed_waits_no_more_whoever_counts_in_memory() {
    check_what_waits("64MiB");
}

#[test]
fn what_is_removed_waits_no_more_whoever_counts_on_disk() {
    check_what_waits("64KiB");
}
