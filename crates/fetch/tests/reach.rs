//! Whom the fetcher may talk to: addresses, ports, overrides, proxies, logins.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod server;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use server::{Server, body, config, fetcher, get, read_request, say};
use teia_base::{Exchange, Outcome, Request, SystemClock};
use teia_fetch::{BasicLogin, FetchConfig, Fetcher, HttpFetcher, NullFetcher, ScriptedFetcher};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn strict(resolve: &[String]) -> HttpFetcher {
    fetcher(FetchConfig {
        resolve: resolve.to_vec(),
        ..FetchConfig::default()
    })
}

#[tokio::test]
async fn private_addresses_are_refused_without_a_packet() {
    let server = Server::with(vec![say(OK)]).await;
    let port = server.address.port();
    let fetcher = strict(&[]);
    for host in [
        "127.0.0.1",
        "localhost",
        "x.localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0x7f.1",
        "2130706433",
        "127.1",
        "0.0.0.0",
        "10.0.0.1",
        "169.254.169.254",
        "[64:ff9b::7f00:1]",
        "intranet",
        "printer.local",
    ] {
        let exchange = get(&fetcher, &format!("http://{host}:{port}/")).await;
        assert_eq!(
            exchange.outcome,
            Outcome::ADDR_BLOCKED,
            "{host} {:?}",
            exchange.detail
        );
    }
    assert_eq!(server.connections(), 0);
    assert_eq!(
        get(&fetcher, "http://127.0.0.1:25/").await.outcome,
        Outcome::PORT_BLOCKED
    );
    assert_eq!(
        get(&fetcher, "ftp://127.0.0.1/").await.outcome,
        Outcome::SCHEME_BLOCKED
    );
}

#[tokio::test]
async fn an_allowed_seed_opens_its_own_address_and_port_only() {
    let (seed, other) = (
        Server::with(vec![say(OK)]).await,
        Server::with(vec![say(OK)]).await,
    );
    let fetcher = strict(&[]);
    fetcher.allow(seed.address.ip(), seed.address.port());
    assert_eq!(
        get(&fetcher, &seed.url("/")).await.outcome,
        Outcome::http(200)
    );
    assert_eq!(
        get(&fetcher, &other.url("/")).await.outcome,
        Outcome::ADDR_BLOCKED,
        "as after a redirect"
    );
    let by_name = format!("http://localhost:{}/", other.address.port());
    assert_eq!(get(&fetcher, &by_name).await.outcome, Outcome::ADDR_BLOCKED);
    fetcher.allow_host("localhost", other.address.port());
    assert_eq!(get(&fetcher, &by_name).await.outcome, Outcome::http(200));
    assert_eq!(
        get(&fetcher, &other.url("/")).await.outcome,
        Outcome::ADDR_BLOCKED,
        "the name was allowed, not the address"
    );
}

#[tokio::test]
async fn overrides_lead_where_they_say() {
    let server = Server::with(vec![say(OK)]).await;
    let fetcher = strict(&[
        format!("a.example={}", server.address),
        format!("*.test={}", server.address),
    ]);
    for url in [
        "http://a.example/x",
        "http://many.hosts.test/x",
        "http://a.example:8080/x",
    ] {
        let exchange = get(&fetcher, url).await;
        assert_eq!(exchange.outcome, Outcome::http(200), "{url}");
        assert_eq!(exchange.remote, Some(server.address));
    }
    assert!(server.requests()[0].starts_with("GET /x HTTP/1.1\r\nHost: a.example\r\n"));
    assert!(server.requests()[2].contains("Host: a.example:8080\r\n"));
}

