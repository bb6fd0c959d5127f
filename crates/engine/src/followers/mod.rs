//! Followers of the journal beside the Repository: the search index, the link graph, the catalog.
//!
//! ```text
//!             ┌─> Queue ─> Follow<Links> ──commit──> NAME/links/ ──> ranks ─┐
//! committer ──┤  (bytes)       ^  behind? entries from the journal          │ anchors, rank
//!             ├─> Queue ─> Follow<Index> ──commit──> NAME/index/ <──────────┘
//!             │                ^  behind? entries from the journal, texts from the archive
//!             └─> Queue ─> Follow<Cataloguer> ──transaction──> teia.db, or PostgreSQL
//! ```
//!
//! A follower is never ahead of the journal: it is handed an entry after its sync. A queue that is
//! full drops, and what was dropped is read again from the disk. Commits wait for the index only where
//! nothing is archived, or where something has waited for it longer than `index.max-lag`. Its position lies inside its
//! own commit, so after a kill it goes on where it stood.

mod catalog;
mod config;
mod crew;
mod fate;
mod follow;
mod index;
mod lag;
mod links;
mod order;
mod queue;
mod ranks;
mod rebuild;
mod reread;

pub use config::{CatalogSection, IndexSection, LinksSection};
pub use ranks::{Ranked, Ranks, rank_collection};
pub use rebuild::{Rebuilt, rebuild_catalog, rebuild_index, rebuild_links, renew_index};

pub(crate) use crew::{Crew, Feeds};
pub(crate) use index::has_text;
pub(crate) use order::OrderByRank;
pub(crate) use queue::{Handed, text_bytes};
