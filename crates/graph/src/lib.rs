//! Links between pages and between hosts, in both directions, and the ranks that follow from them.

mod bits;
mod chunk;
mod config;
mod dictionary;
mod error;
mod graph;
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
mod rank;
mod segment;
mod snapshot;
mod union;
mod varint;

pub use config::GraphConfig;
pub use error::GraphError;
pub use graph::Graph;
pub use label::Label;
pub use memtable::PageLink;
pub use rank::{
    HostRank, OwnLinks, PageRank, Progress, RankFile, RankOptions, RankReport, Ranked, Voices, rank,
};
pub use snapshot::{
    AnchorBounds, Anchors, Counts, GraphStats, HostNeighbour, Listing, Neighbour, Snapshot,
};
