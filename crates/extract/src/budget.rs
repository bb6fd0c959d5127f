//! Processor time of the page under way.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Steps between two looks at the clock: a look costs about as much as a few tags.
const STEPS_PER_LOOK: u32 = 4096;

/// Says when the calling thread has used up its time for this page.
///
/// Thread time, not wall time: a page must not lose its links because the machine is busy.
#[derive(Debug)]
pub(crate) struct Budget {
    end: Duration,
    steps: u32,
    spent: bool,
}

impl Budget {
    pub(crate) fn new(cpu: Duration) -> Self {
        Self {
            end: thread_time().saturating_add(cpu),
            steps: 0,
            spent: false,
        }
    }

    /// Whether the time was over at the last look.
    pub(crate) fn was_spent(&self) -> bool {
        self.spent
    }

    /// Counts one step; true when the time is over.
    #[inline]
    pub(crate) fn is_spent(&mut self) -> bool {
        self.steps += 1;
        if self.steps < STEPS_PER_LOOK {
            return false;
        }
        self.steps = 0;
        self.spent = thread_time() > self.end;
        self.spent
    }
}

/// Processor time this thread has used.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
