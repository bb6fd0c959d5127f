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
    let (_, attempts) = run_on(&disk, &script, &config, Parts::default());
    let fetched = |url: &&String| of(&attempts, url).iter().any(|it| it.outcome.is_ok());
    assert_eq!(urls.iter().filter(fetched).count(), urls.len());
}
