//! HTTP/1 answers, good and bad, over a real socket.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod server;

use std::time::Duration;

use server::{Say, Server, body, config, fetch, fetcher, get, payload, say};
use teia_base::{Exchange, Flags, Outcome, Protocol, Request};
use teia_fetch::{FetchConfig, Fetcher};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello";

#[track_caller]
fn invalid(exchange: &Exchange, name: &str) {
    assert_eq!(
        exchange.outcome,
        Outcome::HTTP_INVALID,
        "{:?}",
        exchange.detail
    );
    assert_eq!(exchange.detail.as_deref(), Some(name));
}

#[tokio::test]
async fn an_answer_is_kept_byte_for_byte() {
    let exchange = fetch(vec![say(OK)]).await;
    assert_eq!(exchange.outcome, Outcome::http(200));
    assert_eq!(exchange.protocol, Protocol::Http11);
    let response = exchange.response.as_ref().unwrap();
    assert_eq!(
        response.head.as_bytes().as_ref(),
        OK.strip_suffix("hello").unwrap().as_bytes()
    );
    assert_eq!(response.media_type().unwrap().essence(), "text/html");
    assert_eq!(body(&exchange), b"hello");
    assert!(exchange.remote.is_some() && exchange.flags.is_empty() && exchange.detail.is_none());
    assert!(
        exchange
            .request_head
            .starts_with(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:")
    );
}

/// What stands after the last chunk is kept as it came, and is no field of the head (RFC 9110, 6.5.1).
#[tokio::test]
async fn trailers_are_kept_apart_from_the_head() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nLocation: /x\r\nRetry-After: 9\r\n\r\n";
    let exchange = fetch(vec![say(answer)]).await;
    assert_eq!(exchange.outcome, Outcome::http(200));
    assert_eq!(payload(&exchange), b"hello");
    let head = &exchange.response.as_ref().unwrap().head;
    let names: Vec<_> = head.fields().map(|(name, _)| name).collect();
    assert_eq!(names, ["Transfer-Encoding"]);
    assert!(body(&exchange).ends_with(b"Retry-After: 9\r\n\r\n"));
}

#[tokio::test]
async fn an_answer_may_come_in_any_pieces() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nT: x\r\n\r\n";
    let exchange = fetch(vec![Say::Drip(chunked.to_vec(), Duration::from_millis(1))]).await;
    assert_eq!(exchange.outcome, Outcome::http(200));
    assert_eq!(payload(&exchange), b"hello world");
    assert_eq!(
        body(&exchange).len(),
        chunked.len() - chunked.windows(4).position(|w| w == b"\r\n\r\n").unwrap() - 4
    );
}

#[tokio::test]
async fn a_body_without_length_ends_with_its_connection() {
    let exchange = fetch(vec![say("HTTP/1.0 200 OK\n\nall of it"), Say::Close]).await;
    assert_eq!(
        (exchange.outcome, exchange.protocol),
        (Outcome::http(200), Protocol::Http10)
    );
    assert_eq!(body(&exchange), b"all of it");
    assert!(exchange.flags.is_empty());
}

#[tokio::test]
async fn a_body_cut_short_is_kept_and_marked() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhello",
    ] {
        let exchange = fetch(vec![say(answer), Say::Close]).await;
        assert_eq!(exchange.outcome, Outcome::HTTP_INVALID);
        assert_eq!(exchange.detail.as_deref(), Some("http_body_short"));
        assert!(exchange.flags.has(Flags::BODY_SHORT), "{answer}");
        assert_eq!(payload(&exchange), b"hello");
    }
    // Who says that there is no such page has said all that counts.
    let gone = "HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\nhello";
    let exchange = fetch(vec![say(gone), Say::Close]).await;
    assert_eq!(exchange.outcome, Outcome::http(404));
    assert!(exchange.flags.has(Flags::BODY_SHORT));
    assert_eq!(exchange.detail.as_deref(), Some("disconnect"));
}

