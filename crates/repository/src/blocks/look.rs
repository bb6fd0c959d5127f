//! One look at a host: which of its waiting URLs come first, by their numbers.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashSet;

use super::block::{Block, Disk, bounds_of};
use super::error::{Flaw, StoreError};
use super::front::ByHash;
use super::key::{Key, OwnedKey, text_of};
use super::lookup::second_of;
use super::page::{Facts, Group, Text, Unpacker, grow, take_row};
use super::pending::Bounds;
use super::row::{DUE, MARK, SEQUENCE, SUPERSEDES, flags_of, state_of};
use super::run::RunFile;
use super::schedule::{Candidate, Schedule, Sorting};
use super::store::Store;
use super::taken::Taken;
use super::window::{Part, Place, Slot, WindowOrder, mix};
use crate::row::State;

/// One look at a host chooses one in so many of the rows that it goes through, whether they wait or not: so
/// the last of a host cost no more reading than the first.
const SHARE: u64 = 32;

/// And no more than this, for what it takes to put them in order.
const MOST: usize = 1 << 19;

/// What was chosen is kept for so many hosts.
const MOST_SCHEDULES: usize = 4096;

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

/// A run that is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    block: usize,
    run: Arc<RunFile>,
    /// The oldest of its block: none of its rows replaces another one.
    is_base: bool,
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
    tells_all: bool,
    /// A URL was taken for one that was handed out, by four bytes of a hash.
    passed_over: bool,
    /// When the next URL that is not due yet will be.
    until: u32,
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
    taken: &'a [Taken],
    leased: &'a HashSet<u64, ByHash>,
}

/// Rows of a host in a page of a run, and how long their texts are where that is asked for.
#[derive(Debug)]
struct Span {
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

    /// Where each block of a host begins, and its oldest run.
    fn bases_of(&self, hash: u64) -> Vec<(OwnedKey, u64)> {
        let blocks = self.blocks_of(hash).map(|at| &self.blocks[at]);
        let base = |block: &Block| block.runs.first().map_or(0, |run| run.id);
        blocks
            .map(|block| (block.lower.clone(), base(block)))
            .collect()
    }

    /// The runs of a host's blocks, oldest first within each block.
    fn runs_of(&self, hash: u64) -> Vec<Looked> {
        let mut runs = Vec::new();
        for block in self.blocks_of(hash) {
            for (number, run) in self.blocks[block].runs.iter().enumerate() {
                runs.push(Looked {
                    block,
                    run: Arc::clone(run),
                    is_base: number == 0,
                });
            }
        }
        runs
    }

    /// Chooses URLs of a host and keeps them aside in order; one with very many URLs is looked at on another
    /// thread. Says whether there is any now.
    pub(crate) fn look(
        &mut self,
        host: &str,
        slot: Slot,
        n: usize,
        order: WindowOrder<'_>,
        now: u32,
        after: Option<Place>,
    ) -> Result<bool, StoreError> {
        let plan = Plan {
            slot,
            n,
            now,
            after,
            kind: order.kind(),
            version: self.version_of(slot.hash),
            bases: self.bases_of(slot.hash),
            runs: self.runs_of(slot.hash),
        };
        if plan.rows() > self.disk.config.look_rows {
            self.look_aside(host, plan, order);
            return Ok(false);
        }
        let mut unpacker = std::mem::take(&mut self.unpacker);
        let held = Held {
            taken: &self.taken,
            leased: &self.leased,
        };
        let epochs = &self.epochs;
        let found = plan.run(host, order, &self.disk, epochs, Some(held), &mut unpacker);
        self.unpacker = unpacker;
        self.finish_look(plan, found)
    }

    /// Keeps aside what a look has chosen. Says whether there is any.
    pub(crate) fn finish_look(
        &mut self,
        plan: Plan,
        found: Result<Found, StoreError>,
    ) -> Result<bool, StoreError> {
        let found = found.or_else(|error| {
            // Nobody can say what waits on this host, so nothing of it is handed out.
            self.damage.note(error)?;
            Ok(Found {
                is_last: true,
                until: u32::MAX,
                ..Found::default()
            })
        })?;
        // A look that goes on does not come back to those before it.
        let before = self.schedules.get(&plan.slot);
        let before = before.filter(|_| plan.after.is_some());
        let passed_over = before.and_then(|schedule| schedule.passed_over);
        let mut schedule = Schedule::new(plan.kind, found.sorting);
        schedule.version = plan.version;
        schedule.bases = plan.bases;
        schedule.seen = plan.runs.iter().map(|looked| looked.run.id).collect();
        schedule.last = found.last.or(plan.after);
        schedule.is_last = found.is_last;
        schedule.until = found.until;
        schedule.now = plan.now;
        schedule.rows = found.rows;
        schedule.passed_over = passed_over.or(found.passed_over.then_some(schedule.version));
        self.put_schedule(plan.slot, schedule);
        self.drop_least_schedules();
        Ok(found.last.is_some() || !found.is_last)
    }

