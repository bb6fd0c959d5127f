//! Time, handed in: the wall clock for what people read, a monotonic one for waiting.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::Timestamp;

/// Where every room gets the time from. Politeness uses `now`, which never steps;
/// records use `wall`, which may.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The monotonic moment.
    fn now(&self) -> Instant;
    /// The wall clock, in UTC.
    fn wall(&self) -> Timestamp;
}

/// The machine's own clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that may ask the system"
    )]
    fn wall(&self) -> Timestamp {
        let elapsed = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_micros(i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX))
    }
}

/// A clock whose wall never goes back and never stands still, whatever is done to the one behind it.
///
/// When that one falls behind the monotonic clock by more than [`SteadyClock::TOLERANCE`], this one goes
/// on from where it was, and is ahead from then on: what was to be done in a minute is done in a minute,
/// and dates within one file only grow. A step forward is followed: a machine that slept makes one.
#[derive(Debug)]
pub struct SteadyClock {
    inner: Arc<dyn Clock>,
    state: Mutex<Steady>,
}

#[derive(Debug)]
struct Steady {
    /// What both clocks showed when they last agreed.
    now: Instant,
    wall: Timestamp,
    ahead: Duration,
    /// What was told last.
    told: Timestamp,
}

impl SteadyClock {
    /// What a clock may fall behind: time servers slow clocks down by little.
    pub const TOLERANCE: Duration = Duration::from_secs(2);

    /// Over another clock.
    pub fn new(inner: Arc<dyn Clock>) -> Self {
        let wall = inner.wall();
        let state = Mutex::new(Steady {
            now: inner.now(),
            wall,
            ahead: Duration::ZERO,
            told: wall,
        });
        Self { inner, state }
    }

    /// How far the clock behind was set back so far.
    pub fn ahead(&self) -> Duration {
        self.state().ahead
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Steady> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Instant {
        self.inner.now()
    }

    fn wall(&self) -> Timestamp {
        let mut state = self.state();
        let (now, wall) = (self.inner.now(), self.inner.wall());
        let expected = state.wall.plus(now.saturating_duration_since(state.now));
        let behind = expected.since(wall);
        if behind > Self::TOLERANCE {
            state.ahead += behind;
            (state.now, state.wall) = (now, wall);
        } else if wall >= expected {
            (state.now, state.wall) = (now, wall);
        }
        // Within the tolerance it may still have gone back a little.
        state.told = state.told.max(wall.plus(state.ahead));
        state.told
    }
}

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct ManualClock {
    origin: Instant,
    state: Mutex<(Duration, Timestamp)>,
}

impl ManualClock {
    /// A clock that shows `wall`.
    pub fn new(wall: Timestamp) -> Self {
        Self {
            origin: Instant::now(),
            state: Mutex::new((Duration::ZERO, wall)),
        }
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state.lock().expect("no holder panics");
        state.0 += by;
        state.1 = state.1.plus(by);
    }

    /// Sets the wall clock alone, as an operator or a time server would.
    pub fn set_wall(&self, wall: Timestamp) {
        self.state.lock().expect("no holder panics").1 = wall;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.origin + self.state.lock().expect("no holder panics").0
    }

    fn wall(&self) -> Timestamp {
        self.state.lock().expect("no holder panics").1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_clock_goes_on_when_the_other_steps_back_or_stands_still() {
        let start = Timestamp::parse("2026-11-16T12:00:00Z").unwrap();
        let manual = Arc::new(ManualClock::new(start));
        let steady = SteadyClock::new(Arc::clone(&manual) as Arc<dyn Clock>);
        let day = Duration::from_secs(86_400);
        let minute = Duration::from_secs(60);
        manual.advance(minute);
        assert_eq!(steady.wall(), start.plus(minute));
        // A day back.
        manual.set_wall(start);
        manual.advance(minute);
        assert_eq!(steady.wall(), start.plus(2 * minute));
        assert_eq!(steady.ahead(), minute);
        // Standing still.
        let stands = manual.wall();
        let mut last = steady.wall();
        for _ in 0..100 {
            manual.advance(Duration::from_secs(1));
            manual.set_wall(stands);
            assert!(steady.wall() >= last);
            last = steady.wall();
        }
        let behind = start
            .plus(2 * minute + Duration::from_secs(100))
            .since(last);
        assert!(behind <= SteadyClock::TOLERANCE, "{behind:?}");
        // Forward it follows, and back again it goes on.
        manual.set_wall(stands.plus(day));
        let far = steady.wall();
        assert!(far.since(last) >= day - minute);
        manual.set_wall(stands);
        manual.advance(minute);
        assert_eq!(steady.wall(), far.plus(minute));
    }
}
