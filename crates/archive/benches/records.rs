//! What archiving a page costs: digest, records, compression.
//!
//! `cargo bench --profile release -p teia-archive`

#![allow(clippy::unwrap_used, reason = "the pages are those of the tests")]

#[path = "../tests/support/mod.rs"]
mod support;

use support::{Page, noise};
use teia_archive::{ArchiveConfig, payload_digest};

/// Something like HTML: words, tags and attributes with the repetition that real pages have.
fn page_text(seed: u64, len: usize) -> String {
    let words = noise(seed, len);
    let mut text = String::with_capacity(len + 100);
    let mut at = 0;
    while text.len() < len {
        let kind = words[at % words.len()] % 4;
        let word: String = words[at % 900..at % 900 + 24]
            .iter()
            .map(|byte| char::from(*byte))
            .collect();
        let start = at % 1300 % (words.len() - 40);
        let fresh: String = words[start..start + 12]
            .iter()
            .map(|byte| char::from(*byte))
            .collect();
        match kind {
            0 => text.push_str(&format!(
                "<li class=\"item\"><a href=\"/section/page-{at}.html\">{fresh}</a></li>\n"
            )),
            1 => text.push_str(&format!("<p class=\"text\">{word} {fresh} {word}</p>\n")),
            2 => text.push_str(&format!("<div id=\"d{at}\">{fresh}</div>\n")),
            _ => text.push_str(&word),
        }
        at += 37;
    }
    text.truncate(len);
    text
}

/// Processor time of this thread, in microseconds: other programs on the machine do not count.
fn cpu_micros() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1e3
}

fn main() {
    let config = ArchiveConfig::default();
    let pages: Vec<Page> = (0..200)
        .map(|id| {
            Page::html(
                id,
                &format!("http://h{id}.example/path/page"),
                &page_text(id + 1, 24 << 10),
            )
        })
        .collect();
    let mut packed = 0;
    // Payload digest, digest and records, and the floor: nothing but libdeflate on the same bodies.
    let mut sums = [0.0; 3];
    let rounds = 40;
    let mut out = vec![0; 64 << 10];
    let level = libdeflater::CompressionLvl::new(1).expect("level 1 exists");
    let mut compressor = libdeflater::Compressor::new(level);
    for _ in 0..rounds {
        let times = [
            measure(&pages, |page| {
                std::hint::black_box(payload_digest(page.response()).expect("in memory"));
            }),
            measure(&pages, |page| packed = page.records(&config).len()),
            measure(&pages, |page| {
                let body = page.response().body.as_memory().expect("in memory");
                compressor
                    .gzip_compress(body, &mut out)
                    .expect("room enough");
            }),
        ];
        for (sum, time) in sums.iter_mut().zip(times) {
            *sum += time / f64::from(rounds);
        }
    }
    eprintln!(
        "24 KiB page, to {packed} bytes with its request record: payload digest {:.1} us; digest and all records \
         {:.1} us; libdeflate alone {:.1} us",
        sums[0], sums[1], sums[2]
    );
}

fn measure(pages: &[Page], mut work: impl FnMut(&Page)) -> f64 {
    let begun = cpu_micros();
    for page in pages {
        work(page);
    }
    (cpu_micros() - begun) / 200.0
}
