//! Sealed indexes looked at again, and those that are damaged written anew from the records.
//!
//! ```text
//! start of a run ──> those that `teia verify` found damaged, and a part of the others ──> as written?
//!                                                                                           │ no
//!                    X.cdxj + X.ids, in the place of the damaged ones <── records of X <────┘
//! ```
//!
//! Which part is drawn anew at each start: nothing has to be remembered, and where the indexes of an archive are
//! smaller than the part, all of them are read each time.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use teia_base::Files;
use xxhash_rust::xxh3::xxh3_64;

use crate::index::{
    ArchiveName, Health, IndexName, Merge, OpenLines, SortedIndex, health, ids_path, number_again,
    write_sorted,
};
use crate::upkeep::Upkeep;
use crate::{ArchiveError, CdxEntry};

/// Bytes of indexes that are read at a start: some hundred thousand captures, and a second of a slow disk.
const MOST_BYTES: u64 = 128 << 20;

/// Looks at sealed indexes, and mends them.
#[derive(Debug)]
pub struct Mending {
    upkeep: Upkeep,
    most_bytes: u64,
    most_index_bytes: u64,
}

/// The list of indexes that are known to be damaged, in the archive's directory: names, a line each.
fn suspects_path(dir: &Path) -> PathBuf {
    dir.join("suspect")
}

/// The next start writes these indexes anew, though their sums may fit.
pub(crate) fn note_suspects(
    files: &dyn Files,
    dir: &Path,
    indexes: &[&str],
) -> Result<(), ArchiveError> {
    if indexes.is_empty() {
        return Ok(());
    }
    let path = suspects_path(dir);
    let noted = files.read(&path).unwrap_or_default();
    let noted = String::from_utf8_lossy(&noted);
    let all: BTreeSet<&str> = noted.lines().chain(indexes.iter().copied()).collect();
    let lines = all.into_iter().collect::<Vec<_>>().join("\n");
    files
        .replace(&path, lines.as_bytes())
        .map_err(ArchiveError::file("write", &path))
}

impl Mending {
    pub(crate) fn new(upkeep: Upkeep) -> Self {
        Self {
            upkeep,
            most_bytes: MOST_BYTES,
            most_index_bytes: MOST_BYTES,
        }
    }

    /// Reads other than the usual number of bytes.
    #[must_use]
    pub fn with_most_bytes(mut self, most_bytes: u64) -> Self {
        self.most_bytes = most_bytes;
        self
    }

    /// Does it. `draw` says which part is read; `tell` hears of each damaged file before it is written anew. A crash leaves
    /// each index as it was or as it is to be, and so does an end: then what is left is for the next start.
    pub fn run(
        self,
        draw: u64,
        is_over: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(&Path),
    ) -> Result<(), ArchiveError> {
        let Upkeep {
            files, dir, lock, ..
        } = &self.upkeep;
        let _one_at_a_time = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let list = files.list(dir).map_err(ArchiveError::file("list", dir))?;
        let indexes: Vec<IndexName> = list
            .iter()
            .filter_map(|name| IndexName::parse(name))
            .collect();
        let suspects = files.read(&suspects_path(dir)).unwrap_or_default();
        let suspects = String::from_utf8_lossy(&suspects).into_owned();
        let suspects: HashSet<&str> = suspects.lines().collect();
        for index in &indexes {
            let path = dir.join(index.file());
            if suspects.contains(index.file().as_str()) {
                // Whoever read the records knows more than the sums say.
                tell(&path);
                if !self.write_anew(index, &list, is_over)? {
                    return Ok(());
                }
            }
        }
        for index in self.drawn(&indexes, draw)? {
            let path = dir.join(index.file());
            if suspects.contains(index.file().as_str()) {
                continue;
            }
            if is_over() {
                break;
            }
            match health(&**files, &path)? {
                Health::Whole => {}
                Health::OnlyLines => number_again(&**files, &path)?,
                Health::Damaged => {
                    tell(&path);
                    self.write_anew(index, &list, is_over)?;
                }
            }
        }
        let noted = suspects_path(dir);
        if files.exists(&noted) {
            files
                .remove(&noted)
                .map_err(ArchiveError::file("remove", &noted))?;
        }
        Ok(())
    }

