//! The usual frontier.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use teia_base::{HostFacts, HostId, Order, Retry};

use crate::politeness::{Politeness, PolitenessKey, back_off, gap};
use crate::{Answer, Frontier};

/// Never two requests at once for a politeness key, never before its gap is over.
#[derive(Debug)]
pub struct PoliteFrontier {
    politeness: Politeness,
    order: Arc<dyn Order>,
    hosts: Vec<HostSlot>,
    waiting: BinaryHeap<Reverse<(Instant, u32, u32)>>,
    ready: BinaryHeap<Reverse<(u64, u64, u32, u32)>>,
    addresses: HashMap<IpAddr, AddressSlot>,
    leased: usize,
    queued: usize,
    turns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Idle,
    Waiting,
    Ready,
    /// Ready, but its address is leased by another host.
    Blocked,
    Leased,
}

impl Place {
    fn is_queued(self) -> bool {
        matches!(self, Self::Waiting | Self::Ready | Self::Blocked)
    }
}

#[derive(Debug)]
struct HostSlot {
    place: Place,
    /// Heap entries with another number are stale.
    entry: u32,
    failures: u32,
    moment: Option<Instant>,
    allowed: Option<Instant>,
    crawl_delay: Option<Duration>,
    address: Option<IpAddr>,
    last_turn: u64,
    facts: HostFacts,
}

#[derive(Debug, Default)]
struct AddressSlot {
    leased: bool,
    allowed: Option<Instant>,
    blocked: Vec<HostId>,
}

impl PoliteFrontier {
    /// A frontier with no hosts yet.
    pub fn new(politeness: Politeness, order: Arc<dyn Order>) -> Self {
        Self {
            politeness,
            order,
            hosts: Vec::new(),
            waiting: BinaryHeap::new(),
            ready: BinaryHeap::new(),
            addresses: HashMap::new(),
            leased: 0,
            queued: 0,
            turns: 0,
        }
    }

    fn slot(&mut self, host: HostId) -> &mut HostSlot {
        let at = host.0 as usize;
        while self.hosts.len() <= at {
            self.hosts.push(HostSlot {
                place: Place::Idle,
                entry: 0,
                failures: 0,
                moment: None,
                allowed: None,
                crawl_delay: None,
                address: None,
                last_turn: 0,
                facts: HostFacts {
                    waiting: 0,
                    fetched: 0,
                    last_turn: 0,
                    latency_micros: 0,
                },
            });
        }
        &mut self.hosts[at]
    }

    fn put_waiting(&mut self, host: HostId, moment: Instant) {
        let slot = self.slot(host);
        let was_queued = slot.place.is_queued();
        slot.place = Place::Waiting;
        slot.moment = Some(moment);
        slot.entry = slot.entry.wrapping_add(1);
        let entry = slot.entry;
        self.queued += usize::from(!was_queued);
        self.waiting.push(Reverse((moment, host.0, entry)));
    }

    /// Moves hosts whose moment has come from the waiting heap to the ready one.
    fn ripen(&mut self, now: Instant) {
        while let Some(Reverse((moment, host, entry))) = self.waiting.peek().copied() {
            if moment > now {
                break;
            }
            self.waiting.pop();
            let turns = self.turns;
            let order = Arc::clone(&self.order);
            let slot = self.slot(HostId(host));
            if slot.place != Place::Waiting || slot.entry != entry {
                continue;
            }
            slot.place = Place::Ready;
            let facts = HostFacts {
                last_turn: slot.last_turn,
                ..slot.facts
            };
            let key = order.host_key(&facts);
            self.turns = turns + 1;
            self.ready.push(Reverse((key, turns, host, entry)));
        }
    }

    /// Whether the address that answers for the host is free now; if not, the host waits for it.
    fn address_is_free(&mut self, host: HostId, now: Instant) -> bool {
        let Some(address) = self.by_address(host) else {
            return true;
        };
        let slot = self.addresses.entry(address).or_default();
        if slot.leased {
            slot.blocked.push(host);
            self.slot(host).place = Place::Blocked;
            return false;
        }
        match slot.allowed {
            Some(allowed) if allowed > now => {
                self.put_waiting(host, allowed);
                false
            }
            _ => true,
        }
    }

    fn by_address(&self, host: HostId) -> Option<IpAddr> {
        (self.politeness.key == PolitenessKey::Address)
            .then(|| {
                self.hosts
                    .get(host.0 as usize)
                    .and_then(|slot| slot.address)
            })
            .flatten()
    }

    fn free_address(&mut self, address: Option<IpAddr>, allowed: Option<Instant>) {
        let Some(address) = address else { return };
        let slot = self.addresses.entry(address).or_default();
        slot.leased = false;
        slot.allowed = slot.allowed.max(allowed);
        let blocked = std::mem::take(&mut slot.blocked);
        for host in blocked {
            let slot = self.slot(host);
            // A host may have been told to rest while it was blocked.
            let moment = slot.moment.max(slot.allowed).max(allowed);
            if let (Place::Blocked, Some(moment)) = (slot.place, moment) {
                self.put_waiting(host, moment);
            }
        }
    }
}

