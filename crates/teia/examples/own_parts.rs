#![allow(clippy::print_stdout, reason = "an example shows what it does")]

//! Replaces three parts of the ring: a filter of its own, a listener, and an Analyzer that tells the
//! Frontier what it thinks of links. `cargo run --release -p teia --example own_parts`

use std::sync::Arc;
use std::time::Duration;

use teia::{
    Analyzer, Candidate, CanonicalUrl, Crawler, Document, Error, Event, Feedback, Filter, Insight,
    Outcome, ScriptedFetcher, Verdict,
};
use teia_base::SystemClock;
use teia_base::filter::RuleKind;

/// Only pages whose address has no digit.
struct NoDigits;

impl Filter for NoDigits {
    fn before(&self, link: &Candidate<'_>) -> Verdict {
        if link.url.path().contains(|c: char| c.is_ascii_digit()) {
            return Verdict::refuse(RuleKind::Exclude, "no digits", Outcome::OUT_OF_SCOPE);
        }
        Verdict::KEEP_AND_FOLLOW
    }
}

/// Says what became of each attempt.
#[derive(Debug)]
struct Aloud;

impl Feedback for Aloud {
    fn hear(&self, event: &Event) {
        if let Event::Attempted {
            url,
            outcome,
            bytes,
            ..
        } = event
        {
            println!("{outcome}  {url}  {bytes} bytes");
        }
    }

    fn wants_attempts(&self) -> bool {
        true
    }
}

/// Pages that link to many others are worth more.
struct Hubs;

impl Analyzer for Hubs {
    fn analyze(&self, document: &Document) -> Vec<Insight> {
        let priority = i32::try_from(document.links.len()).unwrap_or(i32::MAX);
        let links = document
            .links
            .iter()
            .filter_map(|link| CanonicalUrl::parse(&link.url).ok());
        links
            .map(|url| Insight {
                url,
                priority: Some(priority),
                extra: Some(Box::new("found on a hub")),
            })
            .collect()
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let directory = std::env::temp_dir().join(format!("teia-own-parts-{}", std::process::id()));
    let web = ScriptedFetcher::new(Arc::new(SystemClock))
        .page(
            "http://own.example/",
            "text/html",
            "<a href=/a>a</a> <a href=/b2>b2</a>",
        )
        .page("http://own.example/a", "text/html", "<title>A</title>");
    let report = Crawler::builder("own-parts")
        .directory(&directory)
        .seed("http://own.example/")
        .delay(Duration::ZERO)
        .fetcher(web)
        .filter(NoDigits)
        .feedback(Aloud)
        .analyzer(Hubs)
        .build()?
        .run()
        .await?;
    println!("{} pages; /b2 was left out", report.fetched);
    let _ = std::fs::remove_dir_all(directory);
    Ok(())
}
