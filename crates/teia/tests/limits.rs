//! What a crawl is told to leave out, and where it is told to end; what it asks for follows exactly.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use support::{
    Home, PATIENT, Plain, answered, assert_polite, assert_same, crawl, crawl_with, owned, requested,
};
use teia_testweb::{Failure, Listen, Place, Rules, Server, WebConfig};

fn serve(config: WebConfig) -> Server {
    Server::start(config, Listen::Names { port: 0 }).unwrap()
}

/// URLs asked for, robots.txt and sitemaps apart.
fn asked(server: &Server) -> BTreeSet<String> {
    requested(&server.log())
        .into_keys()
        .filter(|url| !url.ends_with("/sitemap.xml"))
        .collect()
}

#[test]
fn max_pages_is_exact() {
    for most in [1, 7, 60] {
        let server = serve(WebConfig {
            redirects: 2,
            missing: 1,
            flaky: 1,
            ..WebConfig::default()
        });
        let home = Home::new();
        let report = home.json(&crawl(
            &home,
            &server,
            "0s",
            &["--max-pages", &most.to_string(), "--report", "json"],
        ));
        assert_eq!(report["fetched"], most);
        assert_eq!(answered(&home.attempts()).count(), most);
        let once = server
            .log()
            .entries
            .iter()
            .filter(|entry| !entry.is_robots() && entry.status != 503)
            .count();
        assert_eq!(once, most, "requests");
        // A new run of the same collection may fetch as many again.
        let report = home.json(&["resume", "--report", "json"]);
        assert_eq!(
            report["fetched"].as_u64().unwrap().min(most as u64),
            (asked(&server).len() as u64 - most as u64).min(most as u64)
        );
    }
}

#[test]
fn max_pages_per_host_is_exact() {
    let server = serve(WebConfig {
        flaky: 1,
        ..WebConfig::default()
    });
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &["--max-pages-per-host", "5"]));
    let attempts = home.attempts();
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for attempt in answered(&attempts) {
        *hosts.entry(attempt.url.normal().host_str()).or_default() += 1;
    }
    assert_eq!(hosts.len(), 4, "{hosts:?}");
    assert!(hosts.values().all(|count| *count == 5), "{hosts:?}");
}

#[test]
fn max_time_and_max_bytes_end_a_run_well() {
    let server = serve(WebConfig {
        hosts: 2,
        pages_per_host: 200,
        ..WebConfig::default()
    });
    let home = Home::new();
    let report = home.json(&crawl(
        &home,
        &server,
        "30ms",
        &["--max-time", "1s", "--report", "json"],
    ));
    assert_eq!(report["reason"], "max-time");
    assert!(report["fetched"].as_u64().unwrap() < 400, "{report}");
    let home = Home::new();
    let report = home.json(&crawl(
        &home,
        &server,
        "0s",
        &["--max-bytes", "100KB", "--report", "json"],
    ));
    assert_eq!(report["reason"], "max-bytes");
    // What was under way when the limit was reached may still come.
    let bytes = report["bytes"].as_u64().unwrap();
    assert!((100_000..100_000 + 4 * 8192).contains(&bytes), "{bytes}");
}

#[test]
fn a_limit_of_depth_gives_the_same_set_in_every_run() {
    let config = WebConfig {
        hosts: 5,
        pages_per_host: 60,
        redirects: 3,
        links_per_page: 6,
        ..WebConfig::default()
    };
    let web = serve(config.clone());
    for depth in [0, 1, 3] {
        let want: BTreeMap<String, u32> = web.web().depth_map(&[web.web().front(0)], Some(depth));
        for order in ["breadth", "depth", "random"] {
            let server = serve(config.clone());
            let home = Home::new();
            home.good(&crawl(
                &home,
                &server,
                "0s",
                &["--max-depth", &depth.to_string(), "--order", order],
            ));
            assert_same(
                &format!("depth {depth}, {order}"),
                &asked(&server),
                &want.keys().cloned().collect(),
            );
            let repository = home.reading().repository().unwrap();
            for url in repository.urls().filter(|url| url.fetched.is_some()) {
                if let Some(least) = want.get(url.url.request()) {
                    assert_eq!(
                        u32::from(url.depth),
                        *least,
                        "{} ({order})",
                        url.url.request()
                    );
                }
            }
        }
    }
}

