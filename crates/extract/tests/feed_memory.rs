//! A feed of many items costs the memory of few. Alone in its process, because it looks at the whole of it.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use teia_base::MediaType;
use teia_extract::{Extractor, Feed, Limits, Source};
use url::Url;

/// The most memory that this process has had, in MiB.
fn high_water() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.unwrap().trim().trim_end_matches("kB").trim();
    kibibytes.parse::<u64>().unwrap() >> 10
}

#[test]
fn ten_million_empty_items_are_passed_over() {
    // The number stops the first reading at its end, so that both ways are taken.
    let body = format!("{{\"items\":[{}{{}}],\"x\":1e999}}", "{},".repeat(10 << 20));
    let url = Url::parse("http://a.example/feed.json").unwrap();
    let media_type = MediaType::parse("application/feed+json").unwrap();
    let source = Source {
        media_type: Some(&media_type),
        ..Source::new(&url, body.as_bytes())
    };
    let before = high_water();
    let read = Feed.extract(&source, &Limits::default());
    let more = high_water() - before;
    assert!(read.flags.has(teia_base::Flags::PARSE_PARTIAL));
    assert!(more <= 128, "{more} MiB for a feed of 30");
}
