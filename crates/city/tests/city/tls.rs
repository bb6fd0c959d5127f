//! TLS.

use std::time::Duration;

use teia_base::{Certificate, Exchange, Flags, Outcome};
use teia_city::corners_of;
use teia_fetch::{Certificates, FetchConfig};

use crate::support::{Visit, get, limits, outcome};

/// Every corner of a row ends so; afterwards the host is honest, and its page is fetched.
async fn each(id: &str, wanted: Outcome) -> Vec<Exchange> {
    let mut exchanges = Vec::new();
    for corner in corners_of(id) {
        let visit = Visit::to(id, corner.name);
        let exchange = visit.trick().await;
        assert_eq!(
            exchange.outcome, wanted,
            "{id} {}: {:?}",
            corner.name, exchange.detail
        );
        assert!(exchange.response.is_none());
        visit.leave().await;
        exchanges.push(exchange);
    }
    exchanges
}

#[tokio::test]
async fn tls_01() {
    each("TLS-01", Outcome::TLS_CERT_EXPIRED).await;
    // A collection may take it all the same, and then says so.
    for corner in corners_of("TLS-01") {
        let lenient = FetchConfig {
            certificates: Certificates::Accept,
            ..limits()
        };
        let visit = Visit::with("TLS-01", corner.name, lenient);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::http(200));
        assert_eq!(exchange.certificate, Certificate::Accepted);
        assert!(exchange.flags.has(Flags::CERTIFICATE_ACCEPTED));
    }
}

#[tokio::test]
async fn tls_02() {
    for corner in corners_of("TLS-02") {
        let visit = Visit::to("TLS-02", corner.name);
        let host = if corner.name == "wildcard" {
            "deep.city.test"
        } else {
            "city.test"
        };
        let exchange = get(&visit.fetcher, &visit.door.named(host, "/")).await;
        outcome(&exchange, Outcome::TLS_CERT_NAME);
        visit.leave().await;
    }
}

#[tokio::test]
async fn tls_03() {
    each("TLS-03", Outcome::TLS_CERT_UNTRUSTED).await;
}

#[tokio::test]
async fn tls_04() {
    for corner in corners_of("TLS-04") {
        let visit = Visit::to("TLS-04", corner.name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::TLS_PROTO);
        visit.leave().await;
    }
}

#[tokio::test]
async fn tls_05() {
    let visit = Visit::to("TLS-05", "requires");
    outcome(&visit.trick().await, Outcome::http(200));
    assert!(visit.door.requests().contains(&"SNI city.test".to_owned()));
    let literal = format!("https://{}/", visit.door.address());
    get(&visit.fetcher, &literal).await;
    assert_eq!(
        visit.door.requests().last().unwrap(),
        "SNI none",
        "never for an address"
    );
    let visit = Visit::to("TLS-05", "rejects");
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::TLS_HANDSHAKE);
    assert!(
        exchange.detail.unwrap().contains("112"),
        "with the number of the alert"
    );
    visit.leave().await;
}

#[tokio::test]
async fn tls_06() {
    for exchange in each("TLS-06", Outcome::CONNECT_TIMEOUT).await {
        assert_eq!(exchange.detail.as_deref(), Some("tls"));
    }
}

#[tokio::test]
async fn tls_07() {
    for corner in corners_of("TLS-07") {
        let visit = Visit::to("TLS-07", corner.name);
        let exchange = visit.trick().await;
        outcome(&exchange, Outcome::TLS_HANDSHAKE);
        assert!(exchange.response.is_none());
        // The row gives 100 ms for looking at it; the rest is the handshake, on a machine that is slower than most.
        let spent = visit.spent();
        assert!(
            spent < Duration::from_millis(400),
            "{}: {spent:?}",
            corner.name
        );
        // The row gives 256 KiB; the rest lay in the sockets of both sides.
        assert!(visit.door.sent() < 1 << 20, "{} bytes", visit.door.sent());
        visit.leave().await;
    }
}

#[tokio::test]
async fn tls_08() {
    for corner in corners_of("TLS-08") {
        let visit = Visit::to("TLS-08", corner.name);
        let exchange = visit.trick().await;
        assert!(
            matches!(
                exchange.outcome,
                Outcome::TLS_CERT_UNTRUSTED | Outcome::TLS_CERT_NAME
            ),
            "{}: {} {:?}",
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
async fn tls_09() {
    let visit = Visit::to("TLS-09", "staple");
    outcome(&visit.trick().await, Outcome::http(200));
    visit.leave().await;
}

#[tokio::test]
async fn tls_10() {
    for corner in corners_of("TLS-10") {
        let visit = Visit::to("TLS-10", corner.name);
        let exchange = visit.trick().await;
        assert!(
            matches!(
                exchange.outcome,
                Outcome::TLS_HANDSHAKE | Outcome::CONNECT_TIMEOUT
            ),
            "{}: {} {:?}",
            corner.name,
            exchange.outcome,
            exchange.detail
        );
        assert!(
            visit.spent() < Duration::from_secs(3),
            "{:?}",
            visit.spent()
        );
        visit.leave().await;
    }
}

#[tokio::test]
async fn tls_11() {
    let visit = Visit::to("TLS-11", "plain");
    outcome(&visit.trick().await, Outcome::TLS_HANDSHAKE);
    assert_eq!(visit.door.connections(), 1, "not tried in the clear");
    visit.leave().await;
}

#[tokio::test]
async fn tls_12() {
    let visit = Visit::to("TLS-12", "asks");
    outcome(&visit.trick().await, Outcome::http(200));
    visit.leave().await;
    let visit = Visit::to("TLS-12", "demands");
    outcome(&visit.trick().await, Outcome::TLS_HANDSHAKE);
    visit.leave().await;
}

#[tokio::test]
async fn tls_13() {
    let visit = Visit::to("TLS-13", "ticket");
    let exchange = visit.trick().await;
    // Tickets longer than the buffer of a handshake end the connection.
    assert!(
        matches!(
            exchange.outcome,
            Outcome::CONNECT_FAILED | Outcome::TLS_HANDSHAKE
        ),
        "{} {:?}",
        exchange.outcome,
        exchange.detail
    );
    visit.leave().await;
}

/// A server that would take a request with the first packet of a resumed session: anybody who has heard that packet could
/// say it again, so none is ever sent.
#[tokio::test]
async fn tls_13_sends_nothing_early() {
    let config = FetchConfig {
        max_idle_connections: 0,
        ..limits()
    };
    let visit = Visit::with("TLS-13", "early", config);
    for _ in 0..3 {
        outcome(&visit.trick().await, Outcome::http(200));
    }
    let told = visit.door.requests();
    let count = |part: &str| told.iter().filter(|one| one.contains(part)).count();
    assert_eq!(count("EARLY true"), 0, "{told:?}");
    assert_eq!(count("EARLY false"), 3, "{told:?}");
    assert!(count("RESUMED true") > 0, "it could have been: {told:?}");
    visit.leave().await;
}
