//! Shortcuts: where URLs lie on disk, a shorter way to a page is followed up when nothing else waits.
//!
//! A page that turned out to be nearer after its links were told has links that are nearer, too. In memory
//! that is followed at once (`spread`). On disk, and in a run that got its first limit of depth while it went on, nobody but
//! the journal has the links of a page; and it says at which depth they were told. So it is read beside the depths of now, as often as that brings anything:
//!
//! ```text
//! depths of visited pages ─┐  (as many as memory may hold; the others in another round)
//! journal ──> attempts ────┴─> told at a greater depth? ──> their links, nearer ──> window ──> commit
//! ```
//!
//! Nothing is noted of it: what a kill or an end leaves undone is found by whoever looks next. A run that visits
//! pages again and again looks for them when it begins and when its first limit of depth comes, because the next visit of a
//! page may be weeks away; it does not read the journal after every visit, because each tells the links at the depth of now.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use teia_base::journal::{Attempt, EntryStream, JournalError, LinkRecord, LinkVerdict, Record};
use teia_base::{CanonicalUrl, Files, LinkKind};
use teia_repository::{Depths, State};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::EngineError;
use crate::collection::Mode;
use crate::ring::Ring;
use crate::stage::spread::{PAGES, STEP};

/// What a depth takes in memory, about.
const DEPTH_BYTES: u64 = 32;

/// How far shortcuts were followed.
pub(crate) struct Shortcuts {
    files: Arc<dyn Files>,
    journal: PathBuf,
    round: Option<Round>,
    /// Attempts of this process so far.
    attempts: u64,
    /// After so many of them nothing was left to follow.
    settled_at: Option<u64>,
    /// Whether limits of depth are as they were when nothing was left to follow.
    limits_are_followed: bool,
}

impl fmt::Debug for Shortcuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shortcuts")
            .field("journal", &self.journal)
            .finish_non_exhaustive()
    }
}

/// One reading of the journal beside a part of the depths.
struct Round {
    /// Depths of visited pages, by the keyed hash of their URLs. The hash only chooses whom to look up.
    depths: HashMap<u64, u16>,
    /// Those that are still to be read, before the journal is.
    unread: Option<Depths>,
    part: u64,
    parts: u64,
    until: u64,
    entries: EntryStream,
    /// Pages that are nearer than when their links were told.
    pages: VecDeque<Attempt>,
    /// Links that are nearer.
    links: VecDeque<(CanonicalUrl, u16)>,
    /// Whether any part brought anything.
    brought: bool,
}

impl Shortcuts {
    pub(crate) fn new(files: Arc<dyn Files>, journal: PathBuf) -> Self {
        Self {
            files,
            journal,
            round: None,
            attempts: 0,
            settled_at: None,
            limits_are_followed: false,
        }
    }

    /// Limits of depth have changed: ways that nobody followed may count now.
    pub(crate) fn limits_changed(&mut self) {
        self.settled_at = None;
        self.limits_are_followed = false;
    }

    /// Nothing is left to follow, as far as can be known.
    fn settle(&mut self) {
        self.settled_at = Some(self.attempts);
        self.limits_are_followed = true;
    }

    /// One more attempt: its links may be shorter ways.
    pub(crate) fn count_attempt(&mut self) {
        self.attempts += 1;
    }

    /// Whether the journal is being read.
    pub(crate) fn is_under_way(&self) -> bool {
        self.round.is_some()
    }

    fn open(&self, until: u64) -> Result<EntryStream, JournalError> {
        EntryStream::open(Arc::clone(&self.files), &self.journal, 1, until)
    }
}

impl Ring {
    /// Begins to look for shortcuts, if there may be any that were not followed. Everything must be
    /// committed and folded.
    pub(crate) fn begin_shortcuts(&mut self) -> Result<bool, EngineError> {
        let shortcuts = &self.shortcuts;
        let is_settled = match self.config.mode {
            Mode::Incremental => shortcuts.limits_are_followed,
            Mode::Once | Mode::Periodic => shortcuts.settled_at == Some(shortcuts.attempts),
        };
        if is_settled || !self.config.limits_depth() || self.repository.keeps_links() {
            return Ok(false);
        }
        let visited = self.visited_states().iter();
        let visited: u64 = visited.map(|it| self.repository.count(*it)).sum();
        let most = (self.config.run.repository_memory / 8 / DEPTH_BYTES).max(1000);
        let until = self.next_sequence - 1;
        self.shortcuts.round = Some(Round {
            depths: HashMap::new(),
            unread: Some(self.repository.depths()),
            part: 0,
            parts: visited / most + 1,
            until,
            entries: shortcuts.open(until)?,
            pages: VecDeque::new(),
            links: VecDeque::new(),
            brought: false,
        });
        Ok(true)
    }

