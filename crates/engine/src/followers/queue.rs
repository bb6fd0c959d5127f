//! What was committed and waits for one follower: bounded in bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use teia_base::Document;
use teia_base::journal::{Attempt, Entry, Record};

use super::lag::Lag;

/// How long one commit is held up for a follower that is too late.
const MOST_HELD: Duration = Duration::from_secs(5);

/// A committed entry and its documents, shared by all who follow.
#[derive(Clone, Debug)]
pub(crate) struct Handed {
    pub(crate) entry: Arc<Entry>,
    pub(crate) documents: Arc<Vec<Document>>,
}

/// What a queue does when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// Drops: the follower reads it again from the disk.
    Drops,
    /// Makes the committer wait: there is nothing to read again.
    Waits,
}

/// Between the committer and one follower.
#[derive(Debug)]
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    changed: Condvar,
    most_bytes: u64,
    full: Full,
}

#[derive(Debug)]
struct Inner {
    waiting: VecDeque<(u64, Handed)>,
    bytes: u64,
    /// The last entry that is on disk.
    committed: u64,
    /// There will be no more.
    is_closed: bool,
    /// What is applied is to be committed, and the rest left for the next run.
    is_stopped: bool,
    /// The follower reads what it missed; a queue that is full then may stay so for long.
    is_catching_up: bool,
    lag: Lag,
}

/// What a follower is to do next.
#[derive(Debug)]
pub(super) enum Task {
    /// Apply this, which is the next.
    Apply(Handed),
    /// Read the journal up to this entry: what comes next was dropped, or was never handed over.
    CatchUp(u64),
    /// Nothing has come in that time.
    Nothing,
    /// There will be no more, or there is to be no more.
    End,
}

impl Queue {
    pub(super) fn new(most_bytes: u64, full: Full, committed: u64) -> Self {
        Self {
            inner: Mutex::new(Inner {
                waiting: VecDeque::new(),
                bytes: 0,
                committed,
                is_closed: false,
                is_stopped: false,
                is_catching_up: false,
                lag: Lag::new(Duration::ZERO, committed),
            }),
            changed: Condvar::new(),
            most_bytes,
            full,
        }
    }

    /// The same, where nothing is to wait longer than so for being visible.
    pub(super) fn with_most_lag(self, most: Duration) -> Self {
        let committed = self.committed();
        self.lock().lag = Lag::new(most, committed);
        self
    }

    /// Takes in what is on disk now. Waits while the follower is too late.
    pub(super) fn push(&self, handed: Handed) {
        let bytes = weight(&handed);
        let mut inner = self.lock();
        inner.committed = handed.entry.sequence;
        inner.lag.committed(handed.entry.sequence, Instant::now());
        // A commit is held up for a while only: who ends a run does not wait for an index.
        let until = Instant::now() + MOST_HELD;
        while inner.lag.is_too_long(Instant::now()) && !inner.is_stopped {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            inner = self.wait(inner, left);
        }
        while inner.bytes > 0 && inner.bytes + bytes > self.most_bytes {
            if self.full == Full::Drops || inner.is_stopped || inner.is_catching_up {
                return;
            }
            inner = self.wait(inner, Duration::from_secs(1));
        }
        if inner.is_stopped {
            return;
        }
        inner.bytes += bytes;
        inner.waiting.push_back((bytes, handed));
        self.changed.notify_all();
    }

    /// What comes after the entry `applied`; waits so long for it.
    pub(super) fn next(&self, applied: u64, patience: Duration) -> Task {
        let until = Instant::now() + patience;
        let mut inner = self.lock();
        loop {
            inner.is_catching_up = false;
            while let Some((bytes, handed)) = inner.waiting.front() {
                let (bytes, sequence) = (*bytes, handed.entry.sequence);
                if sequence > applied + 1 {
                    if inner.is_stopped {
                        return Task::End;
                    }
                    inner.is_catching_up = true;
                    return Task::CatchUp(inner.committed);
                }
                let taken = inner.waiting.pop_front();
                inner.bytes -= bytes;
                self.changed.notify_all();
                if let Some((_, handed)) = taken.filter(|_| sequence == applied + 1) {
                    return Task::Apply(handed);
                }
            }
            if inner.is_stopped {
                return Task::End;
            }
            if applied < inner.committed {
                inner.is_catching_up = true;
                return Task::CatchUp(inner.committed);
            }
            if inner.is_closed {
                return Task::End;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Task::Nothing;
            }
            inner = self.wait(inner, left);
        }
    }

    /// The follower begins, or begins anew, at this entry: until it has what is committed now, nobody waits.
    pub(super) fn note_begin(&self, position: u64) {
        let mut inner = self.lock();
        let committed = inner.committed;
        inner.lag.begin(position, committed);
        drop(inner);
        self.changed.notify_all();
    }

    /// The follower has made everything up to this entry visible.
    pub(super) fn note_visible(&self, position: u64) {
        self.lock().lag.visible(position);
        self.changed.notify_all();
    }