#[tokio::test]
async fn what_is_not_http_is_named_and_a_little_of_it_kept() {
    for (answer, name) in [
        ("HELLO\r\n", "http_bad_status_line"),
        ("SSH-2.0-OpenSSH_9.9\r\n", "http_bad_status_line"),
        ("<html>HTTP/0.9</html>", "http_bad_status_line"),
        ("HTTP/1.1 2000 OK\r\n\r\n", "http_bad_status_line"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "http_bad_status_line",
        ),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "http_bad_header"),
        ("HTTP/1.1 200 OK\rServer: x\r\r", "http_bad_header"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "http_framing_conflict",
        ),
    ] {
        let exchange = fetch(vec![say(answer), Say::Wait(Duration::from_secs(60))]).await;
        invalid(&exchange, name);
        assert_eq!(exchange.junk.as_ref(), answer.as_bytes());
        assert!(exchange.response.is_none());
    }
    let exchange = fetch(vec![say(vec![b'x'; 10_000])]).await;
    assert!(exchange.junk.len() <= 1024);
}

#[tokio::test]
async fn broken_chunks_are_named_and_what_came_is_kept() {
    let exchange = fetch(vec![say(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nnonsense\r\n",
    )])
    .await;
    invalid(&exchange, "http_bad_chunk");
    assert_eq!(payload(&exchange), b"hello");
}

#[tokio::test]
async fn heads_without_end_are_cut() {
    let exchange = fetch(vec![
        say("HTTP/1.1 200 OK\r\n"),
        Say::Endless(b"X: y\r\n".repeat(100)),
    ])
    .await;
    invalid(&exchange, "http_headers_too_large");
    let exchange = fetch(vec![
        say("HTTP/1.1 200 OK\r\nX: "),
        Say::Endless(vec![b'y'; 4096]),
    ])
    .await;
    invalid(&exchange, "http_headers_too_large");
    let honest = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nP: {}\r\n{}\r\nok",
        "p".repeat(30 << 10),
        "A: b\r\n".repeat(150)
    );
    assert_eq!(fetch(vec![say(honest)]).await.outcome, Outcome::http(200));
}

#[tokio::test]
async fn interim_answers_are_passed_over_until_they_flood() {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    let exchange = fetch(vec![say(format!("{}{OK}", interim.repeat(16)))]).await;
    assert_eq!(exchange.outcome, Outcome::http(200));
    assert_eq!(body(&exchange), b"hello");
    invalid(
        &fetch(vec![Say::Endless(interim.into())]).await,
        "http_interim_flood",
    );
}

#[tokio::test]
async fn silence_and_drips_end_at_their_limits() {
    let limits = FetchConfig {
        first_byte_timeout: Duration::from_millis(300),
        min_rate_window: Duration::from_millis(300),
        min_rate: 100_000,
        ..config()
    };
    let fetcher = fetcher(limits);
    let long = Duration::from_secs(60);
    let server = Server::with(vec![Say::Wait(long)]).await;
    let exchange = get(&fetcher, &server.url("/")).await;
    assert_eq!(
        (exchange.outcome, exchange.detail.as_deref()),
        (Outcome::TIME_EXCEEDED, Some("http_too_slow"))
    );

    let server = Server::with(vec![say("HTTP/1.1 200 OK\r\nX"), Say::Wait(long)]).await;
    invalid(&get(&fetcher, &server.url("/")).await, "http_too_slow");

    let drip = vec![
        say("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"),
        Say::EndlessDrip(b"x".to_vec(), Duration::from_millis(20)),
    ];
    let server = Server::with(drip).await;
    let exchange = get(&fetcher, &server.url("/")).await;
    invalid(&exchange, "http_too_slow");
    assert!(!body(&exchange).is_empty(), "what came is kept");

    let server = Server::with(vec![say("HTTP/1.1 200 OK\r\n\r\na page"), Say::Wait(long)]).await;
    let exchange = get(&fetcher, &server.url("/")).await;
    assert_eq!(
        (exchange.outcome, exchange.detail.as_deref()),
        (Outcome::http(200), Some("time"))
    );
    assert!(exchange.flags.has(Flags::TRUNCATED));
    assert_eq!(body(&exchange), b"a page");
}

