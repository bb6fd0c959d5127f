//! The graph beside plain maps, over rounds of change.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use support::{Model, PREFIX, Random, apply, open_small, power_iteration, ranked, url};
use teia_base::{Files, SimulatedDisk};
use teia_graph::{
    AnchorBounds, Graph, GraphConfig, GraphError, Neighbour, RankFile, RankOptions, Snapshot,
    Voices,
};

const PAGES: u64 = 60;

fn page(number: u64) -> String {
    format!("http://h{}.example/p{number}", number % 7)
}

/// A new version of a page, or nothing where it vanishes.
fn version(random: &mut Random) -> Option<BTreeSet<support::ModelLink>> {
    if random.below(5) == 0 {
        return None;
    }
    let links = random.below(12);
    let link = |_| {
        // Some targets are never fetched.
        let target = page(random.below(PAGES * 4 / 3));
        let anchor = ["", "home", "São Paulo", "next page"][random.index(4)];
        (target, anchor.to_owned(), random.below(4) == 0)
    };
    Some((0..links).map(link).collect())
}

fn pairs(model: &Model) -> BTreeSet<(String, String)> {
    let pairs = |(page, links): (&String, &BTreeSet<support::ModelLink>)| {
        let page = page.clone();
        let targets = links.iter().map(|(target, ..)| target.clone());
        targets
            .map(move |target| (page.clone(), target))
            .collect::<Vec<_>>()
    };
    model.iter().flat_map(pairs).collect()
}

/// Target or source, and the anchors between the two.
fn anchors(neighbour: &Neighbour) -> (String, BTreeSet<(String, bool)>) {
    let labels = neighbour.labels.iter();
    let labels = labels.map(|label| (label.anchor.clone(), label.rel.nofollow));
    (neighbour.url.clone(), labels.collect())
}

fn expected_anchors(model: &Model, source: &str, target: &str) -> BTreeSet<(String, bool)> {
    let links = model[source].iter().filter(|(other, ..)| other == target);
    links
        .map(|(_, anchor, nofollow)| (anchor.clone(), *nofollow))
        .collect()
}

fn check_links(snapshot: &Snapshot, model: &Model) {
    let pairs = pairs(model);
    for number in 0..PAGES * 4 / 3 {
        let name = page(number);
        let address = url(&name);
        let out: Option<BTreeMap<_, _>> = model.get(&name).map(|links| {
            let targets = links.iter().map(|(target, ..)| target.clone());
            targets
                .map(|t| (t.clone(), expected_anchors(model, &name, &t)))
                .collect()
        });
        let found = snapshot.out_links(&address, 0, 100).unwrap();
        assert_eq!(
            found
                .as_ref()
                .map(|l| l.items.iter().map(anchors).collect()),
            out
        );
        let sources = pairs.iter().filter(|(_, target)| *target == name);
        let inward: BTreeMap<_, _> = sources
            .map(|(source, _)| (source.clone(), expected_anchors(model, source, &name)))
            .collect();
        let found = snapshot.in_links(&address, 0, 1_000).unwrap();
        assert_eq!(found.total, inward.len() as u64, "{name}");
        assert_eq!(
            found.items.iter().map(anchors).collect::<BTreeMap<_, _>>(),
            inward
        );
        // Page by page is the same as all at once.
        let paged: Vec<Neighbour> = (0..found.total.div_ceil(3))
            .flat_map(|part| snapshot.in_links(&address, part * 3, 3).unwrap().items)
            .collect();
        assert_eq!(paged, found.items);
        let counts = snapshot.counts(&address).unwrap();
        let expected = (out.is_some() || !inward.is_empty()).then(|| {
            (
                out.as_ref().map(|out| out.len() as u64),
                inward.len() as u64,
            )
        });
        assert_eq!(
            counts.map(|counts| (counts.out_links, counts.in_links)),
            expected
        );
        let mut texts: BTreeMap<String, u64> = BTreeMap::new();
        for (source, labels) in inward.iter().filter(|(source, _)| **source != name) {
            assert!(model.contains_key(source));
            for (anchor, nofollow) in labels {
                if !nofollow && !anchor.is_empty() {
                    *texts.entry(anchor.clone()).or_default() += 1;
                }
            }
        }
        let found = snapshot
            .anchors_of(&address, AnchorBounds::default())
            .unwrap();
        assert!(found.complete);
        assert_eq!(found.texts.into_iter().collect::<BTreeMap<_, _>>(), texts);
    }
}

