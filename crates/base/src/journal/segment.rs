//! The bytes of a journal segment; the layout is described in the module's door.

use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Entry;
use crate::{Files, ReadFile};

/// First bytes of every segment: the format and its version.
pub const SEGMENT_HEADER: &[u8; 8] = b"TEIAJRN1";
/// No entry is larger: a commit window is closed long before.
pub const MAX_ENTRY_BYTES: usize = 1 << 30;

pub(super) const MARK: &[u8; 4] = b"TEIJ";
const FRAME_HEAD: usize = 16;

/// What reading the journal can run into.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The disk.
    #[error("cannot read journal segment {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not begin as a segment does.
    #[error("{path} is not a journal segment of this version")]
    Foreign {
        /// Which.
        path: PathBuf,
    },
    /// A frame is bad although good ones follow: this is damage, not an interrupted write.
    #[error(
        "journal segment {path} is damaged at byte {offset}; restore that file from a copy (the archive is not affected)"
    )]
    Damaged {
        /// Which.
        path: PathBuf,
        /// Where.
        offset: u64,
    },
    /// A file of the journal is gone.
    #[error(
        "entry {expected} of the journal in {path} is in no file there nor in `history` beside it: a file is missing; restore it from a copy"
    )]
    Missing {
        /// Where the journal lies.
        path: PathBuf,
        /// The first entry that is missed.
        expected: u64,
    },
    /// A sealed segment could not be packed; it stays as it is.
    #[error("cannot pack journal segment {path} into the history")]
    Pack {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Entries are missing between two that are there.
    #[error(
        "journal segment {path} holds entry {found} where {expected} should be, at byte {offset}"
    )]
    Gap {
        /// Which.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// The entry that should be there.
        expected: u64,
        /// The entry that is.
        found: u64,
    },
}

/// A segment, read.
#[derive(Debug)]
pub struct Segment {
    /// Its entries.
    pub entries: Vec<Entry>,
    /// Bytes up to the end of the last whole frame; the rest never happened.
    pub whole_bytes: u64,
    /// Bytes in the file.
    pub file_bytes: u64,
}

/// The file name of the segment whose first entry has this number.
pub fn segment_name(first_sequence: u64) -> String {
    format!("{first_sequence:020}.log")
}

/// Numbers of the first entries of all segments in a directory, in order.
pub fn segments(files: &dyn Files, directory: &Path) -> io::Result<Vec<u64>> {
    let names = files.list(directory)?;
    Ok(names
        .iter()
        .filter_map(|name| name.strip_suffix(".log")?.parse().ok())
        .collect())
}

/// The bytes of one entry at this offset of its segment.
pub fn encode_frame(entry: &Entry, offset: u64, out: &mut Vec<u8>) -> Result<(), postcard::Error> {
    let start = out.len();
    out.extend_from_slice(MARK);
    out.extend_from_slice(&[0; 12]);
    let mut taken = std::mem::take(out);
    taken = postcard::to_extend(entry, taken)?;
    let payload = &taken[start + FRAME_HEAD..];
    if payload.len() > MAX_ENTRY_BYTES {
        // What could not be read back must not be written.
        return Err(postcard::Error::SerializeBufferFull);
    }
    let len = u32::try_from(payload.len()).map_err(|_| postcard::Error::SerializeBufferFull)?;
    let checksum = xxh3_64_with_seed(payload, offset);
    taken[start + 4..start + 8].copy_from_slice(&len.to_le_bytes());
    taken[start + 8..start + 16].copy_from_slice(&checksum.to_le_bytes());
    *out = taken;
    Ok(())
}

/// Where a segment ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentEnd {
    /// Its entries.
    pub entries: u64,
    /// Bytes up to the end of the last whole frame; the rest never happened.
    pub whole_bytes: u64,
    /// Bytes in the file.
    pub file_bytes: u64,
}

/// Reads a segment. `is_last`: only the last one may end in a torn frame.
pub fn read_segment(
    files: &dyn Files,
    directory: &Path,
    first: u64,
    is_last: bool,
) -> Result<Segment, JournalError> {
    let mut entries = Vec::new();
    let end = walk_segment(files, directory, first, is_last, |entry| {
        entries.push(entry);
    })?;
    Ok(Segment {
        entries,
        whole_bytes: end.whole_bytes,
        file_bytes: end.file_bytes,
    })
}

