//! Power cuts at every write, damaged bytes, and pages that mean harm.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod support;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use support::{ModelLink, PREFIX, apply, open_small, ranked, url};
use teia_base::{CanonicalUrl, Files, LinkKind, PowerCut, Rel, SimulatedDisk};
use teia_graph::{
    AnchorBounds, Graph, GraphConfig, GraphError, PageLink, RankFile, RankOptions, Snapshot, rank,
};

const STEPS: u64 = 24;

/// The links of the one page that a journal entry changes.
fn entry(position: u64) -> (String, Option<BTreeSet<ModelLink>>) {
    let page = format!("http://a.example/{}", position % 5);
    if position % 7 == 6 {
        return (page, None);
    }
    let link = |other: u64| {
        let target = format!("http://b.example/{}", (position + other) % 9);
        (target, format!("text {position}"), false)
    };
    (page, Some((0..position % 4 + 1).map(link).collect()))
}

fn follow(graph: &mut Graph) -> Result<(), GraphError> {
    for position in graph.position() + 1..=STEPS {
        let (page, links) = entry(position);
        apply(graph, &page, links.as_ref(), position)?;
        if position % 3 == 0 {
            graph.commit()?;
        }
    }
    graph.commit()
}

/// Everything that the graph says of every URL of [`entry`].
fn described(snapshot: &Snapshot) -> String {
    let pages = (0..5).map(|number| format!("http://a.example/{number}"));
    let targets = (0..9).map(|number| format!("http://b.example/{number}"));
    let mut text = format!("{:?}", snapshot.host_in_links("b.example", 0, 9).unwrap());
    for name in pages.chain(targets) {
        let mut sources = snapshot.in_links(&url(&name), 0, 99).unwrap().items;
        sources.sort_by(|a, b| a.url.cmp(&b.url));
        let out = snapshot.out_links(&url(&name), 0, 99).unwrap();
        text.push_str(&format!("{name} {out:?} {sources:?}\n"));
    }
    text
}

#[test]
fn a_power_cut_at_any_write_leaves_a_committed_graph_that_catches_up() {
    let whole: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut graph = open_small(&whole).unwrap();
    follow(&mut graph).unwrap();
    let expected = described(&graph.snapshot());

    let counting = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(counting.clone());
    follow(&mut open_small(&files).unwrap()).unwrap();
    let calls = counting.calls();
    assert!(calls > 60, "{calls}");
    for after_calls in 0..calls {
        let disk = SimulatedDisk::new();
        let files: Arc<dyn Files> = Arc::new(disk.clone());
        disk.plan(PowerCut { after_calls });
        let mut committed = 0;
        if let Ok(mut graph) = open_small(&files) {
            let _ = follow(&mut graph);
            committed = graph.position();
        }
        disk.cut_power(after_calls);
        let mut graph = open_small(&files).unwrap();
        assert!(graph.position() >= committed, "what was committed is there");
        graph.snapshot().verify().unwrap();
        follow(&mut graph).unwrap();
        assert_eq!(
            described(&graph.snapshot()),
            expected,
            "cut after {after_calls}"
        );
    }
}

#[test]
fn a_power_cut_while_ranks_are_written_leaves_old_or_new_ones() {
    let options = RankOptions::default();
    for after_calls in 0..20 {
        let disk = SimulatedDisk::new();
        let files: Arc<dyn Files> = Arc::new(disk.clone());
        let mut graph = open_small(&files).unwrap();
        follow(&mut graph).unwrap();
        let (report, _) = ranked(&graph, &files, &options);
        disk.plan(PowerCut { after_calls });
        let go_on = |_| ControlFlow::Continue(());
        let _ = rank(
            &graph.snapshot(),
            &*files,
            Path::new(PREFIX),
            &options,
            go_on,
        );
        disk.cut_power(after_calls);
        let ranks = RankFile::open(&*files, Path::new(PREFIX), &GraphConfig::default());
        let ranks = ranks.unwrap().unwrap();
        ranks.verify().unwrap();
        assert_eq!(ranks.len(), report.nodes);
    }
}

#[test]
fn a_full_disk_is_an_error_and_loses_nothing_committed() {
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let mut graph = open_small(&files).unwrap();
    follow(&mut graph).unwrap();
    let before = described(&graph.snapshot());
    disk.set_free_bytes(Some(10));
    apply(&mut graph, "http://a.example/0", None, STEPS + 1).unwrap();
    assert!(matches!(graph.commit(), Err(GraphError::Write { .. })));
    disk.set_free_bytes(None);
    let graph = open_small(&files).unwrap();
    assert_eq!(
        (graph.position(), described(&graph.snapshot())),
        (STEPS, before)
    );
}

