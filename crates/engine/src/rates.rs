//! Pages and bytes a second, over the last few seconds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

const SPAN: Duration = Duration::from_secs(5);

/// A moving average over five seconds.
#[derive(Debug)]
pub(crate) struct Rates {
    pages: u64,
    bytes: u64,
    marks: VecDeque<(Instant, u64, u64)>,
}

impl Rates {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            pages: 0,
            bytes: 0,
            marks: VecDeque::from([(now, 0, 0)]),
        }
    }

    pub(crate) fn add(&mut self, is_page: bool, bytes: u64) {
        self.pages += u64::from(is_page);
        self.bytes += bytes;
    }

    /// Marks where the counters stand.
    pub(crate) fn turn(&mut self, now: Instant) {
        self.marks.push_back((now, self.pages, self.bytes));
        while self.marks.len() > 2 && now.duration_since(self.marks[1].0) >= SPAN {
            self.marks.pop_front();
        }
    }

    /// Pages and bytes a second.
    pub(crate) fn get(&self) -> (f64, f64) {
        let (Some(first), Some(last)) = (self.marks.front(), self.marks.back()) else {
            return (0.0, 0.0);
        };
        let seconds = last.0.duration_since(first.0).as_secs_f64();
        if seconds <= 0.0 {
            return (0.0, 0.0);
        }
        #[expect(clippy::cast_precision_loss, reason = "rates for people")]
        let rate = |from: u64, to: u64| (to - from) as f64 / seconds;
        (rate(first.1, last.1), rate(first.2, last.2))
    }
}
