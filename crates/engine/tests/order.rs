//! Orders by rank: what the links of one run say decides what the next one fetches first.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "support/script.rs"]
mod script;
mod support;

use std::sync::Arc;
use std::time::Duration;

use script::Script;
use support::{attempts, crawl_with};
use teia_base::{CanonicalUrl, DiskFiles, Document, SystemClock};
use teia_engine::{Analyzer, CollectionConfig, Control, Insight, Parts};
use teia_fetch::ScriptedFetcher;
use teia_frontier::OrderName;

const SEED: &str = "http://a.test/";

/// The seed links to three hubs and then to plain pages; each hub links to one page that nobody else knows.
fn web() -> ScriptedFetcher {
    let mut seed = String::new();
    for hub in 1..=3 {
        seed.push_str(&format!("<a href=/hub{hub}>hub</a>"));
    }
    for page in 1..=9 {
        seed.push_str(&format!("<a href=/plain{page}>plain</a>"));
    }
    let mut fetcher = ScriptedFetcher::new(Arc::new(SystemClock)).page(SEED, "text/html", &seed);
    for hub in 1..=3 {
        fetcher = fetcher.page(
            &format!("http://a.test/hub{hub}"),
            "text/html",
            &format!("<title>hub {hub}</title><a href=/wanted>wanted</a><p>{hub}"),
        );
    }
    for page in 1..=9 {
        let body = format!("<title>plain {page}</title><p>{page}");
        fetcher = fetcher.page(&format!("http://a.test/plain{page}"), "text/html", &body);
    }
    fetcher.page("http://a.test/wanted", "text/html", "<title>wanted</title>")
}

/// The first page that a second run fetches.
fn first_of_second_run(order: OrderName) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    config.run.order = order;
    config.filter.max_pages = Some(4);
    let fetcher = web();
    let run = |config: &CollectionConfig| {
        let parts = Parts {
            fetcher: Some(Arc::new(fetcher.clone())),
            ..Parts::default()
        };
        let seeds = [SEED.to_owned()];
        crawl_with(directory.path(), config, &seeds, parts, &Control::default()).unwrap();
        let files = DiskFiles::existing(directory.path());
        let pages = attempts(&files).into_iter().filter(|it| !it.is_robots());
        // They are committed as the workers finish, and asked for one after another.
        let mut pages: Vec<_> = pages.collect();
        pages.sort_by_key(|attempt| attempt.started);
        pages
            .into_iter()
            .map(|attempt| attempt.url.request().to_owned())
            .collect::<Vec<_>>()
    };
    let first = run(&config);
    assert_eq!(first.len(), 4, "the seed and its hubs: {first:?}");
    config.filter.max_pages = None;
    let all = run(&config);
    assert_eq!(all.len(), 14, "{all:?}");
    all[4].clone()
}

#[test]
fn what_most_pages_link_to_goes_first() {
    for order in [OrderName::Backlinks, OrderName::PageRank] {
        assert_eq!(
            first_of_second_run(order),
            "http://a.test/wanted",
            "{order}"
        );
    }
    assert_eq!(
        first_of_second_run(OrderName::Breadth),
        "http://a.test/plain1"
    );
}

/// Two pages of three are thought of, by their number: 35 first, then 34, 32, 31…
struct ByNumber;

impl Analyzer for ByNumber {
    fn analyze(&self, document: &Document) -> Vec<Insight> {
        let number = |url: &str| url.rsplit_once("/page")?.1.parse::<i32>().ok();
        let links = document.links.iter();
        let thought_of = links.filter_map(|link| {
            let priority = number(&link.url).filter(|number| number % 3 > 0);
            Some(Insight {
                url: CanonicalUrl::parse(&link.url).ok()?,
                priority: Some(priority?),
                extra: None,
            })
        });
        thought_of.collect()
    }
}

