//! A share of all cores that the workers of a run keep to, averaged over time.
//!
//! There are as many workers as cores. Each measures what its thread has computed for a page, and rests so long afterwards
//! that it was busy for the share only; so all of them together keep to it. What waits for them (fetching, writing) slows
//! down with them, because the queue before them has a bound.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Rests are taken in pieces: a run that is told to end, or to hurry, must not wait for them.
const PIECE: Duration = Duration::from_millis(20);

/// Parts of a hundred: 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuShare(u8);

impl CpuShare {
    /// How long to rest after so much computing.
    fn rest(self, computed: Duration) -> Duration {
        computed * u32::from(100 - self.0) / u32::from(self.0)
    }
}

impl TryFrom<String> for CpuShare {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = text.trim().strip_suffix('%');
        let number = number.and_then(|number| number.trim().parse::<u8>().ok());
        let share = number.filter(|share| (1..=100).contains(share));
        share
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no share of the cores; write \"1%\" to \"100%\""))
    }
}

impl From<CpuShare> for String {
    fn from(share: CpuShare) -> Self {
        share.to_string()
    }
}

impl fmt::Display for CpuShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

/// The share of a run, which may change under it; 100 where there is no limit.
#[derive(Debug)]
pub(crate) struct Throttle(AtomicU8);

impl Throttle {
    pub(crate) fn new(share: Option<CpuShare>) -> Self {
        let throttle = Self(AtomicU8::new(100));
        throttle.set(share);
        throttle
    }

    pub(crate) fn set(&self, share: Option<CpuShare>) {
        self.0
            .store(share.map_or(100, |share| share.0), Ordering::Relaxed);
    }

    fn share(&self) -> CpuShare {
        CpuShare(self.0.load(Ordering::Relaxed))
    }

    /// Does a piece of work, and says what this thread has computed for it.
    pub(crate) fn measure<T>(&self, work: impl FnOnce() -> T) -> (T, Duration) {
        let before = thread_cpu();
        let done = work();
        (done, thread_cpu().saturating_sub(before))
    }

    /// Rests for what was computed, unless there is no time for it.
    pub(crate) fn pay(&self, computed: Duration, is_over: impl Fn() -> bool) {
        let mut rested = Duration::ZERO;
        loop {
            let left = self.share().rest(computed).saturating_sub(rested);
            if left.is_zero() || is_over() {
                return;
            }
            let piece = left.min(PIECE);
            std::thread::sleep(piece);
            rested += piece;
        }
    }
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_written_with_its_sign() {
        for text in ["1%", "50%", "100%"] {
            assert_eq!(
                CpuShare::try_from(text.to_owned()).unwrap().to_string(),
                text
            );
        }
        for text in ["", "0%", "101%", "50", "half", "-1%"] {
            assert!(CpuShare::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn the_rest_makes_the_share() {
        let second = Duration::from_secs(1);
        assert_eq!(CpuShare(50).rest(second), second);
        assert_eq!(CpuShare(25).rest(second), second * 3);
        assert_eq!(CpuShare(100).rest(second), Duration::ZERO);
    }

    #[test]
    fn who_must_end_does_not_rest() {
        let throttle = Throttle::new(Some(CpuShare(1)));
        throttle.pay(Duration::from_secs(3600), || true);
        // And no limit is no rest.
        throttle.set(None);
        throttle.pay(Duration::from_secs(3600), || false);
    }
}
