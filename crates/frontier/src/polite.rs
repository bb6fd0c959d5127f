//! The usual frontier.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use teia_base::{HostFacts, HostId, Order, Retry};

use crate::politeness::{Politeness, PolitenessKey, back_off, gap};
use crate::{Answer, Frontier};

/// Addresses of one host that are kept apart; a name with more has them for its load.
const MOST_ADDRESSES: usize = 8;

/// Never two requests at once for a politeness key, never before its gap is over.
#[derive(Debug)]
pub struct PoliteFrontier {
    politeness: Politeness,
    /// Of hosts that have their own.
    own: HashMap<HostId, Politeness>,
    order: Arc<dyn Order>,
    hosts: Vec<HostSlot>,
    /// By moment; at one moment, the host whose last turn is longest ago comes first.
    waiting: BinaryHeap<Reverse<(Instant, u64, u32, u32)>>,
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
    /// Who may answer for it, as far as that counts; a few at most.
    addresses: Vec<IpAddr>,
    /// Had its turn among the blocked; where another takes the address first, it is not the last again.
    sent: bool,
    last_turn: u64,
    facts: HostFacts,
}

/// An address that answers for some hosts. While it is free, at most one of the blocked hosts has
/// been sent to wait for it: the others stay here, so that a turn costs the same however many
/// they are.
#[derive(Debug, Default)]
struct AddressSlot {
    leased: bool,
    allowed: Option<Instant>,
    blocked: VecDeque<HostId>,
}

