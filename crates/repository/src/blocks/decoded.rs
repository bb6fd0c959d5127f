//! A page unpacked row by row, in buffers that are used again.

use std::ops::Range;

use super::error::Flaw;
use super::key::{Key, host_hash};
use super::page::{Cells, Facts, Unpacker, grow, take_row};

/// The rows of a page. Filled again and again without new allocations.
#[derive(Debug, Default)]
pub(crate) struct DecodedPage {
    rows: Vec<RowAt>,
    texts: Vec<u8>,
    cells: Vec<Cells>,
    rares: Vec<(usize, Range<usize>)>,
    rare: Vec<u8>,
    last: Vec<u8>,
    unpacker: Unpacker,
}

#[derive(Clone, Copy, Debug)]
struct RowAt {
    hash: u64,
    host: (usize, usize),
    rest: (usize, usize),
}

impl DecodedPage {
    /// Unpacks both parts of a page.
    pub(crate) fn load(&mut self, key: u64, state: &[u8], text: &[u8]) -> Result<(), Flaw> {
        self.load_text(key, text)?;
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
        self.rows.clear();
        self.texts.clear();
        let mut groups = self.unpacker.unpack(text)?.groups();
        while let Some(mut group) = groups.next_group()? {
            let hash = host_hash(key, group.host);
            let host = self.texts.len();
            self.texts.extend_from_slice(group.host);
            let host = (host, self.texts.len());
            self.last.clear();
            for _ in 0..group.rows {
                let (shared, own) = take_row(&mut group.rests)?;
                grow(&mut self.last, shared, own)?;
                let start = self.texts.len();
                self.texts.extend_from_slice(&self.last);
                self.rows.push(RowAt {
                    hash,
                    host,
                    rest: (start, self.texts.len()),
                });
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
            host: &self.texts[at.host.0..at.host.1],
            rest: &self.texts[at.rest.0..at.rest.1],
        }
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
