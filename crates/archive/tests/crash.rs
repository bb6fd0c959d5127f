//! Power cuts at any call, files clipped at any byte, bits flipped anywhere.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod support;

use std::path::Path;
use std::sync::Arc;

use support::{NAMES, Page, all, at, noise};
use teia_archive::{ArchiveConfig, ArchiveError, Captures, Committed, Writer};
use teia_base::files::{PowerCut, SimulatedDisk};
use teia_base::{CaptureId, Files};

const DIR: &str = "archive";

fn page(id: u64) -> Page {
    let size = usize::try_from(id * 131 % 1700).unwrap();
    let body = String::from_utf8(noise(id, size)).unwrap();
    let url = format!("http://h{}.example/{}", id % 5, id % 13);
    if id.is_multiple_of(3) {
        Page::chunked(id, &url, &[&body, "end"])
    } else {
        Page::html(id, &url, &body)
    }
}

/// Everything committed is there, whole; nothing else is.
fn check(disk: &Arc<SimulatedDisk>, committed: &[u64], seed: u64) {
    let captures = Captures::open(disk.clone(), Path::new(DIR)).unwrap();
    let mut found: Vec<u64> = captures
        .all()
        .unwrap()
        .map(|entry| entry.unwrap().id.unwrap().0)
        .collect();
    found.sort_unstable();
    assert_eq!(found, committed, "seed {seed}");
    for id in committed {
        let entry = captures.by_id(CaptureId(*id)).unwrap().unwrap();
        let stored = captures.read(&entry).unwrap();
        assert_eq!(
            all(stored.raw()),
            all(page(*id).response().body.reader(0, u64::MAX)),
            "seed {seed} capture {id}"
        );
    }
    assert_eq!(captures.scrub().unwrap().wounds, [], "seed {seed}");
}

/// One life of a process: appends, commits, keeps up, until the power goes or it has done enough.
fn live(
    disk: &Arc<SimulatedDisk>,
    config: &ArchiveConfig,
    journal: &mut Option<Committed>,
    committed: &mut Vec<u64>,
    next_id: &mut u64,
    windows: u64,
) -> Result<(), ArchiveError> {
    let mut writer = Writer::open(
        disk.clone(),
        Path::new(DIR),
        config.clone(),
        NAMES,
        journal.clone(),
    )?;
    for window in 0..windows {
        let mut pending = Vec::new();
        for _ in 0..3 {
            writer.append(&page(*next_id).records(config), at(0))?;
            pending.push(*next_id);
            *next_id += 1;
        }
        // The journal of this test never fails: what it names has happened.
        *journal = writer.sync()?;
        committed.append(&mut pending);
        if window % 2 == 1 {
            writer.upkeep(journal.as_ref().unwrap()).run()?;
        }
    }
    writer.close(journal.as_ref())
}

#[test]
fn what_is_committed_survives_every_power_cut_and_nothing_else_does() {
    for seed in 0..300_u64 {
        let disk = Arc::new(SimulatedDisk::new());
        let config = ArchiveConfig {
            max_file_bytes: 2000 + seed % 3 * 2000,
            ..ArchiveConfig::default()
        };
        let (mut journal, mut committed, mut next_id) = (None, Vec::new(), 1);
        for life in 0..5_u64 {
            disk.plan(PowerCut {
                after_calls: (seed * 7 + life * 31) % 120,
            });
            let result = live(
                &disk,
                &config,
                &mut journal,
                &mut committed,
                &mut next_id,
                4 + life,
            );
            disk.cut_power(seed * 10 + life);
            if result.is_ok() {
                continue;
            }
            // The next start cuts what was not committed; it may itself be cut short.
            disk.plan(PowerCut {
                after_calls: seed % 5,
            });
            let _cut_short = Writer::open(
                disk.clone(),
                Path::new(DIR),
                config.clone(),
                NAMES,
                journal.clone(),
            );
            disk.cut_power(seed * 10 + life + 5);
            let opened = Writer::open(
                disk.clone(),
                Path::new(DIR),
                config.clone(),
                NAMES,
                journal.clone(),
            );
            drop(opened.unwrap_or_else(|error| panic!("seed {seed} life {life}: {error}")));
            check(&disk, &committed, seed);
        }
        // And it goes on as if nothing had happened.
        live(
            &disk,
            &config,
            &mut journal,
            &mut committed,
            &mut next_id,
            3,
        )
        .unwrap();
        check(&disk, &committed, seed);
    }
}

