//! How much is taken of what a host gives, and how long anybody waits for it: one claim each.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use script::Script;
use scripted::{SEED, config, links, of, run, run_on};
use teia_base::{Flags, MediaType, SimulatedDisk};
use teia_engine::{EndReason, Parts};
use teia_extract::{Extracted, Extractor, Limits, Source};

/// Takes longer over a page than anybody waits.
#[derive(Debug, Default)]
struct Slow {
    began: AtomicBool,
    ended: AtomicBool,
}

impl Extractor for Slow {
    fn accepts(&self, media_type: &MediaType) -> bool {
        media_type.essence() == "text/plain"
    }

    fn extract(&self, _: &Source<'_>, _: &Limits) -> Extracted {
        self.began.store(true, Ordering::SeqCst);
        std::thread::sleep(Duration::from_secs(40));
        self.ended.store(true, Ordering::SeqCst);
        Extracted::default()
    }
}

#[test]
fn the_end_of_a_run_waits_for_no_page_that_is_being_read() {
    let script = Script::default()
        .html(SEED, &links(&["/a", "/slow"]))
        .html("http://a.test/a", "a")
        .text("http://a.test/slow", "slow");
    let mut config = config();
    config.run.max_time = Some(Duration::from_millis(200));
    let slow = Arc::new(Slow::default());
    let parts = Parts {
        extractor: Some(Arc::clone(&slow) as Arc<dyn Extractor>),
        ..Parts::default()
    };
    let disk = SimulatedDisk::new();
    let (report, attempts) = run_on(&disk, &script, &config, parts);
    assert_eq!(report.reason, EndReason::MaxTime);
    assert!(slow.began.load(Ordering::SeqCst), "it was being read");
    assert!(!slow.ended.load(Ordering::SeqCst), "and nobody waited");
    assert_eq!(of(&attempts, "http://a.test/slow").len(), 0);
    // It is not lost: the next run fetches it.
    config.run.max_time = None;
    let (report, attempts) = run_on(&disk, &script, &config, Parts::default());
    assert_eq!(report.reason, EndReason::Done);
    assert_eq!(of(&attempts, "http://a.test/slow").len(), 1);
    assert_eq!(of(&attempts, "http://a.test/a").len(), 1);
}

#[test]
fn a_whole_sitemap_and_a_page_full_of_links_are_taken() {
    let sitemap: String = (0..50_000)
        .map(|n| format!("<url><loc>http://a.test/{n}/{}</loc></url>", "x".repeat(80)))
        .collect();
    let list: String = (0..9_000)
        .map(|n| format!("<a href=/p/{n}>{}</a>", "a text of this link ".repeat(8)))
        .collect();
    let script = Script::default()
        .html(SEED, &links(&["/map.xml", "/list"]))
        .html("http://a.test/list", &list)
        .raw(
            "http://a.test/map.xml",
            &format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n\r\n<urlset>{sitemap}</urlset>"
            ),
        );
    let mut config = config();
    config.filter.max_pages = Some(3);
    let (_, attempts) = run(&script, &config);
    for (url, count) in [("map.xml", 50_000), ("list", 9_000)] {
        let found = of(&attempts, &format!("http://a.test/{url}"));
        assert_eq!(found[0].links.len(), count, "{url}");
        assert!(!found[0].flags.has(Flags::PARSE_PARTIAL), "{url}");
        assert_eq!(found[0].detail, None, "{url}");
    }
}

#[test]
fn links_that_are_left_out_are_counted() {
    let list: String = (0..12_000)
        .map(|n| format!("<a href=/p/{n}>x</a>"))
        .collect();
    let script = Script::default().html(SEED, &list);
    let mut config = config();
    config.filter.max_pages = Some(1);
    let (_, attempts) = run(&script, &config);
    let detail = of(&attempts, SEED)[0].detail.clone().unwrap();
    assert_eq!(detail, "the first 10000 links are kept, 2000 more left out");
}

/// Each index names three new ones: what waits counts as well, and they are not followed for ever.
#[test]
fn a_tree_of_sitemaps_is_cut_in_number_and_in_depth() {
    let mut script = Script::default().html(SEED, &links(&["/i"]));
    let mut names = vec!["/i".to_owned()];
    for _ in 0..6 {
        let mut next = Vec::new();
        for name in &names {
            let named: Vec<String> = (0..3).map(|n| format!("{name}{n}")).collect();
            let entries: String = named
                .iter()
                .map(|name| format!("<sitemap><loc>http://a.test{name}</loc></sitemap>"))
                .collect();
            script = script.raw(
                &format!("http://a.test{name}"),
                &format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\n\r\n<sitemapindex>{entries}</sitemapindex>"
                ),
            );
            next.extend(named);
        }
        names = next;
    }
    let (_, _) = run(&script, &config());
    let deepest = script.pages().iter().map(String::len).max().unwrap();
    assert_eq!(
        deepest,
        "http://a.test/i000".len(),
        "three levels below the first"
    );
    let script = script.afresh();
    let mut config = config();
    config.run.sitemap_files = 20;
    run(&script, &config);
    assert_eq!(script.pages().len(), 1 + 20);
}

/// All of the page is there, and only its label is wrong.
#[test]
fn a_plain_page_that_says_gzip_is_used_as_it_is() {
    let body = "<title>Plain</title><a href=/next>on</a>";
    let script = Script::default()
        .raw(
            SEED,
            &format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n{body}"
            ),
        )
        .html("http://a.test/next", "next");
    let (_, attempts) = run(&script, &config());
    let first = of(&attempts, SEED)[0];
    assert!(first.outcome.is_ok(), "{:?}", first.outcome);
    assert_eq!(first.detail.as_deref(), Some("not_gzip"));
    assert_eq!(first.title, "Plain");
    assert_eq!(of(&attempts, "http://a.test/next").len(), 1);
}

/// A calendar whose every page has the same dot at another address.
#[test]
fn a_dot_with_a_new_address_on_each_page_hides_no_trap() {
    let mut script = Script::default().html(SEED, &links(&["/cal/2000/1"]));
    for n in 0..400 {
        let path = |n: usize| format!("/cal/{}/{}", 2000 + n / 12, n % 12 + 1);
        let dot = format!("/px?r=0a1b2c3d{n:08x}");
        let body = format!(
            "<p>No events this month.<a href={}>next</a><img src='{dot}'>",
            path(n + 1)
        );
        script = script
            .html(&format!("http://a.test{}", path(n)), &body)
            .raw(
                &format!("http://a.test{dot}"),
                "HTTP/1.1 200 OK\r\nContent-Type: image/gif\r\n\r\nGIF89a",
            );
    }
    let mut config = config();
    config.traps.enabled = true;
    run(&script, &config);
    let pages = script.pages();
    let months = pages.iter().filter(|url| url.contains("/cal/")).count();
    assert!(months < 200, "{months} of 400");
}
