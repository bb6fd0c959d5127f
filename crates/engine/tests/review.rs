//! What a strict reader found, so that it stays mended.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

#[path = "support/script.rs"]
mod script;

use std::sync::Arc;
use std::time::Duration;

use script::Script;
use support::{attempts, crawl_on};
use teia_base::{Files, Outcome, SimulatedDisk};
use teia_engine::{CollectionConfig, Control, EngineError, Parts, Report};

fn config() -> CollectionConfig {
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.politeness.retry_wait = Duration::from_millis(20);
    config.robots.first_retry = Duration::from_millis(20);
    config
}

fn run(
    disk: &SimulatedDisk,
    script: &Script,
    config: &CollectionConfig,
    seeds: &[&str],
) -> Result<Report, EngineError> {
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let seeds: Vec<String> = seeds.iter().map(|&seed| seed.to_owned()).collect();
    let parts = Parts {
        fetcher: Some(Arc::new(script.clone())),
        ..Parts::default()
    };
    crawl_on(files, config, &seeds, parts, &Control::default())
}

#[test]
fn a_short_page_with_very_long_links_does_not_fill_the_journal() {
    let base = "x".repeat(12_000);
    let links: String = (0..9_000).map(|n| format!("<a href={n}>{n}</a>")).collect();
    let script = Script::default().html(
        "http://a.test/",
        &format!("<base href=\"/{base}/\">{links}"),
    );
    let disk = SimulatedDisk::new();
    run(&disk, &script, &config(), &["http://a.test/"]).unwrap();
    let all = attempts(&disk);
    let page = all
        .iter()
        .find(|attempt| attempt.url.normal().as_str() == "http://a.test/")
        .unwrap();
    let bytes: usize = page.links.iter().map(|link| link.url.request().len()).sum();
    assert!(bytes <= 4 << 20, "{bytes}");
    assert!(page.flags.names().contains(&"parse_partial"));
    // What was written can be read, and gone on with.
    run(&disk, &script, &config(), &["http://a.test/"]).unwrap();
}

#[test]
fn a_dead_port_does_not_starve_the_rest_of_its_host() {
    let script = Script::default()
        .failure("http://a.test:8199/robots.txt", Outcome::CONNECT_REFUSED)
        .html("http://a.test/", "<a href=/1>1</a> <a href=/2>2</a>")
        .html("http://a.test/1", "1")
        .html("http://a.test/2", "2");
    let disk = SimulatedDisk::new();
    let report = run(
        &disk,
        &script,
        &config(),
        &["http://a.test:8199/", "http://a.test/"],
    )
    .unwrap();
    assert_eq!(report.fetched, 3, "{:?}", script.asked());
}

#[test]
fn wider_rules_let_in_what_was_left_out() {
    let script = Script::default()
        .html(
            "http://a.test/",
            "<a href=/1>1</a> <a rel=nofollow href=/barred>no</a>",
        )
        .html("http://a.test/1", "<a href=/2>2</a>")
        .html("http://a.test/2", "2");
    let disk = SimulatedDisk::new();
    let mut narrow = config();
    narrow.filter.max_depth = Some(0);
    assert_eq!(
        run(&disk, &script, &narrow, &["http://a.test/"])
            .unwrap()
            .fetched,
        1
    );
    assert_eq!(
        run(&disk, &script, &config(), &["http://a.test/"])
            .unwrap()
            .fetched,
        2
    );
    assert!(!script.asked().contains(&"http://a.test/barred".to_owned()));
    // And once more, from the journal alone.
    assert_eq!(
        run(&disk, &script, &config(), &["http://a.test/"])
            .unwrap()
            .fetched,
        0
    );
}

#[test]
fn no_answer_is_not_a_document() {
    let script = Script::default()
        .html("http://a.test/", "<a href=/1>1</a> <a href=/2>2</a>")
        .failure("http://a.test/1", Outcome::ADDR_BLOCKED)
        .html("http://a.test/2", "2");
    let disk = SimulatedDisk::new();
    assert_eq!(
        run(&disk, &script, &config(), &["http://a.test/"])
            .unwrap()
            .fetched,
        2
    );
}

