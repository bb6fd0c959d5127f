//! Judged collections through Teia's index and through plain Tantivy, in one run.
//!
//!     cargo run --release -p teia-search --example relevance -- DIRECTORY... [--weights JSON] [--runs DIR]
//!
//! Each directory has `docs.jsonl(.gz)`, `queries.jsonl` and `qrels.txt` (or `qrels-binary.txt`).
//! One line of JSON for each system and collection; `--runs` also writes TREC run files.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]
#![expect(clippy::unwrap_used, reason = "a bench may fail")]

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use teia_base::{CanonicalUrl, Directives, Document, Flags, MediaType, Outcome, Timestamp};
use teia_search::{Extras, IndexConfig, SearchConfig, SearchRequest, Searcher, Weights, Writer};

type Judgements = HashMap<String, HashMap<String, i32>>;
type Run = HashMap<String, Vec<String>>;

fn main() {
    let mut directories = Vec::new();
    let mut weights = Weights::default();
    let mut runs = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--weights" => weights = serde_json::from_str(&arguments.next().unwrap()).unwrap(),
            "--runs" => runs = arguments.next().map(PathBuf::from),
            _ => directories.push(PathBuf::from(argument)),
        }
    }
    for directory in &directories {
        let name = directory
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let documents = lines(directory, "docs.jsonl");
        let queries: Vec<(String, String)> = lines(directory, "queries.jsonl")
            .iter()
            .map(|query| (text(query, "id"), text(query, "text")))
            .collect();
        let searcher = index(&documents, &weights);
        let systems = [
            ("teia", ask(&searcher.0, &queries, false)),
            ("teia, expanded", ask(&searcher.0, &queries, true)),
            ("Tantivy BM25", plain::run(&documents, &queries)),
        ];
        for file in ["qrels-binary.txt", "qrels.txt"] {
            let Some(judgements) = judgements(&directory.join(file)) else {
                continue;
            };
            for (system, run) in &systems {
                let [ndcg, map, rr, recall] = measure(run, &judgements);
                let line = serde_json::json!({
                    "collection": name, "judgements": file, "system": system,
                    "ndcg10": ndcg, "map": map, "rr10": rr, "recall100": recall,
                });
                println!("{line}");
            }
        }
        if let Some(folder) = &runs {
            for (system, run) in &systems {
                write_run(
                    &folder.join(format!("{name}.{}.run", system.replace([',', ' '], ""))),
                    run,
                );
            }
        }
    }
}

fn index(documents: &[Value], weights: &Weights) -> (Searcher, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
    for document in documents {
        let id = text(document, "id");
        let document = Document {
            url: CanonicalUrl::parse(&format!("http://x.test/{id}")).unwrap(),
            requested: None,
            outcome: Outcome::http(200),
            flags: Flags::default(),
            fetched: Timestamp::default(),
            capture: None,
            media_type: MediaType::parse("text/html"),
            depth: 0,
            title: text(document, "title"),
            description: String::new(),
            headings: Vec::new(),
            text: text(document, "text"),
            margins: Vec::new(),
            language: None,
            links: Vec::new(),
            robots: Directives::default(),
        };
        writer.add(&document, &Extras::default()).unwrap();
    }
    writer.commit(1).unwrap();
    let mut searcher = Searcher::new(SearchConfig::default(), weights.clone());
    searcher.open("x", folder.path()).unwrap();
    (searcher, folder)
}

fn ask(searcher: &Searcher, queries: &[(String, String)], expand: bool) -> Run {
    let mut run = Run::new();
    for (id, query) in queries {
        let request = SearchRequest {
            limit: 100,
            expand,
            group_similar: false,
            ..SearchRequest::new(query)
        };
        let results = searcher.search(&request).unwrap();
        let mut found = Vec::new();
        for hit in &results.hits {
            // A copy stands where its twin stands.
            for url in std::iter::once(&hit.url).chain(&hit.other_addresses) {
                found.push(url.trim_start_matches("http://x.test/").to_owned());
            }
        }
        run.insert(id.clone(), found);
    }
    run
}

