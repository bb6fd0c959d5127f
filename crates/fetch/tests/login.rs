//! Logins over a real socket: what is asked for, what is said, and what is kept of it.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod server;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use data_encoding::HEXLOWER;
use md5::Md5;
use server::{config, fetcher, get, read_request};
use sha2::{Digest, Sha256};
use teia_base::{Exchange, LoginStep, Outcome};
use teia_fetch::{HttpFetcher, Logins};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

const PASSWORD: &str = "open sesame";

/// A server that lets in who answers its challenge; `fresh` requests are good for one nonce.
struct Gate {
    algorithm: &'static str,
    quality: bool,
    fresh: usize,
    nonces: AtomicUsize,
    used: AtomicUsize,
    log: Mutex<Vec<String>>,
}

impl Gate {
    async fn open(algorithm: &'static str, quality: bool, fresh: usize) -> (Arc<Self>, String) {
        let gate = Arc::new(Self {
            algorithm,
            quality,
            fresh,
            nonces: AtomicUsize::new(1),
            used: AtomicUsize::new(0),
            log: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/a/b?c=d", listener.local_addr().unwrap());
        let own = Arc::clone(&gate);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let gate = Arc::clone(&own);
                tokio::spawn(async move {
                    while let Some(request) = read_request(&mut stream).await {
                        let answer = gate.answer(&request);
                        gate.log.lock().unwrap().push(request);
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                });
            }
        });
        (gate, url)
    }

    fn hash(&self, text: &str) -> String {
        if self.algorithm.starts_with("SHA-256") {
            HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
        } else {
            HEXLOWER.encode(&Md5::digest(text.as_bytes()))
        }
    }

    fn answer(&self, request: &str) -> String {
        let line = request
            .lines()
            .find_map(|line| line.strip_prefix("Authorization: Digest "));
        let stale = match line.map(|line| self.judge(line)) {
            Some(Verdict::Good) => {
                return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_owned();
            }
            Some(Verdict::Stale) => ", stale=true",
            Some(Verdict::Wrong) | None => "",
        };
        let quality = if self.quality {
            ", qop=\"auth-int,auth\""
        } else {
            ""
        };
        format!(
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate, NTLM\r\nWWW-Authenticate: Digest realm=\"cave\", nonce=\"n{}\", opaque=\"o\", algorithm={}{quality}{stale}\r\nContent-Length: 0\r\n\r\n",
            self.nonces.load(Ordering::SeqCst),
            self.algorithm
        )
    }

    fn judge(&self, line: &str) -> Verdict {
        let said: HashMap<&str, &str> = line
            .split(", ")
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| (name, value.trim_matches('"')))
            .collect();
        let nonce = format!("n{}", self.nonces.load(Ordering::SeqCst));
        if said["nonce"] != nonce {
            return Verdict::Stale;
        }
        let mut secret = self.hash(&format!("ali:cave:{PASSWORD}"));
        if self.algorithm.ends_with("-sess") {
            secret = self.hash(&format!("{secret}:{nonce}:{}", said["cnonce"]));
        }
        let request = self.hash(&format!("GET:{}", said["uri"]));
        let wanted = if self.quality {
            format!(
                "{secret}:{nonce}:{}:{}:auth:{request}",
                said["nc"], said["cnonce"]
            )
        } else {
            format!("{secret}:{nonce}:{request}")
        };
        if said["uri"] != "/a/b?c=d"
            || said["opaque"] != "o"
            || said["response"] != self.hash(&wanted)
        {
            return Verdict::Wrong;
        }
        if self.used.fetch_add(1, Ordering::SeqCst) + 1 >= self.fresh {
            self.used.store(0, Ordering::SeqCst);
            self.nonces.fetch_add(1, Ordering::SeqCst);
        }
        Verdict::Good
    }

    fn requests(&self) -> usize {
        self.log.lock().unwrap().len()
    }
}

enum Verdict {
    Good,
    Stale,
    Wrong,
}

