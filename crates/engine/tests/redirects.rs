//! Redirects and shorter ways: one claim each.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use std::time::Duration;

use script::Script;
use scripted::{SEED, config, links, of, run, run_on};
use teia_base::journal::LinkVerdict;
use teia_base::{Outcome, SimulatedDisk};
use teia_engine::Parts;
use teia_frontier::OrderName;

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
