//! A crawl with a deliberately tiny memory crosses every boundary of the URLs on disk: from memory to blocks, runs, news
//! that waits, compaction, split, manifest, windows; and of the journal, the archive and the checkpoints beside them. The
//! power fails in each of them, at the first, a middle and the last call to the disk, and again in the recovery that follows.

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

use std::cell::Cell;
use std::collections::BTreeMap;

use cuts::Harness;

/// On disk, and with a journal that is packed as soon as it can be.
const SEED: u64 = 3;

/// Every step of a small crawl.
const SMALL: [&str; 11] = [
    "journal",
    "archive",
    "checkpoint",
    "packing",
    "move",
    "first run",
    "fold",
    "visit",
    "compaction",
    "manifest",
    "refill",
];

/// And those that take more URLs: news waits, blocks are split, windows are kept aside.
const LARGE: [&str; 4] = ["waiting news", "split", "window", "removal"];

/// The power fails in each of these, before the first call to the disk and before later ones.
fn check(harness: &Harness, steps: &[&'static str], shares: &[u64]) {
    // No two crawls have the same calls, because threads do not take the same turns.
    let mut all: Vec<_> = (0..3).map(|_| harness.steps(SEED).unwrap()).collect();
    let misses = |all: &[BTreeMap<&str, u64>]| {
        let mut steps = steps.iter();
        steps.any(|step| all.iter().all(|calls| !calls.contains_key(step)))
    };
    while misses(&all) && all.len() < 20 {
        all.push(harness.steps(SEED).unwrap());
    }
    println!("calls at each step: {all:?}");
    let mut told = Vec::new();
    let in_recovery = Cell::new(0);
    for &step in steps {
        let calls = all.iter().filter_map(|calls| calls.get(step).copied());
        let calls = calls.max().unwrap_or(0);
        assert!(calls > 0, "this crawl never came to '{step}'");
        let mut chosen: Vec<u64> = shares.iter().map(|share| calls * share / 100).collect();
        chosen.dedup();
        let try_it = |call| {
            let [first, second] = harness.check_step(SEED, step, call).unwrap();
            in_recovery.set(in_recovery.get() + u32::from(first.is_some() && second.is_some()));
            first.is_some()
        };
        let mut hits = chosen.into_iter().filter(|call| try_it(*call)).count();
        for _ in 0..5 {
            hits += usize::from(hits == 0 && try_it(0));
        }
        assert!(hits > 0, "the power never failed in '{step}'");
        told.push(format!("{step} {hits}"));
    }
    let again = in_recovery.get();
    assert!(again > 0, "the power never failed again in the recovery");
    println!(
        "note: power cuts inside steps: {}; again in the recovery: {again}",
        told.join(", ")
    );
}

#[test]
fn the_power_fails_in_every_boundary_and_nothing_is_lost_or_doubled() {
    check(&Harness::new(), &SMALL, &[0, 30, 60, 80]);
}

#[test]
fn and_where_news_waits_blocks_are_split_and_windows_are_kept_aside() {
    check(&Harness::sized(1, 1200), &LARGE, &[0, 50]);
}
