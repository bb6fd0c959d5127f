//! Company: what runs of one process share, and how a run minds the others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use teia_base::journal::HostUpdate;
use teia_base::{Files, HostId};
use teia_frontier::{Courtesy, Guest, Key, Turn};

use crate::control::Control;
use crate::directory::Layout;
use crate::ring::Ring;
use crate::shares::Shares;
use crate::webhook::Book;

/// Copies of robots.txt that are shared, at most.
const COPIES: usize = 10_000;

/// What all runs of a process share: the gap of each host, the requests at once, the processor, copies of robots.txt.
#[derive(Debug)]
pub struct Company {
    courtesy: Arc<Courtesy>,
    shares: Arc<Shares>,
    robots: Mutex<HashMap<String, Vec<u8>>>,
    deliveries: Mutex<HashMap<String, Arc<Book>>>,
}

impl Company {
    /// For so many requests at once, over all runs.
    pub fn new(hosts_at_once: usize) -> Arc<Self> {
        Arc::new(Self {
            courtesy: Courtesy::new(hosts_at_once),
            shares: Arc::default(),
            robots: Mutex::default(),
            deliveries: Mutex::default(),
        })
    }

    /// A run takes part, with this weight.
    pub(crate) fn join(self: &Arc<Self>, weight: u32, control: &Control) -> Companion {
        let control = control.clone();
        Companion {
            guest: self
                .courtesy
                .join(weight, Arc::new(move || control.nudge())),
            company: Arc::clone(self),
            parked: HashMap::new(),
            addresses: HashMap::new(),
            taken: HashMap::new(),
            try_again: None,
        }
    }

    /// Who reads pages next.
    pub(crate) fn shares(&self) -> &Arc<Shares> {
        &self.shares
    }

    /// The deliveries of a collection: those of its last run may still be under way.
    pub(crate) fn deliveries(&self, files: &Arc<dyn Files>, layout: &Layout) -> Arc<Book> {
        let mut books = self
            .deliveries
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let book = books
            .entry(layout.name().to_owned())
            .or_insert_with(|| Arc::new(Book::open(files, layout)));
        // A collection that was removed and made anew has none.
        if !book.is_busy() {
            *book = Arc::new(Book::open(files, layout));
        }
        Arc::clone(book)
    }

    fn keep_robots(&self, origin: &str, stored: &[u8]) {
        let mut robots = self.robots.lock().unwrap_or_else(PoisonError::into_inner);
        if robots.len() < COPIES || robots.contains_key(origin) {
            robots.insert(origin.to_owned(), stored.to_vec());
        }
    }

    fn robots(&self, origin: &str) -> Option<Vec<u8>> {
        let robots = self.robots.lock().unwrap_or_else(PoisonError::into_inner);
        robots.get(origin).cloned()
    }
}

/// A run among others.
#[derive(Debug)]
pub(crate) struct Companion {
    guest: Guest,
    company: Arc<Company>,
    /// Hosts that another run asks now.
    parked: HashMap<Key, Vec<HostId>>,
    /// Where addresses count.
    addresses: HashMap<HostId, Vec<IpAddr>>,
    /// What is taken for each host that is asked.
    taken: HashMap<HostId, Vec<Key>>,
    /// No place was free; to be tried again then.
    try_again: Option<Instant>,
}

impl Ring {
    /// A place among all requests of the process. Without company there is always one.
    pub(crate) fn enter(&mut self) -> bool {
        let now = self.clock.now();
        // Who has nothing to ask for takes no place.
        let is_due = |ring: &mut Self| ring.frontier.next_moment().is_some_and(|at| at <= now);
        if self.company.is_none() {
            return true;
        }
        if !is_due(self) {
            return false;
        }
        let Some(company) = &mut self.company else {
            return true;
        };
        let enters = company.guest.enter(now);
        company.try_again = (!enters).then(|| now + Guest::PATIENCE);
        enters
    }

    /// The place was not used.
    pub(crate) fn leave(&mut self) {
        if let Some(company) = &mut self.company {
            company.guest.leave(false);
        }
    }

    /// When a place is to be asked for again, where there was none.
    pub(crate) fn place_by(&self, moment: Instant) -> Instant {
        let company = self.company.as_ref();
        let again = company.and_then(|company| company.try_again);
        again.map_or(moment, |again| moment.max(again))
    }