#[tokio::test]
async fn the_whole_exchange_has_a_limit_too() {
    let server = Server::with(vec![
        say("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"),
        Say::EndlessDrip(vec![b'x'; 10_000], Duration::from_millis(5)),
    ])
    .await;
    let mut request = Request::get(server.url("/").parse().unwrap());
    request.timeout = Some(Duration::from_millis(400));
    let exchange = fetcher(config()).fetch(request).await;
    assert_eq!(
        (exchange.outcome, exchange.detail.as_deref()),
        (Outcome::TIME_EXCEEDED, Some("total"))
    );
}

#[tokio::test]
async fn a_connection_serves_again_if_its_answer_ended_well() {
    let server = Server::with(vec![say(OK)]).await;
    let fetcher = fetcher(config());
    for _ in 0..5 {
        assert_eq!(
            get(&fetcher, &server.url("/")).await.outcome,
            Outcome::http(200)
        );
    }
    assert_eq!((server.connections(), server.requests().len()), (1, 5));
}

#[tokio::test]
async fn a_connection_with_something_left_on_it_does_not() {
    let fake = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake";
    for answer in [
        format!("{OK}{fake}"),
        OK.replace("Content-Type", "Connection: close\r\nContent-Type"),
        format!("HTTP/1.1 204 No Content\r\n\r\n{fake}"),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n5\r\nhello\r\n0\r\n\r\n".to_owned(),
    ] {
        let server = Server::with(vec![say(&answer)]).await;
        let fetcher = fetcher(config());
        for _ in 0..3 {
            let exchange = get(&fetcher, &server.url("/")).await;
            assert!(exchange.outcome.is_ok());
            assert_ne!(body(&exchange), b"fake");
        }
        assert_eq!(server.connections(), 3, "{answer}");
    }
}

#[tokio::test]
async fn late_junk_is_noticed_before_the_next_request() {
    let server = Server::start(vec![
        vec![
            say(OK),
            Say::Wait(Duration::from_millis(50)),
            say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake"),
        ],
        vec![say(OK)],
    ])
    .await;
    let fetcher = fetcher(config());
    assert_eq!(body(&get(&fetcher, &server.url("/")).await), b"hello");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(body(&get(&fetcher, &server.url("/")).await), b"hello");
    assert_eq!(server.connections(), 2);
}

/// Asking again at once would be a second request within the host's gap: the caller decides when.
#[tokio::test]
async fn a_request_that_gets_no_answer_is_never_sent_twice() {
    // The second request of the connection is read and then answered with nothing.
    let server = Server::start(vec![vec![say(OK)], vec![Say::Close], vec![say(OK)]]).await;
    let fetcher = fetcher(config());
    assert_eq!(
        get(&fetcher, &server.url("/a")).await.outcome,
        Outcome::http(200)
    );
    let exchange = get(&fetcher, &server.url("/b")).await;
    assert_eq!(
        (exchange.outcome, exchange.detail.as_deref()),
        (
            Outcome::CONNECT_FAILED,
            Some(Exchange::KEPT_CONNECTION_ENDED)
        )
    );
    assert_eq!((server.connections(), server.requests().len()), (1, 2));
    // Sent again it gets a new connection, and a failure there is one.
    let server = Server::start(vec![
        vec![say(OK)],
        vec![Say::Close],
        vec![say(OK)],
        vec![Say::Close],
        vec![Say::Close],
    ])
    .await;
    for (path, detail) in [
        ("/a", None),
        ("/b", Some(Exchange::KEPT_CONNECTION_ENDED)),
        ("/b", None),
        ("/c", Some(Exchange::KEPT_CONNECTION_ENDED)),
        ("/c", Some("closed_before_answer")),
    ] {
        let exchange = get(&fetcher, &server.url(path)).await;
        assert_eq!(exchange.detail.as_deref(), detail, "{path}");
    }
    assert_eq!((server.connections(), server.requests().len()), (3, 5));
}