fn check_hosts(snapshot: &Snapshot, model: &Model) {
    let host = |page: &str| url(page).host_str().to_owned();
    let mut expected: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (source, target) in pairs(model) {
        *expected.entry((host(&source), host(&target))).or_default() += 1;
    }
    for number in 0..7 {
        let name = format!("h{number}.example");
        let pages = model.keys().filter(|page| host(page) == name).count() as u64;
        assert_eq!(snapshot.host_pages(&name).unwrap(), pages);
        let found = snapshot.host_out_links(&name, 0, 100).unwrap();
        let found: Vec<_> = found
            .items
            .into_iter()
            .map(|item| (item.host, item.links))
            .collect();
        let out = expected.iter().filter(|((source, _), _)| *source == name);
        let out: Vec<_> = out
            .map(|((_, target), links)| (target.clone(), *links))
            .collect();
        assert_eq!(found, out);
        let found = snapshot.host_in_links(&name, 0, 100).unwrap();
        let found: Vec<_> = found
            .items
            .into_iter()
            .map(|item| (item.host, item.links))
            .collect();
        let inward = expected.iter().filter(|((_, target), _)| *target == name);
        let inward: Vec<_> = inward
            .map(|((source, _), links)| (source.clone(), *links))
            .collect();
        assert_eq!(found, inward);
    }
}

fn check_ranks(graph: &Graph, files: &Arc<dyn Files>, model: &Model) {
    let pairs = pairs(model);
    let mut nodes: BTreeSet<String> = model.keys().cloned().collect();
    nodes.extend(pairs.iter().map(|(_, target)| target.clone()));
    let start = BTreeMap::from([(page(0), 3.0), (page(PAGES + 1), 1.0), (page(8), 2.0)]);
    for (voices, start) in [
        (Voices::All, BTreeMap::new()),
        (Voices::Endorsing, BTreeMap::new()),
        (Voices::All, start),
    ] {
        let start: BTreeMap<String, f64> = start
            .into_iter()
            .filter(|(node, _)| nodes.contains(node))
            .collect();
        let options = RankOptions {
            voices,
            personalisation: start
                .iter()
                .map(|(node, weight)| (url(node), *weight))
                .collect(),
            ..RankOptions::default()
        };
        let speaks = |(source, target): &&(String, String)| {
            let labels = expected_anchors(model, source, target);
            voices == Voices::All || labels.iter().any(|(_, nofollow)| !nofollow)
        };
        let edges: BTreeSet<(String, String)> = pairs.iter().filter(speaks).cloned().collect();
        let (report, ranks) = ranked(graph, files, &options);
        assert_eq!(
            (report.nodes, report.links),
            (nodes.len() as u64, edges.len() as u64)
        );
        let expected = power_iteration(&nodes, &edges, &start);
        for found in ranks.pages() {
            let (name, rank, in_links) = found.unwrap();
            assert!(
                (rank - expected[&name]).abs() < 1e-8,
                "{name}: {rank}, {}",
                expected[&name]
            );
            let count = edges.iter().filter(|(_, target)| *target == name).count();
            assert_eq!(in_links as usize, count);
            assert_eq!(
                ranks.get(&url(&name)).unwrap().unwrap().rank.to_bits(),
                rank.to_bits()
            );
        }
        check_host_ranks(&ranks, &nodes, &pairs);
    }
}

fn check_host_ranks(
    ranks: &RankFile,
    nodes: &BTreeSet<String>,
    pairs: &BTreeSet<(String, String)>,
) {
    let host = |page: &String| url(page).host_str().to_owned();
    let hosts: BTreeSet<String> = nodes.iter().map(host).collect();
    let edges = pairs
        .iter()
        .map(|(source, target)| (host(source), host(target)));
    let edges = edges.filter(|(source, target)| source != target).collect();
    let expected = power_iteration(&hosts, &edges, &BTreeMap::new());
    let found: BTreeMap<String, f64> = ranks
        .hosts()
        .map(|found| found.map(|(host, rank, _)| (host, rank)).unwrap())
        .collect();
    assert!(found.keys().eq(expected.keys()));
    for (host, rank) in found {
        assert!((rank - expected[&host]).abs() < 1e-8, "{host}");
        let own = ranks.host(&host).unwrap().unwrap();
        let count = edges.iter().filter(|(_, target)| *target == host).count();
        assert_eq!(
            (own.rank.to_bits(), own.in_hosts as usize),
            (rank.to_bits(), count)
        );
    }
}

