//! The link graph as a follower.

use std::sync::Arc;

use teia_base::Files;
use teia_base::journal::{Attempt, Entry, LinkVerdict, Record};
use teia_graph::{Graph, GraphConfig, GraphError, PageLink};

use super::fate::{Fate, left_out};
use super::follow::{Documents, Follower, Trouble};
use crate::directory::Layout;

/// Keeps `NAME/links/` in step with the journal.
#[derive(Debug)]
pub(super) struct Links {
    files: Arc<dyn Files>,
    layout: Layout,
    config: GraphConfig,
    graph: Option<Graph>,
}

impl Links {
    pub(super) fn new(files: Arc<dyn Files>, layout: Layout, config: GraphConfig) -> Self {
        Self {
            files,
            layout,
            config,
            graph: None,
        }
    }

    fn wipe(&self) -> std::io::Result<()> {
        let prefix = self.layout.links();
        for name in self.files.list(&prefix)? {
            self.files.remove(&prefix.join(name))?;
        }
        self.files.sync_dir(&prefix)
    }

    fn graph(&mut self) -> Result<&mut Graph, Trouble> {
        self.graph.as_mut().ok_or_else(|| Trouble {
            is_damage: false,
            text: "it is not open".to_owned(),
        })
    }
}

impl From<GraphError> for Trouble {
    fn from(error: GraphError) -> Self {
        Self::of(&error, error.is_damage())
    }
}

impl Follower for Links {
    const NAME: &'static str = "link graph";
    const SOURCE: &'static str = "journal";

    fn open(&mut self, anew: bool) -> Result<u64, Trouble> {
        self.graph = None;
        if anew {
            self.wipe().map_err(|error| Trouble::of(&error, false))?;
        }
        let files = Arc::clone(&self.files);
        let graph = Graph::open(files, self.layout.links(), self.config.clone())?;
        let position = graph.position();
        self.graph = Some(graph);
        Ok(position)
    }

    fn apply(&mut self, entry: &Entry, _documents: Documents<'_>) -> Result<(), Trouble> {
        let graph = self.graph()?;
        if let Record::Commit(commit) = &entry.record {
            for attempt in &commit.attempts {
                follow(graph, attempt, entry.sequence)?;
            }
            for (url, _) in left_out(commit) {
                graph.remove(url, entry.sequence)?;
            }
        }
        graph.advance(entry.sequence);
        Ok(())
    }

    fn commit(&mut self, _position: u64) -> Result<(), Trouble> {
        Ok(self.graph()?.commit()?)
    }
}

/// Applies what an attempt says of a page's links.
fn follow(graph: &mut Graph, attempt: &Attempt, position: u64) -> Result<(), GraphError> {
    let page = attempt.url.normal();
    match Fate::of(attempt) {
        Fate::AsBefore => Ok(()),
        Fate::Gone => graph.remove(page, position),
        Fate::Kept | Fate::OnlyLinks => {
            let links: Vec<PageLink<'_>> = attempt
                .links
                .iter()
                .map(|link| {
                    let mut rel = link.rel;
                    // A page may say it once for all of its links.
                    rel.nofollow |= link.verdict == LinkVerdict::NotFollowed;
                    PageLink {
                        target: link.url.normal(),
                        kind: link.kind,
                        rel,
                        anchor: &link.anchor,
                    }
                })
                .collect();
            graph.apply(page, &links, position)
        }
    }
}
