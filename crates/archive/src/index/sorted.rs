//! A sorted index: found by binary search, in place.
//!
//! Layout of `X.cdxj`: CDXJ lines, sorted by their bytes. Layout of `X.ids`: for each capture of
//! ours 16 bytes, little-endian: its number, and where its line begins in `X.cdxj`; sorted by
//! number; then 32 bytes: xxh3 of `X.cdxj`, xxh3 of what stands before in this file, `TEIAIDS2` and the
//! length of `X.cdxj`. (Up to Teia 0.1 there were no sums, and the mark was `TEIAIDS1`.) The second
//! follows from the first: where it is missing or does not fit, numbers are found by reading all lines.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_base::{CaptureId, Files, ReadFile};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::ids_path;
use crate::reader::Input;
use crate::{ArchiveError, CdxEntry};

const IDS_MAGIC: &[u8; 8] = b"TEIAIDS2";
/// Without sums.
const OLD_IDS_MAGIC: &[u8; 8] = b"TEIAIDS1";
/// A URL may be as long as settings let it be, and a media type as a head.
const MAX_LINE_BYTES: usize = 4 << 20;

/// Writes a sorted index and its numbers aside, syncs them and gives them their names.
///
/// `lines` come sorted, each with its line end. The directory is synced last.
pub(crate) fn write_sorted(
    files: &dyn Files,
    path: &Path,
    lines: &mut dyn FnMut() -> Result<Option<Vec<u8>>, ArchiveError>,
) -> Result<(), ArchiveError> {
    let aside = path.with_extension("cdxj.new");
    let mut numbers = Numbers::default();
    let mut file = files
        .create(&aside)
        .map_err(ArchiveError::file("make", &aside))?;
    let mut buffer = Vec::with_capacity(256 << 10);
    while let Some(line) = lines()? {
        numbers.take(&line);
        buffer.extend_from_slice(&line);
        if buffer.len() >= 192 << 10 {
            file.append(&buffer)
                .map_err(ArchiveError::file("write", &aside))?;
            buffer.clear();
        }
    }
    file.append(&buffer)
        .map_err(ArchiveError::file("write", &aside))?;
    file.sync().map_err(ArchiveError::file("sync", &aside))?;
    drop(file);
    let ids_aside = write_numbers(files, path, numbers)?;
    files
        .rename(&ids_aside, &ids_path(path))
        .map_err(ArchiveError::file("name", path))?;
    files
        .rename(&aside, path)
        .map_err(ArchiveError::file("name", path))?;
    let dir = path.parent().unwrap_or(Path::new(""));
    files.sync_dir(dir).map_err(ArchiveError::file("sync", dir))
}

/// Writes the numbers of an index aside; where.
fn write_numbers(
    files: &dyn Files,
    path: &Path,
    numbers: Numbers,
) -> Result<PathBuf, ArchiveError> {
    let aside = path.with_extension("ids.new");
    let mut file = files
        .create(&aside)
        .map_err(ArchiveError::file("make", &aside))?;
    file.append(&numbers.packed())
        .map_err(ArchiveError::file("write", &aside))?;
    file.sync().map_err(ArchiveError::file("sync", &aside))?;
    Ok(aside)
}

/// What `X.ids` says of a `X.cdxj`, whose lines are taken one after the other.
#[derive(Default)]
pub(crate) struct Numbers {
    ids: Vec<Numbered>,
    len: u64,
    sum: Xxh3,
}

impl Numbers {
    pub(crate) fn take(&mut self, line: &[u8]) {
        self.ids.extend(id_of(line).map(|id| Numbered {
            id: id.0,
            at: self.len,
            is_flagged: line.ends_with(FLAGGED),
        }));
        self.len += line.len() as u64;
        self.sum.update(line);
    }

    /// The content of the file.
    pub(crate) fn packed(self) -> Vec<u8> {
        let sum = self.sum.digest();
        let mut packed = self.pairs(|_| true);
        let own = xxh3_64(&packed);
        packed.extend_from_slice(&sum.to_le_bytes());
        packed.extend_from_slice(&own.to_le_bytes());
        packed.extend_from_slice(IDS_MAGIC);
        packed.extend_from_slice(&self.len.to_le_bytes());
        packed
    }

    /// The same as a file without sums had it.
    pub(crate) fn packed_as(self, found: &[u8]) -> Vec<u8> {
        if magic_of(found) != Some(OLD_IDS_MAGIC) {
            return self.packed();
        }
        let mut packed = self.pairs(|numbered| !numbered.is_flagged);
        packed.extend_from_slice(OLD_IDS_MAGIC);
        packed.extend_from_slice(&self.len.to_le_bytes());
        packed
    }

