//! Pages that are dear to read wait for each other, and no other page waits for them.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use std::sync::{Arc, Condvar, Mutex};
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

/// Lets nobody in the slow lane go on before the last honest page was found.
#[derive(Debug, Default)]
struct Held {
    is_over: Mutex<bool>,
    over: Condvar,
    gave_up: Mutex<bool>,
}

impl Filter for Held {
    fn before(&self, link: &Candidate<'_>) -> Verdict {
        if link.url.as_str().ends_with("/honest40") {
            *self.is_over.lock().unwrap() = true;
            self.over.notify_all();
        }
        let thread = std::thread::current();
        if thread.name().unwrap_or_default().starts_with("teia-slow") {
            let is_over = self.is_over.lock().unwrap();
            let patience = Duration::from_secs(30);
            let (is_over, _) = self
                .over
                .wait_timeout_while(is_over, patience, |is_over| !*is_over)
                .unwrap();
            if !*is_over {
                *self.gave_up.lock().unwrap() = true;
            }
        }
        Verdict::KEEP_AND_FOLLOW
    }
}

/// More of them than places for requests and answers, all of which wait for a lane that does not move.
#[test]
fn pages_that_wait_for_the_slow_lane_take_no_place_of_others() {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let long = format!("{}{}", "words and more ".repeat(40_000), links(&["/end"]));
    let dear: Vec<String> = (0..8)
        .flat_map(|host| (0..cores * 5).map(move |page| format!("http://d{host}.test/{page}")))
        .collect();
    let first: Vec<&str> = dear.iter().map(String::as_str).collect();
    let mut script = Script::default().html(
        "http://a.test/",
        &format!("{}{}", links(&first), links(&["/honest1"])),
    );
    for page in 1..=40 {
        let next = format!("/honest{}", page + 1);
        let next = if page < 40 {
            links(&[&next])
        } else {
            String::new()
        };
        script = script.html(&format!("http://a.test/honest{page}"), &next);
    }
    for url in &dear {
        script = script.html(url, &long);
    }
    let filter = Arc::new(Held::default());
    let parts = Parts {
        filter: Some(filter.clone()),
        ..Parts::default()
    };
    let mut config = config();
    config.run.hosts_at_once = Some(4);
    let (_, attempts) = run_with(&script, &config, parts);
    assert!(!*filter.gave_up.lock().unwrap(), "honest pages waited");
    let pages = |text: &str| {
        let urls = attempts.iter().map(|attempt| attempt.url.request());
        urls.filter(|url| url.contains(text) && !url.ends_with("/robots.txt"))
            .count()
    };
    assert_eq!(pages("/honest"), 40);
    // And nobody is forgotten: each of them is asked for all of its pages, and `/end`.
    assert_eq!(pages("http://d"), dear.len() + 8);
}
