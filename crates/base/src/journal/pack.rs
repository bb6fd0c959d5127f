//! Sealed segments, packed: everything that they said, in a fraction of the bytes.
//!
//! ```text
//! journal/FIRST.log ──> blocks of entries, each packed by itself ──> history/FIRST.pack ──> FIRST.log removed
//! ```
//!
//! A pack is `TEIAPCK1`, then blocks: `TEIB`, length (u32) and checksum (u64) of what follows, then
//! entries (u32), their unpacked length (u32), and zstd of their payloads, each after its length
//! (u32). The checksum has the block's offset as seed. A pack is written aside, synced and renamed
//! before its segment goes, so that each entry always lies in one of the two, or in both.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::segment::{Frames, MAX_ENTRY_BYTES};
use super::{JournalError, segment_name, segments};
use crate::{AppendFile, Files, ReadFile};

pub(super) const PACK_HEADER: &[u8; 8] = b"TEIAPCK1";
pub(super) const MARK: &[u8; 4] = b"TEIB";
const BLOCK_HEAD: usize = 24;
/// Unpacked bytes after which a block is closed: pages of one site stand beside each other in it, and
/// a reader holds no more.
const BLOCK_BYTES: usize = 4 << 20;
const LEVEL: i32 = 3;

/// The file name of the pack whose first entry has this number.
pub(super) fn pack_name(first_sequence: u64) -> String {
    format!("{first_sequence:020}.pack")
}

/// Where the packed segments of the journal in `directory` lie.
pub fn history_of(directory: &Path) -> PathBuf {
    directory.with_file_name("history")
}

