//! Graphs and models that the tests share.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use teia_base::{CanonicalUrl, Files, LinkKind, Rel};
use teia_graph::{Graph, GraphConfig, GraphError, PageLink, RankFile, RankOptions, RankReport};

pub(crate) const PREFIX: &str = "links";

pub(crate) fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::from_stored(text)
}

/// A link as the model has it: target, anchor, nofollow.
pub(crate) type ModelLink = (String, String, bool);
/// Links of each page that is there.
pub(crate) type Model = BTreeMap<String, BTreeSet<ModelLink>>;

/// Opens a graph whose every limit is small.
pub(crate) fn open_small(files: &Arc<dyn Files>) -> Result<Graph, GraphError> {
    let config = GraphConfig {
        memory_bytes: 6_000,
        fanout: 3,
        ..GraphConfig::default()
    };
    Graph::open(Arc::clone(files), PREFIX, config)
}

/// Applies a page of the model.
pub(crate) fn apply(
    graph: &mut Graph,
    page: &str,
    links: Option<&BTreeSet<ModelLink>>,
    position: u64,
) -> Result<(), GraphError> {
    let Some(links) = links else {
        return graph.remove(&url(page), position);
    };
    let targets: Vec<CanonicalUrl> = links.iter().map(|(target, ..)| url(target)).collect();
    let links: Vec<PageLink<'_>> = links
        .iter()
        .zip(&targets)
        .map(|((_, anchor, nofollow), target)| PageLink {
            target,
            kind: LinkKind::Anchor,
            rel: Rel {
                nofollow: *nofollow,
                foreign: false,
            },
            anchor,
        })
        .collect();
    graph.apply(&url(page), &links, position)
}

/// Ranks a graph and opens the result.
pub(crate) fn ranked(
    graph: &Graph,
    files: &Arc<dyn Files>,
    options: &RankOptions,
) -> (RankReport, RankFile) {
    let prefix = Path::new(PREFIX);
    let go_on = |_| ControlFlow::Continue(());
    let report = teia_graph::rank(&graph.snapshot(), &**files, prefix, options, go_on).unwrap();
    let ranks = RankFile::open(&**files, prefix, &GraphConfig::default());
    (report, ranks.unwrap().unwrap())
}

/// PageRank by its definition, for small graphs: node to targets, and a rank for each node.
pub(crate) fn power_iteration(
    nodes: &BTreeSet<String>,
    edges: &BTreeSet<(String, String)>,
    start: &BTreeMap<String, f64>,
) -> BTreeMap<String, f64> {
    let number: BTreeMap<&String, usize> = nodes.iter().zip(0..).collect();
    let begin: Vec<f64> = nodes
        .iter()
        .map(|node| {
            if start.is_empty() {
                1.0 / nodes.len() as f64
            } else {
                start.get(node).copied().unwrap_or(0.0) / start.values().sum::<f64>()
            }
        })
        .collect();
    let edges: Vec<(usize, usize)> = edges.iter().map(|(a, b)| (number[a], number[b])).collect();
    let mut degrees = vec![0.0; nodes.len()];
    edges.iter().for_each(|(source, _)| degrees[*source] += 1.0);
    let mut ranks = begin.clone();
    for _ in 0..300 {
        let dangling: f64 = (0..nodes.len())
            .filter(|node| degrees[*node] == 0.0)
            .map(|node| ranks[node])
            .sum();
        let mut next: Vec<f64> = begin
            .iter()
            .map(|weight| weight * (0.15 + 0.85 * dangling))
            .collect();
        for (source, target) in &edges {
            next[*target] += 0.85 * ranks[*source] / degrees[*source];
        }
        ranks = next;
    }
    nodes.iter().cloned().zip(ranks).collect()
}

/// Random numbers (SplitMix64), the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }

    pub(crate) fn index(&mut self, bound: u64) -> usize {
        usize::try_from(self.below(bound)).unwrap()
    }
}

/// A folder of the shared data; `None`, said loudly, where it is missing on this machine.
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("TEIA_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let folder = shared.join("data").join(folder);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED 1: shared data missing ({})", folder.display());
    None
}
