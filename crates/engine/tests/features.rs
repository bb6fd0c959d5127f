//! The ring over the test web, one feature at a time.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::{attempts, config, crawl, crawl_with, requested, set};
use teia_archive::Captures;
use teia_base::{DiskFiles, Files, Flags, Outcome};
use teia_engine::{Control, Event, Feedback, Layout, Level, Parts};
use teia_testweb::{Failure, Listen, Place, Rules, Scope, Server, WebConfig};

fn serve(config: WebConfig) -> Server {
    Server::start(config, Listen::Names { port: 0 }).unwrap()
}

#[test]
fn a_limit_of_depth_gives_the_same_set_whatever_the_number_of_hosts_at_once() {
    for (seed, max_depth) in [(5, 2), (6, 3), (7, 4)] {
        let server = serve(WebConfig {
            seed,
            hosts: 6,
            pages_per_host: 60,
            links_per_page: 5,
            redirects: 6,
            copies: 3,
            missing: 2,
            queries: true,
            ..WebConfig::default()
        });
        let web = server.web();
        let seeds = [web.front(0)];
        let truth = web.depth_map(&seeds, Some(max_depth));
        for hosts in [1, 3, 50] {
            server.clear_log();
            let directory = tempfile::tempdir().unwrap();
            let mut config = config(&server);
            config.filter.max_depth = Some(u16::try_from(max_depth).unwrap());
            config.run.hosts_at_once = Some(hosts);
            crawl(directory.path(), &config, &seeds).unwrap();
            let got = set(requested(&server).into_keys());
            let want = set(truth.keys().cloned());
            let missing: Vec<_> = want.difference(&got).take(9).collect();
            let extra: Vec<_> = got.difference(&want).take(9).collect();
            assert!(
                missing.is_empty() && extra.is_empty(),
                "seed {seed}, {hosts} hosts: missing {missing:#?} extra {extra:#?}"
            );
            check_depths(directory.path(), &truth);
        }
    }
}

/// What is known in the end of each URL's depth is the truth, also where it fell after the fetch.
fn check_depths(root: &std::path::Path, truth: &BTreeMap<String, u32>) {
    let files = DiskFiles::existing(root);
    let directory = Layout::new("default").unwrap().journal();
    let mut repository = teia_repository::Repository::new(teia_repository::RepositoryConfig {
        key: 7,
        order: Arc::new(teia_frontier::Breadth),
        keep_links: false,
        revisit_share: None,
        new_hosts: teia_repository::NewHosts::default(),
    });
    for first in teia_base::journal::segments(&files, &directory).unwrap() {
        let segment = teia_base::journal::read_segment(&files, &directory, first, true).unwrap();
        segment
            .entries
            .iter()
            .for_each(|entry| repository.replay(entry));
    }
    for (url, depth) in truth {
        let url = teia_base::CanonicalUrl::parse(url).unwrap();
        let state = repository.state(&url).unwrap();
        assert_eq!(u32::from(state.depth), *depth, "{url}");
    }
}

#[derive(Debug, Default)]
struct Notices(Mutex<Vec<String>>);

impl Feedback for Notices {
    fn hear(&self, event: &Event) {
        if let Event::Notice { level, text } = event {
            assert_eq!(*level, Level::Warning);
            self.0.lock().unwrap().push(text.clone());
        }
    }
}

#[test]
fn an_alias_of_a_host_is_noticed_and_then_asked_only_samples() {
    let server = serve(WebConfig {
        hosts: 4,
        pages_per_host: 300,
        alias_hosts: 1,
        honeypots: 0,
        ..WebConfig::default()
    });
    let web = server.web();
    let notices = Arc::new(Notices::default());
    let parts = Parts {
        feedback: notices.clone(),
        ..Parts::default()
    };
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&server);
    config.run.alias_pages = 8;
    let seeds = [web.front(0)];
    let report = crawl_with(
        directory.path(),
        &config,
        &seeds,
        parts,
        &Control::default(),
    )
    .unwrap();
    let notices = notices.0.lock().unwrap();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(
        notices[0].contains("serves the same pages as"),
        "{notices:?}"
    );
    let requested = requested(&server);
    let names: Vec<String> = (0..4).map(|host| web.host_name(host)).collect();
    let count = |name: &str| {
        let prefix = format!("http://{name}/");
        requested
            .keys()
            .filter(|url| url.starts_with(&prefix))
            .count()
    };
    // Either of the two may be taken for the alias; the other is collected in full.
    let (first, second) = (count(&names[0]), count(&names[3]));
    let (whole, part) = (first.max(second), first.min(second));
    assert_eq!(whole, 300, "of {first} and {second}");
    assert_eq!(count(&names[1]) + count(&names[2]), 600);
    let skipped = report.stats.codes[&Outcome::ALIAS_HOST.number()];
    // Those linked only from pages of the alias that were passed over are not even met.
    assert!(
        part as u64 + skipped <= 300 && skipped > 0,
        "{part} and {skipped}"
    );
    println!("{part} pages of the alias were asked, {skipped} passed over");
    let files = DiskFiles::existing(directory.path());
    let passed: Vec<_> = attempts(&files)
        .into_iter()
        .filter(|attempt| attempt.outcome == Outcome::ALIAS_HOST)
        .collect();
    assert!(passed.iter().all(|attempt| {
        let name = attempt.url.normal().host_str();
        !requested.contains_key(attempt.url.normal().as_str())
            && (name == names[0] || name == names[3])
            && attempt
                .detail
                .as_ref()
                .unwrap()
                .starts_with("the same pages as")
    }));
}

