//! Windows: the URLs of a host that are due, in the order that is asked for.
//!
//! The order is found from the numbers beside the URLs; text is unpacked only for pages with a URL
//! that was chosen. One look at a host chooses one in 32 of its rows, or one window if that is more; what
//! is not handed out at once is kept aside in order (see `schedule`), and after a fold only what is new is
//! looked at. So the bytes read for a URL that is handed out do not depend on how many wait, nor does the
//! memory of a host.

use std::sync::Arc;

use teia_base::{Order, Step, Timestamp, UrlFacts};

use super::block::block_of;
use super::delta::{ADMITS, SETTLED};
use super::error::StoreError;
use super::key::{Key, host_hash};
use super::lookup::{Known, OwnedRow, merged};
use super::row::{
    DEPTH, DUE, MARK, PRIORITY, REQUISITE, SEQUENCE, flags_of, is_again, tries_of, unzigzag,
};
use super::schedule::Schedule;
use super::store::Store;
use crate::row::{State, rank_of_try};

/// In which order the URLs of a host are handed out. What was tried already comes after what was
/// not, in every order but that of due dates.
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
    /// The shortest path first: for a host of which nothing was seen yet, because pages near its root lead to
    /// most others. The texts of all of its URLs are read for it.
    Path,
    /// As a policy says. It is given a hash of the sequence number for that of the URL, whose text
    /// is not read yet.
    Policy(&'a Arc<dyn Order>),
}

/// Which of the waiting URLs of a host are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// All of them.
    #[default]
    All,
    /// Those that were never visited.
    New,
    /// Those that were visited before.
    Again,
}

impl Part {
    /// Whether a waiting URL with this mark is one of them.
    pub(crate) fn holds(self, mark: u64) -> bool {
        match self {
            Self::All => true,
            Self::New => !is_again(mark),
            Self::Again => is_again(mark),
        }
    }
}

/// What is kept aside apart from others: a part of a host's URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    pub(crate) hash: u64,
    pub(crate) part: Part,
}

/// A URL that was handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// Its text.
    pub url: String,
    /// What is known of it.
    pub known: Known,
}

/// Where a URL stands in the order: the rank of its next try, the order's own number, then sequence or position.
pub(crate) type Place = (u8, u64, u64);

/// A URL that only a front knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Young {
    place: Place,
    /// In the front that is being folded.
    sealed: bool,
    at: usize,
}

/// An order that another thread can go by.
pub(crate) enum OwnedOrder {
    Plain(WindowOrder<'static>),
    Policy(Arc<dyn Order>),
}

impl OwnedOrder {
    pub(crate) fn as_order(&self) -> WindowOrder<'_> {
        match self {
            Self::Plain(order) => *order,
            Self::Policy(order) => WindowOrder::Policy(order),
        }
    }
}

