//! The graph as it was at one commit: who links where, and what they say.

use std::io;
use std::path::Path;
use std::sync::Arc;

use hashbrown::HashMap;
use teia_base::{CanonicalUrl, Files};

use crate::answers::{AnchorBounds, Anchors, Counts, GraphStats, Listing, Neighbour};
use crate::chunk::ChunkCache;
use crate::label::Label;
use crate::layer::Layer;
use crate::lists::List;
use crate::manifest::Manifest;
use crate::segment::Segment;
use crate::{GraphConfig, GraphError};

/// The committed graph, as it was when this was made. Clones share it. It holds its files open:
/// merges and removals do not disturb it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The oldest first.
    pub(crate) layers: Arc<[Layer]>,
    position: u64,
}

/// Tries to open a snapshot before giving up: a writer may remove what an older manifest names.
const TRIES: usize = 10;

impl Snapshot {
    /// Opens the newest commit below `prefix` without being its writer; empty where there is none.
    pub fn open(
        files: &dyn Files,
        prefix: &Path,
        config: &GraphConfig,
    ) -> Result<Self, GraphError> {
        let cache = ChunkCache::new(config.cache_bytes);
        let mut tries = 1;
        loop {
            let manifest = Manifest::read(files, prefix)?;
            match Self::of_manifest(files, prefix, &manifest, &cache) {
                Err(GraphError::Read { source, .. })
                    if source.kind() == io::ErrorKind::NotFound && tries < TRIES =>
                {
                    tries += 1;
                }
                result => return result,
            }
        }
    }

    pub(crate) fn of_manifest(
        files: &dyn Files,
        prefix: &Path,
        manifest: &Manifest,
        cache: &ChunkCache,
    ) -> Result<Self, GraphError> {
        let mut layers: Vec<Layer> = Vec::with_capacity(manifest.segments.len());
        for named in &manifest.segments {
            let segment = Segment::open(files, prefix, named.number, named.level, cache)?;
            if segment.bytes() != named.bytes {
                return Err(GraphError::Damaged {
                    path: segment.path().to_owned(),
                    offset: segment.bytes().min(named.bytes),
                    what: "its length is not the one in the manifest",
                });
            }
            for (number, nodes) in segment.kills()? {
                let killed = |layer: &&mut Layer| layer.segment.number == number;
                if let Some(layer) = layers.iter_mut().find(killed) {
                    layer.kill(&nodes);
                }
            }
            layers.push(Layer::new(segment));
        }
        Ok(Self::new(layers, manifest.position))
    }

    pub(crate) fn new(layers: Vec<Layer>, position: u64) -> Self {
        Self {
            layers: layers.into(),
            position,
        }
    }

    /// The last journal entry that is in it.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// What it holds in all.
    pub fn stats(&self) -> GraphStats {
        let mut stats = GraphStats::default();
        for layer in self.layers.iter() {
            stats.segments += 1;
            stats.pages += layer.segment.pages.saturating_sub(layer.dead.count());
            stats.links_stored += layer.segment.links;
            stats.bytes += layer.segment.bytes();
        }
        stats
    }

    /// Reads every byte and compares its checksum; the error names file and place.
    pub fn verify(&self) -> Result<(), GraphError> {
        self.layers
            .iter()
            .try_for_each(|layer| layer.segment.verify())
    }

    /// How many links a URL has; `None` where it is no node: no page, and no page links to it.
    pub fn counts(&self, url: &CanonicalUrl) -> Result<Option<Counts>, GraphError> {
        let mut counts = Counts {
            out_links: None,
            in_links: 0,
        };
        for (layer, node) in self.nodes(url)? {
            if let Some(list) = layer.out_list(node)? {
                counts.out_links = Some(list.count());
            }
            if let Some(mut list) = layer.segment.inward.list(node)? {
                counts.in_links += live_count(layer, &mut list)?;
            }
        }
        Ok(Some(counts).filter(|counts| counts.out_links.is_some() || counts.in_links > 0))
    }

