//! Settings for some hosts only: the real program, two hosts, and one of them treated otherwise.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::BTreeSet;
use std::time::Duration;

use support::{Home, LIMIT, PATIENT, Plain, crawl_with, requested, until};
use teia_base::{Flags, Outcome};
use teia_engine::{Directory, ask};
use teia_testweb::{Listen, Server, WebConfig};

/// Two hosts, each with a few pages; host 0 links to host 1.
fn two_hosts() -> Server {
    let config = WebConfig {
        hosts: 2,
        pages_per_host: 6,
        links_per_page: 8,
        ..WebConfig::default()
    };
    Server::start(config, Listen::Names { port: 0 }).unwrap()
}

/// A site for one host of the web, in the middle of other settings.
fn site(server: &Server, host: u32, settings: &str) -> String {
    let name = server.web().host_name(host);
    format!("{PATIENT}\n[[site]]\nmatch = [\"{name}\"]\n{settings}\n")
}

/// Crawls the web with these settings.
fn crawled(home: &Home, server: &Server, settings: &str) {
    home.good(&crawl_with(home, server, "0s", settings, &[]));
}

/// URLs of a host that were asked for, robots.txt apart.
fn asked(server: &Server, host: u32) -> BTreeSet<String> {
    let log = server.log().matching(|entry| entry.host == Some(host));
    requested(&log).into_keys().collect()
}

fn of_host(server: &Server, host: u32) -> String {
    format!("http://{}/", server.web().host_name(host))
}

#[test]
fn a_host_with_a_longer_delay_gets_it_and_everything_of_both_is_collected() {
    let (server, plain) = (two_hosts(), two_hosts());
    let home = Home::new();
    let gap = Duration::from_millis(150);
    let settings = site(&server, 1, "[site.politeness]\ndelay = \"150ms\"");
    crawled(&home, &server, &settings);
    let log = server.log();
    assert!(log.min_gap(1).unwrap() >= gap, "{:?}", log.min_gap(1));
    assert_eq!((log.max_concurrent(0), log.max_concurrent(1)), (1, 1));
    let without = Home::new();
    crawled(&without, &plain, PATIENT);
    for host in [0, 1] {
        assert_eq!(asked(&server, host).len(), asked(&plain, host).len());
    }
    // And again after a start: what is known of a host does not wait for its first request.
    home.good(&["resume"]);
    assert!(server.log().min_gap(1).unwrap() >= gap);
}

#[test]
fn a_range_of_addresses_gives_manners_to_the_hosts_that_live_there() {
    let server = two_hosts();
    let home = Home::new();
    let settings = format!(
        "{PATIENT}\n[[site]]\nmatch = \"127.0.0.0/8\"\n[site.politeness]\ndelay = \"60ms\"\n\
         \n[[site]]\nmatch = \"10.0.0.0/8\"\n[site.politeness]\ndelay = \"7d\"\n"
    );
    crawled(&home, &server, &settings);
    let log = server.log();
    for host in [0, 1] {
        assert!(asked(&server, host).len() >= 6);
        let gap = log.min_gap(host).unwrap();
        assert!(gap >= Duration::from_millis(60), "{gap:?}");
    }
}

#[test]
fn the_largest_document_differs_from_host_to_host() {
    let server = two_hosts();
    let home = Home::new();
    crawled(&home, &server, &site(&server, 1, "filter.max-size = 10"));
    let attempts = home.attempts();
    let outcomes = |host: u32| -> BTreeSet<Outcome> {
        let of_host = of_host(&server, host);
        let pages = attempts.iter().filter(|attempt| !attempt.is_robots());
        pages
            .filter(|attempt| attempt.url.normal().as_str().starts_with(&of_host))
            .map(|attempt| attempt.outcome)
            .collect()
    };
    assert!(outcomes(0).contains(&Outcome::http(200)));
    assert!(!outcomes(0).contains(&Outcome::SIZE_EXCEEDED));
    assert!(outcomes(1).contains(&Outcome::SIZE_EXCEEDED));
    assert!(!outcomes(1).contains(&Outcome::http(200)));
}

