//! Teia's side of `./dev bench search`: indexes the corpus, and asks.
//!
//!     search_bench index CORPUS DIR N     the first N documents, as `teia index rebuild` does it
//!     search_bench ask DIR                queries from standard input, one a line, when the index is warmed up
//!     search_bench ask-cold DIR           the same, with nothing read ahead

#![expect(
    clippy::print_stdout,
    reason = "its output is read by tools/bench_search.py"
)]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::time::Instant;

use serde::Deserialize;
use teia_base::{CanonicalUrl, Directives, Document, Flags, MediaType, Outcome, Timestamp};
use teia_search::{Extras, IndexConfig, SearchConfig, SearchRequest, Searcher, Weights, Writer};

// As in the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// One line of the corpus.
#[derive(Deserialize)]
struct Line {
    url: String,
    title: String,
    description: String,
    headings: Vec<String>,
    text: String,
    language: Option<String>,
    size: u64,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["index", corpus, directory, most] => {
            index(Path::new(corpus), Path::new(directory), most.parse()?)
        }
        ["ask", directory] => ask(Path::new(directory), true),
        ["ask-cold", directory] => ask(Path::new(directory), false),
        _ => Err("search_bench index CORPUS DIR N | ask DIR | ask-cold DIR".into()),
    }
}

fn index(corpus: &Path, directory: &Path, most: usize) -> Result<()> {
    // All of them are read before the clock runs, as for the others: what is measured is indexing.
    let file = BufReader::new(File::open(corpus)?);
    let mut documents = Vec::new();
    for line in file.lines().take(most) {
        let line: Line = serde_json::from_str(&line?)?;
        let size = line.size;
        documents.push((to_document(line)?, size));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (began, before) = (Instant::now(), worked_by_all());
    let mut writer = Writer::open(directory, IndexConfig::for_rebuild(cores))?;
    let mut count = 0_u64;
    for (document, size) in documents {
        let extras = Extras {
            size,
            ..Extras::default()
        };
        writer.add(&document, &extras)?;
        count += 1;
    }
    writer.commit(count)?;
    let searchable = began.elapsed().as_secs_f64();
    writer.close()?;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{}",
        serde_json::json!({
            "documents": count,
            "searchable": searchable,
            "seconds": seconds,
            "worked": worked_by_all() - before,
        })
    );
    Ok(())
}

fn to_document(line: Line) -> Result<Document> {
    Ok(Document {
        url: CanonicalUrl::parse(&line.url)?,
        requested: None,
        outcome: Outcome::http(200),
        flags: Flags::default(),
        fetched: Timestamp::default(),
        capture: None,
        media_type: MediaType::parse("text/html"),
        depth: 0,
        title: line.title,
        description: line.description,
        headings: line.headings,
        text: line.text,
        margins: Vec::new(),
        language: line.language,
        links: Vec::new(),
        robots: Directives::default(),
    })
}

fn ask(directory: &Path, warm_up: bool) -> Result<()> {
    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    searcher.open("bench", directory)?;
    if warm_up {
        searcher.warm_up();
    }
    let mut out = io::stdout().lock();
    writeln!(out, "open")?;
    out.flush()?;
    for query in io::stdin().lock().lines() {
        let request = SearchRequest::new(query?);
        let (began, worked) = (Instant::now(), worked());
        let results = searcher.search(&request)?;
        let seconds = began.elapsed().as_secs_f64();
        let worked = self::worked() - worked;
        writeln!(out, "{seconds:.9} {worked:.9} {}", results.total)?;
        out.flush()?;
    }
    Ok(())
}

/// Seconds that this thread has run so far.
fn worked() -> f64 {
    seconds_of(rustix::time::ClockId::ThreadCPUTime)
}

/// Seconds that all threads have run so far.
fn worked_by_all() -> f64 {
    seconds_of(rustix::time::ClockId::ProcessCPUTime)
}

fn seconds_of(clock: rustix::time::ClockId) -> f64 {
    let time = rustix::time::clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
