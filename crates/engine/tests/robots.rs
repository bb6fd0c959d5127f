//! What robots.txt, metas and headers ask of the ring: one claim each.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use script::Script;
use scripted::{SEED, config, links, of, run, run_on};
use teia_base::journal::LinkVerdict;
use teia_base::{Flags, Outcome, SimulatedDisk};
use teia_engine::{EndReason, Parts};

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
