//! The ring over a web of a few written answers: one claim each.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/script.rs"]
mod script;
mod support;

use std::any::Any;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use script::Script;
use support::{attempts, crawl_on};
use teia_archive::{Found, WarcReader};
use teia_base::filter::{Candidate, Filter, RuleKind, Verdict};
use teia_base::journal::{Attempt, LinkVerdict, Next, Record, read_segment, segments};
use teia_base::{CanonicalUrl, Document, Files, Flags, HostFacts, HostId, Outcome, SimulatedDisk};
use teia_engine::{
    Analyzer, CollectionConfig, Control, Crawl, DryRun, EndReason, Event, Executor, Feedback,
    Insight, Layout, Parts, Report,
};
use teia_frontier::{Answer, Frontier, OrderName, Unhurried};

const SEED: &str = "http://a.test/";

fn config() -> CollectionConfig {
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.politeness.retry_wait = Duration::from_millis(5);
    config.robots.first_retry = Duration::from_millis(5);
    config.run.commit_every = Duration::from_millis(20);
    config
}

/// Runs to the end over this script; returns the report and every attempt of the journal.
fn run(script: &Script, config: &CollectionConfig) -> (Report, Vec<Attempt>) {
    run_with(script, config, Parts::default())
}

fn run_with(script: &Script, config: &CollectionConfig, parts: Parts) -> (Report, Vec<Attempt>) {
    run_on(&SimulatedDisk::new(), script, config, parts)
}

fn run_on(
    disk: &SimulatedDisk,
    script: &Script,
    config: &CollectionConfig,
    parts: Parts,
) -> (Report, Vec<Attempt>) {
    let parts = Parts {
        fetcher: Some(Arc::new(script.clone())),
        ..parts
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let seeds = [SEED.to_owned()];
    let report = crawl_on(files, config, &seeds, parts, &Control::default()).unwrap();
    (report, attempts(disk))
}

fn of<'a>(attempts: &'a [Attempt], url: &str) -> Vec<&'a Attempt> {
    attempts
        .iter()
        .filter(|attempt| attempt.url.normal().as_str() == url && !attempt.is_robots())
        .collect()
}

fn links(urls: &[&str]) -> String {
    let link = |url: &&str| format!("<a href=\"{url}\">to {url}</a> ");
    urls.iter().map(link).collect()
}

#[test]
fn a_robots_txt_that_has_moved_is_read_where_it_is_now() {
    let script = Script::default()
        .redirect("http://a.test/robots.txt", "http://b.test/rules")
        .text("http://b.test/rules", "User-agent: *\nDisallow: /no")
        .html(SEED, &links(&["/no", "/yes"]))
        .html("http://a.test/yes", "yes");
    let (_, attempts) = run(&script, &config());
    assert_eq!(
        script.asked(),
        [
            "http://a.test/robots.txt",
            "http://b.test/rules",
            SEED,
            "http://a.test/yes"
        ]
    );
    let refused = of(&attempts, "http://a.test/no");
    assert_eq!(refused[0].outcome, Outcome::ROBOTS_DISALLOWED);
    assert!(refused[0].detail.as_ref().unwrap().contains("/no"));
}

#[test]
fn a_robots_txt_that_redirects_for_ever_forbids_nothing() {
    let script = Script::default()
        .redirect("http://a.test/robots.txt", "http://a.test/1")
        .redirect("http://a.test/1", "http://a.test/2")
        .redirect("http://a.test/2", "http://a.test/1")
        .html(SEED, "here");
    let (report, _) = run(&script, &config());
    assert_eq!(report.fetched, 1);
    assert!(script.asked().len() <= 7, "{:?}", script.asked());
}

#[test]
fn a_host_whose_robots_txt_fails_is_asked_for_nothing_until_it_recovers() {
    let robots = "http://a.test/robots.txt";
    let script = Script::default()
        .status(robots, 503, "")
        .status(robots, 500, "")
        .text(robots, "User-agent: *\nDisallow: /no")
        .html(SEED, &links(&["/no", "/yes"]))
        .html("http://a.test/yes", "yes");
    let (report, _) = run(&script, &config());
    assert_eq!(
        script.asked(),
        [robots, robots, robots, SEED, "http://a.test/yes"]
    );
    assert_eq!(report.fetched, 2);
}

