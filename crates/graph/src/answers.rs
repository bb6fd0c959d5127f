//! What a snapshot answers with.

use crate::label::Label;

/// A part of a list of links, and how long the whole is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<T> {
    /// How many there are in all.
    pub total: u64,
    /// Those that were asked for.
    pub items: Vec<T>,
}

/// The other end of a link, and everything that links between the two say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// The other end.
    pub url: String,
    /// One label for each different link between the two.
    pub labels: Vec<Label>,
}

/// How many links a URL has; each pair of pages counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Links out of it; `None` where it is no page of the graph (not fetched yet, or gone).
    pub out_links: Option<u64>,
    /// Pages that link to it, itself included if it does.
    pub in_links: u64,
}

/// Another host, and the links between the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostNeighbour {
    /// The other host; it may be the same.
    pub host: String,
    /// Links between their pages in the direction that was asked for.
    pub links: u64,
}

/// Anchor texts of the links to a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchors {
    /// Each text with the number of pages that use it, the most used first, equal ones by text.
    pub texts: Vec<(String, u64)>,
    /// Whether every link was read and every text is there.
    pub complete: bool,
}

/// How much of the graph an answer about anchors may read and hold.
#[derive(Debug, Clone, Copy)]
pub struct AnchorBounds {
    /// Links that are read, the newest segments' first.
    pub max_links: u64,
    /// Different texts that are given.
    pub max_texts: usize,
}

impl Default for AnchorBounds {
    fn default() -> Self {
        Self {
            max_links: 100_000,
            max_texts: 1_000,
        }
    }
}

/// What the graph holds in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GraphStats {
    /// Segments.
    pub segments: usize,
    /// Pages whose links are known.
    pub pages: u64,
    /// Links on disk, those of pages that were replaced since included.
    pub links_stored: u64,
    /// Bytes of segments.
    pub bytes: u64,
}