#[test]
fn types_keep_only_what_they_name_and_follow_the_rest() {
    let server = serve(WebConfig {
        requisites: true,
        ..WebConfig::default()
    });
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &["--types", "image/*"]));
    let web = server.web();
    let rules = Rules {
        requisites: true,
        ..Rules::default()
    };
    let truth = web.reachable(&[web.front(0)], &rules);
    let is_image = |url: &String| matches!(web.locate(url), Some((_, Place::Image(_))));
    let asked = asked(&server);
    let missing: Vec<_> = truth
        .depths
        .keys()
        .filter(|url| !asked.contains(*url))
        .collect();
    assert!(missing.is_empty(), "pages not followed: {missing:?}");
    let images: BTreeSet<String> = truth
        .requisites
        .iter()
        .filter(|url| is_image(url))
        .cloned()
        .collect();
    let kept: BTreeSet<String> = home
        .all_captures()
        .into_iter()
        .map(|entry| entry.url)
        .filter(|url| !url.ends_with("/robots.txt"))
        .collect();
    assert_same("kept", &kept, &images);
}

#[test]
fn include_and_exclude_decide_by_the_url() {
    let server = serve(WebConfig::default());
    let all: BTreeSet<String> = server
        .web()
        .depth_map(&[server.web().front(0)], None)
        .into_keys()
        .collect();
    let is_odd = |url: &String| url.contains("-1");
    let home = Home::new();
    home.good(&crawl(
        &home,
        &server,
        "0s",
        &["--exclude", "[a-z]-1", "--exclude", "[a-z]-2"],
    ));
    let asked_for = asked(&server);
    assert!(
        asked_for
            .iter()
            .all(|url| !is_odd(url) && !url.contains("-2")),
        "{asked_for:?}"
    );
    assert!(asked_for.len() > 20);
    let left_out = all
        .iter()
        .find(|url| is_odd(url) && home.run(&["page", url, "--json"]).code == Some(0))
        .unwrap();
    let told = home.json(&["page", left_out, "--json"]);
    assert_eq!(told["state"], "excluded", "{told:#}");
    assert!(
        told["excluded_by"]["rule"].as_str().unwrap().contains("-1"),
        "{told:#}"
    );
    server.clear_log();
    let home = Home::new();
    home.good(&crawl(
        &home,
        &server,
        "0s",
        &["--include", r"h[01]\.web\.test/"],
    ));
    let asked_for = asked(&server);
    assert!(
        asked_for
            .iter()
            .all(|url| url.contains("h0.") || url.contains("h1.")),
        "{asked_for:?}"
    );
    assert!(asked_for.len() > 20);
}

#[test]
fn the_scope_is_the_host_of_the_seed_unless_told_otherwise() {
    let server = serve(WebConfig::default());
    let home = Home::new();
    let resolve = format!("*.test={}", server.addr());
    home.good(&[
        "crawl",
        &server.web().front(1),
        "--resolve",
        &resolve,
        "--delay",
        "0s",
    ]);
    let rules = Rules {
        scope: teia_testweb::Scope::Seeds,
        ..Rules::default()
    };
    let truth = server.web().reachable(&[server.web().front(1)], &rules);
    assert_same("requested", &asked(&server), &owned(truth.fetched()));
}

#[test]
fn robots_are_obeyed_unless_told_otherwise() {
    let server = serve(WebConfig {
        honeypots: 2,
        ..WebConfig::default()
    });
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &[]));
    assert_polite(&server, Duration::ZERO);
    server.clear_log();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &["--ignore-robots"]));
    let rules = Rules {
        robots: false,
        ..Rules::default()
    };
    let truth = server.web().reachable(&[server.web().front(0)], &rules);
    let asked = asked(&server);
    assert_same("requested", &asked, &owned(truth.fetched()));
    let honeypots = asked
        .iter()
        .filter(|url| matches!(server.web().locate(url), Some((_, Place::Honeypot(_)))))
        .count();
    assert_eq!(honeypots, 8);
}

#[test]
fn a_page_that_fails_is_tried_again_as_often_as_told() {
    // A connection that is used again and closed is tried once more at once; here none is used again.
    let settings = PATIENT.replace("20ms", "2ms") + "[fetch]\nidle-per-host = 0\n";
    for manner in [Failure::Unavailable(None), Failure::Close] {
        // Two failures, then it answers: three requests. A hundred failures: one request and the retries.
        for (failures, retries, requests) in [(2, "4", 3), (100, "2", 3), (100, "0", 1)] {
            let server = serve(WebConfig {
                hosts: 2,
                flaky: 2,
                flaky_failures: failures,
                flaky_manner: manner,
                ..WebConfig::default()
            });
            let home = Home::new();
            home.good(&crawl_with(
                &home,
                &server,
                "0s",
                &settings,
                &["--retries", retries],
            ));
            for (url, count) in requested(&server.log()) {
                let is_flaky = matches!(server.web().locate(&url), Some((_, Place::Flaky(_))));
                let told = format!("{url}, {manner:?}, {failures} failures, --retries {retries}");
                assert_eq!(count, if is_flaky { requests } else { 1 }, "{told}");
            }
        }
    }
}

