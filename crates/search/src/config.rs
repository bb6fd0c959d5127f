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
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self {
            memory_bytes: 48 << 20,
            threads: 1,
            max_text_bytes: 2 << 20,
            max_anchors: 64,
            max_pending: 20_000,
        }
    }
}

impl IndexConfig {
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
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            max_results: 10_000,
            max_milliseconds: 2_000,
            max_prefix_words: 64,
            rescored: 200,
        }
    }
}
