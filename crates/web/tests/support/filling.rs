//! Index and graph of a collection, made from its journal and archive, where the engine has not made them.

use std::ops::ControlFlow;
use std::path::Path;

use teia_archive::Captures;
use teia_base::journal::{Attempt, Record};
use teia_base::{CanonicalUrl, Document, MediaType};
use teia_engine::{Directory, Reading};
use teia_extract::{Extractors, Source};
use teia_graph::{AnchorBounds, Graph, GraphConfig, PageLink, RankFile, RankOptions};
use teia_search::{Extras, IndexConfig, Writer};
use url::Url;

/// Makes what is missing.
pub(crate) fn fill(root: &Path, collection: &str) {
    let index = root.join(collection).join("index");
    if index.join("meta.json").exists() {
        return;
    }
    refill(root, collection);
}

/// Makes index, graph and ranks, or brings those that are there up to date.
pub(crate) fn refill(root: &Path, collection: &str) {
    let directory = Directory::open(root).unwrap();
    let reading = Reading::open(&directory, collection).unwrap();
    let captures = Captures::open(reading.files(), &reading.layout().archive()).unwrap();
    let mut documents: Vec<(Document, u64)> = Vec::new();
    reading
        .entries(|entry| {
            let Record::Commit(commit) = &entry.record else {
                return;
            };
            for attempt in &commit.attempts {
                if attempt.outcome.is_ok() && !attempt.is_robots() {
                    documents.extend(
                        document(&captures, attempt).map(|known| (known, attempt.body_bytes)),
                    );
                }
            }
        })
        .unwrap();
    let prefix = Path::new(collection).join("links");
    let mut graph = Graph::open(reading.files(), &prefix, GraphConfig::default()).unwrap();
    for (at, (document, _)) in documents.iter().enumerate() {
        let targets: Vec<(CanonicalUrl, usize)> = document
            .links
            .iter()
            .enumerate()
            .filter_map(|(at, link)| Some((CanonicalUrl::parse(&link.url).ok()?, at)))
            .collect();
        let links: Vec<PageLink<'_>> = targets
            .iter()
            .map(|(target, at)| PageLink {
                target,
                kind: document.links[*at].kind,
                rel: document.links[*at].rel,
                anchor: &document.links[*at].anchor,
            })
            .collect();
        graph.apply(&document.url, &links, at as u64 + 1).unwrap();
    }
    graph.commit().unwrap();
    let (snapshot, files) = (graph.snapshot(), reading.files());
    let options = RankOptions::default();
    teia_graph::rank(&snapshot, &*files, &prefix, &options, |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    let ranks = RankFile::open(&*files, &prefix, &GraphConfig::default())
        .unwrap()
        .unwrap();
    let mut all: Vec<f64> = ranks.pages().map(|page| page.unwrap().1).collect();
    all.sort_by(f64::total_cmp);
    let mut writer =
        Writer::open(&root.join(collection).join("index"), IndexConfig::default()).unwrap();
    for (document, size) in &documents {
        let is_text = document.media_type.as_ref().is_none_or(|known| {
            known.essence().starts_with("text/") && known.essence() != "text/css"
                || known.essence() == "application/pdf"
        });
        if !is_text || document.text.is_empty() {
            continue;
        }
        let rank = ranks
            .get(&document.url)
            .unwrap()
            .map_or(0.0, |rank| rank.rank);
        let place = all.partition_point(|other| *other < rank) as f32 / all.len() as f32;
        let anchors = snapshot
            .anchors_of(&document.url, AnchorBounds::default())
            .unwrap();
        let extras = Extras {
            anchors: anchors.texts.into_iter().map(|(text, _)| text).collect(),
            rank: place,
            size: *size,
            ..Extras::default()
        };
        writer.add(document, &extras).unwrap();
    }
    writer.commit(documents.len() as u64).unwrap();
    writer.close().unwrap();
}

fn document(captures: &Captures, attempt: &Attempt) -> Option<Document> {
    let url = Url::parse(attempt.url.request()).ok()?;
    let versions = captures.versions(attempt.url.request()).ok()?;
    let entry = versions
        .iter()
        .find(|entry| entry.id.is_some() && entry.id == attempt.capture)
        .or(versions.last())?;
    let response = captures.read(entry).ok()?.response;
    let decoded = teia_fetch::decode(&response, &teia_fetch::DecodeLimits::default());
    let declared = response.media_type();
    let mut source = Source::new(&url, &decoded.bytes);
    source.media_type = declared.as_ref();
    let robots_headers = response.head.texts("x-robots-tag");
    source.robots_headers = &robots_headers;
    let extracted = Extractors::default().extract(&source);
    Some(Document {
        url: attempt.url.normal().clone(),
        requested: attempt.url.spelling().map(str::to_owned),
        outcome: attempt.outcome,
        flags: attempt.flags,
        fetched: attempt.started,
        capture: attempt.capture,
        media_type: attempt.media_type.as_deref().and_then(MediaType::parse),
        depth: attempt.depth,
        title: extracted.title,
        description: extracted.description,
        headings: extracted.headings,
        text: extracted.text,
        margins: extracted.margins,
        language: extracted.language,
        links: extracted.links,
        robots: extracted.robots,
    })
}