#[test]
fn accepted_types_archive_and_index_differ_from_host_to_host() {
    let server = two_hosts();
    let kept = |settings: &str| {
        let home = Home::new();
        crawled(&home, &server, &site(&server, 1, settings));
        let attempts = home.attempts();
        let is_page = |url: &str, host: u32| {
            url.starts_with(&of_host(&server, host)) && !url.ends_with("/robots.txt")
        };
        let count = |host: u32| {
            let captures = home.all_captures();
            let archived = captures.iter().filter(|it| is_page(&it.url, host)).count();
            let left_out = attempts.iter().filter(|attempt| {
                is_page(attempt.url.normal().as_str(), host) && attempt.flags.has(Flags::NOT_KEPT)
            });
            (archived, left_out.count())
        };
        (count(0), count(1), indexed(&home, &server))
    };
    let ((first, none), (second, left_out), (indexed_0, indexed_1)) =
        kept("filter.types = [\"image/*\"]");
    assert!(first >= 6 && none == 0, "{first} {none}");
    assert!(second == 0 && left_out >= 6, "{second} {left_out}");
    assert!(indexed_0 >= 6 && indexed_1 == 0);
    let ((first, _), (second, _), (indexed_0, indexed_1)) = kept("archive.enabled = false");
    assert!(first >= 6 && second == 0, "{first} {second}");
    assert!(indexed_0 >= 6 && indexed_1 >= 6, "{indexed_0} {indexed_1}");
    let ((first, _), (second, _), (indexed_0, indexed_1)) = kept("index.enabled = false");
    assert!(first >= 6 && second >= 6, "{first} {second}");
    assert!(indexed_0 >= 6 && indexed_1 == 0, "{indexed_0} {indexed_1}");
}

/// How many pages of each host can be found.
fn indexed(home: &Home, server: &Server) -> (u64, u64) {
    let count = |host: u32| {
        let name = server.web().host_name(host);
        let query = format!("site:{}", name.split(':').next().unwrap());
        let found = home.json(&["search", "--json", "--limit", "100", &query]);
        found["total"].as_u64().unwrap()
    };
    (count(0), count(1))
}

#[test]
fn a_limit_of_depth_on_one_host_leaves_the_other_alone() {
    let (server, plain) = (two_hosts(), two_hosts());
    let home = Home::new();
    crawled(&home, &server, &site(&server, 1, "filter.max-depth = 0"));
    assert_eq!(asked(&server, 1), BTreeSet::new());
    let excluded = home.good(&["urls", "list", "--state", "excluded"]);
    assert!(excluded.contains(&of_host(&server, 1)), "{excluded}");
    // What the file allows again is collected by the next run.
    home.good(&["collection", "edit", "--unset", "site.1"]);
    home.good(&["resume"]);
    crawled(&Home::new(), &plain, PATIENT);
    for host in [0, 1] {
        assert_eq!(asked(&server, host).len(), asked(&plain, host).len());
    }
}

#[test]
fn robots_are_ignored_on_the_host_of_ones_own_and_nowhere_else() {
    let server = two_hosts();
    let home = Home::new();
    crawled(
        &home,
        &server,
        &site(&server, 1, "run.ignore-robots = true"),
    );
    let honeypots = |host: u32| {
        let urls = asked(&server, host).into_iter();
        urls.filter(|url| server.web().is_honeypot(url)).count()
    };
    assert_eq!(honeypots(0), 0);
    assert!(honeypots(1) > 0);
}