#[test]
fn a_host_whose_robots_txt_never_comes_keeps_its_urls_for_another_run() {
    let robots = "http://a.test/robots.txt";
    let script = Script::default()
        .status(robots, 503, "Retry-After: 4000\r\n")
        .html(SEED, "here");
    let disk = SimulatedDisk::new();
    let (report, _) = run_on(&disk, &script, &config(), Parts::default());
    assert_eq!((report.reason, report.fetched), (EndReason::Done, 0));
    assert_eq!(report.waiting, 1);
    assert_eq!(script.asked(), [robots]);
    // A run that begins at once does not ask either: the rest outlives the process.
    let (report, _) = run_on(&disk, &script, &config(), Parts::default());
    assert_eq!(report.waiting, 1);
    assert_eq!(script.asked(), [robots]);
}

#[test]
fn where_a_seed_redirects_to_is_in_scope_and_where_others_do_is_not() {
    let script = Script::default()
        .redirect(SEED, "http://new.test/home")
        .html("http://new.test/home", &links(&["/page", "/away"]))
        .html("http://new.test/page", "page")
        .redirect("http://new.test/away", "http://elsewhere.test/");
    let (_, attempts) = run(&script, &config());
    assert_eq!(
        script.pages(),
        [
            SEED,
            "http://new.test/away",
            "http://new.test/home",
            "http://new.test/page"
        ]
    );
    let away = of(&attempts, "http://new.test/away")[0];
    assert!(matches!(away.links[0].verdict, LinkVerdict::Excluded(_)));
    assert_eq!(away.depth, 1);
    assert_eq!(of(&attempts, "http://new.test/home")[0].depth, 0);
}

#[test]
fn redirects_in_a_circle_and_long_chains_end() {
    let script = (0..20).fold(
        Script::default()
            .html(SEED, &links(&["/1", "/c0", "/self"]))
            .redirect("http://a.test/1", "/2")
            .redirect("http://a.test/2", "/1")
            .redirect("http://a.test/self", "/self"),
        |script, n| script.redirect(&format!("http://a.test/c{n}"), &format!("/c{}", n + 1)),
    );
    let (report, attempts) = run(&script, &config());
    assert_eq!(report.stats.codes[&Outcome::REDIRECT_LOOP.number()], 2);
    assert_eq!(report.stats.codes[&Outcome::REDIRECT_TOO_MANY.number()], 1);
    assert_eq!(of(&attempts, "http://a.test/c10").len(), 1);
    assert!(of(&attempts, "http://a.test/c11").is_empty());
}

/// Last in, first out: the long way to the redirect is walked first.
#[test]
fn a_shorter_way_reaches_the_pages_behind_a_redirect() {
    let script = Script::default()
        .html(SEED, &links(&["/short", "/long"]))
        .html("http://a.test/long", &links(&["/longer"]))
        .html("http://a.test/longer", &links(&["/moved"]))
        .redirect("http://a.test/moved", "/target")
        .html("http://a.test/target", &links(&["/behind"]))
        .html("http://a.test/behind", &links(&["/beyond"]))
        .html("http://a.test/short", &links(&["/moved"]));
    let mut config = config();
    config.run.order = OrderName::Depth;
    // Long enough for the links of a page to be known before the next one is chosen.
    config.politeness.delay = Duration::from_millis(60);
    config.filter.max_depth = Some(3);
    let (_, attempts) = run(&script, &config);
    let want = ["", "behind", "long", "longer", "moved", "short", "target"];
    assert_eq!(script.pages(), want.map(|path| format!("{SEED}{path}")));
    let depth = |path: &str| of(&attempts, &format!("{SEED}{path}"))[0].depth;
    assert_eq!((depth("behind"), depth("target")), (3, 3));
    assert_eq!(
        script
            .pages()
            .iter()
            .filter(|url| url.ends_with("beyond"))
            .count(),
        0
    );
}

