//! Many sorted indexes into one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use teia_base::Files;

use super::sorted::{Lines, SortedIndex, write_sorted};
use super::{IndexName, ids_path};
use crate::ArchiveError;

/// So many indexes of a level become one of the next.
pub(crate) const MERGE_WIDTH: usize = 16;

/// Merges indexes of one level that follow each other, then removes them.
///
/// A crash in between leaves both, and the larger one covers the smaller ones.
pub(crate) fn merge_indexes(
    files: &dyn Files,
    dir: &Path,
    inputs: &[IndexName],
) -> Result<(), ArchiveError> {
    let (Some(first), Some(last)) = (inputs.first(), inputs.last()) else {
        return Ok(());
    };
    let merged = IndexName::merged(first.level + 1, first.first, last.last);
    let mut sources = Vec::with_capacity(inputs.len());
    for input in inputs {
        sources.push(SortedIndex::open(files, &dir.join(input.file()))?.lines_from(b"")?);
    }
    let mut merge = Merge::new(sources)?;
    write_sorted(files, &dir.join(merged.file()), &mut || merge.next_line())?;
    for input in inputs {
        let path = dir.join(input.file());
        files
            .remove(&path)
            .map_err(ArchiveError::file("remove", &path))?;
        // Numbers without their index mean nothing, so it does not matter if this is left behind.
        let _left_behind = files.remove(&ids_path(&path));
    }
    files.sync_dir(dir).map_err(ArchiveError::file("sync", dir))
}

/// Lines of several sorted sources, in order.
#[derive(Debug)]
pub(crate) struct Merge {
    sources: Vec<Lines>,
    /// One more source, in memory, in reverse order; its number is that after the others.
    memory: Vec<Vec<u8>>,
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

impl Merge {
    pub(crate) fn new(sources: Vec<Lines>) -> Result<Self, ArchiveError> {
        Self::with_memory(sources, &[])
    }

    /// The sources and sorted lines in memory.
    pub(crate) fn with_memory(
        sources: Vec<Lines>,
        memory: &[Vec<u8>],
    ) -> Result<Self, ArchiveError> {
        let memory = memory.iter().rev().cloned().collect();
        let mut merge = Self {
            heads: BinaryHeap::with_capacity(sources.len() + 1),
            sources,
            memory,
        };
        for source in 0..=merge.sources.len() {
            merge.refill(source)?;
        }
        Ok(merge)
    }

    pub(crate) fn next_line(&mut self) -> Result<Option<Vec<u8>>, ArchiveError> {
        let Some(Reverse((line, source))) = self.heads.pop() else {
            return Ok(None);
        };
        self.refill(source)?;
        Ok(Some(line))
    }

    fn refill(&mut self, source: usize) -> Result<(), ArchiveError> {
        let line = match self.sources.get_mut(source) {
            Some(lines) => lines.next_raw()?.map(|(_, line)| line),
            None => self.memory.pop(),
        };
        self.heads.extend(line.map(|line| Reverse((line, source))));
        Ok(())
    }
}