/// nDCG@10, MAP, RR@10, recall@100: means over the judged queries.
fn measure(run: &Run, judgements: &Judgements) -> [f64; 4] {
    let mut sums = [0.0; 4];
    let mut queries = 0.0;
    for (query, judged) in judgements {
        let relevant = judged.values().filter(|&&gain| gain > 0).count();
        if relevant == 0 {
            continue;
        }
        queries += 1.0;
        let Some(found) = run.get(query) else {
            continue;
        };
        let gain = |id: &String| judged.get(id).copied().unwrap_or(0).max(0);
        let discounted = |gains: &[i32]| -> f64 {
            gains
                .iter()
                .take(10)
                .enumerate()
                .map(|(rank, &gain)| f64::from(gain) / (rank as f64 + 2.0).log2())
                .sum()
        };
        let gains: Vec<i32> = found.iter().map(gain).collect();
        let mut ideal: Vec<i32> = judged.values().copied().collect();
        ideal.sort_by(|a, b| b.cmp(a));
        sums[0] += discounted(&gains) / discounted(&ideal);
        let mut hits = 0.0;
        let mut precision = 0.0;
        for (rank, &gain) in gains.iter().enumerate().take(1_000) {
            if gain > 0 {
                hits += 1.0;
                precision += hits / (rank as f64 + 1.0);
            }
        }
        sums[1] += precision / relevant as f64;
        let first = gains.iter().take(10).position(|&gain| gain > 0);
        sums[2] += first.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0));
        let within = gains.iter().take(100).filter(|&&gain| gain > 0).count();
        sums[3] += within as f64 / relevant as f64;
    }
    sums.map(|sum| sum / queries)
}

fn judgements(path: &Path) -> Option<Judgements> {
    let mut judgements = Judgements::new();
    for line in std::fs::read_to_string(path).ok()?.lines() {
        let parts: Vec<&str> = line.split_whitespace().collect();
        let [query, _, document, gain] = parts[..] else {
            continue;
        };
        let known = judgements.entry(query.to_owned()).or_default();
        known.insert(document.to_owned(), gain.parse().unwrap());
    }
    Some(judgements)
}

fn write_run(path: &Path, run: &Run) {
    let mut lines = String::new();
    for (query, found) in run {
        for (rank, document) in found.iter().enumerate() {
            lines.push_str(&format!(
                "{query} Q0 {document} {} {} teia\n",
                rank + 1,
                1_000 - rank
            ));
        }
    }
    std::fs::write(path, lines).unwrap();
}

fn lines(directory: &Path, name: &str) -> Vec<Value> {
    let plain = directory.join(name);
    let mut content = String::new();
    if plain.exists() {
        content = std::fs::read_to_string(plain).unwrap();
    } else {
        let file = std::fs::File::open(directory.join(format!("{name}.gz"))).unwrap();
        flate2::read::GzDecoder::new(file)
            .read_to_string(&mut content)
            .unwrap();
    }
    content
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// Tantivy as it comes: default tokenizer, title and text in one field, its own query parser.
mod plain {
    use serde_json::Value;
    use tantivy::collector::TopDocs;
    use tantivy::query::{BooleanQuery, Query, TermQuery};
    use tantivy::schema::{IndexRecordOption, STORED, STRING, Schema, TEXT, Value as _};
    use tantivy::{Index, TantivyDocument, Term};

    use super::{Run, text};

    pub(super) fn run(documents: &[Value], queries: &[(String, String)]) -> Run {
        let mut schema = Schema::builder();
        let id = schema.add_text_field("id", STRING | STORED);
        let body = schema.add_text_field("body", TEXT);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 50 << 20).unwrap();
        for document in documents {
            let mut entry = TantivyDocument::default();
            entry.add_text(id, text(document, "id"));
            entry.add_text(
                body,
                format!("{}\n{}", text(document, "title"), text(document, "text")),
            );
            writer.add_document(entry).unwrap();
        }
        writer.commit().unwrap();
        let searcher = index.reader().unwrap().searcher();
        let mut analyzer = index.tokenizer_for_field(body).unwrap();
        let mut run = Run::new();
        for (name, query) in queries {
            let mut terms: Vec<Box<dyn Query>> = Vec::new();
            let mut stream = analyzer.token_stream(query);
            while let Some(token) = stream.next() {
                let term = Term::from_field_text(body, &token.text);
                terms.push(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)));
            }
            let query = BooleanQuery::union(terms);
            let best = searcher
                .search(&query, &TopDocs::with_limit(100).order_by_score())
                .unwrap();
            let found = best.into_iter().map(|(_, at)| {
                let document: TantivyDocument = searcher.doc(at).unwrap();
                document.get_first(id).unwrap().as_str().unwrap().to_owned()
            });
            run.insert(name.clone(), found.collect());
        }
        run
    }
}
