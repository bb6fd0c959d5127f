//! Merging takes the memory that it is given, however many different words there are.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod shared;

use std::fmt::Write as _;
use std::fs;

use shared::document;
use teia_search::{Extras, IndexConfig, Writer};

const COMMITS: u64 = 24;
const WORDS: u64 = 2000;

/// The sizes of the lists of words of an index that was written in many commits, each of words that no other has.
fn lists_of_words(merge_bytes: u64) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        merge_bytes,
        ..IndexConfig::default()
    };
    let mut writer = Writer::open(folder.path(), config).unwrap();
    for number in 0..COMMITS {
        let mut text = String::new();
        for at in 0..WORDS {
            // Words that have hardly anything in common, as those of noise.
            let word = (number * WORDS + at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let _ = write!(text, "q{word:x} ");
        }
        let page = document(&format!("http://a.pt/{number}"), "page", &text);
        writer.add(&page, &Extras::default()).unwrap();
        writer.commit(number + 1).unwrap();
    }
    writer.close().unwrap();
    let all = fs::read_dir(folder.path()).unwrap();
    let lists = all
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().extension().is_some_and(|it| it == "term"));
    lists.map(|entry| entry.metadata().unwrap().len()).collect()
}

#[test]
fn no_merge_takes_more_memory_than_merging_may() {
    let apart = lists_of_words(0);
    assert_eq!(apart.len() as u64, COMMITS, "without memory, without merge");
    let one = *apart.iter().max().unwrap();
    // Room for three of them, which take twice of what they are while they are merged.
    let most = 7 * one;
    let lists = lists_of_words(most);
    let largest = *lists.iter().max().unwrap();
    assert!(
        largest <= most / 2,
        "{largest} bytes of words were merged, and {most} bytes of memory are for it"
    );
    assert!(
        largest > one && lists.len() < apart.len(),
        "what fits is merged"
    );
    let wide = lists_of_words(IndexConfig::default().merge_bytes);
    assert!(wide.len() < 12, "as ever where there is enough: {wide:?}");
}
