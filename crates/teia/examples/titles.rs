#![allow(clippy::print_stdout, reason = "an example shows what it does")]

//! Prints the title of every page of a site: `cargo run --release -p teia --example titles -- example.org`
//!
//! Without an argument it collects a scripted web of two pages, so that it runs anywhere.

use std::sync::Arc;
use std::time::Duration;

use teia::{Crawler, Document, Error, Scope, ScriptedFetcher};
use teia_base::SystemClock;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let directory = std::env::temp_dir().join(format!("teia-titles-{}", std::process::id()));
    let mut builder = Crawler::builder("titles")
        .directory(&directory)
        .scope(Scope::Host)
        .max_pages(100)
        .analyzer(|document: &Document| println!("{}  {}", document.url, document.title));
    builder = match std::env::args().nth(1) {
        Some(seed) => builder.seed(&seed),
        None => builder
            .seed("http://birds.example/")
            .delay(Duration::ZERO)
            .fetcher(
                ScriptedFetcher::new(Arc::new(SystemClock))
                    .page(
                        "http://birds.example/",
                        "text/html",
                        "<title>Birds</title><a href=/robin>robin</a>",
                    )
                    .page(
                        "http://birds.example/robin",
                        "text/html",
                        "<title>Robin</title>",
                    ),
            ),
    };
    let report = builder.build()?.run().await?;
    println!("{} pages from {} hosts", report.fetched, report.hosts);
    let _ = std::fs::remove_dir_all(directory);
    Ok(())
}
