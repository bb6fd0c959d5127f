//! Whose page is read next, where runs share the processor: that of the run that has had least of it for its weight.
//!
//! ```text
//! page ──> has another run had less, and pages to read? ── no ──> read it ──> what it computed, by weight
//!                 ^                                     │ yes
//!                 └──── told, or PATIENCE is over <─────┘
//! ```
//!
//! Nobody waits for a run that has nothing to read, or whose workers rest: what one leaves is for the others.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So far a run may be ahead of another, in nanoseconds: runs take turns of some pages, and not of one.
const SLACK: u64 = 5_000_000;
/// What a run that had nothing to read has saved up at most, in nanoseconds.
const SAVED: u64 = 100_000_000;
/// A run that is behind and does not come within this time keeps nobody waiting.
const PATIENCE: Duration = Duration::from_millis(250);
/// How soon a run that waits looks again by itself.
const LOOK: Duration = Duration::from_millis(5);

/// What all runs of a process share of its processors.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    seats: Mutex<BTreeMap<u64, Seat>>,
    told: Condvar,
    /// Workers that wait to be told.
    waiting: AtomicUsize,
}

struct Seat {
    weight: u64,
    /// Nanoseconds that it has computed, divided by its weight.
    spent: u64,
    /// Of its workers, those that could read a page.
    awake: Arc<AtomicUsize>,
    /// Whether a page waits to be read.
    has_pages: Box<dyn Fn() -> bool + Send>,
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat")
            .field("weight", &self.weight)
            .field("spent", &self.spent)
            .finish_non_exhaustive()
    }
}

impl Seat {
    fn wants(&self) -> bool {
        self.awake.load(Ordering::Relaxed) > 0 && (self.has_pages)()
    }
}

impl Shares {
    /// A run takes part: with this weight, so many workers, and what says whether a page waits for them.
    pub(crate) fn join(
        self: &Arc<Self>,
        weight: u32,
        workers: usize,
        has_pages: impl Fn() -> bool + Send + 'static,
    ) -> Share {
        let mut seats = self.lock();
        let id = seats.last_key_value().map_or(0, |(last, _)| last + 1);
        // One that comes late has no claim on what was before.
        let spent = seats.values().map(|seat| seat.spent).max().unwrap_or(0);
        let awake = Arc::new(AtomicUsize::new(workers));
        let seat = Seat {
            weight: u64::from(weight.max(1)),
            spent,
            awake: Arc::clone(&awake),
            has_pages: Box::new(has_pages),
        };
        seats.insert(id, seat);
        drop(seats);
        Share {
            shares: Arc::clone(self),
            id,
            awake,
        }
    }

    /// Tells those that wait to look again.
    fn tell(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.told.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run's part; it is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    shares: Arc<Shares>,
    id: u64,
    awake: Arc<AtomicUsize>,
}

impl Share {
    /// Another weight, from the next page on.
    pub(crate) fn set_weight(&self, weight: u32) {
        if let Some(seat) = self.shares.lock().get_mut(&self.id) {
            seat.weight = u64::from(weight.max(1));
        }
    }

