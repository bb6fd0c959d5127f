//! The table of URL texts: equality of the text decides, never a hash alone.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::row::Row;

/// Rows in the order in which they were met, found by their text.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
    index: HashTable<u32>,
    key: u64,
}

impl Table {
    pub(crate) fn new(key: u64) -> Self {
        Self {
            rows: Vec::new(),
            index: HashTable::new(),
            key,
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
        let at =
            u32::try_from(self.rows.len()).expect("a table in memory has fewer than 2^32 rows");
        let hash = self.hash(&row.text);
        self.rows.push(row);
        let (rows, key) = (&self.rows, self.key);
        self.index.insert_unique(hash, at, |&other| {
            xxh3_64_with_seed(rows[other as usize].text.as_bytes(), key)
        });
        at
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn row(&self, at: u32) -> &Row {
        &self.rows[at as usize]
    }

    pub(crate) fn row_mut(&mut self, at: u32) -> &mut Row {
        &mut self.rows[at as usize]
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, &Row)> {
        (0..).zip(&self.rows)
    }
}
