//! Every call to the disk of a small crawl fails once, each in a crawl of its own: nothing committed is lost, nothing
//! is there twice, what a run says names the file, and the next one goes on and ends.
//!
//! `TEIA_CALLS=1` tries every call; without it every seventh is tried, each time other ones for each kind.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

mod support;

#[path = "support/cuts.rs"]
mod cuts;
#[path = "support/failing.rs"]
mod failing;
#[path = "support/planted.rs"]
mod planted;
#[path = "support/steps.rs"]
mod steps;

use std::collections::BTreeMap;

use cuts::Harness;
use failing::Failure;

/// Tries the calls of a crawl of this seed, from `first` on.
fn check_calls(seed: u64, first: u64, failure: Failure) {
    let step = std::env::var("TEIA_CALLS").ok();
    let step = step.and_then(|text| text.parse().ok()).unwrap_or(7);
    let harness = Harness::new();
    let (mut tried, mut ended) = (0, BTreeMap::<String, usize>::new());
    let mut wrong = Vec::new();
    for call in (first..).step_by(step) {
        match harness.check_failing(seed, call, failure) {
            // The crawl has fewer calls.
            Ok(None) => break,
            Ok(Some(said)) => {
                tried += 1;
                *ended.entry(said).or_default() += 1;
            }
            Err(told) => wrong.push(told),
        }
    }
    println!(
        "{failure:?}, seed {seed}: {tried} calls failed, each in a crawl of its own: {ended:?}"
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(tried > 10, "{tried} calls, which shows nothing");
    assert!(ended.len() > 1 || failure == Failure::Full, "{ended:?}");
}

#[test]
fn each_call_that_breaks_loses_nothing_and_doubles_nothing() {
    check_calls(0, 0, Failure::Broken);
}

#[test]
fn with_urls_on_disk_and_a_packed_journal_it_is_the_same() {
    check_calls(3, 2, Failure::Broken);
}

#[test]
fn each_call_on_a_full_disk_loses_nothing_and_doubles_nothing() {
    check_calls(3, 4, Failure::Full);
}
