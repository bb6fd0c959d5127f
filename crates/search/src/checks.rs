//! Check sums of files whose content is about to be copied.
//!
//! The library of the index writes a check sum at the end of each file, and looks at none of them. What it copies from a damaged
//! file into another one would get a good check sum there, and nobody could tell any more. So whatever is copied is
//! looked at first: segments where they are merged, the lists of removed documents when the index is opened for
//! writing (a commit writes them anew), and stored pages where one is put at another place.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::error::DataCorruption;
use tantivy::index::SegmentId;
use tantivy::indexer::{LogMergePolicy, MergeCandidate, MergePolicy};
use tantivy::{Directory, HasLen, Index, SegmentMeta, SegmentReader};

use crate::error::SearchError;
use crate::guard::guarded;

/// The files of a segment that are written once.
pub(crate) const WRITTEN_ONCE: [&str; 6] = ["idx", "pos", "term", "store", "fast", "fieldnorm"];

/// What is known of the files of one index while it is open for writing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Files with stored pages that were looked at.
    good: HashSet<PathBuf>,
    damaged: Option<PathBuf>,
    /// Segments that were to be merged, and those that are there all the same.
    suggested: HashSet<SegmentId>,
    failed: Vec<SegmentId>,
}

/// Merges as the library does by itself, but never the same segment twice: where a merge failed, which the library tells nobody,
/// its segments are looked at first. And never more of them than there is memory for.
#[derive(Debug)]
pub(crate) struct Careful {
    pub(crate) usual: LogMergePolicy,
    pub(crate) checks: Checks,
    pub(crate) index: Index,
    /// Memory for one merge.
    pub(crate) most_bytes: u64,
}

/// While segments are merged, the library holds what it knows of each word until the last one is written: less than the
/// words take on disk, in a list that doubles as it grows. Of a document it holds new numbers and columns.
const BYTES_OF_WORD_BYTE: u64 = 2;
const BYTES_OF_DOCUMENT: u64 = 64;

impl Careful {
    /// The smallest of these segments, as many as there is memory for.
    fn that_fit(&self, candidate: &MergeCandidate, segments: &[SegmentMeta]) -> MergeCandidate {
        let mut sized: Vec<(u64, SegmentId)> = segments
            .iter()
            .filter(|segment| candidate.0.contains(&segment.id()))
            .map(|segment| (self.price(segment), segment.id()))
            .collect();
        sized.sort_unstable();
        let mut sum = 0_u64;
        let fitting = sized.into_iter().take_while(|(price, _)| {
            sum = sum.saturating_add(*price);
            sum <= self.most_bytes
        });
        MergeCandidate(fitting.map(|(_, id)| id).collect())
    }

    /// What merging this segment takes.
    fn price(&self, segment: &SegmentMeta) -> u64 {
        let file = segment.relative_path(tantivy::index::SegmentComponent::Terms);
        // One that cannot be read counts for nothing here: the merge itself fails, and says why.
        let words = self.index.directory().open_read(&file);
        let words = words.map_or(0, |file| file.len() as u64);
        let documents = u64::from(segment.max_doc());
        words
            .saturating_mul(BYTES_OF_WORD_BYTE)
            .saturating_add(documents.saturating_mul(BYTES_OF_DOCUMENT))
    }
}

impl MergePolicy for Careful {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut candidates = self.usual.compute_merge_candidates(segments);
        for candidate in &mut candidates {
            let wanted = candidate.0.len();
            let fitting = self.that_fit(candidate, segments);
            // One by itself is written anew for what was removed of it; one that is left of several would be for nothing.
            let is_of_use = wanted == 1 || fitting.0.len() > 1;
            *candidate = if is_of_use {
                fitting
            } else {
                MergeCandidate(Vec::new())
            };
        }
        candidates.retain(|MergeCandidate(segments)| !segments.is_empty());
        let mut known = self.checks.known();
        candidates.retain(|MergeCandidate(segments)| {
            let is_again = |segment: &&SegmentId| known.suggested.contains(segment);
            let again: Vec<SegmentId> = segments.iter().filter(is_again).copied().collect();
            known.failed.extend(&again);
            if again.is_empty() {
                known.suggested.extend(segments);
            }
            again.is_empty()
        });
        candidates
    }
}

impl Checks {
    /// Looks at segments that were merged just now: the merge fails where one is damaged. This is on a thread of the library, which
    /// tells nobody, so [`Checks::told`] does.
    pub(crate) fn merged(&self, segments: &[SegmentReader]) -> Result<(), SearchError> {
        for segment in segments {
            for extension in WRITTEN_ONCE {
                self.look(segment.index(), &file_of(segment, extension))?;
            }
        }
        Ok(())
    }

    /// Looks at which documents were removed.
    pub(crate) fn removed(&self, index: &Index) -> Result<(), SearchError> {
        for segment in index.searchable_segment_metas()? {
            if segment.has_deletes() {
                let file = segment.relative_path(tantivy::index::SegmentComponent::Delete);
                self.look(index, &file)?;
            }
        }
        Ok(())
    }

    /// Looks at the stored pages of a segment, once.
    pub(crate) fn pages(&self, segment: &SegmentReader) -> Result<(), SearchError> {
        let file = file_of(segment, "store");
        if !self.known().good.contains(&file) {
            self.look(segment.index(), &file)?;
            self.known().good.insert(file);
        }
        Ok(())
    }

