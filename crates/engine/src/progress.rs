//! Where a run stands, for those who watch.

use std::time::Duration;

use teia_repository::State;

use crate::feedback::Progress;
use crate::ring::Ring;

impl Ring {
    /// Numbers for people, five times a second.
    pub(crate) fn progress(&self) -> Progress {
        let elapsed = self.clock.now().saturating_duration_since(self.started);
        let (pages_per_second, bytes_per_second) = self.rates.get();
        let mut left: Option<Duration> = None;
        let mut share: Option<f64> = None;
        #[expect(clippy::cast_precision_loss, reason = "estimates for people")]
        let mut limit = |amount: u64, most: Option<u64>, rate: f64| {
            let Some(most) = most else { return };
            let used = amount as f64 / most.max(1) as f64;
            share = Some(share.unwrap_or(0.0).max(used.min(1.0)));
            if rate > 0.0 {
                let seconds = most.saturating_sub(amount) as f64 / rate;
                let estimate = Duration::from_secs_f64(seconds.min(1e9));
                left = Some(left.map_or(estimate, |left| left.min(estimate)));
            }
        };
        limit(
            self.stats.fetched,
            self.config.filter.max_pages,
            pages_per_second,
        );
        limit(
            self.stats.bytes,
            self.config.filter.max_bytes,
            bytes_per_second,
        );
        if let Some(max_time) = self.config.run.max_time {
            let remaining = max_time.saturating_sub(elapsed);
            left = Some(left.map_or(remaining, |left| left.min(remaining)));
            let used = elapsed.as_secs_f64() / max_time.as_secs_f64().max(0.001);
            share = Some(share.unwrap_or(0.0).max(used.min(1.0)));
        }
        Progress {
            fetched: self.stats.fetched,
            bytes: self.stats.bytes,
            queue: self.repository.count(State::Waiting),
            known: self.repository.len(),
            hosts_active: self.frontier.leased(),
            hosts_waiting: self.frontier.queued(),
            hosts_limit: self.limit.get(),
            errors: self.stats.errors,
            elapsed,
            pages_per_second,
            bytes_per_second,
            left,
            share,
            rest: if self.control.is_paused() {
                Some("paused")
            } else if self.reserve.is_low() {
                Some("waiting for disk space")
            } else if self.is_quiet {
                Some("waiting for its hours")
            } else {
                None
            },
        }
    }
}