    /// The last entry that is on disk.
    pub(super) fn committed(&self) -> u64 {
        self.lock().committed
    }

    /// There will be no more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// The follower is to end soon; what waits is dropped where it can be read again.
    pub(super) fn stop(&self) {
        let mut inner = self.lock();
        inner.is_stopped = true;
        if self.full == Full::Drops {
            inner.waiting.clear();
            inner.bytes = 0;
        }
        self.changed.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Whether the run is over: there will be no more, or there is to be no more.
    pub(super) fn is_over(&self) -> bool {
        let inner = self.lock();
        inner.is_closed || inner.is_stopped
    }

    /// Rests until the run is over, at most so long; whether it is still to go on.
    pub(super) fn rest(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut inner = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if inner.is_stopped || inner.is_closed || left.is_zero() {
                return !inner.is_stopped;
            }
            inner = self.wait(inner, left);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, inner: MutexGuard<'a, Inner>, time: Duration) -> MutexGuard<'a, Inner> {
        let waited = self.changed.wait_timeout(inner, time);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// What it takes in memory, about.
fn weight(handed: &Handed) -> u64 {
    let attempts: &[Attempt] = match &handed.entry.record {
        Record::Commit(commit) => &commit.attempts,
        _ => &[],
    };
    let links = attempts.iter().flat_map(|attempt| &attempt.links);
    let links: usize = links
        .map(|link| 200 + link.url.request().len() + link.anchor.len())
        .sum();
    let texts: usize = handed.documents.iter().map(text_bytes).sum();
    (512 * (1 + attempts.len()) + links + texts) as u64
}

/// The texts of a document, in bytes.
pub(crate) fn text_bytes(document: &Document) -> usize {
    let headings: usize = document.headings.iter().map(|text| 24 + text.len()).sum();
    let links: usize = document
        .links
        .iter()
        .map(|link| 96 + link.url.len() + link.anchor.len())
        .sum();
    512 + document.text.len() + document.description.len() + headings + links
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::Timestamp;

    fn handed(sequence: u64) -> Handed {
        Handed {
            entry: Arc::new(Entry {
                sequence,
                wall: Timestamp::default(),
                run: 1,
                record: Record::Paused,
            }),
            documents: Arc::default(),
        }
    }

    #[test]
    fn what_does_not_fit_is_to_be_read_again() {
        let queue = Queue::new(1100, Full::Drops, 3);
        assert!(matches!(queue.next(0, Duration::ZERO), Task::CatchUp(3)));
        for sequence in 4..=8 {
            queue.push(handed(sequence));
        }
        assert!(matches!(queue.next(3, Duration::ZERO), Task::Apply(_)));
        assert!(matches!(queue.next(4, Duration::ZERO), Task::Apply(_)));
        // Two fitted; the other three were dropped.
        assert!(matches!(queue.next(5, Duration::ZERO), Task::CatchUp(8)));
        queue.push(handed(9));
        assert!(matches!(queue.next(5, Duration::ZERO), Task::CatchUp(9)));
        assert!(matches!(queue.next(9, Duration::ZERO), Task::Nothing));
        queue.close();
        assert!(matches!(queue.next(9, Duration::from_secs(9)), Task::End));
    }

    #[test]
    fn a_follower_that_is_too_late_makes_the_committer_wait() {
        let queue =
            Arc::new(Queue::new(1 << 20, Full::Drops, 0).with_most_lag(Duration::from_millis(1)));
        queue.note_begin(0);
        queue.push(handed(1));
        std::thread::sleep(Duration::from_millis(2));
        let pushing = Arc::clone(&queue);
        let committer = std::thread::spawn(move || pushing.push(handed(2)));
        // The second entry is on disk, and not handed over: the committer is held there.
        while queue.committed() < 2 {
            std::thread::yield_now();
        }
        assert!(matches!(queue.next(0, Duration::ZERO), Task::Apply(_)));
        assert!(!committer.is_finished());
        queue.note_visible(2);
        committer.join().unwrap();
    }

    #[test]
    fn a_stop_leaves_only_what_can_be_read_again() {
        let queue = Queue::new(1 << 20, Full::Drops, 0);
        queue.push(handed(1));
        queue.stop();
        assert!(matches!(queue.next(0, Duration::ZERO), Task::End));
        assert!(!queue.rest(Duration::from_secs(9)));
        let queue = Queue::new(1 << 20, Full::Waits, 0);
        queue.push(handed(1));
        queue.stop();
        assert!(matches!(queue.next(0, Duration::ZERO), Task::Apply(_)));
        assert!(matches!(queue.next(1, Duration::ZERO), Task::End));
    }

    #[test]
    fn nobody_waits_for_a_follower_that_reads_what_it_missed() {
        let queue = Queue::new(600, Full::Waits, 5);
        queue.push(handed(6));
        assert!(matches!(queue.next(0, Duration::ZERO), Task::CatchUp(6)));
        // Full, and it comes back at once.
        queue.push(handed(7));
        assert!(matches!(queue.next(6, Duration::ZERO), Task::CatchUp(7)));
    }
}