    /// Bounded; those that are dropped are chosen anew. The larger a host, the dearer that is.
    fn drop_least_schedules(&mut self) {
        if self.schedules.len() <= MOST_SCHEDULES {
            return;
        }
        let mut slots: Vec<(u64, Slot)> = self
            .schedules
            .iter()
            .map(|(slot, schedule)| (schedule.rows, *slot))
            .collect();
        slots.select_nth_unstable_by_key(MOST_SCHEDULES / 4, |(rows, _)| std::cmp::Reverse(*rows));
        for (_, slot) in slots.drain(MOST_SCHEDULES / 4..) {
            self.drop_schedule(slot);
        }
    }

    /// Brings what was chosen of a host up to what was folded in since: only runs that are new are read. A block
    /// whose runs were merged is chosen anew.
    pub(crate) fn refresh_schedule(
        &mut self,
        host: &str,
        slot: Slot,
        order: WindowOrder<'_>,
    ) -> Result<(), StoreError> {
        let Some(schedule) = self.schedules.get(&slot) else {
            return Ok(());
        };
        let version = self.version_of(slot.hash);
        if schedule.is_of(order.kind()) && schedule.version == version {
            return Ok(());
        }
        // URLs that were taken from waiting news may have another number in their block.
        let is_mixed = schedule.waited > 0 && !schedule.is_spent();
        if is_mixed || !schedule.is_of(order.kind()) || order.goes_by_length() {
            self.drop_schedule(slot);
            return Ok(());
        }
        let up_to = schedule.last.filter(|_| !schedule.is_last);
        let (seen, old) = (schedule.seen.clone(), schedule.bases.clone());
        let bases = self.bases_of(slot.hash);
        // What has become due since the look is for the next one, wherever it lies.
        let now = schedule.now;
        let all = self.runs_of(slot.hash);
        let runs: Vec<u64> = all.iter().map(|looked| looked.run.id).collect();
        let first = self.blocks_of(slot.hash).next().unwrap_or(0);
        let is_remade = |block: usize| {
            let base = bases.get(block - first);
            base.is_none_or(|base| !old.contains(base))
        };
        let (mut remade, mut others) = (Vec::new(), Vec::new());
        for looked in all {
            if is_remade(looked.block) {
                remade.push(looked);
            } else if !seen.contains(&looked.run.id) {
                others.push(looked);
            }
        }
        let mut ranges: Vec<usize> = remade.iter().map(|looked| looked.block).collect();
        ranges.dedup();
        let ranges: Vec<Bounds> = ranges
            .into_iter()
            .map(|block| bounds_of(&self.blocks, block))
            .collect();
        let mut outdated = Vec::new();
        let mut last = None;
        let mut sorting = Sorting::default();
        let mut unpacker = std::mem::take(&mut self.unpacker);
        let mut look = Look {
            host: host.as_bytes(),
            hash: slot.hash,
            part: slot.part,
            now,
            order,
            disk: &self.disk,
            epochs: &self.epochs,
            held: Some(Held {
                taken: &self.taken,
                leased: &self.leased,
            }),
            runs: Vec::new(),
            tells_all: false,
            passed_over: false,
            until: u32::MAX,
            newer: HashSet::default(),
            texts: Kept::default(),
            states: Kept::default(),
            unpacker: &mut unpacker,
        };
        let mut read = |look: &mut Look<'_>, runs: Vec<Looked>, tells_all: bool| {
            look.runs = runs;
            look.tells_all = tells_all;
            look.texts = Kept::default();
            look.states = Kept::default();
            let mut choices = Vec::new();
            let (spans, _) = look.spans()?;
            look.walk(spans, |sequence, choice| {
                if tells_all {
                    outdated.push(sequence);
                }
                choices.extend(choice.filter(|it| up_to.is_none_or(|last| it.place <= last)));
            })?;
            last = last.max(choices.iter().map(|choice| choice.place).max());
            look.sort_texts(choices, &mut sorting)
        };
        let met = read(&mut look, others, true).and_then(|()| read(&mut look, remade, false));
        let (passed_over, until) = (look.passed_over, look.until);
        self.unpacker = unpacker;
        if let Err(error) = met {
            sorting.remove(&self.disk);
            self.damage.note(error)?;
            self.drop_schedule(slot);
            return Ok(());
        }
        let Some(schedule) = self.schedules.get_mut(&slot) else {
            return Ok(());
        };
        schedule.version = version;
        schedule.seen = runs;
        schedule.bases = bases;
        if passed_over {
            schedule.passed_over = Some(version);
        }
        schedule.until = schedule.until.min(until);
        for range in &ranges {
            schedule.remake(range);
        }
        schedule.last = schedule.last.max(last);
        for sequence in outdated {
            schedule.outdate(sequence);
        }
        if !schedule.add(sorting) {
            self.drop_schedule(slot);
        }
        Ok(())
    }

    /// The earliest moment at which a URL of the blocks is due, found without reading one: no URL
    /// is due before it.
    pub fn next_due(&self) -> Option<u32> {
        let runs = self.blocks.iter().flat_map(|block| &block.runs);
        let due = runs.map(|run| run.least_due).min()?;
        (due < u32::MAX).then_some(due)
    }
}