#[test]
fn a_file_clipped_at_any_byte_of_its_last_record_is_cut_cleanly() {
    let config = ArchiveConfig::default();
    let disk = Arc::new(SimulatedDisk::new());
    let mut writer =
        Writer::open(disk.clone(), Path::new(DIR), config.clone(), NAMES, None).unwrap();
    writer.append(&page(1).records(&config), at(0)).unwrap();
    let committed = writer.sync().unwrap().unwrap();
    writer.append(&page(2).records(&config), at(0)).unwrap();
    let whole = writer.sync().unwrap().unwrap();
    drop(writer);
    let path = Path::new(DIR).join(&whole.file);
    let bytes = disk.read(&path).unwrap();
    for len in committed.len..=whole.len {
        let disk = Arc::new(SimulatedDisk::new());
        disk.create_dir(Path::new(DIR)).unwrap();
        let mut file = disk.create(&path).unwrap();
        file.append(&bytes[..usize::try_from(len).unwrap()])
            .unwrap();
        // A reader beside a dead writer sees the whole records.
        let captures = Captures::open(disk.clone(), Path::new(DIR)).unwrap();
        assert!(captures.by_id(CaptureId(1)).unwrap().is_some(), "{len}");
        Writer::open(
            disk.clone(),
            Path::new(DIR),
            config.clone(),
            NAMES,
            Some(committed.clone()),
        )
        .unwrap();
        check(&disk, &[1], len);
        if len < whole.len {
            let mut file = disk.create(&path).unwrap();
            file.append(&bytes[..usize::try_from(len).unwrap()])
                .unwrap();
            let error = Writer::open(
                disk.clone(),
                Path::new(DIR),
                config.clone(),
                NAMES,
                Some(whole.clone()),
            )
            .unwrap_err();
            assert!(
                matches!(error, ArchiveError::Missing { found, .. } if found == len),
                "{error}"
            );
        }
    }
}

#[test]
fn any_flipped_bit_is_found_and_costs_one_record() {
    let config = ArchiveConfig::default();
    let disk = Arc::new(SimulatedDisk::new());
    let mut writer =
        Writer::open(disk.clone(), Path::new(DIR), config.clone(), NAMES, None).unwrap();
    for id in 1..=4 {
        writer.append(&page(id).records(&config), at(0)).unwrap();
    }
    let committed = writer.sync().unwrap().unwrap();
    writer.close(Some(&committed)).unwrap();
    let path = Path::new(DIR).join(&committed.file);
    let bytes = disk.read(&path).unwrap();
    for at in 0..bytes.len() {
        // Bytes of a gzip header that carry nothing (time, system, level) may change unnoticed;
        // they are not part of any record.
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let mut file = disk.create(&path).unwrap();
        file.append(&damaged).unwrap();
        let captures = Captures::open(disk.clone(), Path::new(DIR)).unwrap();
        let unreadable = (1..=4)
            .filter(|id| {
                let entry = captures.by_id(CaptureId(*id)).unwrap().unwrap();
                match captures.read(&entry) {
                    Ok(stored) => {
                        assert_eq!(
                            all(stored.raw()),
                            all(page(*id).response().body.reader(0, u64::MAX))
                        );
                        false
                    }
                    Err(ArchiveError::Damaged { file, offset, .. }) => {
                        assert_eq!((&*file, offset), (&*path, entry.offset));
                        true
                    }
                    Err(error) => panic!("{error}"),
                }
            })
            .count();
        assert!(unreadable <= 1, "byte {at}");
        let wounds = captures.scrub().unwrap().wounds;
        assert!(
            unreadable <= wounds.len() && wounds.len() <= 2,
            "byte {at}: {wounds:?}"
        );
        if unreadable == 1 {
            assert!(
                wounds.iter().any(|wound| wound.url.is_some()),
                "byte {at}: {wounds:?}"
            );
        }
    }
}

#[test]
fn a_damaged_index_line_is_named() {
    let config = ArchiveConfig::default();
    let disk = Arc::new(SimulatedDisk::new());
    let mut writer =
        Writer::open(disk.clone(), Path::new(DIR), config.clone(), NAMES, None).unwrap();
    for id in 1..=9 {
        writer.append(&page(id).records(&config), at(0)).unwrap();
    }
    let committed = writer.sync().unwrap().unwrap();
    writer.close(Some(&committed)).unwrap();
    let path = Path::new(DIR).join(committed.file.replace(".warc.gz", ".cdxj"));
    let bytes = disk.read(&path).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        let mut file = disk.create(&path).unwrap();
        file.append(&damaged).unwrap();
        let captures = Captures::open(disk.clone(), Path::new(DIR)).unwrap();
        for id in 1..=9 {
            // Found, not found, or an error; never another capture, never a panic.
            if let Ok(Some(entry)) = captures.by_id(CaptureId(id))
                && let Ok(stored) = captures.read(&entry)
                && stored.header.get("Teia-Capture") == Some(&id.to_string())
            {
                assert_eq!(
                    all(stored.raw()),
                    all(page(id).response().body.reader(0, u64::MAX))
                );
            }
            let _any_answer = captures.versions(&page(id).url);
        }
    }
}
