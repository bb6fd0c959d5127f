//! Connections: how many, how slow, and how they end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use teia_engine::{Runs, connections_served};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::access::Peer;
use crate::pages::{self, App};
use crate::visitors::{Visitor, Visitors};
use crate::{Library, WebConfig, WebError};

/// What is served.
#[derive(Debug)]
pub struct Site {
    /// What was collected.
    pub library: Library,
    /// Bounds.
    pub config: WebConfig,
    /// The runs of this process, where it collects.
    pub runs: Option<Arc<dyn Runs>>,
}

impl Site {
    /// A library alone: nothing is collected by this process.
    pub fn new(library: Library, config: WebConfig) -> Self {
        Self {
            library,
            config,
            runs: None,
        }
    }
}

/// How long answers under way may take once the server is to end.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// Bytes of a request's head.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Bytes of a connection's first line that are read. More than any page takes, so that one that is cut is refused by the
/// page that it asks for, with its own words, and not by the HTTP library without any.
const MAX_LINE_BYTES: usize = 56 << 10;

/// Serves until `shutdown` resolves.
pub async fn serve(
    listener: TcpListener,
    site: Site,
    shutdown: impl Future<Output = ()>,
) -> Result<(), WebError> {
    let config = &site.config;
    let address = listener.local_addr().map_err(WebError::Serve)?;
    // Runs of this process are not sent here by what they collect.
    let _own = teia_fetch::refuse_own(address);
    // The files of a collection and the fetching of runs need descriptors too.
    let visitors = Visitors::new(connections_served(config.connections));
    let (head, stall) = (config.head_timeout, config.stall_timeout);
    let (ending, ended) = watch::channel(false);
    let router = pages::router(App::new(site, address, ended.clone()));
    tokio::pin!(shutdown);
    loop {
        let (stream, peer) = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, or a client gone before it was accepted: others are served on.
                    tracing::debug!(%error, "a connection could not be accepted");
                    sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
        };
        let (visitor, left) = tokio::select! {
            () = &mut shutdown => break,
            entered = visitors.enter() => entered,
        };
        let (router, ended) = (router.clone(), ended.clone());
        tokio::spawn(async move {
            let visitor = Arc::new(visitor);
            let conversation = converse((stream, peer), &visitor, router, (head, stall), ended);
            tokio::select! {
                () = conversation => {}
                // Who has asked for something is told nothing: what would tell it is gone.
                Ok(()) = left => tracing::debug!(%peer, "a connection that asked for nothing made room"),
            }
        });
    }
    let _ = ending.send(true);
    drop((router, ended));
    // Every conversation holds a receiver: when the last is gone, all is said.
    let _ = tokio::time::timeout(LAST_ANSWERS, ending.closed()).await;
    Ok(())
}

async fn converse(
    (stream, peer): (TcpStream, SocketAddr),
    visitor: &Arc<Visitor>,
    router: Router,
    (head, stall): (Duration, Duration),
    mut ended: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(Patient::new(stream, stall));
    let router = TowerToHyperService::new(router);
    let visitor = Arc::clone(visitor);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        visitor.asks();
        request.extensions_mut().insert(Peer(peer));
        hyper::service::Service::call(&router, request)
    });
    let conversation = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .max_buf_size(MAX_HEAD_BYTES)
        .keep_alive(true)
        .serve_connection(io, service);
    tokio::pin!(conversation);
    let result = tokio::select! {
        result = conversation.as_mut() => result,
        () = async { drop(ended.wait_for(|ended| *ended).await) } => {
            conversation.as_mut().graceful_shutdown();
            conversation.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// A connection whose client must take what it asked for: who takes no byte for too long is left.
struct Patient {
    stream: TcpStream,
    stall: Duration,
    limit: Option<Pin<Box<Sleep>>>,
    /// Bytes of the first line so far; none when it is over.
    line: Option<usize>,
}

impl Patient {
    fn new(stream: TcpStream, stall: Duration) -> Self {
        Self {
            stream,
            stall,
            limit: None,
            line: Some(0),
        }
    }

    /// Cuts the address in the first line where it is too long, and keeps what follows it. How many of these bytes stay,
    /// at their beginning.
    fn cut_line(&mut self, bytes: &mut [u8]) -> usize {
        let mut kept = 0;
        for at in 0..bytes.len() {
            let byte = bytes[at];
            let is_cut = match &mut self.line {
                Some(length) if *length >= MAX_LINE_BYTES => !matches!(byte, b' ' | b'\n'),
                Some(length) => {
                    *length += 1;
                    false
                }
                None => false,
            };
            if is_cut {
                continue;
            }
            bytes[kept] = byte;
            kept += 1;
            // After the address, or the line, everything stays.
            let is_long = self.line.is_some_and(|length| length >= MAX_LINE_BYTES);
            if byte == b'\n' || (byte == b' ' && is_long) {
                self.line = None;
            }
        }
        kept
    }

    /// What a write came to; a write that waits begins the limit, any other ends it.
    fn watched<T>(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.limit = None;
            return result;
        }
        let end = Instant::now() + self.stall;
        let limit = self.limit.get_or_insert_with(|| Box::pin(sleep_until(end)));
        ready!(limit.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
            let news = &mut buffer.filled_mut()[before..];
            if self.line.is_none() || news.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let kept = self.cut_line(news);
            buffer.set_filled(before + kept);
            // Nothing at all would be the end of the connection.
            if kept > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watched(context, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