/// A server that spoils every connection that it keeps is served by new ones: not every try of a page goes to waste.
#[tokio::test]
async fn a_kept_connection_that_fails_is_not_taken_for_the_same_page_twice() {
    for said in [
        "HTTP/1.1 200",
        "nonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
    ] {
        let spoilt = vec![say(said), Say::Close];
        let server = Server::start(vec![vec![say(OK)], spoilt, vec![say(OK)]]).await;
        let fetcher = fetcher(config());
        for (path, is_answered, connections) in [
            ("/a", true, 1),
            ("/b", false, 1),
            // Another page leaves a connection behind, which is not taken.
            ("/c", true, 2),
            ("/b", true, 3),
        ] {
            let exchange = get(&fetcher, &server.url(path)).await;
            let told = (&exchange.outcome, &exchange.detail);
            assert_eq!(
                exchange.outcome.is_answered(),
                is_answered,
                "{path} {told:?}"
            );
            assert_eq!(server.connections(), connections, "{path}");
        }
    }
}

/// Who says anything at all has read the request.
#[tokio::test]
async fn a_kept_connection_that_ends_in_an_answer_has_failed() {
    for said in ["HTTP/1.1 2", "HTTP/1.1 103 Early Hints\r\n\r\n"] {
        let server = Server::start(vec![vec![say(OK)], vec![say(said), Say::Close]]).await;
        let fetcher = fetcher(config());
        get(&fetcher, &server.url("/a")).await;
        let exchange = get(&fetcher, &server.url("/b")).await;
        assert_eq!(
            (exchange.outcome, exchange.detail.as_deref()),
            (Outcome::CONNECT_FAILED, Some("closed_in_head"))
        );
        assert_eq!(server.connections(), 1, "on the connection that was kept");
    }
}

#[tokio::test]
async fn large_bodies_lie_in_files_and_endless_ones_are_cut() {
    let large = vec![b'x'; 3 << 20];
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", large.len());
    let exchange = fetch(vec![say(head), say(&large)]).await;
    assert!(
        exchange
            .response
            .as_ref()
            .unwrap()
            .body
            .as_memory()
            .is_none()
    );
    assert_eq!(body(&exchange), large);

    let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in large.chunks(50_000) {
        chunked.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        chunked.extend_from_slice(chunk);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let exchange = fetch(vec![say(chunked)]).await;
    assert_eq!(exchange.outcome, Outcome::http(200));
    assert_eq!(payload(&exchange), large);

    let exchange = fetch(vec![
        say("HTTP/1.1 200 OK\r\n\r\n"),
        Say::Endless(vec![b'y'; 1 << 16]),
    ])
    .await;
    assert_eq!(
        (exchange.outcome, exchange.detail.as_deref()),
        (Outcome::http(200), Some("length"))
    );
    assert!(exchange.flags.has(Flags::TRUNCATED));
    assert_eq!(exchange.response.unwrap().body.len(), 16 << 20);
}

#[tokio::test]
async fn without_body_memory_bodies_spool_early() {
    let large = vec![b'x'; 200 << 10];
    let answer = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 204800\r\n\r\n",
        large.as_slice(),
    ]
    .concat();
    let server = Server::with(vec![say(&answer)]).await;
    let exchange = get(&fetcher(config()), &server.url("/")).await;
    assert!(
        exchange
            .response
            .as_ref()
            .unwrap()
            .body
            .as_memory()
            .is_some()
    );
    let exchange = get(
        &fetcher(FetchConfig {
            body_memory: 0,
            ..config()
        }),
        &server.url("/"),
    )
    .await;
    assert!(
        exchange
            .response
            .as_ref()
            .unwrap()
            .body
            .as_memory()
            .is_none()
    );
    assert_eq!(body(&exchange), large);
}

