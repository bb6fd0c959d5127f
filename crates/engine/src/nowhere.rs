//! Hosts whose name does not exist.
//!
//! One answer of a name server settles all URLs of such a host that are due, without asking for each: nobody would
//! answer, and a name server holds to "there is none" for a minute at least. They have failed in this run, and get
//! another chance in a later one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use teia_base::{HostId, Outcome};

use crate::ring::Ring;

/// After so long the name is asked for again; the resolver itself may remember for longer.
const BELIEVED: Duration = Duration::from_secs(60);
/// Hosts remembered at once; of more, each finds out for itself.
const MOST_HOSTS: usize = 65_536;

/// Since when each host was nowhere to be found.
#[derive(Debug, Default)]
pub(crate) struct Nowhere(HashMap<HostId, Instant>);

impl Nowhere {
    fn note(&mut self, host: HostId, outcome: Outcome, now: Instant) {
        if outcome != Outcome::DNS_NXDOMAIN {
            self.0.remove(&host);
            return;
        }
        if self.0.len() >= MOST_HOSTS {
            self.0.retain(|_, since| is_believed(*since, now));
        }
        if self.0.len() < MOST_HOSTS {
            self.0.insert(host, now);
        }
    }

    fn has(&self, host: HostId, now: Instant) -> bool {
        self.0
            .get(&host)
            .is_some_and(|since| is_believed(*since, now))
    }
}

fn is_believed(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) < BELIEVED
}

impl Ring {
    /// Remembers whether the host was found.
    pub(crate) fn note_nowhere(&mut self, host: HostId, outcome: Outcome) {
        self.nowhere.note(host, outcome, self.clock.now());
    }

    /// Whether its name does not exist, as far as anyone knew a moment ago.
    pub(crate) fn is_nowhere(&self, host: HostId) -> bool {
        self.nowhere.has(host, self.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_missing_until_it_answers_or_a_minute_is_over() {
        let mut nowhere = Nowhere::default();
        let (one, two, start) = (HostId(1), HostId(2), Instant::now());
        nowhere.note(one, Outcome::DNS_NXDOMAIN, start);
        nowhere.note(two, Outcome::DNS_TIMEOUT, start);
        assert!(nowhere.has(one, start) && !nowhere.has(two, start));
        assert!(!nowhere.has(one, start + BELIEVED));
        nowhere.note(one, Outcome::http(200), start);
        assert!(!nowhere.has(one, start));
    }

    #[test]
    fn a_web_of_missing_names_takes_no_more_than_its_part() {
        let mut nowhere = Nowhere::default();
        let start = Instant::now();
        let most = u32::try_from(MOST_HOSTS).unwrap();
        for host in 0..2 * most {
            nowhere.note(HostId(host), Outcome::DNS_NXDOMAIN, start);
        }
        assert_eq!(nowhere.0.len(), MOST_HOSTS);
        nowhere.note(HostId(2 * most), Outcome::DNS_NXDOMAIN, start + BELIEVED);
        assert_eq!(nowhere.0.len(), 1, "the old ones make room");
    }
}