/// Reads a segment entry by entry, so that one of them is in memory at a time.
pub fn walk_segment(
    files: &dyn Files,
    directory: &Path,
    first: u64,
    is_last: bool,
    mut each: impl FnMut(Entry),
) -> Result<SegmentEnd, JournalError> {
    let path = directory.join(segment_name(first));
    let read = |source| JournalError::Read {
        path: path.clone(),
        source,
    };
    let file = files.open(&path).map_err(read)?;
    let file_bytes = file.len().map_err(read)?;
    let mut end = SegmentEnd {
        file_bytes,
        ..SegmentEnd::default()
    };
    let mut header = [0; SEGMENT_HEADER.len()];
    let has_header = read_all(&*file, 0, &mut header).map_err(read)?;
    if !has_header || &header != SEGMENT_HEADER {
        // A segment whose header was not synced holds nothing that happened.
        let bytes = files.read(&path).map_err(read)?;
        let never_written = bytes.len() <= SEGMENT_HEADER.len() || bytes.iter().all(|&b| b == 0);
        if is_last && never_written {
            return Ok(end);
        }
        return Err(JournalError::Foreign { path });
    }
    let mut offset = SEGMENT_HEADER.len() as u64;
    let mut payload = Vec::new();
    while offset < file_bytes {
        let frame = read_frame(&*file, offset, file_bytes, &mut payload).map_err(read)?;
        let Some((entry, next)) = frame else {
            if is_closed_at(&*file, offset, file_bytes).map_err(read)? {
                break;
            }
            if is_last {
                let bytes = files.read(&path).map_err(read)?;
                let after = usize::try_from(offset + 1).unwrap_or(usize::MAX);
                if !has_frame_after(&bytes, after) && !is_closed_beyond(&bytes, offset) {
                    break;
                }
            }
            return Err(JournalError::Damaged { path, offset });
        };
        let expected = first + end.entries;
        if entry.sequence != expected {
            return Err(JournalError::Gap {
                path,
                offset,
                expected,
                found: entry.sequence,
            });
        }
        end.entries += 1;
        offset = next;
        each(entry);
    }
    end.whole_bytes = offset;
    Ok(end)
}

/// The payloads of a segment of which every frame is committed, one after another.
#[derive(Debug)]
pub(super) struct Frames {
    path: PathBuf,
    file: Box<dyn ReadFile>,
    offset: u64,
    /// The number of the next entry.
    sequence: u64,
    payload: Vec<u8>,
}

impl Frames {
    pub(super) fn open(
        files: &dyn Files,
        directory: &Path,
        first: u64,
    ) -> Result<Self, JournalError> {
        let path = directory.join(segment_name(first));
        let file = match files.open(&path) {
            Ok(file) => file,
            Err(source) => return Err(JournalError::Read { path, source }),
        };
        let mut header = [0; SEGMENT_HEADER.len()];
        match read_all(&*file, 0, &mut header) {
            Ok(true) if &header == SEGMENT_HEADER => {}
            Ok(_) => return Err(JournalError::Foreign { path }),
            Err(source) => return Err(JournalError::Read { path, source }),
        }
        Ok(Self {
            path,
            file,
            offset: SEGMENT_HEADER.len() as u64,
            sequence: first,
            payload: Vec::new(),
        })
    }

    /// Which file, where in it, and the number of the entry that comes next.
    pub(super) fn place(&self) -> (&Path, u64, u64) {
        (&self.path, self.offset, self.sequence)
    }

    /// The payload of the next entry that is not before `from`.
    pub(super) fn next(&mut self, from: u64) -> Result<Option<&[u8]>, JournalError> {
        loop {
            let len = self.file.len().map_err(|source| self.unread(source))?;
            if self.offset >= len {
                return Ok(None);
            }
            let is_end = is_closed_at(&*self.file, self.offset, len);
            if is_end.map_err(|source| self.unread(source))? {
                return Ok(None);
            }
            let is_wanted = self.sequence >= from;
            let next = self
                .frame(is_wanted, len)
                .map_err(|source| self.unread(source))?
                .ok_or_else(|| JournalError::Damaged {
                    path: self.path.clone(),
                    offset: self.offset,
                })?;
            self.offset = next;
            self.sequence += 1;
            if is_wanted {
                return Ok(Some(&self.payload));
            }
        }
    }

    fn unread(&self, source: io::Error) -> JournalError {
        let path = self.path.clone();
        JournalError::Read { path, source }
    }

