//! Pages that are dear to read wait for each other, and no other page waits for them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

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

/// How long the slow lane waits for honest pages; once that was in vain, the test has failed, and is to end.
fn patience(gave_up: &Mutex<bool>) -> Duration {
    match *gave_up.lock().unwrap() {
        true => Duration::ZERO,
        false => Duration::from_secs(30),
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
            let patience = patience(&self.gave_up);
            let is_over = self.is_over.lock().unwrap();
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

/// More hosts with long pages than there are places for requests and answers, and for as many again; and a lane that does
/// not move. All of them come before the honest host, which is asked for all of its pages meanwhile.
#[test]
fn pages_that_wait_for_the_slow_lane_take_no_place_of_others() {
    const PLACES: usize = 4;
    const PAGES: usize = 2;
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let slack = cores * 16;
    let hosts = PLACES + 2 * slack + 20;
    let long = format!("{}{}", "words and more ".repeat(40_000), links(&["/end"]));
    let dear: Vec<String> = (0..hosts)
        .flat_map(|host| (0..PAGES).map(move |page| format!("http://d{host}.test/{page}")))
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
    config.run.hosts_at_once = Some(PLACES);
    config.run.alias_pages = 0;
    let (_, attempts) = run_with(&script, &config, parts);
    assert!(!*filter.gave_up.lock().unwrap(), "honest pages waited");
    // A host has one page in the lane at most, and so was asked for no more than that.
    let asked = script.asked();
    let last = asked.iter().position(|url| url.ends_with("/honest40"));
    let long_before = asked[..last.unwrap()]
        .iter()
        .filter(|url| url.contains("://d") && !url.ends_with("/robots.txt"))
        .count();
    assert!(long_before <= hosts, "{long_before} of {hosts} hosts");
    let pages = |text: &str| {
        let urls = attempts.iter().map(|attempt| attempt.url.request());
        urls.filter(|url| url.contains(text) && !url.ends_with("/robots.txt"))
            .count()
    };
    assert_eq!(pages("/honest"), 40);
    // And nobody is forgotten: each of them is asked for all of its pages, and `/end`.
    assert_eq!(pages("http://d"), dear.len() + hosts);
}

/// Lets one page of the slow lane go on for every ten honest ones, and the rest when all of those were read.
#[derive(Debug)]
struct Paced {
    /// Honest pages that there are.
    honest: usize,
    /// Those that were read, and pages of the slow lane that were let go.
    read: Mutex<(usize, usize)>,
    more: Condvar,
    gave_up: Mutex<bool>,
}

const HONEST_FOR_ONE: usize = 10;

impl Filter for Paced {
    fn before(&self, link: &Candidate<'_>) -> Verdict {
        // Each page is judged twice where it is read, itself and by its one link: only the link counts.
        if link.from.is_none() {
            return Verdict::KEEP_AND_FOLLOW;
        }
        let thread = std::thread::current();
        let url = link.url.as_str();
        let mut read = self.read.lock().unwrap();
        // Each honest page leads to the next.
        if url.starts_with("http://h") && !url.ends_with("/0") {
            read.0 += 1;
            self.more.notify_all();
        }
        if thread.name().unwrap_or_default().starts_with("teia-slow") {
            let patience = patience(&self.gave_up);
            let is_too_early = |read: &mut (usize, usize)| {
                read.0 < self.honest && read.0 < HONEST_FOR_ONE * (read.1 + 1)
            };
            let waited = self.more.wait_timeout_while(read, patience, is_too_early);
            let (mut read, timeout) = waited.unwrap();
            read.1 += 1;
            *self.gave_up.lock().unwrap() |= timeout.timed_out();
        }
        Verdict::KEEP_AND_FOLLOW
    }
}

/// Honest hosts beside as many that send long pages, of which one is read for ten honest ones. Who is known for long
/// pages is not asked for the next one while there are many, also where they are not dear to read.
#[test]
fn hosts_of_long_pages_wait_for_each_other() {
    const PAGES: usize = 6;
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let hosts = 2 * cores * 16 + 20;
    let long = format!("{}{}", "words and more ".repeat(40_000), links(&["/end"]));
    let mut script = Script::default();
    let mut first: Vec<String> = Vec::new();
    for host in 0..hosts {
        for page in 0..PAGES {
            let url = format!("http://d{host}.test/{page}");
            script = script.html(&url, &long);
            first.push(url);
        }
    }
    for host in 0..hosts {
        first.push(format!("http://h{host}.test/0"));
        for page in 0..PAGES {
            let next = links(&[&format!("/{}", page + 1)]);
            script = script.html(&format!("http://h{host}.test/{page}"), &next);
        }
    }
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    script = script.html("http://a.test/", &links(&first));
    let filter = Arc::new(Paced {
        honest: hosts * PAGES,
        read: Mutex::default(),
        more: Condvar::new(),
        gave_up: Mutex::default(),
    });
    let parts = Parts {
        filter: Some(filter.clone()),
        ..Parts::default()
    };
    let mut config = config();
    config.run.hosts_at_once = Some(4);
    config.run.alias_pages = 0;
    run_with(&script, &config, parts);
    assert!(!*filter.gave_up.lock().unwrap(), "honest pages waited");
    let mut asked = script.asked();
    asked.retain(|url| !url.ends_with("/robots.txt"));
    let is_honest = |url: &String| url.starts_with("http://h");
    let last = asked.iter().rposition(is_honest).unwrap();
    let again = asked[..last].iter().filter(|url| url.contains("://d"));
    let again = again.count().saturating_sub(hosts);
    let let_go = hosts * PAGES / HONEST_FOR_ONE;
    println!("{again} more long pages were asked for, and {let_go} read, beside the honest ones");
    assert!(again < let_go / 2, "{again} of {let_go}");
    let pages = asked.iter().filter(|url| url.contains("://d")).count();
    assert_eq!(pages, hosts * (PAGES + 1), "and nobody is forgotten");
    let (honest, long) = *filter.read.lock().unwrap();
    assert_eq!((honest, long), (hosts * PAGES, hosts * PAGES), "each once");
}
