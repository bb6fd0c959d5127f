//! The memory of the whole process: less is begun before it is used up.
//!
//! ```text
//! resident memory ──> above 7/8 of the cap: one request at a time ──> below 3/4: as before
//!                 └─> no room for a large page below that: pages are read one at a time
//! ```
//!
//! Something always goes on, so that a cap that is too small makes a run slow and never stands it still.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a worker waits before it looks again.
const LOOK: Duration = Duration::from_millis(10);

/// What a large page takes while it is unpacked and read: another is begun beside it only where there is as much.
const PAGE_ROOM: u64 = 96 << 20;

/// What the process may have, and whether it is close to it.
#[derive(Debug)]
pub(crate) struct Memory {
    cap: u64,
    is_short: AtomicBool,
    /// Workers that read a page.
    busy: AtomicUsize,
    turn: Mutex<()>,
    done: Condvar,
}

impl Memory {
    pub(crate) fn new(chosen: Option<u64>) -> Self {
        Self {
            cap: cap(chosen),
            is_short: AtomicBool::new(false),
            busy: AtomicUsize::new(0),
            turn: Mutex::new(()),
            done: Condvar::new(),
        }
    }

    /// The cap.
    pub(crate) fn cap(&self) -> u64 {
        self.cap
    }

    /// Looks at the process; whether as little as possible is to be begun.
    pub(crate) fn is_short(&self) -> bool {
        let (cap, now) = (self.cap(), resident());
        let was_short = self.is_short.load(Ordering::Relaxed);
        let most = if was_short { cap / 4 * 3 } else { cap / 8 * 7 };
        let is_short = now > most;
        self.is_short.store(is_short, Ordering::Relaxed);
        is_short
    }

    /// Waits until a page may be read. Where memory is short, they are read one after another.
    pub(crate) fn turn(&self) -> Turn<'_> {
        let mut lock = self.lock();
        while self.busy.load(Ordering::Relaxed) > 0 && !self.has_room() {
            let waited = self.done.wait_timeout(lock, LOOK);
            lock = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.busy.fetch_add(1, Ordering::Relaxed);
        Turn(self)
    }

    /// Whether a page may be read beside others.
    fn has_room(&self) -> bool {
        resident().saturating_add(PAGE_ROOM) <= self.cap / 8 * 7
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A page is being read.
#[derive(Debug)]
pub(crate) struct Turn<'a>(&'a Memory);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
        self.0.done.notify_one();
    }
}

/// What was chosen; or three quarters of what the machine has, or the box that the process runs in.
pub(crate) fn cap(chosen: Option<u64>) -> u64 {
    chosen.unwrap_or_else(|| machine().min(own_box()) / 4 * 3)
}

fn machine() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.map_or(u64::MAX, |kilobytes| kilobytes.saturating_mul(1024))
}

/// The limit of the control group; the second file is that of older systems.
fn own_box() -> u64 {
    let files = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let limits = files.iter().filter_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().parse::<u64>().ok()
    });
    limits.min().unwrap_or(u64::MAX)
}

/// Resident bytes of this process; 0 where the system does not tell.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.map_or(0, |pages: u64| pages.saturating_mul(PAGE))
}

/// Bytes of a page, as `statm` counts them.
const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn where_memory_is_short_pages_are_read_one_after_another_and_all_are_read() {
        for (cap, most_at_once) in [(1, 1), (u64::MAX, 4)] {
            let memory = Memory::new(Some(cap));
            assert_eq!(memory.is_short(), cap == 1);
            let (at_once, most, read) = (
                AtomicUsize::new(0),
                AtomicUsize::new(0),
                AtomicUsize::new(0),
            );
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..5 {
                            let _turn = memory.turn();
                            let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(now, Ordering::SeqCst);
                            std::thread::sleep(Duration::from_millis(2));
                            at_once.fetch_sub(1, Ordering::SeqCst);
                            read.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                }
            });
            assert_eq!(read.into_inner(), 20);
            assert!(most.into_inner() <= most_at_once);
        }
    }

    #[test]
    fn without_a_choice_it_is_a_part_of_the_machine() {
        let cap = cap(None);
        assert!(cap > 64 << 20 && cap < machine(), "{cap}");
    }
}
