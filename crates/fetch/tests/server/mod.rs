//! A raw server for tests: says exactly the bytes it is told to say.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test program uses its own part of it"
)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use teia_base::{Exchange, Request, SystemClock};
use teia_fetch::{FetchConfig, Fetcher, HttpFetcher};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

/// One step of an answer.
#[derive(Clone)]
pub enum Say {
    /// These bytes, at once.
    Bytes(Vec<u8>),
    /// These bytes, one at a time with this pause.
    Drip(Vec<u8>, Duration),
    /// These bytes again and again, until the other side leaves.
    Endless(Vec<u8>),
    /// The same, with a pause between.
    EndlessDrip(Vec<u8>, Duration),
    /// Nothing for a while.
    Wait(Duration),
    /// Closes the connection.
    Close,
}

/// Text to say at once.
pub fn say(text: impl AsRef<[u8]>) -> Say {
    Say::Bytes(text.as_ref().to_vec())
}

/// A server that gives its answers in turn, the last one again and again.
pub struct Server {
    pub address: SocketAddr,
    /// Requests as received, in order.
    pub requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    pub async fn start(answers: Vec<Vec<Say>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let script = Arc::new(Script {
            answers,
            next: AtomicUsize::new(0),
            requests: Arc::clone(&requests),
        });
        let counter = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                stream.set_nodelay(true).unwrap();
                let script = Arc::clone(&script);
                tokio::spawn(async move { script.serve(stream).await });
            }
        });
        Self {
            address,
            requests,
            connections,
        }
    }

    /// A server with one answer.
    pub async fn with(answer: Vec<Say>) -> Self {
        Self::start(vec![answer]).await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

pub struct Script {
    pub answers: Vec<Vec<Say>>,
    pub next: AtomicUsize,
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl Script {
    /// Answers requests on one connection until it ends.
    pub async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
        while let Some(request) = read_request(&mut stream).await {
            self.requests.lock().unwrap().push(request);
            let n = self
                .next
                .fetch_add(1, Ordering::SeqCst)
                .min(self.answers.len() - 1);
            for step in &self.answers[n] {
                if matches!(step, Say::Close) || perform(&mut stream, step).await.is_err() {
                    let _ = stream.shutdown().await;
                    return;
                }
            }
        }
    }
}

async fn perform(stream: &mut (impl AsyncWrite + Unpin), step: &Say) -> std::io::Result<()> {
    match step {
        Say::Bytes(bytes) => stream.write_all(bytes).await?,
        Say::Drip(bytes, pause) => {
            for byte in bytes {
                stream.write_all(&[*byte]).await?;
                stream.flush().await?;
                tokio::time::sleep(*pause).await;
            }
        }
        Say::Endless(bytes) => loop {
            stream.write_all(bytes).await?;
        },
        Say::EndlessDrip(bytes, pause) => loop {
            stream.write_all(bytes).await?;
            stream.flush().await?;
            tokio::time::sleep(*pause).await;
        },
        Say::Wait(pause) => tokio::time::sleep(*pause).await,
        Say::Close => {}
    }
    stream.flush().await
}

pub async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8_lossy(&request).into_owned())
}

/// Settings for tests: loopback is allowed, waits are short but not tight.
pub fn config() -> FetchConfig {
    FetchConfig {
        allow_private: true,
        timeout: Duration::from_secs(20),
        ..FetchConfig::default()
    }
}

pub fn fetcher(config: FetchConfig) -> HttpFetcher {
    HttpFetcher::new(config, Arc::new(SystemClock)).unwrap()
}

pub async fn get(fetcher: &HttpFetcher, url: &str) -> Exchange {
    fetcher.fetch(Request::get(url.parse().unwrap())).await
}

/// Fetches one answer of a server made for it.
pub async fn fetch(answer: Vec<Say>) -> Exchange {
    let server = Server::with(answer).await;
    get(&fetcher(config()), &server.url("/")).await
}

/// The body as received.
pub fn body(exchange: &Exchange) -> Vec<u8> {
    let body = &exchange.response.as_ref().expect("a response").body;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut body.reader(0, u64::MAX), &mut bytes).unwrap();
    bytes
}

/// The payload between the chunks.
pub fn payload(exchange: &Exchange) -> Vec<u8> {
    let response = exchange.response.as_ref().expect("a response");
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut response.payload_reader(), &mut bytes).unwrap();
    bytes
}
