//! What is known of one URL: its newest row, and the news that has not reached it yet.

use hashbrown::HashMap;

use super::block::block_of;
use super::decoded::DecodedPage;
use super::delta::Delta;
use super::error::StoreError;
use super::front::Front;
use super::key::{Key, host_hash, write_key};
use super::page::Cells;
use super::row::{FALLBACK_HTTP, REQUISITE, Rare, Row, SEED};
use super::run::RunFile;
use super::store::Store;
use crate::row::State;

/// What is known of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Where it stands.
    pub state: State,
    /// The rule that left it out, as a number of the caller's list; 0 for none.
    pub rule: u32,
    /// Least known hops from a seed.
    pub depth: u16,
    /// Its sequence number; a URL still to be decided has the one of its first waiting link.
    pub sequence: u64,
    /// Sequence number of the page on which it was first found; 0 for none.
    pub referrer: u64,
    /// When it was first met, in seconds since 1970, to the minute.
    pub first_seen: u32,
    /// What an Analyzer thinks of it.
    pub priority: i32,
    /// Not to be asked before then, in seconds since 1970.
    pub due: u32,
    /// Tries of the present visit so far.
    pub tries: u8,
    /// Needed by a kept page.
    pub requisite: bool,
    /// Given by a person.
    pub seed: bool,
    /// Given without scheme.
    pub fallback_http: bool,
    /// Being fetched.
    pub leased: bool,
    /// Earlier blocks, which were lost, have called it new.
    pub told: bool,
    /// What few URLs have.
    pub rare: Rare,
}

/// A row that owns its rare part.
#[derive(Clone, Debug)]
pub(crate) struct OwnedRow {
    pub(crate) cells: Cells,
    pub(crate) rare: Vec<u8>,
}

impl OwnedRow {
    pub(crate) fn row(&self) -> Row<'_> {
        Row::read(&self.cells, &self.rare)
    }
}

/// When the URL with a sequence number was met.
pub(crate) fn second_of(epochs: &[(u64, u32)], sequence: u64) -> u32 {
    let after = epochs.partition_point(|(first, _)| *first <= sequence);
    after.checked_sub(1).map_or(0, |epoch| epochs[epoch].1)
}

/// Looking up one URL after another. Whoever asks in the order of the blocks has each page read once.
struct LookUp<'s> {
    store: &'s Store,
    /// The page of each run of a block, and of each file of waiting news, in which the last URL was looked for.
    pages: HashMap<u64, LastPage>,
    waiting: HashMap<u64, LastPage>,
    block: usize,
    buffer: Vec<u8>,
}

#[derive(Default)]
struct LastPage {
    number: usize,
    page: DecodedPage,
    /// Whether states are unpacked too: who asks for what is not there needs none.
    has_states: bool,
}

impl LookUp<'_> {
    fn state(&mut self, url: &str) -> Result<Option<Known>, StoreError> {
        let store = self.store;
        let mut text = Vec::new();
        let host_len = write_key(url, &mut text);
        let (host, rest) = text.split_at(host_len);
        let key = Key {
            hash: host_hash(store.disk.config.key, host),
            host,
            rest,
        };
        let number = block_of(&store.blocks, &key);
        let block = &store.blocks[number];
        if std::mem::replace(&mut self.block, number) != number {
            self.pages.clear();
        }
        let mut row = None;
        for run in block.runs.iter().rev() {
            row = self.find_in(run, &key)?;
            if row.is_some() {
                break;
            }
        }
        let url_hash = key.url_hash();
        for run in store.waiting.iter().filter(|run| run.id > block.visited) {
            std::mem::swap(&mut self.pages, &mut self.waiting);
            let news = self.find_in(run, &key);
            std::mem::swap(&mut self.pages, &mut self.waiting);
            if let Some(news) = news? {
                row = Some(merged(row, Delta::read(&news.cells), &news.rare));
            }
        }
        for front in store.sealed.as_deref().into_iter().chain([&store.front]) {
            if let Some((delta, events)) = find_in_front(front, &key, url_hash) {
                row = Some(merged(row, delta, events));
            }
        }
        let leased = store.leased.contains(&url_hash);
        Ok(row.map(|row| store.tell(&row.row(), leased)))
    }

    fn find_in(&mut self, run: &RunFile, key: &Key<'_>) -> Result<Option<OwnedRow>, StoreError> {
        run.whole()?;
        // What cannot be read is not kept as if it had been.
        let mut last = self.pages.remove(&run.id).unwrap_or_default();
        if !last.page.spans(key) && !self.turn_to(run, key, &mut last)? {
            return Ok(None);
        }
        let mut found = None;
        if let Some(at) = last.page.find(key) {
            if !last.has_states {
                run.read_state(last.number, &mut self.buffer)?;
                let loaded = last.page.load_state(&self.buffer);
                loaded.map_err(|flaw| run.damaged(last.number, flaw))?;
                last.has_states = true;
            }
            found = Some(OwnedRow {
                cells: *last.page.cells(at),
                rare: last.page.rare(at).to_vec(),
            });
        }
        self.pages.insert(run.id, last);
        Ok(found)
    }

    /// Turns to the page on which the URL would be; whether there is one.
    fn turn_to(
        &mut self,
        run: &RunFile,
        key: &Key<'_>,
        last: &mut LastPage,
    ) -> Result<bool, StoreError> {
        let range = run.pages_of(key.hash, key.hash);
        let (mut low, mut high) = (range.start, range.end);
        // A host can have many pages: halve them by the first URL of the middle one.
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            self.load_text(run, middle, last)?;
            if last.page.len() > 0 && last.page.key(0) <= *key {
                low = middle;
            } else {
                high = middle;
            }
        }
        if low >= high {
            return Ok(false);
        }
        self.load_text(run, low, last)?;
        Ok(true)
    }

    fn load_text(
        &mut self,
        run: &RunFile,
        number: usize,
        last: &mut LastPage,
    ) -> Result<(), StoreError> {
        last.number = number;
        last.has_states = false;
        run.read_text(number, &mut self.buffer)?;
        let loaded = last
            .page
            .load_text(self.store.disk.config.key, &self.buffer);
        loaded.map_err(|flaw| run.damaged(number, flaw))
    }
}