    /// Reads the payload where it is wanted; where the next frame begins.
    fn frame(&mut self, is_wanted: bool, file_bytes: u64) -> io::Result<Option<u64>> {
        let Some((start, len, checksum)) = frame_at(&*self.file, self.offset, file_bytes)? else {
            return Ok(None);
        };
        if is_wanted {
            self.payload.resize(len, 0);
            let is_there = read_all(&*self.file, start, &mut self.payload)?;
            if !is_there || xxh3_64_with_seed(&self.payload, self.offset) != checksum {
                return Ok(None);
            }
        }
        Ok(Some(start + len as u64))
    }
}

/// Fills the buffer; false where the file ends before. A disk that cannot be read is no end of anything: what is taken for one is
/// cut off.
fn read_all(file: &dyn ReadFile, offset: u64, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact_at(offset, buffer) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// Where the payload of the frame at this offset begins, its length and its checksum.
fn frame_at(
    file: &dyn ReadFile,
    offset: u64,
    file_bytes: u64,
) -> io::Result<Option<(u64, usize, u64)>> {
    let mut head = [0; FRAME_HEAD];
    if !read_all(file, offset, &mut head)? {
        return Ok(None);
    }
    let start = offset + FRAME_HEAD as u64;
    let found = frame_head(&head).filter(|(len, _)| start + *len as u64 <= file_bytes);
    Ok(found.map(|(len, checksum)| (start, len, checksum)))
}

/// The entry at this offset, and where the next one begins.
fn read_frame(
    file: &dyn ReadFile,
    offset: u64,
    file_bytes: u64,
    payload: &mut Vec<u8>,
) -> io::Result<Option<(Entry, u64)>> {
    let Some((start, len, checksum)) = frame_at(file, offset, file_bytes)? else {
        return Ok(None);
    };
    payload.resize(len, 0);
    let is_there = read_all(file, start, payload)?;
    if !is_there || xxh3_64_with_seed(payload, offset) != checksum {
        return Ok(None);
    }
    let entry = postcard::from_bytes(payload).ok();
    Ok(entry.map(|entry| (entry, start + len as u64)))
}

/// Where the payload of the whole frame at this byte begins and ends.
pub(super) fn frame_payload(bytes: &[u8], offset: usize) -> Option<(usize, usize)> {
    let (len, checksum) = frame_head(bytes.get(offset..offset + FRAME_HEAD)?)?;
    let start = offset + FRAME_HEAD;
    let payload = bytes.get(start..start.checked_add(len)?)?;
    (xxh3_64_with_seed(payload, offset as u64) == checksum).then_some((start, start + len))
}

/// Length and checksum of the payload, as the head of its frame says.
fn frame_head(head: &[u8]) -> Option<(usize, u64)> {
    if &head[..4] != MARK {
        return None;
    }
    let len = u32::from_le_bytes(head[4..8].try_into().expect("four bytes")) as usize;
    let checksum = u64::from_le_bytes(head[8..16].try_into().expect("eight bytes"));
    (len <= MAX_ENTRY_BYTES).then_some((len, checksum))
}

/// First bytes of what a writer leaves at the end when it goes: how long the segment is. It is cut off with the next
/// start, like all that is no frame.
const CLOSED: &[u8; 4] = b"TEIE";
const CLOSING: usize = 20;

/// What a writer leaves at the end of a segment of so many bytes, when nothing is to follow: without it a last frame that was
/// damaged later could not be told from one that was never written to its end.
pub fn closing(whole_bytes: u64) -> [u8; CLOSING] {
    let mut closing = [0; CLOSING];
    closing[..4].copy_from_slice(CLOSED);
    closing[4..12].copy_from_slice(&whole_bytes.to_le_bytes());
    let sum = xxh3_64_with_seed(&closing[..12], whole_bytes);
    closing[12..].copy_from_slice(&sum.to_le_bytes());
    closing
}

/// Whether the frames of a segment end here, as its writer said. Another segment may follow all the same: that this was to be cut
/// off before may have been lost with the power.
fn is_closed_at(file: &dyn ReadFile, offset: u64, file_bytes: u64) -> io::Result<bool> {
    let mut end = [0; CLOSING];
    Ok(file_bytes.checked_sub(offset) == Some(CLOSING as u64)
        && read_all(file, offset, &mut end)?
        && end == closing(offset))
}

/// Whether a writer said at the end of a segment that its frames go on beyond this byte.
fn is_closed_beyond(bytes: &[u8], offset: u64) -> bool {
    let Some(whole) = bytes.len().checked_sub(CLOSING) else {
        return false;
    };
    let whole_bytes = whole as u64;
    whole_bytes > offset && bytes[whole..] == closing(whole_bytes)
}

/// Whether a writer said where the frames of a segment end, and none does there.
pub(super) fn lacks_its_end(bytes: &[u8]) -> bool {
    let Some(whole) = bytes.len().checked_sub(CLOSING) else {
        return false;
    };
    if bytes[whole..] != closing(whole as u64) || whole <= SEGMENT_HEADER.len() {
        return false;
    }
    let mut marks = memchr::memmem::rfind_iter(&bytes[..whole], MARK);
    !marks.any(|at| frame_payload(bytes, at).is_some_and(|(_, end)| end == whole))
}

fn has_frame_after(bytes: &[u8], from: usize) -> bool {
    (from..bytes.len())
        .any(|offset| bytes[offset..].starts_with(MARK) && frame_payload(bytes, offset).is_some())
}

#[cfg(test)]
mod tests {
    use super::super::{Commit, Record};
    use super::*;
    use crate::{SimulatedDisk, Timestamp};

    fn entry(sequence: u64) -> Entry {
        Entry {
            sequence,
            wall: Timestamp::from_micros(7),
            run: 1,
            record: Record::Commit(Commit::default()),
        }
    }

    fn written(count: u64) -> (SimulatedDisk, Vec<u8>) {
        let disk = SimulatedDisk::new();
        let mut bytes = SEGMENT_HEADER.to_vec();
        for sequence in 1..=count {
            let offset = bytes.len() as u64;
            encode_frame(&entry(sequence), offset, &mut bytes).unwrap();
        }
        (disk, bytes)
    }

    fn put(disk: &SimulatedDisk, bytes: &[u8]) {
        let mut file = disk.create(Path::new(&segment_name(1))).unwrap();
        file.append(bytes).unwrap();
    }

    #[test]
    fn damage_at_the_end_of_a_closed_segment_is_no_torn_end() {
        let (disk, whole) = written(3);
        let mut bytes = whole.clone();
        bytes.extend_from_slice(&closing(whole.len() as u64));
        put(&disk, &bytes);
        let segment = read_segment(&disk, Path::new(""), 1, true).unwrap();
        assert_eq!(
            (segment.entries.len(), segment.whole_bytes),
            (3, whole.len() as u64)
        );
        // Another one may follow: that it was to be cut off may have been lost with the power.
        let segment = read_segment(&disk, Path::new(""), 1, false).unwrap();
        assert_eq!(segment.entries.len(), 3);
        let mut caught = 0;
        for at in SEGMENT_HEADER.len()..bytes.len() {
            let mut hurt = bytes.clone();
            hurt[at] ^= 0x10;
            put(&disk, &hurt);
            let read = read_segment(&disk, Path::new(""), 1, true);
            if at < whole.len() {
                assert!(
                    matches!(read, Err(JournalError::Damaged { .. })),
                    "byte {at}"
                );
                caught += 1;
            } else {
                // Only what says so is hurt: all that happened is there.
                assert_eq!(read.unwrap().entries.len(), 3, "byte {at}");
            }
        }
        assert_eq!(caught, whole.len() - SEGMENT_HEADER.len());
    }

    #[test]
    fn a_torn_end_is_cut_and_damage_is_named() {
        let (disk, bytes) = written(5);
        for cut in SEGMENT_HEADER.len()..bytes.len() {
            put(&disk, &bytes[..cut]);
            let segment = read_segment(&disk, Path::new(""), 1, true).unwrap();
            assert!(segment.whole_bytes <= cut as u64);
            assert!(segment.entries.len() < 5);
        }
        for at in SEGMENT_HEADER.len()..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            put(&disk, &flipped);
            match read_segment(&disk, Path::new(""), 1, true) {
                // In the last frame it cannot be told from a torn write.
                Ok(segment) => assert_eq!(segment.entries.len(), 4),
                Err(JournalError::Damaged { offset, .. }) => assert!(offset <= at as u64),
                Err(other) => panic!("{other}"),
            }
            assert!(read_segment(&disk, Path::new(""), 1, false).is_err());
        }
    }
}
