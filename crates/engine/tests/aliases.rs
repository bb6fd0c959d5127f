//! Hosts that share some pages are not the same host.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use script::Script;
use scripted::{SEED, config, of, run, run_on};
use teia_base::scope::Scope;
use teia_base::{Outcome, SimulatedDisk};
use teia_engine::Parts;

const SHARED: usize = 20;
const OWN: usize = 120;

/// Two hosts with equal pages first, and many of their own behind them.
fn overlapping() -> (Script, Vec<String>) {
    let words = "many words on a page that two hosts share ".repeat(10);
    let mut front = String::new();
    let mut script = Script::default();
    for host in ["a.test", "b.test"] {
        for at in 0..SHARED {
            let url = format!("http://{host}/shared/{at}");
            front += &format!("<a href={url}>{at}</a> ");
            script = script.html(&url, &format!("{words} {at}"));
        }
    }
    let mut own = Vec::new();
    for host in ["a.test", "b.test"] {
        for at in 0..OWN {
            let url = format!("http://{host}/{host}/{at}");
            front += &format!("<a href={url}>{at}</a> ");
            script = script.html(&url, &format!("{words} only {host} {at}"));
            own.push(url);
        }
    }
    (script.html(SEED, &front), own)
}

#[test]
fn pages_of_a_host_that_shares_some_with_another_are_all_fetched() {
    let (script, own) = overlapping();
    let mut config = config();
    config.filter.scope = Scope::Any;
    config.run.alias_pages = 16;
    let (report, attempts) = run(&script, &config);
    let missing: Vec<&String> = own
        .iter()
        .filter(|url| !of(&attempts, url).iter().any(|it| it.outcome.is_ok()))
        .collect();
    // The mark was set, or this shows nothing; it was lifted again.
    let skipped = report.stats.codes.get(&Outcome::ALIAS_HOST.number());
    assert!(skipped.is_some_and(|skipped| *skipped > 0), "{skipped:?}");
    assert!(missing.is_empty(), "{} are missing", missing.len());
    assert_eq!(report.waiting, 0);
}

#[test]
fn a_later_run_without_aliases_fetches_what_was_passed_over() {
    // A mirror to the last page, so that the mark holds.
    let mut front = String::new();
    let mut script = Script::default();
    let mut urls = Vec::new();
    for at in 0..100 {
        for host in ["a.test", "b.test"] {
            let url = format!("http://{host}/{at}");
            front += &format!("<a href={url}>{at}</a> ");
            script = script.html(&url, &format!("{} {at}", "words of a mirror ".repeat(20)));
            urls.push(url);
        }
    }
    let script = script.html(SEED, &front);
    let mut config = config();
    config.filter.scope = Scope::Any;
    config.run.alias_pages = 16;
    let disk = SimulatedDisk::new();
    let (report, _) = run_on(&disk, &script, &config, Parts::default());
    assert!(report.stats.codes[&Outcome::ALIAS_HOST.number()] > 10);
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    let (_, attempts) = run_on(&disk, &script, &config, Parts::default());
    let fetched = |url: &&String| of(&attempts, url).iter().any(|it| it.outcome.is_ok());
    assert_eq!(urls.iter().filter(fetched).count(), urls.len());
}

#[test]
fn a_host_that_is_no_alias_is_found_out_while_others_are_still_due() {
    let words = "many words on a page that two hosts share ".repeat(10);
    let mut front = String::new();
    let mut script = Script::default();
    for host in ["a.test", "b.test"] {
        for at in 0..SHARED {
            let url = format!("http://{host}/shared/{at}");
            front += &format!("<a href={url}>{at}</a> ");
            script = script.html(&url, &format!("{words} {at}"));
        }
    }
    // Then the same addresses, and other pages behind them.
    for host in ["a.test", "b.test"] {
        for at in 0..OWN {
            let url = format!("http://{host}/own/{at}");
            front += &format!("<a href={url}>{at}</a> ");
            script = script.html(&url, &format!("{words} {host} {host} {host} {at}"));
        }
    }
    // A host that has work for far longer than the samples of an alias take.
    for at in 0..800 {
        let url = format!("http://c.test/{at}");
        front += &format!("<a href={url}>{at}</a> ");
        script = script.html(&url, &format!("page {at} of a large host"));
    }
    let script = script
        .html(SEED, &front)
        .slowly(std::time::Duration::from_millis(6));
    let mut config = config();
    config.filter.scope = Scope::Any;
    config.run.alias_pages = 16;
    let (report, attempts) = run(&script, &config);
    let skipped = report.stats.codes.get(&Outcome::ALIAS_HOST.number());
    assert!(skipped.is_some_and(|skipped| *skipped > 0), "{skipped:?}");
    let place = |wanted: &dyn Fn(&teia_base::journal::Attempt) -> bool| {
        attempts.iter().position(wanted).unwrap()
    };
    let is_of = |attempt: &teia_base::journal::Attempt, host: &str| {
        attempt.url.normal().host_str() == host && !attempt.is_robots()
    };
    // The first page that was passed over and fetched after all; and the last one of the large host.
    let lifted = place(&|attempt| {
        let skipped = |it: &&teia_base::journal::Attempt| it.outcome == Outcome::ALIAS_HOST;
        attempt.outcome.is_ok()
            && of(&attempts, attempt.url.normal().as_str())
                .iter()
                .any(skipped)
    });
    let last = attempts.iter().rposition(|it| is_of(it, "c.test")).unwrap();
    assert!(lifted < last, "{lifted} of {last}");
    assert_eq!(report.waiting, 0);
}

/// Three names of one content, of which the oldest is a little slower: the second is taken for the original of the
/// third, and then for an alias of the first. Of the second only samples are left, and the third is an alias all the same.
#[test]
fn an_alias_of_an_alias_is_held_against_the_host_that_is_collected() {
    const PAGES: usize = 120;
    let mut front = String::new();
    let mut script = Script::default();
    for at in 0..PAGES {
        for host in ["a.test", "b.test", "c.test"] {
            let url = format!("http://{host}/{at}");
            front += &format!("<a href={url}>{at}</a> ");
            script = script.html(&url, &format!("{} {at}", "words of a mirror ".repeat(20)));
        }
    }
    let script = script.html(SEED, &front);
    let mut config = config();
    let slower = "[[site]]\nmatch = [\"a.test\"]\n[site.politeness]\ndelay = \"26ms\"\n";
    config.site = teia_engine::CollectionConfig::parse(slower).unwrap().site;
    config.politeness.delay = std::time::Duration::from_millis(20);
    config.filter.scope = Scope::Any;
    config.run.alias_pages = 16;
    let (report, attempts) = run(&script, &config);
    let of_host = |host: &str, outcome: fn(Outcome) -> bool| {
        let of_host = |it: &&teia_base::journal::Attempt| {
            it.url.normal().host_str() == host && !it.is_robots() && outcome(it.outcome)
        };
        attempts.iter().filter(of_host).count()
    };
    let skipped: fn(Outcome) -> bool = |outcome| outcome == Outcome::ALIAS_HOST;
    // And the page that leads to them.
    assert_eq!(of_host("a.test", Outcome::is_ok), PAGES + 1);
    for host in ["b.test", "c.test"] {
        let (fetched, skipped) = (of_host(host, Outcome::is_ok), of_host(host, skipped));
        assert!(skipped > 0, "{host}: {fetched} fetched");
        // What was passed over is never asked for after all.
        assert_eq!(fetched + skipped, PAGES, "{host}: {fetched} fetched");
    }
    assert_eq!(report.waiting, 0);
}
