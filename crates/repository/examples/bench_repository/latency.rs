//! How long calls took: the 99th of a hundred, and the longest.

use std::time::{Duration, Instant};

/// Calls by how long they took, four steps to each doubling.
#[derive(Clone)]
struct Calls {
    name: &'static str,
    steps: [u64; 256],
    count: u64,
    longest: u64,
}

/// Times calls one after another; off, it does not look at the clock.
pub(crate) struct Latency {
    is_on: bool,
    calls: Vec<Calls>,
    since: Instant,
}

impl Latency {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            calls: Vec::new(),
            since: Instant::now(),
        }
    }

    /// A call begins now.
    pub(crate) fn begin(&mut self) {
        if self.is_on {
            self.since = Instant::now();
        }
    }

    /// A call of this name is over, and the next one begins.
    pub(crate) fn end(&mut self, name: &'static str) {
        if self.is_on {
            let now = Instant::now();
            self.note(name, now - self.since);
            self.since = now;
        }
    }

    fn note(&mut self, name: &'static str, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap().max(4);
        let at = self.calls.iter().position(|calls| calls.name == name);
        let at = at.unwrap_or_else(|| {
            self.calls.push(Calls {
                name,
                steps: [0; 256],
                count: 0,
                longest: 0,
            });
            self.calls.len() - 1
        });
        let calls = &mut self.calls[at];
        let doublings = u64::from(nanos.ilog2());
        let step = doublings * 4 + (nanos >> (doublings - 2) & 3);
        calls.steps[step as usize] += 1;
        calls.count += 1;
        calls.longest = calls.longest.max(nanos);
    }

    /// As a field of a record: for each name the number of calls, and milliseconds.
    pub(crate) fn json(&self) -> String {
        let of_one = |calls: &Calls| {
            format!(
                "\"{}\":{{\"calls\":{},\"p99_ms\":{:.4},\"longest_ms\":{:.3}}}",
                calls.name,
                calls.count,
                calls.of_a_hundred(99) as f64 / 1e6,
                calls.longest as f64 / 1e6
            )
        };
        let all: Vec<String> = self.calls.iter().map(of_one).collect();
        if all.is_empty() {
            return String::new();
        }
        format!(",\"latency\":{{{}}}", all.join(","))
    }
}

impl Calls {
    /// So many of a hundred took at most so many nanoseconds, to a fifth.
    fn of_a_hundred(&self, share: u64) -> u64 {
        let mut left = self.count * share / 100;
        for (step, &count) in self.steps.iter().enumerate() {
            if count > left {
                let (doublings, quarter) = (step / 4, step as u64 % 4);
                return ((5 + quarter) << doublings) / 4;
            }
            left -= count;
        }
        self.longest
    }
}