impl WindowOrder<'_> {
    pub(crate) fn to_owned(self) -> OwnedOrder {
        OwnedOrder::Plain(match self {
            Self::Insertion => WindowOrder::Insertion,
            Self::Depth => WindowOrder::Depth,
            Self::Priority => WindowOrder::Priority,
            Self::Due => WindowOrder::Due,
            Self::Random(seed) => WindowOrder::Random(seed),
            Self::Path => WindowOrder::Path,
            Self::Policy(order) => return OwnedOrder::Policy(Arc::clone(order)),
        })
    }

    pub(crate) fn kind(&self) -> u8 {
        match self {
            Self::Insertion => 0,
            Self::Depth => 1,
            Self::Priority => 2,
            Self::Due => 3,
            Self::Random(_) => 4,
            Self::Policy(_) => 5,
            Self::Path => 6,
        }
    }

    /// Whether the length of the text decides, which no number beside it tells.
    pub(crate) fn goes_by_length(&self) -> bool {
        matches!(self, Self::Path)
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
        length: impl FnOnce() -> u32,
    ) -> Place {
        let mark = cell(MARK);
        let sequence = cell(SEQUENCE);
        let own = match self {
            Self::Insertion => 0,
            Self::Depth => cell(DEPTH),
            Self::Priority => rising(-i64::from(unzigzag(cell(PRIORITY)))),
            Self::Due => cell(DUE),
            Self::Random(seed) => mix(sequence ^ seed),
            Self::Path => u64::from(length()),
            Self::Policy(order) => order.url_key(&UrlFacts {
                depth: u16::try_from(cell(DEPTH)).unwrap_or(u16::MAX),
                sequence,
                hash: mix(sequence),
                first_seen: Timestamp::from_micros(i64::from(first_seen(sequence)) * 1_000_000),
                requisite: flags_of(mark) & REQUISITE != 0,
                priority: unzigzag(cell(PRIORITY)),
            }),
        };
        // By due date a new try has its date, like everything.
        let tries = match self {
            Self::Due => 0,
            _ => rank_of_try(tries_of(mark)),
        };
        (tries, own, sequence)
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
        self.window_of(Part::All, host, n, order, now)
    }

    /// The same, of a part of its URLs.
    pub fn window_of(
        &mut self,
        part: Part,
        host: &str,
        n: usize,
        order: WindowOrder<'_>,
        now: u32,
    ) -> Result<Vec<Leased>, StoreError> {
        let _step = Step::begin("refill");
        let hash = host_hash(self.disk.config.key, host.as_bytes());
        let slot = Slot { hash, part };
        let mut young = self.young(host.as_bytes(), slot, n, order, now);
        let mut window = Vec::new();
        let mut scans = 0;
        self.hear_aside(slot)?;
        self.refresh_schedule(host, slot, order)?;
        while window.len() < n {
            let peeked = match self.schedules.get_mut(&slot) {
                Some(schedule) => schedule.peek(&self.disk),
                None => Ok(None),
            };
            let next = match peeked {
                Ok(place) => place,
                Err(error) => {
                    // What was kept aside is damaged: it is chosen anew.
                    self.damage.note(error)?;
                    self.drop_schedule(slot);
                    None
                }
            };
            let youngest = young.last().map(|young| young.place);
            match (next, youngest) {
                (Some(old), Some(fresh)) if fresh < old => self.take_young(&mut young, &mut window),
                (Some(_), _) => self.take_scheduled(slot, now, &mut window)?,
                // Another thread is choosing: what is new waits with the rest, in order.
                (None, _) if self.looks_aside(slot) => break,
                (None, _) => {
                    // All that was chosen is handed out: choose again, unless nothing is left.
                    scans += 1;
                    if scans > 64 || !self.look_on(host, slot, n, order, now)? {
                        if self.looks_aside(slot) {
                            break;
                        }
                        while window.len() < n && !young.is_empty() {
                            self.take_young(&mut young, &mut window);
                        }
                        break;
                    }
                }
            }
        }
        let schedule = self.schedules.get_mut(&slot);
        if schedule.is_some_and(|schedule| schedule.rest(&self.disk).is_err()) {
            // What is handed out counts; the rest is chosen anew, by a disk that works or not at all.
            self.drop_schedule(slot);
        }
        let schedule = self.schedules.get(&slot);
        if schedule.is_some_and(Schedule::says_nothing) {
            self.drop_schedule(slot);
        }
        Ok(window)
    }

    /// Chooses again, when all that was chosen is handed out. Says whether anything was found.
    fn look_on(
        &mut self,
        host: &str,
        slot: Slot,
        n: usize,
        order: WindowOrder<'_>,
        now: u32,
    ) -> Result<bool, StoreError> {
        let version = self.version_of(slot.hash);
        let more = match self.schedules.get(&slot) {
            // Who was passed over by a guess waits for a visit, and no longer.
            Some(schedule)
                if schedule.is_last && schedule.passed_over.is_some_and(|then| then != version) =>
            {
                self.look(host, slot, n, order, now, None)?
            }
            Some(schedule) if schedule.is_last && now < schedule.until => false,
            Some(schedule) => {
                // What has become due since stands anywhere, unless the order goes by that.
                let is_as_it_was = !schedule.is_last && now < schedule.until;
                let goes_on = is_as_it_was || matches!(order, WindowOrder::Due);
                let after = schedule.last.filter(|_| goes_on);
                self.look(host, slot, n, order, now, after)?
            }
            None => self.look(host, slot, n, order, now, None)?,
        };
        if self.looks_aside(slot) {
            return Ok(false);
        }
        // Nothing that waits for its block was visited before.
        Ok(more || (slot.part != Part::Again && self.look_at_waiting(host, slot, n, order)?))
    }

    /// After a window that was not filled: when the next URL of the host is due, as far as the
    /// blocks know.
    pub fn later_due(&self, part: Part, host: &str) -> Option<u32> {
        let hash = host_hash(self.disk.config.key, host.as_bytes());
        let until = self.schedules.get(&Slot { hash, part })?.until;
        (until < u32::MAX).then_some(until)
    }

    /// Gives a lease back without an attempt: the URL waits again.
    pub fn release(&mut self, url: &str) {
        let mut text = Vec::new();
        let host_len = super::key::write_key(url, &mut text);
        let (host, rest) = text.split_at(host_len);
        let hash = host_hash(self.disk.config.key, host);
        let key = Key { hash, host, rest };
        let url_hash = key.url_hash();
        self.leased.remove(&url_hash);
        // What the fronts would hand out, or know to be settled, is in none of the blocks' windows.
        let fronts = [Some(&self.front), self.sealed.as_deref()];
        let is_young = fronts.into_iter().flatten().any(|front| {
            let at = front.find(&key, url_hash);
            at.is_some_and(|at| {
                let delta = front.delta(at);
                delta.may_be_handed_out() || delta.ops & SETTLED != 0
            })
        });
        if !is_young {
            self.forget_schedules(hash);
        }
    }

    /// Drops what was chosen of a host: it is chosen anew.
    pub(crate) fn forget_schedules(&mut self, hash: u64) {
        for part in [Part::All, Part::New, Part::Again] {
            self.drop_schedule(Slot { hash, part });
        }
    }

    pub(crate) fn drop_schedule(&mut self, slot: Slot) {
        self.outdate_aside(slot);
        if let Some(schedule) = self.schedules.remove(&slot) {
            schedule.emptied(&self.disk);
        }
    }

    pub(crate) fn put_schedule(&mut self, slot: Slot, schedule: Schedule) {
        if let Some(before) = self.schedules.insert(slot, schedule) {
            before.emptied(&self.disk);
        }
    }

    /// The first `n` URLs of a host that only the fronts know, the first one last.
    fn young(
        &self,
        host: &[u8],
        slot: Slot,
        n: usize,
        order: WindowOrder<'_>,
        now: u32,
    ) -> Vec<Young> {
        let mut young = Vec::new();
        let mut scratch = Vec::new();
        let fronts = [(true, self.sealed.as_deref()), (false, Some(&self.front))];
        for (sealed, front) in fronts {
            let Some(front) = front else { continue };
            for at in front.decided_of(slot.hash) {
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
                let cells = row.cells();
                let is_asked = slot.part.holds(cells[MARK]);
                if is_asked && row.state == State::Waiting && self.is_due(row.due, now) {
                    let length = || u32::try_from(key.rest.len()).unwrap_or(u32::MAX);
                    let first_seen = |of| self.first_seen(of);
                    let place = order.place(|column| cells[column], first_seen, length);
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

    fn is_due(&self, due: u32, now: u32) -> bool {
        self.disk.longest_wait.is_over_at(due, now)
    }

    fn take_scheduled(
        &mut self,
        slot: Slot,
        now: u32,
        window: &mut Vec<Leased>,
    ) -> Result<(), StoreError> {
        let Some(schedule) = self.schedules.get_mut(&slot) else {
            return Ok(());
        };
        let Some(candidate) = schedule.pop(&self.disk)? else {
            return Ok(());
        };
        let mut text = Vec::new();
        let host_len = super::key::write_key(&candidate.url, &mut text);
        let (host, rest) = text.split_at(host_len);
        let hash = slot.hash;
        let key = Key { hash, host, rest };
        let row = OwnedRow {
            cells: candidate.cells,
            rare: candidate.rare,
        };
        let Some(row) = self.overlaid(&key, row) else {
            if let Some(schedule) = self.schedules.get_mut(&slot) {
                schedule.passed_over = Some(schedule.version);
            }
            return Ok(());
        };
        if row.row().state == State::Waiting
            && self.is_due(row.row().due, now)
            && slot.part.holds(row.cells[MARK])
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