impl Store {
    /// What is known of a URL, the latest news included.
    pub fn state(&self, url: &str) -> Result<Option<Known>, StoreError> {
        self.look_up().state(url)
    }

    /// What is known of each of these URLs. They are looked up in the order of the blocks, so that a page on which
    /// several of them lie is read once.
    pub fn states(&self, urls: &[&str]) -> Vec<Result<Option<Known>, StoreError>> {
        let mut by_place: Vec<usize> = (0..urls.len()).collect();
        by_place.sort_by_cached_key(|&at| {
            let mut text = Vec::new();
            let host_len = write_key(urls[at], &mut text);
            let hash = host_hash(self.disk.config.key, &text[..host_len]);
            (hash, text)
        });
        let mut look_up = self.look_up();
        let mut states: Vec<_> = urls.iter().map(|_| Ok(None)).collect();
        for at in by_place {
            states[at] = look_up.state(urls[at]);
        }
        states
    }

    fn look_up(&self) -> LookUp<'_> {
        LookUp {
            store: self,
            pages: HashMap::default(),
            waiting: HashMap::default(),
            block: 0,
            buffer: Vec::new(),
        }
    }

    pub(crate) fn tell(&self, row: &Row<'_>, leased: bool) -> Known {
        Known {
            state: row.state,
            rule: row.rule,
            depth: row.depth,
            sequence: row.sequence,
            referrer: row.referrer,
            first_seen: self.first_seen(row.sequence),
            priority: row.priority,
            due: row.due,
            tries: row.tries,
            requisite: row.flags & REQUISITE != 0,
            seed: row.flags & SEED != 0,
            fallback_http: row.flags & FALLBACK_HTTP != 0,
            leased,
            told: row.told,
            rare: Rare::read(row.rare),
        }
    }

    /// When the URL with this sequence number was first met.
    pub(crate) fn first_seen(&self, sequence: u64) -> u32 {
        second_of(&self.epochs, sequence)
    }
}

pub(crate) fn find_in_front<'a>(
    front: &'a Front,
    key: &Key<'_>,
    url_hash: u64,
) -> Option<(Delta, &'a [u8])> {
    let at = front.find(key, url_hash)?;
    let entry = front.entry(at);
    Some((entry.delta, front.events_of(entry)))
}

/// A row after more news, or the row that the news makes.
pub(crate) fn merged(row: Option<OwnedRow>, delta: Delta, events: &[u8]) -> OwnedRow {
    let mut scratch = Vec::new();
    let own = |row: Row<'_>| OwnedRow {
        cells: row.cells(),
        rare: row.rare.to_vec(),
    };
    match row {
        None => own(delta.into_row(events, &mut scratch)),
        Some(row) => match delta.merge(&row.row(), events, &mut scratch) {
            Some(changed) => own(changed),
            None => row,
        },
    }
}