/// Asks, and asks again for as long as that is worth it, as the engine does after the host's gap.
async fn log_in(fetcher: &HttpFetcher, url: &str) -> Exchange {
    let mut exchange = get(fetcher, url).await;
    while exchange.login == LoginStep::Asked {
        assert_eq!(exchange.outcome, Outcome::http(401));
        exchange = get(fetcher, url).await;
    }
    exchange
}

fn with_password(url: &str, password: &str) -> HttpFetcher {
    let logins = Logins::default().password(&url.parse().unwrap(), "ali", password);
    fetcher(config()).with_authenticator(Arc::new(logins))
}

#[tokio::test]
async fn digest_opens_the_door_once_and_stays_open() {
    for (algorithm, quality) in [
        ("MD5", true),
        ("MD5", false),
        ("MD5-sess", true),
        ("SHA-256", true),
        ("SHA-256-sess", true),
    ] {
        let (gate, url) = Gate::open(algorithm, quality, usize::MAX).await;
        let fetcher = with_password(&url, PASSWORD);
        for _ in 0..3 {
            let exchange = log_in(&fetcher, &url).await;
            assert_eq!(exchange.outcome, Outcome::http(200), "{algorithm}");
            let kept = String::from_utf8_lossy(&exchange.request_head).into_owned();
            assert!(kept.contains("\r\nAuthorization: ***\r\n"), "{kept}");
            assert!(!format!("{exchange:?}").contains("response="));
        }
        assert_eq!(gate.requests(), 4, "only the first was asked for a login");
    }
}

#[tokio::test]
async fn a_stale_nonce_costs_one_more_request_and_no_failure() {
    let (gate, url) = Gate::open("SHA-256", true, 2).await;
    let fetcher = with_password(&url, PASSWORD);
    for _ in 0..5 {
        assert_eq!(log_in(&fetcher, &url).await.outcome, Outcome::http(200));
    }
    // Challenged first; then stale after two and after four.
    assert_eq!(gate.requests(), 8);
}

#[tokio::test]
async fn each_request_is_an_exchange_of_its_own() {
    let (gate, url) = Gate::open("SHA-256", true, usize::MAX).await;
    let fetcher = with_password(&url, PASSWORD);
    let first = get(&fetcher, &url).await;
    assert_eq!(
        (first.outcome, first.login, gate.requests()),
        (Outcome::http(401), LoginStep::Asked, 1)
    );
    let second = get(&fetcher, &url).await;
    assert_eq!(
        (second.outcome, second.login, gate.requests()),
        (Outcome::http(200), LoginStep::None, 2)
    );
}

#[tokio::test]
async fn a_wrong_password_fails_after_one_try_and_is_never_shown_or_said_again() {
    let (gate, url) = Gate::open("MD5", true, usize::MAX).await;
    let fetcher = with_password(&url, "wrong");
    let exchange = log_in(&fetcher, &url).await;
    assert_eq!(exchange.outcome, Outcome::LOGIN_FAILED);
    assert_eq!(exchange.login, LoginStep::Refused);
    assert!(exchange.response.is_some(), "the answer is kept");
    assert_eq!(gate.requests(), 2);
    assert!(!format!("{exchange:?} {fetcher:?}").contains("wrong"));
    // From then on one request each, without the login, and without the news.
    for _ in 0..3 {
        let exchange = get(&fetcher, &url).await;
        assert_eq!(exchange.outcome, Outcome::LOGIN_FAILED);
        assert_eq!(exchange.login, LoginStep::None);
    }
    assert_eq!(gate.requests(), 5);
    let log = gate.log.lock().unwrap();
    let said = log.iter().filter(|head| head.contains("Authorization"));
    assert_eq!(said.count(), 1);
}

#[tokio::test]
async fn another_origin_is_told_nothing() {
    let (gate, url) = Gate::open("MD5", true, usize::MAX).await;
    let exchange = get(&with_password("http://127.0.0.1:1/", PASSWORD), &url).await;
    assert_eq!(exchange.outcome, Outcome::http(401));
    assert_eq!(gate.requests(), 1);
}
