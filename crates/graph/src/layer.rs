//! A segment, and which of its pages newer segments have replaced or removed.

use std::sync::Arc;

use crate::GraphError;
use crate::bits::Bits;
use crate::host_table::{HostChanges, host_of};
use crate::lists::List;
use crate::segment::Segment;

/// Looking a name up costs about as much as passing over this many.
const LOOK_UP: usize = 128;

/// A segment as seen from above. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub(crate) segment: Arc<Segment>,
    /// Pages (nodes) that are no longer so.
    pub(crate) dead: Arc<Bits>,
}

impl Layer {
    pub(crate) fn new(segment: Segment) -> Self {
        Self {
            segment: Arc::new(segment),
            dead: Arc::default(),
        }
    }

    /// Marks pages as no longer so.
    pub(crate) fn kill(&mut self, nodes: &[u32]) {
        let universe = self.segment.names.count();
        let dead = Arc::make_mut(&mut self.dead);
        for node in nodes {
            dead.insert(*node, universe);
        }
    }

    /// Links of a page, if it is one here and now.
    pub(crate) fn out_list(&self, node: u32) -> Result<Option<List>, GraphError> {
        if self.dead.contains(node) {
            return Ok(None);
        }
        self.segment.out.list(node)
    }

    /// Nodes of those of these sorted URLs that are pages here and now.
    pub(crate) fn live_pages(&self, urls: &[&[u8]]) -> Result<Vec<u32>, GraphError> {
        let names = &self.segment.names;
        let mut nodes = Vec::new();
        if urls.len().saturating_mul(LOOK_UP) < names.count() as usize {
            for url in urls {
                nodes.extend(names.find(url)?);
            }
        } else {
            let mut entries = names.entries();
            let mut left = urls.iter().peekable();
            while left.peek().is_some() && entries.step()? {
                while left.next_if(|url| **url < &*entries.text).is_some() {}
                if left.next_if(|url| **url == &*entries.text).is_some() {
                    nodes.push(entries.number());
                }
            }
        }
        let mut live = Vec::new();
        for node in nodes {
            if self.out_list(node)?.is_some() {
                live.push(node);
            }
        }
        Ok(live)
    }

    /// Takes a page and its links away from the counts of its host.
    pub(crate) fn take_from_hosts(
        &self,
        node: u32,
        hosts: &mut HostChanges,
    ) -> Result<(), GraphError> {
        let source = self.host(node, hosts)?;
        hosts.add_pages(source, -1);
        if let Some(mut list) = self.out_list(node)? {
            while let Some(target) = list.step()? {
                let target = self.host(target, hosts)?;
                hosts.add_links(source, target, -1);
            }
        }
        Ok(())
    }

    fn host(&self, node: u32, hosts: &mut HostChanges) -> Result<u32, GraphError> {
        let text = self.segment.names.text(node)?;
        Ok(hosts.host(host_of(&String::from_utf8_lossy(&text))))
    }
}
