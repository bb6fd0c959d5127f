//! Windows: the URLs of a host that are due, in the order that is asked for.
//!
//! The order is found from the numbers beside the URLs; text is unpacked only for pages with a URL
//! that was chosen. One look at a host chooses one in 32 of what waits there, or one window if that
//! is more; what is not handed out at once is kept aside in order (see `schedule`). So the bytes
//! read for a URL that is handed out do not depend on how many wait, nor does the memory of a host.

use teia_base::{Order, Timestamp, UrlFacts};

use super::block::block_of;
use super::delta::{ADMITS, SETTLED};
use super::error::StoreError;
use super::key::{Key, host_hash};
use super::lookup::{Known, OwnedRow, merged};
use super::row::{DEPTH, DUE, MARK, PRIORITY, REQUISITE, SEQUENCE, flags_of, tries_of, unzigzag};
use super::store::Store;
use crate::row::State;

/// In which order the URLs of a host are handed out. What was tried already comes after what was
/// not, in every order.
#[derive(Clone, Copy, Debug)]
pub enum WindowOrder<'a> {
    /// As they were met.
    Insertion,
    /// Fewest hops first; among equals neighbours in the alphabet, which are read together.
    Depth,
    /// Highest priority first; among equals neighbours.
    Priority,
    /// The one that is due for longest first; among equals neighbours.
    Due,
    /// In an order that the number decides.
    Random(u64),
    /// As a policy says. It is given a hash of the sequence number for that of the URL, whose text
    /// is not read yet.
    Policy(&'a dyn Order),
}

/// A URL that was handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// Its text.
    pub url: String,
    /// What is known of it.
    pub known: Known,
}

/// Where a URL stands in the order: tries, the order's own number, then sequence or position.
pub(crate) type Place = (u8, u64, u64);

/// A URL that only a front knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Young {
    place: Place,
    /// In the front that is being folded.
    sealed: bool,
    at: usize,
}

impl WindowOrder<'_> {
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Self::Insertion => 0,
            Self::Depth => 1,
            Self::Priority => 2,
            Self::Due => 3,
            Self::Random(_) => 4,
            Self::Policy(_) => 5,
        }
    }

    /// Whether URLs with equal numbers are taken as they lie.
    pub(crate) fn prefers_neighbours(&self) -> bool {
        matches!(self, Self::Depth | Self::Priority | Self::Due)
    }

    /// Where a URL stands, of which `cell` tells the numbers.
    pub(crate) fn place(
        &self,
        cell: impl Fn(usize) -> u64,
        first_seen: impl FnOnce(u64) -> u32,
    ) -> Place {
        let mark = cell(MARK);
        let sequence = cell(SEQUENCE);
        let own = match self {
            Self::Insertion => 0,
            Self::Depth => cell(DEPTH),
            Self::Priority => rising(-i64::from(unzigzag(cell(PRIORITY)))),
            Self::Due => cell(DUE),
            Self::Random(seed) => mix(sequence ^ seed),
            Self::Policy(order) => order.url_key(&UrlFacts {
                depth: u16::try_from(cell(DEPTH)).unwrap_or(u16::MAX),
                sequence,
                hash: mix(sequence),
                first_seen: Timestamp::from_micros(i64::from(first_seen(sequence)) * 1_000_000),
                requisite: flags_of(mark) & REQUISITE != 0,
                priority: unzigzag(cell(PRIORITY)),
            }),
        };
        (tries_of(mark), own, sequence)
    }
}

fn rising(number: i64) -> u64 {
    number.cast_unsigned() ^ (1 << 63)
}

pub(crate) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

impl Store {
    /// Takes up to `n` URLs of a host that are due, in this order, and leases them. A lease lasts
    /// until [`Store::settle`] or [`Store::release`], or the end of the process.
    pub fn window(
        &mut self,
        host: &str,
        n: usize,
        order: WindowOrder<'_>,
        now: u32,
    ) -> Result<Vec<Leased>, StoreError> {
        let hash = host_hash(self.disk.config.key, host.as_bytes());
        let mut young = self.young(host.as_bytes(), hash, n, order, now);
        let mut window = Vec::new();
        let mut scans = 0;
        let version = self.version_of(hash);
        while window.len() < n {
            let schedule = self
                .schedules
                .get_mut(&hash)
                .filter(|schedule| schedule.serves(order.kind(), version, now));
            let peeked = match schedule {
                Some(schedule) => schedule.peek(&self.disk),
                None => Ok(None),
            };
            let next = match peeked {
                Ok(candidate) => candidate.map(|candidate| candidate.place),
                Err(error) => {
                    // What was kept aside is damaged: it is chosen anew.
                    self.damage.note(error)?;
                    self.forget_schedule(hash);
                    None
                }
            };
            let youngest = young.last().map(|young| young.place);
            match (next, youngest) {
                (Some(old), Some(fresh)) if fresh < old => self.take_young(&mut young, &mut window),
                (Some(_), _) => self.take_scheduled(hash, now, &mut window)?,
                (None, _) => {
                    // All that was chosen is handed out: choose again, unless nothing is left.
                    let after = self.schedules.get(&hash).and_then(|schedule| {
                        let same = schedule.serves(order.kind(), version, now);
                        same.then_some((schedule.is_last, schedule.last))
                    });
                    let mut more = match after {
                        Some((true, _)) => false,
                        Some((false, last)) => self.look(host, hash, n, order, now, last)?,
                        None => self.look(host, hash, n, order, now, None)?,
                    };
                    if !more {
                        more = self.look_at_waiting(host, hash, n, order)?;
                    }
                    scans += 1;
                    if !more || scans > 64 {
                        while window.len() < n && !young.is_empty() {
                            self.take_young(&mut young, &mut window);
                        }
                        break;
                    }
                }
            }
        }
        let schedule = self.schedules.get_mut(&hash);
        if schedule.is_some_and(|schedule| schedule.rest(&self.disk).is_err()) {
            // What is handed out counts; the rest is chosen anew, by a disk that works or not at all.
            self.forget_schedule(hash);
        }
        if let Some(schedule) = self.schedules.get(&hash)
            && schedule.is_spent()
            && schedule.is_last
            && let Some(schedule) = self.schedules.remove(&hash)
        {
            // Nothing is worth remembering of a host that was read to its end, but for how far, and
            // when more is due.
            if schedule.last.is_some() || schedule.until < u32::MAX {
                self.schedules.insert(hash, schedule.emptied(&self.disk));
            }
        }
        Ok(window)
    }

