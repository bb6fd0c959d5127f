//! The table of URL texts: equality of the text decides, never a hash alone.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::row::{Row, State, UrlRef};

/// Rows in the order in which they were met, found by their text. Once the disk holds the rest, rows
/// come and go, and a place is used again.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
    index: HashTable<u32>,
    key: u64,
    /// Only where rows go: which row is in each place, and its number on disk.
    slots: Option<Vec<Slot>>,
    free: Vec<u32>,
    generation: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Tells a row from those that were in its place before.
    generation: u32,
    /// Its number on disk; 0 while the disk does not have it.
    sequence: u64,
}

impl Table {
    pub(crate) fn new(key: u64) -> Self {
        Self {
            key,
            ..Self::default()
        }
    }

    /// From now on rows may go.
    pub(crate) fn let_rows_go(&mut self) {
        if self.slots.is_none() {
            self.slots = Some(vec![Slot::default(); self.rows.len()]);
        }
    }

    pub(crate) fn hash(&self, text: &str) -> u64 {
        xxh3_64_with_seed(text.as_bytes(), self.key)
    }

    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        let hash = self.hash(text);
        self.index
            .find(hash, |&at| *self.rows[at as usize].text == *text)
            .copied()
    }

    /// Adds a row whose text is not there yet.
    pub(crate) fn push(&mut self, row: Row) -> u32 {
        let hash = self.hash(&row.text);
        let at = match self.free.pop() {
            Some(at) => {
                self.rows[at as usize] = row;
                at
            }
            None => {
                self.rows.push(row);
                u32::try_from(self.rows.len() - 1)
                    .expect("a table in memory has fewer than 2^32 rows")
            }
        };
        if let Some(slots) = &mut self.slots {
            self.generation = self.generation.wrapping_add(1).max(1);
            slots.resize(self.rows.len(), Slot::default());
            slots[at as usize] = Slot {
                generation: self.generation,
                sequence: 0,
            };
        }
        let (rows, key) = (&self.rows, self.key);
        self.index.insert_unique(hash, at, |&other| {
            xxh3_64_with_seed(rows[other as usize].text.as_bytes(), key)
        });
        at
    }

    /// Takes a row out; its place is used again.
    pub(crate) fn remove(&mut self, at: u32) -> Row {
        let hash = self.hash(&self.rows[at as usize].text);
        if let Ok(found) = self.index.find_entry(hash, |&other| other == at) {
            found.remove();
        }
        if let Some(slots) = &mut self.slots {
            slots[at as usize] = Slot {
                generation: u32::MAX,
                sequence: 0,
            };
        }
        self.free.push(at);
        std::mem::replace(&mut self.rows[at as usize], Row::gone())
    }

    /// Gives the room of rows that are gone back: each row gets another place, of which `tell` is
    /// told.
    pub(crate) fn shrink(&mut self, mut tell: impl FnMut(UrlRef, UrlRef)) {
        let mut smaller = Self::new(self.key);
        smaller.generation = self.generation;
        smaller.let_rows_go();
        let rows = std::mem::take(&mut self.rows);
        for (at, row) in (0..).zip(rows) {
            if row.text.is_empty() {
                continue;
            }
            let before = self.reference(at);
            let sequence = self.sequence(at);
            let now = smaller.push(row);
            smaller.set_sequence(now, sequence);
            tell(before, smaller.reference(now));
        }
        *self = smaller;
    }

    pub(crate) fn reference(&self, at: u32) -> UrlRef {
        UrlRef {
            at,
            generation: self.generation_of(at),
        }
    }

    fn slot(&self, at: u32) -> Slot {
        let slots = self.slots.as_ref();
        slots
            .and_then(|slots| slots.get(at as usize))
            .copied()
            .unwrap_or_default()
    }

    /// Whether this row is still in its place.
    pub(crate) fn holds(&self, url: UrlRef) -> bool {
        (url.at as usize) < self.rows.len() && self.generation_of(url.at) == url.generation
    }

    pub(crate) fn generation_of(&self, at: u32) -> u32 {
        self.slot(at).generation
    }

    pub(crate) fn sequence(&self, at: u32) -> u64 {
        self.slot(at).sequence
    }

    pub(crate) fn set_sequence(&mut self, at: u32, sequence: u64) {
        if let Some(slots) = &mut self.slots {
            slots[at as usize].sequence = sequence;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    /// Places, used or not.
    pub(crate) fn places(&self) -> u32 {
        u32::try_from(self.rows.len()).expect("a table in memory has fewer than 2^32 rows")
    }

    pub(crate) fn row(&self, at: u32) -> &Row {
        &self.rows[at as usize]
    }

    pub(crate) fn row_mut(&mut self, at: u32) -> &mut Row {
        &mut self.rows[at as usize]
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, &Row)> {
        (0..)
            .zip(&self.rows)
            .filter(|(_, row)| !row.text.is_empty())
    }
}

impl Row {
    /// What stands in a place that is free. No URL has an empty text.
    fn gone() -> Self {
        Self {
            text: "".into(),
            rare: None,
            fetched: None,
            host: 0,
            referrer: 0,
            first_seen: 0,
            rule: 0,
            depth: 0,
            tries: 0,
            state: State::Gone,
            leased: false,
            requisite: false,
        }
    }
}
