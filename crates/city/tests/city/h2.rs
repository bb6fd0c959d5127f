//! HTTP/2.

use std::time::Duration;

use teia_base::{Flags, Outcome, Protocol, Retry};
use teia_city::corners_of;

use crate::support::{Visit, body, invalid, outcome};

/// Every corner of a row ends so, cheaply; afterwards the host is honest.
async fn each(id: &str, wanted: &[Outcome]) {
    for corner in corners_of(id) {
        let visit = Visit::to(id, corner.name);
        let exchange = visit.trick().await;
        assert!(
            wanted.contains(&exchange.outcome),
            "{id} {}: {} {:?}",
            corner.name,
            exchange.outcome,
            exchange.detail
        );
        assert!(
            visit.spent() < Duration::from_secs(2),
            "{:?}",
            visit.spent()
        );
        visit.leave().await;
    }
}

#[tokio::test]
async fn h2_01() {
    each("H2-01", &[Outcome::H2_FLOOD]).await;
    for corner in corners_of("H2-01") {
        let visit = Visit::to("H2-01", corner.name);
        visit.trick().await;
        // The row gives 100 ms; the rest is the handshake, on a machine that is slower than most.
        let spent = visit.spent();
        assert!(spent < Duration::from_millis(400), "{spent:?}");
        // Closed at its limit, and not when everything was read: what the sockets hold comes on top.
        for _ in 0..300 {
            if visit.door.closed() == 1 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(visit.door.closed(), 1, "its connection is closed");
    }
}

#[tokio::test]
async fn h2_02() {
    let visit = Visit::to("H2-02", "refuse");
    let exchange = visit.trick().await;
    assert_eq!(
        exchange.outcome.retry(),
        Retry::Host,
        "{:?}",
        exchange.detail
    );
    assert_eq!(visit.door.connections(), 1, "no busy loop");
    visit.leave().await;
    // Reset for no reason that HTTP/2 knows: once more, on HTTP/1.1.
    let visit = Visit::to("H2-02", "cancel");
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    assert_eq!(exchange.protocol, Protocol::Http11);
    assert_eq!(visit.door.connections(), 2);
    visit.leave().await;
}

#[tokio::test]
async fn h2_03() {
    each("H2-03", &[Outcome::H2_FLOOD]).await;
}

#[tokio::test]
async fn h2_04() {
    each("H2-04", &[Outcome::H2_FLOOD]).await;
}

#[tokio::test]
async fn h2_05() {
    let visit = Visit::to("H2-05", "stream-errors");
    let exchange = visit.trick().await;
    // Refused with the stream, or cut off in the body: nothing of it counts as a page over HTTP/2.
    let is_refused = match exchange.outcome {
        Outcome::H2_FLOOD | Outcome::H2_PROTOCOL => true,
        Outcome::HTTP_INVALID => exchange.flags.has(Flags::BODY_SHORT),
        // Once more on HTTP/1.1, where the host is honest.
        other => other.is_ok() && exchange.protocol == Protocol::Http11,
    };
    assert!(is_refused, "{} {:?}", exchange.outcome, exchange.detail);
    assert!(visit.spent() < Duration::from_secs(2));
    // Its connection is closed, and what it had sent by then is all that anybody took.
    let began = std::time::Instant::now();
    while visit.door.closed() == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "still open");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let sent = visit.door.sent();
    assert!(sent < 16 << 20, "{sent} bytes");
    visit.leave().await;
    let more = visit.door.sent() - sent;
    assert!(more < 64 << 10, "{more} bytes more");
}

#[tokio::test]
async fn h2_06() {
    for corner in corners_of("H2-06") {
        let visit = Visit::to("H2-06", corner.name);
        let exchange = visit.trick().await;
        invalid(&exchange, "http_headers_too_large");
        assert_eq!(
            visit.door.connections(),
            1,
            "{}: not asked again",
            corner.name
        );
        visit.leave().await;
    }
}

#[tokio::test]
async fn h2_07() {
    let visit = Visit::to("H2-07", "many");
    invalid(&visit.trick().await, "http_headers_too_large");
    assert_eq!(visit.door.connections(), 1);
    visit.leave().await;
}

