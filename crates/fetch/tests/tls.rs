//! TLS and HTTP/2 against servers with good and bad certificates.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod server;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use server::{Say, Script, body, config, fetcher, get, say};
use teia_base::{Certificate, Exchange, Flags, Outcome, Protocol, Request};
use teia_fetch::{Certificates, FetchConfig, Fetcher};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A certificate authority, and its certificate in a file that goes with it.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: tempfile::NamedTempFile,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), issuer.pem()).unwrap();
        Self { issuer, file }
    }

    fn path(&self) -> PathBuf {
        self.file.path().to_owned()
    }

    fn acceptor(&self, name: &str, until: i32, protocols: &[&[u8]]) -> TlsAcceptor {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        acceptor(certificate.der().clone(), &key, protocols)
    }
}

fn acceptor(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
    protocols: &[&[u8]],
) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// Accepts connections and hands them on; says the port and how many there were.
async fn listen<F, S>(acceptor: TlsAcceptor, serve: S) -> (u16, Arc<AtomicUsize>)
where
    S: Fn(TlsStream<TcpStream>) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let (counter, serve) = (Arc::clone(&count), Arc::new(serve));
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            let (acceptor, serve) = (acceptor.clone(), Arc::clone(&serve));
            tokio::spawn(async move {
                if let Ok(tls) = acceptor.accept(tcp).await {
                    serve(tls).await;
                }
            });
        }
    });
    (port, count)
}

async fn http1(acceptor: TlsAcceptor, answer: Vec<Say>) -> (u16, Arc<AtomicUsize>) {
    let script = Arc::new(Script {
        answers: vec![answer],
        next: AtomicUsize::new(0),
        requests: Arc::new(Mutex::default()),
    });
    listen(acceptor, move |tls| {
        let script = Arc::clone(&script);
        async move { script.serve(tls).await }
    })
    .await
}

/// Settings that send every `.test` host to loopback and trust the authority.
fn trusting(authority: &Authority) -> FetchConfig {
    FetchConfig {
        ca_file: Some(authority.path()),
        resolve: vec!["*.test=127.0.0.1".to_owned()],
        ..config()
    }
}

#[tokio::test]
async fn a_good_certificate_is_verified_and_its_connection_reused() {
    let authority = Authority::new();
    let (port, connections) = http1(authority.acceptor("a.test", 2050, &[]), vec![say(OK)]).await;
    let fetcher = fetcher(trusting(&authority));
    for _ in 0..3 {
        let exchange = get(&fetcher, &format!("https://a.test:{port}/")).await;
        assert_eq!(
            exchange.outcome,
            Outcome::http(200),
            "{:?}",
            exchange.detail
        );
        assert_eq!(
            (exchange.certificate, exchange.protocol),
            (Certificate::Verified, Protocol::Http11)
        );
        assert_eq!(body(&exchange), b"hello");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn bad_certificates_are_told_apart_or_taken_and_marked() {
    let authority = Authority::new();
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["a.test".to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    for (acceptor, outcome) in [
        (
            authority.acceptor("a.test", 2001, &[]),
            Outcome::TLS_CERT_EXPIRED,
        ),
        (
            authority.acceptor("b.test", 2050, &[]),
            Outcome::TLS_CERT_NAME,
        ),
        (
            acceptor(own.der().clone(), &key, &[]),
            Outcome::TLS_CERT_UNTRUSTED,
        ),
        (
            Authority::new().acceptor("a.test", 2050, &[]),
            Outcome::TLS_CERT_UNTRUSTED,
        ),
    ] {
        let (port, _) = http1(acceptor, vec![say(OK)]).await;
        let url = format!("https://a.test:{port}/");
        let exchange = get(&fetcher(trusting(&authority)), &url).await;
        assert_eq!(exchange.outcome, outcome, "{:?}", exchange.detail);
        let lenient = fetcher(FetchConfig {
            certificates: Certificates::Accept,
            ..trusting(&authority)
        });
        let exchange = get(&lenient, &url).await;
        assert_eq!(
            (exchange.outcome, exchange.certificate),
            (Outcome::http(200), Certificate::Accepted)
        );
        assert!(exchange.flags.has(Flags::CERTIFICATE_ACCEPTED));
    }
}

#[tokio::test]
async fn a_good_certificate_is_not_marked_where_all_are_taken() {
    let authority = Authority::new();
    let (port, _) = http1(authority.acceptor("a.test", 2050, &[]), vec![say(OK)]).await;
    let lenient = fetcher(FetchConfig {
        certificates: Certificates::Accept,
        ..trusting(&authority)
    });
    let exchange = get(&lenient, &format!("https://a.test:{port}/")).await;
    assert_eq!(
        (exchange.certificate, exchange.flags.is_empty()),
        (Certificate::Verified, true)
    );
}

#[tokio::test]
async fn a_proxys_tunnel_leads_to_the_hosts_own_certificate() {
    let authority = Authority::new();
    let (port, _) = http1(authority.acceptor("a.test", 2050, &[]), vec![say(OK)]).await;
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = proxy.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut client, _) = proxy.accept().await.unwrap();
        let asked = server::read_request(&mut client).await.unwrap();
        assert!(asked.starts_with("CONNECT a.test:443 HTTP/1.1\r\n"));
        let mut host = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut client, b"HTTP/1.1 200 Connected\r\n\r\n")
            .await
            .unwrap();
        let _ = tokio::io::copy_bidirectional(&mut client, &mut host).await;
    });
    let through = FetchConfig {
        proxy: Some(format!("http://{address}").into()),
        ..trusting(&authority)
    };
    let exchange = get(&fetcher(through), "https://a.test/").await;
    assert_eq!(
        exchange.outcome,
        Outcome::http(200),
        "{:?}",
        exchange.detail
    );
    assert_eq!(
        (exchange.certificate, exchange.remote),
        (Certificate::Verified, None)
    );
}