#[tokio::test]
async fn sizes_and_types_are_refused_from_the_head() {
    let fetcher = fetcher(config());
    let big = Server::with(vec![
        say("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 999999\r\n\r\n"),
        Say::Wait(Duration::from_secs(60)),
    ])
    .await;
    let mut request = Request::get(big.url("/").parse().unwrap());
    request.max_size = Some(1000);
    let exchange = fetcher.fetch(request.clone()).await;
    assert_eq!(exchange.outcome, Outcome::SIZE_EXCEEDED);
    assert_eq!(exchange.response.unwrap().status, 200);
    request.max_size = None;
    request.types = Some(std::sync::Arc::new(teia_base::TypeGate {
        accepted: vec!["text/*".parse().unwrap()],
    }));
    let exchange = fetcher.fetch(request.clone()).await;
    assert_eq!(
        (exchange.outcome, exchange.detail.as_deref()),
        (Outcome::TYPE_NOT_ACCEPTED, Some("image/png"))
    );

    let unknown = Server::with(vec![
        say("HTTP/1.1 200 OK\r\n\r\n"),
        Say::Endless(vec![b'x'; 1000]),
    ])
    .await;
    let mut request = Request::get(unknown.url("/").parse().unwrap());
    request.max_size = Some(1000);
    let exchange = fetcher.fetch(request).await;
    assert_eq!(exchange.outcome, Outcome::SIZE_EXCEEDED);
    assert!(exchange.response.unwrap().body.is_empty());
}

