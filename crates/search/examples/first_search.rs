//! Three pages, indexed and searched.
//!
//!     cargo run --release -p teia-search --example first_search -- sao paulo

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use teia_base::{CanonicalUrl, Directives, Document, Flags, MediaType, Outcome, Timestamp};
use teia_search::{Extras, IndexConfig, SearchConfig, SearchRequest, Searcher, Weights, Writer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut writer = Writer::open(folder.path(), IndexConfig::default())?;
    for (address, title, text) in [
        (
            "https://a.example/sp",
            "São Paulo",
            "A maior cidade do Brasil publica as suas licitações.",
        ),
        (
            "https://a.example/lx",
            "Lisboa",
            "A cidade das sete colinas junto ao Tejo.",
        ),
        (
            "https://b.example/pd",
            "Pão de queijo",
            "Uma receita de Minas, com polvilho e queijo.",
        ),
    ] {
        let document = Document {
            url: CanonicalUrl::parse(address)?,
            requested: None,
            outcome: Outcome::http(200),
            flags: Flags::default(),
            fetched: Timestamp::default(),
            capture: None,
            media_type: MediaType::parse("text/html"),
            depth: 0,
            title: title.into(),
            description: String::new(),
            headings: Vec::new(),
            text: text.into(),
            margins: Vec::new(),
            language: None,
            links: Vec::new(),
            robots: Directives::default(),
        };
        writer.add(&document, &Extras::default())?;
    }
    writer.commit(1)?;

    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    searcher.open("cities", folder.path())?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let query = if words.is_empty() {
        "licitacao sao paulo".to_owned()
    } else {
        words.join(" ")
    };
    let results = searcher.search(&SearchRequest::new(query))?;
    for repair in &results.repairs {
        println!("note: {repair}");
    }
    for hit in &results.hits {
        println!(
            "{:.2}  {}  {}\n      {}",
            hit.score, hit.title, hit.url, hit.snippet.text
        );
    }
    println!("{} found in {:.4} s", results.total, results.seconds);
    Ok(())
}
