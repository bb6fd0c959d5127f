//! A page unpacked row by row, in buffers that are used again.

use std::cmp::Ordering;
use std::ops::Range;

use super::error::Flaw;
use super::key::{Key, host_hash};
use super::page::{Cells, Facts, Text, Unpacker, take_row};

/// The rows of a page. Filled again and again without new allocations.
#[derive(Debug, Default)]
pub(crate) struct DecodedPage {
    rows: Vec<RowAt>,
    texts: Vec<u8>,
    cells: Vec<Cells>,
    rares: Vec<(usize, Range<usize>)>,
    rare: Vec<u8>,
    unpacker: Unpacker,
}

#[derive(Clone, Copy, Debug)]
struct RowAt {
    hash: u64,
    host: (u32, u32),
    rest: (u32, u32),
}

impl DecodedPage {
    /// Unpacks both parts of a page.
    pub(crate) fn load(&mut self, key: u64, state: &[u8], text: &[u8]) -> Result<(), Flaw> {
        self.load_text(key, text)?;
        self.load_state(state)
    }

    /// Unpacks both parts of a page with an unpacker that several pages share.
    pub(crate) fn load_with(
        &mut self,
        unpacker: &mut Unpacker,
        key: u64,
        state: &[u8],
        text: &[u8],
    ) -> Result<(), Flaw> {
        self.load_groups(unpacker.unpack(text)?, key)?;
        self.load_state(state)
    }

    /// Unpacks the states of a page whose text is unpacked.
    pub(crate) fn load_state(&mut self, state: &[u8]) -> Result<(), Flaw> {
        let facts = Facts::read(state)?;
        if facts.rows() != self.rows.len() {
            return Err(Flaw("text and state of a page have different rows"));
        }
        facts.all_cells(&mut self.cells);
        self.rares.clear();
        self.rare.clear();
        for (row, rare) in facts.rares() {
            let start = self.rare.len();
            self.rare.extend_from_slice(rare);
            self.rares.push((row, start..self.rare.len()));
        }
        Ok(())
    }

    /// Unpacks the text alone.
    pub(crate) fn load_text(&mut self, key: u64, text: &[u8]) -> Result<(), Flaw> {
        let mut unpacker = std::mem::take(&mut self.unpacker);
        let unpacked = unpacker.unpack(text);
        let loaded = unpacked.and_then(|text| self.load_groups(text, key));
        self.unpacker = unpacker;
        loaded
    }

    fn load_groups(&mut self, text: Text<'_>, key: u64) -> Result<(), Flaw> {
        self.rows.clear();
        self.texts.clear();
        let mut groups = text.groups();
        while let Some(mut group) = groups.next_group()? {
            let hash = host_hash(key, group.host);
            let host = add_text(&mut self.texts, group.host)?;
            let mut rest = (host.1, host.1);
            for _ in 0..group.rows {
                let (shared, own) = take_row(&mut group.rests)?;
                rest = add_row(&mut self.texts, rest, shared, own)?;
                self.rows.push(RowAt { hash, host, rest });
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    pub(crate) fn key(&self, row: usize) -> Key<'_> {
        let at = &self.rows[row];
        Key {
            hash: at.hash,
            host: &self.texts[at.host.0 as usize..at.host.1 as usize],
            rest: &self.texts[at.rest.0 as usize..at.rest.1 as usize],
        }
    }

    /// Whether the URL would lie between the first and the last row.
    pub(crate) fn spans(&self, key: &Key<'_>) -> bool {
        let last = self.len().checked_sub(1);
        last.is_some_and(|last| self.key(0) <= *key && *key <= self.key(last))
    }

    /// The row of this URL.
    pub(crate) fn find(&self, key: &Key<'_>) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.key(middle).cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// How many rows are of hosts with hashes below this one.
    pub(crate) fn rows_before(&self, hash: u64) -> usize {
        self.rows.partition_point(|row| row.hash < hash)
    }

    /// Whether a row is of the same host as the one before it.
    #[inline]
    pub(crate) fn shares_host(&self, row: usize) -> bool {
        row > 0 && self.rows[row - 1].host == self.rows[row].host
    }

    #[inline]
    pub(crate) fn cells(&self, row: usize) -> &Cells {
        &self.cells[row]
    }

    pub(crate) fn rare(&self, row: usize) -> &[u8] {
        if self.rares.is_empty() {
            return &[];
        }
        match self.rares.binary_search_by_key(&row, |(row, _)| *row) {
            Ok(at) => &self.rare[self.rares[at].1.clone()],
            Err(_) => &[],
        }
    }
}

/// Appends a text, and says where it is.
pub(crate) fn add_text(texts: &mut Vec<u8>, text: &[u8]) -> Result<(u32, u32), Flaw> {
    let start = narrow(texts.len())?;
    texts.extend_from_slice(text);
    Ok((start, narrow(texts.len())?))
}

/// Appends a row's text, made out of the one before it, and says where it is.
#[inline]
pub(crate) fn add_row(
    texts: &mut Vec<u8>,
    before: (u32, u32),
    shared: usize,
    own: &[u8],
) -> Result<(u32, u32), Flaw> {
    let from = before.0 as usize;
    if shared > before.1 as usize - from {
        return Err(Flaw("a row shares more than there is"));
    }
    let start = narrow(texts.len())?;
    texts.extend_from_within(from..from + shared);
    texts.extend_from_slice(own);
    Ok((start, narrow(texts.len())?))
}

fn narrow(len: usize) -> Result<u32, Flaw> {
    u32::try_from(len).map_err(|_| Flaw("texts of more than 4 GiB"))
}
