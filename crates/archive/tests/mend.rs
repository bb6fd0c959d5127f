//! Sealed indexes that are damaged are written anew from the records, and an archive whose end is lost goes on.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use support::{NAMES, Page, at, noise};
use teia_archive::{ArchiveConfig, Captures, Committed, Writer};
use teia_base::files::SimulatedDisk;
use teia_base::{CaptureId, Files};

const DIR: &str = "birds/archive";

/// An archive of so many sealed files, its pages, and its end.
fn sealed(files: u64) -> (Arc<SimulatedDisk>, Vec<Page>, Committed) {
    let disk = Arc::new(SimulatedDisk::new());
    let config = config();
    let mut writer =
        Writer::open(disk.clone(), Path::new(DIR), config.clone(), NAMES, None).unwrap();
    let mut pages = Vec::new();
    for file in 0..files {
        writer.begin_anew(at(0)).unwrap();
        for number in 0..4 {
            let id = file * 4 + number;
            let body = String::from_utf8(noise(id, 60)).unwrap();
            let page = Page::html(id, &format!("http://h{}.example/p{id}", id % 5), &body);
            writer.append(&page.records(&config), at(0)).unwrap();
            pages.push(page);
        }
        writer.sync().unwrap();
    }
    let committed = writer.sync().unwrap().unwrap();
    writer.close(Some(&committed)).unwrap();
    (disk, pages, committed)
}

fn config() -> ArchiveConfig {
    ArchiveConfig::default()
}

fn captures(disk: &Arc<SimulatedDisk>) -> Captures {
    Captures::open(disk.clone(), Path::new(DIR)).unwrap()
}

#[track_caller]
fn check(disk: &Arc<SimulatedDisk>, pages: &[Page], what: &str) {
    let captures = captures(disk);
    assert_eq!(captures.all().unwrap().count(), pages.len(), "{what}");
    for page in pages {
        let entry = captures.by_id(CaptureId(page.id)).unwrap();
        let entry = entry.unwrap_or_else(|| panic!("{what}: no capture {}", page.id));
        assert!(
            captures.versions(&page.url).unwrap().contains(&entry),
            "{what}"
        );
        captures.read(&entry).unwrap();
    }
    assert_eq!(captures.scrub().unwrap().wounds, [], "{what}");
}

/// What a run does when it begins; the files that it tells of.
fn begin(
    disk: &Arc<SimulatedDisk>,
    committed: &Committed,
    most_bytes: u64,
    draw: u64,
) -> Vec<PathBuf> {
    let (dir, committed) = (Path::new(DIR), Some(committed.clone()));
    let writer = Writer::open(disk.clone(), dir, config(), NAMES, committed).unwrap();
    let mut told = Vec::new();
    let mending = writer.mending().with_most_bytes(most_bytes);
    mending
        .run(draw, &|| false, &mut |path| told.push(path.to_owned()))
        .unwrap();
    told
}

fn of_indexes(disk: &Arc<SimulatedDisk>) -> Vec<PathBuf> {
    let list = disk.list(Path::new(DIR)).unwrap();
    let is_index = |name: &&String| name.ends_with(".cdxj") || name.ends_with(".ids");
    let names = list.iter().filter(is_index);
    names.map(|name| Path::new(DIR).join(name)).collect()
}

