//! Fetch: one lease becomes one exchange. Runs as a task of its own.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use teia_base::{Clock, Exchange, HostId, Outcome, Request};
use teia_fetch::{Fetcher, Fetching};
use teia_frontier::Answer;
use teia_repository::UrlState;
use tokio::sync::mpsc;
use url::Url;

use crate::message::Message;
use crate::workers::Jobs;

/// What a lease is for.
#[derive(Debug)]
pub(crate) enum Errand {
    /// A URL of the collection.
    Page(Box<UrlState>),
    /// The robots.txt of an origin, after so many redirects; the URL that waits for it stays leased.
    Robots {
        origin: String,
        url: Url,
        hops: u8,
        waiting: Box<UrlState>,
    },
    /// A URL that nobody has made, on a host that shows this page again and again.
    Probe { url: Url, page: u64 },
}

impl Errand {
    /// The host that is asked, by name.
    pub(crate) fn host_name(&self) -> &str {
        match self {
            Self::Page(state) => state.url.normal().host_str(),
            Self::Robots { url, .. } | Self::Probe { url, .. } => {
                url.host_str().unwrap_or_default()
            }
        }
    }

    /// Whether it goes out by https.
    pub(crate) fn is_secure(&self) -> bool {
        match self {
            Self::Page(state) => state.url.normal().scheme() == "https",
            Self::Robots { url, .. } | Self::Probe { url, .. } => url.scheme() == "https",
        }
    }

    /// Which try of its URL this is.
    fn tries(&self) -> u8 {
        match self {
            Self::Page(state) | Self::Robots { waiting: state, .. } => {
                state.tries.saturating_add(1)
            }
            Self::Probe { .. } => 1,
        }
    }
}

/// An exchange on its way to a worker.
#[derive(Debug)]
pub(crate) struct Job {
    /// Who was asked.
    pub(crate) host: HostId,
    pub(crate) errand: Errand,
    pub(crate) exchange: Exchange,
}

/// A fetch whose panic is an outcome: one answer that breaks a fetcher must not break the run, now and
/// at every start after.
struct Caught<'a>(Fetching<'a>);

impl Future for Caught<'_> {
    type Output = Option<Exchange>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let poll = || self.0.as_mut().poll(context);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(poll) => poll.map(Some),
            Err(_) => Poll::Ready(None),
        }
    }
}

/// Makes the request, tells the ring that the host is free again, and hands the answer on.
pub(crate) async fn fetch(
    clock: Arc<dyn Clock>,
    fetcher: Arc<dyn Fetcher>,
    host: HostId,
    errand: Errand,
    request: Request,
    messages: mpsc::Sender<Message>,
    (jobs, host_is_dear): (Jobs, bool),
) {
    let started = clock.wall();
    let url = request.url.clone();
    // The call itself may panic as well as what it returns.
    let fetching = catch_unwind(AssertUnwindSafe(|| fetcher.fetch(request)));
    let fetched = match fetching {
        Ok(fetching) => Caught(fetching).await,
        Err(_) => None,
    };
    let exchange = fetched.unwrap_or_else(|| {
        tracing::error!(%url, "the fetcher panicked");
        let detail = Some("the fetcher panicked".into());
        Exchange::failed(Outcome::SYSTEM_ERROR, detail, started, clock.now())
    });
    let answer = Answer {
        ended: exchange.ended,
        latency: exchange.times.first_byte,
        outcome: exchange.outcome,
        retry_after: retry_after(&exchange),
        address: exchange.remote.map(|remote| remote.ip()),
        tries: errand.tries(),
    };
    let job = Job {
        host,
        errand,
        exchange,
    };
    let (lane, is_long) = jobs.lane(&job.exchange, host_is_dear);
    // It fails only when the ring is gone, and with it the need for an answer.
    if messages
        .send(Message::Answered {
            host,
            answer,
            bytes: job.exchange.wire_bytes(),
            lane,
            is_long,
        })
        .await
        .is_ok()
    {
        jobs.send(job, lane).await;
    }
}

/// What the server asked for, in `Retry-After`.
pub(crate) fn retry_after(exchange: &Exchange) -> Option<std::time::Duration> {
    let value = exchange.response.as_ref()?.head.text("retry-after")?;
    let asked = match value.parse::<u64>() {
        Ok(seconds) => std::time::Duration::from_secs(seconds),
        // Who asks for a rest in words that nobody understands asks for a rest.
        Err(_) => teia_base::Timestamp::parse_http_date(&value)
            .map_or(LEAST_RETRY_AFTER, |date| date.since(exchange.started)),
    };
    Some(asked.max(LEAST_RETRY_AFTER))
}

/// The shortest rest that a server can ask for: none, or one that is over, would be asking at once (HTTP-32).
const LEAST_RETRY_AFTER: std::time::Duration = std::time::Duration::from_secs(1);
