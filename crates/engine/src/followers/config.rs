//! Settings of the followers.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_base::{Files, measure};
use teia_catalog::{Store, StoreUrl};
use teia_graph::GraphConfig;
use teia_search::IndexConfig;

/// The search index.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct IndexSection {
    /// Build a search index while collecting.
    pub enabled: bool,
    /// How often what was collected becomes searchable.
    #[serde(with = "measure::duration")]
    pub commit_every: Duration,
    /// Longer than this nothing that was collected waits for the index: fetching goes slower instead. With
    /// `0s` it never does, and the index may fall behind.
    #[serde(with = "measure::duration")]
    pub max_lag: Duration,
    /// Documents that wait for the index in memory; what is more is read again from the archive.
    #[serde(with = "measure::size")]
    pub queue_bytes: u64,
    /// Memory in which the index is built.
    #[serde(with = "measure::size")]
    pub memory_bytes: u64,
    /// Threads that index.
    pub threads: usize,
    /// Bytes of one document's text that are indexed and kept for snippets.
    #[serde(with = "measure::size")]
    pub max_text_bytes: u64,
    /// Anchor texts of links that are indexed with the page they lead to.
    pub max_anchors: usize,
    /// Memory that merging may take: a part of `run.memory`, and no setting of its own.
    #[serde(skip)]
    pub(crate) merge_bytes: u64,
}

impl Default for IndexSection {
    fn default() -> Self {
        Self {
            enabled: true,
            commit_every: Duration::from_secs(3),
            max_lag: Duration::from_secs(45),
            queue_bytes: 16 << 20,
            memory_bytes: 32 << 20,
            threads: 1,
            max_text_bytes: 2 << 20,
            max_anchors: 64,
            merge_bytes: IndexConfig::default().merge_bytes,
        }
    }
}

impl IndexSection {
    pub(crate) fn writer(&self) -> IndexConfig {
        let bytes = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
        let memory_bytes = bytes(self.memory_bytes);
        IndexConfig {
            memory_bytes,
            // What waits to be indexed takes no more than what is being indexed.
            max_pending_bytes: memory_bytes,
            threads: self.threads,
            max_text_bytes: bytes(self.max_text_bytes),
            max_anchors: self.max_anchors,
            merge_bytes: self.merge_bytes,
            ..IndexConfig::default()
        }
    }
}

/// The link graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinksSection {
    /// Keep every link in both directions, and rank pages and hosts by them.
    pub enabled: bool,
    /// How often new links become visible.
    #[serde(with = "measure::duration")]
    pub commit_every: Duration,
    /// Links that wait for the graph in memory; what is more is read again from the journal.
    #[serde(with = "measure::size")]
    pub queue_bytes: u64,
    /// Links that are gathered in memory before they go to disk.
    #[serde(with = "measure::size")]
    pub memory_bytes: u64,
    /// Parts of the graph's files that are kept in memory.
    #[serde(with = "measure::size")]
    pub cache_bytes: u64,
    /// How often ranks are computed while a run lasts; they also are at its end.
    #[serde(with = "measure::duration")]
    pub rank_every: Duration,
}

impl Default for LinksSection {
    fn default() -> Self {
        Self {
            enabled: true,
            commit_every: Duration::from_secs(5),
            queue_bytes: 8 << 20,
            memory_bytes: 16 << 20,
            cache_bytes: 8 << 20,
            rank_every: Duration::from_secs(900),
        }
    }
}

impl LinksSection {
    /// The settings of the graph itself, also for those who only read it.
    pub fn graph(&self) -> GraphConfig {
        GraphConfig {
            memory_bytes: self.memory_bytes,
            cache_bytes: self.cache_bytes,
            ..GraphConfig::default()
        }
    }
}

/// The catalog: what was collected, in SQL.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CatalogSection {
    /// Keep a catalog of runs, documents, attempts and hosts that people can ask in SQL.
    pub enabled: bool,
    /// A database of PostgreSQL for it: `postgres://USER@HOST/DATABASE`. A password does not belong
    /// here: it is taken from the variable `TEIA_CATALOG_PASSWORD`. Without it: `teia.db` in the data
    /// directory (SQLite).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<StoreUrl>,
    /// How often what was collected becomes visible in it.
    #[serde(with = "measure::duration")]
    pub commit_every: Duration,
    /// What waits for the catalog in memory; what is more is read again from the journal.
    #[serde(with = "measure::size")]
    pub queue_bytes: u64,
}

impl Default for CatalogSection {
    fn default() -> Self {
        Self {
            enabled: true,
            url: None,
            commit_every: Duration::from_secs(2),
            queue_bytes: 8 << 20,
        }
    }
}

impl CatalogSection {
    /// Where it lies; `None` where it is off, or where there is no disk to put it on.
    pub fn store(&self, files: &dyn Files) -> Option<Store> {
        match &self.url {
            _ if !self.enabled => None,
            Some(url) => Some(Store::Postgres(url.clone())),
            None => files.on_disk(Path::new(CATALOG_FILE)).map(Store::Sqlite),
        }
    }
}

/// The catalog in the data directory.
const CATALOG_FILE: &str = "teia.db";