    /// States of pages that may have told links. In a run without end a visited page waits for its next visit.
    fn visited_states(&self) -> &'static [State] {
        match self.config.mode {
            Mode::Incremental => &[State::Fetched, State::Failed, State::Gone, State::Waiting],
            Mode::Once | Mode::Periodic => &[State::Fetched, State::Failed, State::Gone],
        }
    }

    /// Reads some of the depths: there may be hundreds of millions, and a run without end goes on meanwhile.
    fn read_depths(&self, round: &mut Round, mut unread: Depths) -> Result<(), EngineError> {
        let (key, part, parts) = (self.key, round.part, round.parts);
        let depths = &mut round.depths;
        let states = self.visited_states();
        let is_visited = |state| states.contains(&state);
        let is_end = self
            .repository
            .depths_on(&mut unread, PAGES, is_visited, |url, depth| {
                let hash = xxh3_64_with_seed(url.as_bytes(), key);
                if hash % parts == part {
                    depths.insert(hash, depth);
                }
            })?;
        round.unread = Some(unread).filter(|_| !is_end);
        Ok(())
    }

    /// Follows shortcuts, at most about so many; returns how many things were looked at.
    pub(crate) fn follow_shortcuts(&mut self, most: usize) -> usize {
        let Some(mut round) = self.shortcuts.round.take() else {
            return 0;
        };
        let mut looked = 0;
        while looked < most && !self.window_is_due() {
            looked += 1;
            if let Some((url, depth)) = round.links.pop_front() {
                round.brought |= self.follow(&url, depth);
            } else if let Some(attempt) = round.pages.pop_front() {
                self.find_nearer_links(&mut round, attempt);
            } else {
                if round.unread.is_some() {
                    looked += STEP / 4;
                }
                match self.read_on(&mut round) {
                    Ok(true) => {}
                    Ok(false) => {
                        if !round.brought {
                            self.shortcuts.settle();
                        }
                        return looked;
                    }
                    Err(error) => {
                        self.warn(format!(
                            "shorter ways to pages could not be followed, and some URLs may be left out for their depth: {error}; `teia urls verify` says more"
                        ));
                        self.shortcuts.settle();
                        return looked;
                    }
                }
            }
        }
        self.shortcuts.round = Some(round);
        looked
    }

    /// Reads more depths, or the next entry, or begins with the next part. Says whether there is one.
    fn read_on(&mut self, round: &mut Round) -> Result<bool, EngineError> {
        if let Some(unread) = round.unread.take() {
            self.read_depths(round, unread)?;
            return Ok(true);
        }
        let Some(entry) = round.entries.next() else {
            round.part += 1;
            if round.part >= round.parts {
                return Ok(false);
            }
            round.entries = self.shortcuts.open(round.until)?;
            round.depths.clear();
            round.unread = Some(self.repository.depths());
            return Ok(true);
        };
        let entry = entry?;
        // A run that meets everything again knows only its own ways.
        let counts = self.config.mode != Mode::Periodic || entry.run == self.run;
        if let (true, Record::Commit(commit)) = (counts, entry.record) {
            let (key, depths) = (self.key, &round.depths);
            let nearer = commit.attempts.into_iter().filter(|attempt| {
                let url = attempt.url.normal().as_str();
                let depth = depths.get(&xxh3_64_with_seed(url.as_bytes(), key));
                let is_nearer = depth.is_some_and(|depth| *depth < attempt.depth);
                is_nearer && !attempt.links.is_empty() && !attempt.is_robots()
            });
            round.pages.extend(nearer);
        }
        Ok(true)
    }

    fn find_nearer_links(&self, round: &mut Round, attempt: Attempt) {
        let known = self.repository.state(attempt.url.normal());
        let Some(own) = known.map(|known| known.depth) else {
            return;
        };
        if own >= attempt.depth {
            return;
        }
        for link in attempt.links {
            if link.verdict != LinkVerdict::NotFollowed {
                let depth = nearer_depth(&link, attempt.depth, own);
                round.links.push_back((link.url.into_normal(), depth));
            }
        }
    }

    /// A link is so near. Says whether that is nearer than was known.
    fn follow(&mut self, url: &CanonicalUrl, depth: u16) -> bool {
        let Some(state) = self.repository.state(url) else {
            return false;
        };
        let is_nearer = state.depth > depth;
        if is_nearer {
            self.bring_nearer(None, state, depth);
        }
        is_nearer
    }
}

/// How near a link is, of a page that was so far away when the link was told, and is so near now.
fn nearer_depth(link: &LinkRecord, told: u16, own: u16) -> u16 {
    if told == u16::MAX || link.depth == u16::MAX {
        // No way led to the page then. A redirect is not a hop.
        let is_hop = !matches!(link.kind, LinkKind::Redirect | LinkKind::Seed);
        return own.saturating_add(u16::from(is_hop));
    }
    link.depth.saturating_sub(told - own)
}