    /// After a window that was not filled: when the next URL of the host is due, as far as the
    /// blocks know.
    pub fn later_due(&self, host: &str) -> Option<u32> {
        let hash = host_hash(self.disk.config.key, host.as_bytes());
        let until = self.schedules.get(&hash)?.until;
        (until < u32::MAX).then_some(until)
    }

    /// Gives a lease back without an attempt: the URL waits again.
    pub fn release(&mut self, url: &str) {
        let mut text = Vec::new();
        let host_len = super::key::write_key(url, &mut text);
        let (host, rest) = text.split_at(host_len);
        let hash = host_hash(self.disk.config.key, host);
        self.leased.remove(&Key { hash, host, rest }.url_hash());
        self.forget_schedule(hash);
    }

    /// Drops what was chosen of a host: it is chosen anew.
    pub(crate) fn forget_schedule(&mut self, hash: u64) {
        if let Some(schedule) = self.schedules.remove(&hash) {
            schedule.emptied(&self.disk);
        }
    }

    /// The first `n` URLs of a host that only the fronts know, the first one last.
    fn young(
        &self,
        host: &[u8],
        hash: u64,
        n: usize,
        order: WindowOrder<'_>,
        now: u32,
    ) -> Vec<Young> {
        let mut young = Vec::new();
        let mut scratch = Vec::new();
        let fronts = [(true, self.sealed.as_deref()), (false, Some(&self.front))];
        for (sealed, front) in fronts {
            let Some(front) = front else { continue };
            for at in front.decided_of(hash) {
                let entry = front.entry(at);
                let key = front.key_of(entry);
                if entry.delta.ops & ADMITS == 0
                    || key.host != host
                    || self.leased.contains(&entry.url_hash)
                    || (sealed && self.is_settled(&key, entry.url_hash))
                {
                    continue;
                }
                let row = entry.delta.into_row(front.events_of(entry), &mut scratch);
                if row.state == State::Waiting && row.due <= now {
                    let cells = row.cells();
                    let place = order.place(|column| cells[column], |of| self.first_seen(of));
                    young.push(Young { place, sealed, at });
                }
            }
        }
        if young.len() > n {
            young.select_nth_unstable(n);
            young.truncate(n);
        }
        young.sort_unstable_by(|one, other| other.cmp(one));
        young
    }

    /// Whether a URL was settled since the last fold began.
    fn is_settled(&self, key: &Key<'_>, url_hash: u64) -> bool {
        let at = self.front.find(key, url_hash);
        at.is_some_and(|at| self.front.delta(at).ops & SETTLED != 0)
    }

    fn take_young(&mut self, young: &mut Vec<Young>, window: &mut Vec<Leased>) {
        let Some(Young { sealed, at, .. }) = young.pop() else {
            return;
        };
        let front = match &self.sealed {
            Some(front) if sealed => front,
            _ => &self.front,
        };
        let entry = front.entry(at);
        let row = merged(None, entry.delta, front.events_of(entry));
        if let Ok(url) = front.key_of(entry).text() {
            let url_hash = entry.url_hash;
            let known = self.tell(&row.row(), true);
            if self.leased.insert(url_hash) {
                window.push(Leased { url, known });
            }
        }
    }

    fn take_scheduled(
        &mut self,
        hash: u64,
        now: u32,
        window: &mut Vec<Leased>,
    ) -> Result<(), StoreError> {
        let Some(schedule) = self.schedules.get_mut(&hash) else {
            return Ok(());
        };
        let Some(candidate) = schedule.pop(&self.disk)? else {
            return Ok(());
        };
        let mut text = Vec::new();
        let host_len = super::key::write_key(&candidate.url, &mut text);
        let (host, rest) = text.split_at(host_len);
        let key = Key { hash, host, rest };
        let row = OwnedRow {
            cells: candidate.cells,
            rare: candidate.rare,
        };
        let Some(row) = self.overlaid(&key, row) else {
            return Ok(());
        };
        if row.row().state == State::Waiting
            && row.row().due <= now
            && self.leased.insert(key.url_hash())
        {
            let known = self.tell(&row.row(), true);
            window.push(Leased {
                url: candidate.url,
                known,
            });
        }
        Ok(())
    }

    /// A row with what is not folded yet; nothing if it was handed out or settled meanwhile.
    fn overlaid(&self, key: &Key<'_>, mut row: OwnedRow) -> Option<OwnedRow> {
        let url_hash = key.url_hash();
        let block = block_of(&self.blocks, key);
        if self.taken[block].contains(url_hash) || self.leased.contains(&url_hash) {
            return None;
        }
        for front in self.sealed.as_deref().into_iter().chain([&self.front]) {
            if let Some(at) = front.find(key, url_hash) {
                let entry = front.entry(at);
                row = merged(Some(row), entry.delta, front.events_of(entry));
            }
        }
        Some(row)
    }
}
