//! PageRank beside the references of igraph, on two real graphs.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]
#![allow(clippy::print_stdout, reason = "what was measured is shown")]

mod support;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use support::{PREFIX, ranked, shared, url};
use teia_base::{CanonicalUrl, DiskFiles, Files, LinkKind, Rel};
use teia_graph::{Graph, GraphConfig, PageLink, RankOptions};

fn text_of(path: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    text
}

/// Builds the graph in several segments, ranks it, and compares with the reference by node.
#[track_caller]
fn check(name: &str, names: &[String], links: &[Vec<usize>], reference: &str) {
    let folder = tempfile::tempdir().unwrap();
    let files: Arc<dyn Files> = Arc::new(DiskFiles::new(folder.path()).unwrap());
    let config = GraphConfig {
        memory_bytes: 16 << 20,
        ..GraphConfig::default()
    };
    let mut graph = Graph::open(Arc::clone(&files), PREFIX, config).unwrap();
    let urls: Vec<CanonicalUrl> = names.iter().map(|name| url(name)).collect();
    let mut count = 0;
    for (page, targets) in links.iter().enumerate() {
        let links: Vec<PageLink<'_>> = targets
            .iter()
            .map(|target| PageLink {
                target: &urls[*target],
                kind: LinkKind::Anchor,
                rel: Rel::default(),
                anchor: "",
            })
            .collect();
        count += links.len() as u64;
        graph.apply(&urls[page], &links, page as u64 + 1).unwrap();
        if page % (names.len() / 5) == 0 {
            graph.commit().unwrap();
        }
    }
    graph.commit().unwrap();
    let segments = graph.snapshot().stats().segments;
    let (report, ranks) = ranked(&graph, &files, &RankOptions::default());
    let found: BTreeMap<String, f64> = ranks
        .pages()
        .map(|page| page.map(|(url, rank, _)| (url, rank)).unwrap())
        .collect();
    let (mut worst, mut sum, mut rows) = (0f64, 0f64, 0);
    for row in reference.lines().filter(|row| !row.starts_with('#')) {
        let mut fields = row.split('\t');
        let node: usize = fields.next().unwrap().parse().unwrap();
        let expected: f64 = fields.next().unwrap().parse().unwrap();
        let found = found[&names[node]];
        if node.is_multiple_of(1_000) {
            let looked_up = ranks.get(&urls[node]).unwrap().unwrap().rank;
            assert_eq!(looked_up.to_bits(), found.to_bits());
        }
        worst = worst.max((found - expected).abs());
        sum += (found - expected).abs();
        rows += 1;
    }
    graph.compact().unwrap();
    let stats = graph.snapshot().stats();
    let per_link = stats.bytes as f64 / count as f64;
    println!(
        "{name}: {rows} nodes, {count} links, {segments} segments; {} sweeps; difference at most {worst:.1e}, \
         in all {sum:.1e}; {per_link:.2} bytes a link in one segment, names included",
        report.sweeps
    );
    assert_eq!(rows, names.len());
    assert!(worst < 1e-6 && sum < 1e-6, "{worst:e} {sum:e}");
    assert!(per_link < 12.0, "{per_link}");
}

#[test]
fn ranks_of_cnr_2000_are_those_of_the_reference() {
    let Some(folder) = shared("webgraph-cnr-2000") else {
        return;
    };
    let text = text_of(&folder.join("cnr-2000.graph-txt.gz"));
    let mut lines = text.lines();
    let nodes: usize = lines.next().unwrap().trim().parse().unwrap();
    // Made-up addresses whose order is that of the nodes.
    let names: Vec<String> = (0..nodes)
        .map(|node| format!("http://h{:03}.cnr.example/{node:06}", node / 1_000))
        .collect();
    let mut links: Vec<Vec<usize>> = lines
        .map(|line| {
            line.split_whitespace()
                .map(|n| n.parse().unwrap())
                .collect()
        })
        .collect();
    links.resize(nodes, Vec::new());
    let reference = text_of(&folder.join("pagerank-0.85.tsv.gz"));
    check("cnr-2000", &names, &links, &reference);
}

#[test]
fn ranks_of_wikispeedia_are_those_of_the_reference() {
    let Some(folder) = shared("webgraph-wikispeedia") else {
        return;
    };
    let reference = text_of(&folder.join("pagerank-0.85.tsv.gz"));
    // The reference names its nodes, those that are only seen in links too.
    let articles: Vec<&str> = reference
        .lines()
        .filter(|row| !row.starts_with('#'))
        .map(|row| row.split('\t').nth(2).unwrap())
        .collect();
    let number: BTreeMap<&str, usize> = articles.iter().copied().zip(0..).collect();
    let mut links = vec![Vec::new(); articles.len()];
    for row in text_of(&folder.join("links.tsv.gz")).lines() {
        if let Some((source, target)) = row.split_once('\t').filter(|_| !row.starts_with('#')) {
            links[number[source]].push(number[target]);
        }
    }
    let names: Vec<String> = articles
        .iter()
        .map(|article| format!("https://en.wikipedia.example/wiki/{article}"))
        .collect();
    check("wikispeedia", &names, &links, &reference);
}
