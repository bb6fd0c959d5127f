//! From a snapshot to a rank file.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use teia_base::{CanonicalUrl, Files};

use super::edges::{self, Edges};
use super::file;
use super::hosts::Hosts;
use super::solve::{Solution, Start};
use super::{OwnLinks, Progress, RankOptions, RankReport, Voices, Watch};
use crate::GraphError;
use crate::chunk;
use crate::dictionary::{self, Values};
use crate::layer::Layer;
use crate::monotone::MonotoneMap;
use crate::snapshot::Snapshot;
use crate::union::{InLinks, Used, write_texts};

/// Nodes between two looks at whether to go on.
const LOOK: u32 = 1 << 16;

/// Ranks all pages and hosts of a snapshot, and replaces the rank file below `prefix`.
///
/// Writers of the graph are not disturbed. `watch` is called many times a second and ends the
/// computation by breaking: then the old rank file stays. One computation at a time in a directory.
pub fn rank(
    snapshot: &Snapshot,
    files: &dyn Files,
    prefix: &Path,
    options: &RankOptions,
    mut watch: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<RankReport, GraphError> {
    let scratch = Scratch::new(files, prefix);
    let result = scratch.compute(snapshot, options, &mut watch);
    scratch.remove();
    result
}

/// Files that are there only while ranks are computed.
struct Scratch<'a> {
    files: &'a dyn Files,
    prefix: &'a Path,
    ranks: PathBuf,
    edges: PathBuf,
    hosts: PathBuf,
}

impl<'a> Scratch<'a> {
    fn new(files: &'a dyn Files, prefix: &'a Path) -> Self {
        Self {
            files,
            prefix,
            ranks: prefix.join("rank.new"),
            edges: prefix.join("rank.edges"),
            hosts: prefix.join("rank.hosts"),
        }
    }

    fn compute(
        &self,
        snapshot: &Snapshot,
        options: &RankOptions,
        watch: &mut Watch<'_>,
    ) -> Result<RankReport, GraphError> {
        let layers = &*snapshot.layers;
        let mut out = chunk::Writer::create(self.files, &self.ranks)?;
        let used = layers.iter().map(Used::of).collect::<Result<Vec<_>, _>>()?;
        let names = layers.iter().zip(&used);
        let names = names.map(|(layer, used)| (&layer.segment.names, used.names.clone()));
        let (names, maps) = write_texts(&mut out, names, Values::None)?;
        let start = start(layers, &used, &maps, &options.personalisation)?;
        let edges = self.page_edges(layers, &used, &maps, names, options, watch)?;
        drop((maps, used));

        let solution = Solution::solve(edges, start, options, watch)?;
        let mut footer = file::Footer {
            position: snapshot.position(),
            pages: names,
            ..file::Footer::default()
        };
        footer.page_values = out.offset();
        footer.page_sum = solution.each(|rank, in_links| file::put(&mut out, rank, in_links))?;
        let mut report = RankReport {
            nodes: names.count,
            links: solution.links(),
            hosts: 0,
            sweeps: solution.sweeps,
            error: solution.error,
        };
        drop(solution);

        if watch(Progress::Hosts).is_break() {
            return Err(GraphError::Stopped);
        }
        let hosts = Hosts::write(self.files, &self.hosts, layers)?;
        report.hosts = hosts.present.count();
        let mut quiet = |progress| match progress {
            // The sweeps that are told of are those over the pages.
            Progress::Swept(..) => watch(Progress::Hosts),
            progress => watch(progress),
        };
        let edges = self.host_edges(&hosts, layers)?;
        let start = Start::Some(hosts.start());
        let solution = Solution::solve(edges, start, options, &mut quiet)?;
        footer.hosts = copy(&mut out, &hosts)?;
        footer.host_values = out.offset();
        let mut host = 0;
        footer.host_sum = solution.each(|rank, in_links| {
            host += 1;
            if hosts.present.contains(host - 1) {
                file::put(&mut out, rank, in_links)?;
            }
            Ok(())
        })?;
        footer.write(out)?;
        self.publish()?;
        Ok(report)
    }