/// Numbers of the first entries of all segments of a journal, packed or not, in order.
pub fn all_segments(files: &dyn Files, directory: &Path) -> io::Result<Vec<u64>> {
    // First those that go, then those that come: what is packed in between is in one of the two.
    let mut found = segments(files, directory)?;
    let names = files.list(&history_of(directory))?;
    let first = |name: &String| name.strip_suffix(".pack")?.parse::<u64>().ok();
    found.extend(names.iter().filter_map(first));
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Packs a sealed segment and removes it; false if it was told to stop before that.
pub fn pack_segment(
    files: &dyn Files,
    directory: &Path,
    first: u64,
    is_over: &dyn Fn() -> bool,
) -> Result<bool, JournalError> {
    let history = history_of(directory);
    let segment = directory.join(segment_name(first));
    let place = history.join(pack_name(first));
    let aside = history.join(format!("{}.new", pack_name(first)));
    let write = |source| JournalError::Pack {
        path: segment.clone(),
        source,
    };
    files.create_dir(&history).map_err(write)?;
    // A pack of an earlier try may be of another past, and must stay; or its name never reached the disk, because syncing failed then:
    // a later sync would not bring it there. So whatever is there is written anew, and only that sync counts.
    if files.exists(&place) && !says_the_same(files, (directory, first), &place)? {
        return Err(write(io::Error::other(format!(
            "{} is there already, and says something else; move one of the two away",
            place.display()
        ))));
    }
    let written = write_pack(files, (directory, first), &aside, is_over).and_then(|it| {
        // It will be the only copy.
        if it && !says_the_same(files, (directory, first), &aside)? {
            return Err(write(io::Error::other(
                "it was not written as it should be",
            )));
        }
        Ok(it)
    });
    if !matches!(written, Ok(true)) {
        // Whether it can be removed or not, it does not count.
        let _ = files.remove(&aside);
        return written;
    }
    files.rename(&aside, &place).map_err(write)?;
    files.sync_dir(&history).map_err(write)?;
    files.remove(&segment).map_err(write)?;
    files.sync_dir(directory).map_err(write)?;
    Ok(true)
}

fn write_pack(
    files: &dyn Files,
    (directory, first): (&Path, u64),
    aside: &Path,
    is_over: &dyn Fn() -> bool,
) -> Result<bool, JournalError> {
    let write = |source| JournalError::Pack {
        path: directory.join(segment_name(first)),
        source,
    };
    let mut frames = Frames::open(files, directory, first)?;
    let mut file = files.create(aside).map_err(write)?;
    file.append(PACK_HEADER).map_err(write)?;
    let mut block = Block::default();
    while let Some(payload) = frames.next(0)? {
        if block.raw.len() + payload.len() > BLOCK_BYTES && block.entries > 0 {
            block.write(&mut *file).map_err(write)?;
            if is_over() {
                return Ok(false);
            }
        }
        block.push(payload);
    }
    block.write(&mut *file).map_err(write)?;
    file.sync().map_err(write)?;
    Ok(true)
}

/// Whether a pack holds what a segment does.
fn says_the_same(
    files: &dyn Files,
    (directory, first): (&Path, u64),
    pack: &Path,
) -> Result<bool, JournalError> {
    let mut frames = Frames::open(files, directory, first)?;
    let Some(mut pack) = Pack::open_at(files, pack.to_owned(), first)? else {
        return Ok(false);
    };
    loop {
        match (frames.next(0)?, pack.next(0)?) {
            (None, None) => return Ok(true),
            (here, there) if here == there => {}
            _ => return Ok(false),
        }
    }
}

/// Entries on their way into a pack.
#[derive(Default)]
struct Block {
    entries: u32,
    raw: Vec<u8>,
}

impl Block {
    fn push(&mut self, payload: &[u8]) {
        let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        self.raw.extend_from_slice(&len.to_le_bytes());
        self.raw.extend_from_slice(payload);
        self.entries += 1;
    }

    fn write(&mut self, file: &mut dyn AppendFile) -> io::Result<()> {
        if self.entries == 0 {
            return Ok(());
        }
        let raw_len = u32::try_from(self.raw.len()).map_err(io::Error::other)?;
        let mut body = Vec::with_capacity(8 + self.raw.len() / 4);
        body.extend_from_slice(&self.entries.to_le_bytes());
        body.extend_from_slice(&raw_len.to_le_bytes());
        zstd::stream::copy_encode(&*self.raw, &mut body, LEVEL)?;
        let len = u32::try_from(body.len()).map_err(io::Error::other)?;
        let mut frame = MARK.to_vec();
        frame.extend_from_slice(&len.to_le_bytes());
        frame.extend_from_slice(&xxh3_64_with_seed(&body, file.len()).to_le_bytes());
        frame.append(&mut body);
        self.raw.clear();
        self.entries = 0;
        file.append(&frame)
    }
}

/// What the first bytes of a block say.
struct BlockHead {
    /// Of what comes after length and checksum.
    body_bytes: usize,
    checksum: u64,
    entries: u32,
    raw_bytes: usize,
}

impl BlockHead {
    /// Nothing where no block begins so.
    fn read(head: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let it = Self {
            body_bytes: usize::try_from(number(4)?).ok()?,
            checksum: u64::from_le_bytes(head.get(8..16)?.try_into().ok()?),
            entries: number(16)?,
            raw_bytes: usize::try_from(number(20)?).ok()?,
        };
        let is_sane = head.starts_with(MARK)
            && it.body_bytes > 8
            && it.entries > 0
            && it.raw_bytes <= MAX_ENTRY_BYTES.max(BLOCK_BYTES) + 4;
        is_sane.then_some(it)
    }

    fn frame_bytes(&self) -> u64 {
        16 + self.body_bytes as u64
    }

    /// The payloads, each after its length.
    fn unpack(&self, body: &[u8], offset: u64) -> Option<Vec<u8>> {
        if xxh3_64_with_seed(body, offset) != self.checksum {
            return None;
        }
        let raw = zstd::bulk::decompress(body.get(8..)?, self.raw_bytes).ok()?;
        (raw.len() == self.raw_bytes).then_some(raw)
    }
}

fn entry_at(raw: &[u8], at: usize) -> Option<Range<usize>> {
    let begin = at + 4;
    let len = u32::from_le_bytes(raw.get(at..begin)?.try_into().ok()?);
    let end = begin.checked_add(usize::try_from(len).ok()?)?;
    (end <= raw.len()).then_some(begin..end)
}

/// The payloads of the whole block that begins at this byte of a pack, and where the next begins.
pub(super) fn block_at(pack: &[u8], offset: usize) -> Option<(Vec<Vec<u8>>, usize)> {
    let head = BlockHead::read(pack.get(offset..offset + BLOCK_HEAD)?)?;
    let end = offset.checked_add(usize::try_from(head.frame_bytes()).ok()?)?;
    let raw = head.unpack(pack.get(offset + 16..end)?, offset as u64)?;
    let mut payloads = Vec::new();
    let mut at = 0;
    while let Some(range) = entry_at(&raw, at) {
        at = range.end;
        payloads.push(raw[range].to_vec());
    }
    (payloads.len() == head.entries as usize).then_some((payloads, end))
}

/// The entries of one pack, one after another.
#[derive(Debug)]
pub(super) struct Pack {
    path: PathBuf,
    file: Box<dyn ReadFile>,
    offset: u64,
    /// The number of the next entry.
    sequence: u64,
    /// The block that is open, what of it is still to be read, and how many entries that is.
    raw: Vec<u8>,
    at: usize,
    left: u32,
}

impl Pack {
    /// `Ok(None)` where there is no such pack.
    pub(super) fn open(
        files: &dyn Files,
        directory: &Path,
        first: u64,
    ) -> Result<Option<Self>, JournalError> {
        Self::open_at(files, history_of(directory).join(pack_name(first)), first)
    }

    fn open_at(files: &dyn Files, path: PathBuf, first: u64) -> Result<Option<Self>, JournalError> {
        let file = match files.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(JournalError::Read { path, source }),
        };
        let mut header = [0; PACK_HEADER.len()];
        match file.read_exact_at(0, &mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(JournalError::Damaged { path, offset: 0 });
            }
            Err(source) => return Err(JournalError::Read { path, source }),
            Ok(()) if &header != PACK_HEADER => return Err(JournalError::Foreign { path }),
            Ok(()) => {}
        }
        Ok(Some(Self {
            path,
            file,
            offset: PACK_HEADER.len() as u64,
            sequence: first,
            raw: Vec::new(),
            at: 0,
            left: 0,
        }))
    }

    /// Which file, where in it, and the number of the entry that comes next.
    pub(super) fn place(&self) -> (&Path, u64, u64) {
        (&self.path, self.offset, self.sequence)
    }

    /// The payload of the next entry that is not before `from`.
    pub(super) fn next(&mut self, from: u64) -> Result<Option<&[u8]>, JournalError> {
        let range = loop {
            if self.left == 0 {
                if self.offset >= self.file.len().map_err(|source| self.read(source))? {
                    return Ok(None);
                }
                self.open_block(from)?;
                continue;
            }
            let range = entry_at(&self.raw, self.at).ok_or_else(|| self.damaged())?;
            self.at = range.end;
            self.left -= 1;
            self.sequence += 1;
            if self.sequence > from {
                break range;
            }
        };
        Ok(Some(&self.raw[range]))
    }

    /// Opens the next block, or passes over it where all of it is before `from`.
    fn open_block(&mut self, from: u64) -> Result<(), JournalError> {
        let mut head = [0; BLOCK_HEAD];
        let read = self.file.read_exact_at(self.offset, &mut head);
        read.map_err(|error| self.damaged_or_unread(error))?;
        let file_bytes = self.file.len().map_err(|source| self.read(source))?;
        let head = BlockHead::read(&head)
            .filter(|head| self.offset + head.frame_bytes() <= file_bytes)
            .ok_or_else(|| self.damaged())?;
        let end = self.offset + head.frame_bytes();
        if self.sequence + u64::from(head.entries) <= from {
            self.sequence += u64::from(head.entries);
            self.offset = end;
            return Ok(());
        }
        let mut body = vec![0; head.body_bytes];
        let read = self.file.read_exact_at(self.offset + 16, &mut body);
        read.map_err(|error| self.damaged_or_unread(error))?;
        let raw = head.unpack(&body, self.offset);
        self.raw = raw.ok_or_else(|| self.damaged())?;
        (self.at, self.left, self.offset) = (0, head.entries, end);
        Ok(())
    }

    fn damaged_or_unread(&self, error: io::Error) -> JournalError {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return self.damaged();
        }
        self.read(error)
    }

    fn damaged(&self) -> JournalError {
        JournalError::Damaged {
            path: self.path.clone(),
            offset: self.offset,
        }
    }

    fn read(&self, source: io::Error) -> JournalError {
        JournalError::Read {
            path: self.path.clone(),
            source,
        }
    }
}
