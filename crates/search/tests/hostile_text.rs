//! Texts that are made to be found, to break the index, or to hang whoever shows them.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod shared;

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use shared::{Place, prose};
use tantivy::Index;

/// Processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}

/// The longest term of the index, in bytes.
fn longest_term(place: &Place) -> usize {
    let index = Index::open_in_dir(place.folder.path()).unwrap();
    let searcher = index.reader().unwrap().searcher();
    let mut longest = 0;
    for reader in searcher.segment_readers() {
        for (field, entry) in index.schema().fields() {
            if !entry.is_indexed() {
                continue;
            }
            let Ok(list) = reader.inverted_index(field) else {
                continue;
            };
            let mut terms = list.terms().stream().unwrap();
            while terms.advance() {
                longest = longest.max(terms.key().len());
            }
        }
    }
    longest
}

#[test]
fn html_22_a_word_is_found_whatever_has_no_width_in_it() {
    let honest = format!("Ein casino in einer Stadt. {}", prose(1, 60));
    let hidden = "c\u{200b}a\u{200d}s\u{2060}i\u{feff}n\u{ad}o und sonst nichts";
    let stuffed = format!("{} {}", "casino ".repeat(200_000), prose(2, 60));
    let place = Place::with(&[
        ("http://a.pt/honest", "casino", &honest),
        ("http://a.pt/hidden", "Nichts", hidden),
        ("http://b.pt/stuffed", "Nichts", &stuffed),
    ]);
    let found = place.found("casino");
    assert_eq!(found.len(), 3, "{found:?}");
    // Nobody comes first by saying a word more often than anybody would.
    assert_eq!(found[2], "stuffed", "{found:?}");
    let honest = place.found("einer Stadt casino");
    assert_eq!(honest[0], "honest", "{honest:?}");
    assert!(
        place.found("c\u{200b}asino").len() == 3,
        "nor does it matter in a query"
    );
}

#[test]
fn html_24_a_word_without_end_and_words_without_number_are_bounded() {
    let longest = "y".repeat(255);
    let word = format!("before {longest} after {}", "x".repeat(10 << 20));
    let letters = "a ".repeat(5_000_000);
    let before = thread_time();
    let place = Place::with(&[
        ("http://a.pt/word", "Word", &word),
        ("http://a.pt/letters", "Letters", &letters),
    ]);
    let spent = thread_time() - before;
    assert!(spent < Duration::from_secs(20), "{spent:?}");
    assert_eq!(place.found("before"), ["word"]);
    assert_eq!(place.found("letters"), ["letters"]);
    // One that is longer than 255 bytes is no word, and neither is its beginning.
    for letters in [1, 96, 255, 256, 1000] {
        assert_eq!(place.found(&"x".repeat(letters)), [""; 0], "{letters}");
    }
    assert_eq!(place.found(&longest), ["word"]);
    let longest = longest_term(&place);
    assert!((1..=255).contains(&longest), "{longest} bytes");
}

#[test]
fn html_25_thousands_of_marks_hang_nobody_who_shows_them() {
    let marks = "\u{301}\u{489}\u{20dd}".repeat(10_000);
    let text = format!(
        "o gato{marks} preto e o gato{marks} branco {}",
        prose(3, 200)
    );
    let before = thread_time();
    let place = Place::with(&[("http://a.pt/marks", "Gato", &text)]);
    let results = place.results("gato branco");
    let spent = thread_time() - before;
    assert_eq!(results.hits.len(), 1);
    let snippet = &results.hits[0].snippet.text;
    assert!(
        !snippet.is_empty() && snippet.len() < 10 << 10,
        "{}",
        snippet.len()
    );
    assert!(spent < Duration::from_secs(5), "{spent:?}");
}
