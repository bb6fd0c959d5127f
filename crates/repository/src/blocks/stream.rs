//! The rows of a run, one after another.

use std::ops::Range;

use super::decoded::DecodedPage;
use super::error::StoreError;
use super::key::Key;
use super::page::Cells;
use super::run::{Pages, RunFile};

/// Goes through pages of a run row by row.
#[derive(Debug)]
pub(crate) struct RowStream<'r> {
    run: &'r RunFile,
    pages: Pages<'r>,
    page: DecodedPage,
    row: usize,
    /// Rows of the page that are within the bounds.
    end: usize,
    /// Hosts with this hash and beyond are left out.
    before: Option<u64>,
    key: u64,
}

impl<'r> RowStream<'r> {
    /// Stands on the first row of these pages, if there is one.
    pub(crate) fn open(
        run: &'r RunFile,
        pages: Range<usize>,
        key: u64,
    ) -> Result<Self, StoreError> {
        Self::open_before(run, pages, None, key)
    }

    fn open_before(
        run: &'r RunFile,
        pages: Range<usize>,
        before: Option<u64>,
        key: u64,
    ) -> Result<Self, StoreError> {
        run.whole()?;
        let mut stream = Self {
            run,
            pages: run.read_pages(pages),
            page: DecodedPage::default(),
            row: 0,
            end: 0,
            before,
            key,
        };
        stream.load()?;
        Ok(stream)
    }

    /// Stands on the first row of the hosts with hashes in this range, if there is one.
    pub(crate) fn of_hosts(
        run: &'r RunFile,
        from: u64,
        before: Option<u64>,
        key: u64,
    ) -> Result<Self, StoreError> {
        let pages = run.pages_of(from, before.unwrap_or(u64::MAX));
        let mut stream = Self::open_before(run, pages, before, key)?;
        while stream.has_row() && stream.key().hash < from {
            stream.advance()?;
        }
        Ok(stream)
    }

    /// Whether there is a row.
    #[inline]
    pub(crate) fn has_row(&self) -> bool {
        self.row < self.end
    }

    #[inline]
    pub(crate) fn key(&self) -> Key<'_> {
        self.page.key(self.row)
    }

    #[inline]
    pub(crate) fn cells(&self) -> &Cells {
        self.page.cells(self.row)
    }

    pub(crate) fn rare(&self) -> &[u8] {
        self.page.rare(self.row)
    }

    /// Goes to the next row.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<(), StoreError> {
        self.row += 1;
        if self.row >= self.end {
            self.load()?;
        }
        Ok(())
    }

    fn load(&mut self) -> Result<(), StoreError> {
        self.row = 0;
        loop {
            let Some(parts) = self.pages.next_page()? else {
                self.page = DecodedPage::default();
                self.end = 0;
                return Ok(());
            };
            let number = parts.number;
            self.page
                .load(self.key, parts.state, parts.text)
                .map_err(|flaw| self.run.damaged(number, flaw))?;
            self.end = match self.before {
                Some(before) => self.page.rows_before(before),
                None => self.page.len(),
            };
            if self.end > 0 {
                return Ok(());
            }
        }
    }
}
