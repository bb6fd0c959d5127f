//! `teia serve` as people start it: ports, signals, and a crawl beside it.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../web/tests/support/filling.rs"]
mod filling;
#[path = "../../web/tests/support/little_web.rs"]
mod little_web;
mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use little_web::LittleWeb;
use rustix::process::Signal;
use support::{Home, LIMIT};

fn get(base: &str, path: &str, headers: &str) -> (String, String) {
    let address = base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}Connection: close\r\n\r\n"
    )
    .unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn a_port_that_is_taken_is_one_sentence_and_code_1() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = home.run(&["serve", "--listen", &address]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(
        ended.err.contains(&address) && ended.err.contains("--listen"),
        "{}",
        ended.err
    );
    assert_eq!(ended.err.trim().lines().count(), 1, "{}", ended.err);
}

#[test]
fn other_machines_and_nonsense_are_refused() {
    let home = Home::new();
    for (listen, word) in [
        ("0.0.0.0:7070", "login"),
        ("[::]:0", "login"),
        ("here", "127.0.0.1:7070"),
        ("127.0.0.1:99999", "127.0.0.1:7070"),
    ] {
        let ended = home.run(&["serve", "--listen", listen]);
        assert_eq!(ended.code, Some(2), "{listen}: {}", ended.err);
        assert!(ended.err.contains(word), "{listen}: {}", ended.err);
    }
}

#[test]
fn a_signal_ends_it() {
    for signal in [Signal::INT, Signal::TERM] {
        let home = Home::new();
        let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
        let base = server.address();
        let (head, body) = get(&base, "/", "");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(body.contains("No collection yet"), "{body}");
        server.signal(signal);
        assert_eq!(server.wait(LIMIT).code, Some(130));
        let mut made: Vec<_> = std::fs::read_dir(home.data())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        made.sort();
        assert_eq!(made, ["format", "tokens.toml"], "looking makes no more");
    }
}

/// Asks until the answer has the word.
#[track_caller]
fn until(base: &str, path: &str, word: &str) -> String {
    let limit = Instant::now() + LIMIT;
    loop {
        let (_, body) = get(base, path, "");
        if body.contains(word) {
            return body;
        }
        assert!(Instant::now() < limit, "{path} never said {word}: {body}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_crawl_in_another_process_appears_by_itself() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let base = server.address();
    assert!(get(&base, "/", "").1.contains("No collection yet"));
    let web = LittleWeb::start();
    web.html(
        "/",
        "<title>Lapwing meadow</title><p>A lapwing calls.</p><a href=/second>more</a>",
    );
    web.html("/second", "<title>Second</title><p>Curlews answer.</p>");
    home.good(&["crawl", &web.url("/"), "--delay", "0s"]);
    let url = web.url("/");
    // The archive and the journal at once, the index when it is made.
    until(&base, &format!("/page?url={url}"), "Lapwing meadow");
    until(&base, &format!("/archive/*/{url}"), "1 copy");
    filling::fill(home.data(), "default");
    until(&base, "/search?q=lapwing", "Lapwing meadow");
    // A second collection is noticed too, and merged.
    web.html(
        "/second",
        "<title>Second</title><p>Curlews and a lapwing answer.</p>",
    );
    home.good(&[
        "crawl",
        &web.url("/second"),
        "--collection",
        "birds",
        "--delay",
        "0s",
    ]);
    filling::fill(home.data(), "birds");
    until(&base, "/", "birds");
    until(&base, "/api/search?q=lapwing", "\"collection\":\"birds\"");
    // Removed from view: at once, without a word to the server.
    home.good(&["remove", &url]);
    assert!(
        get(&base, &format!("/archive/*/{url}"), "")
            .0
            .starts_with("HTTP/1.1 404")
    );
    assert!(
        !get(&base, "/search?q=meadow", "")
            .1
            .contains("Lapwing meadow")
    );
    assert!(home.good(&["remove", "--list"]).contains(&url));
    home.good(&["remove", &url, "--restore"]);
    assert!(
        get(&base, &format!("/archive/*/{url}"), "")
            .0
            .starts_with("HTTP/1.1 200")
    );
}

#[test]
fn ui_24_escape_codes_of_pages_do_not_reach_a_terminal() {
    let home = Home::new();
    let web = LittleWeb::start();
    web.html("/", "<title>Red \u{1b}[31malert\u{7} &#27;]0;title&#7;</title><p>text</p><a href='/\u{1b}[2J'>\u{1b}[1mbold</a>");
    home.good(&["crawl", &web.url("/"), "--delay", "0s"]);
    for arguments in [
        vec!["page", &web.url("/")],
        vec!["stats"],
        vec!["status"],
        vec!["export", "urls"],
        vec!["export", "cdxj"],
    ] {
        let said = home.good(&arguments);
        assert!(
            !said.contains(['\u{1b}', '\u{7}']),
            "{arguments:?}: {said:?}"
        );
    }
    assert!(home.good(&["page", &web.url("/")]).contains("alert"));
}

#[test]
fn ui_25_one_request_is_one_line_of_the_log() {
    let home = Home::new();
    let server = home.start_logged(&["serve", "--listen", "127.0.0.1:0"], "teia_web=debug");
    let base = server.address();
    get(
        &base,
        "/search?q=a%0aERROR%20forged%20line",
        "User-Agent: x\r\n",
    );
    get(
        &base,
        "/archive/2026/http://a/%0d%0aERROR%20forged",
        "User-Agent: y\tz\r\n",
    );
    server.signal(Signal::TERM);
    let ended = server.wait(LIMIT);
    let lines: Vec<&str> = ended
        .err
        .lines()
        .filter(|line| line.contains("answered"))
        .collect();
    assert_eq!(lines.len(), 2, "{}", ended.err);
    assert!(
        !ended
            .err
            .lines()
            .any(|line| line.trim_start().starts_with("ERROR")),
        "{}",
        ended.err
    );
}
