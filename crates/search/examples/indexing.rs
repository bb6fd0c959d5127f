//! Documents indexed in a second, bytes on disk, and how long kinds of queries take.
//!
//!     cargo run --release -p teia-search --example indexing -- 20000
//!
//! The words are drawn so that a few are very common and most are rare, as in real text.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::time::Instant;

use teia_base::{CanonicalUrl, Directives, Document, Flags, MediaType, Outcome, Timestamp};
use teia_search::{Extras, IndexConfig, SearchConfig, SearchRequest, Searcher, Weights, Writer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(20_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let mut writer = Writer::open(folder.path(), IndexConfig::default())?;
    let began = Instant::now();
    for number in 0..count {
        writer.add(&page(number)?, &Extras::default())?;
        if number % 2_000 == 1_999 {
            writer.commit(number)?;
        }
    }
    writer.commit(count)?;
    let seconds = began.elapsed().as_secs_f64();
    writer.close()?;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder.path())? {
        bytes += entry?.metadata()?.len();
    }
    println!(
        "{count} documents of 300 words in {seconds:.1} s: {:.0}/s",
        count as f64 / seconds
    );
    println!("{} bytes on disk for each", bytes / count.max(1));

    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    searcher.open("bench", folder.path())?;
    for query in [
        "w1 w2",
        "+w1 +w2",
        "w1 -w2",
        "\"w1 w2\"",
        "\"w0 w1 w2\"",
        "w900",
        "w1 w40 w900",
        "w9*",
        "site:h3.example w1",
    ] {
        let mut times = Vec::new();
        let mut total = 0;
        for _ in 0..20 {
            let results = searcher.search(&SearchRequest::new(query))?;
            times.push(results.seconds * 1_000.0);
            total = results.total;
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{query:20} {total:8} found, median {:7.2} ms, worst {:7.2} ms",
            times[10], times[19]
        );
    }
    Ok(())
}

fn page(number: u64) -> Result<Document, Box<dyn std::error::Error>> {
    let mut state = number * 2 + 1;
    let mut text = String::new();
    for _ in 0..300 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let drawn = (state >> 40) as f64 / f64::from(1_u32 << 24);
        // Zipf: the n-th word is drawn about once in n times.
        text.push_str(&format!("w{:.0} ", 50_000_f64.powf(drawn) - 1.0));
    }
    Ok(Document {
        url: CanonicalUrl::parse(&format!("http://h{}.example/p/{number}", number % 50))?,
        requested: None,
        outcome: Outcome::http(200),
        flags: Flags::default(),
        fetched: Timestamp::default(),
        capture: None,
        media_type: MediaType::parse("text/html"),
        depth: 0,
        title: format!("page {number}"),
        description: String::new(),
        headings: Vec::new(),
        text,
        margins: Vec::new(),
        language: Some("pt".into()),
        links: Vec::new(),
        robots: Directives::default(),
    })
}
