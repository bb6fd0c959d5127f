//! The graph as its one writer has it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_base::{CanonicalUrl, Files};

use crate::chunk::{self, ChunkCache};
use crate::layer::Layer;
use crate::manifest::{Manifest, Named};
use crate::memtable::{Memtable, PageLink};
use crate::merge::merge;
use crate::segment::{self, Segment};
use crate::snapshot::Snapshot;
use crate::{GraphConfig, GraphError};

/// Every link of every committed page, in both directions: a follower of the journal.
///
/// One `Graph` writes in a directory at a time; any number of [`Snapshot`]s read. After an error,
/// open it again: what was not committed comes once more from the journal.
#[derive(Debug)]
pub struct Graph {
    files: Arc<dyn Files>,
    prefix: PathBuf,
    config: GraphConfig,
    cache: ChunkCache,
    memtable: Memtable,
    /// What is written, committed or not; the oldest first.
    layers: Vec<Layer>,
    next: u64,
    applied: u64,
    left_out: u64,
    committed: Snapshot,
}

impl Graph {
    /// Opens the graph below `prefix`, or begins one. What an interrupted commit left is removed.
    pub fn open(
        files: Arc<dyn Files>,
        prefix: impl Into<PathBuf>,
        config: GraphConfig,
    ) -> Result<Self, GraphError> {
        let prefix = prefix.into();
        files
            .create_dir(&prefix)
            .map_err(|source| GraphError::Write {
                path: prefix.clone(),
                source,
            })?;
        let manifest = Manifest::read(&*files, &prefix)?;
        let cache = ChunkCache::new(config.cache_bytes);
        let committed = Snapshot::of_manifest(&*files, &prefix, &manifest, &cache)?;
        let graph = Self {
            files,
            prefix,
            config,
            cache,
            memtable: Memtable::default(),
            layers: committed.layers.to_vec(),
            next: manifest.next,
            applied: manifest.position,
            left_out: 0,
            committed,
        };
        graph.remove_strays()?;
        Ok(graph)
    }

    /// The last journal entry that is in the graph durably: go on with the one after it.
    pub fn position(&self) -> u64 {
        self.committed.position()
    }

