//! How long a host rests: pure functions of what it did.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_base::{Outcome, Retry, measure};

/// How gently hosts are treated. One for the whole process: two collections that visit the same
/// host share its gap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Politeness {
    /// Rest between the end of one answer and the next request to the same host.
    #[serde(with = "measure::duration")]
    pub delay: Duration,
    /// A slow server rests this many times its own latency, up to ten delays; 0 turns it off.
    pub latency_factor: u32,
    /// The longest crawl-delay of a robots.txt that is obeyed.
    #[serde(with = "measure::duration")]
    pub max_crawl_delay: Duration,
    /// The longest `Retry-After` that is obeyed.
    #[serde(with = "measure::duration")]
    pub max_retry_after: Duration,
    /// The wait after a first failure; the next ones wait 5, 25… times as long, up to a day.
    #[serde(with = "measure::duration")]
    pub retry_wait: Duration,
    /// What counts as one host: its name, or its name and its address as well.
    pub key: PolitenessKey,
}

/// What counts as one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolitenessKey {
    /// The host's name.
    #[default]
    Host,
    /// The host's name, and the address that answers for it: names on one machine share its gap.
    Address,
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(1),
            latency_factor: 4,
            max_crawl_delay: Duration::from_secs(60),
            max_retry_after: Duration::from_secs(7 * 86_400),
            retry_wait: Duration::from_secs(1),
            key: PolitenessKey::Host,
        }
    }
}

/// The rest that a host has earned with its last answer.
pub fn gap(politeness: &Politeness, crawl_delay: Option<Duration>, latency: Duration) -> Duration {
    let patience = latency
        .saturating_mul(politeness.latency_factor)
        .min(politeness.delay.saturating_mul(10));
    let asked = crawl_delay
        .unwrap_or_default()
        .min(politeness.max_crawl_delay);
    politeness.delay.max(patience).max(asked)
}

/// How long a host that is in trouble is left alone after its n-th such answer in a row.
pub(crate) fn back_off(
    politeness: &Politeness,
    outcome: Outcome,
    failures: u32,
    retry_after: Option<Duration>,
) -> Duration {
    if outcome.retry() != Retry::Host {
        return Duration::ZERO;
    }
    let asked = retry_after
        .unwrap_or_default()
        .min(politeness.max_retry_after);
    retry_wait(politeness, failures).max(asked)
}

/// 1 s, 5 s, 25 s… after the first, second, third failure; at most a day.
pub fn retry_wait(politeness: &Politeness, failures: u32) -> Duration {
    let steps = failures.saturating_sub(1).min(12);
    politeness
        .retry_wait
        .saturating_mul(5_u32.pow(steps))
        .min(Duration::from_secs(86_400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_is_the_largest_of_three() {
        let politeness = Politeness::default();
        let second = Duration::from_secs(1);
        assert_eq!(gap(&politeness, None, Duration::from_millis(50)), second);
        assert_eq!(gap(&politeness, None, second), 4 * second);
        assert_eq!(gap(&politeness, None, 60 * second), 10 * second);
        assert_eq!(gap(&politeness, Some(7 * second), second), 7 * second);
        assert_eq!(gap(&politeness, Some(700 * second), second), 60 * second);
        let hasty = Politeness {
            delay: Duration::ZERO,
            ..politeness
        };
        assert_eq!(gap(&hasty, None, 60 * second), Duration::ZERO);
    }

    #[test]
    fn retries_wait_1_5_25_seconds() {
        let waits: Vec<u64> = (1..=4)
            .map(|n| retry_wait(&Politeness::default(), n).as_secs())
            .collect();
        assert_eq!(waits, [1, 5, 25, 125]);
        assert_eq!(retry_wait(&Politeness::default(), 90).as_secs(), 86_400);
    }
}
