//! What is known of one host, and the queue of its URLs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use serde::{Deserialize, Serialize};
use teia_base::Timestamp;

use crate::row::UrlRef;

#[derive(Debug, Default)]
pub(crate) struct HostRow {
    pub(crate) name: Box<str>,
    /// URLs that may be asked now, smallest key first. An entry is stale when its URL is no longer
    /// waiting or has been put in again with a smaller key.
    pub(crate) queue: BinaryHeap<Reverse<((u8, u64), UrlRef)>>,
    /// At this length the queue is looked through for entries whose URL has left memory.
    pub(crate) sweep_at: u32,
    /// The same, of URLs that were visited before, where these share the turns with new ones.
    pub(crate) again: BinaryHeap<Reverse<((u8, u64), UrlRef)>>,
    /// Turns since both had something: of new URLs, and of those visited before.
    pub(crate) turns: (u64, u64),
    /// URLs whose next try lies ahead.
    pub(crate) later: BinaryHeap<Reverse<(Timestamp, UrlRef)>>,
    /// What waits on disk.
    pub(crate) stored: Stored,
    /// The same, of URLs that were visited before, where these share the turns with new ones.
    pub(crate) stored_again: Stored,
    pub(crate) known: u32,
    pub(crate) waiting: u32,
    pub(crate) fetched: u32,
    pub(crate) record: Option<Box<HostRecord>>,
    /// Something was told of it since it was last saved.
    pub(crate) is_changed: bool,
}

/// What of a host waits on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Nothing, as far as is known.
    #[default]
    Nothing,
    /// Perhaps something: to be looked at.
    Perhaps,
    /// Nothing before then.
    Later(Timestamp),
}

/// What is kept of a host between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    /// Attempts made.
    pub attempts: u32,
    /// Mean time to the first byte, in microseconds.
    pub latency_micros: u32,
    /// Attempts in a row that failed for the whole host.
    pub failures: u32,
    /// Not to be asked before then.
    pub back_off_until: Option<Timestamp>,
    /// The last attempt.
    pub last_attempt: Option<Timestamp>,
    /// robots.txt in its stored form, for origins (scheme and port) of the host; what is long may be forgotten.
    pub robots: BTreeMap<String, Vec<u8>>,
    /// Addresses that answered, newest first, at most four.
    pub addresses: Vec<std::net::IpAddr>,
    /// Serves the same pages as this host.
    pub alias_of: Option<String>,
}

/// A host as it is saved beside the blocks of URLs, which know only how many URLs it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedHost {
    /// Its name.
    pub name: Box<str>,
    /// URLs answered.
    pub fetched: u32,
    /// What is kept of it.
    pub record: HostRecord,
}

impl Stored {
    /// Something is due then, if nothing is before.
    pub(crate) fn not_after(&mut self, due: Timestamp) {
        *self = match *self {
            Self::Nothing => Self::Later(due),
            Self::Later(before) => Self::Later(before.min(due)),
            Self::Perhaps => Self::Perhaps,
        };
    }

    /// When it is to be looked at.
    pub(crate) fn next(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Nothing => None,
            Self::Perhaps => Some(now),
            Self::Later(due) => Some(due.max(now)),
        }
    }
}

impl HostRow {
    /// Whether an answer of it was ever taken.
    pub(crate) fn is_new(&self) -> bool {
        self.fetched == 0
    }

    pub(crate) fn record_mut(&mut self) -> &mut HostRecord {
        self.record.get_or_insert_default()
    }
}
