//! Archive files rewritten without a host, with the power cut at every call.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod support;

use std::path::Path;
use std::sync::Arc;

use support::{NAMES, Page, all, at, noise};
use teia_archive::{
    ArchiveConfig, ArchiveError, Captures, Committed, Erased, RevisitOf, RevisitProfile, Writer,
    erase,
};
use teia_base::CaptureId;
use teia_base::files::{PowerCut, SimulatedDisk};

const DIR: &str = "archive";
const PAGES: u64 = 24;

fn config() -> ArchiveConfig {
    ArchiveConfig {
        max_file_bytes: 4000,
        ..ArchiveConfig::default()
    }
}

fn is_erased(url: &str) -> bool {
    url.starts_with("http://gone.example/")
}

/// Every third page goes; each page after such a one stays and has the same payload, in other framing.
fn page(id: u64) -> Page {
    let body = String::from_utf8(noise(id, 700)).unwrap();
    match id % 3 {
        0 => Page::html(id, &format!("http://stays.example/{id}"), &body),
        1 => Page::chunked(id, &format!("http://gone.example/{id}"), &[&body, "end"]),
        _ => {
            let payload = String::from_utf8(noise(id - 1, 700)).unwrap() + "end";
            let mut page = Page::html(id, &format!("http://stays.example/{id}"), &payload);
            page.revisit_of = Some(RevisitOf {
                id: Some(CaptureId(id - 1)),
                url: format!("http://gone.example/{}", id - 1),
                date: at(i64::try_from(id - 1).unwrap()),
                profile: RevisitProfile::IdenticalPayload,
            });
            page
        }
    }
}

/// What a reader must get of a page that stays.
fn payload_of(id: u64) -> Vec<u8> {
    all(page(id).response().body.reader(0, u64::MAX))
}

/// An archive of some files, all of them before the newest, which has nothing in it.
fn archive() -> (Arc<SimulatedDisk>, Committed) {
    let disk = Arc::new(SimulatedDisk::new());
    let mut writer = Writer::open(disk.clone(), Path::new(DIR), config(), NAMES, None).unwrap();
    for id in 1..=PAGES {
        writer.append(&page(id).records(&config()), at(0)).unwrap();
    }
    let journal = writer.sync().unwrap().unwrap();
    writer.upkeep(&journal).run().unwrap();
    writer.begin_anew(at(0)).unwrap();
    let newest = writer.sync().unwrap().unwrap();
    drop(writer);
    // What was written is there, whatever happens next.
    disk.cut_power(0);
    (disk, newest)
}

fn erased(disk: &Arc<SimulatedDisk>, newest: &Committed) -> Result<Erased, ArchiveError> {
    let files: Arc<dyn teia_base::Files> = disk.clone();
    erase(&files, Path::new(DIR), &config(), newest, &is_erased)
}

/// Every page that stays can be read, and nothing is damaged.
fn check_others(disk: &Arc<SimulatedDisk>, when: u64) {
    let captures = Captures::open(disk.clone(), Path::new(DIR)).unwrap();
    for id in (1..=PAGES).filter(|id| id % 3 != 1) {
        let entry = captures.by_id(CaptureId(id)).unwrap();
        let entry = entry.unwrap_or_else(|| panic!("no {id} after call {when}"));
        let stored = captures.read(&entry).unwrap();
        assert_eq!(
            all(stored.payload()),
            payload_of(id),
            "{id} after call {when}"
        );
    }
    assert_eq!(captures.scrub().unwrap().wounds, [], "after call {when}");
}

fn check_erased(disk: &Arc<SimulatedDisk>, when: u64) {
    check_others(disk, when);
    let captures = Captures::open(disk.clone(), Path::new(DIR)).unwrap();
    let left: Vec<_> = captures.all().unwrap().map(Result::unwrap).collect();
    assert!(left.iter().all(|entry| !is_erased(&entry.url)), "{left:?}");
    assert!(left.iter().all(|entry| !entry.is_revisit()), "{left:?}");
    assert_eq!(left.len() as u64, PAGES - PAGES / 3);
}

#[test]
fn what_goes_is_gone_and_what_shared_its_body_has_it() {
    let (disk, newest) = archive();
    check_others(&disk, 0);
    let report = erased(&disk, &newest).unwrap();
    assert!(report.files > 2, "{report:?}");
    assert_eq!(report.restored, PAGES / 3);
    assert!(report.records >= PAGES / 3);
    check_erased(&disk, 0);
    let again = erased(&disk, &newest).unwrap();
    assert_eq!(again, Erased::default());
    // And the writer goes on where the journal says.
    let mut writer =
        Writer::open(disk.clone(), Path::new(DIR), config(), NAMES, Some(newest)).unwrap();
    writer.append(&page(27).records(&config()), at(0)).unwrap();
    writer.sync().unwrap();
}

#[test]
fn a_power_cut_at_any_call_loses_nothing_that_stays_and_is_ended_by_doing_it_again() {
    for after_calls in 0.. {
        let (disk, newest) = archive();
        disk.plan(PowerCut { after_calls });
        let ended = erased(&disk, &newest);
        disk.cut_power(after_calls + 1);
        check_others(&disk, after_calls);
        erased(&disk, &newest).unwrap();
        check_erased(&disk, after_calls);
        if ended.is_ok() {
            assert!(after_calls > 10);
            return;
        }
        assert!(after_calls < 5000);
    }
}
