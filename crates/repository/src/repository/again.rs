//! Again: a run begins that visits everything once more, or pages get their next visit.
//!
//! ```text
//! every URL ──> "no link has led here in this run" ──> a seed, or a link of a page ──> waits
//!                                                └──> when nothing else waits: the sweep ──> waits
//! ```
//!
//! So each run finds its own way from the seeds, and a URL's depth is that of the run. What no link
//! leads to any more is visited last: only so is it found to be gone.

use std::ops::ControlFlow;
use std::time::Duration;

use teia_base::Outcome;
use teia_base::journal::Exclusion;

use super::Repository;
use super::disk::{moment, seconds};
use crate::blocks::{ScanPlace, Stands, StoreError};
use crate::host::Stored;
use crate::row::{State, UrlState};

/// What leaves a URL out that was visited in an earlier run, until a link of this one leads to it.
fn not_met_yet() -> Exclusion {
    Exclusion {
        outcome: Outcome::OUT_OF_SCOPE,
        rule: "visited in an earlier run; no link of this run has led here yet".to_owned(),
    }
}

/// URLs that are told to the store at once, each with what is known of it: as many as a small part of the memory holds.
pub(super) struct Batch<T> {
    pub(super) urls: Vec<(String, T)>,
    room: u64,
}

impl<T> Batch<T> {
    pub(super) fn push(&mut self, url: &str, known: T) -> ControlFlow<()> {
        self.urls.push((url.to_owned(), known));
        self.room = self.room.saturating_sub(url.len() as u64 + 64);
        if self.is_full() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.room == 0
    }
}

impl UrlState {
    /// Whether it waits for a link of this run, or for the sweep at its end. One that a link leads to
    /// beyond the rules has a depth.
    pub fn waits_for_sweep(&self) -> bool {
        self.exclusion.as_ref() == Some(&not_met_yet())
    }
}

impl Repository {
    pub(super) fn batch<T>(&self) -> Batch<T> {
        let memory = self.backing.as_ref().map_or(0, |backing| backing.memory);
        Batch {
            urls: Vec::new(),
            room: (memory / 16).max(64 << 10),
        }
    }

    /// A run begins that visits everything again, and finds its own way to it.
    pub fn begin_again(&mut self) {
        let rule = self.intern_rule(&not_met_yet());
        if self.disk.is_some() {
            if let (Err(error), Some(disk)) = (self.try_again(rule), &self.disk) {
                disk.fail(error);
            }
            return;
        }
        self.forget_links();
        for at in 0..self.table.places() {
            let row = self.table.row_mut(at);
            row.depth = u16::MAX;
            if row.state == State::Excluded {
                continue;
            }
            row.tries = 0;
            row.rule = rule;
            if let Some(rare) = &mut row.rare {
                rare.due = None;
                rare.chain = None;
            }
            row.rare = row.rare.take().filter(|rare| rare.is_needed());
            self.set_state(at, State::Excluded);
        }
    }

    /// A run begins that never ends by itself: what was visited and has no next visit yet gets one,
    /// so long after the last.
    pub fn begin_revisits(&mut self, interval: Duration) {
        if self.disk.is_some() {
            if let (Err(error), Some(disk)) = (self.try_revisits(interval), &self.disk) {
                disk.fail(error);
            }
            return;
        }
        for at in 0..self.table.places() {
            let row = self.table.row_mut(at);
            let is_over = matches!(row.state, State::Fetched | State::Failed | State::Gone);
            if let Some(fetched) = row.fetched.as_ref().filter(|_| is_over) {
                let due = fetched.last_attempt.plus(interval);
                row.tries = 0;
                self.visit_later(at, due);
            }
        }
    }

    fn try_revisits(&mut self, interval: Duration) -> Result<(), StoreError> {
        self.fold_whole()?;
        let mut place = ScanPlace::default();
        let mut is_end = false;
        while !is_end {
            let mut batch = self.batch();
            let Some(disk) = &mut self.disk else {
                return Ok(());
            };
            let is_over = |state| matches!(state, State::Fetched | State::Failed | State::Gone);
            is_end = disk.store.scan_on(&mut place, is_over, |url, known| {
                let last = known.rare.visited.as_ref().map_or(0, |it| it.last_attempt);
                batch.push(url, (known.state, last))
            })?;
            for (url, (state, last)) in &batch.urls {
                let due = seconds(moment(*last).plus(interval)).saturating_add(1);
                let stands = Stands {
                    due,
                    ..Stands::default()
                };
                disk.store.stand(url, stands);
                disk.expect(*state, -1);
                disk.expect(State::Waiting, 1);
            }
            self.fold_whole()?;
        }
        self.find_hosts()
    }

    /// Brings everything into the blocks. A block that cannot be visited would be found as it was, again and again.
    fn fold_whole(&mut self) -> Result<(), StoreError> {
        self.fold_everything()?;
        let disk = self.disk.as_mut();
        let damaged = disk.map(|disk| &mut disk.damaged);
        let damage = damaged.and_then(|all| {
            let at = all.iter().position(|damage| !damage.is_mended())?;
            Some(all.swap_remove(at))
        });
        damage.map_or(Ok(()), Err)
    }

    /// In steps, so that memory holds a bounded number of them.
    fn try_again(&mut self, rule: u32) -> Result<(), StoreError> {
        // What waits in memory is on disk too.
        let rows: Vec<u32> = self.table.rows().map(|(at, _)| at).collect();
        for at in rows {
            self.let_go(at);
        }
        self.fold_whole()?;
        let mut place = ScanPlace::default();
        let mut is_end = false;
        while !is_end {
            let mut batch = self.batch();
            let Some(disk) = &mut self.disk else {
                return Ok(());
            };
            let is_in = |state| state != State::Excluded;
            is_end = disk
                .store
                .scan_on(&mut place, is_in, |url, known| batch.push(url, known.state))?;
            for (url, state) in &batch.urls {
                disk.store.again(url, rule);
                disk.expect(*state, -1);
                disk.expect(State::Excluded, 1);
            }
            self.fold_whole()?;
        }
        for host in &mut self.hosts {
            host.waiting = 0;
            host.stored = Stored::Nothing;
            host.stored_again = Stored::Nothing;
            host.queue.clear();
            host.again.clear();
            host.later.clear();
        }
        self.find_hosts()
    }
}