/// The same after a restart between the long way and the short one.
#[test]
fn a_shorter_way_found_after_a_restart_reaches_the_pages_behind_a_redirect() {
    let short = "http://a.test/short";
    let script = Script::default()
        .html(SEED, &links(&["/short", "/long"]))
        .html("http://a.test/long", &links(&["/longer"]))
        .html("http://a.test/longer", &links(&["/moved"]))
        .redirect("http://a.test/moved", "/target")
        .html("http://a.test/target", &links(&["/behind"]))
        .html("http://a.test/behind", "the end")
        .html(short, &links(&["/moved"]));
    let mut config = config();
    config.run.order = OrderName::Depth;
    // Long enough for the links of a page to be known before the next one is chosen.
    config.politeness.delay = Duration::from_millis(60);
    config.filter.max_depth = Some(3);
    let disk = SimulatedDisk::new();
    let mut first = config.clone();
    first.filter.max_pages = Some(5);
    run_on(&disk, &script, &first, Parts::default());
    assert!(!script.pages().contains(&short.to_owned()));
    run_on(&disk, &script, &config, Parts::default());
    assert!(script.pages().contains(&"http://a.test/behind".to_owned()));
}

#[test]
fn a_link_that_is_not_followed_brings_nothing_nearer() {
    let script = Script::default()
        .html(SEED, "<a rel=nofollow href=/x>x</a> <a href=/p>p</a>")
        .html("http://a.test/p", &links(&["/q"]))
        .html("http://a.test/q", &links(&["/x"]))
        .html("http://a.test/x", &links(&["/y"]));
    let mut config = config();
    config.filter.max_depth = Some(3);
    let (_, attempts) = run(&script, &config);
    assert_eq!(of(&attempts, "http://a.test/x")[0].depth, 3);
    assert!(!script.pages().contains(&"http://a.test/y".to_owned()));
}

