//! News of a URL on its way to its block: what was offered, what was decided, what became of it.
//!
//! Several pieces of news of one URL join into one, in the order in which they came; the visit
//! merges that into the row, or makes a row of it.

use serde::{Deserialize, Serialize};
use teia_base::journal::Chain;

use super::page::Cells;
use super::row::{News, Rare, Row, SUPERSEDES, Visited, unzigzag, zigzag};
use crate::row::{State, has_changed};

/// A link led to it.
pub(crate) const OFFERED: u8 = 1;
/// It was called new already: a visit says nothing of it.
pub(crate) const DECIDED: u8 = 2;
/// Some offer admits it.
pub(crate) const ADMITS: u8 = 4;
/// It was called new as one that is left out.
pub(crate) const DECIDED_OUT: u8 = 8;
/// Its priority was set.
pub(crate) const PRIORITISED: u8 = 16;
/// Something became of it.
pub(crate) const SETTLED: u8 = 32;
/// Earlier blocks, which were lost, have called it new: whatever a visit of these finds out, that was told.
pub(crate) const TOLD: u8 = 64;

/// News of one URL. Packed, so that an entry of the front is as long as one line of the processor's
/// cache: most of the time that a link takes is spent on waiting for these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(Rust, packed(4))]
pub(crate) struct Delta {
    pub(crate) ops: u8,
    pub(crate) flags: u8,
    pub(crate) depth: u16,
    pub(crate) sequence: u64,
    pub(crate) referrer: u64,
    pub(crate) rule: u32,
    pub(crate) priority: i32,
}

/// What does not fit into numbers, in the order in which it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    Settled(Settled),
    Spelling(Box<str>),
    Chain(Chain),
    LastModified(u32),
    Standing(Stands),
    /// A run begins that visits everything again: left out by this rule until a link leads here.
    Again(u32),
}

/// Where a URL stands by another way than an attempt: it was kept elsewhere so far, or waits again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stands {
    /// Where the URL stands now.
    pub state: Standing,
    /// Tries of the present visit so far.
    pub tries: u8,
    /// Not to be asked before then, in seconds since 1970.
    pub due: u32,
    /// What the visits brought, where that is to replace what is known.
    pub visited: Option<Visited>,
}

/// What became of a URL: the outcome of an attempt, and what is to be done now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settlement {
    /// When the attempt began, in seconds since 1970.
    pub at: u32,
    /// Number of the outcome.
    pub outcome: i16,
    /// Where the URL stands now.
    pub state: Standing,
    /// Tries of this visit so far; nought when it is over.
    pub tries: u8,
    /// Not to be asked before then, in seconds since 1970.
    pub due: u32,
    /// Media type, without parameters; none where nothing was answered.
    pub media_type: Option<Box<str>>,
    /// Digest of the visible text.
    pub text_digest: Option<u128>,
    /// The capture in the archive.
    pub capture: Option<u64>,
    /// Validator.
    pub etag: Option<Box<str>>,
    /// Validator.
    pub last_modified: Option<Box<str>>,
}

/// A settlement as it is kept, with the number of the media type in the store's list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settled {
    at: u32,
    outcome: i16,
    state: Standing,
    tries: u8,
    due: u32,
    media_type: u16,
    text_digest: Option<u128>,
    capture: Option<u64>,
    etag: Option<Box<str>>,
    last_modified: Option<Box<str>>,
}

impl Settled {
    pub(crate) fn new(settlement: Settlement, media_type: u16) -> Self {
        Self {
            at: settlement.at,
            outcome: settlement.outcome,
            state: settlement.state,
            tries: settlement.tries,
            due: settlement.due,
            media_type,
            text_digest: settlement.text_digest,
            capture: settlement.capture,
            etag: settlement.etag,
            last_modified: settlement.last_modified,
        }
    }
}

/// Where a URL stands after an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It waits for another try.
    #[default]
    Waiting,
    /// An answer was taken.
    Fetched,
    /// Given up.
    Failed,
    /// Left out by a rule.
    Excluded(u32),
    /// Gone.
    Gone,
}