#[test]
fn every_damaged_byte_is_found_and_named() {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut graph = open_small(&files).unwrap();
    follow(&mut graph).unwrap();
    ranked(&graph, &files, &RankOptions::default());
    drop(graph);
    let (prefix, config) = (Path::new(PREFIX), GraphConfig::default());
    for name in files.list(prefix).unwrap() {
        let path = prefix.join(&name);
        let whole = files.read(&path).unwrap();
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (place % 8);
            files.create(&path).unwrap().append(&bytes).unwrap();
            let error = if name == "rank" {
                RankFile::open(&*files, prefix, &config)
                    .and_then(|ranks| ranks.unwrap().verify())
                    .unwrap_err()
            } else {
                Snapshot::open(&*files, prefix, &config)
                    .and_then(|snapshot| snapshot.verify())
                    .unwrap_err()
            };
            assert!(
                matches!(
                    error,
                    GraphError::Damaged { .. } | GraphError::Foreign { .. }
                ),
                "{error:?}"
            );
            assert!(
                error.to_string().contains(&name),
                "{error} should name {name}"
            );
        }
        // A file that is cut short is found as well.
        files
            .create(&path)
            .unwrap()
            .append(&whole[..whole.len() / 2])
            .unwrap();
        let opened = Snapshot::open(&*files, prefix, &config).map(drop);
        let ranks = RankFile::open(&*files, prefix, &config).map(drop);
        assert!(opened.is_err() || ranks.is_err(), "{name}");
        files.create(&path).unwrap().append(&whole).unwrap();
    }
    Snapshot::open(&*files, prefix, &config)
        .unwrap()
        .verify()
        .unwrap();
}

#[test]
fn hostile_urls_and_anchors_are_kept_bounded_or_left_out() {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut graph = Graph::open(Arc::clone(&files), PREFIX, GraphConfig::default()).unwrap();
    let longest = format!("http://l.example/{}", "x".repeat((64 << 10) - 17));
    let too_long = format!("{longest}x");
    let targets: Vec<CanonicalUrl> = [
        "",
        "\0",
        "http://nul\0.example/\0",
        "http://\u{1}/",
        "http://ção.example/é?\u{10FFFF}",
        "javascript:alert(1)",
        "http://a@b@c.example:99999999/",
        "http://[/",
        &longest,
        &too_long,
    ]
    .map(url)
    .to_vec();
    let huge = "ã".repeat(1 << 20);
    let anchors = ["", "\0", "<script>alert(1)</script>", "\u{202E}txt", &huge];
    let links: Vec<PageLink<'_>> = targets
        .iter()
        .flat_map(|target| {
            anchors.map(|anchor| PageLink {
                target,
                kind: LinkKind::Anchor,
                rel: Rel::default(),
                anchor,
            })
        })
        .collect();
    graph
        .apply(&url("http://evil.example/"), &links, 1)
        .unwrap();
    graph.apply(&url(""), &links, 2).unwrap();
    graph.apply(&url(&too_long), &links, 3).unwrap();
    graph.commit().unwrap();
    assert_eq!(graph.left_out(), 5 + 5 + 50);
    graph.compact().unwrap();
    let snapshot = graph.snapshot();
    snapshot.verify().unwrap();
    for target in &targets[..9] {
        let found = snapshot.in_links(target, 0, 9).unwrap();
        assert_eq!(found.total, 2, "{target:?}");
        assert_eq!(found.items[0].labels.len(), anchors.len());
        let longest = found.items[0]
            .labels
            .iter()
            .map(|label| label.anchor.len())
            .max();
        assert_eq!(longest, Some(512));
        let found = snapshot
            .anchors_of(target, AnchorBounds::default())
            .unwrap();
        assert_eq!((found.texts.len(), found.complete), (4, true));
        let bounds = AnchorBounds {
            max_links: 1,
            max_texts: 2,
        };
        let found = snapshot.anchors_of(target, bounds).unwrap();
        assert!(found.texts.len() <= 2 && !found.complete);
    }
    assert_eq!(snapshot.counts(&targets[9]).unwrap(), None);
    let hosts = snapshot.host_in_links("nul\0.example", 0, 9).unwrap();
    assert_eq!(hosts.total, 2, "{hosts:?}");
    let (_, ranks) = ranked(&graph, &files, &RankOptions::default());
    assert_eq!(ranks.len(), 10);
    assert!(ranks.get(&url("\0")).unwrap().is_some());
    assert!(ranks.host("").unwrap().is_some());
}
