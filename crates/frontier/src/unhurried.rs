//! A frontier without gaps.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use teia_base::{HostFacts, HostId};

use crate::{Answer, Frontier};

/// Leaves no gap between two requests: hosts go out in the order in which they are due, one lease
/// each. What is not due yet, or was told to wait, still waits.
#[derive(Debug, Default)]
pub struct Unhurried {
    queue: BTreeSet<(Instant, u64, HostId)>,
    places: HashMap<HostId, (Instant, u64)>,
    holds: HashMap<HostId, Instant>,
    leased: HashSet<HostId>,
    woken: u64,
}

impl Unhurried {
    fn put(&mut self, host: HostId, moment: Instant) {
        if let Some((moment, turn)) = self.places.remove(&host) {
            self.queue.remove(&(moment, turn, host));
        }
        self.woken += 1;
        self.places.insert(host, (moment, self.woken));
        self.queue.insert((moment, self.woken, host));
    }
}

impl Frontier for Unhurried {
    fn wake(&mut self, host: HostId, _facts: HostFacts, due: Instant) {
        let moment = self.holds.get(&host).map_or(due, |&until| until.max(due));
        let is_news = self
            .places
            .get(&host)
            .is_none_or(|&(known, _)| moment < known);
        if is_news && !self.leased.contains(&host) {
            self.put(host, moment);
        }
    }

    fn lease(&mut self, now: Instant) -> Option<HostId> {
        let &(moment, turn, host) = self.queue.first()?;
        if moment > now {
            return None;
        }
        self.queue.remove(&(moment, turn, host));
        self.places.remove(&host);
        self.holds.remove(&host);
        self.leased.insert(host);
        Some(host)
    }

    fn next_moment(&mut self) -> Option<Instant> {
        self.queue.first().map(|&(moment, ..)| moment)
    }

    fn settle(&mut self, host: HostId, _answer: &Answer) {
        self.leased.remove(&host);
    }

    fn release(&mut self, host: HostId) {
        self.leased.remove(&host);
    }

    fn hold(&mut self, host: HostId, until: Instant) {
        let held = self.holds.entry(host).or_insert(until);
        *held = until.max(*held);
        if let Some(&(moment, _)) = self.places.get(&host)
            && moment < until
        {
            self.put(host, until);
        }
    }

    fn set_crawl_delay(&mut self, _host: HostId, _delay: Option<Duration>) {}

    fn leased(&self) -> usize {
        self.leased.len()
    }

    fn queued(&self) -> usize {
        self.queue.len()
    }
}