#[test]
fn whatever_is_damaged_of_a_sealed_index_is_as_it_was_after_the_next_start() {
    for files in [2, 16] {
        let (disk, pages, committed) = sealed(files);
        check(&disk, &pages, "before");
        assert!(begin(&disk, &committed, u64::MAX, 0).is_empty());
        for path in of_indexes(&disk) {
            let good = disk.read(&path).unwrap();
            let step = if path.extension().unwrap() == "ids" {
                3
            } else {
                41
            };
            for place in (0..good.len()).step_by(step) {
                let mut bytes = good.clone();
                bytes[place] ^= 1 << (place % 8);
                disk.replace(&path, &bytes).unwrap();
                let what = format!("{} byte {place}", path.display());
                let told = begin(&disk, &committed, u64::MAX, 0);
                let is_index = path.extension().unwrap() == "cdxj";
                assert!(told == [path.clone()] || !is_index, "{what}: {told:?}");
                assert!(disk.read(&path).unwrap() == good, "{what}");
            }
            for len in [0, 16, good.len() / 2, good.len() - 1] {
                disk.replace(&path, &good[..len]).unwrap();
                begin(&disk, &committed, u64::MAX, 0);
                let what = format!("{} cut at {len}", path.display());
                assert!(disk.read(&path).unwrap() == good, "{what}");
            }
        }
        check(&disk, &pages, "after");
    }
}

#[test]
fn of_many_indexes_a_start_reads_a_part_and_in_the_end_all_are_read() {
    let (disk, pages, committed) = sealed(6);
    let whole: Vec<_> = of_indexes(&disk)
        .into_iter()
        .filter(|path| path.extension().unwrap() == "cdxj")
        .map(|path| (disk.read(&path).unwrap(), path))
        .collect();
    for (good, path) in &whole {
        let mut bytes = good.clone();
        bytes[2] ^= 1;
        disk.replace(path, &bytes).unwrap();
    }
    let mut told = Vec::new();
    for draw in 0..200 {
        let now = begin(&disk, &committed, 1, draw);
        assert!(now.len() <= 1, "{now:?}");
        told.extend(now);
    }
    told.sort();
    let paths: Vec<PathBuf> = whole.into_iter().map(|(_, path)| path).collect();
    assert_eq!(told, paths);
    check(&disk, &pages, "after");
}

#[test]
fn what_a_scrub_finds_is_mended_at_the_next_start_whoever_is_in_turn() {
    let (disk, pages, committed) = sealed(6);
    let indexes = of_indexes(&disk);
    let path = indexes
        .iter()
        .find(|path| path.extension().unwrap() == "cdxj");
    let path = path.unwrap();
    let mut bytes = disk.read(path).unwrap();
    bytes[2] ^= 1;
    disk.replace(path, &bytes).unwrap();
    let wounds = captures(&disk).scrub().unwrap().wounds;
    assert!(!wounds.is_empty() && wounds.iter().all(|wound| wound.is_of_index));
    assert_eq!(begin(&disk, &committed, 0, 0), std::slice::from_ref(path));
    check(&disk, &pages, "after");
    assert!(begin(&disk, &committed, 0, 0).is_empty(), "once is enough");
}

#[test]
fn an_index_without_sums_is_read_as_before_and_gets_them() {
    let (disk, pages, committed) = sealed(2);
    let ids: Vec<PathBuf> = of_indexes(&disk)
        .into_iter()
        .filter(|path| path.extension().unwrap() == "ids")
        .collect();
    let good: Vec<Vec<u8>> = ids.iter().map(|path| disk.read(path).unwrap()).collect();
    for (path, good) in ids.iter().zip(&good) {
        let (rest, len) = good.split_at(good.len() - 8);
        let pairs = &rest[..rest.len() - 24];
        disk.replace(path, &[pairs, b"TEIAIDS1", len].concat())
            .unwrap();
    }
    check(&disk, &pages, "without sums");
    assert!(begin(&disk, &committed, u64::MAX, 0).is_empty());
    for (path, good) in ids.iter().zip(&good) {
        assert!(disk.read(path).unwrap() == *good, "{}", path.display());
    }
}