    /// Whether hosts wait until another run is done with them.
    pub(crate) fn has_parked(&self) -> bool {
        self.company
            .as_ref()
            .is_some_and(|company| !company.parked.is_empty())
    }

    /// Takes a leased host for this run alone; if that cannot be now, the lease is given back.
    pub(crate) fn take_host(&mut self, host: HostId) -> bool {
        let gap = self.settings(host).politeness.delay;
        let Some(company) = &mut self.company else {
            return true;
        };
        let mut keys = vec![Key::Host(self.repository.host_name(host).into())];
        let addresses = company.addresses.get(&host).into_iter().flatten();
        keys.extend(addresses.map(|address| Key::Address(*address)));
        let now = self.clock.now();
        match company.guest.take(&keys, gap, now) {
            Turn::Now => {
                company.taken.insert(host, keys);
                true
            }
            Turn::Later(moment) => {
                self.frontier.release(host);
                self.frontier.hold(host, moment);
                self.wake(host);
                false
            }
            Turn::Taken => {
                self.frontier.release(host);
                for key in keys {
                    let parked = company.parked.entry(key).or_default();
                    if !parked.contains(&host) {
                        parked.push(host);
                    }
                }
                false
            }
        }
    }

    /// The host is free for all again: from the frontier's moment on if it was asked.
    pub(crate) fn give_back(&mut self, host: HostId, ended: Option<Instant>) {
        let allowed = self.frontier.allowed(host);
        let Some(company) = &mut self.company else {
            return;
        };
        let Some(keys) = company.taken.remove(&host) else {
            return;
        };
        let answered = ended.map(|ended| (ended, allowed.unwrap_or(ended)));
        company.guest.give_back(&keys, answered);
        company.guest.leave(answered.is_some());
    }

    /// Another weight among the others.
    pub(crate) fn weigh(&self, weight: u32) {
        self.jobs.weigh(weight);
        if let Some(company) = &self.company {
            company.guest.set_weight(weight);
        }
    }

    /// Nobody asks the host before then.
    pub(crate) fn hold_for_all(&mut self, host: HostId, until: Instant) {
        self.frontier.hold(host, until);
        if let Some(company) = &mut self.company {
            let key = Key::Host(self.repository.host_name(host).into());
            company.guest.hold(&[key], until);
        }
    }

    /// These addresses may answer for a host.
    pub(crate) fn note_addresses(&mut self, host: HostId, addresses: &[IpAddr]) {
        if let Some(company) = &mut self.company {
            company.addresses.insert(host, addresses.to_vec());
        }
    }

    /// Hosts that others asked may be free by now.
    pub(crate) fn hear_company(&mut self) {
        let Some(company) = &mut self.company else {
            return;
        };
        let mut hosts = Vec::new();
        for key in company.guest.news() {
            hosts.extend(company.parked.remove(&key).unwrap_or_default());
        }
        for host in hosts {
            self.wake(host);
        }
    }

    /// What another run was told by an origin's robots.txt counts here too. Says whether there was
    /// anything.
    pub(crate) fn adopt_robots(&mut self, host: HostId, origin: &str) -> bool {
        let Some(company) = &self.company else {
            return false;
        };
        let Some(stored) = company.company.robots(origin) else {
            return false;
        };
        // Sitemaps are found where robots.txt is fetched.
        let wants_sitemaps = self.settings(host).run.sitemaps;
        let token = self.token_of(host);
        let wall = self.clock.wall();
        let manner = self.manner_of(host, token.as_deref());
        if !self
            .robots
            .adopt(origin, &stored, wall, wants_sitemaps, manner)
        {
            return false;
        }
        self.window.opened.get_or_insert_with(|| self.clock.now());
        self.window.hosts.push(HostUpdate {
            host: self.repository.host_name(host).to_owned(),
            robots: Some((origin.to_owned(), stored)),
            back_off_until: None,
            alias_of: None,
        });
        true
    }

    /// Others may read it too.
    pub(crate) fn share_robots(&self, origin: &str, stored: &[u8]) {
        if let Some(company) = &self.company {
            company.company.keep_robots(origin, stored);
        }
    }
}
