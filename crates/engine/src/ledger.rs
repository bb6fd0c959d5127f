//! What the journal tells beside URLs, texts and links: runs and their counters, seeds, options, how
//! far the archive is, recent bodies.
//!
//! Told by committed entries alone, live and at a start by the same function, so that it can be saved
//! at any position (`checkpoint.rs`) and a start need not read what came before.

use std::collections::{HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use teia_base::journal::{
    ArchivePosition, Attempt, Entry, Quarantined, Record, Revisit, RunStarted,
};
use teia_base::{CanonicalUrl, FoundUrl, Timestamp};

use crate::growth::Curve;
use crate::reading::RunSummary;
use crate::report::EndReason;
use crate::stage::extract::body_of;
use crate::stats::Stats;

/// A body and the capture that has it.
pub(crate) type Body = ([u8; 20], Revisit);

/// What is small, and saved as a whole.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The last entry that was told.
    pub(crate) position: u64,
    /// The last run; its summary, unless it is a run of which nothing was told.
    pub(crate) run: u32,
    pub(crate) current: Option<RunSummary>,
    pub(crate) paused: bool,
    pub(crate) archive: Option<ArchivePosition>,
    /// The largest number of a capture.
    pub(crate) last_capture: u64,
    pub(crate) options: Option<String>,
    /// The program that ran last.
    pub(crate) version: String,
    pub(crate) growth: Curve,
    /// What was ever taken for a trap; settings say what of it is allowed.
    pub(crate) quarantined: Vec<Quarantined>,
}

/// What only grows: saved is what came since the last time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Grown {
    /// Around them lies the scope.
    pub(crate) seeds: Vec<CanonicalUrl>,
    /// Those that a person gave, and whether without scheme; only they may allow a private address.
    pub(crate) given: Vec<(FoundUrl, bool)>,
    /// Runs before the last one.
    pub(crate) runs: Vec<RunSummary>,
    pub(crate) bodies: VecDeque<Body>,
}

/// The past, but for URLs, texts and links.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) head: Head,
    /// What came since it was last saved; without a checkpoint, all of it.
    pub(crate) grown: Grown,
    /// Every seed, in order; the set of them.
    pub(crate) seeds: Vec<CanonicalUrl>,
    known_seeds: HashSet<CanonicalUrl>,
    /// Bodies to keep for the next checkpoint, at most.
    pub(crate) most_bodies: usize,
    /// In what the run differs from its file, as the journal says it; it ends with the run.
    pub(crate) changes: String,
    /// The moment of the last entry but for what people add, also of one that belongs to no run. Checkpoints are
    /// made in runs, whose last commit it is then.
    newest: Option<Timestamp>,
    /// Attempts, links and added URLs since it was last saved.
    pub(crate) unsaved: u64,
}

impl Ledger {
    /// Takes a committed entry in; `known` URLs are known with it.
    pub(crate) fn apply(&mut self, entry: &Entry, known: u64) {
        if entry.sequence <= self.head.position {
            return;
        }
        self.head.position = entry.sequence;
        self.head.paused = entry.record.is_paused_after(self.head.paused);
        self.take_changes(&entry.record);
        self.unsaved += 1 + entry.record.told();
        match &entry.record {
            Record::RunStarted(run) => self.begin_run(entry, run),
            Record::Commit(commit) => {
                for attempt in &commit.attempts {
                    self.add_attempt(attempt);
                }
                if let Some(position) = &commit.archive {
                    self.head.archive = Some(position.clone());
                }
                if let Some(run) = &mut self.head.current
                    && !entry.record.is_of_no_run()
                {
                    let (fetched, bytes) = (run.stats.fetched, run.stats.bytes);
                    for attempt in &commit.attempts {
                        run.stats.add(attempt);
                    }
                    let more = (run.stats.fetched - fetched, run.stats.bytes - bytes);
                    self.head.growth.add(entry.wall, more.0, more.1, known);
                }
            }
            Record::Quarantined(one) if self.head.quarantined.contains(one) => {}
            Record::Quarantined(one) => self.head.quarantined.push(one.clone()),
            Record::Lifted(one) => self.head.quarantined.retain(|known| known != one),
            // What a person adds belongs to no run.
            Record::Added(_) | Record::Recovered(_) => return,
            Record::Spelled(form) => {
                self.head.options.get_or_insert_with(|| form.clone());
                return;
            }
            Record::RunEnded(end) => {
                if let Some(run) = &mut self.head.current {
                    run.ended = Some(end.reason.clone());
                }
            }
            _ => {}
        }
        self.newest = Some(entry.wall);
        if let Some(run) = &mut self.head.current {
            // Nothing that comes later makes a run longer than it was: neither an erasure nor what follows its end.
            let is_its_own = !entry.record.is_of_no_run();
            if is_its_own && (run.ended.is_none() || matches!(entry.record, Record::RunEnded(_))) {
                run.last_commit = entry.wall;
            }
            run.paused = self.head.paused;
        }
    }

