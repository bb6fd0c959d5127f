//! Teia's side of `./dev bench search`: indexes the corpus, and asks.
//!
//!     search_bench index CORPUS DIR N     the first N documents, as `teia index rebuild` does it
//!     search_bench ask DIR                queries from standard input, one a line

#![expect(
    clippy::print_stdout,
    reason = "its output is read by tools/bench_search.py"
)]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::mpsc::sync_channel;
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
        ["ask", directory] => ask(Path::new(directory)),
        _ => Err("search_bench index CORPUS DIR N | ask DIR".into()),
    }
}

fn index(corpus: &Path, directory: &Path, most: usize) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut writer = Writer::open(directory, IndexConfig::for_rebuild(cores))?;
    let began = Instant::now();
    // Reading lines is not what is measured, but it is counted: it runs beside, on the same cores.
    let (lines, documents) = sync_channel(256);
    let file = BufReader::new(File::open(corpus)?);
    let reading = std::thread::spawn(move || -> Result<()> {
        for line in file.lines().take(most) {
            let line: Line = serde_json::from_str(&line?)?;
            let size = line.size;
            if lines.send((to_document(line)?, size)).is_err() {
                break;
            }
        }
        Ok(())
    });
    let mut count = 0_u64;
    for (document, size) in documents {
        let extras = Extras {
            size,
            ..Extras::default()
        };
        writer.add(&document, &extras)?;
        count += 1;
    }
    reading.join().map_err(|_| "reading panicked")??;
    writer.commit(count)?;
    let searchable = began.elapsed().as_secs_f64();
    writer.close()?;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{}",
        serde_json::json!({ "documents": count, "searchable": searchable, "seconds": seconds })
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
        language: line.language,
        links: Vec::new(),
        robots: Directives::default(),
    })
}

fn ask(directory: &Path) -> Result<()> {
    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    searcher.open("bench", directory)?;
    let mut out = io::stdout().lock();
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
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
