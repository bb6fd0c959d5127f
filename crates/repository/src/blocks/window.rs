//! Windows: the URLs of a host that are due, in the order that is asked for.
//!
//! The order is found from the numbers beside the URLs; text is unpacked only for pages with a URL
//! that was chosen. One look at a host chooses one in 32 of what waits there, or one window if that
//! is more; what is not handed out at once is kept aside in order (see `schedule`). So the bytes
//! read for a URL that is handed out do not depend on how many wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use teia_base::{Order, Timestamp, UrlFacts};

use super::block::block_of;
use super::decoded::DecodedPage;
use super::delta::{ADMITS, SETTLED};
use super::error::{Flaw, StoreError};
use super::front::ByHash;
use super::key::{Key, host_hash};
use super::lookup::{Known, OwnedRow, merged};
use super::page::Facts;
use super::row::{
    DEPTH, DUE, MARK, PRIORITY, REQUISITE, SEQUENCE, SUPERSEDES, flags_of, state_of, tries_of,
    unzigzag,
};
use super::run::RunFile;
use super::schedule::{Candidate, Schedule};
use super::store::Store;
use crate::row::State;

/// One look at a host chooses one in so many of its waiting URLs.
const SHARE: u64 = 32;

/// In which order the URLs of a host are handed out. What was tried already comes after what was
/// not, in every order.
#[derive(Clone, Copy, Debug)]
pub enum WindowOrder<'a> {
    /// As they were met.
    Insertion,
    /// Fewest hops first, then as they were met.
    Depth,
    /// Highest priority first.
    Priority,
    /// The one that is due for longest first.
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

/// Where a URL stands in the order: tries, the order's own number, sequence.
pub(crate) type Place = (u8, u64, u64);

