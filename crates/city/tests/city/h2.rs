//! HTTP/2.

use std::time::Duration;

use teia_base::{Flags, Outcome, Protocol, Retry};
use teia_city::{Corner, Door, H2Trick, Trick, corners_of};

use crate::support::{Visit, body, crawl, crawl_config, invalid, limits, open, outcome};

/// A door that is never honest, which is no corner for that reason.
fn for_ever(trick: H2Trick) -> Door {
    open(&Corner {
        id: "case",
        name: "case",
        trick: Trick::H2(trick, usize::MAX),
    })
}

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

/// In a crawl of eleven pages: the host rests after each reset, longer each time that a page is tried, and every page waits.
#[test]
fn h2_02_rests() {
    let door = for_ever(H2Trick::Resets(7));
    let mut config = crawl_config();
    config.run.ignore_robots = true;
    config.politeness.retry_wait = Duration::from_millis(200);
    config.run.retries = 4;
    config.run.max_time = Some(Duration::from_secs(5));
    let seeds: Vec<String> = (0..11).map(|n| door.url(&format!("/trick{n}"))).collect();
    let crawled = crawl(&config, &seeds);
    assert!(crawled.attempts.len() >= 2, "{:?}", crawled.told());
    for attempt in &crawled.attempts {
        assert_eq!(attempt.outcome.retry(), Retry::Host, "{:?}", crawled.told());
    }
    // No busy loop: what is asked is an attempt, and the whole host rests between two of them, whatever the page.
    assert_eq!(door.requests().len(), crawled.attempts.len());
    for pair in crawled.attempts.windows(2) {
        let [one, two] = pair else { unreachable!() };
        let rest = two.started.since(one.started);
        let least = config.politeness.retry_wait;
        assert!(rest >= least, "{rest:?}: {:?}", crawled.told());
    }
    assert_eq!(crawled.report.known_urls, 11, "none is lost");
}

/// The one connection of a visit is closed, and by then little of what it says without end was sent: what was read of it, and
/// what the sockets hold.
async fn closed_early(visit: &Visit) {
    let began = std::time::Instant::now();
    while visit.door.closed() == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "still open");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let sent = visit.door.sent();
    assert!(sent < 16 << 20, "{sent} bytes");
}

#[tokio::test]
async fn h2_03() {
    each("H2-03", &[Outcome::H2_FLOOD]).await;
    // Not more is acknowledged than was read until it was too much: 1,000 frames, and 16 for the request.
    let mut all = 0;
    for corner in corners_of("H2-03") {
        let visit = Visit::to("H2-03", corner.name);
        outcome(&visit.trick().await, Outcome::H2_FLOOD);
        closed_early(&visit).await;
        let noted = visit.door.requests();
        let is_acknowledged = |line: &&String| line.starts_with("H2 acknowledges");
        let acknowledged = noted.iter().filter(is_acknowledged).count();
        assert!(acknowledged <= 1_016, "{}: {acknowledged}", corner.name);
        all += acknowledged;
    }
    assert!(all > 0, "they are counted");
}

#[tokio::test]
async fn h2_04() {
    each("H2-04", &[Outcome::H2_FLOOD]).await;
    let visit = Visit::to("H2-04", "empty-data");
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::H2_FLOOD);
    assert!(exchange.response.is_none_or(|it| it.body.is_empty()));
    closed_early(&visit).await;
}

#[tokio::test]
async fn h2_05() {
    let visit = Visit::to("H2-05", "stream-errors");
    let exchange = visit.trick().await;
    // The head came, and then the connection was given up: a body that was cut short.
    invalid(&exchange, "http_body_short");
    assert_eq!(exchange.protocol, Protocol::H2);
    assert!(exchange.flags.has(Flags::BODY_SHORT) && body(&exchange).is_empty());
    assert!(visit.spent() < Duration::from_secs(2));
    // Its connection is closed, and what it had sent by then is all that anybody took.
    closed_early(&visit).await;
    let sent = visit.door.sent();
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
    // A host that speaks nothing else is left alone after them, as a whole.
    let visit = Visit::at(for_ever(H2Trick::GoAwayAlone), limits());
    let exchange = visit.trick().await;
    assert_eq!(
        exchange.outcome.retry(),
        Retry::Host,
        "{:?}",
        exchange.detail
    );
    assert_eq!(visit.door.connections(), 3, "two tries, then HTTP/1.1");
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
        let visit = Visit::to("H2-12", corner.name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::H2_PROTOCOL);
        assert_eq!(exchange.outcome.retry(), Retry::Temporary);
        assert!(exchange.response.is_none(), "{}", corner.name);
        // The next stream of the same connection is served, and so is the page itself when it is asked for again.
        for path in ["/next", "/", "/next"] {
            let exchange = visit.get(path).await;
            outcome(&exchange, Outcome::http(200));
            assert_eq!(exchange.protocol, Protocol::H2, "{} {path}", corner.name);
        }
        // The library cannot take in a capital at all, and ends the connection; the host is spoken to as before.
        let connections = if corner.name == "capital" { 2 } else { 1 };
        let made = visit.door.connections();
        assert_eq!(made, connections, "{}", corner.name);
        visit.leave().await;
    }
}

/// A host that never gets it right is asked over HTTP/1.1 in the end: its pages are not lost.
#[tokio::test]
async fn h2_12_every_stream() {
    let visit = Visit::at(for_ever(H2Trick::EveryStream), limits());
    for _ in 0..2 {
        outcome(&visit.trick().await, Outcome::H2_PROTOCOL);
        assert_eq!(visit.door.connections(), 1);
    }
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    assert_eq!(exchange.protocol, Protocol::Http11);
    visit.leave().await;
    assert_eq!(visit.door.connections(), 2, "remembered for the host");
}

#[tokio::test]
async fn h2_13() {
    for corner in corners_of("H2-13") {
        let visit = Visit::to("H2-13", corner.name);
        let exchange = visit.trick().await;
        match corner.name {
            // Obeyed: what may not be sent is waited for. One request may have gone out before it was read.
            "no-streams" => {
                outcome(&exchange, Outcome::TIME_EXCEEDED);
                assert!(visit.door.requests().len() <= 1);
            }
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