    fn page_edges(
        &self,
        layers: &[Layer],
        used: &[Used],
        maps: &[MonotoneMap],
        names: dictionary::Extent,
        options: &RankOptions,
        watch: &mut Watch<'_>,
    ) -> Result<Edges, GraphError> {
        let nodes = u32::try_from(names.count).unwrap_or(u32::MAX);
        let mut writer = edges::Writer::create(self.files, &self.edges, nodes)?;
        let mut links = InLinks::new(layers, used, maps)?;
        let mut look = LOOK;
        while let Some(node) = links.step()? {
            writer.begin(node)?;
            while let Some((source, layer, labels)) = links.source()? {
                // Labels grow, and those that endorse are the smallest.
                let first = labels.first().copied().unwrap_or(0);
                let speaks = options.voices == Voices::All || first < layers[layer].segment.quiet;
                let counts = source != node || options.own_links == OwnLinks::Count;
                if speaks && counts {
                    writer.push(source)?;
                }
            }
            if node >= look {
                look = node.saturating_add(LOOK);
                if watch(Progress::Reading(node.into(), nodes.into())).is_break() {
                    return Err(GraphError::Stopped);
                }
            }
        }
        writer.finish(self.files, &self.edges)
    }

    fn host_edges(&self, hosts: &Hosts, layers: &[Layer]) -> Result<Edges, GraphError> {
        let mut writer = edges::Writer::create(self.files, &self.edges, hosts.names.count())?;
        hosts.write_edges(&mut writer, layers)?;
        writer.finish(self.files, &self.edges)
    }

    fn publish(&self) -> Result<(), GraphError> {
        let path = file::path_of(self.prefix);
        self.files
            .rename(&self.ranks, &path)
            .and_then(|()| self.files.sync_dir(self.prefix))
            .map_err(|source| GraphError::Write { path, source })
    }

    /// What cannot be removed now is overwritten the next time.
    fn remove(&self) {
        for path in [&self.ranks, &self.edges, &self.hosts] {
            if self.files.exists(path) {
                let _ = self.files.remove(path);
            }
        }
    }
}

/// The nodes where surfers begin, by their new numbers.
fn start(
    layers: &[Layer],
    used: &[Used],
    maps: &[MonotoneMap],
    wanted: &[(CanonicalUrl, f64)],
) -> Result<Start, GraphError> {
    if wanted.is_empty() {
        return Ok(Start::Uniform);
    }
    let mut weights: Vec<(u32, f64)> = Vec::new();
    for (url, weight) in wanted {
        for ((layer, used), map) in layers.iter().zip(used).zip(maps) {
            let node = layer.segment.names.find(url.as_str().as_bytes())?;
            let is_used = |node: &u32| {
                used.names
                    .as_ref()
                    .is_none_or(|names| names.contains(*node))
            };
            if let Some(node) = node.filter(is_used) {
                weights.push((map.get(node), weight.max(0.0)));
                break;
            }
        }
    }
    weights.sort_unstable_by_key(|(node, _)| *node);
    weights.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    if !(sum > 0.0 && sum.is_finite()) {
        return Err(GraphError::Personalisation {
            given: wanted.len(),
        });
    }
    weights.iter_mut().for_each(|(_, weight)| *weight /= sum);
    Ok(Start::Some(weights))
}

/// Writes the names of those hosts that are there.
fn copy(out: &mut chunk::Writer, hosts: &Hosts) -> Result<dictionary::Extent, GraphError> {
    let mut writer = dictionary::Writer::new(out, Values::None);
    let mut entries = hosts.names.entries();
    while entries.step()? {
        if hosts.present.contains(entries.number()) {
            writer.push(out, &entries.text, 0)?;
        }
    }
    writer.finish(out)
}
