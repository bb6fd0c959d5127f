//! The frontier beside a model of it: any sequence of calls, at simulated moments.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use teia_base::{HostFacts, HostId, Outcome, Retry};
use teia_frontier::{
    Answer, Frontier, OrderName, PoliteFrontier, Politeness, PolitenessKey, Unhurried, gap,
    retry_wait,
};

const HOSTS: u32 = 9;
const ADDRESSES: u32 = 3;

/// One call. Hosts and leases are picked by number among those there are.
#[derive(Clone, Debug)]
enum Call {
    Pass(u64),
    Wake {
        host: u32,
        due: i64,
    },
    Lease,
    Settle {
        pick: usize,
        latency: u64,
        status: u16,
        retry_after: Option<u64>,
        address: bool,
    },
    Release(usize),
    Hold {
        host: u32,
        wait: u64,
    },
    CrawlDelay {
        host: u32,
        delay: Option<u64>,
    },
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (0_u64..3000).prop_map(Call::Pass),
        6 => (0..HOSTS, -500_i64..4000).prop_map(|(host, due)| Call::Wake { host, due }),
        8 => Just(Call::Lease),
        5 => (
            any::<usize>(),
            0_u64..1500,
            prop_oneof![Just(200_u16), Just(404), Just(503), Just(429), Just(500)],
            proptest::option::of(0_u64..9000),
            any::<bool>(),
        )
            .prop_map(|(pick, latency, status, retry_after, address)| Call::Settle {
                pick,
                latency,
                status,
                retry_after,
                address,
            }),
        2 => any::<usize>().prop_map(Call::Release),
        1 => (0..HOSTS, 0_u64..5000).prop_map(|(host, wait)| Call::Hold { host, wait }),
        1 => (0..HOSTS, proptest::option::of(0_u64..4000))
            .prop_map(|(host, delay)| Call::CrawlDelay { host, delay }),
    ]
}

#[derive(Clone, Debug, Default)]
struct ModelHost {
    due: Option<Instant>,
    leased: bool,
    allowed: Option<Instant>,
    crawl_delay: Option<Duration>,
    failures: u32,
    addresses: BTreeSet<IpAddr>,
    leased_addresses: BTreeSet<IpAddr>,
    last_lease: Option<u64>,
    /// Leases given when it was first seen ready in its present wait.
    ready_since: Option<u64>,
}

impl ModelHost {
    fn ready_at(&self) -> Option<Instant> {
        self.due.map(|due| Some(due).max(self.allowed).unwrap())
    }
}

/// What the frontier must do, in the simplest words.
struct Model {
    politeness: Politeness,
    hosts: Vec<ModelHost>,
    addresses: HashMap<IpAddr, Instant>,
    leases: u64,
    /// Nobody has a second turn before one who was ready for longer has one. Where hosts share some of
    /// their addresses and rest differently, turns come, but not in this order.
    in_turn: bool,
}

impl Model {
    fn address_is_free(&self, host: &ModelHost, now: Instant) -> bool {
        let leased = |address: &IpAddr| {
            let mut hosts = self.hosts.iter();
            hosts.any(|other| other.leased_addresses.contains(address))
        };
        let rests = |address: &IpAddr| {
            self.addresses
                .get(address)
                .is_some_and(|&until| until > now)
        };
        self.politeness.key == PolitenessKey::Host
            || !host
                .addresses
                .iter()
                .any(|address| leased(address) || rests(address))
    }

    fn may_lease(&self, host: &ModelHost, now: Instant) -> bool {
        host.ready_at().is_some_and(|moment| moment <= now) && self.address_is_free(host, now)
    }

