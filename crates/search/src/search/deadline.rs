//! The time of one query: one budget for planning, matching and ordering over all indexes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// When a query must be answered with what was found by then.
#[derive(Debug)]
pub(super) struct Deadline {
    end: Instant,
    was_over: AtomicBool,
}

/// Steps of a walk between two looks at the clock.
pub(super) const STEPS: u32 = 1_024;

impl Deadline {
    pub(super) fn after(began: Instant, milliseconds: u64) -> Self {
        Self {
            end: began + Duration::from_millis(milliseconds),
            was_over: AtomicBool::new(false),
        }
    }

    /// Whether the time is over. Who hears so leaves something out.
    pub(super) fn is_over(&self) -> bool {
        if self.was_over() {
            return true;
        }
        let is_over = Instant::now() > self.end;
        if is_over {
            self.was_over.store(true, Ordering::Relaxed);
        }
        is_over
    }

    /// The same, looked at only now and then.
    pub(super) fn is_over_at(&self, step: &mut u32) -> bool {
        *step = step.wrapping_add(1);
        step.is_multiple_of(STEPS) && self.is_over()
    }

    /// Whether somebody heard that it was over: what there is, is not all.
    pub(super) fn was_over(&self) -> bool {
        self.was_over.load(Ordering::Relaxed)
    }
}