#[test]
fn an_alias_asked_in_step_with_its_original_is_noticed() {
    let server = serve(WebConfig {
        hosts: 2,
        pages_per_host: 120,
        alias_hosts: 1,
        honeypots: 0,
        latency: Duration::from_millis(5),
        ..WebConfig::default()
    });
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&server);
    config.run.alias_pages = 16;
    // Both from the start, at the same pace: which page comes first is chance.
    let seeds = [web.front(0), web.front(1)];
    let report = crawl(directory.path(), &config, &seeds).unwrap();
    let skipped = report.stats.codes.get(&Outcome::ALIAS_HOST.number());
    assert!(skipped.is_some_and(|skipped| *skipped > 10), "{skipped:?}");
    // The one met first is collected in full.
    let requested = requested(&server);
    let of = |host: u32| {
        let prefix = format!("http://{}/", web.host_name(host));
        requested
            .keys()
            .filter(|url| url.starts_with(&prefix))
            .count()
    };
    assert_eq!(of(0), 120);
    assert!(of(1) < 80, "{} pages of the alias", of(1));
}

#[test]
fn the_samples_of_an_alias_are_about_one_in_twenty() {
    let server = serve(WebConfig {
        hosts: 2,
        pages_per_host: 300,
        links_per_page: 40,
        alias_hosts: 1,
        honeypots: 0,
        ..WebConfig::default()
    });
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&server);
    config.run.alias_pages = 8;
    // One host first, so that every page of the other is a repeat.
    config.filter.exclude = vec!["//h1[.]web".to_owned()];
    let first = crawl(directory.path(), &config, &[web.front(0)]).unwrap();
    assert_eq!(first.fetched, 300);
    server.clear_log();
    config.filter.exclude.clear();
    config.politeness.delay = Duration::from_millis(5);
    let report = crawl(directory.path(), &config, &[web.front(1)]).unwrap();
    let asked = requested(&server).len() as u64;
    let skipped = report.stats.codes[&Outcome::ALIAS_HOST.number()];
    println!("{asked} asked, {skipped} passed over");
    // Eight to notice it, a few that were under way, and the samples.
    assert!(skipped > 60, "{asked} asked, {skipped} passed over");
    assert!(
        asked >= 8 && asked <= 14 + skipped / 8,
        "{asked} asked, {skipped} passed over"
    );
    // It is still known in the next run.
    server.clear_log();
    let unmet = web.url(1, Place::Page(299));
    crawl(directory.path(), &config, std::slice::from_ref(&unmet)).unwrap();
    assert!(requested(&server).keys().all(|url| *url == unmet));
}

#[test]
fn a_copy_is_stored_as_a_revisit_that_names_its_original() {
    let server = serve(WebConfig {
        hosts: 3,
        pages_per_host: 30,
        copies: 5,
        ..WebConfig::default()
    });
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    let report = crawl(directory.path(), &config(&server), &[web.front(0)]).unwrap();
    let files: Arc<dyn Files> = Arc::new(DiskFiles::existing(directory.path()));
    let captures = Captures::open(
        Arc::clone(&files),
        &Layout::new("default").unwrap().archive(),
    )
    .unwrap();
    let attempts = attempts(&DiskFiles::existing(directory.path()));
    let mut repeats = 0;
    for host in 0..3 {
        for number in 0..5 {
            let pair = [
                web.url(host, Place::Copy(number)),
                web.url(host, Place::Page(number + 1)),
            ];
            let found: Vec<_> = attempts
                .iter()
                .filter(|attempt| pair.iter().any(|url| attempt.url.request() == url))
                .collect();
            assert_eq!(found.len(), 2);
            // Two that are under way at once may both be stored in full.
            let repeat = found.iter().find(|attempt| attempt.revisit.is_some());
            let Some(repeat) = repeat else { continue };
            repeats += 1;
            let original = found
                .iter()
                .find(|attempt| attempt.revisit.is_none())
                .unwrap();
            let revisit = repeat.revisit.as_ref().unwrap();
            assert_eq!(revisit.url, original.url.request());
            assert_eq!(Some(revisit.capture), original.capture);
            assert!(repeat.flags.has(Flags::DUPLICATE));
            assert_eq!(repeat.payload_sha1, original.payload_sha1);
            assert_eq!(repeat.text_digest, original.text_digest);
            let entry = captures.find(repeat.url.request(), None).unwrap().unwrap();
            assert!(entry.is_revisit(), "{}", entry.url);
            let entry = captures
                .find(original.url.request(), None)
                .unwrap()
                .unwrap();
            assert!(!entry.is_revisit());
            let told = teia_engine::tell_attempt(repeat);
            assert!(
                told.contains(&format!("the same content as {}", revisit.url)),
                "{told}"
            );
        }
    }
    assert!(repeats >= 5, "{repeats} of 15");
    assert_eq!(report.stats.duplicates, repeats);
}

