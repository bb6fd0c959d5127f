//! What is known of one URL: its newest row, and the news that has not reached it yet.

use std::sync::Arc;

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

impl Store {
    /// What is known of a URL, the latest news included.
    pub fn state(&self, url: &str) -> Result<Option<Known>, StoreError> {
        let mut text = Vec::new();
        let host_len = write_key(url, &mut text);
        let (host, rest) = text.split_at(host_len);
        let key = Key {
            hash: host_hash(self.disk.config.key, host),
            host,
            rest,
        };
        let block = &self.blocks[block_of(&self.blocks, &key)];
        let mut row = None;
        for run in block.runs.iter().rev() {
            row = self.find_in(run, &key)?;
            if row.is_some() {
                break;
            }
        }
        let url_hash = key.url_hash();
        for run in self.waiting.iter().filter(|run| run.id > block.visited) {
            if let Some(news) = self.find_in(run, &key)? {
                row = Some(merged(row, Delta::read(&news.cells), &news.rare));
            }
        }
        for front in self.sealed.as_deref().into_iter().chain([&self.front]) {
            if let Some((delta, events)) = find_in_front(front, &key, url_hash) {
                row = Some(merged(row, delta, events));
            }
        }
        let leased = self.leased.contains(&url_hash);
        Ok(row.map(|row| self.tell(&row.row(), leased)))
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
            rare: Rare::read(row.rare),
        }
    }

    /// When the URL with this sequence number was first met.
    pub(crate) fn first_seen(&self, sequence: u64) -> u32 {
        second_of(&self.epochs, sequence)
    }

    fn find_in(&self, run: &Arc<RunFile>, key: &Key<'_>) -> Result<Option<OwnedRow>, StoreError> {
        run.whole()?;
        let range = run.pages_of(key.hash, key.hash);
        let (mut low, mut high) = (range.start, range.end);
        let mut page = DecodedPage::default();
        let mut buffer = Vec::new();
        // A host can have many pages: halve them by the first URL of the middle one.
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            self.load_text(run, middle, &mut page, &mut buffer)?;
            if page.len() > 0 && page.key(0) <= *key {
                low = middle;
            } else {
                high = middle;
            }
        }
        if low >= high {
            return Ok(None);
        }
        self.load_text(run, low, &mut page, &mut buffer)?;
        let found = (0..page.len()).find(|&at| page.key(at) == *key);
        let Some(at) = found else {
            return Ok(None);
        };
        run.read_state(low, &mut buffer)?;
        let facts = super::page::Facts::read(&buffer).map_err(|flaw| run.damaged(low, flaw))?;
        Ok((at < facts.rows()).then(|| OwnedRow {
            cells: facts.cells(at),
            rare: facts.rare(at).to_vec(),
        }))
    }

    fn load_text(
        &self,
        run: &RunFile,
        number: usize,
        page: &mut DecodedPage,
        buffer: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        run.read_text(number, buffer)?;
        page.load_text(self.disk.config.key, buffer)
            .map_err(|flaw| run.damaged(number, flaw))
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