    fn check_lease(&mut self, leased: Option<HostId>, now: Instant) {
        let ready: Vec<usize> = (0..self.hosts.len())
            .filter(|&host| self.may_lease(&self.hosts[host], now))
            .collect();
        let Some(host) = leased else {
            assert_eq!(ready, [0; 0], "somebody may be asked, and nobody is");
            return;
        };
        let at = host.0 as usize;
        assert!(
            !self.hosts[at].leased,
            "{host:?} is leased twice at one time"
        );
        assert!(ready.contains(&at), "{host:?} is leased too early");
        for &other in ready.iter().filter(|_| self.in_turn) {
            let since = *self.hosts[other].ready_since.get_or_insert(self.leases);
            assert!(
                other == at || self.hosts[at].last_lease.is_none_or(|last| last < since),
                "{host:?} has a second turn before host {other}, ready for longer, has one"
            );
        }
        let by_address = self.politeness.key == PolitenessKey::Address;
        let host = &mut self.hosts[at];
        host.due = None;
        host.leased = true;
        if by_address {
            host.leased_addresses = host.addresses.clone();
        }
        host.last_lease = Some(self.leases);
        host.ready_since = None;
        self.leases += 1;
    }

    fn settle(&mut self, host: HostId, answer: &Answer) {
        let politeness = &self.politeness;
        let host = &mut self.hosts[host.0 as usize];
        let in_trouble = answer.outcome.retry() == Retry::Host;
        let reached = answer.address.is_some();
        host.failures = if in_trouble && !reached {
            host.failures + 1
        } else {
            0
        };
        let failures = if reached {
            answer.tries.into()
        } else {
            host.failures
        };
        let mut rest = gap(politeness, host.crawl_delay, answer.latency);
        if in_trouble {
            rest = rest
                .max(retry_wait(politeness, failures))
                .max(answer.retry_after.unwrap_or_default());
        }
        let allowed = Some(answer.ended + rest).max(host.allowed);
        host.allowed = allowed;
        for address in host.leased_addresses.iter().copied().chain(answer.address) {
            let known = self
                .addresses
                .entry(address)
                .or_insert_with(|| allowed.unwrap());
            *known = allowed.unwrap().max(*known);
        }
        host.addresses.extend(answer.address);
        host.leased = false;
        host.leased_addresses.clear();
    }

    fn check_counts(&self, frontier: &mut dyn Frontier, now: Instant) {
        let queued = self.hosts.iter().filter(|host| host.due.is_some()).count();
        let leased = self.hosts.iter().filter(|host| host.leased).count();
        assert_eq!((frontier.queued(), frontier.leased()), (queued, leased));
        let earliest = self
            .hosts
            .iter()
            .filter(|host| {
                host.leased_addresses.is_empty() && self.address_is_free(host, now)
                    || self.politeness.key == PolitenessKey::Host
            })
            .filter_map(ModelHost::ready_at)
            .min();
        let told = frontier.next_moment();
        if let Some(earliest) = earliest {
            assert!(
                told.is_some_and(|told| told <= earliest.max(now)),
                "lease will succeed at {earliest:?}, next_moment says {told:?}"
            );
        }
        if self.politeness.key == PolitenessKey::Host {
            // It may not be early either, or the ring's loop would spin.
            assert_eq!(told.map(|told| told.max(now)), earliest.map(|e| e.max(now)));
        }
    }
}

fn facts() -> HostFacts {
    HostFacts {
        waiting: 1,
        fetched: 0,
        last_turn: 0,
        latency_micros: 0,
    }
}

fn address(host: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(
        10,
        0,
        0,
        u8::try_from(host % ADDRESSES).unwrap(),
    ))
}

fn run(calls: &[Call], politeness: &Politeness, order: OrderName) {
    run_located(calls, &[], politeness, order);
}