/// Ports below 1024 belong to services of the system: what a page says leads to those of the web only.
#[tokio::test]
async fn a_port_of_the_system_is_visited_where_a_person_named_it() {
    let server = Server::with(vec![say(OK)]).await;
    let fetcher = strict(&[
        "a.example=127.0.0.1".to_owned(),
        "b.example=127.0.0.1".to_owned(),
        format!("given.example={}", server.address),
    ]);
    for port in [81, 444, 873, 902, 1023] {
        for url in [
            format!("http://a.example:{port}/"),
            format!("https://A.example.:{port}/"),
            format!("http://93.184.216.34:{port}/"),
        ] {
            let exchange = get(&fetcher, &url).await;
            assert_eq!(exchange.outcome, Outcome::PORT_BLOCKED, "{url}");
            assert_eq!(exchange.remote, None);
        }
    }
    // Who gives the address with its port says where to connect.
    let exchange = get(&fetcher, "http://given.example:81/").await;
    assert_eq!(exchange.outcome, Outcome::http(200));
    assert_eq!(exchange.remote, Some(server.address));
    // A seed names one port of one host.
    fetcher.allow_host("A.Example.", 81);
    let allowed = |exchange: &Exchange| exchange.outcome != Outcome::PORT_BLOCKED;
    assert!(allowed(&get(&fetcher, "http://a.example:81/x").await));
    assert!(!allowed(&get(&fetcher, "http://a.example:82/x").await));
    assert!(!allowed(&get(&fetcher, "http://b.example:81/x").await));
    fetcher.allow("127.0.0.1".parse().unwrap(), 81);
    assert!(allowed(&get(&fetcher, "http://127.0.0.1:81/").await));
    assert!(!allowed(&get(&fetcher, "http://b.example:81/").await));
    // The worst ones stay shut, whoever names them.
    fetcher.allow_host("a.example", 25);
    assert!(!allowed(&get(&fetcher, "http://a.example:25/").await));
    // Nor does a private network that is allowed open them, and nor does a proxy.
    let seen = Arc::new(Mutex::new(Vec::new()));
    let proxy = http_proxy(server.address, Arc::clone(&seen)).await;
    for config in [
        config(),
        FetchConfig {
            proxy: Some(format!("http://127.0.0.1:{proxy}").into()),
            ..FetchConfig::default()
        },
    ] {
        let fetcher = server::fetcher(config);
        assert!(!allowed(&get(&fetcher, "http://93.184.216.34:873/").await));
        assert!(!allowed(&get(&fetcher, "http://a.example:873/").await));
    }
    assert!(seen.lock().unwrap().is_empty(), "nothing goes out");
}

#[tokio::test]
async fn nobody_there_is_refused() {
    let port = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let exchange = get(&fetcher(config()), &format!("http://127.0.0.1:{port}/")).await;
    assert_eq!(exchange.outcome, Outcome::CONNECT_REFUSED);
}

/// A proxy that knows `CONNECT` and whole URLs; sends all to one address.
async fn http_proxy(upstream: std::net::SocketAddr, seen: Arc<Mutex<Vec<String>>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                let request = read_request(&mut client).await.unwrap();
                seen.lock().unwrap().push(request.clone());
                let mut server = TcpStream::connect(upstream).await.unwrap();
                if request.starts_with("CONNECT ") {
                    client
                        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                        .await
                        .unwrap();
                } else {
                    server.write_all(request.as_bytes()).await.unwrap();
                }
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    port
}

#[tokio::test]
async fn an_http_proxy_gets_names_and_its_login() {
    let server = Server::with(vec![say(OK)]).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let port = http_proxy(server.address, Arc::clone(&seen)).await;
    let proxy = format!("http://ann:secret@127.0.0.1:{port}");
    let fetcher = fetcher(FetchConfig {
        proxy: Some(proxy.into()),
        tls_timeout: Duration::from_millis(300),
        ..FetchConfig::default()
    });
    let exchange = get(&fetcher, "http://never.resolved.example/x?y").await;
    assert_eq!(
        exchange.outcome,
        Outcome::http(200),
        "{:?}",
        exchange.detail
    );
    assert_eq!(body(&exchange), b"hello");
    assert_eq!(exchange.remote, None);
    assert!(!String::from_utf8_lossy(&exchange.request_head).contains("YW5u"));
    let request = seen.lock().unwrap()[0].clone();
    assert!(
        request.starts_with(
            "GET http://never.resolved.example/x?y HTTP/1.1\r\nHost: never.resolved.example\r\n"
        ),
        "{request}"
    );
    assert!(request.contains("Proxy-Authorization: Basic YW5uOnNlY3JldA==\r\n"));

    // The tunnel stands; what is behind it speaks no TLS and waits for a request.
    let exchange = get(&fetcher, "https://never.resolved.example/").await;
    assert_eq!(
        exchange.outcome,
        Outcome::CONNECT_TIMEOUT,
        "{:?}",
        exchange.detail
    );
    assert!(seen.lock().unwrap()[1].starts_with("CONNECT never.resolved.example:443 HTTP/1.1\r\n"));

    assert_eq!(
        get(&fetcher, "http://10.0.0.1/").await.outcome,
        Outcome::ADDR_BLOCKED,
        "addresses are still judged"
    );
    assert_eq!(
        get(&fetcher, "http://localhost/").await.outcome,
        Outcome::ADDR_BLOCKED
    );
}

