//! How much memory the graph may use, and how much of a hostile page it takes.

use serde::{Deserialize, Serialize};

/// Settings of the link graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GraphConfig {
    /// Bytes of links that wait in memory before they are written to a segment.
    pub memory_bytes: u64,
    /// Bytes of segment files that are kept in memory for queries.
    pub cache_bytes: u64,
    /// Segments of one level that are merged into one of the next.
    pub fanout: usize,
    /// Bytes of an anchor text that are kept; the rest is cut off at a character.
    pub max_anchor_bytes: usize,
    /// A link to a longer URL is left out.
    pub max_url_bytes: usize,
}

impl Default for GraphConfig {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            cache_bytes: 16 << 20,
            fanout: 8,
            max_anchor_bytes: 512,
            max_url_bytes: 64 << 10,
        }
    }
}
