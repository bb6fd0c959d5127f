//! Expansion and questions, measured on the judged collections.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod shared;

use std::collections::{HashMap, HashSet};
use std::io::Read;

use serde_json::Value;
use shared::{Place, data, document};
use teia_search::{Extras, SearchRequest, Searcher};

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

/// What carries no meaning of its own in a question, in Portuguese and English.
const SMALL: &str = "a o as os um uma uns umas de do da dos das em no na nos nas num numa por pelo pela pelos pelas para com sem sob \
    sobre entre ao aos à às e ou que se como quando onde quem qual quais quanto quantos quantas quanta porque é são foi era eram foram ser \
    sido está estão estava tem têm teve há seu sua seus suas ele ela eles elas isso este esta esse essa aquele aquela lhe não \
    the an of in on at by for with from to and or that which what who whom when where why how is are was were be been being it its this \
    these those as do does did has have had can could may must there any been between into such not";

/// The mean over the questions of one by the place of the first right answer, among ten.
fn first_right(judged: &Judged, searcher: &Searcher, as_asked: impl Fn(&str) -> String) -> f64 {
    let mut sum = 0.0;
    for (id, query) in &judged.queries {
        let request = SearchRequest {
            group_similar: false,
            ..SearchRequest::new(as_asked(query))
        };
        let hits = searcher.search(&request).unwrap().hits;
        let is_right = |url: &String| judged.relevant[id].contains(url);
        let place = hits
            .iter()
            .position(|hit| is_right(&hit.url) || hit.other_addresses.iter().any(is_right));
        sum += place.map_or(0.0, |place| 1.0 / (place + 1) as f64);
    }
    sum / judged.queries.len() as f64
}

#[test]
fn whole_questions_do_as_well_as_their_content_words() {
    let small: HashSet<&str> = SMALL.split_whitespace().collect();
    let content = |query: &str| {
        let words = query.split_whitespace().filter(|word| {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            !small.contains(bare.to_lowercase().as_str())
        });
        words.collect::<Vec<_>>().join(" ").replace('?', "")
    };
    for name in [
        "relevance-cranfield",
        "relevance-faquad-pt",
        "relevance-juris-tcu-pt",
    ] {
        let Some(mut judged) = load(name) else {
            continue;
        };
        // Some of the queries are a few words already.
        judged
            .queries
            .retain(|(_, query)| query.trim_end().ends_with(['?', '.']));
        let searcher = judged.place.searcher();
        let whole = first_right(&judged, &searcher, str::to_owned);
        let alone = first_right(&judged, &searcher, content);
        eprintln!(
            "{name}, {}: RR@10 of whole questions {whole:.4}, of their content words {alone:.4}",
            judged.queries.len()
        );
        assert!(whole >= alone, "{name}");
    }
}
