//! How much the index may use.

use serde::Deserialize;

/// How an index is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct IndexConfig {
    /// Memory that documents may fill before they go to disk, in bytes, over all threads.
    pub memory_bytes: usize,
    /// Threads that index.
    pub threads: usize,
    /// Bytes of one document's text that are indexed and kept for snippets; the rest is cut off.
    pub max_text_bytes: usize,
    /// Anchor texts kept for one document.
    pub max_anchors: usize,
    /// Documents added or removed before a commit happens by itself (at the old position).
    pub max_pending: usize,
    /// Or bytes of their texts: those that wait to be indexed are held beside `memory_bytes`.
    pub max_pending_bytes: usize,
    /// Memory that merging may take, in bytes, over all merges at once. A merge that would take more is made of fewer
    /// pieces, or of none: the index then stays in more of them.
    pub merge_bytes: u64,
    /// Bytes whose check sums are looked at, on a thread of its own, each time that the index is opened for writing; for none
    /// with 0. Of a larger index it is another part each time, and a file is always read to its end.
    pub check_bytes: u64,
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self {
            memory_bytes: 48 << 20,
            threads: 1,
            max_text_bytes: 2 << 20,
            max_anchors: 64,
            max_pending: 20_000,
            max_pending_bytes: 512 << 20,
            merge_bytes: 512 << 20,
            check_bytes: 0,
        }
    }
}

/// Merges at once where memory is enough, as the library has it by itself.
const MERGES: u64 = 4;
/// Less than this for each makes fewer of them at once.
const MERGE_BYTES: u64 = 64 << 20;

impl IndexConfig {
    /// How many merges go on at once.
    pub(crate) fn merges_at_once(&self) -> u64 {
        (self.merge_bytes / MERGE_BYTES).clamp(1, MERGES)
    }

    /// For an index that is made at once, by so many threads: fewer and larger pieces, hardly any to merge.
    pub fn for_rebuild(threads: usize) -> Self {
        let threads = threads.max(1);
        Self {
            memory_bytes: threads * REBUILD_BYTES,
            threads,
            ..Self::default()
        }
    }
}

/// Memory for each thread of a rebuild.
const REBUILD_BYTES: usize = 192 << 20;

/// What one query may cost.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SearchConfig {
    /// Results that can be paged through.
    pub max_results: usize,
    /// Time for one query, in milliseconds; what was found by then is shown, and said to be partial.
    pub max_milliseconds: u64,
    /// Words of the dictionary that a prefix may stand for.
    pub max_prefix_words: usize,
    /// Documents whose word distances are looked at.
    pub rescored: usize,
    /// Bytes of the indexes, all together, that are read before the first query and after commits where somebody wants
    /// that (`Searcher::warm_up`): the rest waits for the disk when it is asked for.
    pub read_ahead_bytes: u64,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            max_results: 10_000,
            max_milliseconds: 2_000,
            max_prefix_words: 64,
            rescored: 200,
            read_ahead_bytes: 1 << 30,
        }
    }
}