impl Look<'_> {
    /// Finds the rows of a host.
    fn spans(&mut self) -> Result<(Vec<Span>, u64), StoreError> {
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
                if looked.is_base && (entry.waiting == 0 || entry.least_due > self.now) {
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

    /// Goes through rows of a host, and tells of those that are due and of no newer row; or of all of them.
    /// Newest runs first: they tell which rows of the older ones are outdated.
    fn walk(
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
                    if due > self.now {
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
    fn choose(&mut self, n: usize, after: Option<Place>) -> Result<Choices, StoreError> {
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
    fn read_texts(&mut self, choices: Vec<Choice>) -> Result<Sorting, StoreError> {
        let mut sorting = Sorting::default();
        match self.sort_texts(choices, &mut sorting) {
            Ok(()) => Ok(sorting),
            Err(error) => {
                sorting.remove(self.disk);
                Err(error)
            }
        }
    }

    fn sort_texts(
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

/// A look that is to be made.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) slot: Slot,
    /// So many are asked for.
    n: usize,
    /// It goes on behind this place.
    after: Option<Place>,
    now: u32,
    /// Of the order.
    kind: u8,
    version: u64,
    bases: Vec<(OwnedKey, u64)>,
    runs: Vec<Looked>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Found {
    sorting: Sorting,
    last: Option<Place>,
    is_last: bool,
    rows: u64,
    until: u32,
    passed_over: bool,
}

impl Found {
    /// Leaves nothing behind.
    pub(crate) fn remove(&mut self, disk: &Disk) {
        self.sorting.remove(disk);
    }
}

impl Plan {
    /// Rows of the host that it goes through, and those of its neighbours in the same pages.
    fn rows(&self) -> u64 {
        let hash = self.slot.hash;
        let pages = self.runs.iter().flat_map(|looked| {
            let run = &looked.run;
            &run.index[run.pages_of(hash, hash)]
        });
        pages.map(|page| u64::from(page.rows)).sum()
    }

    /// Whether it goes on behind what another one chose.
    pub(crate) fn goes_on(&self) -> bool {
        self.after.is_some()
    }

    pub(crate) fn run(
        &self,
        host: &str,
        order: WindowOrder<'_>,
        disk: &Disk,
        epochs: &[(u64, u32)],
        held: Option<Held<'_>>,
        unpacker: &mut Unpacker,
    ) -> Result<Found, StoreError> {
        let mut look = Look {
            host: host.as_bytes(),
            hash: self.slot.hash,
            part: self.slot.part,
            now: self.now,
            order,
            disk,
            epochs,
            held,
            runs: self.runs.clone(),
            tells_all: false,
            passed_over: false,
            until: u32::MAX,
            newer: HashSet::default(),
            texts: Kept::default(),
            states: Kept::default(),
            unpacker,
        };
        let choices = look.choose(self.n, self.after)?;
        let last = choices.first.last().map(|choice| choice.place);
        let sorting = look.read_texts(choices.first)?;
        Ok(Found {
            sorting,
            last,
            is_last: choices.is_all,
            rows: choices.rows,
            until: look.until,
            passed_over: look.passed_over,
        })
    }
}

/// What a look chose.
struct Choices {
    /// In order.
    first: Vec<Choice>,
    /// Whether nothing was left out.
    is_all: bool,
    /// Rows of the host.
    rows: u64,
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