#[test]
fn a_server_that_always_fails_is_asked_once_and_retries_times() {
    let server = Plain::start(|path| match path {
        "/" => (200, "<a href=/broken>x</a> <a href=/gone>y</a>".to_owned()),
        "/broken" => (500, "no".to_owned()),
        _ => (404, "no".to_owned()),
    });
    let home = Home::new();
    let config = home.write("quick.toml", "[politeness]\nretry-wait = \"10ms\"\n");
    home.good(&[
        "crawl",
        &format!("http://{}/", server.addr),
        "--delay",
        "0s",
        "--retries",
        "3",
        "--config",
        &config,
    ]);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in server.paths() {
        *counts.entry(path).or_default() += 1;
    }
    assert_eq!(
        counts,
        BTreeMap::from([("/".into(), 1), ("/broken".into(), 4), ("/gone".into(), 1)])
    );
    let told = home.json(&["page", &format!("http://{}/broken", server.addr), "--json"]);
    assert_eq!(
        (&told["state"], &told["outcome"]),
        (&"failed".into(), &500.into()),
        "{told:#}"
    );
    assert_eq!(told["attempts"].as_array().unwrap().len(), 4);
}

#[test]
fn a_loopback_seed_without_scheme_is_found_and_opens_no_other_door() {
    let secret = Plain::start(|_| (200, "secret".to_owned()));
    let door = format!("http://{}/", secret.addr);
    let linked = door.clone();
    let server = Plain::start(move |path| match path {
        "/" => (
            200,
            format!("<a href='{linked}'>x</a> <a href=/inside>y</a>"),
        ),
        _ => (200, "inside".to_owned()),
    });
    let home = Home::new();
    // No scheme: https is tried, fails against a server of plain HTTP, and http is taken.
    home.good(&[
        "crawl",
        &server.addr.to_string(),
        "--scope",
        "any",
        "--delay",
        "0s",
        "--retries",
        "0",
    ]);
    assert_eq!(server.paths(), ["/", "/inside"]);
    assert!(
        secret.paths().is_empty(),
        "a private address was asked because a page said so"
    );
    let told = home.json(&["page", &door, "--json"]);
    assert_eq!(told["attempts"][0]["name"], "addr_blocked", "{told:#}");
    assert!(
        home.json(&["page", &server.addr.to_string(), "--json"])["seed"]
            .as_bool()
            .unwrap()
    );
    // A person may open all of them.
    let home = Home::new();
    home.good(&[
        "crawl",
        &server.addr.to_string(),
        "--scope",
        "any",
        "--delay",
        "0s",
        "--allow-private",
    ]);
    assert_eq!(secret.paths(), ["/"]);
}

#[test]
fn a_limit_of_bytes_is_passed_by_no_more_than_what_was_under_way() {
    let page = 200_000;
    let server = serve(WebConfig {
        hosts: 4,
        pages_per_host: 30,
        page_bytes: page,
        ..WebConfig::default()
    });
    let home = Home::new();
    let limit = ["--max-bytes", "2MB", "--report", "json"];
    let report = home.json(&crawl(&home, &server, "0s", &limit));
    assert_eq!(report["reason"], "max-bytes");
    let bytes = report["bytes"].as_u64().unwrap();
    // One page of each host, with its head.
    let most = 2_000_000 + 4 * (page as u64 + 1000);
    assert!((2_000_000..most).contains(&bytes), "{bytes}");
}