/// The same, with hosts whose addresses are found out before they are asked.
fn run_located(
    calls: &[Call],
    located: &[BTreeSet<u32>],
    politeness: &Politeness,
    order: OrderName,
) {
    let ms = Duration::from_millis;
    let mut frontier = PoliteFrontier::new(politeness.clone(), order.policy());
    let mut model = Model {
        politeness: politeness.clone(),
        hosts: vec![ModelHost::default(); HOSTS as usize],
        addresses: HashMap::new(),
        leases: 0,
        in_turn: located.is_empty(),
    };
    for ((host, numbers), known) in (0..).zip(located).zip(&mut model.hosts) {
        known.addresses = numbers.iter().map(|number| address(*number)).collect();
        let addresses: Vec<IpAddr> = known.addresses.iter().copied().collect();
        frontier.locate(HostId(host), &addresses);
    }
    let start = Instant::now() + ms(60_000);
    let mut now = start;
    let mut leases: Vec<HostId> = Vec::new();
    for call in calls {
        match call.clone() {
            Call::Pass(time) => now += ms(time),
            Call::Wake { host, due } => {
                let due = if due < 0 {
                    now.checked_sub(ms(due.unsigned_abs())).unwrap()
                } else {
                    now + ms(due.unsigned_abs())
                };
                frontier.wake(HostId(host), facts(), due);
                let host = &mut model.hosts[host as usize];
                if !host.leased {
                    host.due = Some(host.due.map_or(due, |known| known.min(due)));
                }
            }
            Call::Lease => {
                let leased = frontier.lease(now);
                model.check_lease(leased, now);
                leases.extend(leased);
            }
            Call::Settle {
                pick,
                latency,
                status,
                retry_after,
                address: known,
            } => {
                if leases.is_empty() {
                    continue;
                }
                let host = leases.swap_remove(pick % leases.len());
                let answer = Answer {
                    ended: now,
                    latency: ms(latency),
                    outcome: Outcome::http(status),
                    retry_after: retry_after.map(ms),
                    address: known.then(|| address(host.0)),
                    tries: u8::try_from(latency % 5 + 1).unwrap(),
                };
                frontier.settle(host, &answer);
                model.settle(host, &answer);
            }
            Call::Release(pick) => {
                if leases.is_empty() {
                    continue;
                }
                let host = leases.swap_remove(pick % leases.len());
                frontier.release(host);
                let host = &mut model.hosts[host.0 as usize];
                host.leased = false;
                host.leased_addresses.clear();
            }
            Call::Hold { host, wait } => {
                frontier.hold(HostId(host), now + ms(wait));
                let host = &mut model.hosts[host as usize];
                host.allowed = host.allowed.max(Some(now + ms(wait)));
                host.ready_since = None;
            }
            Call::CrawlDelay { host, delay } => {
                frontier.set_crawl_delay(HostId(host), delay.map(ms));
                model.hosts[host as usize].crawl_delay = delay.map(ms);
            }
        }
        model.check_counts(&mut frontier, now);
    }
    drain(&mut frontier, &mut model, leases, now);
}

/// Everybody who was woken has a turn in the end.
fn drain(frontier: &mut PoliteFrontier, model: &mut Model, leases: Vec<HostId>, mut now: Instant) {
    for host in leases {
        frontier.release(host);
        let host = &mut model.hosts[host.0 as usize];
        host.leased = false;
        host.leased_addresses.clear();
    }
    let mut served = 0;
    let woken = model.hosts.iter().filter(|host| host.due.is_some()).count();
    for _ in 0..10_000 {
        while let Some(host) = frontier.lease(now) {
            model.check_lease(Some(host), now);
            served += 1;
            let answer = Answer {
                ended: now,
                latency: Duration::ZERO,
                outcome: Outcome::http(200),
                retry_after: None,
                address: Some(address(host.0)),
                tries: 1,
            };
            frontier.settle(host, &answer);
            model.settle(host, &answer);
        }
        let Some(moment) = frontier.next_moment() else {
            break;
        };
        assert!(moment > now, "the loop would spin");
        now = moment;
    }
    assert_eq!(served, woken, "a host that was woken is never asked");
    assert_eq!((frontier.queued(), frontier.leased()), (0, 0));
}

