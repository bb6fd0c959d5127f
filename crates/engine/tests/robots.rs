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

/// What is told of a URL is kept in the journal, the history and the catalog, once for each URL.
#[test]
fn what_is_told_of_a_url_is_short_however_long_its_server_talks() {
    const LINKS: usize = 1000;
    let paths: Vec<String> = (0..LINKS).map(|n| format!("/a{n}")).collect();
    let mut paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    paths.push("/long");
    let far = format!("http://a.test/far/{}", "é/".repeat(200));
    let rule = format!("User-agent: *\nDisallow: /a{}", "*".repeat(16_000));
    let script = Script::default()
        .text("http://a.test/robots.txt", &rule)
        .html(SEED, &links(&paths))
        .redirect("http://a.test/long", &far)
        .html(&far, "far");
    let (_, attempts) = run(&script, &config());
    let told =
        |attempt: &teia_base::journal::Attempt| attempt.detail.as_ref().map_or(0, String::len);
    let refused = attempts
        .iter()
        .filter(|one| one.outcome == Outcome::ROBOTS_DISALLOWED);
    let lengths: Vec<usize> = refused.map(told).collect();
    assert_eq!(lengths.len(), LINKS);
    assert!(lengths.iter().all(|len| (100..300).contains(len)));
    let moved = &of(&attempts, "http://a.test/long")[0];
    let detail = moved.detail.as_deref().unwrap();
    assert!(detail.starts_with("to http://a.test/far/") && detail.ends_with('…'));
    assert!(detail.len() <= 1024 && attempts.iter().all(|one| told(one) <= 1024));
    assert!(moved.links[0].url.request().len() > 1400, "in full");
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

/// Forty strangers send their robots.txt to a host that is collected: its pages hardly wait for that, and of the strangers
/// each is collected or waits.
#[test]
fn who_is_sent_the_robots_txt_of_others_is_collected_all_the_same() {
    const PAGES: usize = 100;
    const STRANGERS: usize = 40;
    let own: Vec<String> = (0..PAGES).map(|at| format!("http://a.test/{at}")).collect();
    let others = (0..STRANGERS).map(|at| format!("http://e{at}.test/"));
    let all: Vec<String> = others.chain(own.iter().cloned()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut script = Script::default().html(SEED, &links(&all));
    for (at, page) in own.iter().enumerate() {
        script = script.html(page, &format!("page {at}"));
    }
    for at in 0..STRANGERS {
        let target = format!("http://a.test/robots-of-{at}");
        script = script
            .redirect(&format!("http://e{at}.test/robots.txt"), &target)
            .text(&target, "User-agent: *")
            .html(&format!("http://e{at}.test/"), &format!("stranger {at}"));
    }
    let mut config = config();
    config.filter.scope = teia_base::scope::Scope::Any;
    config.run.alias_pages = 0;
    let (report, _) = run(&script, &config);
    let asked = script.asked();
    let is_guest = |url: &&String| url.contains("robots-of-");
    let last = asked.iter().rposition(|url| own.contains(url)).unwrap();
    let guests = asked[..last].iter().filter(is_guest).count();
    assert!(
        (1..=PAGES / 10 + 1).contains(&guests),
        "{guests} before {last}"
    );
    assert!(own.iter().all(|page| asked.contains(page)));
    assert!(
        asked[last..].iter().filter(is_guest).count() >= 6,
        "those that wait come then"
    );
    assert_eq!(report.states["failed"], 0);
    assert_eq!(
        report.fetched + report.waiting,
        (1 + PAGES + STRANGERS) as u64
    );
}
