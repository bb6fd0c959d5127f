//! The graph as it was at one commit: who links where, and what they say.

use std::io;
use std::path::Path;
use std::sync::Arc;

use hashbrown::HashMap;
use teia_base::{CanonicalUrl, Files};

use crate::chunk::ChunkCache;
use crate::dictionary::Place;
use crate::host_table::links_of;
use crate::label::Label;
use crate::layer::Layer;
use crate::lists::{List, Lists};
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

    /// Pages of a host whose links are known.
    pub fn host_pages(&self, host: &str) -> Result<u64, GraphError> {
        let mut pages = 0;
        for layer in self.layers.iter() {
            if let Place::Here(_, value) = layer.segment.hosts.place(host.as_bytes())? {
                pages += value;
            }
        }
        Ok(u64::try_from(pages).unwrap_or(0))
    }

    /// Hosts that a host links to, by name, itself included if it does.
    pub fn host_out_links(
        &self,
        host: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Listing<HostNeighbour>, GraphError> {
        self.host_links(host, offset, limit, |layer| &layer.segment.host_out)
    }

    /// Hosts that link to a host, by name, itself included if it does.
    pub fn host_in_links(
        &self,
        host: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Listing<HostNeighbour>, GraphError> {
        self.host_links(host, offset, limit, |layer| &layer.segment.host_in)
    }

    fn host_links(
        &self,
        host: &str,
        offset: u64,
        limit: usize,
        lists: fn(&Layer) -> &Lists,
    ) -> Result<Listing<HostNeighbour>, GraphError> {
        // Each layer's neighbours come in the order of their names: the least one is next.
        let mut heads = Vec::new();
        for layer in self.layers.iter() {
            if let Some(node) = layer.segment.hosts.find(host.as_bytes())?
                && let Some(list) = lists(layer).list(node)?
            {
                let mut head = HostHead::new(layer, list);
                head.step()?;
                heads.push(head);
            }
        }
        let (mut total, mut items) = (0, Vec::new());
        while let Some(least) = heads.iter().filter_map(|head| head.other.clone()).min() {
            let mut links = 0;
            for head in &mut heads {
                if head.other.as_ref() == Some(&least) {
                    links += links_of(&head.list.labels);
                    head.step()?;
                }
            }
            let Some(links) = u64::try_from(links).ok().filter(|links| *links > 0) else {
                continue;
            };
            if total >= offset && items.len() < limit {
                items.push(HostNeighbour {
                    host: String::from_utf8_lossy(&least).into_owned(),
                    links,
                });
            }
            total += 1;
        }
        Ok(Listing { total, items })
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

/// The next host of one layer's list.
struct HostHead<'a> {
    layer: &'a Layer,
    list: List,
    other: Option<Vec<u8>>,
}

impl<'a> HostHead<'a> {
    fn new(layer: &'a Layer, list: List) -> Self {
        Self {
            layer,
            list,
            other: None,
        }
    }

    fn step(&mut self) -> Result<(), GraphError> {
        let names = &self.layer.segment.hosts;
        self.other = self
            .list
            .step()?
            .map(|other| names.text(other))
            .transpose()?;
        Ok(())
    }
}
