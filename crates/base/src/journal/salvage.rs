//! What can still be read of a journal of which a part is damaged or gone.
//!
//! A frame has a mark, its length, and a checksum that begins with its place: after damage the next
//! whole frame is found by looking for its mark, and noise is not taken for one.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::pack::{self, block_at, pack_name};
use super::segment::{self, frame_payload};
use super::{Entry, JournalError, SEGMENT_HEADER, all_segments, history_of, segment_name};
use crate::Files;

/// Entries that cannot be read any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Their numbers.
    pub entries: RangeInclusive<u64>,
    /// The file in which the next one that can be read lies.
    pub before: PathBuf,
}

/// Shows `each` every entry that can be read, in order, and returns those that cannot. What may have
/// been written after the last one that can never happened, as after every crash, unless its writer says that it did.
pub fn salvage<E: From<JournalError>>(
    files: &dyn Files,
    directory: &Path,
    mut each: impl FnMut(Entry) -> Result<(), E>,
) -> Result<Vec<Lost>, E> {
    let found = all_segments(files, directory).map_err(|source| JournalError::Read {
        path: directory.to_owned(),
        source,
    })?;
    let mut lost = Vec::new();
    let mut expected = 1;
    for (at, &first) in found.iter().enumerate() {
        let next = found.get(at + 1).copied().unwrap_or(u64::MAX);
        let (path, payloads) = payloads(files, directory, first)?;
        for payload in payloads {
            let Ok(entry) = postcard::from_bytes::<Entry>(&payload) else {
                continue;
            };
            // An entry of another file that was put here says so itself.
            if entry.sequence < expected.max(first) || entry.sequence >= next {
                continue;
            }
            if entry.sequence > expected {
                lost.push(Lost {
                    entries: expected..=entry.sequence - 1,
                    before: path.clone(),
                });
            }
            expected = entry.sequence + 1;
            each(entry)?;
        }
    }
    if let Some(&last) = found.last() {
        let path = directory.join(segment_name(last));
        let bytes = read(files, &path)?.unwrap_or_default();
        if segment::lacks_its_end(&bytes) {
            // One at least; how many, nobody can say.
            lost.push(Lost {
                entries: expected..=expected,
                before: path,
            });
        }
    }
    Ok(lost)
}

/// Everything whole in one file of the journal. A segment that is packed as well is read where more of
/// it is whole.
fn payloads(
    files: &dyn Files,
    directory: &Path,
    first: u64,
) -> Result<(PathBuf, Vec<Vec<u8>>), JournalError> {
    let plain = directory.join(segment_name(first));
    let packed = history_of(directory).join(pack_name(first));
    let from_plain = match read(files, &plain)? {
        Some(bytes) => whole(&bytes, SEGMENT_HEADER.len(), segment::MARK, |bytes, at| {
            let (begin, end) = frame_payload(bytes, at)?;
            Some((vec![bytes[begin..end].to_vec()], end))
        }),
        None => Vec::new(),
    };
    let from_pack = match read(files, &packed)? {
        Some(bytes) => whole(&bytes, pack::PACK_HEADER.len(), pack::MARK, block_at),
        None => Vec::new(),
    };
    Ok(if from_pack.len() > from_plain.len() {
        (packed, from_pack)
    } else {
        (plain, from_plain)
    })
}