#[test]
fn copies_are_counted_without_an_archive_and_stored_once_there_is_one() {
    let server = serve(WebConfig {
        hosts: 1,
        pages_per_host: 30,
        copies: 5,
        ..WebConfig::default()
    });
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    let mut without = config(&server);
    without.archive.enabled = false;
    without.filter.exclude = vec!["/copia/".to_owned()];
    crawl(directory.path(), &without, &[web.front(0)]).unwrap();
    // The originals were met and not archived: their copies are, in full.
    crawl(directory.path(), &config(&server), &[]).unwrap();
    let files = DiskFiles::existing(directory.path());
    let attempts = attempts(&files);
    let copies: Vec<_> = (0..5)
        .map(|number| web.url(0, Place::Copy(number)))
        .map(|url| attempts.iter().find(|it| it.url.request() == url).unwrap())
        .collect();
    for copy in &copies {
        assert!(copy.revisit.is_none() && copy.capture.is_some(), "{copy:?}");
    }

    let directory = tempfile::tempdir().unwrap();
    without.filter.exclude = Vec::new();
    let report = crawl(directory.path(), &without, &[web.front(0)]).unwrap();
    assert!(report.stats.duplicates >= 2, "{:?}", report.stats);
}

#[test]
fn the_crawl_delay_of_robots_txt_holds_also_after_a_restart() {
    let delay = Duration::from_millis(400);
    let server = serve(WebConfig {
        hosts: 2,
        pages_per_host: 4,
        crawl_delay: Some(delay),
        honeypots: 0,
        ..WebConfig::default()
    });
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&server);
    config.filter.max_pages = Some(2);
    crawl(directory.path(), &config, &[web.front(0)]).unwrap();
    config.filter.max_pages = None;
    crawl(directory.path(), &config, &[web.front(0)]).unwrap();
    let log = server.log();
    assert_eq!(log.matching(|entry| !entry.is_robots()).entries.len(), 8);
    for host in 0..2 {
        assert_eq!(
            log.of_host(host).filter(|entry| entry.is_robots()).count(),
            1
        );
        let gap = log.min_gap(host).unwrap();
        assert!(gap >= delay, "host {host}: {gap:?}");
    }
}

#[test]
fn sitemaps_that_robots_txt_names_are_read() {
    let server = serve(WebConfig {
        hosts: 3,
        pages_per_host: 20,
        sitemap: true,
        orphans: 4,
        ..WebConfig::default()
    });
    let web = server.web();
    let seeds = [web.front(0)];
    let rules = Rules {
        scope: Scope::Web,
        sitemaps: Some(1),
        ..Rules::default()
    };
    let truth = web.reachable(&seeds, &rules);
    let directory = tempfile::tempdir().unwrap();
    crawl(directory.path(), &config(&server), &seeds).unwrap();
    let sitemaps: BTreeSet<String> = (0..3).map(|host| web.url(host, Place::Sitemap)).collect();
    let mut got = set(requested(&server).into_keys());
    assert!(sitemaps.is_subset(&got));
    got.retain(|url| !sitemaps.contains(url));
    assert_eq!(got, set(truth.fetched().into_iter().map(str::to_owned)));
    for host in 0..3 {
        assert!(got.contains(&web.url(host, Place::Orphan(3))));
    }
    // Told not to, the crawl does without.
    server.clear_log();
    let directory = tempfile::tempdir().unwrap();
    let mut plain = config(&server);
    plain.run.sitemaps = false;
    crawl(directory.path(), &plain, &seeds).unwrap();
    assert_eq!(requested(&server).len(), 60);
}