    /// An error where a file was found damaged, or is among those whose merge failed.
    pub(crate) fn told(&self, index: &Index) -> Result<(), SearchError> {
        let failed = std::mem::take(&mut self.known().failed);
        for segment in &failed {
            for extension in WRITTEN_ONCE {
                let file = PathBuf::from(format!("{}.{extension}", segment.uuid_string()));
                // All of its documents may have been removed meanwhile, and it with them.
                if index.directory().exists(&file).unwrap_or(true) {
                    self.look(index, &file)?;
                }
            }
        }
        let mut known = self.known();
        // Something else was in the way, such as a full disk: once more.
        for segment in &failed {
            known.suggested.remove(segment);
        }
        known.damaged.as_deref().map_or(Ok(()), damaged)
    }

    /// The same when no merge is under way any more: segments that were to be merged and are still there could not be.
    pub(crate) fn told_at_the_end(&self, index: &Index) -> Result<(), SearchError> {
        let left = index.searchable_segment_metas()?;
        let mut known = self.known();
        let left = left.iter().map(SegmentMeta::id);
        let failed: Vec<SegmentId> = left.filter(|id| known.suggested.contains(id)).collect();
        known.failed.extend(failed);
        drop(known);
        self.told(index)
    }

    /// As if these had been given to a merge that came to nothing.
    #[cfg(test)]
    pub(crate) fn merge_failed(&self, segments: &[SegmentId]) {
        self.known().suggested.extend(segments);
    }

    /// The same of a file that a merge may take away meanwhile.
    pub(crate) fn look_if_there(&self, index: &Index, file: &Path) -> Result<(), SearchError> {
        match guarded(|| is_good(index, file)) {
            Ok(true) => return Ok(()),
            Err(error) if !error.is_damage() => return Err(error),
            _ => {}
        }
        let of = file.file_stem().and_then(|stem| stem.to_str());
        let left = index.searchable_segment_ids()?;
        if !left.iter().any(|id| Some(id.uuid_string().as_str()) == of) {
            return Ok(());
        }
        self.tell(file)
    }

    /// From now on every commit fails, and says that this file is damaged.
    pub(crate) fn tell(&self, file: &Path) -> Result<(), SearchError> {
        self.known().damaged = Some(file.to_owned());
        damaged(file)
    }

    fn look(&self, index: &Index, file: &Path) -> Result<(), SearchError> {
        if is_good(index, file)? {
            return Ok(());
        }
        self.tell(file)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the content of a file has the check sum that stands at its end.
fn is_good(index: &Index, file: &Path) -> Result<bool, SearchError> {
    match index.directory().validate_checksum(file) {
        Ok(is_good) => Ok(is_good),
        Err(error) => {
            let error = SearchError::Read(error.into());
            // A disk that cannot be read for now says nothing of what lies there.
            if error.is_damage() {
                Ok(false)
            } else {
                Err(error)
            }
        }
    }
}

/// Files of an index that say they are of another version than most of their segment. Check sums do not cover what stands behind
/// the content of a file.
pub(crate) fn misnamed(folder: &Path, index: &Index) -> Result<Vec<PathBuf>, SearchError> {
    let mut found = Vec::new();
    for segment in index.searchable_segment_metas()? {
        let mut versions: BTreeMap<Option<Vec<u8>>, Vec<PathBuf>> = BTreeMap::new();
        for extension in WRITTEN_ONCE {
            let file = PathBuf::from(format!("{}.{extension}", segment.id().uuid_string()));
            let version = version_of(&folder.join(&file))?;
            versions.entry(version).or_default().push(file);
        }
        let most = versions.values().map(Vec::len).max().unwrap_or_default();
        let fewer = versions.into_values().filter(|files| files.len() < most);
        found.extend(fewer.flatten());
    }
    Ok(found)
}

/// What a file says of the library that wrote it.
fn version_of(path: &Path) -> Result<Option<Vec<u8>>, SearchError> {
    let (_, end) = end_of(path)?;
    let sum = end.windows(5).position(|part| part == b"\"crc\"");
    Ok(sum.map(|sum| end[..sum].to_vec()))
}

/// The length of a file and what stands behind its content: `{"version":…,"crc":…}`. After that there are the length of it, and a mark
/// (u32 each). Empty where that cannot be understood.
pub(crate) fn end_of(path: &Path) -> std::io::Result<(u64, Vec<u8>)> {
    const MOST: u64 = 4 << 10;
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(MOST)))?;
    let mut end = Vec::new();
    file.take(MOST).read_to_end(&mut end)?;
    let json = || {
        let (rest, tail) = end.split_last_chunk::<8>()?;
        let (length, _) = tail.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        rest.get(rest.len().checked_sub(length)?..)
    };
    Ok((len, json().unwrap_or_default().to_vec()))
}

fn file_of(segment: &SegmentReader, extension: &str) -> PathBuf {
    format!("{}.{extension}", segment.segment_id().uuid_string()).into()
}

fn damaged(file: &Path) -> Result<(), SearchError> {
    let told = "its check sum differs".to_owned();
    let damage = DataCorruption::new(file.to_owned(), told);
    Err(SearchError::Read(damage.into()))
}
