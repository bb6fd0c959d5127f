//! What is copied from a damaged file must not get a good check sum: merges, commits and moved pages look first.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod shared;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use shared::{document, prose, url};
use teia_search::{Extras, IndexConfig, SearchError, Writer, verify};

/// Segments that lie there unmerged; eight of them are merged.
const FEW: usize = 5;
const ENOUGH: usize = 14;

fn add(writer: &mut Writer, number: usize) -> Result<(), SearchError> {
    let page = document(
        &format!("http://a.pt/{number}"),
        &format!("page {number}"),
        &prose(number, 400),
    );
    writer.add(&page, &Extras::default())?;
    writer.commit(u64::try_from(number).unwrap() + 1)
}

/// The files of an index with this ending.
fn files(folder: &Path, ending: &str) -> BTreeSet<PathBuf> {
    let all = fs::read_dir(folder).unwrap();
    let paths = all.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == ending))
        .collect()
}

/// Changes one byte in the middle: the file is as long as it was, and can be read.
fn harm(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = (bytes.len() - 60) / 2;
    bytes[middle] ^= 0x40;
    fs::write(path, bytes).unwrap();
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// All that an error says.
fn told(error: &SearchError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

#[test]
fn a_damaged_segment_is_not_merged_but_named() {
    // Of some the library gives up by itself, by an error or a panic, and tells nobody.
    for ending in ["store", "pos", "idx", "fast", "fieldnorm", "term"] {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
        for number in 0..FEW {
            add(&mut writer, number).unwrap();
        }
        writer.close().unwrap();
        let harmed = files(folder.path(), ending).pop_first().unwrap();
        harm(&harmed);
        let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
        let went = (FEW..ENOUGH).try_for_each(|number| add(&mut writer, number));
        let went = went.and_then(|()| writer.close());
        let damaged = verify(folder.path()).unwrap();
        assert_eq!(
            damaged,
            std::slice::from_ref(&harmed),
            "{ending}: it is still told apart"
        );
        let error = went.expect_err("it was merged, or nobody was told that it could not be");
        let said = told(&error);
        assert!(
            error.is_damage() && said.contains(&name(&harmed)),
            "{ending}: {said}"
        );
    }
}

#[test]
fn whole_segments_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
    for number in 0..ENOUGH {
        add(&mut writer, number).unwrap();
    }
    writer.close().unwrap();
    let left = files(folder.path(), "store").len();
    assert!(
        left < 8,
        "{left} segments: nothing was merged, and nothing is shown above"
    );
}

#[test]
fn a_damaged_list_of_removed_pages_is_not_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
    for number in 0..40 {
        let text = prose(number, 20);
        let page = document(&format!("http://a.pt/{number}"), "page", &text);
        writer.add(&page, &Extras::default()).unwrap();
    }
    writer.commit(1).unwrap();
    writer.remove(&url("http://a.pt/7")).unwrap();
    writer.commit(2).unwrap();
    writer.close().unwrap();
    let harmed = files(folder.path(), "del").pop_first().unwrap();
    let mut bytes = fs::read(&harmed).unwrap();
    bytes[6] ^= 0x10;
    fs::write(&harmed, bytes).unwrap();
    let error = Writer::open(folder.path(), IndexConfig::default()).unwrap_err();
    assert!(
        error.is_damage() && told(&error).contains(&name(&harmed)),
        "{}",
        told(&error)
    );
}

/// A text at two addresses is indexed once; when that one goes, the other is written in its place, from what is stored.
#[test]
fn a_damaged_page_is_not_put_in_place_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
    let text = prose(1, 4000);
    for address in ["http://a.pt/1", "http://a.pt/2"] {
        let page = document(address, "the same", &text);
        writer.add(&page, &Extras::default()).unwrap();
        writer.commit(1).unwrap();
    }
    writer.close().unwrap();
    for path in files(folder.path(), "store") {
        harm(&path);
    }
    let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
    let went = writer.remove(&url("http://a.pt/1"));
    let error = went.and_then(|()| writer.commit(2)).unwrap_err();
    assert!(error.is_damage(), "{}", told(&error));
}

/// The version that stands behind the content of a file has no check sum: it is held against that of the other files.
#[test]
fn a_changed_version_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
    add(&mut writer, 0).unwrap();
    writer.close().unwrap();
    assert!(verify(folder.path()).unwrap().is_empty());
    for ending in ["store", "term", "fast"] {
        let path = files(folder.path(), ending).pop_first().unwrap();
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        let at = bytes
            .windows(7)
            .rposition(|part| part == b"\"minor\"")
            .unwrap()
            + 8;
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(verify(folder.path()).unwrap(), std::slice::from_ref(&path));
        fs::write(&path, whole).unwrap();
    }
}
