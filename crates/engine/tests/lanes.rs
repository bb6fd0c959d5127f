//! Pages that are dear to read wait for each other, and no other page waits for them.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use script::Script;
use scripted::{config, links, run_with};
use teia_base::filter::{Candidate, Filter, Verdict};
use teia_engine::Parts;

/// Notes which thread judges the links to each URL, and takes its time with those to one host.
#[derive(Debug, Default)]
struct Slow(Mutex<Vec<(String, String)>>);

impl Filter for Slow {
    fn before(&self, link: &Candidate<'_>) -> Verdict {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default().to_owned();
        let url = link.url.as_str().to_owned();
        if url.contains("dear.test/") && name.starts_with("teia-") {
            compute(Duration::from_millis(250));
        }
        self.0.lock().unwrap().push((url, name));
        Verdict::KEEP_AND_FOLLOW
    }
}

/// Uses this much of a processor.
fn compute(much: Duration) {
    let spent = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(
            u64::try_from(time.tv_sec).unwrap(),
            u32::try_from(time.tv_nsec).unwrap(),
        )
    };
    let until = spent() + much;
    while spent() < until {
        std::hint::spin_loop();
    }
}

#[test]
fn dear_pages_have_a_lane_of_their_own() {
    let long = format!(
        "{}{}",
        "words and more words ".repeat(40_000),
        links(&["/after-long"])
    );
    let script = Script::default()
        .html(
            "http://a.test/",
            &links(&["/one", "/long", "http://dear.test/0"]),
        )
        .html("http://a.test/one", &links(&["/two"]))
        .html("http://a.test/two", &links(&["/three"]))
        .html("http://a.test/three", "the end")
        .html("http://a.test/long", &long)
        .html("http://a.test/after-long", "the end")
        .html("http://dear.test/0", &links(&["/1"]))
        .html("http://dear.test/1", &links(&["/2"]))
        .html("http://dear.test/2", &links(&["/3"]))
        .html("http://dear.test/3", "the end");
    let filter = Arc::new(Slow::default());
    let parts = Parts {
        filter: Some(filter.clone()),
        ..Parts::default()
    };
    let (report, _) = run_with(&script, &config(), parts);
    assert_eq!(report.fetched, 10);
    let judged = filter.0.lock().unwrap();
    let lane_of = |url: &str| {
        let names = judged.iter().filter(|(judged, _)| judged == url);
        names
            .map(|(_, name)| name.rsplit_once('-').map_or("", |(lane, _)| lane))
            .collect::<Vec<_>>()
    };
    // By the page on which the link stood.
    for (url, lane) in [
        ("http://a.test/two", "teia-worker"),
        ("http://a.test/three", "teia-worker"),
        ("http://a.test/after-long", "teia-slow"),
        ("http://dear.test/1", "teia-worker"),
        ("http://dear.test/2", "teia-slow"),
        ("http://dear.test/3", "teia-slow"),
    ] {
        assert!(lane_of(url).contains(&lane), "{url}: {:?}", lane_of(url));
    }
}
