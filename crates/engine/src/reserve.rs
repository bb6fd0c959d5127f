//! The disk's reserve: a run rests before the disk is full, and goes on when there is space again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use teia_base::Files;
use teia_base::measure::format_size;

/// How often the disk is looked at.
const EVERY: Duration = Duration::from_secs(1);
const GIB: u64 = 1 << 30;

/// Watches the free space of the data directory's disk.
#[derive(Debug)]
pub(crate) struct Reserve {
    files: Arc<dyn Files>,
    bytes: u64,
    looked: Option<Instant>,
    low: bool,
}

impl Reserve {
    /// A reserve of so much, or of what suits the disk.
    pub(crate) fn new(files: Arc<dyn Files>, chosen: Option<u64>) -> Self {
        let bytes = chosen.unwrap_or_else(|| {
            let free = files.free_bytes().ok().flatten().unwrap_or(0);
            let total = files.total_bytes().ok().flatten().unwrap_or(0);
            suitable(free, total)
        });
        Self {
            files,
            bytes,
            looked: None,
            low: false,
        }
    }

    /// Whether the run must rest.
    pub(crate) fn is_low(&self) -> bool {
        self.low
    }

    /// Looks at the disk if it is time to; a sentence when the run must rest now, or may go on.
    pub(crate) fn look(&mut self, now: Instant) -> Option<String> {
        let is_time = self
            .looked
            .is_none_or(|looked| now.saturating_duration_since(looked) >= EVERY);
        if self.bytes == 0 || !is_time {
            return None;
        }
        self.looked = Some(now);
        let free = self.files.free_bytes().ok().flatten()?;
        // A tenth more is asked for to go on, so that it does not stop and go with every page.
        let enough = if self.low {
            self.bytes.saturating_add(self.bytes / 10)
        } else {
            self.bytes
        };
        let low = free < enough;
        if low == self.low {
            return None;
        }
        self.low = low;
        let (free, reserve) = (format_size(free), format_size(self.bytes));
        Some(if low {
            format!(
                "{free} are free on the disk, less than the reserve of {reserve}: nothing more is fetched until there is space again (--disk-reserve changes the reserve)"
            )
        } else {
            format!("{free} are free on the disk again: going on")
        })
    }
}

/// 5 GiB or a twentieth of the disk, but never more than half of what is free now: a run on a disk
/// that is nearly full must be able to begin.
fn suitable(free: u64, total: u64) -> u64 {
    if free < 2 * GIB {
        return 0;
    }
    (5 * GIB).max(total / 20).min(free / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::SimulatedDisk;

    #[test]
    fn the_reserve_suits_the_disk() {
        assert_eq!(suitable(60 * GIB, 80 * GIB), 5 * GIB);
        assert_eq!(suitable(900 * GIB, 2000 * GIB), 100 * GIB);
        assert_eq!(suitable(4 * GIB, 80 * GIB), 2 * GIB);
        assert_eq!(suitable(GIB, 80 * GIB), 0);
    }

    #[test]
    fn it_rests_below_the_reserve_and_goes_on_above_it() {
        let disk = SimulatedDisk::new();
        let mut reserve = Reserve::new(Arc::new(disk.clone()), Some(1000));
        let mut now = Instant::now();
        let mut look = |free: u64| {
            disk.set_free_bytes(Some(free));
            now += EVERY;
            let said = reserve.look(now).is_some();
            (said, reserve.is_low())
        };
        assert_eq!(look(1000), (false, false));
        assert_eq!(look(999), (true, true));
        assert_eq!(look(1050), (false, true));
        assert_eq!(look(1100), (true, false));
    }
}
