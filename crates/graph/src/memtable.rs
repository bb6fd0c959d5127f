//! Pages that changed since the last segment was written, and the writing of the next one.

use hashbrown::HashMap;
use teia_base::{CanonicalUrl, LinkKind, Rel};

use crate::bits::Bits;
use crate::chunk;
use crate::dictionary::{self, Values};
use crate::host_table::{HostChanges, host_of};
use crate::interner::Interner;
use crate::label::Label;
use crate::layer::Layer;
use crate::lists;
use crate::segment::{Footer, write_kills};
use crate::{GraphConfig, GraphError};

/// A link of a page, as the graph is told of it.
#[derive(Clone, Copy, Debug)]
pub struct PageLink<'a> {
    /// Where it leads.
    pub target: &'a CanonicalUrl,
    /// Where it stood.
    pub kind: LinkKind,
    /// What its `rel` asks.
    pub rel: Rel,
    /// Its text.
    pub anchor: &'a str,
}

/// What waits in memory.
#[derive(Debug, Default)]
pub(crate) struct Memtable {
    names: Interner,
    labels: Interner,
    /// Links (target, label) of a page; none at all where it is gone.
    pages: HashMap<u32, Option<Vec<(u32, u32)>>>,
    links: u64,
    label: Vec<u8>,
}

/// Pages that a new segment replaces or removes, by the number of the older segment.
pub(crate) type Kills = Vec<(u64, Vec<u32>)>;

impl Memtable {
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Bytes of memory in use, those that writing needs included, about.
    pub(crate) fn memory(&self) -> u64 {
        self.names.memory() + self.labels.memory() + self.links * 36 + self.pages.len() as u64 * 96
    }

    /// Sets the links of a page; gives how many were left out as too long.
    pub(crate) fn set(&mut self, page: &str, links: &[PageLink<'_>], config: &GraphConfig) -> u64 {
        let mut own = Vec::with_capacity(links.len());
        for link in links {
            let target = link.target.as_str();
            if target.len() > config.max_url_bytes {
                continue;
            }
            let most = config.max_anchor_bytes;
            Label::encode(link.kind, link.rel, link.anchor, most, &mut self.label);
            let label = self.labels.number(&self.label);
            own.push((self.names.number(target.as_bytes()), label));
        }
        let left_out = links.len() - own.len();
        self.replace(page, Some(own));
        left_out as u64
    }

    /// Notes that a page is gone.
    pub(crate) fn remove(&mut self, page: &str) {
        self.replace(page, None);
    }

    fn replace(&mut self, page: &str, links: Option<Vec<(u32, u32)>>) {
        let number = self.names.number(page.as_bytes());
        self.links += links.as_ref().map_or(0, Vec::len) as u64;
        self.pages.insert(number, links);
    }

    /// Writes everything as a segment over these older layers.
    pub(crate) fn write(
        &self,
        mut out: chunk::Writer,
        layers: &[Layer],
    ) -> Result<(u64, Kills), GraphError> {
        let mut footer = Footer::default();
        let (used_names, used_labels) = self.used();
        let (names, name_places) = self.names.sorted(|number| used_names.contains(number));
        let (labels, label_places) = self.labels.sorted(|number| used_labels.contains(number));
        footer.names = write_texts(&mut out, &self.names, &names)?;
        footer.labels = write_texts(&mut out, &self.labels, &labels)?;

        let mut hosts = HostChanges::default();
        let name_hosts: Vec<u32> = names
            .iter()
            .map(|number| hosts.host(host_of(&String::from_utf8_lossy(self.names.text(*number)))))
            .collect();
        let node_count = u32::try_from(names.len()).unwrap_or(u32::MAX);
        let mut edges: Vec<(u32, u32, u32)> = Vec::new();
        let mut writer = lists::Writer::new(&out);
        let mut own: Vec<(u32, u32)> = Vec::new();
        for (node, number) in (0..).zip(&names) {
            let Some(Some(links)) = self.pages.get(number) else {
                continue;
            };
            own.clear();
            own.extend(links.iter().map(|(target, label)| {
                (name_places[*target as usize], label_places[*label as usize])
            }));
            own.sort_unstable();
            own.dedup();
            edges.extend(own.iter().map(|(target, label)| (*target, node, *label)));
            writer.begin(&mut out, node)?;
            let host = name_hosts[node as usize];
            for group in own.chunk_by(|a, b| a.0 == b.0) {
                push_group(&mut writer, &mut out, group)?;
                hosts.add_links(host, name_hosts[group[0].0 as usize], 1);
            }
            hosts.add_pages(host, 1);
            footer.links += writer.count();
            footer.pages += 1;
            writer.end(&mut out, true)?;
        }
        footer.out = writer.finish(&mut out, node_count)?;

        edges.sort_unstable();
        let mut writer = lists::Writer::new(&out);
        for list in edges.chunk_by(|a, b| a.0 == b.0) {
            writer.begin(&mut out, list[0].0)?;
            for group in list.chunk_by(|a, b| a.1 == b.1) {
                let labels: Vec<u32> = group.iter().map(|(_, _, label)| *label).collect();
                writer.push(&mut out, group[0].1, &labels)?;
            }
            writer.end(&mut out, false)?;
        }
        footer.inward = writer.finish(&mut out, node_count)?;
        drop(edges);

        let kills = self.kills(layers, &mut hosts)?;
        footer.hosts = hosts.write(&mut out)?;
        (footer.kills, footer.killed_segments) = write_kills(&mut out, &kills)?;
        Ok((footer.write(out)?, kills))
    }

    /// Names and labels that pages which are there have; an older version of a page may have left more.
    fn used(&self) -> (Bits, Bits) {
        let count = |interner: &Interner| u32::try_from(interner.len()).unwrap_or(u32::MAX);
        let (names, labels) = (count(&self.names), count(&self.labels));
        let (mut used_names, mut used_labels) = (Bits::default(), Bits::default());
        for (page, links) in &self.pages {
            let Some(links) = links else { continue };
            used_names.insert(*page, names);
            for (target, label) in links {
                used_names.insert(*target, names);
                used_labels.insert(*label, labels);
            }
        }
        (used_names, used_labels)
    }

    /// Finds the older versions of all pages here, and takes their links from their hosts.
    fn kills(&self, layers: &[Layer], hosts: &mut HostChanges) -> Result<Kills, GraphError> {
        let mut pages: Vec<&[u8]> = self
            .pages
            .keys()
            .map(|page| self.names.text(*page))
            .collect();
        pages.sort_unstable();
        let mut kills = Vec::new();
        for layer in layers {
            let nodes = layer.live_pages(&pages)?;
            for node in &nodes {
                layer.take_from_hosts(*node, hosts)?;
            }
            if !nodes.is_empty() {
                kills.push((layer.segment.number, nodes));
            }
        }
        Ok(kills)
    }
}

fn push_group(
    writer: &mut lists::Writer,
    out: &mut chunk::Writer,
    group: &[(u32, u32)],
) -> Result<(), GraphError> {
    let labels: Vec<u32> = group.iter().map(|(_, label)| *label).collect();
    writer.push(out, group[0].0, &labels)
}

fn write_texts(
    out: &mut chunk::Writer,
    interner: &Interner,
    order: &[u32],
) -> Result<dictionary::Extent, GraphError> {
    let mut writer = dictionary::Writer::new(out, Values::None);
    for number in order {
        writer.push(out, interner.text(*number), 0)?;
    }
    writer.finish(out)
}
