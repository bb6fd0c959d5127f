//! Idle connections, kept for their host's next request.
//!
//! Bounded three ways: all together (the one unused for longest goes first), for each host, and
//! in time. Who takes a connection owns it until he puts it back.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// Whom a connection talks to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PoolKey {
    pub(crate) tls: bool,
    pub(crate) host: Box<str>,
    pub(crate) port: u16,
    /// Under which settings it was opened: others may trust less.
    pub(crate) manner: u32,
}

/// The idle connections of a fetcher.
pub(crate) struct Pool<C> {
    bounds: PoolBounds,
    shelf: Mutex<Shelf<C>>,
}

/// How many connections rest, and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolBounds {
    pub(crate) all: usize,
    pub(crate) per_host: usize,
    pub(crate) age: Duration,
}

struct Shelf<C> {
    /// Oldest last; few for each host, so a plain list.
    by_host: HashMap<PoolKey, Vec<Idle<C>>>,
    /// Every idle connection once, oldest first.
    order: BTreeMap<u64, (Instant, PoolKey)>,
    next: u64,
}

struct Idle<C> {
    ticket: u64,
    connection: C,
}

impl<C> Pool<C> {
    pub(crate) fn new(bounds: PoolBounds) -> Self {
        Self {
            bounds,
            shelf: Mutex::new(Shelf {
                by_host: HashMap::new(),
                order: BTreeMap::new(),
                next: 0,
            }),
        }
    }

    /// The connection to this host that rested least, if one is young enough.
    pub(crate) fn take(&self, key: &PoolKey) -> Option<C> {
        let (taken, _old) = {
            let mut shelf = self.shelf.lock().expect("no holder panics");
            let old = shelf.sweep(Instant::now(), self.bounds.age);
            (shelf.take(key), old)
        };
        taken
    }

    /// Puts a connection to rest; one too many is closed.
    pub(crate) fn put(&self, key: PoolKey, connection: C) {
        if self.bounds.all == 0 || self.bounds.per_host == 0 {
            return;
        }
        let now = Instant::now();
        // Closing happens when these are dropped, after the lock is free again.
        let (_old, _surplus) = {
            let mut shelf = self.shelf.lock().expect("no holder panics");
            let mut old = shelf.sweep(now, self.bounds.age);
            while shelf.order.len() >= self.bounds.all {
                old.extend(shelf.evict());
            }
            (old, shelf.put(key, connection, now, self.bounds.per_host))
        };
    }

    /// How many rest here.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.shelf.lock().expect("no holder panics").order.len()
    }
}

impl<C> Shelf<C> {
    fn take(&mut self, key: &PoolKey) -> Option<C> {
        let list = self.by_host.get_mut(key)?;
        let idle = list.pop();
        if list.is_empty() {
            self.by_host.remove(key);
        }
        let idle = idle?;
        self.order.remove(&idle.ticket);
        Some(idle.connection)
    }

    fn put(&mut self, key: PoolKey, connection: C, now: Instant, per_host: usize) -> Option<C> {
        let ticket = self.next;
        self.next += 1;
        let list = self.by_host.entry(key.clone()).or_default();
        let surplus = (list.len() >= per_host).then(|| list.remove(0));
        list.push(Idle { ticket, connection });
        self.order.insert(ticket, (now, key));
        surplus.map(|idle| {
            self.order.remove(&idle.ticket);
            idle.connection
        })
    }

    fn sweep(&mut self, now: Instant, age: Duration) -> Vec<C> {
        let mut old = Vec::new();
        while let Some(entry) = self.order.first_entry()
            && now.saturating_duration_since(entry.get().0) >= age
        {
            old.extend(self.evict());
        }
        old
    }

    fn evict(&mut self) -> Option<C> {
        let (ticket, (_, key)) = self.order.pop_first()?;
        let list = self.by_host.get_mut(&key)?;
        let at = list.iter().position(|idle| idle.ticket == ticket)?;
        let idle = list.remove(at);
        if list.is_empty() {
            self.by_host.remove(&key);
        }
        Some(idle.connection)
    }
}

impl<C> fmt::Debug for Pool<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(port: u16) -> PoolKey {
        PoolKey {
            tls: false,
            host: "a.example".into(),
            port,
            manner: 0,
        }
    }

    fn pool(all: usize, per_host: usize, age: Duration) -> Pool<u32> {
        Pool::new(PoolBounds { all, per_host, age })
    }

    #[test]
    fn a_connection_serves_its_own_host_once() {
        let pool = pool(10, 1, Duration::from_secs(60));
        pool.put(key(1), 7);
        assert_eq!(pool.take(&key(2)), None);
        assert_eq!(pool.take(&key(1)), Some(7));
        assert_eq!(pool.take(&key(1)), None);
        assert_eq!(pool.len(), 0);
    }

    #[test]
    fn the_one_unused_for_longest_goes_first() {
        let pool = pool(2, 1, Duration::from_secs(60));
        for port in 1..=3 {
            pool.put(key(port), u32::from(port));
        }
        assert_eq!(pool.len(), 2);
        assert_eq!(pool.take(&key(1)), None);
        assert_eq!(pool.take(&key(3)), Some(3));
    }

    #[test]
    fn a_host_keeps_its_newest_and_nothing_grows_old() {
        let bounded = pool(10, 1, Duration::from_secs(60));
        bounded.put(key(1), 1);
        bounded.put(key(1), 2);
        assert_eq!((bounded.len(), bounded.take(&key(1))), (1, Some(2)));
        let forgetful = pool(10, 1, Duration::ZERO);
        forgetful.put(key(1), 1);
        assert_eq!(forgetful.take(&key(1)), None);
    }
}
