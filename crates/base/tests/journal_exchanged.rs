//! Files of the journal, each whole, in each other's place: what they say is never taken for what stood there.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_base::journal::{
    Entry, EntryStream, JournalError, Record, RunEnded, SEGMENT_HEADER, all_segments, encode_frame,
    history_of, pack_segment, segment_name, walk,
};
use teia_base::{AppendFile, Files, SimulatedDisk, Timestamp};

/// Entries of the same length: their frames stand at the same places in every file.
fn segment(first: u64) -> Vec<u8> {
    let mut bytes = SEGMENT_HEADER.to_vec();
    for sequence in first..first + 10 {
        let offset = bytes.len() as u64;
        let reason = format!("{sequence:03}");
        let entry = Entry {
            sequence,
            wall: Timestamp::default(),
            run: 1,
            record: Record::RunEnded(RunEnded { reason }),
        };
        encode_frame(&entry, offset, &mut bytes).unwrap();
    }
    bytes
}

fn put(disk: &SimulatedDisk, path: &Path, bytes: &[u8]) {
    disk.create_dir(path.parent().unwrap()).unwrap();
    let mut file: Box<dyn AppendFile> = disk.create(path).unwrap();
    file.append(bytes).unwrap();
}

#[test]
fn segments_and_packs_that_were_exchanged_are_named() {
    let folder = Path::new("part-0/journal");
    for packs in 0..=3 {
        let disk = SimulatedDisk::new();
        let firsts = [1, 11, 21, 31];
        for first in firsts {
            put(&disk, &folder.join(segment_name(first)), &segment(first));
        }
        for first in &firsts[..packs] {
            assert!(pack_segment(&disk, folder, *first, &|| false).unwrap());
        }
        let files: Arc<dyn Files> = Arc::new(disk.clone());
        let mut read = 0;
        walk(&files, folder, 1, |_| read += 1).unwrap();
        assert_eq!(
            (read, all_segments(&disk, folder).unwrap()),
            (40, firsts.to_vec())
        );
        let path = |at: usize| -> PathBuf {
            let name = segment_name(firsts[at]);
            if at < packs {
                history_of(folder).join(name.replace(".log", ".pack"))
            } else {
                folder.join(name)
            }
        };
        // Files of one kind; the last one may have a torn end, and is exchanged, too.
        let pairs = [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)];
        for (one, other) in pairs.map(|(one, other)| (path(one), path(other))) {
            if one.extension() != other.extension() {
                continue;
            }
            let (first, second) = (disk.read(&one).unwrap(), disk.read(&other).unwrap());
            put(&disk, &one, &second);
            put(&disk, &other, &first);
            let error = walk(&files, folder, 1, drop).unwrap_err();
            assert!(
                matches!(error, JournalError::Gap { .. }),
                "{packs}: {error}"
            );
            assert!(
                error.to_string().contains(&*one.to_string_lossy()),
                "{error}"
            );
            let mut stream = EntryStream::open(Arc::clone(&files), folder, 1, 30).unwrap();
            let taken = stream.by_ref().take_while(Result::is_ok).count();
            assert!(taken < 30 && taken % 10 == 0, "{taken}");
            put(&disk, &one, &first);
            put(&disk, &other, &second);
        }
    }
}
