//! The engine over a disk whose power is cut: nothing committed is lost, nothing is there twice.
//!
//! SIGKILL keeps the page cache, so only a disk like this one shows a missing sync: what the engine
//! said was committed must be there after the cut. Each seed is a crawl with several cuts, also
//! inside recovery; `TEIA_SEEDS` sets how many (200 by default; `./dev soak power` does thousands).
//! That this shows something is shown by bugs that are planted: each must be caught.

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

use cuts::Harness;
use planted::Bug;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn nothing_committed_is_lost_and_nothing_is_there_twice() {
    let seeds = from_environment("TEIA_SEEDS").unwrap_or(200);
    let first = from_environment("TEIA_SEED").unwrap_or(0);
    let harness = Harness::new();
    let (mut cuts, mut packs) = (0, 0);
    for seed in first..first + seeds {
        let seen = harness.check(seed, None).unwrap();
        (cuts, packs) = (cuts + seen.cuts, packs + seen.packs);
    }
    println!("{seeds} seeds, {cuts} power cuts, {packs} segments packed");
    assert!(packs > 0 || seeds < 10, "nothing was packed");
    assert!(
        cuts > seeds,
        "the power must be cut more than once a seed, or this shows nothing"
    );
}

/// Plants a bug; some seed must catch it, and what the first one says must tell what is wrong.
#[track_caller]
fn check_caught(bug: Bug, fitting: &[&str]) {
    // Far more than it takes: what is caught once in so many seeds would be caught by no soak either.
    const SEEDS: u64 = 200;
    let harness = Harness::new();
    let caught = (0..SEEDS).find_map(|seed| harness.check(seed, Some(bug)).err());
    let Some(wrong) = caught else {
        panic!("{bug:?} was planted, and {SEEDS} seeds did not catch it");
    };
    println!("{bug:?}: {wrong}");
    assert!(
        fitting.iter().any(|words| wrong.contains(words)),
        "{bug:?} was caught, but who reads this would look elsewhere: {wrong}"
    );
}

#[test]
fn a_commit_that_is_acknowledged_before_its_sync_is_caught() {
    check_caught(
        Bug::AcknowledgeBeforeSync,
        // The end of the journal is gone; or the end of one of its files, cut or torn, after which a later one was begun and synced.
        // All are entries that were called committed and are not there.
        &[
            "was called committed, and only",
            "of the journal in",
            "journal segment",
        ],
    );
}

#[test]
fn a_journal_that_names_an_archive_not_yet_synced_is_caught() {
    check_caught(Bug::JournalBeforeArchive, &["archive"]);
}

#[test]
fn a_directory_that_is_not_synced_is_caught() {
    for folder in ["journal", "history"] {
        check_caught(
            Bug::SkipDirectorySync(folder),
            &["was called committed, and only", "a file is missing"],
        );
    }
    check_caught(Bug::SkipDirectorySync("archive"), &["archive"]);
    // The store of URLs is made again from the journal, so that this harness sees its loss seldom; the one of
    // the store itself (`crates/repository/tests/blocks_crash.rs`) has the bug planted.
}

#[test]
fn a_link_that_is_dropped_is_caught() {
    check_caught(Bug::DropLink, &["a link to", "not called new"]);
}

#[test]
fn a_tail_that_is_not_cut_is_caught() {
    check_caught(
        Bug::KeepTail("journal"),
        &["is damaged at byte", "was called committed, and only"],
    );
    check_caught(Bug::KeepTail("archive"), &["archive"]);
}

#[test]
fn a_lease_that_is_used_again_is_caught() {
    check_caught(
        Bug::ReuseLease,
        &["was handed out again after it was committed"],
    );
}
