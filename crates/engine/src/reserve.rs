//! The disk's reserve: a run rests before the disk is full, and goes on when there is space again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use teia_base::Files;
use teia_base::measure::format_size;

/// How often the disk is looked at.
const EVERY: Duration = Duration::from_secs(1);
const GIB: u64 = 1 << 30;
/// What is left free on any disk.
const LEAST: u64 = 64 << 20;

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
            let total = files.total_bytes().ok().flatten().unwrap_or(0);
            // A disk that does not say how much is free cannot be watched.
            let free = files.free_bytes().ok().flatten();
            free.map_or(0, |free| suitable(free, total))
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
/// that is nearly full must be able to begin. Never less than what two commits and their spool may
/// take, either: where not even that is free, it is better to wait than to break off. (On a very small
/// disk an eighth of it stands for that.)
fn suitable(free: u64, total: u64) -> u64 {
    let least = match total {
        0 => LEAST,
        total => LEAST.min(total / 8),
    };
    (5 * GIB).max(total / 20).min(free / 2).max(least)
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
        // Small disks, and full ones.
        assert_eq!(suitable(GIB, 80 * GIB), GIB / 2);
        assert_eq!(suitable(2 * GIB - 1, 8 * GIB), GIB - 1);
        assert_eq!(suitable(500 << 20, GIB), 250 << 20);
        assert_eq!(suitable(40 << 20, 64 << 20), 20 << 20);
        assert_eq!(suitable(0, 80 * GIB), LEAST);
        assert_eq!(suitable(0, 32 << 20), 4 << 20);
        assert_eq!(suitable(100 << 20, 0), LEAST);
    }

    #[test]
    fn a_small_disk_has_a_reserve_too() {
        let disk = SimulatedDisk::new();
        disk.set_free_bytes(Some(500 << 20));
        let mut reserve = Reserve::new(Arc::new(disk.clone()), None);
        let start = Instant::now();
        assert!(reserve.look(start).is_none() && !reserve.is_low());
        disk.set_free_bytes(Some(200 << 20));
        assert!(reserve.look(start + EVERY).is_some() && reserve.is_low());
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
