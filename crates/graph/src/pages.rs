//! Every page of a snapshot, for those who need them all.

use crate::GraphError;
use crate::dictionary::Entries;
use crate::lists::Walk;
use crate::snapshot::Snapshot;

/// URLs of all pages whose links are known: segment by segment, each by URL. Ends after an error.
#[derive(Debug)]
pub struct Pages {
    snapshot: Snapshot,
    layer: usize,
    at: Option<(Walk, Entries)>,
}

impl Snapshot {
    /// Every page of the graph, each once.
    pub fn pages(&self) -> Pages {
        Pages {
            snapshot: self.clone(),
            layer: 0,
            at: None,
        }
    }
}

impl Pages {
    fn step(&mut self) -> Result<Option<String>, GraphError> {
        loop {
            let Some(layer) = self.snapshot.layers.get(self.layer) else {
                return Ok(None);
            };
            let segment = &layer.segment;
            let (walk, names) = self
                .at
                .get_or_insert_with(|| (segment.out.walk(), segment.names.entries()));
            if !walk.step()? {
                self.at = None;
                self.layer += 1;
                continue;
            }
            let page = walk.list.node();
            if layer.dead.contains(page) {
                continue;
            }
            while names.step()? {
                if names.number() == page {
                    let text = String::from_utf8_lossy(&names.text);
                    return Ok(Some(text.into_owned()));
                }
            }
            return Ok(None);
        }
    }
}

impl Iterator for Pages {
    type Item = Result<String, GraphError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().transpose();
        if !matches!(step, Some(Ok(_))) {
            self.layer = usize::MAX;
            self.at = None;
        }
        step
    }
}