fn politeness(delay: u64, key: PolitenessKey) -> Politeness {
    Politeness {
        delay: Duration::from_millis(delay),
        key,
        ..Politeness::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hosts_are_asked_one_at_a_time_after_their_gap_in_fair_turns(
        calls in proptest::collection::vec(call(), 1..300),
        delay in prop_oneof![Just(0_u64), Just(1000)],
        order in prop_oneof![Just(OrderName::Breadth), Just(OrderName::Random)],
    ) {
        run(&calls, &politeness(delay, PolitenessKey::Host), order);
    }

    #[test]
    fn hosts_of_one_address_share_its_gap(
        calls in proptest::collection::vec(call(), 1..300),
        delay in prop_oneof![Just(0_u64), Just(1000)],
    ) {
        run(&calls, &politeness(delay, PolitenessKey::Address), OrderName::Breadth);
    }

    #[test]
    fn hosts_that_share_some_of_their_addresses_are_never_asked_at_once(
        calls in proptest::collection::vec(call(), 1..300),
        located in proptest::collection::vec(proptest::collection::btree_set(0..ADDRESSES, 0..3), HOSTS as usize),
        delay in prop_oneof![Just(0_u64), Just(1000)],
    ) {
        run_located(&calls, &located, &politeness(delay, PolitenessKey::Address), OrderName::Breadth);
    }
}

#[test]
fn many_hosts_on_one_address_have_a_turn_each_before_anyone_has_a_second() {
    let hosts = 200_u32;
    let order = OrderName::Breadth.policy();
    let mut frontier = PoliteFrontier::new(politeness(1000, PolitenessKey::Address), order);
    let mut now = Instant::now();
    let mut turns: Vec<HostId> = Vec::new();
    (0..hosts).for_each(|host| frontier.wake(HostId(host), facts(), now));
    while turns.len() < 3 * hosts as usize {
        let Some(host) = frontier.lease(now) else {
            let moment = frontier.next_moment().unwrap();
            assert!(moment > now, "the loop would spin");
            now = moment;
            continue;
        };
        turns.push(host);
        now += Duration::from_millis(30);
        frontier.settle(
            host,
            &Answer {
                ended: now,
                latency: Duration::from_millis(30),
                outcome: Outcome::http(200),
                retry_after: None,
                address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                tries: 1,
            },
        );
        frontier.wake(host, facts(), now);
    }
    for round in turns.chunks(hosts as usize) {
        let mut round = round.to_vec();
        round.sort_unstable();
        round.dedup();
        assert_eq!(round.len(), hosts as usize);
    }
}

#[test]
fn a_retry_after_beyond_the_limit_is_cut() {
    let limits = politeness(1000, PolitenessKey::Host);
    let mut frontier = PoliteFrontier::new(limits.clone(), OrderName::Breadth.policy());
    let now = Instant::now();
    frontier.wake(HostId(0), facts(), now);
    frontier.lease(now).unwrap();
    frontier.settle(
        HostId(0),
        &Answer {
            ended: now,
            latency: Duration::ZERO,
            outcome: Outcome::http(503),
            retry_after: Some(Duration::from_secs(u64::MAX)),
            address: None,
            tries: 1,
        },
    );
    frontier.wake(HostId(0), facts(), now);
    assert_eq!(frontier.next_moment(), Some(now + limits.max_retry_after));
}

#[test]
fn the_unhurried_frontier_waits_for_what_is_not_due_and_leases_nobody_twice() {
    let mut frontier = Unhurried::default();
    let now = Instant::now();
    let second = Duration::from_secs(1);
    frontier.wake(HostId(7), facts(), now + second);
    frontier.wake(HostId(3), facts(), now);
    assert_eq!(frontier.lease(now), Some(HostId(3)));
    frontier.wake(HostId(3), facts(), now);
    assert_eq!(frontier.lease(now), None, "leased already, or not yet due");
    assert_eq!(frontier.next_moment(), Some(now + second));
    frontier.hold(HostId(7), now + 2 * second);
    assert_eq!(frontier.next_moment(), Some(now + 2 * second));
    assert_eq!((frontier.queued(), frontier.leased()), (1, 1));
    frontier.release(HostId(3));
    frontier.wake(HostId(3), facts(), now);
    assert_eq!(frontier.lease(now + second), Some(HostId(3)));
    assert_eq!(frontier.lease(now + 2 * second), Some(HostId(7)));
}
