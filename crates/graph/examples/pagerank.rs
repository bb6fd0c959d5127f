//! A power-law graph of any size, and its ranks: what `./dev bench pagerank` runs.
//!
//! ```text
//! pagerank generate FILE LINKS      edges as pairs of u32, sorted, each once, no page to itself
//! pagerank build DIR FILE NODES     the same edges as a graph of URLs
//! pagerank rank DIR RANKS           PageRank; the ranks in the order of nodes (f64)
//! ```
#![allow(clippy::print_stdout, reason = "an example speaks")]

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use teia_base::{CanonicalUrl, DiskFiles, LinkKind, Rel};
use teia_graph::{Graph, GraphConfig, PageLink, RankFile, RankOptions, Snapshot, rank};

type Failed = Box<dyn std::error::Error>;

const PREFIX: &str = "links";
/// Links of a page, on average: pages have from none to twice as many but one.
const DEGREE: u64 = 10;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["generate", file, links] => generate(file, links.parse()?),
        ["build", folder, file, nodes] => build(folder, file, nodes.parse()?),
        ["rank", folder, ranks] => compute(folder, ranks),
        _ => Err("pagerank generate FILE LINKS | build DIR FILE NODES | rank DIR RANKS".into()),
    }
}

/// Half of a page's links lead near it, as on one host; the others to pages by a power law.
fn generate(path: &str, links: u64) -> Result<(), Failed> {
    let nodes = (links / DEGREE).max(2);
    let mut out = BufWriter::new(File::create(path)?);
    let mut random = Random(7);
    let (mut written, mut targets) = (0u64, Vec::new());
    for page in 0..nodes {
        targets.clear();
        // One page in five has no links, as in crawls; the others have more for it.
        let degree = match random.below(5) {
            0 => 0,
            _ => random.below(DEGREE * 5 / 2) + 1,
        };
        for _ in 0..degree {
            let target = if random.below(2) == 0 {
                (page + random.below(200))
                    .saturating_sub(100)
                    .min(nodes - 1)
            } else {
                // Ranks by a power law, scattered over all pages.
                let rank = power_law(random.unit(), nodes);
                rank.wrapping_mul(0x9E37_79B9_7F4A_7C15) % nodes
            };
            if target != page {
                targets.push(target);
            }
        }
        targets.sort_unstable();
        targets.dedup();
        for target in &targets {
            out.write_all(&u32::try_from(page)?.to_le_bytes())?;
            out.write_all(&u32::try_from(*target)?.to_le_bytes())?;
        }
        written += targets.len() as u64;
    }
    out.flush()?;
    println!("{{\"nodes\": {nodes}, \"links\": {written}}}");
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a random node: any of them will do"
)]
fn power_law(unit: f64, nodes: u64) -> u64 {
    // Density falls as the rank to the power of -0.75.
    ((unit.powi(4) * nodes as f64) as u64).min(nodes - 1)
}

fn build(folder: &str, edges: &str, nodes: u32) -> Result<(), Failed> {
    let began = Instant::now();
    let files = Arc::new(DiskFiles::new(folder)?);
    let mut graph = Graph::open(files, PREFIX, GraphConfig::default())?;
    let mut input = BufReader::with_capacity(1 << 20, File::open(edges)?);
    let (mut page, mut targets, mut links) = (0u32, Vec::new(), 0u64);
    let mut pair = [0; 8];
    loop {
        let more = input.read_exact(&mut pair).is_ok();
        let (source, target) = pair.split_at(4);
        let source = u32::from_le_bytes(source.try_into()?);
        if !more || source != page {
            apply(&mut graph, page, &targets)?;
            links += targets.len() as u64;
            targets.clear();
            // Pages without links are pages too.
            for empty in page + 1..if more { source } else { nodes } {
                apply(&mut graph, empty, &[])?;
            }
            if links / 2_000_000 != (links + 30) / 2_000_000 {
                graph.commit()?;
            }
            page = source;
        }
        if !more {
            break;
        }
        targets.push(url(u32::from_le_bytes(target.try_into()?)));
    }
    graph.commit()?;
    let stats = graph.snapshot().stats();
    println!(
        "{{\"seconds\": {:.2}, \"bytes\": {}, \"links\": {links}, \"segments\": {}}}",
        began.elapsed().as_secs_f64(),
        stats.bytes,
        stats.segments
    );
    Ok(())
}

fn apply(graph: &mut Graph, page: u32, targets: &[CanonicalUrl]) -> Result<(), Failed> {
    let links: Vec<PageLink<'_>> = targets
        .iter()
        .map(|target| PageLink {
            target,
            kind: LinkKind::Anchor,
            rel: Rel::default(),
            anchor: "",
        })
        .collect();
    Ok(graph.apply(&url(page), &links, u64::from(page) + 1)?)
}

/// Addresses whose order is that of the nodes, a hundred on each host.
fn url(node: u32) -> CanonicalUrl {
    CanonicalUrl::from_stored(&format!(
        "http://www.host{:07}.example/page/{node:09}.html",
        node / 100
    ))
}

fn compute(folder: &str, path: &str) -> Result<(), Failed> {
    let began = Instant::now();
    let files = DiskFiles::existing(folder);
    let (prefix, config) = (Path::new(PREFIX), GraphConfig::default());
    let snapshot = Snapshot::open(&files, prefix, &config)?;
    let go_on = |_| ControlFlow::Continue(());
    let report = rank(&snapshot, &files, prefix, &RankOptions::default(), go_on)?;
    let seconds = began.elapsed().as_secs_f64();
    let ranks = RankFile::open(&files, prefix, &config)?.ok_or("there is no rank file")?;
    let mut out = BufWriter::new(File::create(path)?);
    for (next, page) in (0u32..).zip(ranks.pages()) {
        let (name, rank, _) = page?;
        if name != url(next).as_str() {
            return Err(format!("{name} instead of node {next}").into());
        }
        out.write_all(&rank.to_le_bytes())?;
    }
    out.flush()?;
    println!(
        "{{\"seconds\": {seconds:.2}, \"nodes\": {}, \"links\": {}, \"hosts\": {}, \"sweeps\": {}, \"error\": {:e}}}",
        report.nodes, report.links, report.hosts, report.sweeps, report.error
    );
    Ok(())
}

/// SplitMix64: small, seeded, the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