impl Delta {
    pub(crate) fn cells(&self) -> Cells {
        [
            u64::from(self.ops) | (u64::from(self.flags) << 8),
            u64::from(self.depth),
            self.sequence,
            self.referrer,
            u64::from(self.rule),
            zigzag(self.priority),
            0,
        ]
    }

    pub(crate) fn read(cells: &Cells) -> Self {
        Self {
            ops: (cells[0] & 0xFF) as u8,
            flags: ((cells[0] >> 8) & 0xFF) as u8,
            depth: u16::try_from(cells[1]).unwrap_or(u16::MAX),
            sequence: cells[2],
            referrer: cells[3],
            rule: u32::try_from(cells[4]).unwrap_or(0),
            priority: unzigzag(cells[5]),
        }
    }

    /// Whether it makes a URL that may be handed out before its block is visited: one that was
    /// called new at once.
    pub(crate) fn may_be_handed_out(&self) -> bool {
        self.ops & (DECIDED | ADMITS | SETTLED) == DECIDED | ADMITS
    }

    /// Whether it says nothing but that links led here, at some depth.
    pub(crate) fn is_plain(&self) -> bool {
        self.ops & !(OFFERED | DECIDED | ADMITS) == 0 && self.flags == 0
    }

    /// Takes later news of the same URL in. Their events are joined by the caller.
    pub(crate) fn join(&mut self, later: &Self) {
        if self.ops & (OFFERED | DECIDED) == 0 {
            self.sequence = later.sequence;
            self.referrer = later.referrer;
            self.rule = later.rule;
        }
        if later.ops & PRIORITISED != 0 {
            self.priority = later.priority;
        }
        self.ops |= later.ops;
        self.flags |= later.flags;
        self.depth = self.depth.min(later.depth);
    }

    /// The row of a URL that was never met.
    pub(crate) fn into_row<'a>(self, events: &[u8], scratch: &'a mut Vec<u8>) -> Row<'a> {
        let admitted = self.ops & ADMITS != 0 || self.ops & (OFFERED | DECIDED) == 0;
        let news = if self.ops & DECIDED == 0 {
            // A URL that was fetched though nobody offered it is kept, and is no news.
            (self.ops & OFFERED != 0).then_some(News::New)
        } else {
            (self.ops & DECIDED_OUT != 0 && admitted).then_some(News::Readmitted)
        };
        let mut row = Row {
            state: if admitted {
                State::Waiting
            } else {
                State::Excluded
            },
            again: false,
            told: self.ops & TOLD != 0,
            flags: self.flags,
            tries: 0,
            news,
            depth: self.depth,
            sequence: self.sequence,
            referrer: self.referrer,
            rule: if admitted { 0 } else { self.rule },
            priority: self.priority,
            due: 0,
            rare: &[],
        };
        if !events.is_empty() {
            let mut rare = Rare::default();
            happen(&mut row, &mut rare, events, true);
            row.again = waits_again(&row, &rare);
            scratch.clear();
            rare.write(scratch);
            row.rare = scratch;
        }
        row
    }

    /// The row of a known URL after this, where it is another one.
    pub(crate) fn merge<'a>(
        self,
        known: &Row<'_>,
        events: &[u8],
        scratch: &'a mut Vec<u8>,
    ) -> Option<Row<'a>> {
        let mut row = Row {
            rare: &[],
            news: None,
            flags: known.flags & !SUPERSEDES,
            ..*known
        };
        let before = row;
        if self.ops & OFFERED != 0 {
            let tried = !matches!(row.state, State::Waiting | State::Excluded);
            if self.depth < row.depth {
                row.depth = self.depth;
                row.news = tried.then_some(News::Lowered);
            }
            if self.ops & ADMITS != 0 && row.state == State::Excluded {
                row.state = State::Waiting;
                row.rule = 0;
                row.news = Some(News::Readmitted);
            }
        }
        row.flags |= self.flags;
        row.told |= self.ops & TOLD != 0;
        if self.ops & PRIORITISED != 0 {
            row.priority = self.priority;
        }
        if events.is_empty() && row == before {
            return None;
        }
        let mut rare = Rare::read(known.rare);
        let rare_before = rare.clone();
        let readmitted = row.news == Some(News::Readmitted);
        happen(&mut row, &mut rare, events, readmitted);
        row.again = waits_again(&row, &rare);
        if row == before && rare == rare_before {
            return None;
        }
        scratch.clear();
        rare.write(scratch);
        row.rare = scratch;
        row.flags |= SUPERSEDES;
        Some(row)
    }
}