#[tokio::test]
async fn a_redirect_is_an_answer_whatever_its_type() {
    let server = Server::with(vec![say("HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n")]).await;
    let mut request = Request::get(server.url("/").parse().unwrap());
    request.types = Some(std::sync::Arc::new(teia_base::TypeGate {
        accepted: vec!["image/*".parse().unwrap()],
    }));
    let exchange = fetcher(config()).fetch(request).await;
    assert!(exchange.outcome.is_redirect());
    assert_eq!(
        exchange.response.unwrap().head.text("location").unwrap(),
        "/x"
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_conditional_request_says_what_we_have() {
    let server = Server::with(vec![say(
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
    )])
    .await;
    let mut request = Request::get(server.url("/").parse().unwrap());
    request.etag = Some("\"v1\"".to_owned());
    request.last_modified = Some("Sun, 15 Nov 2026 21:00:00 GMT".to_owned());
    let fetcher = fetcher(config());
    for _ in 0..2 {
        assert_eq!(
            fetcher.fetch(request.clone()).await.outcome,
            Outcome::http(304)
        );
    }
    assert_eq!(server.connections(), 1);
    let sent = server.requests().remove(0);
    assert!(
        sent.contains("If-None-Match: \"v1\"\r\n")
            && sent.contains("If-Modified-Since: Sun, 15 Nov 2026")
    );
}

#[tokio::test]
async fn a_fetch_that_is_dropped_ends() {
    let server = Server::with(vec![
        say("HTTP/1.1 200 OK\r\n\r\n"),
        Say::EndlessDrip(vec![b'x'; 2000], Duration::from_millis(5)),
    ])
    .await;
    let fetcher = fetcher(config());
    let url = server.url("/");
    assert!(
        tokio::time::timeout(Duration::from_millis(100), get(&fetcher, &url))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn bandwidth_is_shared_and_not_charged_to_the_server() {
    let answer = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n".to_vec(),
        vec![b'x'; 60_000],
    ]
    .concat();
    let server = Server::with(vec![say(answer)]).await;
    let limits = FetchConfig {
        bandwidth: Some(100_000),
        min_rate_window: Duration::from_millis(50),
        min_rate: 50_000,
        ..config()
    };
    let fetcher = fetcher(limits);
    let begun = std::time::Instant::now();
    for _ in 0..2 {
        assert_eq!(
            get(&fetcher, &server.url("/")).await.outcome,
            Outcome::http(200)
        );
    }
    assert!(
        begun.elapsed() > Duration::from_millis(700),
        "120 KB at 100 KB/s, less the burst"
    );
}

#[tokio::test]
async fn cookies_come_back_where_they_are_wanted_and_stay_out_of_the_record() {
    let answer = OK.replace("Content-Type", "Set-Cookie: a=1; Path=/\r\nContent-Type");
    let server = Server::with(vec![say(&answer)]).await;
    let with = fetcher(FetchConfig {
        cookies: true,
        ..config()
    });
    get(&with, &server.url("/")).await;
    let exchange = get(&with, &server.url("/")).await;
    assert!(server.requests()[1].contains("Cookie: a=1\r\n"));
    assert!(!String::from_utf8_lossy(&exchange.request_head).contains("a=1"));
    let without = fetcher(config());
    get(&without, &server.url("/")).await;
    get(&without, &server.url("/")).await;
    assert!(!server.requests()[3].contains("Cookie"));
}

#[tokio::test]
async fn the_webmaster_is_told_whom_to_write_to() {
    let server = Server::with(vec![say(OK)]).await;
    let asking = FetchConfig {
        from: Some("crawl@a.example".to_owned()),
        ..config()
    };
    get(&fetcher(asking), &server.url("/")).await;
    get(&fetcher(config()), &server.url("/")).await;
    let requests = server.requests();
    assert!(requests[0].contains("\r\nFrom: crawl@a.example\r\n"));
    assert!(!requests[1].contains("From:"), "not unless it is set");
}

#[tokio::test]
async fn a_login_in_a_url_goes_nowhere() {
    let server = Server::with(vec![say(OK)]).await;
    let url = server.url("/x").replace("http://", "http://ann:secret@");
    let exchange = get(&fetcher(config()), &url).await;
    assert_eq!(exchange.outcome, Outcome::http(200));
    let request = server.requests().remove(0);
    assert!(
        !request.contains("Authorization") && !request.contains("ann"),
        "{request}"
    );
    assert!(!format!("{exchange:?}").contains("secret"));
}

#[tokio::test]
async fn documents_may_be_larger_and_take_longer_than_pages() {
    let limits = FetchConfig {
        body_wire_bytes: 10_000,
        document_wire_bytes: 50_000,
        timeout: Duration::from_millis(400),
        document_timeout: Duration::from_secs(20),
        min_rate: 0,
        ..config()
    };
    let fetcher = fetcher(limits);
    let answer = |media_type: &str| {
        vec![
            say(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: 60000\r\n\r\n"
            )),
            say(vec![b'x'; 60_000]),
        ]
    };
    for (media_type, kept) in [("text/html", 10_000), ("application/pdf", 50_000)] {
        let server = Server::with(answer(media_type)).await;
        let exchange = get(&fetcher, &server.url("/")).await;
        assert_eq!(body(&exchange).len(), kept, "{media_type}");
        assert!(exchange.flags.has(Flags::TRUNCATED));
    }
    let slow = |media_type: &str| {
        vec![
            say(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: 2\r\n\r\na"
            )),
            Say::Wait(Duration::from_millis(800)),
            say("b"),
        ]
    };
    for (media_type, outcome) in [
        ("text/html", Outcome::TIME_EXCEEDED),
        ("application/pdf", Outcome::http(200)),
    ] {
        let server = Server::with(slow(media_type)).await;
        assert_eq!(
            get(&fetcher, &server.url("/")).await.outcome,
            outcome,
            "{media_type}"
        );
        let mut asked = Request::get(server.url("/").parse().unwrap());
        asked.timeout = Some(Duration::from_millis(400));
        assert_eq!(
            fetcher.fetch(asked).await.outcome,
            Outcome::TIME_EXCEEDED,
            "a request's own limit is for documents too"
        );
    }
}
