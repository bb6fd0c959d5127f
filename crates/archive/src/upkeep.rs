//! Work on files that no longer change: sealing them with a sorted index, and merging indexes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use teia_base::Files;

use crate::ArchiveError;
use crate::index::{
    ArchiveName, IndexName, MERGE_WIDTH, OpenLines, merge_indexes, open_lines_path, write_sorted,
};

/// Sealing and merging that is due. What it does follows from the directory alone, so that it may
/// be run late, again, or after a crash in the middle of it.
#[derive(Debug)]
pub struct Upkeep {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) dir: PathBuf,
    /// Files with smaller numbers are whole and committed.
    before: u64,
    pub(crate) lock: Arc<Mutex<()>>,
}

impl Upkeep {
    pub(crate) fn new(
        files: Arc<dyn Files>,
        dir: PathBuf,
        before: u64,
        lock: Arc<Mutex<()>>,
    ) -> Self {
        Self {
            files,
            dir,
            before,
            lock,
        }
    }

    /// Does it all; quickly done where nothing is due. Two at once wait for each other.
    pub fn run(self) -> Result<(), ArchiveError> {
        let _one_at_a_time = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let list = self
            .files
            .list(&self.dir)
            .map_err(ArchiveError::file("list", &self.dir))?;
        let indexes: Vec<IndexName> = list
            .iter()
            .filter_map(|name| IndexName::parse(name))
            .collect();
        for name in list.iter().filter_map(|name| ArchiveName::parse(name)) {
            if name.number < self.before && !indexes.iter().any(|index| index.covers(&name.index()))
            {
                self.seal(&name)?;
            }
        }
        self.drop_leftovers()?;
        while self.merge_one()? {}
        Ok(())
    }

    fn seal(&self, name: &ArchiveName) -> Result<(), ArchiveError> {
        let path = self.dir.join(name.file());
        let len = self
            .files
            .open(&path)
            .and_then(|file| file.len())
            .map_err(ArchiveError::file("open", &path))?;
        let mut lines = OpenLines::load(&*self.files, &self.dir, name, len)?;
        lines.sort();
        let mut sorted = lines.lines();
        write_sorted(
            &*self.files,
            &self.dir.join(name.index().file()),
            &mut || Ok(sorted.next().map(<[u8]>::to_vec)),
        )
    }

    /// Removes side files of sealed archives, and indexes that a merged one covers.
    fn drop_leftovers(&self) -> Result<(), ArchiveError> {
        let list = self
            .files
            .list(&self.dir)
            .map_err(ArchiveError::file("list", &self.dir))?;
        let indexes: Vec<IndexName> = list
            .iter()
            .filter_map(|name| IndexName::parse(name))
            .collect();
        let mut leftovers = Vec::new();
        for index in &indexes {
            if indexes
                .iter()
                .any(|other| other.level > index.level && other.covers(index))
            {
                leftovers.push(self.dir.join(index.file()));
            }
        }
        for name in list.iter().filter_map(|name| ArchiveName::parse(name)) {
            let side = open_lines_path(&self.dir, &name);
            let is_there = side
                .file_name()
                .is_some_and(|side| list.iter().any(|name| **name == *side));
            if is_there && indexes.iter().any(|index| index.covers(&name.index())) {
                leftovers.push(side);
            }
        }
        for path in leftovers {
            self.files
                .remove(&path)
                .map_err(ArchiveError::file("remove", &path))?;
        }
        Ok(())
    }

    /// Merges the lowest level that has enough; whether there was one.
    fn merge_one(&self) -> Result<bool, ArchiveError> {
        let list = self
            .files
            .list(&self.dir)
            .map_err(ArchiveError::file("list", &self.dir))?;
        let mut indexes: Vec<IndexName> = list
            .iter()
            .filter_map(|name| IndexName::parse(name))
            .collect();
        indexes.sort_unstable_by_key(|index| (index.level, index.first));
        let due = indexes
            .chunk_by(|a, b| a.level == b.level)
            .find(|level| level.len() >= MERGE_WIDTH);
        let Some(level) = due else { return Ok(false) };
        merge_indexes(&*self.files, &self.dir, &level[..MERGE_WIDTH])?;
        Ok(true)
    }
}