#[tokio::test]
async fn plain_http_on_a_tls_port_is_no_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let _ =
                tokio::io::AsyncWriteExt::write_all(&mut tcp, b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    .await;
        }
    });
    let exchange = get(&fetcher(config()), &format!("https://127.0.0.1:{port}/")).await;
    assert_eq!(
        exchange.outcome,
        Outcome::TLS_HANDSHAKE,
        "{:?}",
        exchange.detail
    );
}

#[tokio::test]
async fn a_handshake_that_stops_ends_at_its_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let limits = FetchConfig {
        tls_timeout: Duration::from_millis(200),
        ..config()
    };
    let exchange = get(&fetcher(limits), &format!("https://127.0.0.1:{port}/")).await;
    assert_eq!(
        (exchange.outcome, exchange.detail.as_deref()),
        (Outcome::CONNECT_TIMEOUT, Some("tls"))
    );
}

/// Answers each HTTP/2 request with a page of this size.
async fn serve_h2(tls: TlsStream<TcpStream>, size: usize) {
    let Ok(mut connection) = h2::server::handshake(tls).await else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let status = if request.uri().path() == "/gone" {
            410
        } else {
            200
        };
        let response = http::Response::builder()
            .status(status)
            .header("content-type", "text/html")
            .header("x-path", request.uri().path());
        let mut stream = respond
            .send_response(response.body(()).unwrap(), false)
            .unwrap();
        stream
            .send_data(Bytes::from(vec![b'x'; size]), true)
            .unwrap();
    }
}