fn read(files: &dyn Files, path: &Path) -> Result<Option<Vec<u8>>, JournalError> {
    if !files.exists(path) {
        return Ok(None);
    }
    let bytes = files.read(path).map_err(|source| JournalError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(Some(bytes))
}

/// The payloads of all whole frames: one after another, and after damage from the next mark on.
fn whole(
    bytes: &[u8],
    header: usize,
    mark: &[u8],
    frame: impl Fn(&[u8], usize) -> Option<(Vec<Vec<u8>>, usize)>,
) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut at = header;
    while at < bytes.len() {
        if let Some((mut payloads, end)) = frame(bytes, at) {
            found.append(&mut payloads);
            at = end;
            continue;
        }
        let Some(next) = memmem::find(&bytes[at + 1..], mark) else {
            break;
        };
        at += 1 + next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::{Record, encode_frame, pack_segment};
    use super::*;
    use crate::{SimulatedDisk, Timestamp};

    const SEGMENTS: [(u64, u64); 3] = [(1, 4), (5, 9), (10, 12)];

    fn journal(packed: &[u64]) -> SimulatedDisk {
        let disk = SimulatedDisk::new();
        for (first, last) in SEGMENTS {
            let mut bytes = SEGMENT_HEADER.to_vec();
            for sequence in first..=last {
                let entry = Entry {
                    sequence,
                    wall: Timestamp::from_micros(7),
                    run: 1,
                    record: Record::Paused,
                };
                let offset = bytes.len() as u64;
                encode_frame(&entry, offset, &mut bytes).unwrap();
            }
            put(&disk, Path::new(&segment_name(first)), &bytes);
        }
        for first in packed {
            assert!(pack_segment(&disk, Path::new(""), *first, &|| false).unwrap());
        }
        disk
    }

    fn put(disk: &SimulatedDisk, path: &Path, bytes: &[u8]) {
        let mut file = disk.create(path).unwrap();
        file.append(bytes).unwrap();
    }

    fn read_all(disk: &SimulatedDisk) -> (Vec<u64>, Vec<Lost>) {
        let mut got = Vec::new();
        let lost = salvage::<JournalError>(disk, Path::new(""), |entry| {
            got.push(entry.sequence);
            Ok(())
        });
        (got, lost.unwrap())
    }

    #[test]
    fn whatever_is_whole_is_read_and_the_rest_is_named() {
        for packed in [vec![], vec![1, 5]] {
            let disk = journal(&packed);
            assert_eq!(read_all(&disk), ((1..=12).collect(), vec![]));
            let path = if packed.is_empty() {
                PathBuf::from(segment_name(5))
            } else {
                history_of(Path::new("")).join(pack_name(5))
            };
            let good = disk.read(&path).unwrap();
            for at in 0..good.len() {
                let mut bad = good.clone();
                bad[at] ^= 0x41;
                put(&disk, &path, &bad);
                let (got, lost) = read_all(&disk);
                assert!(got.is_sorted() && got.len() >= 7, "byte {at}: {got:?}");
                let missing: Vec<u64> = lost.iter().flat_map(|it| it.entries.clone()).collect();
                let all: Vec<u64> = (1..=12).filter(|it| !got.contains(it)).collect();
                assert_eq!(missing, all, "byte {at}");
                // Of plain frames one is lost; a block of a pack is one frame.
                assert!(!packed.is_empty() || missing.len() <= 1, "byte {at}");
            }
            disk.remove(&path).unwrap();
            let (got, lost) = read_all(&disk);
            assert_eq!(got, [1, 2, 3, 4, 10, 11, 12]);
            assert_eq!(lost.len(), 1);
            assert_eq!(lost[0].entries, 5..=9);
        }
    }

    #[test]
    fn a_file_in_the_place_of_another_is_not_taken_for_it() {
        let disk = journal(&[]);
        let other = disk.read(Path::new(&segment_name(10))).unwrap();
        put(&disk, Path::new(&segment_name(5)), &other);
        let (got, lost) = read_all(&disk);
        assert_eq!(got, [1, 2, 3, 4, 10, 11, 12]);
        assert_eq!(lost[0].entries, 5..=9);
    }

    #[test]
    fn a_last_entry_that_its_writer_speaks_of_is_missed() {
        let disk = journal(&[]);
        let path = PathBuf::from(segment_name(10));
        let good = disk.read(&path).unwrap();
        let mut closed = good.clone();
        closed.extend_from_slice(&segment::closing(good.len() as u64));
        put(&disk, &path, &closed);
        assert_eq!(read_all(&disk), ((1..=12).collect(), vec![]));
        closed[good.len() - 1] ^= 1;
        put(&disk, &path, &closed);
        let (got, lost) = read_all(&disk);
        assert_eq!((got.len(), lost.len()), (11, 1));
        assert_eq!(lost[0].entries, 12..=12);
    }
}
