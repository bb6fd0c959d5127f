//! Ranks: how much the web, as far as it is collected, thinks of a page and of a host.
//!
//! ```text
//! snapshot ──one pass──> names (rank.new) + edges by target (rank.edges) + degrees (memory)
//!                                   │
//!            sweeps over the edges, one number a node in memory, until within tolerance
//!                                   │
//!                            rank.new ──rename──> rank
//! ```
//!
//! PageRank is the vector `x` with `x = (1 - d) v + d (P x + dangling(x) v)` and sum 1: `d` is the
//! damping, `v` where a surfer begins (anywhere, or as personalised), and who comes to a page
//! without links begins anew, by `v`. It is proportional to the solution of `y = v + d P y`, in
//! which pages without links need no care (Del Corso, Gullí, Romani 2005); that is solved by Gauss
//! and Seidel, in place, in the order of URLs. After a sweep that changed `y` by `c` in all, the sum
//! of errors is at most `c d / (1 - d)`: so tolerances are promises. A link counts once for each
//! pair of pages. Memory: 12 bytes a node, and a few bits.

mod compute;
mod edges;
mod file;
mod hosts;
mod solve;

use std::ops::ControlFlow;

use teia_base::CanonicalUrl;

pub use compute::rank;
pub use file::{HostRank, PageRank, RankFile, Ranked};

/// Which links speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Voices {
    /// Every link between two pages.
    All,
    /// Only those that endorse their target: no images and styles, no `nofollow`.
    #[default]
    Endorsing,
}

/// What a link from a page to itself is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OwnLinks {
    /// As much as any other, as in igraph and in the textbooks.
    #[default]
    Count,
    /// Nothing.
    PassOver,
}

/// How ranks are computed.
#[derive(Debug, Clone)]
pub struct RankOptions {
    /// The share of surfers who follow a link, and do not begin anew; below 1.
    pub damping: f64,
    /// The sum over all pages of the distances from the true ranks, which sum to 1, is at most this.
    pub tolerance: f64,
    /// Sweeps after which it ends, near enough or not.
    pub max_sweeps: u32,
    /// Which links count.
    pub voices: Voices,
    /// Whether links of pages to themselves count. Links of hosts to themselves never do.
    pub own_links: OwnLinks,
    /// Where surfers begin, with weights; anywhere if empty. What is no node is passed over.
    pub personalisation: Vec<(CanonicalUrl, f64)>,
}

impl Default for RankOptions {
    fn default() -> Self {
        Self {
            damping: 0.85,
            tolerance: 1e-9,
            max_sweeps: 1_000,
            voices: Voices::default(),
            own_links: OwnLinks::default(),
            personalisation: Vec::new(),
        }
    }
}

/// How far a computation is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// Links are being read: nodes so far, and nodes in all.
    Reading(u64, u64),
    /// A sweep over the pages is done: its number, and the bound of the error after it.
    Swept(u32, f64),
    /// Hosts are being ranked.
    Hosts,
}

/// Looks on; says whether to go on.
pub(crate) type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// What a computation came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankReport {
    /// Nodes that were ranked.
    pub nodes: u64,
    /// Links that counted.
    pub links: u64,
    /// Hosts that were ranked.
    pub hosts: u64,
    /// Sweeps over the pages.
    pub sweeps: u32,
    /// The sum of distances from the true ranks is at most this.
    pub error: f64,
}
