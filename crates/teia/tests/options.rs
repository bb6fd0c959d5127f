//! Options stay with a collection, and each of them can be taken back.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use support::{Home, crawl};
use teia_testweb::{Listen, Server, WebConfig};

fn stored(home: &Home) -> toml::Table {
    let text = std::fs::read_to_string(home.data().join("collections/default.toml")).unwrap();
    text.parse().unwrap()
}

#[test]
fn what_stays_with_a_collection_can_be_taken_back() {
    let server = Server::start(WebConfig::default(), Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    let given = [
        "--max-depth",
        "0",
        "--max-path-depth",
        "9",
        "--max-pages",
        "2",
        "--max-pages-per-host",
        "2",
        "--max-bytes",
        "9MB",
        "--max-time",
        "1m",
        "--hosts",
        "3",
        "--bandwidth",
        "9MB/s",
        "--types",
        "text/html",
        "--lang",
        "pt",
        "--include",
        "web",
        "--exclude",
        "nunca",
        "--ignore-robots",
        "--allow-private",
        "--accept-certificates",
        "--cookies",
        "--no-archive",
    ];
    home.good(&crawl(&home, &server, "0s", &given));
    let limits = [
        "max-depth",
        "max-path-depth",
        "max-pages",
        "max-pages-per-host",
        "max-bytes",
    ];
    let is = |table: &toml::Table, section: &str, key: &str| table[section].get(key).cloned();
    let before = stored(&home);
    for key in limits {
        assert!(is(&before, "filter", key).is_some(), "{key}: {before}");
    }
    assert_eq!(is(&before, "run", "ignore-robots"), Some(true.into()));

    let back = [
        "crawl",
        "--max-depth",
        "none",
        "--max-path-depth",
        "none",
        "--max-pages",
        "none",
        "--max-pages-per-host",
        "none",
        "--max-bytes",
        "none",
        "--max-time",
        "none",
        "--hosts",
        "auto",
        "--bandwidth",
        "none",
        "--types",
        "all",
        "--lang",
        "all",
        "--include",
        "",
        "--exclude",
        "",
        "--respect-robots",
        "--refuse-private",
        "--check-certificates",
        "--no-cookies",
        "--archive",
        "--proxy",
        "none",
    ];
    home.good(&back);
    let after = stored(&home);
    for (section, key) in limits.map(|key| ("filter", key)).into_iter().chain([
        ("run", "max-time"),
        ("run", "hosts-at-once"),
        ("fetch", "bandwidth"),
        ("fetch", "proxy"),
    ]) {
        assert_eq!(is(&after, section, key), None, "{key}");
    }
    for key in ["types", "languages", "include", "exclude"] {
        let list = is(&after, "filter", key).unwrap();
        assert!(list.as_array().unwrap().is_empty(), "{key}: {list}");
    }
    assert_eq!(is(&after, "run", "ignore-robots"), Some(false.into()));
    assert_eq!(is(&after, "fetch", "allow-private"), Some(false.into()));
    assert_eq!(is(&after, "fetch", "cookies"), Some(false.into()));
    assert_eq!(is(&after, "fetch", "certificates"), Some("check".into()));
    assert_eq!(is(&after, "archive", "enabled"), Some(true.into()));
    // And it is what the run then did: all pages, not two.
    assert!(home.status()["fetched"].as_u64().unwrap() > 50);
}

#[test]
fn of_an_option_and_its_opposite_the_last_counts() {
    let server = Server::start(WebConfig::default(), Listen::Names { port: 0 }).unwrap();
    for (options, ignored) in [
        (["--ignore-robots", "--respect-robots"], false),
        (["--respect-robots", "--ignore-robots"], true),
    ] {
        let home = Home::new();
        let more = [&options[..], &["--max-pages", "1"]].concat();
        home.good(&crawl(&home, &server, "0s", &more));
        assert_eq!(stored(&home)["run"]["ignore-robots"], ignored.into());
    }
}