#[test]
fn ten_rounds_of_change_leave_what_maps_would_hold() {
    for seed in 0..3 {
        let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
        let mut random = Random(seed);
        let mut model = Model::new();
        let mut graph = open_small(&files).unwrap();
        let mut position = 0;
        for round in 0..10 {
            for _ in 0..PAGES {
                position += 1;
                let name = page(random.below(PAGES));
                let links = version(&mut random);
                apply(&mut graph, &name, links.as_ref(), position).unwrap();
                match links {
                    Some(links) => model.insert(name, links),
                    None => model.remove(&name),
                };
                if random.below(25) == 0 {
                    graph.commit().unwrap();
                }
            }
            graph.commit().unwrap();
            if round % 3 == 2 {
                drop(graph);
                graph = open_small(&files).unwrap();
            }
            if round == 7 {
                graph.compact().unwrap();
                assert_eq!(graph.snapshot().stats().segments, 1);
            }
            assert_eq!(graph.position(), position);
            let snapshot = graph.snapshot();
            assert_eq!(snapshot.stats().pages, model.len() as u64);
            snapshot.verify().unwrap();
            check_links(&snapshot, &model);
            check_hosts(&snapshot, &model);
            check_ranks(&graph, &files, &model);
        }
    }
}

#[test]
fn a_snapshot_stays_as_it_was_while_the_writer_goes_on() {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut random = Random(9);
    let mut graph = open_small(&files).unwrap();
    let mut model = Model::new();
    for number in 0..PAGES {
        let links = version(&mut random).unwrap_or_default();
        apply(&mut graph, &page(number), Some(&links), number).unwrap();
        model.insert(page(number), links);
    }
    graph.commit().unwrap();
    let before = graph.snapshot();
    for number in 0..PAGES {
        graph.remove(&url(&page(number)), PAGES + number).unwrap();
    }
    check_links(&graph.snapshot(), &model);
    graph.compact().unwrap();
    check_links(&before, &model);
    check_hosts(&before, &model);
    assert_eq!(graph.snapshot().stats().pages, 0);
    check_links(&graph.snapshot(), &Model::new());
    let reader = Snapshot::open(&*files, Path::new(PREFIX), &GraphConfig::default()).unwrap();
    check_links(&reader, &Model::new());
}

#[test]
fn a_computation_that_is_stopped_leaves_the_old_ranks() {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut graph = open_small(&files).unwrap();
    let links = BTreeSet::from([(page(1), String::new(), false)]);
    apply(&mut graph, &page(0), Some(&links), 1).unwrap();
    graph.commit().unwrap();
    let (_, ranks) = ranked(&graph, &files, &RankOptions::default());
    assert_eq!((ranks.len(), ranks.position()), (2, 1));
    graph.remove(&url(&page(0)), 2).unwrap();
    graph.commit().unwrap();
    let prefix = Path::new(PREFIX);
    let options = RankOptions::default();
    let stopped = |_| ControlFlow::Break(());
    let result = teia_graph::rank(&graph.snapshot(), &*files, prefix, &options, stopped);
    assert!(matches!(result, Err(GraphError::Stopped)));
    let left = RankFile::open(&*files, prefix, &GraphConfig::default())
        .unwrap()
        .unwrap();
    assert_eq!(left.len(), 2);
    assert!(!files.exists(Path::new("links/rank.edges")));
    let (report, ranks) = ranked(&graph, &files, &options);
    assert!(ranks.is_empty() && report.nodes == 0 && report.hosts == 0);
    let options = RankOptions {
        personalisation: vec![(url("http://nowhere/"), 1.0)],
        ..options
    };
    let go_on = |_| ControlFlow::Continue(());
    let result = teia_graph::rank(&graph.snapshot(), &*files, prefix, &options, go_on);
    assert!(matches!(
        result,
        Err(GraphError::Personalisation { given: 1 })
    ));
}
