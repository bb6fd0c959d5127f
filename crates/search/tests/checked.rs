//! The check sums of an index are looked at while it is open for writing, and each file is the one that was written.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod shared;

use std::fs;
use std::path::{Path, PathBuf};

use shared::{document, prose};
use teia_search::{
    Extras, IndexConfig, SearchConfig, SearchError, SearchRequest, Searcher, Weights, Writer,
    verify,
};

const ENDINGS: [&str; 6] = ["store", "pos", "idx", "fast", "fieldnorm", "term"];

fn config(check_bytes: u64) -> IndexConfig {
    IndexConfig {
        check_bytes,
        ..IndexConfig::default()
    }
}

/// An index of three segments.
fn index() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), config(0)).unwrap();
    for number in 0..3 {
        let url = format!("http://a.pt/{number}");
        let page = document(&url, "page", &prose(number, 300 + number * 100));
        writer.add(&page, &Extras::default()).unwrap();
        writer.commit(number as u64 + 1).unwrap();
    }
    writer.close().unwrap();
    assert!(verify(folder.path()).unwrap().is_empty());
    folder
}

/// The files of an index with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut found: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|it| it == ending))
        .collect();
    found.sort();
    found
}

/// Three bits in the middle; the file can be opened as before.
fn harm(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = (bytes.len() - 100) / 2;
    for at in [0, 1, 2] {
        bytes[middle + at] ^= 1;
    }
    fs::write(path, bytes).unwrap();
}

/// What a run comes to that adds nothing.
fn run(folder: &Path, check_bytes: u64) -> Result<(), SearchError> {
    Writer::open(folder, config(check_bytes))?.close()
}

#[track_caller]
fn check_told(went: Result<(), SearchError>, file: &Path) {
    let error = went.expect_err("nobody noticed");
    let told = format!("{error:?}");
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(error.is_damage() && told.contains(name), "{told}");
}

#[test]
fn a_damaged_file_that_can_be_opened_is_told_of_by_the_next_run() {
    for ending in ENDINGS {
        let folder = index();
        let harmed = files(folder.path(), ending).remove(1);
        harm(&harmed);
        check_told(run(folder.path(), 1 << 30), &harmed);
    }
}

#[test]
fn a_whole_index_is_left_alone() {
    let folder = index();
    run(folder.path(), 1 << 30).unwrap();
    fs::write(folder.path().join("suspect"), "*").unwrap();
    run(folder.path(), 1).unwrap();
    assert!(!folder.path().join("suspect").exists(), "it was looked at");
}

#[test]
fn of_a_large_index_a_run_looks_at_a_part_and_runs_in_the_end_at_all_of_it() {
    let folder = index();
    let harmed = files(folder.path(), "pos").remove(1);
    harm(&harmed);
    // One of eighteen files each time: that all of these pass it by happens once in 10^24.
    let (mut told, mut passed) = (0, 0);
    for _ in 0..1000 {
        match run(folder.path(), 1) {
            Ok(()) => passed += 1,
            Err(error) => {
                assert!(error.is_damage());
                told += 1;
            }
        }
        if told > 0 && passed > 0 {
            return;
        }
    }
    panic!("{told} told, {passed} passed");
}

#[test]
fn what_verify_finds_the_next_run_looks_at_first() {
    let folder = index();
    let harmed = files(folder.path(), "pos").remove(1);
    harm(&harmed);
    assert_eq!(
        verify(folder.path()).unwrap(),
        std::slice::from_ref(&harmed)
    );
    for _ in 0..5 {
        check_told(run(folder.path(), 1), &harmed);
    }
}

#[test]
fn files_that_changed_places_are_named_and_the_index_is_not_opened_for_writing() {
    for ending in ENDINGS {
        let folder = index();
        let two = files(folder.path(), ending);
        let (one, other) = (fs::read(&two[0]).unwrap(), fs::read(&two[1]).unwrap());
        assert_ne!(one, other);
        fs::write(&two[0], &other).unwrap();
        fs::write(&two[1], &one).unwrap();
        assert_eq!(verify(folder.path()).unwrap(), two[..2], "{ending}");
        check_told(run(folder.path(), 0), &two[0]);
    }
}

#[test]
fn sums_that_are_damaged_are_begun_anew_and_keep_nobody_from_anything() {
    let folder = index();
    let path = folder.path().join("sums");
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert!(verify(folder.path()).unwrap().is_empty(), "byte {at}");
    }
    run(folder.path(), 0).unwrap();
    assert_eq!(fs::read(&path).unwrap(), good);
}

#[test]
fn a_search_that_fails_over_a_damaged_index_leaves_word_for_the_next_run() {
    let folder = index();
    let harmed = files(folder.path(), "store");
    for path in &harmed {
        let len = fs::metadata(path).unwrap().len() - 200;
        let mut bytes = fs::read(path).unwrap();
        bytes[..usize::try_from(len).unwrap()].fill(0xff);
        fs::write(path, bytes).unwrap();
    }
    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    let opened = searcher.open("birds", folder.path());
    let asked = opened.and_then(|()| searcher.search(&SearchRequest::new("page")));
    assert!(asked.unwrap_err().is_damage());
    let noted = fs::read_to_string(folder.path().join("suspect"));
    assert_eq!(noted.unwrap(), "*");
}
