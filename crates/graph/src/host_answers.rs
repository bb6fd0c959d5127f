//! Which hosts link where, added up over all layers of a snapshot.

use crate::GraphError;
use crate::answers::{HostNeighbour, Listing};
use crate::dictionary::Place;
use crate::host_table::links_of;
use crate::layer::Layer;
use crate::lists::{List, Lists};
use crate::snapshot::Snapshot;

impl Snapshot {
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