    /// Waits until a page of this run may be read, unless there is no time for it.
    pub(crate) fn turn(&self, is_over: impl Fn() -> bool) {
        let mut seats = self.shares.lock();
        if !is_ahead(&mut seats, self.id) {
            return;
        }
        let by = Instant::now() + PATIENCE;
        self.shares.waiting.fetch_add(1, Ordering::Relaxed);
        while is_ahead(&mut seats, self.id) && !is_over() && Instant::now() < by {
            let waited = self.shares.told.wait_timeout(seats, LOOK);
            seats = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.shares.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// A page was read, and took this much of a processor.
    pub(crate) fn note(&self, computed: Duration) {
        let nanos = u64::try_from(computed.as_nanos()).unwrap_or(u64::MAX);
        if let Some(seat) = self.shares.lock().get_mut(&self.id) {
            seat.spent = seat.spent.saturating_add(nanos / seat.weight);
        }
        self.shares.tell();
    }

    /// Does something for which a worker waits: meanwhile it reads nothing.
    pub(crate) fn rest<T>(&self, waiting: impl FnOnce() -> T) -> T {
        self.awake.fetch_sub(1, Ordering::Relaxed);
        self.shares.tell();
        let done = waiting();
        self.awake.fetch_add(1, Ordering::Relaxed);
        done
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shares.lock().remove(&self.id);
        self.shares.tell();
    }
}

/// Whether another run that wants to read has had less. What a run has saved up while it had nothing to read is bounded.
fn is_ahead(seats: &mut BTreeMap<u64, Seat>, id: u64) -> bool {
    let others = seats
        .iter()
        .filter(|(other, seat)| **other != id && seat.wants());
    let Some(least) = others.map(|(_, seat)| seat.spent).min() else {
        return false;
    };
    let Some(own) = seats.get_mut(&id) else {
        return false;
    };
    own.spent = own.spent.max(least.saturating_sub(SAVED));
    own.spent > least.saturating_add(SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    const PAGE: Duration = Duration::from_micros(300);

    /// Whether the run may read now; then it has.
    fn reads(share: &Share) -> bool {
        let reads = !is_ahead(&mut share.shares.lock(), share.id);
        if reads {
            share.note(PAGE);
        }
        reads
    }

    /// How often each of them reads while both would like to.
    fn pages(shares: [&Share; 2], turns: usize) -> [usize; 2] {
        let mut pages = [0; 2];
        for _ in 0..turns {
            for (at, share) in shares.iter().enumerate() {
                pages[at] += usize::from(reads(share));
            }
        }
        pages
    }

    /// Whether it is one page in so many, give or take a twentieth.
    fn is_one_in(share: usize, all: usize, parts: usize) -> bool {
        (share * parts).abs_diff(all) * 20 <= all
    }

    #[test]
    fn the_processor_goes_by_weight_where_all_have_pages() {
        let shares = Arc::<Shares>::default();
        let (light, heavy) = (shares.join(1, 2, || true), shares.join(3, 2, || true));
        let [one, three] = pages([&light, &heavy], 20_000);
        assert!(is_one_in(one, one + three, 4), "{one} {three}");
        light.set_weight(3);
        let [one, three] = pages([&light, &heavy], 20_000);
        assert!(is_one_in(one, one + three, 2), "{one} {three}");
    }

    #[test]
    fn nobody_waits_for_a_run_that_has_nothing_to_read() {
        let shares = Arc::<Shares>::default();
        let has_pages = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&has_pages);
        let (light, heavy) = (
            shares.join(1, 2, || true),
            shares.join(3, 2, move || told.load(Ordering::Relaxed)),
        );
        assert!((0..10_000).all(|_| reads(&light)));
        // It has saved up a little, and no more.
        has_pages.store(true, Ordering::Relaxed);
        assert!(reads(&heavy) && !reads(&light));
        let [one, three] = pages([&light, &heavy], 20_000);
        assert!(is_one_in(one, one + three, 4), "{one} {three}");
        // Nor for one whose workers rest, or that is over.
        heavy.rest(|| heavy.rest(|| assert!((0..1000).all(|_| reads(&light)))));
        assert!(!reads(&light));
        drop(heavy);
        assert!((0..1000).all(|_| reads(&light)));
    }

    #[test]
    fn one_that_comes_late_has_no_claim_on_what_was_before() {
        let shares = Arc::<Shares>::default();
        let first = shares.join(1, 2, || true);
        assert!((0..10_000).all(|_| reads(&first)));
        let second = shares.join(1, 2, || true);
        let [one, other] = pages([&first, &second], 10_000);
        assert!(is_one_in(one, one + other, 2), "{one} {other}");
    }

    #[test]
    fn who_waits_for_one_that_does_not_come_goes_on() {
        let shares = Arc::<Shares>::default();
        let (one, _other) = (shares.join(1, 1, || true), shares.join(1, 1, || true));
        one.note(Duration::from_secs(5));
        // It ends: by patience, or at once where there is no time.
        one.turn(|| true);
        one.turn(|| false);
    }
}
