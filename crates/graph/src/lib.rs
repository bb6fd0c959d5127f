//! Links between pages and between hosts, in both directions, and the ranks that follow from them.
//!
//! ```text
//! journal ──> apply, remove ──> memtable ──full, or commit──> segment (level 0)
//!                                                               │ a level is full: merge
//!            manifest (position) <──last──────────────────── segments, the oldest first
//!                 │
//!             Snapshot ──> out_links, in_links, anchors_of, host links ──> rank ──> RankFile
//! ```
//!
//! A segment is written once. It has a dictionary of URLs, sorted and front-coded, and its nodes are
//! numbers in that dictionary: equality of text decides. It names the pages of older segments that
//! it replaces or removes, so a page's links live in one segment only. That one sentence keeps
//! counts, anchors and ranks right through every change.
//!
//! A node is a page that was applied, or a URL that some page links to, fetched or not.
//!
//! ```
//! use std::{ops::ControlFlow, path::Path, sync::Arc};
//! use teia_base::{CanonicalUrl, LinkKind, Rel, SimulatedDisk};
//! use teia_graph::{Graph, GraphConfig, PageLink, RankFile, RankOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let files = Arc::new(SimulatedDisk::new());
//! let mut graph = Graph::open(files.clone(), "links", GraphConfig::default())?;
//! let (home, birds) = (CanonicalUrl::parse("http://a.example/")?, CanonicalUrl::parse("http://b.example/")?);
//! let link = PageLink { target: &birds, kind: LinkKind::Anchor, rel: Rel::default(), anchor: "birds" };
//! graph.apply(&home, &[link], 1)?;
//! graph.commit()?;
//!
//! let snapshot = graph.snapshot();
//! assert_eq!(snapshot.in_links(&birds, 0, 10)?.items[0].url, "http://a.example/");
//! let (prefix, options) = (Path::new("links"), RankOptions::default());
//! teia_graph::rank(&snapshot, &*files, prefix, &options, |_| ControlFlow::Continue(()))?;
//! let ranks = RankFile::open(&*files, prefix, &GraphConfig::default())?.expect("just written");
//! assert!(ranks.get(&birds)?.expect("a node").rank > 0.5);
//! # Ok(())
//! # }
//! ```

mod answers;
mod bits;
mod chunk;
mod config;
mod dictionary;
mod error;
mod graph;
mod host_answers;
mod host_links;
mod host_table;
mod interner;
mod label;
mod layer;
mod lists;
mod manifest;
mod memtable;
mod merge;
mod merged_texts;
mod monotone;
mod pages;
mod rank;
mod segment;
mod snapshot;
mod union;
mod varint;

pub use answers::{AnchorBounds, Anchors, Counts, GraphStats, HostNeighbour, Listing, Neighbour};
pub use config::GraphConfig;
pub use error::GraphError;
pub use graph::Graph;
pub use label::Label;
pub use memtable::PageLink;
pub use pages::Pages;
pub use rank::{
    HostRank, OwnLinks, PageRank, Progress, RankFile, RankOptions, RankReport, Ranked, Voices, rank,
};
pub use snapshot::Snapshot;
