//! The frontier: which host is asked next, and not before when.
//!
//! ```text
//! wake ──> waiting heap ──────────> ready heap ──> lease ──> (fetch)
//!   ^      (by moment allowed)      (by policy)                │
//!   └────────────────────── settle <───────────────────────────┘
//! ```
//!
//! A host is in one place only: idle, waiting, ready (or blocked, while another host leases one of
//! its addresses), or leased. That one sentence is the whole politeness guarantee: a leased host is in no
//! heap, so nobody can lease it a second time, and it returns to a heap only with a moment that
//! lies a full gap after its last answer.
//! Which URL of the host goes out is the Repository's answer, in the order of the same policy.

mod courtesy;
mod load;
mod orders;
mod polite;
mod politeness;
mod ranked;
mod unhurried;

use std::any::Any;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use teia_base::{CanonicalUrl, HostFacts, HostId, Outcome};

pub use courtesy::{Courtesy, Guest, Key, Turn};
pub use load::HostLimit;
pub use orders::{Breadth, Depth, LongestWait, OrderName, Priority, Random};
pub use polite::PoliteFrontier;
pub use politeness::{Politeness, PolitenessKey, gap, retry_wait};
pub use ranked::Ranked;
pub use unhurried::Unhurried;

/// Hands out hosts, politely. Called by the ring's one loop; never from two threads.
///
/// [`PoliteFrontier`] is the usual one; [`Unhurried`] serves tests and programs that ask a server
/// of their own.
pub trait Frontier: Send + fmt::Debug {
    /// The host has a URL that may go out at `due` or later. Of a leased host this says nothing:
    /// whoever ends the lease wakes it again if it has more.
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
    /// The addresses that may answer for the host, found out before it is asked for the first time;
    /// called only where they count for politeness.
    fn locate(&mut self, _host: HostId, _addresses: &[IpAddr]) {}
    /// Other manners, from the next request on; the key stays.
    fn set_politeness(&mut self, _politeness: Politeness) {}
    /// Manners of its own for a host, or none again; what counts as one host stays.
    fn set_host_politeness(&mut self, _host: HostId, _politeness: Option<Politeness>) {}
    /// From when on the host may be asked, as far as that is known.
    fn allowed(&self, _host: HostId) -> Option<Instant> {
        None
    }
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
    /// Who answered, or at least took the connection; none where the host could not be reached.
    pub address: Option<IpAddr>,
    /// Which try of its URL this was: 1 for the first.
    pub tries: u8,
}
