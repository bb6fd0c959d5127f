//! A clock whose hands a test moves on, and which goes on by itself.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::sync::Mutex;
use std::time::{Duration, Instant};

use teia_base::{Clock, SystemClock, Timestamp};

/// Shows a moment that a test has set, and goes on from there.
#[derive(Debug)]
pub(crate) struct ShiftedClock(Mutex<(Timestamp, Instant)>);

impl ShiftedClock {
    pub(crate) fn at(text: &str) -> Self {
        Self(Mutex::new((
            Timestamp::parse(text).unwrap(),
            Instant::now(),
        )))
    }

    /// One that shows the right time so far.
    pub(crate) fn right() -> Self {
        Self(Mutex::new((SystemClock.wall(), Instant::now())))
    }

    pub(crate) fn set(&self, moment: Timestamp) {
        *self.0.lock().unwrap() = (moment, Instant::now());
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.set(self.wall().plus(by));
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> Timestamp {
        let (moment, since) = *self.0.lock().unwrap();
        moment.plus(since.elapsed())
    }
}