/// With so little memory the URLs are on disk before the second run.
#[test]
fn what_analyzers_think_most_of_goes_first_in_memory_and_on_disk() {
    let mut seed = String::new();
    let mut fetcher = ScriptedFetcher::new(Arc::new(SystemClock));
    for page in 0..36 {
        seed.push_str(&format!("<a href=/page{page}>page</a>"));
        let body = format!("<title>{page}</title><p>{page}");
        fetcher = fetcher.page(&format!("http://a.test/page{page}"), "text/html", &body);
    }
    let fetcher = fetcher.page(SEED, "text/html", &seed);
    for memory in [512 << 20, 4 << 10] {
        let directory = tempfile::tempdir().unwrap();
        let mut config = CollectionConfig::default();
        config.politeness.delay = Duration::ZERO;
        config.run.alias_pages = 0;
        config.traps.enabled = false;
        config.run.order = OrderName::Priority;
        config.run.repository_memory = memory;
        config.filter.max_pages = Some(1);
        let run = |config: &CollectionConfig| {
            let parts = Parts {
                fetcher: Some(Arc::new(fetcher.clone())),
                analyzers: vec![Arc::new(ByNumber)],
                ..Parts::default()
            };
            let seeds = [SEED.to_owned()];
            crawl_with(directory.path(), config, &seeds, parts, &Control::default()).unwrap();
        };
        run(&config);
        config.filter.max_pages = None;
        run(&config);
        let files = DiskFiles::existing(directory.path());
        let pages = attempts(&files).into_iter().filter(|it| !it.is_robots());
        let mut pages: Vec<_> = pages.collect();
        pages.sort_by_key(|attempt| attempt.started);
        let asked: Vec<_> = pages
            .iter()
            .skip(1)
            .map(|attempt| attempt.url.request().replace("http://a.test/page", ""))
            .collect();
        let numbers = (0..36).rev().filter(|number| number % 3 > 0);
        let others = (0..36).filter(|number| number % 3 == 0);
        let expected: Vec<String> = numbers.chain(others).map(|it| it.to_string()).collect();
        assert_eq!(asked, expected, "{memory} bytes of memory");
    }
}

#[test]
fn an_order_by_rank_without_links_is_refused() {
    let mut config = CollectionConfig::default();
    config.run.order = OrderName::PageRank;
    config.links.enabled = false;
    let refused = config.check().unwrap_err();
    assert!(
        refused.to_string().contains("`order` in [run]"),
        "{refused}"
    );
}

/// A page that fails for a moment is tried again while its host has many more that nobody has tried.
#[test]
fn another_try_comes_when_it_is_due_and_not_after_everything_else() {
    const FLAKY: &str = "http://a.test/flaky";
    let mut script = Script::default()
        .html(SEED, "<a href=/flaky>flaky</a><a href=/p0>chain</a>")
        .status(FLAKY, 500, "")
        .html(FLAKY, "<a href=/behind>behind</a>")
        .html("http://a.test/behind", "behind")
        .slowly(Duration::from_millis(2));
    for page in 0..400 {
        let next = page + 1;
        let body = format!("<title>page {page}</title>words of {page} <a href=/p{next}>next</a>");
        script = script.html(&format!("http://a.test/p{page}"), &body);
    }
    let directory = tempfile::tempdir().unwrap();
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.politeness.retry_wait = Duration::from_millis(20);
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    config.filter.max_pages = Some(300);
    let parts = Parts {
        fetcher: Some(Arc::new(script.clone())),
        ..Parts::default()
    };
    let seeds = [SEED.to_owned()];
    crawl_with(
        directory.path(),
        &config,
        &seeds,
        parts,
        &Control::default(),
    )
    .unwrap();
    let asked = script.asked();
    assert_eq!(script.times_of(FLAKY).len(), 2, "{asked:?}");
    assert_eq!(
        script.times_of("http://a.test/behind").len(),
        1,
        "and what is behind it"
    );
}