#[tokio::test]
async fn http2_is_spoken_where_it_is_agreed_on() {
    let authority = Authority::new();
    let (port, connections) = listen(
        authority.acceptor("a.test", 2050, &[b"h2", b"http/1.1"]),
        |tls| serve_h2(tls, 3 << 20),
    )
    .await;
    let fetcher = fetcher(trusting(&authority));
    for path in ["/", "/gone", "/again"] {
        let exchange = get(&fetcher, &format!("https://a.test:{port}{path}")).await;
        assert_eq!(
            exchange.outcome,
            Outcome::http(if path == "/gone" { 410 } else { 200 }),
            "{:?}",
            exchange.detail
        );
        assert_eq!(
            (exchange.protocol, exchange.certificate),
            (Protocol::H2, Certificate::Verified)
        );
        let response = exchange.response.as_ref().unwrap();
        assert!(response.head.as_bytes().starts_with(if path == "/gone" {
            b"HTTP/1.1 410 Gone\r\n"
        } else {
            b"HTTP/1.1 200 OK\r\n"
        }));
        assert_eq!(response.head.text("x-path").unwrap(), path);
        assert!(response.body.as_memory().is_none(), "3 MiB lie in a file");
        assert_eq!(body(&exchange).len(), 3 << 20);
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    let mut request = Request::get(format!("https://a.test:{port}/").parse().unwrap());
    request.max_size = Some(1000);
    assert_eq!(fetcher.fetch(request).await.outcome, Outcome::SIZE_EXCEEDED);
}

/// A connection that is kept, and ends without a frame under the next request: no failure of the page, which gets a new one.
#[tokio::test]
async fn a_kept_http2_connection_that_ends_has_not_failed_the_page() {
    let authority = Authority::new();
    let (port, connections) = listen(
        authority.acceptor("a.test", 2050, &[b"h2", b"http/1.1"]),
        |tls| async move {
            let mut connection = h2::server::handshake(tls).await.unwrap();
            let (_, mut respond) = connection.accept().await.unwrap().unwrap();
            let answer = http::Response::new(());
            let mut stream = respond.send_response(answer, false).unwrap();
            stream.send_data(Bytes::from_static(b"x"), true).unwrap();
            let _ends_with_the_next_request = connection.accept().await;
        },
    )
    .await;
    let fetcher = fetcher(trusting(&authority));
    for (path, outcome, detail) in [
        ("/a", Outcome::http(200), None),
        (
            "/b",
            Outcome::CONNECT_FAILED,
            Some(Exchange::KEPT_CONNECTION_ENDED),
        ),
        ("/b", Outcome::http(200), None),
    ] {
        let exchange = get(&fetcher, &format!("https://a.test:{port}{path}")).await;
        let told = (exchange.outcome, exchange.detail.as_deref());
        assert_eq!(told, (outcome, detail), "{path}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_server_that_agrees_on_http2_and_speaks_http1_gets_a_second_try() {
    let authority = Authority::new();
    let (port, connections) = listen(
        authority.acceptor("a.test", 2050, &[b"h2", b"http/1.1"]),
        |mut tls| async move {
            if tls.get_ref().1.alpn_protocol() == Some(b"h2") {
                let _ = tokio::io::AsyncWriteExt::write_all(
                    &mut tls,
                    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
                )
                .await;
                tokio::time::sleep(Duration::from_secs(5)).await;
            } else {
                let script = Script {
                    answers: vec![vec![say(OK)]],
                    next: AtomicUsize::new(0),
                    requests: Arc::default(),
                };
                script.serve(tls).await;
            }
        },
    )
    .await;
    let fetcher = fetcher(trusting(&authority));
    let exchange = get(&fetcher, &format!("https://a.test:{port}/")).await;
    assert_eq!(
        (exchange.outcome, exchange.protocol),
        (Outcome::http(200), Protocol::Http11),
        "{:?}",
        exchange.detail
    );
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_flood_of_frames_is_cut() {
    let authority = Authority::new();
    let (port, _) = listen(
        authority.acceptor("a.test", 2050, &[b"h2"]),
        |mut tls| async move {
            let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
            let pings = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8].repeat(100);
            let _ = tokio::io::AsyncWriteExt::write_all(&mut tls, &settings).await;
            while tokio::io::AsyncWriteExt::write_all(&mut tls, &pings)
                .await
                .is_ok()
            {
                let _ = tokio::io::AsyncReadExt::read(&mut tls, &mut [0; 16384]).await;
            }
        },
    )
    .await;
    let exchange = get(
        &fetcher(trusting(&authority)),
        &format!("https://a.test:{port}/"),
    )
    .await;
    assert_eq!(exchange.outcome, Outcome::H2_FLOOD, "{:?}", exchange.detail);
}

/// The system's certificates are found through an environment variable that this process cannot
/// change safely, so the test runs itself once more with it.
#[tokio::test]
async fn the_systems_authorities_are_trusted_where_that_is_asked_for() {
    const AUTHORITY: &str = "SSL_CERT_FILE";
    const PORT: &str = "TEIA_TEST_PORT";
    if let (Ok(_), Ok(port)) = (std::env::var(AUTHORITY), std::env::var(PORT)) {
        for (native_roots, outcome) in [
            (true, Outcome::http(200)),
            (false, Outcome::TLS_CERT_UNTRUSTED),
        ] {
            let settings = FetchConfig {
                native_roots,
                resolve: vec!["*.test=127.0.0.1".to_owned()],
                ..config()
            };
            let exchange = get(&fetcher(settings), &format!("https://a.test:{port}/")).await;
            assert_eq!(exchange.outcome, outcome, "{:?}", exchange.detail);
        }
        return;
    }
    let authority = Authority::new();
    let (port, _) = http1(authority.acceptor("a.test", 2050, &[]), vec![say(OK)]).await;
    let status = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "the_systems_authorities_are_trusted_where_that_is_asked_for",
        ])
        .env(AUTHORITY, authority.path())
        .env(PORT, port.to_string())
        .stdout(std::process::Stdio::null())
        .status()
        .await
        .unwrap();
    assert!(status.success());
}

#[tokio::test]
async fn a_server_of_old_versions_is_named_and_never_spoken_with() {
    // TLS 1.0 and 1.1 refuse our hello with an alert (RFC 5246, 7.2.2), or answer in their own version.
    let alert = [21, 3, 1, 0, 2, 2, 70].to_vec();
    let mut hello = vec![22, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1];
    hello.extend([7; 32]);
    hello.extend([0, 0, 5, 0]); // no session; RC4 with SHA
    for (answer, outcome) in [(alert, Outcome::TLS_PROTO), (hello, Outcome::TLS_PROTO)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut tcp, _)) = listener.accept().await {
                let _ = tokio::io::AsyncReadExt::read(&mut tcp, &mut [0; 4096]).await;
                let _ = tokio::io::AsyncWriteExt::write_all(&mut tcp, &answer).await;
                let _ = tokio::io::AsyncReadExt::read(&mut tcp, &mut [0; 4096]).await;
            }
        });
        let exchange = get(&fetcher(config()), &format!("https://127.0.0.1:{port}/")).await;
        assert_eq!(exchange.outcome, outcome, "{:?}", exchange.detail);
    }
}

#[tokio::test]
async fn many_pages_on_one_connection_are_no_flood() {
    let authority = Authority::new();
    let (port, connections) = listen(authority.acceptor("a.test", 2050, &[b"h2"]), |tls| {
        serve_h2(tls, 10)
    })
    .await;
    let fetcher = fetcher(trusting(&authority));
    for n in 0..1500 {
        let exchange = get(&fetcher, &format!("https://a.test:{port}/{n}")).await;
        assert_eq!(
            exchange.outcome,
            Outcome::http(200),
            "{n}: {:?}",
            exchange.detail
        );
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}