    /// What counts for a run alone. One that a signal ended goes on in the next process.
    pub(crate) fn take_changes(&mut self, record: &Record) {
        match record {
            Record::Changed(changes) => self.changes.clone_from(changes),
            Record::RunEnded(end) if end.reason != EndReason::Interrupted.name() => {
                self.changes.clear();
            }
            _ => {}
        }
    }

    fn begin_run(&mut self, entry: &Entry, started: &RunStarted) {
        if entry.run != self.head.run || self.head.current.is_none() {
            self.grown.runs.extend(self.head.current.take());
            self.head.current = Some(RunSummary {
                number: entry.run,
                started: entry.wall,
                last_commit: entry.wall,
                ended: None,
                paused: false,
                stats: Stats::default(),
            });
        }
        self.head.run = entry.run;
        if let Some(run) = &mut self.head.current {
            run.ended = None;
        }
        self.head.options = Some(started.options.clone());
        self.head.version.clone_from(&started.version);
        for seed in &started.seeds {
            let given = (seed.url.clone(), seed.fallback_http);
            self.grown.given.push(given);
            self.add_seed(seed.url.normal());
        }
    }

    fn add_attempt(&mut self, attempt: &Attempt) {
        if let Some(capture) = attempt.capture {
            self.head.last_capture = self.head.last_capture.max(capture.0);
        }
        if self.most_bodies > 0
            && let Some(body) = body_of(attempt)
        {
            if self.grown.bodies.len() >= self.most_bodies {
                self.grown.bodies.pop_front();
            }
            self.grown.bodies.push_back(body);
        }
        for link in attempt.links.iter().filter(|link| link.widens_the_scope()) {
            self.add_seed(link.url.normal());
        }
    }

    fn add_seed(&mut self, seed: &CanonicalUrl) {
        if self.know_seed(seed) {
            self.grown.seeds.push(seed.clone());
        }
    }

    /// Whether it is a seed.
    pub(crate) fn knows_seed(&self, seed: &CanonicalUrl) -> bool {
        self.known_seeds.contains(seed)
    }

    /// A seed that was saved. Says whether it is a new one.
    pub(crate) fn know_seed(&mut self, seed: &CanonicalUrl) -> bool {
        let is_new = self.known_seeds.insert(seed.clone());
        if is_new {
            self.seeds.push(seed.clone());
        }
        is_new
    }

    /// Whether the next process begins another run: the last one has ended, or there was none. None is begun anew
    /// because the machine was restarted: its limits and its deadline would begin anew with it.
    pub(crate) fn run_has_ended(&self) -> bool {
        let run = self.head.current.as_ref();
        run.is_none_or(|run| {
            let reason = run.ended.as_deref();
            reason.is_some_and(|reason| reason != EndReason::Interrupted.name())
        })
    }

    /// When the last run began.
    pub(crate) fn run_began(&self) -> Option<Timestamp> {
        self.head.current.as_ref().map(|run| run.started)
    }

    /// When something was committed last, by a run or by an erasure after it.
    pub(crate) fn last_commit(&self) -> Option<Timestamp> {
        let of_run = self.head.current.as_ref().map(|run| run.last_commit);
        self.newest.or(of_run)
    }

    /// Whether a run with these options has nothing to judge again: the last one had the same, and
    /// ended because nothing was left.
    pub(crate) fn has_judged_all(&self, options: &str) -> bool {
        let run = self.head.current.as_ref();
        self.head.options.as_deref() == Some(options)
            && self.head.version == env!("CARGO_PKG_VERSION")
            && run.is_some_and(|run| run.ended.as_deref() == Some(EndReason::Done.name()))
    }

    /// What was counted in the last run.
    pub(crate) fn stats(&self) -> Stats {
        let run = self.head.current.as_ref();
        run.map(|run| run.stats.clone()).unwrap_or_default()
    }
}
