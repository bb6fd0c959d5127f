//! One politeness for the whole process: runs that go on beside each other share the gap of a host,
//! and what the machine can do at once.
//!
//! ```text
//! Guest (one run) ──enter──> a place among all ──take──> the host ──> (fetch) ──give back──> free again
//!                     │ no: hungry                 │ no: later, or when told
//!                     └── the one that has had least for its weight goes first
//! ```
//!
//! A host is taken by one guest at most, and by nobody before its gap is over, whoever asked last.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A guest that wanted a place and did not come for it within this time does not keep others waiting.
const HUNGER: Duration = Duration::from_millis(250);
/// So long after its gap a host is left to those that did not ask it last.
const YIELD: Duration = Duration::from_millis(25);
/// Hosts that are remembered before those whose gap is over are forgotten.
const MANY: usize = 100_000;
/// What one turn costs a guest of weight 1.
const TURN: u64 = 1 << 32;

/// What is asked one at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A host, by name.
    Host(Box<str>),
    /// A machine.
    Address(IpAddr),
}

/// Whether a guest may ask a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Now; it is taken.
    Now,
    /// Not before then.
    Later(Instant),
    /// Another guest asks it; the guest is told when that is over.
    Taken,
}

/// What all runs of a process share.
#[derive(Debug)]
pub struct Courtesy {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    slots: HashMap<Key, Slot>,
    guests: HashMap<u64, Seat>,
    next_guest: u64,
    /// Places in all, and those that are taken.
    most: usize,
    inside: usize,
}

#[derive(Debug, Default)]
struct Slot {
    taken_by: Option<u64>,
    /// When the last answer ended, and from when on the next request may be made.
    ended: Option<Instant>,
    allowed: Option<Instant>,
    last: u64,
    waiting: VecDeque<u64>,
}

struct Seat {
    weight: u64,
    /// What its turns have cost so far.
    spent: u64,
    inside: usize,
    hungry_until: Option<Instant>,
    news: Vec<Key>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat")
            .field("weight", &self.weight)
            .field("inside", &self.inside)
            .finish_non_exhaustive()
    }
}

impl Courtesy {
    /// For so many requests at once, over all runs.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                slots: HashMap::new(),
                guests: HashMap::new(),
                next_guest: 1,
                most: most.max(1),
                inside: 0,
            }),
        })
    }

    /// A run takes part, with this weight; `wake` is called when there is something new for it.
    pub fn join(self: &Arc<Self>, weight: u32, wake: Arc<dyn Fn() + Send + Sync>) -> Guest {
        let mut inner = self.lock();
        let id = inner.next_guest;
        inner.next_guest += 1;
        // One that comes late has no claim on what was before.
        let spent = inner.least_spent().unwrap_or(0);
        let seat = Seat {
            weight: u64::from(weight.max(1)),
            spent,
            inside: 0,
            hungry_until: None,
            news: Vec::new(),
            wake,
        };
        inner.guests.insert(id, seat);
        Guest {
            courtesy: Arc::clone(self),
            id,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn least_spent(&self) -> Option<u64> {
        let seats = self.guests.values();
        let active = seats.filter(|seat| seat.inside > 0 || seat.hungry_until.is_some());
        active.map(|seat| seat.spent).min()
    }

    /// Tells those that wait for a place that there may be one.
    fn call_the_hungry(&self) {
        for seat in self.guests.values() {
            if seat.hungry_until.is_some() {
                (seat.wake)();
            }
        }
    }

    fn forget_old(&mut self, now: Instant) {
        if self.slots.len() > MANY {
            self.slots.retain(|_, slot| {
                slot.taken_by.is_some()
                    || !slot.waiting.is_empty()
                    || slot.allowed.is_some_and(|allowed| allowed > now)
            });
        }
    }

    fn free(&mut self, key: &Key, guest: u64) {
        let Some(slot) = self.slots.get_mut(key) else {
            return;
        };
        if slot.taken_by == Some(guest) {
            slot.taken_by = None;
        }
        // They stay in the line until they have had their turn.
        for id in &slot.waiting {
            if let Some(seat) = self.guests.get_mut(id) {
                seat.news.push(key.clone());
                (seat.wake)();
            }
        }
    }
}

/// A run that takes part. What it has taken is free again when it is dropped.
pub struct Guest {
    courtesy: Arc<Courtesy>,
    id: u64,
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guest({})", self.id)
    }
}

