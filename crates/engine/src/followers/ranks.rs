//! Ranks and anchor texts: computed over the graph, and given to the index.

use std::ops::ControlFlow;
use std::path::PathBuf;

use teia_base::{CanonicalUrl, Files};
use teia_graph::{
    AnchorBounds, GraphError, Pages, Progress, RankFile, RankOptions, RankReport, Snapshot, rank,
};
use teia_search::{SearchError, Writer};

use super::config::LinksSection;
use super::follow::Trouble;
use crate::directory::Layout;

/// A page with so many times the mean rank, or more, has the greatest prior.
const GREATEST: f64 = 1e6;
/// Priors are told apart in so many steps: a page whose rank hardly changed is not indexed again.
const STEPS: f64 = 64.0;
/// Links of a page whose texts are looked at.
const MOST_LINKS: u64 = 20_000;

/// What became of a wish to rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ranked {
    /// Ranks were computed.
    Anew(RankReport),
    /// They are of this graph already.
    AsBefore,
    /// There is no graph.
    Nothing,
}

/// Ranks the pages and hosts of a collection by its committed links, and writes `NAME/links/rank`.
///
/// `watch` is called often and ends the computation by breaking: then the old ranks stay. Needs no
/// lock against the graph's writer, but only one may rank at a time.
pub fn rank_collection(
    files: &dyn Files,
    layout: &Layout,
    config: &LinksSection,
    watch: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Ranked, GraphError> {
    let (prefix, graph) = (layout.links(), config.graph());
    let snapshot = Snapshot::open(files, &prefix, &graph)?;
    if snapshot.stats().pages == 0 {
        return Ok(Ranked::Nothing);
    }
    // Ranks that cannot be read are computed again.
    let known = RankFile::open(files, &prefix, &graph).ok().flatten();
    if known.is_some_and(|known| known.position() == snapshot.position()) {
        return Ok(Ranked::AsBefore);
    }
    rank(&snapshot, files, &prefix, &RankOptions::default(), watch).map(Ranked::Anew)
}

/// What the web says of pages: their ranks, and the texts of links that lead to them.
#[derive(Clone, Debug)]
pub struct Ranks {
    file: RankFile,
    snapshot: Snapshot,
    max_anchors: usize,
}

impl Ranks {
    /// The newest ranks of a collection with its committed links; `None` before the first.
    pub fn open(
        files: &dyn Files,
        layout: &Layout,
        config: &LinksSection,
        max_anchors: usize,
    ) -> Result<Option<Self>, GraphError> {
        let (prefix, graph) = (layout.links(), config.graph());
        let Some(file) = RankFile::open(files, &prefix, &graph)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            file,
            snapshot: Snapshot::open(files, &prefix, &graph)?,
            max_anchors,
        }))
    }

    /// The journal position of the ranks.
    pub fn position(&self) -> u64 {
        self.file.position()
    }

    /// Anchor texts of links to a page, the most used first, and its rank as a prior from 0 to 1.
    pub fn of(&self, url: &CanonicalUrl) -> Result<(Vec<String>, f32), GraphError> {
        let bounds = AnchorBounds {
            max_links: MOST_LINKS,
            max_texts: self.max_anchors,
        };
        let texts = self.snapshot.anchors_of(url, bounds)?.texts;
        let rank = self.file.get(url)?.map_or(0.0, |page| page.rank);
        let anchors = texts.into_iter().map(|(text, _)| text).collect();
        Ok((anchors, prior(rank, self.file.len())))
    }
}

/// The logarithm of how many times the mean a rank is, as a share of the greatest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a weight from 0 to 1, and a count that is far below 2^52"
)]
fn prior(rank: f64, nodes: u64) -> f32 {
    let times = (rank * nodes as f64).max(0.0);
    let share = times.ln_1p() / GREATEST.ln_1p();
    ((share.min(1.0) * STEPS).round() / STEPS) as f32
}

/// Gives every page of the index the newest ranks and anchors, a piece at a time.
#[derive(Debug)]
pub(super) struct Renewal {
    ranks: Ranks,
    pages: Pages,
}

impl Renewal {
    pub(super) fn new(ranks: Ranks) -> Self {
        let pages = ranks.snapshot.pages();
        Self { ranks, pages }
    }

    pub(super) fn position(&self) -> u64 {
        self.ranks.position()
    }

    /// Goes on with so many pages; whether there are more.
    pub(super) fn step(&mut self, writer: &mut Writer, most: usize) -> Result<bool, Trouble> {
        // What is wrong with the graph is no reason to build the index anew.
        let of_graph = |error: GraphError| Trouble::of(&error, false);
        for _ in 0..most {
            let Some(page) = self.pages.next() else {
                return Ok(false);
            };
            let url = CanonicalUrl::from_stored(&page.map_err(of_graph)?);
            let (anchors, rank) = self.ranks.of(&url).map_err(of_graph)?;
            writer.update(&url, &anchors, rank)?;
        }
        Ok(true)
    }
}

impl From<SearchError> for Trouble {
    fn from(error: SearchError) -> Self {
        Self::of(&error, error.is_damage())
    }
}

/// Notes that the index has the ranks of this position in full.
pub(super) fn note_renewed(files: &dyn Files, layout: &Layout, position: u64) {
    let written = files.replace(&renewed_path(layout), position.to_string().as_bytes());
    if let Err(error) = written {
        tracing::warn!(%error, "that the index has the newest ranks could not be noted; it is given them again");
    }
}

/// The position of the ranks that the index has in full; 0 before the first.
pub(super) fn renewed(files: &dyn Files, layout: &Layout) -> u64 {
    let bytes = files.read(&renewed_path(layout)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().parse().unwrap_or(0)
}

fn renewed_path(layout: &Layout) -> PathBuf {
    layout.part().join("ranked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "steps of a sixty-fourth are exact")]
    fn a_prior_grows_with_the_rank_and_stays_within_bounds() {
        let nodes = 1_000_000;
        let priors: Vec<f32> = [0.0, 1e-7, 1e-6, 1e-4, 1e-2, 1.0]
            .map(|rank| prior(rank, nodes))
            .to_vec();
        assert!(priors.is_sorted() && priors[0] == 0.0, "{priors:?}");
        assert_eq!(priors[5], 1.0);
        assert!(priors[3] > 2.0 * priors[2], "{priors:?}");
        // Twice as large a web with pages as good beside each other: the same prior.
        assert_eq!(prior(1e-4, nodes), prior(0.5e-4, 2 * nodes));
    }
}
