//! TLS.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use teia_base::{Certificate, Exchange, Flags, Outcome, SystemClock};
use teia_city::corners_of;
use teia_fetch::{Certificates, FetchConfig, HttpFetcher};

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
        visit.leave().await;
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

/// OpenSSL's own server asks for another handshake before it answers: it gets none, and the next page is fetched.
#[tokio::test]
async fn tls_13_does_not_renegotiate() {
    let Some(server) = Renegotiator::start() else {
        return;
    };
    let config = FetchConfig {
        certificates: Certificates::Accept,
        ..limits()
    };
    let fetcher = HttpFetcher::new(config, Arc::new(SystemClock)).unwrap();
    let exchange = get(&fetcher, &server.url("/asks-again")).await;
    outcome(&exchange, Outcome::TIME_EXCEEDED);
    assert!(exchange.response.is_none());
    let next = get(&fetcher, &server.url("/next")).await;
    outcome(&next, Outcome::http(200));
    let said = server.said();
    let count = |part: &str| said.matches(part).count();
    assert_eq!(count("HelloRequest"), 1, "it asked: {said}");
    assert_eq!(count("ClientHello"), 2, "one for each page: {said}");
}

/// `openssl s_server`, which asks for another handshake when a line begins with `r`.
struct Renegotiator {
    server: Child,
    address: String,
    said: Arc<Mutex<String>>,
    _folder: tempfile::TempDir,
}

impl Renegotiator {
    /// None, and a loud word, where there is no OpenSSL.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("openssl")
            .args([
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            ])
            .args([
                "-subj",
                "/CN=city.test",
                "-keyout",
                "key.pem",
                "-out",
                "cert.pem",
            ])
            .current_dir(folder.path())
            .output();
        if !made.is_ok_and(|made| made.status.success()) {
            eprintln!("SKIPPED: there is no openssl to ask for another handshake");
            return None;
        }
        let mut server = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-tls1_2", "-msg"])
            .args(["-key", "key.pem", "-cert", "cert.pem"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut orders, mut out) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let said = Arc::new(Mutex::new(String::new()));
        let (heard, (ready, is_ready)) = (Arc::clone(&said), mpsc::channel());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            let mut line = String::new();
            while let Ok(read @ 1..) = out.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                heard.lock().unwrap().push_str(&text);
                for letter in text.chars() {
                    if letter != '\n' {
                        line.push(letter);
                        continue;
                    }
                    let line = std::mem::take(&mut line);
                    if let Some((_, address)) = line.split_once("ACCEPT ") {
                        let _nobody_waits_any_more = ready.send(address.trim().to_owned());
                    }
                    let order = if line.starts_with("GET /asks-again ") {
                        "r\n"
                    } else if line.starts_with("GET /next ") {
                        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnext"
                    } else {
                        continue;
                    };
                    orders.write_all(order.as_bytes()).unwrap();
                }
            }
        });
        let address = is_ready.recv_timeout(Duration::from_secs(30));
        Some(Self {
            server,
            address: address.expect("openssl says where it listens"),
            said,
            _folder: folder,
        })
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }
}

impl Drop for Renegotiator {
    fn drop(&mut self) {
        let _may_have_ended = self.server.kill();
        let _ = self.server.wait();
    }
}
