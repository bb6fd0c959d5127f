//! How long one exchange is waited for: one timer for all of its limits.
//!
//! The timer is looked at only while nothing can be read, and re-armed rather than made anew, so
//! a fast exchange pays for it once. When it fires, the socket itself is asked once more: a
//! process short of processor time must not blame the server for its own delay.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use teia_base::Outcome;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::config::FetchConfig;
use crate::fault::Fault;

/// What we get when bytes are there but our event loop was late to see them.
const GRACE: Duration = Duration::from_secs(1);

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// No answer began in time.
    FirstByte,
    /// The head did not end in time.
    Head,
    /// The body comes too slowly.
    Rate,
    /// The whole exchange takes too long.
    Total,
}

impl From<Limit> for Fault {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::FirstByte => Self::new(Outcome::TIME_EXCEEDED, "http_too_slow"),
            Limit::Total => Self::new(Outcome::TIME_EXCEEDED, "total"),
            Limit::Head | Limit::Rate => Self::invalid("http_too_slow"),
        }
    }
}

/// The time limits of one exchange.
#[derive(Debug)]
pub(crate) struct Patience {
    timer: Pin<Box<Sleep>>,
    total: Instant,
    head_limit: Duration,
    window: Duration,
    window_bytes: u64,
    phase: Phase,
    graced: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Head { deadline: Instant, any: bool },
    Body { window_end: Instant, bytes: u64 },
}

impl Patience {
    /// Limits for an exchange that must be over by `total`, having `limit` for it from start to end.
    pub(crate) fn new(config: &FetchConfig, total: Instant, limit: Duration) -> Self {
        let head_limit = config.first_byte_timeout.min(limit);
        let window = config.min_rate_window.min(limit);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates far above any limit in use"
        )]
        let window_bytes = config.min_rate.saturating_mul(window.as_millis() as u64) / 1000;
        let deadline = total.min(Instant::now() + head_limit);
        Self {
            timer: Box::pin(sleep_until(deadline)),
            total,
            head_limit,
            window,
            window_bytes,
            phase: Phase::Head {
                deadline,
                any: false,
            },
            graced: false,
        }
    }

    /// When the whole exchange must be over.
    pub(crate) fn total(&self) -> Instant {
        self.total
    }

    /// When the head must be there, or the whole exchange be over.
    pub(crate) fn next(&self) -> Instant {
        match self.phase {
            Phase::Head { deadline, .. } => deadline.min(self.total),
            Phase::Body { window_end, .. } => window_end.min(self.total),
        }
    }

    /// The request goes out now: the wait for its answer begins.
    pub(crate) fn request_sent(&mut self) {
        self.phase = Phase::Head {
            deadline: Instant::now() + self.head_limit,
            any: false,
        };
    }

    /// Bytes came.
    pub(crate) fn received(&mut self, len: usize) {
        self.graced = false;
        match &mut self.phase {
            Phase::Head { any, .. } => *any = true,
            Phase::Body { bytes, .. } => *bytes += len as u64,
        }
    }

    /// The head is whole: from now on the rate counts, and the whole may take `more` time.
    pub(crate) fn body_begins(&mut self, more: Duration) {
        self.total += more;
        self.phase = Phase::Body {
            window_end: Instant::now() + self.window,
            bytes: 0,
        };
    }

    /// Time that we spent waiting for ourselves is not charged to the server.
    pub(crate) fn forgive(&mut self, waited: Duration) {
        self.total += waited;
        match &mut self.phase {
            Phase::Head { deadline, .. } => *deadline += waited,
            Phase::Body { window_end, .. } => *window_end += waited,
        }
    }

    /// Ready when a limit is reached; called only while nothing can be read.
    /// `waiting` asks the system whether bytes are there all the same.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, waiting: impl Fn() -> bool) -> Poll<Limit> {
        if self.next() < self.timer.deadline() {
            let next = self.next();
            self.timer.as_mut().reset(next);
        }
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            let rearm = match self.reached(now) {
                None => self.next(),
                Some(_) if !self.graced && waiting() => {
                    self.graced = true;
                    now + GRACE
                }
                Some(limit) => return Poll::Ready(limit),
            };
            self.timer.as_mut().reset(rearm);
        }
    }

    fn reached(&mut self, now: Instant) -> Option<Limit> {
        match &mut self.phase {
            Phase::Head { any: false, .. } if now >= self.total => Some(Limit::FirstByte),
            _ if now >= self.total => Some(Limit::Total),
            Phase::Head { deadline, any } if now >= *deadline => {
                Some(if *any { Limit::Head } else { Limit::FirstByte })
            }
            Phase::Body { window_end, bytes } if now >= *window_end => {
                let slow = *bytes < self.window_bytes;
                (*window_end, *bytes) = (now + self.window, 0);
                slow.then_some(Limit::Rate)
            }
            _ => None,
        }
    }
}
