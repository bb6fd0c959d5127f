//! Who may ask, how slowly, and how much at once.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::Served;
use teia_web::WebConfig;

fn empty(config: WebConfig) -> Served {
    Served::new(tempfile::tempdir().unwrap(), config)
}

#[test]
fn ui_28_a_foreign_name_is_refused() {
    let served = empty(WebConfig {
        hosts: vec!["teia.example".to_owned()],
        ..WebConfig::default()
    });
    assert_eq!(
        served.ask("GET", "/", &[("Host", "evil.example")]).status,
        421
    );
    assert_eq!(
        served
            .ask("GET", "/", &[("Host", "127.0.0.1.evil.example")])
            .status,
        421
    );
    assert_eq!(
        served.ask("GET", "/", &[("Host", "localhost:7070")]).status,
        200
    );
    assert_eq!(
        served.ask("GET", "/", &[("Host", "TEIA.example")]).status,
        200
    );
}

/// Only the first version of HTTP is spoken, so no packed head can grow; and a plain one is bounded.
#[test]
fn ui_33_the_second_version_of_http_and_heads_without_end_are_refused() {
    let served = empty(WebConfig::default());
    let mut second = TcpStream::connect(served.address).unwrap();
    second
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let _ = second.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    let mut answer = Vec::new();
    let _ = second.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    let mut many = TcpStream::connect(served.address).unwrap();
    many.set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let _ = many.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n");
    let field = format!("X-Field: {}\r\n", "a".repeat(1000));
    // Whoever is refused hears of it by a closed connection at the latest.
    let sent = (0..10_000)
        .take_while(|_| many.write_all(field.as_bytes()).is_ok())
        .count();
    let mut answer = Vec::new();
    let _ = many.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    assert!(sent < 10_000, "all of it was read");
    assert_eq!(served.ask("GET", "/", &[]).status, 200);
}

#[test]
fn only_reading_is_answered() {
    let served = empty(WebConfig::default());
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        assert_eq!(served.ask(method, "/", &[]).status, 405, "{method}");
    }
    let head = served.ask("HEAD", "/", &[]);
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn every_answer_has_its_headers() {
    let served = empty(WebConfig::default());
    for path in [
        "/",
        "/help",
        "/search",
        "/nothing-here",
        "/opensearch.xml",
        "/static/teia.js",
        "/api/search?q=a",
    ] {
        let answer = served.get(path);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name).as_deref(), Some(value), "{path}");
        }
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'")
                && policy.contains("frame-ancestors 'none'")
                && !policy.contains("unsafe"),
            "{policy}"
        );
    }
}

#[test]
fn a_slow_head_is_cut_off_and_others_are_served() {
    let served = empty(WebConfig {
        head_timeout: Duration::from_millis(300),
        ..WebConfig::default()
    });
    let mut slow = TcpStream::connect(served.address).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        .unwrap();
    assert_eq!(served.get("/").status, 200, "meanwhile");
    let mut rest = Vec::new();
    // It is closed, with or without a word; it does not wait for the rest.
    let _ = slow.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
}

/// Ten thousand connections that say nothing, and no timer that would help: whoever asks for something is served.
#[test]
fn ui_19_many_who_say_nothing_keep_nobody_out() {
    const IDLE: u64 = 10_000;
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(1 << 20).min(1 << 20);
    let raised = Rlimit {
        current: Some(most),
        maximum: limit.maximum,
    };
    let _ = setrlimit(Resource::Nofile, raised);
    let idle = IDLE.min(most.saturating_sub(1500));
    let config = WebConfig {
        head_timeout: Duration::from_secs(600),
        ..WebConfig::default()
    };
    let places = u64::try_from(config.connections).unwrap();
    assert!(idle > 2 * places, "{most} descriptors show nothing");
    let served = empty(config);
    // Not all in one moment, in which the system itself would refuse them.
    let held: Vec<TcpStream> = (0..idle)
        .map(|number| {
            if number % 100 == 0 {
                std::thread::sleep(Duration::from_millis(30));
            }
            TcpStream::connect(served.address).unwrap()
        })
        .collect();
    for _ in 0..3 {
        assert_eq!(served.get("/").status, 200);
    }
    // Those who were sent away know it; the last ones are still there, as many as there are places.
    let gone = held
        .iter()
        .filter(|stream| {
            stream.set_nonblocking(true).unwrap();
            let mut stream = *stream;
            stream.read(&mut [0]).is_ok()
        })
        .count();
    let kept = held.len() - gone;
    assert!(
        kept <= usize::try_from(places).unwrap(),
        "{kept} of {} connections are open",
        held.len()
    );
}