impl Frontier for PoliteFrontier {
    fn wake(&mut self, host: HostId, facts: HostFacts, due: Instant) {
        let slot = self.slot(host);
        slot.facts = facts;
        let moment = slot.allowed.map_or(due, |allowed| allowed.max(due));
        let better = match slot.place {
            Place::Leased | Place::Ready | Place::Blocked => false,
            Place::Idle => true,
            Place::Waiting => slot.moment.is_none_or(|old| moment < old),
        };
        if better {
            self.put_waiting(host, moment);
        }
    }

    fn lease(&mut self, now: Instant) -> Option<HostId> {
        self.ripen(now);
        while let Some(Reverse((_, _, host, entry))) = self.ready.pop() {
            let host = HostId(host);
            let slot = self.slot(host);
            if slot.place != Place::Ready || slot.entry != entry {
                continue;
            }
            if !self.address_is_free(host, now) {
                continue;
            }
            let turn = self.turns;
            self.turns += 1;
            if let Some(address) = self.by_address(host) {
                self.addresses.entry(address).or_default().leased = true;
            }
            let slot = self.slot(host);
            slot.place = Place::Leased;
            slot.last_turn = turn;
            self.leased += 1;
            self.queued -= 1;
            return Some(host);
        }
        None
    }

    fn next_moment(&mut self) -> Option<Instant> {
        while let Some(Reverse((_, _, host, entry))) = self.ready.peek().copied() {
            let slot = self.slot(HostId(host));
            if slot.place == Place::Ready && slot.entry == entry {
                return slot.moment;
            }
            self.ready.pop();
        }
        loop {
            let Reverse((moment, host, entry)) = self.waiting.peek().copied()?;
            let slot = self.slot(HostId(host));
            if slot.place == Place::Waiting && slot.entry == entry {
                return Some(moment);
            }
            self.waiting.pop();
        }
    }

    fn settle(&mut self, host: HostId, answer: &Answer) {
        let politeness = self.politeness.clone();
        let leased_address = self.by_address(host);
        let slot = self.slot(host);
        debug_assert_eq!(slot.place, Place::Leased, "only a leased host is settled");
        slot.place = Place::Idle;
        // A host that cannot be reached rests longer with each failure in a row. One that answers,
        // if only to complain, rests as long as this URL has failed: its other pages may be well.
        let reached = answer.address.is_some();
        slot.failures = match answer.outcome.retry() {
            Retry::Host if !reached => slot.failures.saturating_add(1),
            _ => 0,
        };
        let failures = if reached {
            answer.tries.into()
        } else {
            slot.failures
        };
        let rest = gap(&politeness, slot.crawl_delay, answer.latency).max(back_off(
            &politeness,
            answer.outcome,
            failures,
            answer.retry_after,
        ));
        slot.address = answer.address.or(slot.address);
        // A hold that came while the host was leased stands.
        let allowed = slot
            .allowed
            .map_or(answer.ended + rest, |held| held.max(answer.ended + rest));
        slot.allowed = Some(allowed);
        slot.moment = None;
        self.leased -= 1;
        self.free_address(leased_address, Some(allowed));
        if politeness.key == PolitenessKey::Address
            && let Some(address) = answer.address
        {
            let slot = self.addresses.entry(address).or_default();
            slot.allowed = slot.allowed.max(Some(allowed));
        }
    }

    fn release(&mut self, host: HostId) {
        let address = self.by_address(host);
        let slot = self.slot(host);
        debug_assert_eq!(slot.place, Place::Leased, "only a leased host is released");
        slot.place = Place::Idle;
        slot.moment = None;
        self.leased -= 1;
        let allowed = slot_allowed(self, address);
        self.free_address(address, allowed);
    }

    fn hold(&mut self, host: HostId, until: Instant) {
        let slot = self.slot(host);
        slot.allowed = slot.allowed.max(Some(until));
        // What was not due before then is still not.
        let moment = slot.moment.max(slot.allowed);
        if let (Place::Waiting | Place::Ready, Some(moment)) = (slot.place, moment)
            && slot.moment != Some(moment)
        {
            self.put_waiting(host, moment);
        }
    }

    fn set_crawl_delay(&mut self, host: HostId, delay: Option<Duration>) {
        self.slot(host).crawl_delay = delay;
    }

    fn leased(&self) -> usize {
        self.leased
    }

    fn queued(&self) -> usize {
        self.queued
    }
}

fn slot_allowed(frontier: &PoliteFrontier, address: Option<IpAddr>) -> Option<Instant> {
    address
        .and_then(|address| frontier.addresses.get(&address))
        .and_then(|slot| slot.allowed)
}
