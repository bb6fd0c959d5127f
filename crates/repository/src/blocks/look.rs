//! One look at a host: which of its waiting URLs come first, by their numbers.

use std::sync::Arc;

use hashbrown::HashSet;

use super::error::{Flaw, StoreError};
use super::front::ByHash;
use super::key::{Key, text_of};
use super::page::{Facts, Group, Text, Unpacker, grow, take_row};
use super::row::{DUE, MARK, SEQUENCE, SUPERSEDES, flags_of, state_of};
use super::run::RunFile;
use super::schedule::{Candidate, Schedule};
use super::store::Store;
use super::window::{Place, WindowOrder, mix};
use crate::row::State;

/// One look at a host chooses one in so many of its waiting URLs.
const SHARE: u64 = 32;

/// Parts of so many pages are kept while a host is looked at: a small host lies in a few pages, of
/// which each part is then read once.
const KEPT: usize = 32;

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
    texts: Kept,
    states: Kept,
    /// The store's, for as long as this lasts: to make one takes longer than to unpack a page.
    unpacker: Unpacker,
}

/// Parts of pages that were read, by run and page.
#[derive(Debug, Default)]
struct Kept(Vec<((u32, usize), Vec<u8>)>);

impl Kept {
    fn keep(&mut self, run: u32, page: usize, part: &[u8]) {
        if self.0.len() < KEPT {
            self.0.push(((run, page), part.to_vec()));
        }
    }

    fn get(&self, run: u32, page: usize) -> Option<&[u8]> {
        let found = self.0.iter().find(|(place, _)| *place == (run, page));
        found.map(|(_, part)| part.as_slice())
    }
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
            texts: Kept::default(),
            states: Kept::default(),
            unpacker: std::mem::take(&mut self.unpacker),
        };
        for at in self.blocks_of(hash) {
            let runs = self.blocks[at].runs.iter();
            look.runs.extend(runs.map(|run| (at, Arc::clone(run))));
        }
        let chosen = self.choose(&mut look, n, after);
        let chosen = chosen.and_then(|(choices, is_last)| {
            let last = choices.last().map(|choice| choice.place);
            Ok((self.read_texts(&mut look, choices)?, last, is_last))
        });
        self.unpacker = std::mem::take(&mut look.unpacker);
        let (candidates, last, is_last) = chosen.or_else(|error| {
            // Nobody can say what waits on this host, so nothing of it is handed out.
            self.damage.note(error)?;
            Ok((Vec::new(), None, true))
        })?;
        let version = self.version_of(hash);
        let schedule = Schedule::new(order.kind(), version, candidates);
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
        let mut buffer = Vec::new();
        let mut waiting = 0;
        for (number, (_, run)) in (0_u32..).zip(&look.runs) {
            run.whole()?;
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
                    let text = look.unpacker.unpack(&buffer);
                    let group = text.and_then(|text| group_of(text, look.host));
                    let group = group.map_err(|flaw| run.damaged(at, flaw))?;
                    group.map_or(0..0, |group| group.first_row..group.first_row + group.rows)
                };
                if !rows.is_empty() {
                    if !inside {
                        look.texts.keep(number, at, &buffer);
                    }
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
            look.states.keep(number, at, &buffer);
            let facts = Facts::read(&buffer).map_err(|flaw| run.damaged(at, flaw))?;
            for row in rows.start..rows.end.min(facts.rows()) {
                let mark = facts.cell(MARK, row);
                let supersedes = flags_of(mark) & SUPERSEDES != 0;
                let waits = state_of(mark) == State::Waiting;
                if !supersedes && !waits {
                    continue;
                }
                // A URL keeps its sequence number, so that tells which rows are outdated.
                let sequence = facts.cell(SEQUENCE, row);
                let outdated = !look.newer.is_empty() && look.newer.contains(&sequence);
                if supersedes {
                    look.newer.insert(sequence);
                }
                if outdated || !waits {
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
        look: &mut Look<'_>,
        mut choices: Vec<Choice>,
    ) -> Result<Vec<Candidate>, StoreError> {
        choices.sort_unstable_by_key(|choice| (choice.run, choice.page, choice.row));
        let mut candidates = Vec::with_capacity(choices.len());
        let unpacker = &mut look.unpacker;
        let (mut state, mut text) = (Vec::new(), Vec::new());
        for same in choices.chunk_by(|one, other| (one.run, one.page) == (other.run, other.page)) {
            let (block, run) = &look.runs[same[0].run as usize];
            let (number, at) = (same[0].run, same[0].page as usize);
            let state = match look.states.get(number, at) {
                Some(state) => state,
                None => {
                    run.read_state(at, &mut state)?;
                    &state
                }
            };
            let text = match look.texts.get(number, at) {
                Some(text) => text,
                None => {
                    run.read_text(at, &mut text)?;
                    &text
                }
            };
            let mut read = || -> Result<(), Flaw> {
                let facts = Facts::read(state)?;
                let group = group_of(unpacker.unpack(text)?, look.host)?;
                let mut tell = |choice: &Choice, rest: &[u8]| -> Result<(), Flaw> {
                    let (hash, host) = (look.hash, look.host);
                    let url_hash = Key { hash, host, rest }.url_hash();
                    let passing =
                        self.taken[*block].contains(url_hash) || self.leased.contains(&url_hash);
                    let row = choice.row as usize;
                    if row >= facts.rows() {
                        return Err(Flaw("text and state of a page have different rows"));
                    }
                    if !passing {
                        candidates.push(Candidate {
                            place: choice.place,
                            url: text_of(host, rest)?,
                            cells: facts.cells(row),
                            rare: facts.rare(row).to_vec(),
                        });
                    }
                    Ok(())
                };
                let told = group.map_or(Ok(0), |group| texts_in(group, same, &mut tell))?;
                if told == same.len() {
                    Ok(())
                } else {
                    Err(Flaw("the index does not tell what is in this page"))
                }
            };
            read().map_err(|flaw| run.damaged(at, flaw))?;
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
fn group_of<'t>(text: Text<'t>, host: &[u8]) -> Result<Option<Group<'t>>, Flaw> {
    let mut groups = text.groups();
    while let Some(group) = groups.next_group()? {
        if group.host == host {
            return Ok(Some(group));
        }
    }
    Ok(None)
}

/// Tells the text of each row that was chosen, which are in order; says of how many there is one.
fn texts_in(
    group: Group<'_>,
    choices: &[Choice],
    tell: &mut impl FnMut(&Choice, &[u8]) -> Result<(), Flaw>,
) -> Result<usize, Flaw> {
    let mut rests = group.rests;
    let mut text = Vec::new();
    let mut told = 0;
    for row in group.first_row..group.first_row + group.rows {
        let Some(choice) = choices.get(told) else {
            break;
        };
        let (shared, own) = take_row(&mut rests)?;
        grow(&mut text, shared, own)?;
        if choice.row as usize == row {
            tell(choice, &text)?;
            told += 1;
        }
    }
    Ok(told)
}
