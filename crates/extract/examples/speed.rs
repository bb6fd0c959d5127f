//! Links and text of real pages: MB for each second of processor time.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

#[path = "../tests/shared/mod.rs"]
mod shared;

use teia_base::MediaType;
use teia_extract::{Extractors, Source};

fn main() {
    let pages = shared::pages();
    let bytes: usize = pages.iter().map(|(_, _, body)| body.len()).sum();
    let html = MediaType::parse("text/html; charset=utf-8");
    let extractors = Extractors::default();
    let mut best = f64::INFINITY;
    let (mut links, mut text) = (0, 0);
    for _ in 0..15 {
        (links, text) = (0, 0);
        let start = shared::thread_time();
        for (_, url, body) in &pages {
            let mut source = Source::new(url, body);
            source.media_type = html.as_ref();
            let page = extractors.extract(&source);
            links += page.links.len();
            text += page.text.len();
        }
        best = best.min((shared::thread_time() - start).as_secs_f64());
    }
    println!(
        "{} pages, {bytes} bytes, {links} links, {text} bytes of text",
        pages.len()
    );
    println!(
        "{:.0} MB/s, {:.3} ms a page",
        bytes as f64 / best / 1e6,
        best * 1e3 / pages.len() as f64
    );
    let texts: Vec<String> = pages
        .iter()
        .map(|(_, url, body)| extractors.extract(&Source::new(url, body)).text)
        .collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let mut best = f64::INFINITY;
    for _ in 0..15 {
        let start = shared::thread_time();
        for text in &texts {
            std::hint::black_box(teia_extract::digest::signatures(text));
        }
        best = best.min((shared::thread_time() - start).as_secs_f64());
    }
    println!(
        "signatures: {:.0} MB/s, {:.1} µs a page",
        bytes as f64 / best / 1e6,
        best * 1e6 / texts.len() as f64
    );
}
