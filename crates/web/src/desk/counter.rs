//! The tables of a collection, counted beside everything else: one collection at a time, on a thread of its own.
//!
//! ```text
//! who asks ──> kept, and counted from the same? ──yes──────> current
//!                     │ no                            ┌────> the last ones, if there are any
//!                     └──> queue ──> one thread       └────> "being counted", if there are none
//! ```
//!
//! Whoever asks waits a moment, in which the tables of a small collection are there, and no longer: those of a large one
//! take minutes, and a page that waits for them holds a place that others need.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use teia_base::{Clock, SystemClock, Timestamp};
use teia_catalog::Statistic;
use teia_engine::{Reading, Removals};

use super::DeskError;
use super::figures::{REST, journal_bytes, lock};
use crate::pages::give_way;

/// How long who asks may wait.
const PATIENCE: Duration = Duration::from_secs(2);
/// Collections whose tables are kept; the oldest go.
const MOST_KEPT: usize = 32;
/// Collections that may wait to be counted; beyond that who asks is told to come again.
const MOST_WAITING: usize = 256;

/// What figures, tables and lives are made from; from something else, there may be others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Bytes of the journal.
    pub(super) journal: u64,
    /// What is removed waits no more, also where the journal does not say so yet.
    pub(super) removed: u64,
}

impl Source {
    /// As it is now.
    pub(super) fn of(reading: &Reading) -> Self {
        Self {
            journal: journal_bytes(reading),
            removed: Removals::stamp(&*reading.files()),
        }
    }
}

/// Counts one collection: its tables, and from what; that is looked at before anything is read.
type Count = dyn Fn(&str) -> Result<(Vec<Statistic>, Source), DeskError> + Send + Sync;

/// Who counts.
pub(crate) struct Counter {
    count: Arc<Count>,
    patience: Duration,
    work: Arc<Work>,
}

/// Tables, and whether they are of the collection as it is.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) tables: Arc<Vec<Statistic>>,
    pub(crate) as_of: Timestamp,
    pub(crate) is_current: bool,
}

#[derive(Debug, Default)]
struct Work {
    state: Mutex<State>,
    is_done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    kept: HashMap<String, Kept>,
    failed: HashMap<String, DeskError>,
    /// The first of them is being counted.
    waiting: VecDeque<String>,
}

#[derive(Debug)]
struct Kept {
    counted: Counted,
    source: Source,
    made: Instant,
    took: Duration,
}