/// The proxy stands inside, and may know names that we must not ask for.
#[tokio::test]
async fn no_inner_name_goes_out_through_a_proxy_unless_it_was_given_by_hand() {
    let server = Server::with(vec![say(OK)]).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let port = http_proxy(server.address, Arc::clone(&seen)).await;
    let fetcher = fetcher(FetchConfig {
        proxy: Some(format!("http://127.0.0.1:{port}").into()),
        ..FetchConfig::default()
    });
    for url in [
        "http://intranet/",
        "https://intranet/",
        "http://metadata.google.internal/",
        "http://printer.local/",
        "http://router.home.arpa/",
        "http://x.onion/",
    ] {
        let exchange = get(&fetcher, url).await;
        let told = (exchange.outcome, exchange.detail.as_deref());
        assert_eq!(told, (Outcome::ADDR_BLOCKED, Some("inner_name")), "{url}");
    }
    assert!(seen.lock().unwrap().is_empty(), "nothing goes out");
    fetcher.allow_host("intranet", 80);
    let exchange = get(&fetcher, "http://intranet/").await;
    assert_eq!(exchange.outcome, Outcome::http(200));
    let exchange = get(&fetcher, "http://intranet:8080/").await;
    assert_eq!(exchange.outcome, Outcome::ADDR_BLOCKED, "that one only");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named() {
    let server = Server::with(vec![say(
        "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
    )])
    .await;
    let fetcher = fetcher(FetchConfig {
        proxy: Some(format!("http://{}", server.address).into()),
        ..FetchConfig::default()
    });
    let exchange = get(&fetcher, "https://a.example/").await;
    assert_eq!(
        (exchange.outcome, exchange.detail.as_deref()),
        (Outcome::PROXY_FAILED, Some("proxy answered 407"))
    );
    assert_eq!(
        get(&fetcher, "http://a.example/").await.outcome,
        Outcome::PROXY_FAILED
    );
}

#[tokio::test]
async fn a_socks_proxy_gets_names_and_its_login() {
    let server = Server::with(vec![say(OK)]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let upstream = server.address;
    let asked = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut hello = [0; 3];
        client.read_exact(&mut hello).await.unwrap();
        assert_eq!(hello, [5, 1, 2]);
        client.write_all(&[5, 2]).await.unwrap();
        let mut login = [0; 1 + 1 + 3 + 1 + 6];
        client.read_exact(&mut login).await.unwrap();
        assert_eq!(&login, b"\x01\x03ann\x06secret");
        client.write_all(&[1, 0]).await.unwrap();
        let mut ask = [0; 4 + 1 + 9 + 2];
        client.read_exact(&mut ask).await.unwrap();
        client
            .write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            .await
            .unwrap();
        let mut server = TcpStream::connect(upstream).await.unwrap();
        let _ = tokio::time::timeout(
            Duration::from_secs(2),
            copy_bidirectional(&mut client, &mut server),
        )
        .await;
        ask
    });
    let fetcher = fetcher(FetchConfig {
        proxy: Some(format!("socks5://ann:secret@127.0.0.1:{port}").into()),
        ..FetchConfig::default()
    });
    let exchange = get(&fetcher, "http://a.example/x").await;
    assert_eq!(
        exchange.outcome,
        Outcome::http(200),
        "{:?}",
        exchange.detail
    );
    drop(fetcher);
    assert_eq!(
        &asked.await.unwrap(),
        b"\x05\x01\x00\x03\x09a.example\x00\x50"
    );
    assert!(server.requests()[0].starts_with("GET /x HTTP/1.1\r\n"));
}

