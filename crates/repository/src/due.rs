//! Whether the moment has come for which a URL waits.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use teia_base::Timestamp;

/// For how long anything waits at most.
///
/// What seems to wait for longer was written while the clock of the machine was wrong, by years perhaps: it is due now.
/// Were it not, its pages would be lost until that day comes.
#[derive(Debug)]
pub(crate) struct LongestWait {
    seconds: AtomicU32,
}

impl LongestWait {
    /// No less is taken for it: settings change, and what waits by those of before still does.
    const LEAST: Duration = Duration::from_hours(400 * 24);

    /// What is set anew now was written a little later than now, where the clock is set back.
    const MARGIN: Duration = Duration::from_hours(30 * 24);

    pub(crate) fn set(&self, wait: Duration) {
        let seconds = (wait + Self::MARGIN).max(Self::LEAST).as_secs();
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        self.seconds.store(seconds, Ordering::Relaxed);
    }

    /// The same as another one.
    pub(crate) fn follow(&self, other: &Self) {
        self.seconds.store(other.seconds(), Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self, due: Timestamp, now: Timestamp) -> bool {
        due <= now || due.since(now).as_secs() > self.seconds().into()
    }

    /// The same in whole seconds since 1970.
    pub(crate) fn is_over_at(&self, due: u32, now: u32) -> bool {
        due <= now || due - now > self.seconds()
    }

    fn seconds(&self) -> u32 {
        self.seconds.load(Ordering::Relaxed)
    }
}

impl Default for LongestWait {
    fn default() -> Self {
        let longest = Self {
            seconds: AtomicU32::new(0),
        };
        longest.set(Duration::ZERO);
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_moment_that_no_setting_can_mean() {
        let longest = LongestWait::default();
        let day = |days: u32| days * 86_400;
        let at = |days: u32| Timestamp::from_micros(i64::from(day(days)) * 1_000_000);
        let check = |longest: &LongestWait, due: u32, expected: bool| {
            assert_eq!(longest.is_over(at(due), at(1000)), expected, "{due}");
            assert_eq!(longest.is_over_at(day(due), day(1000)), expected, "{due}");
        };
        for (due, is_over) in [
            (999, true),
            (1000, true),
            (1001, false),
            (1400, false),
            (1401, true),
        ] {
            check(&longest, due, is_over);
        }
        longest.set(Duration::from_hours(1000 * 24));
        check(&longest, 2030, false);
        check(&longest, 2031, true);
        longest.set(Duration::ZERO);
        check(&longest, 1400, false);
    }
}