impl PoliteFrontier {
    /// A frontier with no hosts yet.
    pub fn new(politeness: Politeness, order: Arc<dyn Order>) -> Self {
        Self {
            politeness,
            own: HashMap::new(),
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
                addresses: Vec::new(),
                sent: false,
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
        let (last_turn, entry) = (slot.last_turn, slot.entry);
        self.queued += usize::from(!was_queued);
        self.waiting
            .push(Reverse((moment, last_turn, host.0, entry)));
    }

    /// Moves hosts whose moment has come from the waiting heap to the ready one.
    fn ripen(&mut self, now: Instant) {
        while let Some(Reverse((moment, _, host, entry))) = self.waiting.peek().copied() {
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

    /// Whether every address that may answer for the host is free now; if not, the host waits.
    fn addresses_are_free(&mut self, host: HostId, now: Instant) -> bool {
        let addresses = self.slot(host).addresses.clone();
        let slots = &mut self.addresses;
        let busy = addresses
            .iter()
            .find(|address| slots.get(address).is_some_and(|slot| slot.leased));
        if let Some(busy) = busy {
            let busy = *busy;
            let slot = self.slot(host);
            slot.place = Place::Blocked;
            let was_sent = std::mem::take(&mut slot.sent);
            let blocked = &mut self.addresses.entry(busy).or_default().blocked;
            if was_sent {
                blocked.push_front(host);
            } else {
                blocked.push_back(host);
            }
            // Those that wait for its other addresses may have waited for this host.
            for address in addresses.iter().filter(|address| **address != busy) {
                self.send_next(*address);
            }
            return false;
        }
        let allowed = addresses
            .iter()
            .filter_map(|address| self.addresses.get(address)?.allowed)
            .max();
        match allowed {
            Some(allowed) if allowed > now => {
                self.put_waiting(host, allowed);
                // Those of its addresses that are free sooner are for others meanwhile.
                for address in addresses {
                    let until = self.addresses.get(&address).and_then(|slot| slot.allowed);
                    if until < Some(allowed) {
                        self.send_next(address);
                    }
                }
                false
            }
            _ => true,
        }
    }

    fn lease_addresses(&mut self, host: HostId) {
        for address in self.slot(host).addresses.clone() {
            self.addresses.entry(address).or_default().leased = true;
        }
    }

    /// The host has been asked, or not after all; its addresses may be asked again at that moment.
    fn free_addresses(&mut self, host: HostId, allowed: Option<Instant>) {
        for address in self.slot(host).addresses.clone() {
            let slot = self.addresses.entry(address).or_default();
            slot.leased = false;
            slot.allowed = slot.allowed.max(allowed);
            self.send_next(address);
        }
    }

    /// Another address than those that were known answered for the host.
    fn learn_address(&mut self, host: HostId, address: IpAddr, allowed: Instant) {
        if self.politeness.key != PolitenessKey::Address {
            return;
        }
        let slot = self.addresses.entry(address).or_default();
        slot.allowed = slot.allowed.max(Some(allowed));
        let known = &mut self.slot(host).addresses;
        if !known.contains(&address) {
            known.insert(0, address);
            known.truncate(MOST_ADDRESSES);
        }
    }

    /// Sends one of the hosts that an address blocks to wait for it, if it is free.
    fn send_next(&mut self, address: IpAddr) {
        loop {
            let Some(slot) = self.addresses.get_mut(&address).filter(|slot| !slot.leased) else {
                return;
            };
            let allowed = slot.allowed;
            let Some(host) = slot.blocked.pop_front() else {
                return;
            };
            let slot = self.slot(host);
            if slot.place != Place::Blocked {
                continue;
            }
            // A host may have been told to rest while it was blocked: then the next one goes as well.
            let was_told = slot.allowed > slot.moment;
            let own = slot.moment.max(slot.allowed);
            let Some(moment) = own.max(allowed) else {
                continue;
            };
            slot.sent = true;
            self.put_waiting(host, moment);
            if !was_told || own <= allowed {
                return;
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
        loop {
            // One host that finds its address taken may free the way for another.
            self.ripen(now);
            let Reverse((_, _, host, entry)) = self.ready.pop()?;
            let host = HostId(host);
            let slot = self.slot(host);
            if slot.place != Place::Ready || slot.entry != entry {
                continue;
            }
            if !self.addresses_are_free(host, now) {
                continue;
            }
            let turn = self.turns;
            self.turns += 1;
            self.lease_addresses(host);
            let slot = self.slot(host);
            slot.place = Place::Leased;
            slot.sent = false;
            slot.last_turn = turn;
            self.leased += 1;
            self.queued -= 1;
            return Some(host);
        }
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
            let Reverse((moment, _, host, entry)) = self.waiting.peek().copied()?;
            let slot = self.slot(HostId(host));
            if slot.place == Place::Waiting && slot.entry == entry {
                return Some(moment);
            }
            self.waiting.pop();
        }
    }

    fn settle(&mut self, host: HostId, answer: &Answer) {
        let politeness = self.own.get(&host).unwrap_or(&self.politeness).clone();
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
        // A hold that came while the host was leased stands.
        let allowed = slot
            .allowed
            .map_or(answer.ended + rest, |held| held.max(answer.ended + rest));
        slot.allowed = Some(allowed);
        slot.moment = None;
        self.leased -= 1;
        self.free_addresses(host, Some(allowed));
        if let Some(address) = answer.address {
            self.learn_address(host, address, allowed);
        }
    }

    fn release(&mut self, host: HostId) {
        let slot = self.slot(host);
        debug_assert_eq!(slot.place, Place::Leased, "only a leased host is released");
        slot.place = Place::Idle;
        slot.moment = None;
        self.leased -= 1;
        self.free_addresses(host, None);
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
            // It may have been the one sent to wait for its address; another one goes instead.
            for address in self.slot(host).addresses.clone() {
                self.send_next(address);
            }
        }
    }

    fn set_crawl_delay(&mut self, host: HostId, delay: Option<Duration>) {
        self.slot(host).crawl_delay = delay;
    }

    fn locate(&mut self, host: HostId, addresses: &[IpAddr]) {
        // Of a leased host the addresses are those that the lease holds.
        if self.politeness.key == PolitenessKey::Address && self.slot(host).place != Place::Leased {
            self.slot(host).addresses = addresses.iter().copied().take(MOST_ADDRESSES).collect();
        }
    }

    fn set_politeness(&mut self, politeness: Politeness) {
        self.politeness = Politeness {
            key: self.politeness.key,
            ..politeness
        };
    }

    fn set_host_politeness(&mut self, host: HostId, politeness: Option<Politeness>) {
        match politeness {
            Some(politeness) => self.own.insert(host, politeness),
            None => self.own.remove(&host),
        };
    }

    fn allowed(&self, host: HostId) -> Option<Instant> {
        self.hosts.get(host.0 as usize)?.allowed
    }

    fn leased(&self) -> usize {
        self.leased
    }

    fn queued(&self) -> usize {
        self.queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Breadth;
    use teia_base::Outcome;

    const FACTS: HostFacts = HostFacts {
        waiting: 1,
        fetched: 0,
        last_turn: 0,
        latency_micros: 0,
    };

    fn frontier(delay: Duration) -> PoliteFrontier {
        let politeness = Politeness {
            delay,
            key: PolitenessKey::Address,
            ..Politeness::default()
        };
        PoliteFrontier::new(politeness, Arc::new(Breadth))
    }

    fn answer(ended: Instant, address: Option<IpAddr>) -> Answer {
        Answer {
            ended,
            latency: Duration::ZERO,
            outcome: Outcome::http(200),
            retry_after: None,
            address,
            tries: 1,
        }
    }

    #[test]
    fn many_names_on_one_address_cost_a_turn_each() {
        const NAMES: u32 = 5000;
        let mut frontier = frontier(Duration::from_millis(1));
        let address: IpAddr = [192, 0, 2, 1].into();
        let mut now = Instant::now();
        for host in (0..NAMES).map(HostId) {
            frontier.locate(host, &[address]);
            frontier.wake(host, FACTS, now);
        }
        let mut asked = std::collections::HashSet::new();
        while let Some(moment) = frontier.next_moment() {
            now = now.max(moment);
            let Some(host) = frontier.lease(now) else {
                continue;
            };
            assert_eq!(frontier.lease(now), None, "two at once on one address");
            assert!(asked.insert(host));
            frontier.settle(host, &answer(now, Some(address)));
        }
        assert_eq!(asked.len(), NAMES as usize);
        // How often any of them was put into the heap: a few times each, not once for each other.
        let moves: u64 = frontier
            .hosts
            .iter()
            .map(|slot| u64::from(slot.entry))
            .sum();
        assert!(moves <= 4 * u64::from(NAMES), "{moves} moves");
    }

    /// However often they are woken, told to rest and located again, each waits in one place, once.
    #[test]
    fn dns_17_the_queue_of_an_address_holds_each_name_once() {
        const NAMES: u32 = 5000;
        let mut frontier = frontier(Duration::from_secs(1));
        let address: IpAddr = [192, 0, 2, 1].into();
        let now = Instant::now();
        for host in (0..NAMES).map(HostId) {
            frontier.locate(host, &[address]);
            frontier.wake(host, FACTS, now);
        }
        let first = frontier.lease(now).unwrap();
        for _ in 0..20 {
            assert_eq!(frontier.lease(now), None, "two at once on one address");
            for host in (0..NAMES).map(HostId) {
                frontier.wake(host, FACTS, now);
                frontier.hold(host, now + Duration::from_millis(10));
            }
        }
        let names = NAMES as usize;
        assert_eq!(frontier.addresses[&address].blocked.len(), names - 1);
        assert_eq!((frontier.queued(), frontier.leased()), (names - 1, 1));
        assert!(frontier.waiting.len() + frontier.ready.len() <= names);
        assert_eq!(frontier.addresses.len(), 1);
        frontier.settle(first, &answer(now, Some(address)));
        assert_eq!(
            frontier.lease(now),
            None,
            "before the gap of the address is over"
        );
        assert!(frontier.lease(now + Duration::from_secs(1)).is_some());
    }

    #[test]
    fn a_host_with_two_addresses_keeps_both_and_holds_up_neither() {
        let mut frontier = frontier(Duration::ZERO);
        let (one, two): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let now = Instant::now();
        let [a, b, both] = [0, 1, 2].map(HostId);
        frontier.locate(a, &[one]);
        frontier.locate(b, &[two]);
        frontier.locate(both, &[one, two]);
        for host in [a, b, both] {
            frontier.wake(host, FACTS, now);
        }
        let mut left = vec![a, b, both];
        while !left.is_empty() {
            let mut out = Vec::new();
            while let Some(host) = frontier.lease(now) {
                out.push(host);
            }
            assert!(!out.is_empty(), "{left:?} are never asked");
            assert!(!out.contains(&both) || out.len() == 1, "{out:?} at once");
            for host in out {
                frontier.settle(host, &answer(now, None));
                left.retain(|other| *other != host);
            }
        }
    }

    #[test]
    fn a_host_that_was_told_to_rest_does_not_hold_up_those_behind_it() {
        let mut frontier = frontier(Duration::ZERO);
        let address: IpAddr = [192, 0, 2, 1].into();
        let now = Instant::now();
        for host in (0..3).map(HostId) {
            frontier.locate(host, &[address]);
            frontier.wake(host, FACTS, now);
        }
        let first = frontier.lease(now).unwrap();
        assert_eq!(frontier.lease(now), None);
        let resting = HostId(1 - first.0.min(1));
        frontier.hold(resting, now + Duration::from_secs(3600));
        frontier.settle(first, &answer(now, None));
        let next = frontier.lease(now).unwrap();
        assert!(next != resting && next != first);
    }
}