/// What HTTP/2 does not allow costs one more try, on HTTP/1.1, and is remembered for the host.
async fn falls_back(id: &str, name: &str) {
    let visit = Visit::to(id, name);
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    assert_eq!(exchange.protocol, Protocol::Http11, "{id} {name}");
    assert_eq!(visit.door.connections(), 2);
    visit.leave().await;
    assert_eq!(visit.get("/next").await.protocol, Protocol::Http11);
}

#[tokio::test]
async fn h2_08() {
    falls_back("H2-08", "push").await;
}

#[tokio::test]
async fn h2_09() {
    let visit = Visit::to("H2-09", "no-body");
    let exchange = visit.trick().await;
    invalid(&exchange, "http_too_slow");
    assert_eq!(exchange.response.as_ref().unwrap().status, 200);
    visit.leave().await;
}

#[tokio::test]
async fn h2_10() {
    let visit = Visit::to("H2-10", "twice");
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    assert_eq!(exchange.protocol, Protocol::Http11, "after two tries");
    assert_eq!(visit.door.connections(), 3);
    visit.leave().await;
    // A host that speaks nothing else is left alone after them.
    let visit = Visit::to("H2-10", "always");
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    assert_eq!(
        (exchange.protocol, visit.door.connections()),
        (Protocol::Http11, 3)
    );
}

#[tokio::test]
async fn h2_11() {
    falls_back("H2-11", "http1").await;
    // The reverse: once more, as the server wants it.
    let visit = Visit::to("H2-11", "http2");
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    assert_eq!(exchange.protocol, Protocol::H2);
    assert_eq!(visit.door.connections(), 2);
    visit.leave().await;
    assert_eq!(
        visit.door.connections(),
        2,
        "remembered, and its connection kept"
    );
}

#[tokio::test]
async fn h2_12() {
    for corner in corners_of("H2-12") {
        falls_back("H2-12", corner.name).await;
    }
}

#[tokio::test]
async fn h2_13() {
    for corner in corners_of("H2-13") {
        let visit = Visit::to("H2-13", corner.name);
        let exchange = visit.trick().await;
        match corner.name {
            // Obeyed once it is read; the first request may have gone out before.
            "no-streams" => assert!(
                [Outcome::TIME_EXCEEDED, Outcome::http(200)].contains(&exchange.outcome),
                "{:?}",
                exchange.detail
            ),
            "frame-zero" | "window" => {
                outcome(&exchange, Outcome::http(200));
                assert_eq!(
                    exchange.protocol,
                    Protocol::Http11,
                    "invalid: {}",
                    corner.name
                );
            }
            _ => {
                outcome(&exchange, Outcome::http(200));
                assert_eq!(exchange.protocol, Protocol::H2, "{}", corner.name);
            }
        }
        visit.leave().await;
    }
}

#[tokio::test]
async fn h2_14() {
    for name in ["short", "long"] {
        let visit = Visit::to("H2-14", name);
        let exchange = visit.trick().await;
        invalid(&exchange, "http_body_short");
        assert_eq!(exchange.outcome.retry(), Retry::Temporary);
        assert!(exchange.flags.has(Flags::BODY_SHORT), "{name}");
        assert!(body(&exchange).len() <= 10);
        visit.leave().await;
    }
}

/// Fields behind the body are bounded as in HTTP/1.1 (HTTP-20): the body is kept.
#[tokio::test]
async fn h2_14_trailers() {
    for (name, wanted, is_cut) in [
        ("trailers", Outcome::http(200), false),
        ("many-trailers", Outcome::http(200), true),
        ("endless-trailers", Outcome::H2_FLOOD, false),
    ] {
        let visit = Visit::to("H2-14", name);
        let exchange = visit.trick().await;
        assert_eq!(exchange.outcome, wanted, "{name}: {:?}", exchange.detail);
        assert_eq!(exchange.flags.has(Flags::TRUNCATED), is_cut, "{name}");
        assert_eq!(body(&exchange), b"hello", "{name}");
        if name == "trailers" {
            // Nothing is wrong with it, so that the next page comes over the same connection, and with some too.
            outcome(&visit.get("/next").await, Outcome::http(200));
            assert_eq!(visit.door.connections(), 1);
            continue;
        }
        // Who sends too much behind a body is asked on another connection.
        visit.leave().await;
        assert_eq!(visit.door.connections(), 2, "{name}");
    }
}
