//! The record: counters always, the request log when it is wanted. Shared by all connections.

use std::collections::HashSet;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::log::{Entry, RequestLog};
use crate::place::Place;

/// Entries kept at most; later requests are only counted.
const MAX_ENTRIES: usize = 4_000_000;
/// Longest wait for answers under way.
const SETTLE_MILLIS: u32 = 250;
/// URLs other than pages counted as distinct at most.
const MAX_OTHERS: usize = 4_000_000;

/// Whether requests are logged one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logging {
    /// Each request has an entry.
    #[default]
    Full,
    /// Only counters, for benchmarks.
    Counters,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests answered or refused.
    pub requests: u64,
    /// Distinct ordinary pages answered with 200.
    pub distinct_pages: u64,
    /// Distinct URLs answered with anything but 404, pages included.
    pub distinct_urls: u64,
    /// Bytes written, heads included.
    pub bytes: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Most connections open at once, over all hosts.
    pub max_open: u32,
    /// Most connections of one host open at once.
    pub max_open_per_host: u32,
}

#[derive(Debug)]
pub(crate) struct Record {
    began: Instant,
    logging: Logging,
    pages_per_host: u32,
    requests: AtomicU64,
    under_way: AtomicU64,
    bytes: AtomicU64,
    connections: AtomicU64,
    open: Gauge,
    open_by_host: Vec<Gauge>,
    /// One bit for each ordinary page.
    pages: Vec<AtomicU64>,
    others: Mutex<HashSet<(u32, Place)>>,
    log: Mutex<RequestLog>,
}

/// A count and the most it ever was.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    now: AtomicU32,
    most: AtomicU32,
}

impl Gauge {
    fn rise(&self) {
        let now = self.now.fetch_add(1, Relaxed) + 1;
        self.most.fetch_max(now, Relaxed);
    }

    fn fall(&self) {
        self.now.fetch_sub(1, Relaxed);
    }
}

impl Record {
    pub(crate) fn new(logging: Logging, hosts: u32, pages_per_host: u32) -> Self {
        let pages = u64::from(hosts) * u64::from(pages_per_host);
        Self {
            began: Instant::now(),
            logging,
            pages_per_host,
            requests: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            open: Gauge::default(),
            open_by_host: (0..hosts).map(|_| Gauge::default()).collect(),
            pages: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            others: Mutex::default(),
            log: Mutex::default(),
        }
    }

    /// Counts a connection as open and gives it a number.
    pub(crate) fn connect(&self) -> u64 {
        self.open.rise();
        self.connections.fetch_add(1, Relaxed)
    }

    pub(crate) fn disconnect(&self, host: Option<u32>) {
        self.open.fall();
        self.leave(host);
    }

    /// Counts a connection as one of this host.
    pub(crate) fn join(&self, host: Option<u32>) {
        if let Some(gauge) = host.and_then(|host| self.open_by_host.get(host as usize)) {
            gauge.rise();
        }
    }

    pub(crate) fn leave(&self, host: Option<u32>) {
        if let Some(gauge) = host.and_then(|host| self.open_by_host.get(host as usize)) {
            gauge.fall();
        }
    }

    /// Notes that a request came; the answer's number is for `end`.
    pub(crate) fn start(&self, entry: impl FnOnce() -> Entry) -> Option<usize> {
        self.under_way.fetch_add(1, Relaxed);
        let sequence = self.requests.fetch_add(1, Relaxed);
        if self.logging == Logging::Counters {
            return None;
        }
        let mut log = lock(&self.log);
        if log.entries.len() >= MAX_ENTRIES {
            log.dropped += 1;
            return None;
        }
        // The clock is read under the lock, so that entries are in the order of their times.
        log.entries.push(Entry {
            sequence,
            start: self.began.elapsed(),
            ..entry()
        });
        Some(log.entries.len() - 1)
    }

    /// Notes that an answer was written, or given up.
    pub(crate) fn end(
        &self,
        number: Option<usize>,
        status: u16,
        bytes: u64,
        sent: Option<Duration>,
    ) {
        self.bytes.fetch_add(bytes, Relaxed);
        if let Some(number) = number {
            let end = Some(sent.unwrap_or_else(|| self.began.elapsed()));
            if let Some(entry) = lock(&self.log).entries.get_mut(number) {
                (entry.end, entry.status, entry.bytes) = (end, status, bytes);
            }
        }
        self.under_way.fetch_sub(1, Release);
    }

    /// The time since the server began.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Notes that a place was served.
    pub(crate) fn serve(&self, host: u32, place: Place) {
        if let Place::Page(page) = place {
            let index = u64::from(host) * u64::from(self.pages_per_host) + u64::from(page);
            if let Some(word) = usize::try_from(index / 64)
                .ok()
                .and_then(|at| self.pages.get(at))
            {
                word.fetch_or(1 << (index % 64), Relaxed);
            }
            return;
        }
        let mut others = lock(&self.others);
        if others.len() < MAX_OTHERS {
            others.insert((host, place));
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        self.settle();
        let distinct_pages = self
            .pages
            .iter()
            .map(|word| u64::from(word.load(Relaxed).count_ones()))
            .sum();
        let per_host = self
            .open_by_host
            .iter()
            .map(|gauge| gauge.most.load(Relaxed))
            .max();
        Counters {
            requests: self.requests.load(Relaxed),
            distinct_pages,
            distinct_urls: distinct_pages + lock(&self.others).len() as u64,
            bytes: self.bytes.load(Relaxed),
            connections: self.connections.load(Relaxed),
            max_open: self.open.most.load(Relaxed),
            max_open_per_host: per_host.unwrap_or(0),
        }
    }

    pub(crate) fn max_open(&self, host: u32) -> u32 {
        self.open_by_host
            .get(host as usize)
            .map_or(0, |gauge| gauge.most.load(Relaxed))
    }

    pub(crate) fn log(&self) -> RequestLog {
        self.settle();
        lock(&self.log).clone()
    }

    /// Waits a short while for answers under way: a client may have one whole before it is noted here.
    fn settle(&self) {
        for _ in 0..SETTLE_MILLIS {
            if self.under_way.load(Acquire) == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn clear_log(&self) {
        let mut log = lock(&self.log);
        // Answers under way would be noted at numbers that are gone; they are rare and harmless.
        *log = RequestLog::default();
    }
}

/// The lock; a thread that died while holding it left whole entries.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
