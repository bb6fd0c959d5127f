//! A look at the files of waiting news: URLs that were called new at once, and whose block was not
//! visited since. They are handed out when the blocks have nothing more, so that a host that was
//! just met need not wait for a visit.

use std::sync::Arc;

use super::block::block_of;
use super::decoded::DecodedPage;
use super::delta::Delta;
use super::error::StoreError;
use super::lookup::merged;
use super::run::RunFile;
use super::schedule::{Candidate, Sorting};
use super::store::Store;
use super::window::{Slot, WindowOrder};

impl Store {
    /// Takes up URLs of a host from news that waits, oldest file first, until there are `n`. Says
    /// whether there is any.
    pub(crate) fn look_at_waiting(
        &mut self,
        host: &str,
        slot: Slot,
        n: usize,
        order: WindowOrder<'_>,
    ) -> Result<bool, StoreError> {
        let Some(waited) = self.schedules.get(&slot).map(|schedule| schedule.waited) else {
            return Ok(false);
        };
        let from = self.waiting.partition_point(|run| run.id <= waited);
        let runs: Vec<Arc<RunFile>> = self.waiting[from..].to_vec();
        let mut sorting = Sorting::default();
        let mut found = 0;
        let mut reached = waited;
        for run in runs {
            let read = self.read_waiting(&run, host.as_bytes(), slot.hash, order, |candidate| {
                found += 1;
                sorting.push(candidate, &self.disk)
            });
            read.or_else(|error| self.damage.note(error))?;
            reached = run.id;
            if found >= n {
                break;
            }
        }
        if let Some(schedule) = self.schedules.get_mut(&slot) {
            schedule.go_on(sorting, reached);
        }
        Ok(found > 0)
    }

    fn read_waiting(
        &self,
        run: &RunFile,
        host: &[u8],
        hash: u64,
        order: WindowOrder<'_>,
        mut tell: impl FnMut(Candidate) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        run.whole()?;
        // Most pages are only about links that a visit will decide, and are left unread.
        let pages = run.pages_of(hash, hash);
        let pages: Vec<usize> = pages.filter(|&at| run.index[at].waiting > 0).collect();
        let mut page = DecodedPage::default();
        for number in pages {
            let mut pages = run.read_pages(number..number + 1);
            let Some(parts) = pages.next_page()? else {
                continue;
            };
            let damaged = |flaw| run.damaged(parts.number, flaw);
            page.load(self.disk.config.key, parts.state, parts.text)
                .map_err(damaged)?;
            for at in 0..page.len() {
                let key = page.key(at);
                let delta = Delta::read(page.cells(at));
                if key.host != host || !delta.may_be_handed_out() {
                    continue;
                }
                let url_hash = key.url_hash();
                let block = block_of(&self.blocks, &key);
                let passing = self.blocks[block].visited >= run.id
                    || self.taken[block].contains(url_hash)
                    || self.leased.contains(&url_hash);
                if !passing {
                    let row = merged(None, delta, page.rare(at));
                    tell(Candidate {
                        place: order.place(
                            |column| row.cells[column],
                            |sequence| self.first_seen(sequence),
                            || u32::try_from(key.rest.len()).unwrap_or(u32::MAX),
                        ),
                        url: key.text().map_err(damaged)?,
                        cells: row.cells,
                        rare: row.rare,
                    })?;
                }
            }
        }
        Ok(())
    }
}