    /// Links that were left out since the graph was opened, as leading to too long a URL.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Sets the links of a page to those of its newest version, which the journal entry at
    /// `position` names. Equal links (target, label) count once. Applying an entry twice does no
    /// harm. Memory is bounded: what is too much is written, and committed later.
    pub fn apply(
        &mut self,
        page: &CanonicalUrl,
        links: &[PageLink<'_>],
        position: u64,
    ) -> Result<(), GraphError> {
        self.applied = self.applied.max(position);
        if page.as_str().len() > self.config.max_url_bytes {
            self.left_out += links.len() as u64;
            return Ok(());
        }
        self.left_out += self.memtable.set(page.as_str(), links, &self.config);
        self.spill_if_full()
    }

    /// Takes a page that is gone, excluded or removed out of the graph, with its links. It stays a
    /// node as long as other pages link to it.
    pub fn remove(&mut self, page: &CanonicalUrl, position: u64) -> Result<(), GraphError> {
        self.applied = self.applied.max(position);
        self.memtable.remove(page.as_str());
        self.spill_if_full()
    }

    /// Notes that all entries up to this one are applied, also where they held no page.
    pub fn advance(&mut self, position: u64) {
        self.applied = self.applied.max(position);
    }

    /// Makes everything applied so far durable and visible to new snapshots.
    pub fn commit(&mut self) -> Result<(), GraphError> {
        self.spill()?;
        if self.applied == self.committed.position() && self.is_committed() {
            return Ok(());
        }
        self.merge_levels()?;
        self.write_manifest()
    }

    /// Merges everything into one segment.
    pub fn compact(&mut self) -> Result<(), GraphError> {
        self.spill()?;
        if self.layers.len() > 1 || self.layers.iter().any(|layer| !layer.dead.is_empty()) {
            let level = self.layers.iter().map(|layer| layer.segment.level).max();
            self.merge_range(0, self.layers.len(), level.unwrap_or(0))?;
        }
        self.write_manifest()
    }

    /// What is committed, as it is now and stays for whoever holds it.
    pub fn snapshot(&self) -> Snapshot {
        self.committed.clone()
    }

    fn is_committed(&self) -> bool {
        let numbers = |layers: &[Layer]| -> Vec<u64> {
            layers.iter().map(|layer| layer.segment.number).collect()
        };
        numbers(&self.layers) == numbers(&self.committed.layers)
    }

    fn spill_if_full(&mut self) -> Result<(), GraphError> {
        if self.memtable.memory() > self.config.memory_bytes {
            self.spill()?;
        }
        Ok(())
    }

    /// Writes what waits in memory as a segment above all others.
    fn spill(&mut self) -> Result<(), GraphError> {
        if self.memtable.is_empty() {
            return Ok(());
        }
        let (number, out) = self.new_segment()?;
        let (_, kills) = self.memtable.write(out, &self.layers)?;
        let layer = self.open_segment(number, 0)?;
        for (segment, nodes) in kills {
            let killed = |layer: &&mut Layer| layer.segment.number == segment;
            if let Some(layer) = self.layers.iter_mut().find(killed) {
                layer.kill(&nodes);
            }
        }
        self.layers.push(layer);
        self.memtable = Memtable::default();
        Ok(())
    }

    /// Merges where a level is full, and where most of a segment is dead.
    fn merge_levels(&mut self) -> Result<(), GraphError> {
        let fanout = self.config.fanout.max(2);
        let mut level = 0;
        while self.layers.iter().any(|layer| layer.segment.level >= level) {
            let is_older = |layer: &Layer| layer.segment.level > level;
            let start = self
                .layers
                .iter()
                .rposition(is_older)
                .map_or(0, |index| index + 1);
            let tail = &self.layers[start..];
            let full = tail
                .iter()
                .filter(|layer| layer.segment.level == level)
                .count();
            if full >= fanout {
                self.merge_range(start, self.layers.len(), level + 1)?;
            }
            level += 1;
        }
        for index in 0..self.layers.len() {
            let layer = &self.layers[index];
            if layer.dead.count() * 2 > layer.segment.pages {
                let level = layer.segment.level;
                self.merge_range(index, index + 1, level)?;
            }
        }
        Ok(())
    }

    fn merge_range(&mut self, start: usize, end: usize, level: u32) -> Result<(), GraphError> {
        let (number, out) = self.new_segment()?;
        merge(&self.layers[start..end], &self.layers[..start], out)?;
        let layer = self.open_segment(number, level)?;
        self.layers.splice(start..end, [layer]);
        Ok(())
    }

    fn new_segment(&mut self) -> Result<(u64, chunk::Writer), GraphError> {
        let number = self.next;
        self.next += 1;
        let path = segment::path_of(&self.prefix, number);
        Ok((number, chunk::Writer::create(&*self.files, &path)?))
    }

    fn open_segment(&self, number: u64, level: u32) -> Result<Layer, GraphError> {
        Segment::open(&*self.files, &self.prefix, number, level, &self.cache).map(Layer::new)
    }

    fn write_manifest(&mut self) -> Result<(), GraphError> {
        // The names of new files must be durable before the manifest that speaks of them.
        self.files
            .sync_dir(&self.prefix)
            .map_err(|source| GraphError::Write {
                path: self.prefix.clone(),
                source,
            })?;
        let name = |layer: &Layer| Named {
            number: layer.segment.number,
            level: layer.segment.level,
            bytes: layer.segment.bytes(),
        };
        let manifest = Manifest {
            position: self.applied,
            next: self.next,
            segments: self.layers.iter().map(name).collect(),
        };
        manifest.write(&*self.files, &self.prefix)?;
        self.committed = Snapshot::new(self.layers.clone(), self.applied);
        self.remove_strays()
    }

    /// Removes segments that are not committed, and so are of no use to anybody who opens now.
    fn remove_strays(&self) -> Result<(), GraphError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| GraphError::Write { path, source }
        };
        let names = self.files.list(&self.prefix);
        for name in names.map_err(failed(&self.prefix))? {
            let stray = segment::number_of(&name).is_some_and(|number| {
                let mut layers = self.layers.iter();
                layers.all(|layer| layer.segment.number != number)
            });
            if stray {
                let path = self.prefix.join(name);
                self.files.remove(&path).map_err(failed(&path))?;
            }
        }
        Ok(())
    }
}
