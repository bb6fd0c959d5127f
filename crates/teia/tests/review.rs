//! What a first user found, so that it stays mended.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

use std::net::TcpListener;

use support::{Home, Plain};

/// A private address allowed by hand is that one and no other, also where a redirect leads and
/// also in the next run.
#[test]
fn a_redirect_from_a_private_seed_allows_nothing_in_the_next_run() {
    let inner = Plain::start(|_| (200, "<title>inner</title>".to_owned()));
    let target = inner.url("/");
    let outer = Plain::start(move |_| (302, target.clone()));
    let home = Home::new();
    home.run(&[
        "crawl",
        &outer.url("/"),
        "--delay",
        "0s",
        "--max-pages",
        "1",
        "--ignore-robots",
    ]);
    home.run(&["resume", "--max-pages", "3", "--delay", "0s"]);
    assert!(inner.paths().is_empty(), "{:?}", inner.paths());
}

/// What is refused leaves the collection as it was.
#[test]
fn a_refused_setting_is_not_kept() {
    let site = Plain::start(|_| (200, "<title>site</title>".to_owned()));
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s"]);
    let settings = home.write("www.toml", "[normal-form]\nwww = true\n");
    let refused = home.run(&[
        "crawl",
        &site.url("/"),
        "--delay",
        "0s",
        "--config",
        &settings,
    ]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    let refused = home.run(&["crawl", "ftp://x/"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    home.good(&["resume", "--delay", "0s"]);
}

/// Another command may begin at once.
#[test]
fn a_stop_is_done_when_the_process_is_gone() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let site = Plain::start(move |_| {
        (
            200,
            format!("<a href=http://{closed}/>dead</a> <a href=/1>1</a>"),
        )
    });
    let home = Home::new();
    let running = home.start(&["crawl", &site.url("/"), "--delay", "2s"]);
    support::until("the first page is asked for", || !site.paths().is_empty());
    home.good(&["stop"]);
    drop(running);
    home.good(&["resume", "--delay", "0s", "--max-pages", "1"]);
}

/// Authors who want no copy shown are obeyed wherever a copy could come out.
#[test]
fn what_asks_for_no_copies_is_kept_and_never_shown() {
    let site = Plain::start(|path| {
        let page = match path {
            "/" => "<a href=/open>o</a> <a href=/closed>c</a>",
            "/closed" => "<meta name=robots content=noarchive><p>closed words",
            _ => "<p>open words",
        };
        (200, page.to_owned())
    });
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s", "--ignore-robots"]);
    assert!(
        home.good(&["get", &site.url("/open")])
            .contains("open words")
    );
    let refused = home.run(&["get", &site.url("/closed")]);
    assert_eq!((refused.code, refused.out.len()), (Some(1), 0));
    assert!(refused.err.contains("noarchive"), "{}", refused.err);
    let index = home.good(&["export", "cdxj"]);
    assert!(
        index.contains("/open") && !index.contains("/closed"),
        "{index}"
    );
    let folder = home.beside("files");
    home.good(&["export", "files", "--output", folder.to_str().unwrap()]);
    let found = std::process::Command::new("grep")
        .args(["-rl", "closed words"])
        .arg(&folder)
        .output()
        .unwrap();
    assert!(found.stdout.is_empty(), "{found:?}");
}

/// A body comes back as long as it came.
#[test]
fn a_large_body_comes_back_whole() {
    const LENGTH: usize = 40_000_000;
    let site = Plain::start(|_| (200, "x".repeat(LENGTH)));
    let home = Home::new();
    let url = site.url("/");
    home.good(&[
        "crawl",
        &url,
        "--delay",
        "0s",
        "--ignore-robots",
        "--max-size",
        "100MB",
    ]);
    assert_eq!(home.good(&["get", &url]).len(), LENGTH);
}

/// Settings and journal are no place for passwords.
#[test]
fn a_password_given_with_a_seed_or_a_proxy_is_not_in_the_journal() {
    let site = Plain::start(|_| (200, "<p>words".to_owned()));
    let home = Home::new();
    let seed = site.url("/").replace("http://", "http://user:secretpw@");
    let ended = home.run(&["crawl", &seed, "--delay", "0s", "--ignore-robots"]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(
        ended.err.contains("neither used nor stored"),
        "{}",
        ended.err
    );
    let grep = |word: &str, folder: &std::path::Path| {
        let found = std::process::Command::new("grep")
            .args(["-rl", word])
            .arg(folder)
            .output()
            .unwrap();
        String::from_utf8(found.stdout).unwrap()
    };
    assert_eq!(grep("secretpw", home.data()), "");
    let proxy = format!("http://user:proxypw@{}", site.addr);
    home.run(&[
        "crawl",
        "http://a.example/",
        "--proxy",
        &proxy,
        "--delay",
        "0s",
    ]);
    assert_eq!(grep("proxypw", home.data()), "");
}

/// Whoever owns a public name decides where it leads; a person who names it did not mean the
/// machine under the desk.
#[test]
fn a_public_name_that_leads_inside_is_refused_though_a_person_gave_it() {
    use teia_base::SystemClock;
    use teia_fetch::{FetchConfig, HttpFetcher};
    let fetcher =
        HttpFetcher::new(FetchConfig::default(), std::sync::Arc::new(SystemClock)).unwrap();
    fetcher.allow_host("evil.example.org", 80);
    fetcher.allow_host("localhost", 80);
    let shown = format!("{fetcher:?}");
    assert!(shown.contains("localhost") && !shown.contains("evil.example.org"));
}

/// Tries are counted in a byte; that many are taken for enough.
#[test]
fn no_number_of_tries_breaks_a_run() {
    let refused = Home::new().run(&["crawl", "http://127.0.0.1:1/", "--retries", "101"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    let home = Home::new();
    let settings = home.write(
        "many.toml",
        "[run]\nretries = 100\ncommit-every = \"10ms\"\n[politeness]\nretry-wait = \"0s\"\n",
    );
    let ended = home.run(&[
        "crawl",
        "http://127.0.0.1:1/",
        "--config",
        &settings,
        "--delay",
        "0s",
        "--ignore-robots",
    ]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(home.status()["state"], "ended (done)");
}

/// Senseless limits would stay with the collection.
#[test]
fn limits_of_nothing_and_empty_seeds_are_refused() {
    for wrong in [
        &["crawl", "example.org", "--max-pages", "0"][..],
        &["crawl", "example.org", "--max-time", "0s"],
        &["crawl", "example.org", "--timeout", "0s"],
        &["crawl", ""],
    ] {
        let refused = Home::new().run(wrong);
        assert_eq!(refused.code, Some(2), "{wrong:?}: {}", refused.err);
    }
}

/// A page without a near-duplicate signature has none, rather than one of zeros; a page in a script
/// without spaces has one.
#[test]
fn a_signature_that_does_not_exist_is_null() {
    let site = Plain::start(|path| {
        let page = match path {
            "/ja" => {
                "<meta charset=utf-8><p>".to_owned()
                    + &"春になると南の国から燕が渡ってきて、人家の軒先に巣を作る。".repeat(5)
            }
            _ => "<a href=/ja>ja</a> few words".to_owned(),
        };
        (200, page)
    });
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s", "--ignore-robots"]);
    let similarity = |path: &str| {
        let told = home.good(&["page", &site.url(path), "--json"]);
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        let attempts = told["attempts"].as_array().unwrap();
        attempts[0]["similarity"].clone()
    };
    assert!(similarity("/").is_null(), "{}", similarity("/"));
    assert!(similarity("/ja").is_string(), "{}", similarity("/ja"));
}

/// What two commands meet in one directory, a refused one of them does not remove.
#[test]
fn a_refused_crawl_removes_nothing_that_another_made() {
    let site = Plain::start(|_| (200, "<p>words".to_owned()));
    let home = Home::new();
    home.good(&["crawl", &site.url("/"), "--delay", "0s", "--ignore-robots"]);
    let refused = home.run(&[
        "crawl",
        "--scope",
        "prefix",
        "--include",
        "(",
        &site.url("/"),
    ]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(home.good(&["get", &site.url("/")]).contains("words"));
    // A directory that the refused command made itself is gone with it.
    let fresh = home.beside("deep/fresh");
    let refused = home.run(&[
        "crawl",
        &site.url("/"),
        "--include",
        "(",
        "--data",
        fresh.to_str().unwrap(),
    ]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(!home.beside("deep").exists());
}
