//! Pages that stand for "not found" and do not say so: soft 404s.
//!
//! ```text
//! the same page under a few URLs ──> Errand::Probe, a URL that does not exist ──> the same page again
//!                                                                                    │
//!                             pages like it are neither indexed nor followed <───────┘
//! ```
//!
//! Only a host that repeats itself is asked, and only a few times. What was learnt is forgotten with the
//! process: the next one asks once more.

use std::collections::{HashMap, HashSet};

use teia_base::{CanonicalUrl, HostId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The same page so often, and the host is asked.
const ENOUGH: u32 = 3;
/// Pages of a host that are counted, and probes that it is sent.
const MOST_PAGES: usize = 64;
const MOST_PROBES: u32 = 4;
/// Hosts that are watched; then all are forgotten.
const MOST_HOSTS: usize = 20_000;

/// What each host shows again and again.
#[derive(Debug, Default)]
pub(crate) struct SoftMissing {
    hosts: HashMap<HostId, Host>,
}

#[derive(Debug, Default)]
struct Host {
    /// How often each page was met.
    pages: HashMap<u64, u32>,
    probes: u32,
    missing: HashSet<u64>,
}

impl SoftMissing {
    /// Whether this page is what the host shows for anything.
    pub(crate) fn is_missing(&self, host: HostId, page: u64) -> bool {
        self.hosts
            .get(&host)
            .is_some_and(|host| host.missing.contains(&page))
    }

    /// Notes a page; true when the host is to be asked for a URL that does not exist.
    pub(crate) fn note(&mut self, host: HostId, page: u64) -> bool {
        if self.hosts.len() >= MOST_HOSTS && !self.hosts.contains_key(&host) {
            self.hosts.clear();
        }
        let host = self.hosts.entry(host).or_default();
        if host.pages.len() >= MOST_PAGES && !host.pages.contains_key(&page) {
            host.pages.clear();
        }
        let times = host.pages.entry(page).or_default();
        *times += 1;
        let is_time = *times == ENOUGH && host.probes < MOST_PROBES;
        host.probes += u32::from(is_time);
        is_time
    }

    /// The host has shown this page for a URL that does not exist.
    pub(crate) fn learn(&mut self, host: HostId, page: u64) {
        self.hosts.entry(host).or_default().missing.insert(page);
    }
}

/// A URL in the directory of another one that nobody has made.
pub(crate) fn made_up(url: &CanonicalUrl, key: u64) -> String {
    let text = url.as_str();
    let path = text.split(['?', '#']).next().unwrap_or(text);
    let end = path.rfind('/').map_or(path.len(), |at| at + 1);
    let name = xxh3_64_with_seed(path.as_bytes(), key);
    // One word that stands on no page: what a URL says is passed over on its page.
    format!("{}zq{name:016x}", &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_asked_once_for_each_page_that_it_repeats() {
        let mut soft = SoftMissing::default();
        let asked = (0..100).filter(|_| soft.note(HostId(1), 7)).count();
        assert_eq!(asked, 1);
        assert!(!soft.is_missing(HostId(1), 7));
        soft.learn(HostId(1), 7);
        assert!(soft.is_missing(HostId(1), 7) && !soft.is_missing(HostId(2), 7));
        // However many it repeats.
        let asked = (0..1000).filter(|at| soft.note(HostId(3), at / 10)).count();
        assert_eq!(asked, 4);
    }

    #[test]
    fn the_url_lies_in_the_same_directory() {
        let url = CanonicalUrl::parse("http://a.test/shop/list?page=1/2").unwrap();
        let made = made_up(&url, 1);
        assert!(made.starts_with("http://a.test/shop/zq"), "{made}");
        assert_eq!(made, made_up(&url, 1));
        assert_ne!(made, made_up(&url, 2));
    }
}
