//! A block: a range of URLs, its base run and the small runs on top of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use teia_base::Files;

use super::config::{Packing, StoreConfig, Thrift};
use super::directory::Directory;
use super::error::StoreError;
use super::key::{Key, OwnedKey};
use super::pending::Bounds;
use super::run::{RunFile, RunWriter};
use crate::due::LongestWait;

/// A range of URLs and the runs that hold them, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Its first possible key; it ends where the next block begins.
    pub(crate) lower: OwnedKey,
    pub(crate) runs: Vec<Arc<RunFile>>,
    /// The newest file of waiting news that a visit has taken in.
    pub(crate) visited: u64,
    /// The fold of that visit.
    pub(crate) visited_fold: u64,
    /// URLs in it.
    pub(crate) urls: u64,
}

impl Block {
    /// The block of all URLs, with nothing in it.
    pub(crate) fn empty() -> Self {
        Self {
            lower: OwnedKey::default(),
            runs: Vec::new(),
            visited: 0,
            visited_fold: 0,
            urls: 0,
        }
    }

    /// Rows in its runs: what a visit reads.
    pub(crate) fn rows(&self) -> u64 {
        self.runs.iter().map(|run| run.rows).sum()
    }

    /// A hash that divides it into halves for two threads.
    pub(crate) fn middle(&self, bounds: &Bounds) -> u64 {
        match self.runs.first() {
            Some(base) if base.index.len() > 1 => base.index[base.index.len() / 2].first_hash,
            _ => u64::midpoint(bounds.lower.hash, bounds.last_hash()),
        }
    }

    /// Whether its small runs have outgrown its base, or its base the block.
    pub(crate) fn wants_compaction(&self, config: &StoreConfig, thrift: Thrift) -> bool {
        let Some((base, small)) = self.runs.split_first() else {
            return false;
        };
        let small: u64 = small.iter().map(|run| run.rows).sum();
        small * thrift.compact_share > base.rows
            || (base.bytes > config.block_bytes && base.index.len() > 1)
    }
}

/// The bounds of each block.
pub(crate) fn bounds_of(blocks: &[Block], at: usize) -> Bounds {
    Bounds {
        lower: blocks[at].lower.clone(),
        upper: blocks.get(at + 1).map(|next| next.lower.clone()),
    }
}

/// The block to which a URL belongs.
#[inline]
pub(crate) fn block_of(blocks: &[Block], key: &Key<'_>) -> usize {
    let after = blocks.partition_point(|block| {
        block.lower.hash < key.hash
            || (block.lower.hash == key.hash && block.lower.as_key() <= *key)
    });
    after.saturating_sub(1)
}

/// Where the store's files are, and the next name for one.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) config: StoreConfig,
    pub(crate) next_id: AtomicU64,
    pub(crate) longest_wait: LongestWait,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// URLs of a block.
    Run,
    /// News that waits.
    Pending,
}

impl Disk {
    pub(crate) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn path(&self, kind: Kind, id: u64) -> PathBuf {
        self.config.prefix.join(name_of(kind, id))
    }

    pub(crate) fn create(
        &self,
        kind: Kind,
        id: u64,
        packing: Packing,
    ) -> Result<RunWriter, StoreError> {
        let path = self.path(kind, id);
        let directory = (kind == Kind::Run).then(Directory::default);
        RunWriter::create(
            &*self.files,
            &path,
            id,
            self.config.page_bytes,
            packing,
            directory,
        )
    }

    pub(crate) fn open(&self, kind: Kind, id: u64) -> Result<Arc<RunFile>, StoreError> {
        let path = self.path(kind, id);
        RunFile::open(&*self.files, &path, id, self.config.key).map(Arc::new)
    }

    /// Removes a file that nothing names any more. One that stays is removed at the next start.
    pub(crate) fn remove(&self, path: &Path) {
        let _ = self.files.remove(path);
    }
}

pub(crate) fn name_of(kind: Kind, id: u64) -> String {
    match kind {
        Kind::Run => format!("run-{id:010}"),
        Kind::Pending => format!("pending-{id:010}"),
    }
}