impl Guest {
    /// Another weight, from the next turn on.
    pub fn set_weight(&self, weight: u32) {
        if let Some(seat) = self.courtesy.lock().guests.get_mut(&self.id) {
            seat.weight = u64::from(weight.max(1));
        }
    }

    /// Asks for a place. Where there is none, or another has had less for its weight, the guest is
    /// woken when it may try again; it should try after [`Guest::PATIENCE`] in any case.
    pub fn enter(&self, now: Instant) -> bool {
        let mut inner = self.courtesy.lock();
        let least = inner.least_spent();
        let has_place = inner.inside < inner.most;
        let mine = inner.guests.get(&self.id).map_or(0, |seat| seat.spent);
        let is_due = |seat: &Seat| seat.hungry_until.is_some_and(|until| until > now);
        let another = inner
            .guests
            .iter()
            .any(|(id, seat)| *id != self.id && is_due(seat) && seat.spent < mine);
        let goes = has_place && !another;
        let Some(seat) = inner.guests.get_mut(&self.id) else {
            return false;
        };
        if seat.inside == 0 && seat.hungry_until.is_none() {
            // One that rested has saved nothing up.
            seat.spent = seat.spent.max(least.unwrap_or(0));
        }
        seat.hungry_until = (!goes).then_some(now + HUNGER);
        if goes {
            seat.inside += 1;
            seat.spent += TURN / seat.weight;
            inner.inside += 1;
        } else if has_place {
            inner.call_the_hungry();
        }
        goes
    }

    /// How long a guest that could not enter waits at most before it tries again.
    pub const PATIENCE: Duration = Duration::from_millis(50);

    /// The place is free again. One that was not used costs nothing.
    pub fn leave(&self, used: bool) {
        let mut inner = self.courtesy.lock();
        inner.inside = inner.inside.saturating_sub(1);
        if let Some(seat) = inner.guests.get_mut(&self.id) {
            seat.inside = seat.inside.saturating_sub(1);
            if !used {
                seat.spent = seat.spent.saturating_sub(TURN / seat.weight);
            }
        }
        inner.call_the_hungry();
    }

    /// Takes a host, if nobody else asks it and its gap is over; `gap` is the guest's own.
    pub fn take(&self, keys: &[Key], gap: Duration, now: Instant) -> Turn {
        let mut inner = self.courtesy.lock();
        inner.forget_old(now);
        let mut later: Option<Instant> = None;
        for key in keys {
            let slot = inner.slots.entry(key.clone()).or_default();
            let others_wait = slot.waiting.iter().any(|id| *id != self.id);
            if slot.taken_by.is_some() {
                if !slot.waiting.contains(&self.id) {
                    slot.waiting.push_back(self.id);
                }
                return Turn::Taken;
            }
            let own = slot.ended.map(|ended| ended + gap);
            let mut allowed = slot.allowed.max(own);
            if slot.last == self.id && others_wait {
                allowed = allowed.map(|allowed| allowed + YIELD);
            }
            later = later.max(allowed.filter(|allowed| *allowed > now));
        }
        if let Some(later) = later {
            for key in keys {
                let slot = inner.slots.entry(key.clone()).or_default();
                if !slot.waiting.contains(&self.id) {
                    slot.waiting.push_back(self.id);
                }
            }
            return Turn::Later(later);
        }
        for key in keys {
            let slot = inner.slots.entry(key.clone()).or_default();
            slot.taken_by = Some(self.id);
            slot.last = self.id;
            slot.waiting.retain(|id| *id != self.id);
        }
        Turn::Now
    }

    /// The host was asked, and may be asked again then. Without moments it was not asked after all.
    pub fn give_back(&self, keys: &[Key], answered: Option<(Instant, Instant)>) {
        let mut inner = self.courtesy.lock();
        for key in keys {
            if let (Some(slot), Some((ended, allowed))) = (inner.slots.get_mut(key), answered) {
                slot.ended = slot.ended.max(Some(ended));
                slot.allowed = slot.allowed.max(Some(allowed));
            }
            inner.free(key, self.id);
        }
    }

    /// Nobody asks it before then.
    pub fn hold(&self, keys: &[Key], until: Instant) {
        let mut inner = self.courtesy.lock();
        for key in keys {
            let slot = inner.slots.entry(key.clone()).or_default();
            slot.allowed = slot.allowed.max(Some(until));
        }
    }