#[tokio::test]
async fn a_login_is_sent_to_its_origin_and_kept_out_of_the_record() {
    let (inner, other) = (
        Server::with(vec![say(OK)]).await,
        Server::with(vec![say(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
        )])
        .await,
    );
    let login = BasicLogin::default().with(&inner.url("/").parse().unwrap(), "ann", "secret");
    let fetcher = fetcher(config()).with_authenticator(Arc::new(login));
    let exchange = get(&fetcher, &inner.url("/")).await;
    assert!(inner.requests()[0].contains("Authorization: Basic YW5uOnNlY3JldA==\r\n"));
    assert!(String::from_utf8_lossy(&exchange.request_head).contains("Authorization: ***\r\n"));
    let exchange = get(&fetcher, &other.url("/")).await;
    assert_eq!(exchange.outcome, Outcome::http(401));
    assert!(!other.requests()[0].contains("Authorization"));
    assert_eq!(other.requests().len(), 1);
}

#[tokio::test]
async fn a_login_that_is_not_accepted_is_told() {
    let server = Server::with(vec![say(
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
    )])
    .await;
    let login = BasicLogin::default().with(&server.url("/").parse().unwrap(), "ann", "wrong");
    let exchange = get(
        &fetcher(config()).with_authenticator(Arc::new(login)),
        &server.url("/"),
    )
    .await;
    assert_eq!(exchange.outcome, Outcome::LOGIN_FAILED);
    assert_eq!(exchange.response.unwrap().status, 401);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn wrong_settings_are_refused_at_the_start() {
    let new = |config| {
        HttpFetcher::new(config, Arc::new(SystemClock))
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(
        new(FetchConfig {
            user_agent: "a\r\nb".to_owned(),
            ..FetchConfig::default()
        })
        .contains("user-agent")
    );
    assert!(
        new(FetchConfig {
            resolve: vec!["x".to_owned()],
            ..FetchConfig::default()
        })
        .contains("HOST=IP")
    );
    assert!(
        new(FetchConfig {
            proxy: Some("ftp://x".into()),
            ..FetchConfig::default()
        })
        .contains("socks5")
    );
    assert!(
        new(FetchConfig {
            ca_file: Some("/nowhere".into()),
            ..FetchConfig::default()
        })
        .contains("/nowhere")
    );
}

#[tokio::test]
async fn other_fetchers_answer_without_a_network() {
    let clock = Arc::new(SystemClock);
    let request = |url: &str| Request::get(url.parse().unwrap());
    let nothing = NullFetcher::new(clock.clone())
        .fetch(request("http://a.example/"))
        .await;
    assert_eq!(nothing.outcome, Outcome::SCHEME_BLOCKED);
    let scripted = ScriptedFetcher::new(clock)
        .page("http://a.example/", "text/html", "<p>Hello")
        .raw(
            "http://a.example/to",
            "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n",
        )
        .failure("http://a.example/slow", Outcome::TIME_EXCEEDED);
    let page = scripted.fetch(request("http://a.example/")).await;
    assert_eq!(
        page.response.unwrap().body.as_memory().unwrap().as_ref(),
        b"<p>Hello"
    );
    assert!(
        scripted
            .fetch(request("http://a.example/to"))
            .await
            .outcome
            .is_redirect()
    );
    assert_eq!(
        scripted
            .fetch(request("http://a.example/slow"))
            .await
            .outcome,
        Outcome::TIME_EXCEEDED
    );
    assert_eq!(
        scripted
            .fetch(request("http://a.example/none"))
            .await
            .outcome,
        Outcome::http(404)
    );
}