#[test]
fn what_only_the_index_says_of_a_page_stays_when_it_is_written_anew() {
    let (disk, pages, committed) = sealed(2);
    let indexes = of_indexes(&disk);
    let path = indexes
        .iter()
        .find(|path| path.extension().unwrap() == "cdxj");
    let text = String::from_utf8(disk.read(path.unwrap()).unwrap()).unwrap();
    let changed = text.replacen("\"id\": \"2\"}", "\"id\": \"2\", \"robotflags\": \"A\"}", 1);
    assert_ne!(text, changed);
    disk.replace(path.unwrap(), changed.as_bytes()).unwrap();
    assert_eq!(begin(&disk, &committed, u64::MAX, 0).len(), 1);
    let entry = captures(&disk).find(&pages[2].url, None).unwrap().unwrap();
    assert!(entry.noarchive);
    check(&disk, &pages, "found by its number too");
    // Files of before passed over its number, and are no damage.
    let ids = path.unwrap().with_extension("ids");
    let good = disk.read(&ids).unwrap();
    let (pairs, tail) = good.split_at(good.len() - 32);
    let others = pairs.chunks(16).filter(|pair| pair[0] != 2);
    let others: Vec<u8> = others.flatten().copied().collect();
    assert_eq!(others.len() + 16, pairs.len());
    disk.replace(&ids, &[&others, &b"TEIAIDS1"[..], &tail[24..]].concat())
        .unwrap();
    assert_eq!(captures(&disk).scrub().unwrap().wounds, []);
    assert!(begin(&disk, &committed, u64::MAX, 0).is_empty());
    assert!(disk.read(&ids).unwrap() == good);
}

/// Goes on behind what is left; which of the pages are.
#[track_caller]
fn go_on(disk: &Arc<SimulatedDisk>, pages: &[Page], what: &str) -> Vec<u64> {
    let dir = Path::new(DIR);
    let begun = Writer::go_on_without_end(disk.clone(), dir, config(), NAMES, at(9));
    let begun = begun.unwrap().unwrap();
    begin(disk, &begun, u64::MAX, 0);
    let writer = Writer::open(disk.clone(), dir, config(), NAMES, Some(begun));
    let mut writer = writer.unwrap_or_else(|error| panic!("{what}: {error}"));
    let more = Page::html(99, "http://more.example/", "more");
    writer.append(&more.records(&config()), at(9)).unwrap();
    let committed = writer.sync().unwrap().unwrap();
    writer.close(Some(&committed)).unwrap();
    let captures = captures(disk);
    let is_read = |page: &&Page| {
        let entry = captures.find(&page.url, None).unwrap();
        entry.is_some_and(|entry| captures.read(&entry).is_ok())
    };
    let all: Vec<Page> = pages.iter().cloned().chain([more]).collect();
    all.iter().filter(is_read).map(|page| page.id).collect()
}

#[test]
fn an_archive_whose_last_file_is_cut_goes_on_with_every_whole_record() {
    for seals in [true, false] {
        let (disk, pages, committed) = sealed(3);
        let path = Path::new(DIR).join(&committed.file);
        if !seals {
            for index in of_indexes(&disk).iter().rev().take(2) {
                disk.remove(index).unwrap();
            }
        }
        // In the middle of the last page but one.
        let entry = captures(&disk).find(&pages[10].url, None).unwrap().unwrap();
        disk.truncate(&path, entry.offset + entry.length / 2)
            .unwrap();
        let (dir, end) = (Path::new(DIR), Some(committed.clone()));
        assert!(Writer::open(disk.clone(), dir, config(), NAMES, end).is_err());
        let left = go_on(&disk, &pages, "cut");
        assert_eq!(left, (0..10).chain([99]).collect::<Vec<u64>>(), "{seals}");
        assert_eq!(captures(&disk).scrub().unwrap().wounds, []);
    }
}

#[test]
fn an_archive_whose_last_file_is_gone_goes_on_under_another_number() {
    for files in [3, 1] {
        let (disk, pages, committed) = sealed(files);
        disk.remove(&Path::new(DIR).join(&committed.file)).unwrap();
        let left = go_on(&disk, &pages, "gone");
        let want: Vec<u64> = (0..(files - 1) * 4).chain([99]).collect();
        assert_eq!(left, want);
        // Of the others it is still said what was lost.
        assert_eq!(captures(&disk).scrub().unwrap().missing[&committed.file], 4);
    }
}
