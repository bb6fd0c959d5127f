//! A limit on bytes received a second, shared by the whole process.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// A token bucket that holds a quarter of a second; who takes more waits for it.
#[derive(Debug)]
pub(crate) struct Bandwidth {
    bytes_per_second: u64,
    /// When all that was taken so far will have been paid for.
    paid_until: Mutex<Instant>,
}

impl Bandwidth {
    const BURST: Duration = Duration::from_millis(250);

    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self {
            bytes_per_second: bytes_per_second.max(1),
            paid_until: Mutex::new(Instant::now()),
        }
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
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
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
        let bandwidth = Bandwidth::new(1000);
        let now = Instant::now() + Duration::from_secs(1);
        assert_eq!(bandwidth.charge(now, 250), Duration::ZERO);
        assert_eq!(bandwidth.charge(now, 1000), Duration::from_secs(1));
        assert_eq!(
            bandwidth.charge(now + Duration::from_secs(10), 100),
            Duration::ZERO
        );
    }
}
