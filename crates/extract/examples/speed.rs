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
    let measure = |name: &str, work: &dyn Fn(&str) -> u128| {
        let mut best = f64::INFINITY;
        for _ in 0..15 {
            let start = shared::thread_time();
            std::hint::black_box(texts.iter().fold(0, |sum, text| sum ^ work(text)));
            best = best.min((shared::thread_time() - start).as_secs_f64());
        }
        println!("{name} {:.1} µs a page", best * 1e6 / texts.len() as f64);
    };
    measure("text_digest", &teia_extract::digest::text_digest);
    measure("similarity", &|text| {
        u128::from(teia_extract::digest::similarity(text))
    });
}
