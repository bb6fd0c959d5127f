//! Tries, limits, and what is kept: one claim each.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use std::time::Duration;

use script::Script;
use scripted::{SEED, chain, config, links, of, run, run_on};
use teia_base::journal::{Next, Record, read_segment, segments};
use teia_base::{Flags, Outcome, SimulatedDisk};
use teia_engine::{EndReason, Layout, Parts};

#[test]
fn a_page_is_tried_as_often_as_told_and_no_more() {
    for (retries, outcome) in [
        (0, Outcome::TIME_EXCEEDED),
        (3, Outcome::TIME_EXCEEDED),
        (2, Outcome::http(503)),
        (2, Outcome::http(500)),
        (2, Outcome::CONNECT_REFUSED),
    ] {
        let bad = "http://a.test/bad";
        let mut script = Script::default().html(SEED, &links(&["/bad", "/good"]));
        script = script.html("http://a.test/good", "good");
        script = match u16::try_from(outcome.number()) {
            Ok(status) => script.status(bad, status, ""),
            Err(_) => script.failure(bad, outcome),
        };
        let mut config = config();
        config.run.retries = retries;
        let (report, attempts) = run(&script, &config);
        let tries = script.times_of(bad).len();
        assert_eq!(tries, usize::from(retries) + 1, "{outcome}");
        let tried = of(&attempts, bad);
        let numbers: Vec<u8> = tried.iter().map(|attempt| attempt.try_number).collect();
        assert_eq!(numbers, (1..=retries + 1).collect::<Vec<u8>>());
        assert_eq!(tried.last().unwrap().next, Next::Failed);
        assert_eq!(script.times_of("http://a.test/good").len(), 1);
        assert_eq!(report.states["failed"], 1);
    }
}

#[test]
fn what_fails_for_good_is_not_tried_again() {
    let script = Script::default()
        .html(SEED, &links(&["/404", "/blocked"]))
        .failure("http://a.test/blocked", Outcome::ADDR_BLOCKED);
    let (report, _) = run(&script, &config());
    assert_eq!(script.pages().len(), 3);
    assert_eq!((report.states["gone"], report.states["failed"]), (1, 1));
}

#[test]
fn a_host_that_asks_for_a_rest_gets_it() {
    for status in [429, 503] {
        let busy = "http://a.test/busy";
        let script = Script::default()
            .html(SEED, &links(&["/busy", "/other"]))
            .status(busy, status, "Retry-After: 1\r\n")
            .html(busy, "now")
            .html("http://a.test/other", "other");
        let (report, _) = run(&script, &config());
        assert_eq!(report.fetched, 3, "{status}");
        let log = script.log();
        let at = log.iter().position(|(url, _)| url == busy).unwrap();
        let rest = log[at + 1].1 - log[at].1;
        assert!(rest >= Duration::from_secs(1), "{status}: {rest:?}");
        assert_eq!(script.times_of(busy).len(), 2);
    }
}

#[test]
fn the_pages_of_a_host_that_may_be_fetched_are_fetched_although_others_fail() {
    let mut script = Script::default();
    let mut urls: Vec<String> = (0..3).map(|n| format!("/good{n}")).collect();
    urls.extend((0..200).map(|n| format!("/bad{n}")));
    urls.extend((3..6).map(|n| format!("/good{n}")));
    for url in &urls {
        let full = format!("http://a.test{url}");
        script = if url.contains("bad") {
            script.failure(&full, Outcome::ADDR_BLOCKED)
        } else {
            script.html(&full, url)
        };
    }
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let script = script.html(SEED, &links(&urls));
    let mut config = config();
    config.filter.max_pages_per_host = Some(5);
    let (report, _) = run(&script, &config);
    assert_eq!(report.fetched, 5, "{:?}", script.pages());
}

#[test]
fn requisites_are_fetched_from_anywhere_and_their_links_are_not() {
    let frame = links(&["http://cdn.test/no", "http://a.test/in-scope"]);
    let script = Script::default()
        .html(
            SEED,
            "<img src=http://cdn.test/i.png> <object data=http://cdn.test/doc.html></object> \
             <a href=http://cdn.test/page.html>out of scope</a> <link rel=stylesheet href=http://cdn.test/s.css>",
        )
        .html("http://cdn.test/doc.html", &frame)
        .redirect("http://cdn.test/i.png", "http://images.test/i.png")
        .text("http://images.test/i.png", "an image")
        .raw(
            "http://cdn.test/s.css",
            "HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\nbody { background: url(bg.png) }",
        );
    let (_, attempts) = run(&script, &config());
    let pages = script.pages();
    for wanted in [
        "http://cdn.test/i.png",
        "http://cdn.test/doc.html",
        "http://images.test/i.png",
    ] {
        assert!(pages.contains(&wanted.to_owned()), "{wanted} of {pages:?}");
        assert!(of(&attempts, wanted)[0].flags.has(Flags::REQUISITE));
    }
    for unwanted in [
        "http://cdn.test/no",
        "http://cdn.test/page.html",
        "http://a.test/in-scope",
    ] {
        assert!(
            !pages.contains(&unwanted.to_owned()),
            "{unwanted} of {pages:?}"
        );
    }
    let mut config = config();
    config.filter.requisites = false;
    let plain = script.afresh();
    run(&plain, &config);
    assert_eq!(plain.pages(), [SEED]);
}

