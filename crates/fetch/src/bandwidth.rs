//! A limit on bytes received a second, shared by the whole process.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// A token bucket that holds a quarter of a second; who takes more waits for it. The limit may change at
/// any time.
#[derive(Debug)]
pub(crate) struct Bandwidth {
    /// 0 where there is no limit.
    bytes_per_second: AtomicU64,
    /// When all that was taken so far will have been paid for.
    paid_until: Mutex<Instant>,
}

impl Bandwidth {
    const BURST: Duration = Duration::from_millis(250);

    pub(crate) fn new(bytes_per_second: Option<u64>) -> Self {
        let bandwidth = Self {
            bytes_per_second: AtomicU64::new(0),
            paid_until: Mutex::new(Instant::now()),
        };
        bandwidth.set(bytes_per_second);
        bandwidth
    }

    /// Another limit from now on, or none.
    pub(crate) fn set(&self, bytes_per_second: Option<u64>) {
        let rate = bytes_per_second.map_or(0, |rate| rate.max(1));
        self.bytes_per_second.store(rate, Ordering::Relaxed);
    }

    /// Accounts for bytes just received; returns after as long as they cost, and says how long.
    pub(crate) async fn spend(&self, bytes: usize) -> Duration {
        let wait = self.charge(Instant::now(), bytes as u64);
        if !wait.is_zero() {
            sleep(wait).await;
        }
        wait
    }

    fn charge(&self, now: Instant, bytes: u64) -> Duration {
        let rate = self.bytes_per_second.load(Ordering::Relaxed);
        if rate == 0 {
            return Duration::ZERO;
        }
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
        let cost = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            .min(Duration::from_secs(3600));
        let mut paid_until = self.paid_until.lock().expect("no holder panics");
        *paid_until = (*paid_until).max(now) + cost;
        paid_until.saturating_duration_since(now + Self::BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_burst_waits_for_its_price() {
        let bandwidth = Bandwidth::new(Some(1000));
        let now = Instant::now() + Duration::from_secs(1);
        assert_eq!(bandwidth.charge(now, 250), Duration::ZERO);
        assert_eq!(bandwidth.charge(now, 1000), Duration::from_secs(1));
        assert_eq!(
            bandwidth.charge(now + Duration::from_secs(10), 100),
            Duration::ZERO
        );
    }

    #[test]
    fn another_limit_counts_from_the_next_bytes_on() {
        let bandwidth = Bandwidth::new(None);
        let now = Instant::now() + Duration::from_secs(1);
        assert_eq!(bandwidth.charge(now, 1 << 40), Duration::ZERO);
        bandwidth.set(Some(1000));
        assert_eq!(bandwidth.charge(now, 1250), Duration::from_secs(1));
        bandwidth.set(None);
        assert_eq!(bandwidth.charge(now, 1 << 40), Duration::ZERO);
    }
}