/// Between two requests nobody is sent away: only who has never asked for anything is.
#[test]
fn ui_19_a_client_that_has_asked_keeps_its_place() {
    let served = empty(WebConfig {
        connections: 2,
        head_timeout: Duration::from_secs(20),
        ..WebConfig::default()
    });
    let mut asking = TcpStream::connect(served.address).unwrap();
    asking
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let request = b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let ask = |stream: &mut TcpStream| {
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 200"));
    };
    ask(&mut asking);
    let silent: Vec<TcpStream> = (0..5)
        .map(|_| TcpStream::connect(served.address).unwrap())
        .collect();
    assert_eq!(served.get("/").status, 200, "a new client");
    ask(&mut asking);
    drop(silent);
}

#[test]
fn a_client_that_takes_nothing_is_left() {
    let served = empty(WebConfig {
        stall_timeout: Duration::from_millis(200),
        connections: 1,
        head_timeout: Duration::from_millis(300),
        ..WebConfig::default()
    });
    let mut greedy = TcpStream::connect(served.address).unwrap();
    // Many answers are asked for, and none is read.
    for _ in 0..3000 {
        if greedy
            .write_all(b"GET /static/teia.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            .is_err()
        {
            break;
        }
    }
    // There is one place only: this is answered when the greedy one was left.
    assert_eq!(served.get("/").status, 200);
}

#[test]
fn a_huge_head_is_refused() {
    let served = empty(WebConfig::default());
    let big = "x".repeat(200 << 10);
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let _ = stream
        .write_all(format!("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Big: {big}\r\n\r\n").as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 200"));
    assert_eq!(served.get("/").status, 200);
}

/// As much as may be asked for is, and one more is refused.
#[test]
fn bodies_and_queries_at_their_limits() {
    let config = WebConfig::default();
    assert_eq!(
        (
            config.max_query_bytes,
            config.max_query_clauses,
            config.max_query_words,
            config.max_query_depth,
            config.max_body_bytes,
            config.head_timeout,
            config.body_timeout,
        ),
        (
            1024,
            32,
            64,
            16,
            1 << 20,
            Duration::from_secs(10),
            Duration::from_secs(30)
        )
    );
    assert_eq!(teia_search::SearchConfig::default().max_milliseconds, 2000);
    let served = empty(config);
    let words = |count: usize| vec!["a"; count].join("+");
    let clauses = |count: usize| vec!["%2Ba"; count].join("+");
    let deep = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    for (at, past) in [
        ("a".repeat(1024), "a".repeat(1025)),
        (words(64), words(65)),
        (clauses(32), clauses(33)),
        (deep(16), deep(17)),
    ] {
        for page in ["/search", "/api/search"] {
            let answer = served.get(&format!("{page}?q={at}"));
            assert_eq!(answer.status, 200, "{page}: {at:.20}: {}", answer.text());
            let answer = served.get(&format!("{page}?q={past}"));
            assert_eq!(answer.status, 400, "{page}: {past:.20}");
        }
    }
}

/// Far behind the last result there is an empty page or a sentence, and what is no number is called so.
#[test]
fn offsets_behind_the_end_and_wrong_ones_are_answered() {
    let served = empty(WebConfig::default());
    for page in ["/search", "/api/search"] {
        let ask = |rest: &str| served.get(&format!("{page}?q=melro&{rest}"));
        for within in [
            "offset=0",
            "offset=500",
            "offset=9990",
            "page=1000",
            "offset=",
        ] {
            assert_eq!(ask(within).status, 200, "{page}: {within}");
        }
        for far in [
            "offset=9991",
            "offset=18446744073709551615",
            "offset=99999999999999999999999",
            "page=1001",
        ] {
            let answer = ask(far);
            assert_eq!(answer.status, 400, "{page}: {far}");
            assert!(
                answer.text().contains("results can be shown"),
                "{page}: {far}"
            );
        }
        for wrong in [
            "offset=-1",
            "offset=x",
            "offset=1e3",
            "offset=1.5",
            "page=x",
        ] {
            let answer = ask(wrong);
            assert_eq!(answer.status, 400, "{page}: {wrong}");
            assert!(
                answer.text().contains("must be a whole number"),
                "{page}: {wrong}"
            );
        }
    }
}
