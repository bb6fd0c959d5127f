//! Every call to the disk of a small crawl fails once, each in a crawl of its own: nothing committed is lost, nothing
//! is there twice, what a run says names the file, and the next one goes on and ends. Whether the run ended or went on, the power is
//! cut after it, and what a failed sync was for is gone then: who did not listen to it, or tried it again, has lost something.
//! That this is seen is shown by bugs that are planted.
//!
//! `TEIA_CALLS=1` tries every call; without it one in seven or four is tried, each time other ones for each kind.

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
use planted::Bug;

/// Tries the calls of a crawl of this seed, from `first` on, one in seven.
fn check_calls(seed: u64, first: u64, failure: Failure) {
    check_one_in(7, seed, first, failure);
}

fn check_one_in(step: usize, seed: u64, first: u64, failure: Failure) {
    let all = std::env::var("TEIA_CALLS").ok();
    let step = all.and_then(|text| text.parse().ok()).unwrap_or(step);
    let harness = Harness::new();
    let (mut tried, mut ended) = (0, BTreeMap::<String, usize>::new());
    let mut wrong = Vec::new();
    for call in (first..).step_by(step) {
        match harness.check_failing(seed, call, failure, None) {
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
    // A full disk ends a run, and so may every read that fails.
    assert!(ended.len() > 1 || failure != Failure::Broken, "{ended:?}");
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

#[test]
fn each_read_that_fails_loses_nothing_and_doubles_nothing() {
    // Such a crawl reads little, and less where the machine is busy.
    check_one_in(4, 0, 1, Failure::Unreadable);
}

#[test]
fn with_urls_on_disk_each_read_that_fails_loses_nothing_and_doubles_nothing() {
    check_calls(3, 3, Failure::Unreadable);
}

/// Plants a bug: some call must show it.
#[track_caller]
fn check_caught(bug: Bug) {
    let harness = Harness::new();
    let tried = (0..).map(|call| harness.check_failing(0, call, Failure::Broken, Some(bug)));
    let caught = tried
        .take_while(|checked| !matches!(checked, Ok(None)))
        .find_map(Result::err);
    let Some(wrong) = caught else {
        panic!("{bug:?} was planted, and no call that failed caught it");
    };
    println!("{bug:?}: {wrong}");
    let is_sync = wrong
        .split(&['(', '/'][..])
        .next()
        .unwrap()
        .contains(", sync ");
    let is_told = ["journal", "archive", "was called committed, and only"]
        .iter()
        .any(|words| wrong.contains(words));
    assert!(
        is_sync && is_told,
        "{bug:?} was caught, but who reads this would look elsewhere: {wrong}"
    );
}

#[test]
fn a_failed_sync_that_nobody_listens_to_is_caught() {
    check_caught(Bug::SwallowSync("journal"));
    check_caught(Bug::SwallowSync("archive"));
}

#[test]
fn a_failed_sync_that_is_tried_again_is_caught() {
    check_caught(Bug::RetrySync("journal"));
    check_caught(Bug::RetrySync("archive"));
}