    fn pairs(&self, has: impl Fn(&Numbered) -> bool) -> Vec<u8> {
        let mut ids: Vec<_> = self.ids.iter().filter(|it| has(it)).collect();
        ids.sort_unstable();
        let mut packed = Vec::with_capacity(ids.len() * 16 + 32);
        for numbered in ids {
            packed.extend_from_slice(&numbered.id.to_le_bytes());
            packed.extend_from_slice(&numbered.at.to_le_bytes());
        }
        packed
    }
}

/// One capture of ours and the place of its line.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Numbered {
    id: u64,
    at: u64,
    /// Files without sums passed over these.
    is_flagged: bool,
}

/// How a line ends whose author wants no copy shown.
const FLAGGED: &[u8] = b", \"robotflags\": \"A\"}\n";

/// The `id` at the end of one of our lines, without reading the rest of it.
fn id_of(line: &[u8]) -> Option<CaptureId> {
    let line = line
        .strip_suffix(FLAGGED)
        .or_else(|| line.strip_suffix(b"}\n"))?
        .strip_suffix(b"\"")?;
    let start = line.iter().rposition(|byte| !byte.is_ascii_digit())? + 1;
    let digits = std::str::from_utf8(&line[start..]).ok()?;
    line[..start]
        .ends_with(b", \"id\": \"")
        .then(|| digits.parse().ok().map(CaptureId))?
}

/// How a sorted index and its numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Whole,
    /// The lines are as they were written, or nobody can tell; the numbers are damaged, missing or without sums.
    OnlyLines,
    Damaged,
}

/// Reads a sorted index to its end.
pub(crate) fn health(files: &dyn Files, path: &Path) -> Result<Health, ArchiveError> {
    let mut numbers = Numbers::default();
    let mut lines = SortedIndex::open(files, path)?.lines_from(b"")?;
    let mut before = Vec::new();
    let mut is_in_order = true;
    loop {
        match lines.next_raw() {
            Ok(Some((_, line))) => {
                let entry = std::str::from_utf8(&line).ok().and_then(CdxEntry::parse);
                is_in_order &= entry.is_some() && line.ends_with(b"\n") && before <= line;
                numbers.take(&line);
                before = line;
            }
            Ok(None) => break,
            Err(ArchiveError::Damaged { .. }) => return Ok(Health::Damaged),
            Err(error) => return Err(error),
        }
    }
    if !is_in_order {
        return Ok(Health::Damaged);
    }
    let found = match files.read(&ids_path(path)) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Health::OnlyLines),
        Err(error) => return Err(ArchiveError::read(ids_path(path), 0)(error)),
    };
    let is_old = magic_of(&found) == Some(OLD_IDS_MAGIC);
    let sum = numbers.sum.digest();
    let want = numbers.packed_as(&found);
    Ok(if found == want {
        match is_old {
            true => Health::OnlyLines,
            false => Health::Whole,
        }
    } else if !is_old && found.len() >= 32 && le(&found[found.len() - 32..][..8]) == sum {
        Health::OnlyLines
    } else {
        Health::Damaged
    })
}

/// Writes the numbers of an index anew, out of its lines.
pub(crate) fn number_again(files: &dyn Files, path: &Path) -> Result<(), ArchiveError> {
    let mut numbers = Numbers::default();
    let mut lines = SortedIndex::open(files, path)?.lines_from(b"")?;
    while let Some((_, line)) = lines.next_raw()? {
        numbers.take(&line);
    }
    let aside = write_numbers(files, path, numbers)?;
    files
        .rename(&aside, &ids_path(path))
        .map_err(ArchiveError::file("name", path))?;
    let dir = path.parent().unwrap_or(Path::new(""));
    files.sync_dir(dir).map_err(ArchiveError::file("sync", dir))
}

/// A sorted index, open for search.
#[derive(Clone, Debug)]
pub(crate) struct SortedIndex {
    pub(crate) path: PathBuf,
    file: Arc<dyn ReadFile>,
    len: u64,
    ids: Option<Arc<dyn ReadFile>>,
    ids_count: u64,
}