#[test]
fn words_and_expressions_in_the_text_decide_what_is_kept() {
    let texts = [
        ("/stork", "A White Stork on its nest."),
        ("/coast", "The white cliffs; a stork far away."),
        ("/tern", "Arctic tern, ringed in 1998."),
        ("/draft", "White stork: a DRAFT of 1998."),
    ];
    let site = Plain::start(move |path| {
        let text = texts.iter().find(|(known, _)| *known == path);
        let links: String = texts
            .iter()
            .map(|(path, _)| format!("<a href={path}>x</a>"))
            .collect();
        match (path, text) {
            ("/", _) => (200, links),
            (_, Some((_, text))) => (200, format!("<title>x</title><p>{text}</p>{links}")),
            _ => (404, String::new()),
        }
    });
    for (settings, kept) in [
        (
            "words = [\"white stork\", \"tern\"]",
            &["/draft", "/stork", "/tern"][..],
        ),
        (
            "text-include = [\"\\\\b1[0-9]{3}\\\\b\"]",
            &["/draft", "/tern"],
        ),
        (
            "text-exclude = [\"DRAFT\"]",
            &["/", "/coast", "/stork", "/tern"],
        ),
        (
            "words = [\"stork\"]\ntext-exclude = [\"(?i)draft\"]",
            &["/coast", "/stork"],
        ),
    ] {
        let home = Home::new();
        let config = home.write("text.toml", &format!("[filter]\n{settings}\n"));
        let before = site.paths().len();
        let seed = site.url("/");
        home.good(&["crawl", &seed, "--delay", "0s", "--config", &config]);
        // Everything is read for its links; what is not to be kept is not kept.
        assert_eq!(site.paths().len() - before, 5, "{settings}");
        let captures = home.all_captures().into_iter().map(|entry| entry.url);
        let got: BTreeSet<String> = captures
            .filter(|url| !url.ends_with("robots.txt"))
            .collect();
        let want = kept.iter().map(|path| site.url(path)).collect();
        assert_same(settings, &got, &want);
    }
}

#[test]
fn a_person_may_ask_for_documents_beyond_the_safety_limits() {
    let body = "a large page ".repeat(1_500_000); // 19.5 MB
    let served = body.clone();
    let site = Plain::start(move |_| (200, served.clone()));
    let home = Home::new();
    let (url, common) = (site.url("/big"), ["--delay", "0s", "--report", "json"]);
    let told = home.json(&[&["crawl", &url], &common[..]].concat());
    assert_eq!(told["codes"]["-4"], 1, "{told}");
    let more = ["--max-size", "30MB", "--collection", "large"];
    let told = home.json(&[&["crawl", &url], &common[..], &more].concat());
    assert_eq!(told["codes"]["200"], 1, "{told}");
    let got = home.run(&["get", &url, "--collection", "large"]);
    assert!(got.out == body.as_bytes(), "{} bytes", got.out.len());
    let page = home.json(&["page", &url, "--collection", "large", "--json"]);
    let flags = page["attempts"][0]["flags"].as_array().unwrap();
    let cut = |flag: &serde_json::Value| flag.as_str().unwrap().contains("trunc");
    assert!(!flags.iter().any(cut), "{flags:?}");
}

#[test]
fn the_limits_of_time_follow_the_timeout_both_ways() {
    let site = Plain::start(|_| {
        std::thread::sleep(Duration::from_millis(1500));
        (200, "slow".to_owned())
    });
    let home = Home::new();
    let (seed, common) = (
        site.url("/"),
        ["--ignore-robots", "--retries", "0", "--report", "json"],
    );
    // A quarter of it for the first byte: half a second is too short, most of a minute is not.
    for (timeout, code) in [("2s", "-10"), ("3m", "200")] {
        let more = ["--timeout", timeout, "--collection", timeout];
        let told = home.json(&[&["crawl", &seed], &common[..], &more].concat());
        assert_eq!(told["codes"][code], 1, "{timeout}: {told}");
    }
    let stored = std::fs::read_to_string(home.data().join("collections/3m.toml")).unwrap();
    for line in ["\ntimeout = \"3m\"", "\nfirst-byte-timeout = \"45s\""] {
        assert!(stored.contains(line), "no {line:?} in {stored}");
    }
}

#[test]
fn names_are_looked_up_where_the_address_counts() {
    let site = Plain::start(|_| (200, "<title>here</title>".to_owned()));
    let home = Home::new();
    let settings = home.write("address.toml", "[politeness]\nkey = \"address\"\n");
    let port = site.addr.port();
    let (named, numbered) = (format!("http://localhost:{port}/"), site.url("/"));
    let nowhere = "http://no-such-name.invalid/";
    let more = [
        "--delay",
        "0s",
        "--retries",
        "0",
        "--config",
        &settings,
        "--report",
        "json",
    ];
    let told = home.json(&[&["crawl", &named, &numbered, nowhere], &more[..]].concat());
    assert_eq!(told["codes"]["200"], 2, "{told}");
    assert_eq!(told["waiting"], 0, "{told}");
}