#[test]
fn types_that_are_not_kept_are_read_for_their_links() {
    let script = Script::default()
        .html(
            SEED,
            "<a href=/photo>photo</a> <a href=/page>page</a> <a href=/film.mp4>film</a>",
        )
        .html("http://a.test/page", &links(&["/other"]))
        .raw(
            "http://a.test/photo",
            "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x7fPNG",
        )
        .raw(
            "http://a.test/other",
            "HTTP/1.1 200 OK\r\nContent-Type: audio/ogg\r\n\r\nOggS",
        );
    let mut config = config();
    config.filter.types = vec!["image/*".parse().unwrap()];
    let disk = SimulatedDisk::new();
    let (_, attempts) = run_on(&disk, &script, &config, Parts::default());
    let pages = script.pages();
    assert!(
        !pages.contains(&"http://a.test/film.mp4".to_owned()),
        "its name says it all"
    );
    for path in ["", "page"] {
        let attempt = of(&attempts, &format!("{SEED}{path}"))[0];
        assert!(
            attempt.flags.has(Flags::NOT_KEPT) && attempt.capture.is_none(),
            "{path}"
        );
    }
    let photo = of(&attempts, "http://a.test/photo")[0];
    assert!(!photo.flags.has(Flags::NOT_KEPT) && photo.capture.is_some());
}

#[test]
fn a_run_ends_at_its_limit_of_bytes_and_goes_on_in_the_next() {
    let script = chain(30, &"x".repeat(1000));
    let mut limited = config();
    limited.filter.max_bytes = Some(5_000);
    let disk = SimulatedDisk::new();
    let (report, _) = run_on(&disk, &script, &limited, Parts::default());
    assert_eq!(report.reason, EndReason::MaxBytes);
    assert!(
        report.fetched >= 4 && report.fetched < 10,
        "{}",
        report.fetched
    );
    let (report, _) = run_on(&disk, &script, &config(), Parts::default());
    assert_eq!(report.reason, EndReason::Done);
    assert_eq!(script.pages().len(), 30, "each page once over both runs");
}

#[test]
fn a_run_ends_when_its_time_is_up() {
    let script = chain(100_000, "").slowly(Duration::from_millis(10));
    let mut config = config();
    config.run.max_time = Some(Duration::from_millis(300));
    let (report, attempts) = run(&script, &config);
    assert_eq!(report.reason, EndReason::MaxTime);
    assert!(report.elapsed >= Duration::from_millis(300));
    assert!(report.fetched > 0 && report.fetched < 100_000);
    let done = attempts
        .iter()
        .filter(|attempt| !attempt.is_robots())
        .count();
    assert_eq!(report.fetched, done as u64, "what was fetched is committed");
}

#[test]
fn many_urls_that_are_not_asked_for_fill_more_than_one_commit() {
    let urls: Vec<String> = (0..5000).map(|n| format!("/no/{n}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let script = Script::default()
        .text("http://a.test/robots.txt", "User-agent: *\nDisallow: /no/")
        .html(SEED, &links(&urls));
    let mut config = config();
    config.run.commit_every = Duration::from_secs(1);
    config.run.commit_bytes = 64 << 10;
    let disk = SimulatedDisk::new();
    let (report, _) = run_on(&disk, &script, &config, Parts::default());
    assert_eq!(
        report.stats.codes[&Outcome::ROBOTS_DISALLOWED.number()],
        5000
    );
    let folder = Layout::new("default").unwrap().journal();
    for first in segments(&disk, &folder).unwrap() {
        for entry in read_segment(&disk, &folder, first, true).unwrap().entries {
            if let Record::Commit(commit) = entry.record {
                assert!(
                    commit.attempts.len() <= 300,
                    "{} at once",
                    commit.attempts.len()
                );
            }
        }
    }
}
