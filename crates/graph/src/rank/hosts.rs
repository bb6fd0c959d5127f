//! The graph of hosts: who links to whom, however often.

use std::path::Path;
use std::sync::Arc;

use teia_base::Files;

use super::edges;
use crate::GraphError;
use crate::bits::Bits;
use crate::chunk::{self, ChunkCache, File};
use crate::dictionary::{Dictionary, Values};
use crate::host_links::HostLinks;
use crate::layer::Layer;
use crate::monotone::MonotoneMap;
use crate::union::write_texts;

/// All hosts that layers know of, in one numbering, and those that have a page or a link now.
pub(crate) struct Hosts {
    pub(crate) names: Dictionary,
    pub(crate) present: Arc<Bits>,
    maps: Vec<MonotoneMap>,
}

impl Hosts {
    /// Writes every host once, in order, to a file of their own.
    pub(crate) fn write(
        files: &dyn Files,
        path: &Path,
        layers: &[Layer],
    ) -> Result<Self, GraphError> {
        let mut out = chunk::Writer::create(files, path)?;
        let names = layers.iter().map(|layer| (&layer.segment.hosts, None));
        let (extent, maps) = write_texts(&mut out, names, Values::Signed)?;
        out.finish()?;
        let file = File::open(files, path, &ChunkCache::new(0))?;
        let names = Dictionary::new(&file, extent, Values::Signed)?;
        let mut present = Bits::default();
        let mut entries = names.entries();
        while entries.step()? {
            if entries.value > 0 {
                present.insert(entries.number(), names.count());
            }
        }
        let mut links = HostLinks::new(layers, &maps, |layer| &layer.segment.host_in)?;
        while let Some(target) = links.step()? {
            while let Some((_, count)) = links.other()? {
                if count > 0 {
                    present.insert(target, names.count());
                }
            }
        }
        Ok(Self {
            names,
            present: Arc::new(present),
            maps,
        })
    }

    /// Writes the edges between different hosts.
    pub(crate) fn write_edges(
        &self,
        writer: &mut edges::Writer,
        layers: &[Layer],
    ) -> Result<(), GraphError> {
        let mut links = HostLinks::new(layers, &self.maps, |layer| &layer.segment.host_in)?;
        while let Some(target) = links.step()? {
            writer.begin(target)?;
            while let Some((source, count)) = links.other()? {
                if count > 0 && source != target {
                    writer.push(source)?;
                }
            }
        }
        Ok(())
    }

    /// Surfers begin at any host that is there.
    pub(crate) fn start(&self) -> Vec<(u32, f64)> {
        let count = u32::try_from(self.present.count()).unwrap_or(u32::MAX);
        let weight = 1.0 / f64::from(count.max(1));
        (0..self.names.count())
            .filter(|host| self.present.contains(*host))
            .map(|host| (host, weight))
            .collect()
    }
}