    /// What was taken by others, and is free now.
    pub fn news(&self) -> Vec<Key> {
        let mut inner = self.courtesy.lock();
        let seat = inner.guests.get_mut(&self.id);
        seat.map_or_else(Vec::new, |seat| std::mem::take(&mut seat.news))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut inner = self.courtesy.lock();
        let seat = inner.guests.remove(&self.id);
        inner.inside -= seat.map_or(0, |seat| seat.inside).min(inner.inside);
        let mine: Vec<Key> = inner
            .slots
            .iter()
            .filter(|(_, slot)| slot.taken_by == Some(self.id) || slot.waiting.contains(&self.id))
            .map(|(key, _)| key.clone())
            .collect();
        for key in mine {
            if let Some(slot) = inner.slots.get_mut(&key) {
                slot.waiting.retain(|id| *id != self.id);
                if slot.taken_by == Some(self.id) {
                    // It may have been asked an instant ago: each who comes rests as long as it does.
                    slot.ended = slot.ended.max(Some(Instant::now()));
                }
            }
            inner.free(&key, self.id);
        }
        inner.call_the_hungry();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(courtesy: &Arc<Courtesy>, weight: u32) -> Guest {
        courtesy.join(weight, Arc::new(|| {}))
    }

    fn host(name: &str) -> Vec<Key> {
        vec![Key::Host(name.into())]
    }

    #[test]
    fn a_host_is_taken_by_one_and_its_gap_is_that_of_all() {
        let courtesy = Courtesy::new(10);
        let (one, other) = (guest(&courtesy, 1), guest(&courtesy, 1));
        let (key, start) = (host("a.example"), Instant::now());
        let second = Duration::from_secs(1);
        assert_eq!(one.take(&key, second, start), Turn::Now);
        assert_eq!(other.take(&key, second, start), Turn::Taken);
        assert_eq!(other.take(&host("b.example"), second, start), Turn::Now);
        let ended = start + second;
        one.give_back(&key, Some((ended, ended + second)));
        assert_eq!(other.news(), key);
        assert_eq!(other.take(&key, second, ended), Turn::Later(ended + second));
        // One that is slower waits for longer, whoever asked last.
        assert_eq!(
            other.take(&key, 5 * second, ended + second),
            Turn::Later(ended + 5 * second)
        );
        // The one that asked last leaves the first moment to the other.
        let allowed = ended + second;
        assert_eq!(
            one.take(&key, second, allowed),
            Turn::Later(allowed + YIELD)
        );
        assert_eq!(other.take(&key, second, allowed), Turn::Now);
    }

    #[test]
    fn one_that_goes_leaves_nothing_taken() {
        let courtesy = Courtesy::new(1);
        let (one, other) = (guest(&courtesy, 1), guest(&courtesy, 1));
        let now = Instant::now();
        assert!(one.enter(now) && !other.enter(now));
        assert_eq!(one.take(&host("a"), Duration::ZERO, now), Turn::Now);
        assert_eq!(other.take(&host("a"), Duration::ZERO, now), Turn::Taken);
        drop(one);
        assert_eq!(other.news(), host("a"));
        // It counts as asked at that moment.
        let now = Instant::now();
        assert!(other.enter(now));
        assert_eq!(other.take(&host("a"), Duration::ZERO, now), Turn::Now);
    }

    #[test]
    fn places_go_by_weight() {
        let courtesy = Courtesy::new(4);
        let guests = [guest(&courtesy, 1), guest(&courtesy, 3)];
        let mut now = Instant::now();
        let (mut turns, mut inside) = ([0_u32; 2], VecDeque::new());
        for round in 0..40_000_u32 {
            now += Duration::from_micros(100);
            // Both always want one, in changing order.
            for at in [round as usize % 2, (round as usize + 1) % 2] {
                while guests[at].enter(now) {
                    turns[at] += 1;
                    inside.push_back(at);
                }
            }
            if let Some(at) = inside.pop_front() {
                guests[at].leave(true);
            }
        }
        let share = f64::from(turns[1]) / f64::from(turns[0]);
        assert!((2.9..3.1).contains(&share), "{turns:?}");
    }

    #[test]
    fn one_that_does_not_come_keeps_nobody_waiting() {
        let courtesy = Courtesy::new(1);
        let (one, other) = (guest(&courtesy, 1), guest(&courtesy, 1));
        let now = Instant::now();
        assert!(one.enter(now));
        assert!(!other.enter(now));
        one.leave(true);
        // One that comes has saved nothing up: so far both have had the same.
        assert!(one.enter(now));
        assert!(!other.enter(now));
        one.leave(true);
        // The other has had less; it is left the place for a moment, and no longer.
        assert!(!one.enter(now));
        assert!(one.enter(now + 2 * HUNGER));
    }
}
