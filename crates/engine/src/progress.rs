//! Where a run stands, for those who watch.

use std::time::{Duration, Instant};

use teia_base::journal::{Entry, Record};
use teia_repository::State;
use url::Url;

use crate::feedback::{Asked, Event, Progress};
use crate::ring::Ring;

/// So many requests are shown; the others are quicker.
const MOST_ASKED: usize = 25;

impl Ring {
    /// What people may want to hear of an entry that is on disk.
    pub(crate) fn news_in(&self, entry: &Entry) -> Option<Event> {
        match &entry.record {
            Record::RunStarted(_) => {
                let current = self.ledger.head.current.as_ref();
                Some(Event::Begun {
                    run: entry.run,
                    goes_on: current.is_some_and(|run| run.started != entry.wall),
                })
            }
            Record::Paused => Some(Event::Paused),
            Record::Resumed => Some(Event::Resumed),
            Record::Quarantined(one) => Some(Event::Quarantined {
                host: one.host.clone(),
                pattern: one.pattern.clone(),
            }),
            _ => None,
        }
    }

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
            asking: self.longest_asked(),
        }
    }

    /// The requests that take longest, the longest first.
    fn longest_asked(&self) -> Vec<Asked> {
        let mut asking: Vec<(&Url, Instant)> = self
            .asking
            .values()
            .map(|(url, since)| (url, *since))
            .collect();
        if asking.len() > MOST_ASKED {
            asking.select_nth_unstable_by_key(MOST_ASKED, |(_, since)| *since);
            asking.truncate(MOST_ASKED);
        }
        asking.sort_unstable_by_key(|(_, since)| *since);
        let now = self.clock.now();
        let show = |(url, since): (&Url, Instant)| Asked {
            url: url.to_string(),
            seconds: now.saturating_duration_since(since).as_secs_f64(),
        };
        asking.into_iter().map(show).collect()
    }
}
