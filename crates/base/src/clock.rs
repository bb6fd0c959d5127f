//! Time, handed in: the wall clock for what people read, a monotonic one for waiting.

use std::fmt;
use std::sync::Mutex;
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
