//! Expansion and questions, measured on the judged collections.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod shared;

use std::collections::{HashMap, HashSet};
use std::io::Read;

use serde_json::Value;
use shared::{Place, data, document};
use teia_search::{Extras, SearchRequest, Searcher};

/// Queries of each collection that are asked: enough to see the difference, soon done.
const QUERIES: usize = 150;

struct Judged {
    place: Place,
    queries: Vec<(String, String)>,
    relevant: HashMap<String, HashSet<String>>,
}

fn load(name: &str) -> Option<Judged> {
    let folder = data(name)?;
    let read = |name: &str| {
        let mut text = String::new();
        match std::fs::File::open(folder.join(name)) {
            Ok(mut file) => file.read_to_string(&mut text).unwrap(),
            Err(_) => {
                let file = std::fs::File::open(folder.join(format!("{name}.gz"))).unwrap();
                flate2::read::GzDecoder::new(file)
                    .read_to_string(&mut text)
                    .unwrap()
            }
        };
        text
    };
    let lines = |text: String| -> Vec<Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let mut place = Place::new();
    for line in lines(read("docs.jsonl")) {
        let address = format!("http://x.test/{}", line["id"].as_str().unwrap());
        let mut page = document(
            &address,
            line["title"].as_str().unwrap_or(""),
            line["text"].as_str().unwrap(),
        );
        page.language = None;
        place.writer.add(&page, &Extras::default()).unwrap();
    }
    place.writer.commit(1).unwrap();
    let mut relevant: HashMap<String, HashSet<String>> = HashMap::new();
    for line in read("qrels.txt").lines() {
        let parts: Vec<&str> = line.split_whitespace().collect();
        if parts[3] != "0" {
            relevant
                .entry(parts[0].into())
                .or_default()
                .insert(format!("http://x.test/{}", parts[2]));
        }
    }
    let queries = lines(read("queries.jsonl"))
        .into_iter()
        .map(|line| {
            (
                line["id"].as_str().unwrap().to_owned(),
                line["text"].as_str().unwrap().to_owned(),
            )
        })
        .filter(|(id, _)| relevant.contains_key(id))
        .take(QUERIES)
        .collect();
    Some(Judged {
        place,
        queries,
        relevant,
    })
}

/// Mean recall over the first hundred.
fn recall(judged: &Judged, searcher: &Searcher, expand: bool) -> f64 {
    let mut sum = 0.0;
    for (id, query) in &judged.queries {
        let request = SearchRequest {
            limit: 100,
            expand,
            group_similar: false,
            ..SearchRequest::new(query)
        };
        let results = searcher.search(&request).unwrap();
        let relevant = &judged.relevant[id];
        let found = results
            .hits
            .iter()
            .flat_map(|hit| std::iter::once(&hit.url).chain(&hit.other_addresses));
        sum += found.filter(|url| relevant.contains(*url)).count() as f64 / relevant.len() as f64;
    }
    sum / judged.queries.len() as f64
}

#[test]
fn expansion_raises_recall_on_two_collections() {
    for name in ["relevance-cranfield", "relevance-juris-tcu-pt"] {
        let Some(judged) = load(name) else {
            continue;
        };
        let searcher = judged.place.searcher();
        let (plain, expanded) = (
            recall(&judged, &searcher, false),
            recall(&judged, &searcher, true),
        );
        eprintln!("{name}: recall@100 {plain:.4}, expanded {expanded:.4}");
        assert!(expanded > plain, "{name}");
    }
}
