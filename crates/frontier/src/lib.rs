//! The frontier: which host is asked next, and not before when.
//!
//! ```text
//! wake ──> waiting heap ──────────> ready heap ──> lease ──> (fetch)
//!   ^      (by moment allowed)      (by policy)                │
//!   └────────────────────── settle <───────────────────────────┘
//! ```
//!
//! A host is in one place only: idle, waiting, ready, or leased. That one sentence is the whole
//! politeness guarantee: a leased host is in no heap, so nobody can lease it a second time, and it
//! returns to a heap only with a moment that lies a full gap after its last answer.
//! Which URL of the host goes out is the Repository's answer, in the order of the same policy.

mod load;
mod orders;
mod polite;
mod politeness;

use std::any::Any;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use teia_base::{CanonicalUrl, HostFacts, HostId, Outcome};

pub use load::HostLimit;
pub use orders::{Breadth, Depth, LongestWait, OrderName, Random};
pub use polite::PoliteFrontier;
pub use politeness::{Politeness, PolitenessKey, gap, retry_wait};

/// Hands out hosts, politely. Called by the ring's one loop; never from two threads.
///
/// [`PoliteFrontier`] is the usual one; [`Unhurried`] serves tests and programs that ask a server
/// of their own.
pub trait Frontier: Send + fmt::Debug {
    /// The host has a URL that may go out at `due` or later.
    fn wake(&mut self, host: HostId, facts: HostFacts, due: Instant);
    /// The next host that may be asked now, leased to the caller until `settle` or `release`.
    fn lease(&mut self, now: Instant) -> Option<HostId>;
    /// When `lease` will have something again, if nothing else happens.
    fn next_moment(&mut self) -> Option<Instant>;
    /// The leased host was asked.
    fn settle(&mut self, host: HostId, answer: &Answer);
    /// The leased host was not asked after all; no gap is due.
    fn release(&mut self, host: HostId);
    /// Not before then, whatever else: a host that asked for a pause, or a start after a kill.
    fn hold(&mut self, host: HostId, until: Instant);
    /// What the host's robots.txt asks for.
    fn set_crawl_delay(&mut self, host: HostId, delay: Option<Duration>);
    /// Hosts leased at this moment.
    fn leased(&self) -> usize;
    /// Hosts that wait or are ready.
    fn queued(&self) -> usize;
    /// Extra information that an Analyzer has about a URL, of a type that the two agree on.
    fn inform(&mut self, _url: &CanonicalUrl, _extra: &dyn Any) {}
}

/// What a fetch tells the frontier.
#[derive(Clone, Debug)]
pub struct Answer {
    /// When its last byte came, or when it was given up.
    pub ended: Instant,
    /// From request to first byte.
    pub latency: Duration,
    /// What became of it.
    pub outcome: Outcome,
    /// What the server asked for (`Retry-After`).
    pub retry_after: Option<Duration>,
    /// Who answered.
    pub address: Option<IpAddr>,
}

/// A frontier without gaps: hosts go out in the order in which they were woken, one lease each.
#[derive(Debug, Default)]
pub struct Unhurried {
    queue: std::collections::VecDeque<HostId>,
    leased: usize,
}

impl Frontier for Unhurried {
    fn wake(&mut self, host: HostId, _facts: HostFacts, _due: Instant) {
        if !self.queue.contains(&host) {
            self.queue.push_back(host);
        }
    }

    fn lease(&mut self, _now: Instant) -> Option<HostId> {
        let host = self.queue.pop_front()?;
        self.leased += 1;
        Some(host)
    }

    fn next_moment(&mut self) -> Option<Instant> {
        None
    }

    fn settle(&mut self, _host: HostId, _answer: &Answer) {
        self.leased -= 1;
    }

    fn release(&mut self, _host: HostId) {
        self.leased -= 1;
    }

    fn hold(&mut self, _host: HostId, _until: Instant) {}

    fn set_crawl_delay(&mut self, _host: HostId, _delay: Option<Duration>) {}

    fn leased(&self) -> usize {
        self.leased
    }

    fn queued(&self) -> usize {
        self.queue.len()
    }
}
