//! One look at a host: which of its waiting URLs come first, by their numbers.

use std::sync::Arc;

use hashbrown::HashSet;

use super::decoded::DecodedPage;
use super::error::{Flaw, StoreError};
use super::front::ByHash;
use super::page::Facts;
use super::row::{DUE, MARK, SEQUENCE, SUPERSEDES, flags_of, state_of};
use super::run::RunFile;
use super::schedule::{Candidate, Schedule};
use super::store::Store;
use super::window::{Place, WindowOrder, mix};
use crate::row::State;

/// One look at a host chooses one in so many of its waiting URLs.
const SHARE: u64 = 32;

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
    /// Sequence numbers of URLs with a newer row than those still to be looked at.
    newer: HashSet<u64, ByHash>,
}

impl Store {
    /// Tells one look at a host from another one after more was folded in.
    pub(crate) fn version_of(&self, hash: u64) -> u64 {
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
    pub(crate) fn look(
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
            newer: HashSet::default(),
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
        // Newest runs first: they tell which rows of the older ones are outdated.
        for (number, at, rows) in spans.into_iter().rev() {
            let run = &look.runs[number as usize].1;
            run.read_state(at, &mut buffer)?;
            let facts = Facts::read(&buffer).map_err(|flaw| run.damaged(at, flaw))?;
            for row in rows.start..rows.end.min(facts.rows()) {
                let mark = facts.cell(MARK, row);
                // A URL keeps its sequence number, so that tells which rows are outdated.
                let outdated =
                    !look.newer.is_empty() && look.newer.contains(&facts.cell(SEQUENCE, row));
                if flags_of(mark) & SUPERSEDES != 0 {
                    look.newer.insert(facts.cell(SEQUENCE, row));
                }
                if outdated {
                    continue;
                }
                if state_of(mark) != State::Waiting {
                    continue;
                }
                let due = u32::try_from(facts.cell(DUE, row)).unwrap_or(u32::MAX);
                if due > look.now {
                    look.until = look.until.min(due);
                    continue;
                }
                let cell = |column| facts.cell(column, row);
                let mut place = look.order.place(cell, |sequence| self.first_seen(sequence));
                if look.order.prefers_neighbours() {
                    place.2 = (u64::from(number) << 48) | ((at as u64) << 16) | row as u64;
                }
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
            let passing = key.host != look.host
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