impl Counter {
    pub(crate) fn new(
        count: impl Fn(&str) -> Result<(Vec<Statistic>, Source), DeskError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            count: Arc::new(count),
            patience: PATIENCE,
            work: Arc::default(),
        }
    }

    /// The tables of this; older ones, or none yet, where those are still being counted.
    pub(crate) fn ask(
        &self,
        name: &str,
        source: Source,
        is_running: impl FnOnce() -> bool,
    ) -> Result<Option<Counted>, DeskError> {
        let mut state = lock(&self.work.state);
        if let Some(kept) = state.kept.get(name) {
            if kept.source == source {
                return Ok(Some(kept.now(true)));
            }
            // A run writes all the time: tables that take long are not counted all the time.
            if kept.made.elapsed() < kept.took * REST && is_running() {
                return Ok(Some(kept.now(false)));
            }
        }
        if !state.waiting.iter().any(|waiting| waiting == name) {
            if state.waiting.len() >= MOST_WAITING {
                return Err(DeskError::Busy("too much is being counted".to_owned()));
            }
            // It failed when nobody waited: that is told once, and tried again by who asks then.
            if let Some(error) = state.failed.remove(name) {
                return Err(error);
            }
            state.waiting.push_back(name.to_owned());
            if state.waiting.len() == 1 {
                // Nobody would ever take it from there.
                self.begin().inspect_err(|_| state.waiting.clear())?;
            }
        }
        let is_waiting = |state: &mut State| state.waiting.iter().any(|waiting| waiting == name);
        let waited = self
            .work
            .is_done
            .wait_timeout_while(state, self.patience, is_waiting);
        let (mut state, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(error) = state.failed.remove(name) {
            return Err(error);
        }
        // What was begun before something changed is not of what is there now.
        let kept = state.kept.get(name);
        Ok(kept.map(|kept| kept.now(kept.source == source)))
    }

    /// What was counted before is not to be believed any more.
    pub(crate) fn forget(&self, name: &str) {
        lock(&self.work.state).kept.remove(name);
    }

    /// A thread that counts until nobody waits.
    fn begin(&self) -> Result<(), DeskError> {
        let (count, work) = (Arc::clone(&self.count), Arc::clone(&self.work));
        let count_all = move || {
            give_way();
            loop {
                let Some(name) = lock(&work.state).waiting.front().cloned() else {
                    return;
                };
                let made = Instant::now();
                let counting = std::panic::AssertUnwindSafe(|| count(&name));
                let counted = std::panic::catch_unwind(counting)
                    .unwrap_or_else(|_| Err(DeskError::Busy("counting has failed".to_owned())));
                let is_last = work.settle(&name, made, counted);
                if is_last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("tables".to_owned());
        match thread.spawn(count_all) {
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::error!(%error, "no thread to count on");
                Err(DeskError::Busy("nothing can be counted now".to_owned()))
            }
        }
    }
}

impl Work {
    /// Keeps what was counted; says whether nobody waits any more.
    fn settle(
        &self,
        name: &str,
        made: Instant,
        counted: Result<(Vec<Statistic>, Source), DeskError>,
    ) -> bool {
        let mut state = lock(&self.state);
        match counted {
            Ok((tables, source)) => {
                let kept = Kept {
                    counted: Counted {
                        tables: Arc::new(tables),
                        as_of: SystemClock.wall(),
                        is_current: true,
                    },
                    source,
                    made,
                    took: made.elapsed(),
                };
                state.kept.insert(name.to_owned(), kept);
                if state.kept.len() > MOST_KEPT {
                    let oldest = state.kept.iter().min_by_key(|(_, kept)| kept.made);
                    let oldest = oldest.map(|(name, _)| name.clone());
                    oldest.and_then(|name| state.kept.remove(&name));
                }
            }
            Err(error) => {
                if state.failed.len() >= MOST_KEPT {
                    state.failed.clear();
                }
                state.failed.insert(name.to_owned(), error);
            }
        }
        state.waiting.pop_front();
        self.is_done.notify_all();
        state.waiting.is_empty()
    }
}

impl Kept {
    fn now(&self, is_current: bool) -> Counted {
        Counted {
            is_current,
            ..self.counted.clone()
        }
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Counter").field(&self.work).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    fn source(journal: u64) -> Source {
        Source {
            journal,
            removed: 0,
        }
    }

    /// Counts when it is told to: `go` has the length of the journal that it then reads.
    fn slow(go: Receiver<u64>, most: Arc<AtomicUsize>) -> Counter {
        let (go, at_once) = (Mutex::new(go), AtomicUsize::new(0));
        let mut counter = Counter::new(move |_| {
            most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let journal = lock(&go).recv().unwrap();
            at_once.fetch_sub(1, Ordering::SeqCst);
            match journal {
                0 => Err(DeskError::Busy("no".to_owned())),
                journal => Ok((Vec::new(), source(journal))),
            }
        });
        counter.patience = Duration::from_millis(1);
        counter
    }

    fn until<T>(mut asked: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(found) = asked() {
                return found;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn who_asks_is_answered_while_it_is_counted_and_the_last_tables_stay() {
        let (go, most) = (channel(), Arc::new(AtomicUsize::new(0)));
        let counter = slow(go.1, Arc::clone(&most));
        // Nothing is counted yet, of neither; each is answered all the same.
        for name in ["a", "b", "a"] {
            assert!(counter.ask(name, source(10), || false).unwrap().is_none());
        }
        go.0.send(10).unwrap();
        go.0.send(10).unwrap();
        for name in ["a", "b"] {
            let counted = until(|| counter.ask(name, source(10), || false).unwrap());
            assert!(counted.is_current);
        }
        assert_eq!(most.load(Ordering::SeqCst), 1, "one at a time");
        // The journal has grown: the last ones are shown until there are new ones.
        let counted = counter.ask("a", source(11), || false).unwrap().unwrap();
        assert!(!counted.is_current);
        go.0.send(11).unwrap();
        let is_current = |counted: &Counted| counted.is_current;
        until(|| {
            counter
                .ask("a", source(11), || false)
                .unwrap()
                .filter(is_current)
        });
    }

    #[test]
    fn what_was_counted_before_something_was_removed_is_not_current() {
        let (go, most) = (channel(), Arc::new(AtomicUsize::new(0)));
        let counter = slow(go.1, most);
        assert!(counter.ask("a", source(10), || false).unwrap().is_none());
        go.0.send(10).unwrap();
        until(|| counter.ask("a", source(10), || false).unwrap());
        let after = Source {
            journal: 10,
            removed: 1,
        };
        let counted = counter.ask("a", after, || false).unwrap().unwrap();
        assert!(!counted.is_current);
        // Nor is what was begun before and ends after it.
        go.0.send(10).unwrap();
        until(|| lock(&counter.work.state).waiting.is_empty().then_some(()));
        let counted = counter.ask("a", after, || false).unwrap().unwrap();
        assert!(!counted.is_current);
        drop(go.0);
    }

    #[test]
    fn what_fails_is_told_and_tried_again() {
        let (go, most) = (channel(), Arc::new(AtomicUsize::new(0)));
        let counter = slow(go.1, most);
        assert!(counter.ask("a", source(10), || false).unwrap().is_none());
        go.0.send(0).unwrap();
        until(|| counter.ask("a", source(10), || false).err());
        go.0.send(10).unwrap();
        until(|| counter.ask("a", source(10), || false).ok().flatten());
    }

    #[test]
    fn only_so_many_tables_are_kept() {
        let counts = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&counts);
        let counter = Counter::new(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok((Vec::new(), source(1)))
        });
        for number in 0..MOST_KEPT + 5 {
            let name = number.to_string();
            assert!(counter.ask(&name, source(1), || false).unwrap().is_some());
            assert!(counter.ask(&name, source(1), || false).unwrap().is_some());
        }
        assert_eq!(counts.load(Ordering::SeqCst), MOST_KEPT as u64 + 5);
        assert_eq!(lock(&counter.work.state).kept.len(), MOST_KEPT);
    }
}