#[test]
fn a_host_may_be_told_another_name_and_other_fields() {
    let plain = Plain::start(|path| match path {
        "/robots.txt" => (200, "User-agent: Guest\nDisallow: /closed\n".to_owned()),
        "/" => (200, "<a href=/closed>x</a><a href=/open>y</a>".to_owned()),
        _ => (200, "text".to_owned()),
    });
    let home = Home::new();
    let settings = "[[site]]\nmatch = \"127.0.0.1\"\n[site.fetch]\nuser-agent = \"Guest/2.0\"\naccept-language = \"pt\"\n";
    let file = home.write("settings.toml", settings);
    home.good(&["crawl", &plain.url("/"), "--delay", "0s", "--config", &file]);
    assert_eq!(plain.paths().iter().collect::<BTreeSet<_>>().len(), 2);
    assert!(!plain.paths().contains(&"/closed".to_owned()));
    for head in plain.heads() {
        assert!(head.contains("Guest/2.0"), "{head}");
        assert!(
            head.to_lowercase().contains("accept-language: pt"),
            "{head}"
        );
    }
}

#[test]
fn check_and_page_name_the_site_and_mistakes_name_their_line() {
    let server = two_hosts();
    let home = Home::new();
    crawled(
        &home,
        &server,
        &site(&server, 1, "politeness.delay = \"10ms\""),
    );
    let url = server.web().front(1);
    let told = home.good(&["collection", "check", "--url", &url]);
    let line = "politeness.delay = \"10ms\"";
    assert!(
        told.lines()
            .any(|it| it.starts_with("For ") && it.contains(line)),
        "{told}"
    );
    assert!(
        told.lines()
            .any(|it| it.contains("site 1 (") && it.contains(line)),
        "{told}"
    );
    let json = home.json(&[
        "collection",
        "check",
        "--json",
        "--url",
        &url,
        "--url",
        &server.web().front(0),
    ]);
    assert_eq!(json["urls"][0]["sites"][0]["changes"][0], line);
    assert!(json["urls"][1].get("sites").is_none(), "{json}");
    assert!(home.good(&["page", &url]).contains(line));
    let shown = home.json(&["page", "--json", &url]);
    assert_eq!(shown["settings_of"][0]["site"], 1);
    for (wrong, words) in [
        (
            "[[site]]\nmatch = \"a.example\"\npoliteness.dela = \"1s\"\n",
            ["line 3", "`delay`"],
        ),
        (
            "[[site]]\nmatch = \"a.example\"\nrun.order = \"depth\"\n",
            ["line 3", "run as a whole"],
        ),
        (
            "[[site]]\nmatch = \"10.0.0.0/8\"\nfilter.max-depth = 1\n",
            ["line 3", "cannot follow an address"],
        ),
        (
            "[[site]]\npoliteness.delay = \"1s\"\n",
            ["line 1", "`match`"],
        ),
        ("[site]\nmatch = \"a.example\"\n", ["line 1", "[[site]]"]),
    ] {
        let file = home.write("wrong.toml", wrong);
        let ended = home.run(&["collection", "check", "--file", &file]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        for word in words {
            assert!(ended.err.contains(word), "no {word} in {}", ended.err);
        }
    }
}

#[test]
fn a_site_can_change_under_a_run() {
    let config = WebConfig {
        hosts: 2,
        pages_per_host: 200,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    // Host 1 takes ten seconds at least.
    let settings = site(&server, 1, "politeness.delay = \"50ms\"");
    let running = home.start(&crawl_with(&home, &server, "0s", &settings, &[]));
    until("requests to host 1", || asked(&server, 1).len() >= 3);
    home.good(&["collection", "edit", "--set", "site.1.politeness.delay=7d"]);
    let text = home.good(&["collection", "show"]);
    let directory = Directory::open(home.data()).unwrap();
    let line = format!("change default {}", serde_json::to_string(&text).unwrap());
    let reply = ask(&directory.control_socket(), &line).unwrap().unwrap();
    let before = asked(&server, 1).len();
    assert!(before < 200, "{reply}");
    // The run ends, because what is left waits for days; one request may have been due at that moment, and
    // one under way.
    assert_eq!(running.wait(LIMIT).code, Some(0), "{reply}");
    let after = asked(&server, 1).len();
    assert!(after <= before + 2, "{before} {after} {reply}");
    assert_eq!(asked(&server, 0).len(), 200, "{reply}");
}