impl SortedIndex {
    pub(crate) fn open(files: &dyn Files, path: &Path) -> Result<Self, ArchiveError> {
        let file: Arc<dyn ReadFile> =
            Arc::from(files.open(path).map_err(ArchiveError::file("open", path))?);
        let len = file.len().map_err(ArchiveError::read(path, 0))?;
        let mut index = Self {
            path: path.to_owned(),
            file,
            len,
            ids: None,
            ids_count: 0,
        };
        if let Ok(ids) = files.open(&ids_path(path)) {
            let ids_len = ids.len().map_err(ArchiveError::read(path, 0))?;
            let mut tail = [0; 16];
            let is_read = ids_len >= 16
                && ids_len % 16 == 0
                && ids.read_exact_at(ids_len - 16, &mut tail).is_ok();
            let behind = match magic_of(&tail) {
                Some(IDS_MAGIC) => 2,
                Some(OLD_IDS_MAGIC) => 1,
                _ => 0,
            };
            if is_read && behind > 0 && ids_len / 16 >= behind && tail[8..] == len.to_le_bytes() {
                index.ids = Some(Arc::from(ids));
                index.ids_count = ids_len / 16 - behind;
            }
        }
        Ok(index)
    }

    /// All lines from the first that is not less than `from` on.
    pub(crate) fn lines_from(&self, from: &[u8]) -> Result<Lines, ArchiveError> {
        // Invariant: the line that begins at or after `low` may be the one; all before `low` are less.
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut lines = self.lines_at(middle);
            if middle > 0 {
                // The line that `middle` lies in begins before it.
                lines = self.lines_at(middle - 1);
                lines.next_raw()?;
            }
            match lines.next_raw()? {
                Some((start, line)) if start < high && line.as_slice() < from => {
                    low = start + line.len() as u64;
                }
                _ => high = middle,
            }
        }
        Ok(self.lines_at(low))
    }

    /// The entry of a capture.
    pub(crate) fn by_id(&self, id: CaptureId) -> Result<Option<CdxEntry>, ArchiveError> {
        let Some(ids) = &self.ids else {
            return self.by_id_slowly(id);
        };
        let (mut low, mut high) = (0, self.ids_count);
        let mut pair = [0; 16];
        while low < high {
            let middle = low + (high - low) / 2;
            ids.read_exact_at(middle * 16, &mut pair)
                .map_err(ArchiveError::read(ids_path(&self.path), middle * 16))?;
            let (found, at) = pair.split_at(8);
            match le(found).cmp(&id.0) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let at = le(at);
                    let entry = if at < self.len {
                        self.lines_at(at).next_entry()?
                    } else {
                        None
                    };
                    return match entry {
                        Some(entry) if entry.id == Some(id) => Ok(Some(entry)),
                        _ => self.by_id_slowly(id),
                    };
                }
            }
        }
        Ok(None)
    }

    fn by_id_slowly(&self, id: CaptureId) -> Result<Option<CdxEntry>, ArchiveError> {
        let mut lines = self.lines_at(0);
        while let Some((_, line)) = lines.next_raw()? {
            if id_of(&line) == Some(id) {
                return Ok(std::str::from_utf8(&line).ok().and_then(CdxEntry::parse));
            }
        }
        Ok(None)
    }

    fn lines_at(&self, offset: u64) -> Lines {
        Lines {
            path: self.path.clone(),
            input: Input::new(self.file.clone(), offset, self.len),
        }
    }
}

/// How the last sixteen bytes begin.
fn magic_of(ids: &[u8]) -> Option<&[u8; 8]> {
    ids.last_chunk::<16>()?.first_chunk()
}

fn le(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// Lines of a sorted index, one after the other.
#[derive(Debug)]
pub(crate) struct Lines {
    path: PathBuf,
    input: Input,
}

impl Lines {
    /// The next line with its place; the last one may lack its line end.
    pub(crate) fn next_raw(&mut self) -> Result<Option<(u64, Vec<u8>)>, ArchiveError> {
        let start = self.input.position();
        let mut line = Vec::with_capacity(256);
        self.input
            .by_ref()
            .take(MAX_LINE_BYTES as u64)
            .read_until(b'\n', &mut line)
            .map_err(ArchiveError::read(&self.path, start))?;
        if line.len() == MAX_LINE_BYTES {
            return Err(self.damaged(start, "a line without end"));
        }
        Ok((!line.is_empty()).then_some((start, line)))
    }

    /// The next line as an entry.
    pub(crate) fn next_entry(&mut self) -> Result<Option<CdxEntry>, ArchiveError> {
        let Some((start, line)) = self.next_raw()? else {
            return Ok(None);
        };
        let entry = std::str::from_utf8(&line).ok().and_then(CdxEntry::parse);
        entry
            .map(Some)
            .ok_or_else(|| self.damaged(start, "no index line"))
    }

    fn damaged(&self, offset: u64, what: &str) -> ArchiveError {
        ArchiveError::Damaged {
            file: self.path.clone(),
            offset,
            what: what.to_owned(),
        }
    }
}