    /// Links out of a page, by URL; `None` where it is no page of the graph.
    pub fn out_links(
        &self,
        url: &CanonicalUrl,
        offset: u64,
        limit: usize,
    ) -> Result<Option<Listing<Neighbour>>, GraphError> {
        for (layer, node) in self.nodes(url)? {
            let Some(mut list) = layer.out_list(node)? else {
                continue;
            };
            let total = list.count();
            let mut items = Vec::new();
            let mut index = 0;
            while items.len() < limit {
                let Some(target) = list.step()? else { break };
                if index >= offset {
                    items.push(neighbour(layer, target, &list.labels)?);
                }
                index += 1;
            }
            return Ok(Some(Listing { total, items }));
        }
        Ok(None)
    }

    /// Links into a URL: those of the newest segments first, each segment's by URL.
    pub fn in_links(
        &self,
        url: &CanonicalUrl,
        offset: u64,
        limit: usize,
    ) -> Result<Listing<Neighbour>, GraphError> {
        let mut total = 0;
        let mut items = Vec::new();
        for (layer, node) in self.nodes(url)? {
            let Some(mut list) = layer.segment.inward.list(node)? else {
                continue;
            };
            if layer.dead.is_empty() && (items.len() >= limit || total + list.count() <= offset) {
                total += list.count();
                continue;
            }
            while let Some(source) = list.step()? {
                if layer.dead.contains(source) {
                    continue;
                }
                if total >= offset && items.len() < limit {
                    items.push(neighbour(layer, source, &list.labels)?);
                }
                total += 1;
            }
        }
        Ok(Listing { total, items })
    }

    /// What other pages call a URL: the texts of links that endorse it (see [`Label::endorses`]).
    pub fn anchors_of(
        &self,
        url: &CanonicalUrl,
        bounds: AnchorBounds,
    ) -> Result<Anchors, GraphError> {
        let mut texts: HashMap<String, u64> = HashMap::new();
        let mut complete = true;
        let mut read = 0;
        for (layer, node) in self.nodes(url)? {
            let Some(mut list) = layer.segment.inward.list(node)? else {
                continue;
            };
            let mut uses: HashMap<u32, u64> = HashMap::new();
            while let Some(source) = list.step()? {
                if read >= bounds.max_links {
                    complete = false;
                    break;
                }
                read += 1;
                if source == node || layer.dead.contains(source) {
                    continue;
                }
                for label in list
                    .labels
                    .iter()
                    .filter(|label| **label < layer.segment.quiet)
                {
                    *uses.entry(*label).or_default() += 1;
                }
            }
            for (label, count) in uses {
                let label = Label::decode(&layer.segment.labels.text(label)?);
                if !label.anchor.is_empty() {
                    *texts.entry(label.anchor).or_default() += count;
                }
            }
        }
        let mut texts: Vec<(String, u64)> = texts.into_iter().collect();
        texts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        complete &= texts.len() <= bounds.max_texts;
        texts.truncate(bounds.max_texts);
        Ok(Anchors { texts, complete })
    }

    /// The layers that know a URL, the newest first, and its node in each.
    fn nodes(&self, url: &CanonicalUrl) -> Result<Vec<(&Layer, u32)>, GraphError> {
        let mut nodes = Vec::new();
        for layer in self.layers.iter().rev() {
            let node = layer.segment.names.find(url.as_str().as_bytes())?;
            nodes.extend(node.map(|node| (layer, node)));
        }
        Ok(nodes)
    }
}

fn live_count(layer: &Layer, list: &mut List) -> Result<u64, GraphError> {
    if layer.dead.is_empty() {
        return Ok(list.count());
    }
    let mut count = 0;
    while let Some(source) = list.step()? {
        count += u64::from(!layer.dead.contains(source));
    }
    Ok(count)
}

fn neighbour(layer: &Layer, node: u32, labels: &[u32]) -> Result<Neighbour, GraphError> {
    let text = layer.segment.names.text(node)?;
    let labels = labels
        .iter()
        .map(|label| Ok(Label::decode(&layer.segment.labels.text(*label)?)))
        .collect::<Result<_, GraphError>>()?;
    Ok(Neighbour {
        url: String::from_utf8_lossy(&text).into_owned(),
        labels,
    })
}