#[test]
fn a_page_that_makes_a_part_panic_is_a_system_error_and_the_run_goes_on() {
    struct Panics;
    impl teia_base::filter::Filter for Panics {
        fn before(&self, link: &teia_base::filter::Candidate<'_>) -> teia_base::filter::Verdict {
            assert!(!link.url.as_str().ends_with("/bad"), "planted");
            teia_base::filter::Verdict::KEEP_AND_FOLLOW
        }
    }
    let script = Script::default()
        .html("http://a.test/", "<a href=/1>1</a><a href=/2>2</a>")
        .html("http://a.test/1", "<a href=/bad>bad</a>")
        .html("http://a.test/2", "fine");
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let parts = Parts {
        fetcher: Some(Arc::new(script)),
        filter: Some(Arc::new(Panics)),
        ..Parts::default()
    };
    let result = crawl_on(
        files,
        &config(),
        &["http://a.test/".to_owned()],
        parts,
        &Control::default(),
    );
    let report = result.unwrap();
    assert_eq!(report.stats.codes[&200], 2);
    let broken = Outcome::SYSTEM_ERROR.number();
    assert!(report.stats.codes[&broken] >= 1, "{:?}", report.stats.codes);
    assert_eq!(report.waiting, 0);
}

#[test]
fn a_fetcher_that_panics_costs_its_page_and_not_the_run() {
    #[derive(Debug)]
    struct Fragile(Script);
    impl teia_fetch::Fetcher for Fragile {
        fn fetch(&self, request: teia_base::Request) -> teia_fetch::Fetching<'_> {
            let path = request.url.path().to_owned();
            assert_ne!(path, "/at-once", "planted");
            let answer = self.0.fetch(request);
            Box::pin(async move {
                assert_ne!(path, "/later", "planted");
                answer.await
            })
        }
    }
    let script = Script::default()
        .html(
            "http://a.test/",
            "<a href=/at-once>1</a><a href=/later>2</a><a href=/fine>3</a>",
        )
        .html("http://a.test/fine", "fine");
    let disk = SimulatedDisk::new();
    let parts = Parts {
        fetcher: Some(Arc::new(Fragile(script))),
        ..Parts::default()
    };
    let mut config = config();
    config.run.retries = 0;
    let report = crawl_on(
        Arc::new(disk.clone()),
        &config,
        &["http://a.test/".to_owned()],
        parts,
        &Control::default(),
    )
    .unwrap();
    assert_eq!((report.fetched, report.waiting), (2, 0));
    let broken = Outcome::SYSTEM_ERROR.number();
    assert_eq!(report.stats.codes.get(&broken), Some(&2));
}

#[test]
fn the_text_of_documents_counts_for_the_size_of_a_commit() {
    // Pages of which the archive needs next to nothing, and an Analyzer a lot.
    let text = "the same words again and again ".repeat(8000);
    let mut script = Script::default();
    let mut front = String::new();
    for at in 0..40 {
        front += &format!("<a href=/{at}>{at}</a> ");
        script = script.html(&format!("http://a.test/{at}"), &format!("{at} {text}"));
    }
    let script = script.html("http://a.test/", &front);
    let disk = SimulatedDisk::new();
    let look = |_: &teia_base::Document| {};
    let parts = Parts {
        fetcher: Some(Arc::new(script)),
        analyzers: vec![Arc::new(look)],
        ..Parts::default()
    };
    let mut config = config();
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    config.run.commit_every = Duration::from_secs(3);
    config.run.commit_bytes = 1 << 20;
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let seeds = ["http://a.test/".to_owned()];
    crawl_on(files, &config, &seeds, parts, &Control::default()).unwrap();
    // Ten megabytes of text, at most two in a commit.
    let entries = support::last_entry(&disk);
    assert!(entries >= 8, "{entries} entries");
}

#[test]
fn a_filter_that_panics_at_a_redirect_refuses_it_and_the_run_goes_on() {
    struct Panics;
    impl teia_base::filter::Filter for Panics {
        fn before(&self, link: &teia_base::filter::Candidate<'_>) -> teia_base::filter::Verdict {
            assert!(!link.url.as_str().ends_with("/bad"), "planted");
            teia_base::filter::Verdict::KEEP_AND_FOLLOW
        }
    }
    let script = Script::default()
        .html("http://a.test/", "<a href=/moved>1</a><a href=/2>2</a>")
        .redirect("http://a.test/moved", "http://a.test/bad")
        .html("http://a.test/2", "fine");
    let disk = SimulatedDisk::new();
    let parts = Parts {
        fetcher: Some(Arc::new(script.clone())),
        filter: Some(Arc::new(Panics)),
        ..Parts::default()
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let seeds = ["http://a.test/".to_owned()];
    let report = crawl_on(files, &config(), &seeds, parts, &Control::default()).unwrap();
    assert_eq!((report.fetched, report.waiting), (3, 0));
    assert!(!script.asked().contains(&"http://a.test/bad".to_owned()));
}
