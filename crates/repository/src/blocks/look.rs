//! One look at a host: which of its waiting URLs come first, by their numbers.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashSet;

use super::block::Disk;
use super::error::{Flaw, StoreError};
use super::front::ByHash;
use super::key::{Key, text_of};
use super::lookup::second_of;
use super::page::{Facts, Group, Text, Unpacker, grow, take_row};
use super::row::{DUE, MARK, SEQUENCE, SUPERSEDES, flags_of, state_of};
use super::run::RunFile;
use super::schedule::{Candidate, Sorting};
use super::taken::Taken;
use super::window::{Part, Place, Slot, WindowOrder};
use crate::row::State;

/// One look at a host chooses one in so many of the rows that it goes through, whether they wait or not: so
/// the last of a host cost no more reading than the first.
const SHARE: u64 = 32;

/// And no more than this, for what it takes to put them in order.
const MOST: usize = 1 << 19;

/// Parts of so many pages are kept while a host is looked at: a small host lies in a few pages, of
/// which each part is then read once.
const KEPT: usize = 32;

/// A row that was chosen by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Choice {
    pub(crate) place: Place,
    run: u32,
    page: u32,
    row: u32,
}

/// A run that is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    pub(crate) block: usize,
    pub(crate) run: Arc<RunFile>,
    /// The oldest of its block: none of its rows replaces another one.
    pub(crate) is_base: bool,
}

/// What one look at a host works with.
pub(crate) struct Look<'a> {
    host: &'a [u8],
    hash: u64,
    part: Part,
    now: u32,
    order: WindowOrder<'a>,
    disk: &'a Disk,
    /// From which sequence number on URLs were met in which second.
    epochs: &'a [(u64, u32)],
    /// What is not to be chosen, where that is at hand: it is asked again when a URL is handed out.
    held: Option<Held<'a>>,
    /// Runs of the host's blocks, oldest first within each block.
    runs: Vec<Looked>,
    /// Tell of every row, because it may replace one that was chosen before.
    pub(crate) tells_all: bool,
    /// A URL was taken for one that was handed out, by four bytes of a hash.
    pub(crate) passed_over: bool,
    /// When the next URL that is not due yet will be.
    pub(crate) until: u32,
    /// Sequence numbers of URLs with a newer row than those still to be looked at.
    newer: HashSet<u64, ByHash>,
    texts: Kept,
    states: Kept,
    /// The store's, for as long as this lasts: to make one takes longer than to unpack a page.
    unpacker: &'a mut Unpacker,
}

/// URLs that were handed out and not folded in since.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a> {
    pub(crate) taken: &'a [Taken],
    pub(crate) leased: &'a HashSet<u64, ByHash>,
}

