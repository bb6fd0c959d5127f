//! Counts the frames that a server sends beside data, and ends the connection of one that floods.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::stream::Stream;

/// Frames without data that a server may send in a minute, and for each request on top of them.
const FRAMES_A_MINUTE: u32 = 1000;
const FRAMES_A_REQUEST: u32 = 16;
const FRAME_HEAD: usize = 9;
/// Types of frames (RFC 9113, 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// What a meter has seen.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The connection was ended because of a flood.
    flooded: AtomicBool,
    bytes: AtomicU64,
    /// Bytes of header blocks since the last request.
    block_bytes: AtomicU64,
    requests: AtomicU32,
}

impl Reading {
    /// A request goes out: what its answer costs is counted from here.
    pub(super) fn begin(&self) {
        self.block_bytes.store(0, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes of header blocks since the last request.
    pub(super) fn block_bytes(&self) -> u64 {
        self.block_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn is_flooded(&self) -> bool {
        self.flooded.load(Ordering::Relaxed)
    }

    /// Bytes received so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// A connection with its frames counted as they are read.
#[derive(Debug)]
pub(super) struct Meter {
    stream: Stream,
    reading: Arc<Reading>,
    frames: FrameCount,
}

impl Meter {
    pub(super) fn new(stream: Stream, reading: Arc<Reading>) -> Self {
        Self {
            stream,
            reading,
            frames: FrameCount::new(Instant::now()),
        }
    }
}

/// Walks over frames: 24 bits of length, 8 of type, 40 more, then the payload.
#[derive(Debug)]
struct FrameCount {
    head: [u8; FRAME_HEAD],
    head_len: usize,
    payload_left: usize,
    /// Bytes of header blocks announced so far.
    block_bytes: u64,
    since: Instant,
    count: u32,
    /// Requests sent before `since`.
    earlier: u32,
}

impl FrameCount {
    fn new(since: Instant) -> Self {
        Self {
            head: [0; FRAME_HEAD],
            head_len: 0,
            payload_left: 0,
            block_bytes: 0,
            since,
            count: 0,
            earlier: 0,
        }
    }

    /// False once there are too many, `requests` having been sent so far.
    fn pass(&mut self, mut bytes: &[u8], requests: u32, now: Instant) -> bool {
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                let skip = self.payload_left.min(bytes.len());
                self.payload_left -= skip;
                bytes = &bytes[skip..];
                continue;
            }
            self.head[self.head_len] = bytes[0];
            self.head_len += 1;
            bytes = &bytes[1..];
            if self.head_len == FRAME_HEAD {
                self.head_len = 0;
                if !self.frame(requests, now) {
                    return false;
                }
            }
        }
        true
    }

    fn frame(&mut self, requests: u32, now: Instant) -> bool {
        let [a, b, c, kind, ..] = self.head;
        self.payload_left = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        if matches!(kind, HEADERS | CONTINUATION) {
            self.block_bytes += self.payload_left as u64;
        }
        let is_data = kind == DATA && self.payload_left > 0;
        if is_data {
            return true;
        }
        if now.duration_since(self.since) > Duration::from_secs(60) {
            (self.since, self.count, self.earlier) = (now, 0, requests);
        }
        self.count += 1;
        let answered = requests.saturating_sub(self.earlier);
        self.count <= FRAMES_A_MINUTE.saturating_add(answered.saturating_mul(FRAMES_A_REQUEST))
    }
}

impl AsyncRead for Meter {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        let came = &buffer.filled()[before..];
        this.reading
            .bytes
            .fetch_add(came.len() as u64, Ordering::Relaxed);
        let requests = this.reading.requests.load(Ordering::Relaxed);
        let good = this.frames.pass(came, requests, Instant::now());
        let block_bytes = std::mem::take(&mut this.frames.block_bytes);
        this.reading
            .block_bytes
            .fetch_add(block_bytes, Ordering::Relaxed);
        if !good {
            this.reading.flooded.store(true, Ordering::Relaxed);
            return Poll::Ready(Err(io::Error::other("too many frames without data")));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Meter {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, len: u8) -> Vec<u8> {
        let mut bytes = vec![0, 0, len, kind, 0, 0, 0, 0, 1];
        bytes.extend(vec![7; usize::from(len)]);
        bytes
    }

    #[test]
    fn data_is_free_and_the_rest_is_counted_however_it_is_split() {
        let now = Instant::now();
        for size in [1, 7, 4096] {
            let mut count = FrameCount::new(now);
            let data: Vec<u8> = (0..5000).flat_map(|_| frame(0, 20)).collect();
            assert!(data.chunks(size).all(|part| count.pass(part, 0, now)));
            let pings: Vec<u8> = (0..FRAMES_A_MINUTE).flat_map(|_| frame(6, 8)).collect();
            assert!(pings.chunks(size).all(|part| count.pass(part, 0, now)));
            assert!(
                !count.pass(&frame(0, 0), 0, now),
                "an empty data frame is one too many"
            );
        }
    }

    #[test]
    fn who_asks_for_more_may_be_answered_with_more() {
        let now = Instant::now();
        let mut count = FrameCount::new(now);
        let pings: Vec<u8> = (0..FRAMES_A_MINUTE).flat_map(|_| frame(6, 8)).collect();
        assert!(count.pass(&pings, 0, now));
        let answers: Vec<u8> = (0..FRAMES_A_REQUEST).flat_map(|_| frame(1, 8)).collect();
        assert!(count.pass(&answers, 1, now));
        assert!(!count.pass(&frame(1, 8), 1, now));
    }

    #[test]
    fn the_count_starts_anew_each_minute() {
        let now = Instant::now();
        let mut count = FrameCount::new(now);
        let pings: Vec<u8> = (0..FRAMES_A_MINUTE).flat_map(|_| frame(6, 8)).collect();
        assert!(count.pass(&pings, 0, now));
        assert!(count.pass(&pings, 0, now + Duration::from_secs(61)));
    }
}