impl WindowOrder<'_> {
    fn kind(&self) -> u8 {
        match self {
            Self::Insertion => 0,
            Self::Depth => 1,
            Self::Priority => 2,
            Self::Due => 3,
            Self::Random(_) => 4,
            Self::Policy(_) => 5,
        }
    }

    /// Where a URL stands, of which `cell` tells the numbers.
    fn place(&self, cell: impl Fn(usize) -> u64, first_seen: impl FnOnce(u64) -> u32) -> Place {
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

fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A row that was chosen by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Choice {
    place: Place,
    run: u32,
    page: u32,
    row: u32,
}

/// What one look at a host works with.
struct Look<'a> {
    host: &'a [u8],
    hash: u64,
    now: u32,
    order: WindowOrder<'a>,
    /// Runs of the host's blocks, oldest first within each block, with the number of the block.
    runs: Vec<(usize, Arc<RunFile>)>,
    /// When the next URL that is not due yet will be.
    until: u32,
    /// URLs with a newer row, and the newest run in which that is.
    newer: HashMap<u64, u32, ByHash>,
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
        let mut young = self.young(host.as_bytes(), hash, order, now);
        let mut window = Vec::new();
        let mut scans = 0;
        let version = self.version_of(hash);
        while window.len() < n {
            let schedule = self
                .schedules
                .get_mut(&hash)
                .filter(|schedule| schedule.serves(order.kind(), version, now));
            let next = match schedule {
                Some(schedule) => schedule.peek(&self.disk)?.map(|candidate| candidate.place),
                None => None,
            };
            let youngest = young.first_key_value().map(|(place, _)| *place);
            match (next, youngest) {
                (Some(old), Some(fresh)) if fresh < old => self.take_young(&mut young, &mut window),
                (Some(_), _) => self.take_scheduled(hash, now, &mut window)?,
                (None, _) => {
                    // All that was chosen is handed out: choose again, unless nothing is left.
                    let after = self.schedules.get(&hash).and_then(|schedule| {
                        let same = schedule.serves(order.kind(), version, now);
                        same.then_some((schedule.is_last, schedule.last))
                    });
                    let more = match after {
                        Some((true, _)) => false,
                        Some((false, last)) => self.look(host, hash, n, order, now, last)?,
                        None => self.look(host, hash, n, order, now, None)?,
                    };
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
        if let Some(schedule) = self.schedules.get(&hash)
            && schedule.is_spent()
            && schedule.is_last
            && let Some(schedule) = self.schedules.remove(&hash)
        {
            // Nothing is worth remembering of a host that was read to its end, but for how far.
            if schedule.last.is_some() {
                self.schedules.insert(hash, schedule.emptied(&self.disk));
            }
        }
        Ok(window)
    }

    /// Gives a lease back without an attempt: the URL waits again.
    pub fn release(&mut self, url: &str) {
        let mut text = Vec::new();
        let host_len = super::key::write_key(url, &mut text);
        let (host, rest) = text.split_at(host_len);
        let hash = host_hash(self.disk.config.key, host);
        self.leased.remove(&Key { hash, host, rest }.url_hash());
        self.schedules.remove(&hash);
    }

    /// The URLs of a host that only the front knows, in order.
    fn young(
        &self,
        host: &[u8],
        hash: u64,
        order: WindowOrder<'_>,
        now: u32,
    ) -> BTreeMap<Place, (String, OwnedRow, u64)> {
        let mut young = BTreeMap::new();
        for front in self.sealed.as_deref().into_iter().chain([&self.front]) {
            for entry in front.decided_of(hash) {
                let key = front.key_of(entry);
                let passing =
                    entry.delta.ops & ADMITS == 0 || self.leased.contains(&entry.url_hash);
                if key.host != host || passing || self.is_decided_later(front, &key, entry.url_hash)
                {
                    continue;
                }
                let row = merged(None, entry.delta, front.events_of(entry));
                let is_due = row.row().state == State::Waiting && row.row().due <= now;
                if let (true, Ok(text)) = (is_due, key.text()) {
                    let place = order.place(
                        |column| row.cells[column],
                        |sequence| self.first_seen(sequence),
                    );
                    young.insert(place, (text, row, entry.url_hash));
                }
            }
        }
        young
    }

    /// Whether a URL of the sealed front was settled since.
    fn is_decided_later(&self, front: &super::front::Front, key: &Key<'_>, url_hash: u64) -> bool {
        !std::ptr::eq(front, &raw const self.front)
            && self
                .front
                .find(key, url_hash)
                .is_some_and(|at| self.front.delta(at).ops & SETTLED != 0)
    }

    fn take_young(
        &mut self,
        young: &mut BTreeMap<Place, (String, OwnedRow, u64)>,
        window: &mut Vec<Leased>,
    ) {
        if let Some((_, (url, row, url_hash))) = young.pop_first()
            && self.leased.insert(url_hash)
        {
            let known = self.tell(&row.row(), true);
            window.push(Leased { url, known });
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
        if self.taken[block].contains(&url_hash) || self.leased.contains(&url_hash) {
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

    /// Tells one look at a host from another one after more was folded in.
    fn version_of(&self, hash: u64) -> u64 {
        let blocks = self.blocks_of(hash);
        blocks.fold(0, |version, at| mix(version ^ self.blocks[at].visited))
    }

    fn blocks_of(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let first = self.blocks.partition_point(|block| block.lower.hash < hash);
        let end = self
            .blocks
            .partition_point(|block| block.lower.hash <= hash);
        first.saturating_sub(1)..end.max(1)
    }

    /// Chooses URLs of a host and keeps them aside in order. Says whether there is any.
    fn look(
        &mut self,
        host: &str,
        hash: u64,
        n: usize,
        order: WindowOrder<'_>,
        now: u32,
        after: Option<Place>,
    ) -> Result<bool, StoreError> {
        let mut look = Look {
            host: host.as_bytes(),
            hash,
            now,
            order,
            runs: Vec::new(),
            until: u32::MAX,
            newer: HashMap::default(),
        };
        for at in self.blocks_of(hash) {
            let runs = self.blocks[at].runs.iter();
            look.runs.extend(runs.map(|run| (at, Arc::clone(run))));
        }
        let (choices, is_last) = self.choose(&mut look, n, after)?;
        let last = choices.last().map(|choice| choice.place);
        let candidates = self.read_texts(&look, choices)?;
        let version = self.version_of(hash);
        let schedule = Schedule::new(&self.disk, order.kind(), version, candidates)?;
        let found = last.is_some();
        let schedule = schedule.up_to(last.or(after), is_last, look.until);
        if self.schedules.len() >= 4096 {
            // Bounded; those that are dropped are chosen anew.
            for (_, schedule) in self.schedules.drain() {
                schedule.emptied(&self.disk);
            }
        }
        self.schedules.insert(hash, schedule);
        Ok(found || !is_last)
    }

    /// Goes through the numbers of a host's URLs and keeps the first in order.
    fn choose(
        &self,
        look: &mut Look<'_>,
        n: usize,
        after: Option<Place>,
    ) -> Result<(Vec<Choice>, bool), StoreError> {
        let mut spans = Vec::new();
        let mut page = DecodedPage::default();
        let mut buffer = Vec::new();
        let mut waiting = 0;
        for (number, (_, run)) in (0_u32..).zip(&look.runs) {
            for at in run.pages_of(look.hash, look.hash) {
                let entry = &run.index[at];
                let inside = entry.first_hash == look.hash
                    && run
                        .index
                        .get(at + 1)
                        .is_some_and(|next| next.first_hash == look.hash)
                    && at > 0
                    && run.index[at - 1].first_hash == look.hash;
                let rows = if inside {
                    0..entry.rows as usize
                } else {
                    run.read_text(at, &mut buffer)?;
                    page.load_text(self.disk.config.key, &buffer)
                        .map_err(|flaw| run.damaged(at, flaw))?;
                    rows_of(&page, look.host)
                };
                if !rows.is_empty() {
                    waiting += u64::from(entry.waiting).min(rows.len() as u64);
                    spans.push((number, at, rows));
                }
            }
        }
        let most = usize::try_from(waiting / SHARE).unwrap_or(0).max(n).max(1);
        let mut choices: Vec<Choice> = Vec::new();
        let mut is_last = true;
        for (number, at, rows) in spans {
            let run = &look.runs[number as usize].1;
            run.read_state(at, &mut buffer)?;
            let facts = Facts::read(&buffer).map_err(|flaw| run.damaged(at, flaw))?;
            let mut supersedes = false;
            for row in rows.start..rows.end.min(facts.rows()) {
                let mark = facts.cell(MARK, row);
                supersedes |= flags_of(mark) & SUPERSEDES != 0;
                if state_of(mark) != State::Waiting {
                    continue;
                }
                let due = u32::try_from(facts.cell(DUE, row)).unwrap_or(u32::MAX);
                if due > look.now {
                    look.until = look.until.min(due);
                    continue;
                }
                let cell = |column| facts.cell(column, row);
                let place = look.order.place(cell, |sequence| self.first_seen(sequence));
                if after.is_some_and(|after| place <= after) {
                    continue;
                }
                let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                choices.push(Choice {
                    place,
                    run: number,
                    page: narrow(at),
                    row: narrow(row),
                });
            }
            if supersedes {
                let marks: Vec<bool> = (0..facts.rows())
                    .map(|row| flags_of(facts.cell(MARK, row)) & SUPERSEDES != 0)
                    .collect();
                run.read_text(at, &mut buffer)?;
                page.load_text(self.disk.config.key, &buffer)
                    .map_err(|flaw| run.damaged(at, flaw))?;
                for row in rows.filter(|&row| marks.get(row).copied().unwrap_or(false)) {
                    look.newer.insert(page.key(row).url_hash(), number);
                }
            }
            if choices.len() >= 2 * most + 1024 {
                choices.select_nth_unstable(most);
                choices.truncate(most);
                is_last = false;
            }
        }
        choices.sort_unstable();
        if choices.len() > most {
            choices.truncate(most);
            is_last = false;
        }
        Ok((choices, is_last))
    }

    /// Unpacks the pages of what was chosen, and drops what is not to be handed out.
    fn read_texts(
        &self,
        look: &Look<'_>,
        mut choices: Vec<Choice>,
    ) -> Result<Vec<Candidate>, StoreError> {
        choices.sort_unstable_by_key(|choice| (choice.run, choice.page, choice.row));
        let mut candidates = Vec::with_capacity(choices.len());
        let mut page = DecodedPage::default();
        let (mut state, mut text) = (Vec::new(), Vec::new());
        let mut loaded = None;
        for choice in choices {
            let (block, run) = &look.runs[choice.run as usize];
            let (at, row) = (choice.page as usize, choice.row as usize);
            let damaged = |flaw| run.damaged(at, flaw);
            if loaded != Some((choice.run, choice.page)) {
                run.read_state(at, &mut state)?;
                Facts::read(&state).map_err(damaged)?;
                run.read_text(at, &mut text)?;
                page.load_text(self.disk.config.key, &text)
                    .map_err(damaged)?;
                loaded = Some((choice.run, choice.page));
            }
            let facts = Facts::read_checked(&state).map_err(damaged)?;
            if row >= page.len() || row >= facts.rows() {
                return Err(damaged(Flaw(
                    "the index does not tell what is in this page",
                )));
            }
            let key = page.key(row);
            let url_hash = key.url_hash();
            let newer = look.newer.get(&url_hash);
            let passing = key.host != look.host
                || newer.is_some_and(|&run| run > choice.run)
                || self.taken[*block].contains(&url_hash)
                || self.leased.contains(&url_hash);
            if !passing {
                candidates.push(Candidate {
                    place: choice.place,
                    url: key.text().map_err(damaged)?,
                    cells: facts.cells(row),
                    rare: facts.rare(row).to_vec(),
                });
            }
        }
        candidates.sort_unstable_by_key(|candidate| candidate.place);
        Ok(candidates)
    }

    /// The earliest moment at which a URL of the blocks is due, found without reading one: no URL
    /// is due before it.
    pub fn next_due(&self) -> Option<u32> {
        let runs = self.blocks.iter().flat_map(|block| &block.runs);
        let due = runs.map(|run| run.least_due).min()?;
        (due < u32::MAX).then_some(due)
    }
}

/// The rows of a host in a page.
fn rows_of(page: &DecodedPage, host: &[u8]) -> std::ops::Range<usize> {
    let first = (0..page.len()).find(|&row| page.key(row).host == host);
    let Some(first) = first else {
        return 0..0;
    };
    let end = (first..page.len()).find(|&row| page.key(row).host != host);
    first..end.unwrap_or(page.len())
}