/// Rows of a host in a page of a run, and how long their texts are where that is asked for.
#[derive(Debug)]
pub(crate) struct Span {
    run: u32,
    page: usize,
    rows: Range<usize>,
    lengths: Vec<u32>,
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

impl<'a> Look<'a> {
    /// A look at a host that has read nothing yet.
    pub(crate) fn new(
        (host, slot): (&'a str, Slot),
        now: u32,
        order: WindowOrder<'a>,
        (disk, epochs): (&'a Disk, &'a [(u64, u32)]),
        held: Option<Held<'a>>,
        unpacker: &'a mut Unpacker,
    ) -> Self {
        Self {
            host: host.as_bytes(),
            hash: slot.hash,
            part: slot.part,
            now,
            order,
            disk,
            epochs,
            held,
            runs: Vec::new(),
            tells_all: false,
            passed_over: false,
            until: u32::MAX,
            newer: HashSet::default(),
            texts: Kept::default(),
            states: Kept::default(),
            unpacker,
        }
    }

    /// Goes on with these runs.
    pub(crate) fn turn_to(&mut self, runs: Vec<Looked>) {
        self.runs = runs;
        self.texts = Kept::default();
        self.states = Kept::default();
    }

    /// Finds the rows of a host.
    pub(crate) fn spans(&mut self) -> Result<(Vec<Span>, u64), StoreError> {
        let mut spans = Vec::new();
        let mut buffer = Vec::new();
        let mut all = 0;
        let wants_lengths = self.order.goes_by_length();
        for (number, looked) in (0_u32..).zip(&self.runs) {
            let run = &looked.run;
            run.whole()?;
            for at in run.pages_of(self.hash, self.hash) {
                let entry = &run.index[at];
                let inside = entry.first_hash == self.hash
                    && run
                        .index
                        .get(at + 1)
                        .is_some_and(|next| next.first_hash == self.hash)
                    && at > 0
                    && run.index[at - 1].first_hash == self.hash;
                if looked.is_base && (entry.waiting == 0 || !self.is_due(entry.least_due)) {
                    // Nothing of it is due, and nothing in it replaces another row.
                    self.until = self.until.min(entry.least_due);
                    all += u64::from(inside) * u64::from(entry.rows);
                    continue;
                }
                let mut lengths = Vec::new();
                let rows = if inside && !wants_lengths {
                    0..entry.rows as usize
                } else {
                    run.read_text(at, &mut buffer)?;
                    let text = self.unpacker.unpack(&buffer);
                    let group = text.and_then(|text| group_of(text, self.host));
                    let group = group.map_err(|flaw| run.damaged(at, flaw))?;
                    if let Some(group) = group.filter(|_| wants_lengths) {
                        lengths = lengths_of(group).map_err(|flaw| run.damaged(at, flaw))?;
                    }
                    group.map_or(0..0, |group| group.first_row..group.first_row + group.rows)
                };
                if !rows.is_empty() {
                    if !inside {
                        self.texts.keep(number, at, &buffer);
                    }
                    all += rows.len() as u64;
                    spans.push(Span {
                        run: number,
                        page: at,
                        rows,
                        lengths,
                    });
                }
            }
        }
        Ok((spans, all))
    }

    fn is_due(&self, due: u32) -> bool {
        self.disk.longest_wait.is_over_at(due, self.now)
    }

    /// Goes through rows of a host, and tells of those that are due and of no newer row; or of all of them.
    /// Newest runs first: they tell which rows of the older ones are outdated.
    pub(crate) fn walk(
        &mut self,
        spans: Vec<Span>,
        mut tell: impl FnMut(u64, Option<Choice>),
    ) -> Result<(), StoreError> {
        let mut buffer = Vec::new();
        let epochs = self.epochs;
        for span in spans.into_iter().rev() {
            let run = &self.runs[span.run as usize].run;
            run.read_state(span.page, &mut buffer)?;
            self.states.keep(span.run, span.page, &buffer);
            let facts = Facts::read(&buffer).map_err(|flaw| run.damaged(span.page, flaw))?;
            for row in span.rows.start..span.rows.end.min(facts.rows()) {
                let mark = facts.cell(MARK, row);
                let supersedes = flags_of(mark) & SUPERSEDES != 0;
                let waits = state_of(mark) == State::Waiting && self.part.holds(mark);
                if !supersedes && !waits && !self.tells_all {
                    continue;
                }
                // A URL keeps its sequence number, so that tells which rows are outdated.
                let sequence = facts.cell(SEQUENCE, row);
                let outdated = !self.newer.is_empty() && self.newer.contains(&sequence);
                if supersedes {
                    self.newer.insert(sequence);
                }
                let mut choice = None;
                if waits && !outdated {
                    let due = u32::try_from(facts.cell(DUE, row)).unwrap_or(u32::MAX);
                    if !self.is_due(due) {
                        self.until = self.until.min(due);
                    } else {
                        let length = span.lengths.get(row - span.rows.start).copied();
                        let mut place = self.order.place(
                            |column| facts.cell(column, row),
                            |sequence| second_of(epochs, sequence),
                            || length.unwrap_or(0),
                        );
                        if self.order.prefers_neighbours() {
                            // The same in another look, for as long as there is this run.
                            place.2 = (run.id << 36) | ((span.page as u64) << 16) | row as u64;
                        }
                        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                        choice = Some(Choice {
                            place,
                            run: span.run,
                            page: narrow(span.page),
                            row: narrow(row),
                        });
                    }
                }
                if choice.is_some() || self.tells_all {
                    tell(sequence, choice);
                }
            }
        }
        Ok(())
    }

    /// Goes through the numbers of a host's URLs and keeps the first in order.
    pub(crate) fn choose(&mut self, n: usize, after: Option<Place>) -> Result<Choices, StoreError> {
        let (spans, rows) = self.spans()?;
        let share = usize::try_from(rows / SHARE).unwrap_or(MOST).min(MOST);
        let most = share.max(n).max(1);
        let mut choices: Vec<Choice> = Vec::new();
        let mut is_all = true;
        self.walk(spans, |_, choice| {
            let is_later = |choice: &Choice| after.is_none_or(|after| choice.place > after);
            choices.extend(choice.filter(is_later));
            if choices.len() >= 2 * most + 1024 {
                choices.select_nth_unstable(most);
                choices.truncate(most);
                is_all = false;
            }
        })?;
        choices.sort_unstable();
        if choices.len() > most {
            choices.truncate(most);
            is_all = false;
        }
        Ok(Choices {
            first: choices,
            is_all,
            rows,
        })
    }

    /// Unpacks the pages of what was chosen, and drops what is not to be handed out.
    pub(crate) fn read_texts(&mut self, choices: Vec<Choice>) -> Result<Sorting, StoreError> {
        let mut sorting = Sorting::default();
        match self.sort_texts(choices, &mut sorting) {
            Ok(()) => Ok(sorting),
            Err(error) => {
                sorting.remove(self.disk);
                Err(error)
            }
        }
    }

    pub(crate) fn sort_texts(
        &mut self,
        mut choices: Vec<Choice>,
        sorting: &mut Sorting,
    ) -> Result<(), StoreError> {
        choices.sort_unstable_by_key(|choice| (choice.run, choice.page, choice.row));
        let mut candidates = Vec::new();
        let mut passed_over = false;
        let held = self.held;
        let unpacker = &mut *self.unpacker;
        let (mut state, mut text) = (Vec::new(), Vec::new());
        for same in choices.chunk_by(|one, other| (one.run, one.page) == (other.run, other.page)) {
            let Looked { block, run, .. } = &self.runs[same[0].run as usize];
            let (number, at) = (same[0].run, same[0].page as usize);
            let state = match self.states.get(number, at) {
                Some(state) => state,
                None => {
                    run.read_state(at, &mut state)?;
                    &state
                }
            };
            let text = match self.texts.get(number, at) {
                Some(text) => text,
                None => {
                    run.read_text(at, &mut text)?;
                    &text
                }
            };
            let mut read = || -> Result<(), Flaw> {
                let facts = Facts::read(state)?;
                let group = group_of(unpacker.unpack(text)?, self.host)?;
                let mut tell = |choice: &Choice, rest: &[u8]| -> Result<(), Flaw> {
                    let (hash, host) = (self.hash, self.host);
                    let url_hash = Key { hash, host, rest }.url_hash();
                    let is_taken = held.is_some_and(|it| it.taken[*block].contains(url_hash));
                    let is_leased = held.is_some_and(|it| it.leased.contains(&url_hash));
                    let passing = is_taken || is_leased;
                    passed_over |= is_taken;
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
            for candidate in candidates.drain(..) {
                sorting.push(candidate, self.disk)?;
            }
        }
        self.passed_over |= passed_over;
        Ok(())
    }
}

/// What a look chose.
pub(crate) struct Choices {
    /// In order.
    pub(crate) first: Vec<Choice>,
    /// Whether nothing was left out.
    pub(crate) is_all: bool,
    /// Rows of the host.
    pub(crate) rows: u64,
}

/// How long the texts of these rows are.
fn lengths_of(group: Group<'_>) -> Result<Vec<u32>, Flaw> {
    let mut rests = group.rests;
    let mut lengths = Vec::with_capacity(group.rows);
    for _ in 0..group.rows {
        let (shared, own) = take_row(&mut rests)?;
        lengths.push(u32::try_from(shared + own.len()).unwrap_or(u32::MAX));
    }
    Ok(lengths)
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
