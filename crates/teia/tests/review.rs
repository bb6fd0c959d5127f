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