fn waits_again(row: &Row<'_>, rare: &Rare) -> bool {
    let visited = rare.visited.as_ref();
    row.state == State::Waiting && visited.is_some_and(|visited| visited.visits > 0)
}

/// Lets the events happen one after another. How a URL was found counts only for one that is
/// (again) new.
fn happen(row: &mut Row<'_>, rare: &mut Rare, mut events: &[u8], is_new: bool) {
    while !events.is_empty() {
        let Ok((event, rest)) = postcard::take_from_bytes::<Event>(events) else {
            return;
        };
        events = rest;
        match event {
            Event::Settled(settled) => settle(row, rare, settled),
            Event::Spelling(spelling) if is_new => {
                rare.spelling.get_or_insert(spelling);
            }
            Event::Chain(chain) if is_new => rare.chain = Some(chain),
            Event::Spelling(_) | Event::Chain(_) => {}
            Event::Standing(stands) => {
                row.tries = stands.tries;
                row.due = stands.due;
                stand(row, stands.state);
                if stands.visited.is_some() {
                    rare.visited = stands.visited;
                }
            }
            Event::Again(rule) => {
                row.tries = 0;
                row.due = 0;
                row.depth = u16::MAX;
                rare.chain = None;
                stand(row, Standing::Excluded(rule));
            }
            Event::LastModified(moment) => {
                rare.last_modified = Some(rare.last_modified.map_or(moment, |was| was.max(moment)));
            }
        }
    }
}

fn stand(row: &mut Row<'_>, standing: Standing) {
    row.state = match standing {
        Standing::Waiting => State::Waiting,
        Standing::Fetched => State::Fetched,
        Standing::Failed => State::Failed,
        Standing::Gone => State::Gone,
        Standing::Excluded(rule) => {
            row.rule = rule;
            State::Excluded
        }
    };
}

fn settle(row: &mut Row<'_>, rare: &mut Rare, settlement: Settled) {
    row.tries = settlement.tries;
    row.due = settlement.due;
    stand(row, settlement.state);
    let visited = rare.visited.get_or_insert_default();
    // As in memory: one that was given up is no visit.
    if settlement.tries == 0 && settlement.state != Standing::Failed {
        let interval = u64::from(settlement.at.saturating_sub(visited.last_attempt));
        let before = (visited.outcome, visited.text_digest);
        match has_changed(before, (settlement.outcome, settlement.text_digest)) {
            Some(true) => {
                visited.changed_seconds = visited.changed_seconds.saturating_add(interval);
            }
            Some(false) => visited.quiet_seconds = visited.quiet_seconds.saturating_add(interval),
            None => {}
        }
        let differs = visited.text_digest.is_some()
            && settlement.text_digest.is_some()
            && visited.text_digest != settlement.text_digest;
        if differs {
            visited.changes = visited.changes.saturating_add(1);
            visited.last_change = settlement.at;
        }
        visited.visits = visited.visits.saturating_add(1);
    }
    visited.last_attempt = settlement.at;
    visited.outcome = settlement.outcome;
    if settlement.media_type != 0 {
        visited.media_type = settlement.media_type;
    }
    visited.text_digest = settlement.text_digest.or(visited.text_digest);
    visited.capture = settlement.capture.or(visited.capture);
    // As in memory: an answer without a page says nothing of the copy that is kept.
    if (200..300).contains(&settlement.outcome) || settlement.outcome == 304 {
        keep_validators(visited, settlement.etag, settlement.last_modified);
    }
}

fn keep_validators(visited: &mut Visited, etag: Option<Box<str>>, modified: Option<Box<str>>) {
    visited.etag = etag;
    visited.last_modified = modified;
}
