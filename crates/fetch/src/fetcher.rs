//! The door of this room: one URL in, one outcome out.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use teia_base::{Body, Clock, Exchange, Head, Outcome, Protocol, Request, Response};

/// A fetch under way; dropping it gives it up.
pub type Fetching<'a> = Pin<Box<dyn Future<Output = Exchange> + Send + 'a>>;

/// One URL in, one outcome out. Never panics, never errs: failures are outcomes.
///
/// Called by the engine once for each lease, from many tasks at once. Redirects are answers like
/// any other: the caller decides about the next hop. [`HttpFetcher`](crate::HttpFetcher) is the
/// usual one; [`ScriptedFetcher`] serves tests and [`NullFetcher`] refuses everything.
pub trait Fetcher: Send + Sync + 'static {
    /// Fetches one URL.
    fn fetch(&self, request: Request) -> Fetching<'_>;
}

/// Refuses every URL as `scheme_blocked`, for rings that must not touch a network.
#[derive(Clone, Debug)]
pub struct NullFetcher {
    clock: Arc<dyn Clock>,
}

impl NullFetcher {
    /// A fetcher without a network.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }
}

impl Fetcher for NullFetcher {
    fn fetch(&self, _: Request) -> Fetching<'_> {
        let clock = &self.clock;
        Box::pin(ready(Exchange::failed(
            Outcome::SCHEME_BLOCKED,
            None,
            clock.wall(),
            clock.now(),
        )))
    }
}

/// Answers from a map of URLs; what is not in it is a 404.
#[derive(Clone)]
pub struct ScriptedFetcher {
    clock: Arc<dyn Clock>,
    answers: HashMap<String, Scripted>,
}

#[derive(Clone, Debug)]
enum Scripted {
    Answer(Bytes),
    Failure(Outcome),
}

impl ScriptedFetcher {
    /// A web without pages.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            answers: HashMap::new(),
        }
    }

    /// Adds an answer of 200 with this type and body.
    #[must_use]
    pub fn page(self, url: &str, content_type: &str, body: &str) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n");
        self.raw(url, head + body)
    }

    /// Adds an answer as raw bytes, head and body; a head that cannot be read is `http_invalid`.
    #[must_use]
    pub fn raw(mut self, url: &str, answer: impl Into<Vec<u8>>) -> Self {
        self.answers
            .insert(url.to_owned(), Scripted::Answer(answer.into().into()));
        self
    }

    /// Adds a failure.
    #[must_use]
    pub fn failure(mut self, url: &str, outcome: Outcome) -> Self {
        self.answers
            .insert(url.to_owned(), Scripted::Failure(outcome));
        self
    }

    fn answer(&self, request: &Request) -> Exchange {
        const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\n\r\n";
        let (started, ended) = (self.clock.wall(), self.clock.now());
        let bytes = match self.answers.get(request.url.as_str()) {
            Some(Scripted::Failure(outcome)) => {
                return Exchange::failed(*outcome, None, started, ended);
            }
            Some(Scripted::Answer(bytes)) => bytes.clone(),
            None => Bytes::from_static(NOT_FOUND),
        };
        let mut exchange = Exchange::failed(Outcome::HTTP_INVALID, None, started, ended);
        exchange.request_head = format!("GET {} HTTP/1.1\r\n\r\n", request.url.path()).into();
        match crate::h1::parse_whole_head(&bytes) {
            Ok(head) => {
                exchange.outcome = Outcome::http(head.status);
                exchange.protocol = Protocol::Http11;
                exchange.response = Some(Response {
                    status: head.status,
                    body: Body::Memory(bytes.slice(head.len..)),
                    head: Head::new(bytes.slice(..head.len), head.fields),
                    chunks: None,
                });
            }
            Err(name) => exchange.detail = Some(name.into()),
        }
        exchange
    }
}

impl Fetcher for ScriptedFetcher {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        Box::pin(ready(self.answer(&request)))
    }
}

impl fmt::Debug for ScriptedFetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedFetcher")
            .field("answers", &self.answers.len())
            .finish_non_exhaustive()
    }
}
