//! Origins whose robots.txt could not be reached while it may have been our own fault.
//!
//! ```text
//! robots.txt cannot be reached, nobody has answered since ──> Wronged ── somebody answers ──> forgotten
//!                                                                │
//!                                                                └── it was us ──> asked for again at once
//! ```
//!
//! A robots.txt that fails makes its whole host wait, longer each time. Where the failures were ours, that wait is taken back,
//! or the run would end before it is over.

use std::collections::HashMap;

use teia_base::journal::HostUpdate;
use teia_base::{HostId, Timestamp};
use teia_repository::UrlRef;

use crate::ring::Ring;

/// Origins remembered at once; of more, each waits as long as it was told to.
const MOST_ORIGINS: usize = 20_000;
/// URLs of one origin that are brought nearer; the others come when their moment does.
const MOST_URLS: usize = 1000;

/// The origins, since the last answer of anybody.
#[derive(Debug, Default)]
pub(crate) struct Wronged {
    since: Option<Timestamp>,
    origins: HashMap<String, Waiting>,
}

/// What waits for one robots.txt.
#[derive(Debug)]
struct Waiting {
    host: HostId,
    urls: Vec<UrlRef>,
}

impl Wronged {
    /// The robots.txt of this origin could not be reached.
    pub(crate) fn note(&mut self, origin: &str, host: HostId, now: Timestamp) {
        self.since.get_or_insert(now);
        if self.origins.len() < MOST_ORIGINS {
            let urls = Vec::new();
            let origin = origin.to_owned();
            self.origins.entry(origin).or_insert(Waiting { host, urls });
        }
    }

    /// This URL of it waits longer for that.
    pub(crate) fn note_url(&mut self, origin: &str, url: UrlRef) {
        if let Some(waiting) = self.origins.get_mut(origin)
            && waiting.urls.len() < MOST_URLS
        {
            waiting.urls.push(url);
        }
    }

    /// Somebody has answered: those that failed are to blame for themselves.
    pub(crate) fn forget(&mut self) {
        self.since = None;
        self.origins.clear();
    }
}

impl Ring {
    /// It was us: every robots.txt that failed since is asked for again at once, and nothing of it counts.
    pub(crate) fn make_amends(&mut self) {
        let wronged = std::mem::take(&mut self.wronged);
        let Some(since) = wronged.since else { return };
        let wall = self.clock.wall();
        for (origin, Waiting { host, urls }) in wronged.origins {
            let record = self.repository.host_record(host);
            let stored = record.and_then(|record| record.robots.get(&origin));
            let token = self.token_of(host);
            let manner = self.manner_of(host, token.as_deref());
            let stored = stored.map(Vec::as_slice);
            if let Some(standing) = self.robots.forgive(&origin, stored, since, manner) {
                self.window.hosts.push(HostUpdate {
                    host: self.repository.host_name(host).to_owned(),
                    robots: Some((origin, standing)),
                    back_off_until: None,
                    alias_of: None,
                });
            }
            for url in urls {
                self.repository.hasten(url, wall);
            }
            self.wake(host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_web_that_is_gone_takes_no_more_than_its_part() {
        let mut wronged = Wronged::default();
        let now = Timestamp::from_micros(1);
        for origin in 0..2 * MOST_ORIGINS {
            wronged.note(&format!("http://h{origin}.test"), HostId(0), now);
        }
        assert_eq!(wronged.origins.len(), MOST_ORIGINS);
        assert_eq!(wronged.since, Some(now));
        wronged.forget();
        assert!(wronged.origins.is_empty() && wronged.since.is_none());
    }
}
