//! What decides which URL goes first: the facts, and the policy over them.

use std::fmt;

use crate::Timestamp;

/// What is known of a URL when it joins its host's queue.
#[derive(Clone, Copy, Debug)]
pub struct UrlFacts {
    /// Least known hops from a seed.
    pub depth: u16,
    /// 1 for the first URL ever met, then 2, 3…
    pub sequence: u64,
    /// A keyed hash of the URL.
    pub hash: u64,
    /// When it was first met.
    pub first_seen: Timestamp,
    /// Needed by a kept page.
    pub requisite: bool,
    /// What an Analyzer thinks of it; 0 where none spoke.
    pub priority: i32,
}

/// What is known of a host when it may be asked.
#[derive(Clone, Copy, Debug)]
pub struct HostFacts {
    /// URLs that wait on it.
    pub waiting: u32,
    /// URLs fetched from it.
    pub fetched: u32,
    /// How many leases the process had given when this host was last served.
    pub last_turn: u64,
    /// Mean time to the first byte, in microseconds.
    pub latency_micros: u32,
}

/// An order of visits. Called by the Repository when a URL joins its host's queue and by the
/// Frontier when a host may be asked; smaller keys go first, ties in order of arrival.
pub trait Order: Send + Sync + fmt::Debug + 'static {
    /// The place of a URL among those of its host.
    fn url_key(&self, url: &UrlFacts) -> u64;

    /// Another number whenever keys may have changed by themselves: then every waiting URL is put in its
    /// new place. An order that goes by the facts alone never changes.
    fn edition(&self) -> u64 {
        0
    }

    /// The place of a host among those that may be asked now. Fair turns unless overridden.
    fn host_key(&self, host: &HostFacts) -> u64 {
        host.last_turn
    }
}