/// The page with the nofollow link comes nearer after a restart; the link is still not followed.
#[test]
fn a_shorter_way_found_after_a_restart_does_not_follow_what_is_not_to_be_followed() {
    let barred = "http://a.test/barred";
    let script = Script::default()
        .html(SEED, &links(&["/short", "/long"]))
        .html("http://a.test/long", &links(&["/longer"]))
        .html("http://a.test/longer", &links(&["/page"]))
        .html(
            "http://a.test/page",
            "<a rel=nofollow href=/barred>x</a> <a href=/open>y</a>",
        )
        .html("http://a.test/open", "open")
        .html("http://a.test/short", &links(&["/page"]));
    let mut config = config();
    config.run.order = OrderName::Depth;
    config.politeness.delay = Duration::from_millis(60);
    config.filter.max_depth = Some(9);
    let disk = SimulatedDisk::new();
    let mut first = config.clone();
    first.filter.max_pages = Some(4);
    run_on(&disk, &script, &first, Parts::default());
    assert!(!script.pages().contains(&"http://a.test/short".to_owned()));
    run_on(&disk, &script, &config, Parts::default());
    let pages = script.pages();
    assert_eq!(pages.len(), 6, "{pages:?}");
    assert!(!pages.contains(&barred.to_owned()));
}

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
fn what_metas_and_headers_ask_is_recorded_and_obeyed() {
    let script = Script::default()
        .html(SEED, &links(&["/meta", "/header", "/rel", "/other-bot"]))
        .html(
            "http://a.test/meta",
            &format!(
                "<meta name=ROBOTS content='NoIndex, nofollow'>{}",
                links(&["/1"])
            ),
        )
        .raw(
            "http://a.test/header",
            &format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag: none\r\n\r\n{}",
                links(&["/2"])
            ),
        )
        .html(
            "http://a.test/rel",
            "<a rel='x nofollow' href=/3>3</a> <a href=/4>4</a>",
        )
        .html(
            "http://a.test/other-bot",
            &format!("<meta name=otherbot content=none>{}", links(&["/5"])),
        );
    let (report, attempts) = run(&script, &config());
    let flags = |path: &str| of(&attempts, &format!("{SEED}{path}"))[0].flags;
    let none = Flags::NOINDEX.with(Flags::NOFOLLOW);
    assert!(flags("meta").has(none) && flags("header").has(none));
    assert!(flags("other-bot").is_empty() && flags("rel").is_empty());
    let pages = script.pages();
    let asked = |path: &str| pages.contains(&format!("{SEED}{path}"));
    assert!(!asked("1") && !asked("2") && !asked("3"));
    assert!(asked("4") && asked("5"));
    let verdict = &of(&attempts, "http://a.test/meta")[0].links[0].verdict;
    assert_eq!(*verdict, LinkVerdict::NotFollowed);
    // Three pages barred a link each: kept in mind as left out, so that people can ask about them.
    assert_eq!(report.states["excluded"], 3);
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
fn metadata_records_hold_the_links_of_each_page() {
    let script = Script::default()
        .html(SEED, "<a href=/one>1</a><img src=/i.png>")
        .html("http://a.test/one", "one");
    let mut config = config();
    config.archive.warc.metadata_records = true;
    let disk = SimulatedDisk::new();
    run_on(&disk, &script, &config, Parts::default());
    let folder = Layout::new("default").unwrap().archive();
    let mut blocks = Vec::new();
    for name in disk.list(&folder).unwrap() {
        if !name.ends_with(".warc.gz") {
            continue;
        }
        let path = folder.join(&name);
        let file = disk.open(&path).unwrap();
        let mut reader = WarcReader::new(file, Path::new(&name), 0).unwrap();
        while let Some(found) = reader.next_found().unwrap() {
            let Found::Record(record) = found else {
                panic!("damage in {name}");
            };
            if record.header.kind() == "metadata" && record.header.url() == Some(SEED) {
                let mut block = String::new();
                let mut body = record.body.reader(0, record.body.len());
                body.read_to_string(&mut block).unwrap();
                blocks.push(block);
            }
        }
    }
    let [block] = blocks.as_slice() else {
        panic!("{} metadata records", blocks.len());
    };
    assert!(
        block.contains("outlink: http://a.test/one L anchor"),
        "{block}"
    );
    assert!(
        block.contains("outlink: http://a.test/i.png E image"),
        "{block}"
    );
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

/// Pages that each link to the next.
fn chain(length: usize, text: &str) -> Script {
    let mut script = Script::default().html(SEED, &format!("{text} {}", links(&["/1"])));
    for n in 1..length {
        let next = if n + 1 < length {
            links(&[&format!("/{}", n + 1)])
        } else {
            String::new()
        };
        script = script.html(&format!("http://a.test/{n}"), &format!("{n} {text} {next}"));
        if length > 1000 && n > 2000 {
            break;
        }
    }
    script
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

#[test]
fn a_dry_run_asks_for_nothing_and_remembers_the_seeds() {
    let script = Script::default().html(SEED, "here");
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let crawl = Crawl {
        files,
        root: "data".into(),
        key: 7,
        layout: Layout::new("default").unwrap(),
        config: config(),
        save: false,
        seeds: vec![teia_base::Seed::parse(SEED).unwrap().unwrap()],
        parts: Parts {
            fetcher: Some(Arc::new(script.clone())),
            ..Parts::default()
        },
        control: Control::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let report = runtime.block_on(DryRun.run(crawl)).unwrap();
    assert_eq!((report.fetched, report.waiting), (0, 1));
    assert!(script.asked().is_empty());
    let (report, _) = run_on(&disk, &script, &config(), Parts::default());
    assert_eq!(report.fetched, 1);
}

/// Leaves out what has `secret` in its address, and counts.
struct NoSecrets(Mutex<u32>);

impl Filter for NoSecrets {
    fn before(&self, link: &Candidate<'_>) -> Verdict {
        *self.0.lock().unwrap() += 1;
        if link.url.as_str().contains("secret") {
            return Verdict::refuse(RuleKind::Custom, "no secrets", Outcome::OUT_OF_SCOPE);
        }
        Verdict::KEEP_AND_FOLLOW
    }
}

/// What an Analyzer tells the Frontier.
#[derive(Debug, PartialEq)]
struct Taste(u32);

#[derive(Debug)]
struct Tasting;

impl Analyzer for Tasting {
    fn analyze(&self, document: &Document) -> Vec<Insight> {
        vec![Insight {
            url: document.url.clone(),
            priority: Some(3),
            extra: Some(Box::new(Taste(7))),
        }]
    }
}

/// An Unhurried that notes what it is told.
#[derive(Debug, Default)]
struct Told {
    inner: Unhurried,
    leases: Arc<Mutex<Vec<HostId>>>,
    tastes: Arc<Mutex<Vec<String>>>,
}

impl Frontier for Told {
    fn wake(&mut self, host: HostId, facts: HostFacts, due: Instant) {
        self.inner.wake(host, facts, due);
    }
    fn lease(&mut self, now: Instant) -> Option<HostId> {
        let host = self.inner.lease(now)?;
        self.leases.lock().unwrap().push(host);
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
        assert_eq!(extra.downcast_ref(), Some(&Taste(7)));
        self.tastes.lock().unwrap().push(url.to_string());
    }
}

#[derive(Debug, Default)]
struct Ears(Mutex<Vec<String>>);

impl Feedback for Ears {
    fn hear(&self, event: &Event) {
        let word = match event {
            Event::Attempted { outcome, .. } => format!("attempted {outcome}"),
            Event::Committed { .. } => "committed".to_owned(),
            Event::Progress(_) => "progress".to_owned(),
            _ => "other".to_owned(),
        };
        self.0.lock().unwrap().push(word);
    }

    fn wants_attempts(&self) -> bool {
        true
    }
}

#[test]
fn every_part_can_be_replaced_and_is_called() {
    // Two pages: what is said of the first must reach the Frontier while the second is fetched.
    let script = Script::default()
        .html(SEED, &links(&["/one", "/secret"]))
        .html("http://a.test/one", &links(&["http://b.test/"]))
        .html("http://b.test/", "far")
        .slowly(Duration::from_millis(40));
    let filter = Arc::new(NoSecrets(Mutex::default()));
    let frontier = Told::default();
    let (leases, tastes) = (Arc::clone(&frontier.leases), Arc::clone(&frontier.tastes));
    let ears = Arc::new(Ears::default());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noting = Arc::clone(&seen);
    let closure = move |document: &Document| {
        noting.lock().unwrap().push(document.url.to_string());
    };
    let parts = Parts {
        filter: Some(filter.clone()),
        frontier: Some(Box::new(frontier)),
        analyzers: vec![Arc::new(Tasting), Arc::new(closure)],
        feedback: ears.clone(),
        ..Parts::default()
    };
    let mut config = config();
    config.run.commit_every = Duration::from_millis(1);
    let (report, _) = run_with(&script, &config, parts);
    let want = [SEED, "http://a.test/one", "http://b.test/"];
    assert_eq!(script.pages(), want, "the filter has no scope but its own");
    assert_eq!(*seen.lock().unwrap(), want, "in the order of the commits");
    assert_eq!(report.fetched, 3);
    assert!(*filter.0.lock().unwrap() >= 4);
    assert!(
        leases.lock().unwrap().len() >= 5,
        "three pages and two robots.txt"
    );
    assert!(tastes.lock().unwrap().contains(&SEED.to_owned()));
    let heard = ears.0.lock().unwrap();
    for word in ["attempted 200 ok", "committed", "progress"] {
        assert!(heard.iter().any(|it| it == word), "{word} of {heard:?}");
    }
}

#[test]
fn the_unhurried_frontier_gets_through_failures_and_closed_doors() {
    let robots = "http://a.test/robots.txt";
    let script = Script::default()
        .status(robots, 503, "")
        .text(robots, "")
        .html(SEED, &links(&["/flaky"]))
        .status("http://a.test/flaky", 503, "")
        .html("http://a.test/flaky", "at last");
    let parts = Parts {
        frontier: Some(Box::new(Unhurried::default())),
        ..Parts::default()
    };
    let (report, _) = run_with(&script, &config(), parts);
    assert_eq!((report.fetched, report.waiting), (2, 0));
}
