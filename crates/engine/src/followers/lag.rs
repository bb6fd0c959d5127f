//! How long what was committed has been waiting for a follower.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// When each entry was committed that the follower has not made visible yet.
#[derive(Debug)]
pub(super) struct Lag {
    /// Longer than this nothing is to wait; zero for any time.
    most: Duration,
    waiting: VecDeque<(u64, Instant)>,
    /// What was committed before this run is not waited for: at a start there may be hours of it.
    is_level: bool,
    before: u64,
}

impl Lag {
    /// `before` is the last entry that was committed before.
    pub(super) fn new(most: Duration, before: u64) -> Self {
        Self {
            most,
            waiting: VecDeque::new(),
            is_level: false,
            before,
        }
    }

    /// The follower begins at this entry, and `before` is the last one on disk.
    pub(super) fn begin(&mut self, position: u64, before: u64) {
        *self = Self::new(self.most, before);
        self.visible(position);
    }

    /// An entry is on disk.
    pub(super) fn committed(&mut self, sequence: u64, now: Instant) {
        if !self.most.is_zero() {
            self.waiting.push_back((sequence, now));
        }
    }

    /// The follower has made everything up to this entry visible.
    pub(super) fn visible(&mut self, position: u64) {
        while let Some((sequence, _)) = self.waiting.front()
            && *sequence <= position
        {
            self.waiting.pop_front();
        }
        self.is_level |= position >= self.before;
    }

    /// Whether something has waited too long: then no more is to be committed until it is visible.
    pub(super) fn is_too_long(&self, now: Instant) -> bool {
        let first = self.waiting.front();
        self.is_level
            && first.is_some_and(|(_, since)| now.saturating_duration_since(*since) > self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_too_long_is_noticed_until_it_is_visible() {
        let (begin, second) = (Instant::now(), Duration::from_secs(1));
        let mut lag = Lag::new(45 * second, 7);
        lag.committed(8, begin);
        lag.committed(9, begin + 30 * second);
        assert!(
            !lag.is_too_long(begin + 3600 * second),
            "it still reads what was there before"
        );
        lag.visible(7);
        assert!(!lag.is_too_long(begin + 45 * second));
        assert!(lag.is_too_long(begin + 46 * second));
        lag.visible(8);
        assert!(!lag.is_too_long(begin + 75 * second));
        assert!(lag.is_too_long(begin + 76 * second));
        lag.visible(9);
        assert!(!lag.is_too_long(begin + 3600 * second));
        // Built anew: that takes its time.
        lag.begin(0, 9);
        lag.committed(10, begin);
        assert!(!lag.is_too_long(begin + 3600 * second));
        lag.visible(9);
        assert!(lag.is_too_long(begin + 3600 * second));
    }

    #[test]
    fn without_a_bound_nobody_is_too_late() {
        let begin = Instant::now();
        let mut lag = Lag::new(Duration::ZERO, 0);
        lag.visible(0);
        lag.committed(1, begin);
        assert!(!lag.is_too_long(begin + Duration::from_secs(1 << 20)));
    }
}