    /// All indexes, or those from one that is drawn on, until there are enough. One that alone is more than that is left to
    /// `teia verify`: a start is to end.
    fn drawn<'a>(
        &self,
        indexes: &'a [IndexName],
        draw: u64,
    ) -> Result<Vec<&'a IndexName>, ArchiveError> {
        let mut sized = Vec::with_capacity(indexes.len());
        for index in indexes {
            let path = self.upkeep.dir.join(index.file());
            let file = self.upkeep.files.open(&path);
            let len = file.and_then(|file| file.len());
            sized.push((index, len.map_err(ArchiveError::file("open", &path))?));
        }
        sized.retain(|(_, len)| *len <= self.most_index_bytes);
        let all: u64 = sized.iter().map(|(_, len)| len).sum();
        if all > self.most_bytes {
            let mut from = xxh3_64(&draw.to_le_bytes()) % all;
            let first = sized.iter().position(|(_, len)| {
                let is_here = from < *len;
                from = from.saturating_sub(*len);
                is_here
            });
            sized.rotate_left(first.unwrap_or(0));
        }
        let mut read = 0;
        let wanted = sized.into_iter().take_while(|(_, len)| {
            let is_wanted = read < self.most_bytes;
            read += len;
            is_wanted
        });
        Ok(wanted.map(|(index, _)| index).collect())
    }

    /// Writes an index anew from the records of the archive files that it covers; false where the end came before.
    fn write_anew(
        &self,
        index: &IndexName,
        list: &[String],
        is_over: &dyn Fn() -> bool,
    ) -> Result<bool, ArchiveError> {
        let Upkeep { files, dir, .. } = &self.upkeep;
        let path = dir.join(index.file());
        let names = list.iter().filter_map(|name| ArchiveName::parse(name));
        let covered: Vec<ArchiveName> = names.filter(|name| index.covers(&name.index())).collect();
        let present: Vec<u64> = covered.iter().map(|name| name.number).collect();
        let old = SortedIndex::open(&**files, &path)?;
        let told = Told::of(&old, index.first..=index.last, &present)?;
        // Under the names that they have by themselves: readers pass over what a merged one covers.
        let mut parts = Vec::new();
        for name in &covered {
            if is_over() {
                // Parts are passed over beside the index that covers them.
                return Ok(false);
            }
            let part = dir.join(name.index().file());
            let archive = dir.join(name.file());
            let file = files.open(&archive).and_then(|file| file.len());
            let len = file.map_err(ArchiveError::file("open", &archive))?;
            let mut lines = OpenLines::load(&**files, dir, name, len)?;
            lines.rewrite(|line| told.corrected(line));
            lines.sort();
            let mut sorted = lines.lines();
            let mut next = || Ok(sorted.next().map(<[u8]>::to_vec));
            write_sorted(&**files, &part, &mut next)?;
            parts.push(part);
        }
        if parts == [path.clone()] {
            return Ok(true);
        }
        let mut sources = Vec::with_capacity(parts.len());
        for part in &parts {
            sources.push(SortedIndex::open(&**files, part)?.lines_from(b"")?);
        }
        let mut merge = Merge::with_memory(sources, &told.elsewhere)?;
        write_sorted(&**files, &path, &mut || merge.next_line())?;
        for part in &parts {
            files
                .remove(part)
                .map_err(ArchiveError::file("remove", part))?;
            // Numbers without their index mean nothing, so it does not matter if this is left behind.
            let _left_behind = files.remove(&ids_path(part));
        }
        Ok(true)
    }
}

/// What only the damaged index says, as far as it can be read.
struct Told {
    /// Captures that are not to be shown, or of attempts that failed: older records do not say so.
    flags: HashMap<(String, u64), (bool, bool)>,
    /// Lines of archive files that are not there, in order: they may come back.
    elsewhere: Vec<Vec<u8>>,
}

impl Told {
    fn of(
        index: &SortedIndex,
        covered: RangeInclusive<u64>,
        present: &[u64],
    ) -> Result<Self, ArchiveError> {
        let mut told = Self {
            flags: HashMap::new(),
            elsewhere: Vec::new(),
        };
        let mut lines = index.lines_from(b"")?;
        loop {
            let line = match lines.next_raw() {
                Ok(Some((_, line))) => line,
                Ok(None) | Err(ArchiveError::Damaged { .. }) => break,
                Err(error) => return Err(error),
            };
            let entry = std::str::from_utf8(&line).ok().and_then(CdxEntry::parse);
            let Some(entry) = entry.filter(|_| line.ends_with(b"\n")) else {
                continue;
            };
            // A name that is damaged has the number of one that is there, or of none that the index covers.
            let number = ArchiveName::parse(&entry.file).map(|name| name.number);
            if number.is_some_and(|it| covered.contains(&it) && !present.contains(&it)) {
                told.elsewhere.push(line);
            } else if entry.noarchive || entry.failed {
                let flags = (entry.noarchive, entry.failed);
                told.flags.insert((entry.file, entry.offset), flags);
            }
        }
        told.elsewhere.sort_unstable();
        Ok(told)
    }

    /// The line with what its record does not say; none where it is right.
    fn corrected(&self, line: &[u8]) -> Option<String> {
        if self.flags.is_empty() {
            return None;
        }
        let mut entry = CdxEntry::parse(std::str::from_utf8(line).ok()?)?;
        let place = (entry.file.clone(), entry.offset);
        let (noarchive, failed) = self.flags.get(&place)?;
        entry.noarchive |= noarchive;
        entry.failed |= failed;
        Some(entry.to_line())
    }
}