#[test]
fn pages_that_fail_at_first_are_tried_until_they_answer_and_what_is_behind_them_is_found() {
    for manner in [Failure::Unavailable(None), Failure::Close] {
        let server = serve(WebConfig {
            hosts: 2,
            pages_per_host: 10,
            flaky: 3,
            flaky_failures: 2,
            flaky_manner: manner,
            ..WebConfig::default()
        });
        let web = server.web();
        let directory = tempfile::tempdir().unwrap();
        crawl(directory.path(), &config(&server), &[web.front(0)]).unwrap();
        let requested = requested(&server);
        let truth = web.reachable(&[web.front(0)], &Rules::default());
        assert_eq!(
            set(requested.keys().cloned()),
            set(truth.fetched().into_iter().map(str::to_owned))
        );
        for (url, count) in &requested {
            let is_flaky = matches!(web.locate(url), Some((_, Place::Flaky(_))));
            assert_eq!(*count, if is_flaky { 3 } else { 1 }, "{url}");
        }
    }
}

#[test]
fn a_host_that_names_a_rest_in_its_503_is_left_alone_for_so_long() {
    let server = serve(WebConfig {
        hosts: 2,
        pages_per_host: 8,
        flaky: 1,
        flaky_manner: Failure::Unavailable(Some(1)),
        ..WebConfig::default()
    });
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    crawl(directory.path(), &config(&server), &[web.front(0)]).unwrap();
    let log = server.log();
    let mut rests = 0;
    for host in 0..2 {
        let entries: Vec<_> = log.of_host(host).collect();
        for pair in entries.windows(2).filter(|pair| pair[0].status == 503) {
            let rest = pair[1].start - pair[0].end.unwrap();
            assert!(rest >= Duration::from_secs(1), "{rest:?}");
            rests += 1;
        }
    }
    assert_eq!(rests, 2);
}

#[test]
fn robots_metas_of_the_test_web_are_recorded_and_obeyed() {
    let server = serve(WebConfig {
        hosts: 2,
        pages_per_host: 10,
        meta_robots: 4,
        nofollow_links: 2,
        ..WebConfig::default()
    });
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    crawl(directory.path(), &config(&server), &[web.front(0)]).unwrap();
    let truth = web.reachable(&[web.front(0)], &Rules::default());
    assert_eq!(
        set(requested(&server).into_keys()),
        set(truth.fetched().into_iter().map(str::to_owned))
    );
    let attempts = attempts(&DiskFiles::existing(directory.path()));
    let none = Flags::NOINDEX.with(Flags::NOFOLLOW);
    for host in 0..2 {
        for (number, flags) in [Flags::NOINDEX, Flags::NOFOLLOW, none, none]
            .into_iter()
            .enumerate()
        {
            let url = web.url(host, Place::Meta(u32::try_from(number).unwrap()));
            let attempt = attempts
                .iter()
                .find(|attempt| attempt.url.request() == url)
                .unwrap();
            let seen = [Flags::NOINDEX, Flags::NOFOLLOW].map(|flag| attempt.flags.has(flag));
            let want = [Flags::NOINDEX, Flags::NOFOLLOW].map(|flag| flags.has(flag));
            assert_eq!(seen, want, "{url}");
        }
    }
}

#[test]
fn names_on_one_address_are_never_asked_at_once_from_the_first_request_on() {
    let server = serve(WebConfig {
        hosts: 8,
        pages_per_host: 4,
        latency: Duration::from_millis(3),
        ..WebConfig::default()
    });
    let web = server.web();
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(&server);
    let gap = Duration::from_millis(10);
    config.politeness.delay = gap;
    config.politeness.key = teia_frontier::PolitenessKey::Address;
    let seeds: Vec<String> = (0..8).map(|host| web.front(host)).collect();
    let report = crawl(directory.path(), &config, &seeds).unwrap();
    assert_eq!(report.fetched, 32);
    let mut entries = server.log().entries;
    entries.sort_by_key(|entry| entry.start);
    for pair in entries.windows(2) {
        let rest = pair[1].start.checked_sub(pair[0].end.unwrap());
        assert!(rest.is_some_and(|rest| rest >= gap), "{pair:#?}");
    }
    // The same web, each name for itself: only the address held them back.
    config.politeness.key = teia_frontier::PolitenessKey::Host;
    server.clear_log();
    crawl(tempfile::tempdir().unwrap().path(), &config, &seeds).unwrap();
    let mut entries = server.log().entries;
    entries.sort_by_key(|entry| entry.start);
    assert!(
        entries
            .windows(2)
            .any(|pair| pair[1].start < pair[0].end.unwrap() + gap)
    );
}
