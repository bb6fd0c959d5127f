//! What the files of an index were when they were written: `sums` in its directory.
//!
//! Layout: `teia-sums 1`, a line; for each file its name, its length and the check sum at its end; then `check` and the xxh3 of
//! what stands before. The index library keeps each check sum only in the file itself, so that a file in the place of
//! another looks whole. Segments are written once and never named again: what is noted of one holds until it is gone.
//!
//! A list that is missing or damaged is begun anew of what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use tantivy::Index;
use xxhash_rust::xxh3::xxh3_64;

use crate::checks::{WRITTEN_ONCE, end_of};
use crate::error::SearchError;

const HEAD: &str = "teia-sums 1\n";

/// The sums that are noted, by file name: length and check sum.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums(BTreeMap<String, String>);

fn path_in(folder: &Path) -> PathBuf {
    folder.join("sums")
}

impl Sums {
    /// What is noted; nothing where that cannot be read.
    pub(crate) fn read(folder: &Path) -> Self {
        let text = std::fs::read_to_string(path_in(folder)).unwrap_or_default();
        Self::parse(&text).unwrap_or_default()
    }

    fn parse(text: &str) -> Option<Self> {
        let (lines, check) = text.rsplit_once("check ")?;
        if check != check_of(lines) {
            return None;
        }
        let lines = lines.strip_prefix(HEAD)?.lines();
        let pairs = lines.map(|line| line.split_once(' '));
        let pairs = pairs.map(|pair| pair.map(|(name, sum)| (name.to_owned(), sum.to_owned())));
        pairs.collect::<Option<_>>().map(Self)
    }

    /// Files that are others than those that were noted.
    pub(crate) fn others(&self, folder: &Path, index: &Index) -> Result<Vec<PathBuf>, SearchError> {
        let mut others = Vec::new();
        for name in files_of(index)? {
            if let Some(noted) = self.0.get(&name)
                && sum_of(&folder.join(&name))?.is_some_and(|found| found != *noted)
            {
                others.push(PathBuf::from(name));
            }
        }
        Ok(others)
    }

    /// Notes the files that are new, and forgets those that are gone.
    pub(crate) fn note(&mut self, folder: &Path, index: &Index) -> Result<(), SearchError> {
        let names = files_of(index)?;
        let before = self.0.len();
        self.0.retain(|name, _| names.contains(name));
        let mut is_changed = self.0.len() != before;
        for name in names {
            if !self.0.contains_key(&name)
                && let Some(sum) = sum_of(&folder.join(&name))?
            {
                self.0.insert(name, sum);
                is_changed = true;
            }
        }
        if is_changed {
            // What is not noted now is noted the next time.
            if let Err(error) = self.write(folder) {
                tracing::debug!(%error, "the sums of the index could not be noted");
            }
        }
        Ok(())
    }

    fn write(&self, folder: &Path) -> io::Result<()> {
        let lines = self.0.iter().map(|(name, sum)| format!("{name} {sum}\n"));
        let lines = format!("{HEAD}{}", lines.collect::<String>());
        let aside = folder.join("sums.new");
        std::fs::write(&aside, format!("{lines}check {}", check_of(&lines)))?;
        std::fs::rename(&aside, path_in(folder))
    }
}

fn check_of(lines: &str) -> String {
    format!("{:016x}", xxh3_64(lines.as_bytes()))
}

/// The names of all files of segments.
fn files_of(index: &Index) -> Result<BTreeSet<String>, SearchError> {
    let segments = index.searchable_segment_metas()?.into_iter();
    let of_one = |id: String| WRITTEN_ONCE.map(|extension| format!("{id}.{extension}"));
    Ok(segments
        .flat_map(|segment| of_one(segment.id().uuid_string()))
        .collect())
}

/// The length of a file and the check sum at its end; none where it is gone: its segment was merged meanwhile.
fn sum_of(path: &Path) -> Result<Option<String>, SearchError> {
    match end_of(path) {
        Ok((len, end)) => Ok(Some(format!("{len} {:016x}", xxh3_64(&end)))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
