//! The memory of the whole process: less is begun before it is used up.
//!
//! ```text
//! memory of the process ──> above 7/8 of the cap: one request at a time ──> below 3/4: as before
//!                       └─> no room for one more page below that: small pages are read one at a time, and beside
//!                           them large ones one at a time
//! ```
//!
//! Something always goes on, so that a cap that is too small makes a run slow and never stands it still; and a large page
//! that is read for long holds up no small ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::collection::CollectionConfig;

/// How long a worker waits before it looks again.
const LOOK: Duration = Duration::from_millis(10);

/// How long a look at the process holds: pages begun since are counted by what they may take.
const FRESH: Duration = Duration::from_millis(5);

/// A page that may take more memory than this is large.
const SMALL: u64 = 24 << 20;

/// What the process may have, and whether it is close to it.
#[derive(Debug)]
pub(crate) struct Memory {
    cap: u64,
    is_short: AtomicBool,
    /// A page had to wait for others.
    has_waited: AtomicBool,
    pages: Mutex<Pages>,
    done: Condvar,
}

/// Pages that are being read, and when the process was looked at last.
#[derive(Debug, Default)]
struct Pages {
    small: usize,
    large: usize,
    /// What they may take in all.
    bytes: u64,
    looked: Option<Instant>,
    used: u64,
}

impl Pages {
    /// How many of the size of this one.
    fn of_size(&mut self, bytes: u64) -> &mut usize {
        if bytes > SMALL {
            &mut self.large
        } else {
            &mut self.small
        }
    }

    fn used(&mut self) -> u64 {
        if self.looked.is_none_or(|looked| looked.elapsed() >= FRESH) {
            (self.looked, self.used) = (Some(Instant::now()), used());
        }
        self.used
    }
}

impl Memory {
    pub(crate) fn new(chosen: Option<u64>) -> Self {
        Self {
            cap: cap(chosen),
            is_short: AtomicBool::new(false),
            has_waited: AtomicBool::new(false),
            pages: Mutex::default(),
            done: Condvar::new(),
        }
    }

    /// The cap.
    pub(crate) fn cap(&self) -> u64 {
        self.cap
    }

    /// Looks at the process; whether as little as possible is to be begun.
    pub(crate) fn is_short(&self) -> bool {
        let (cap, now) = (self.cap(), used());
        let was_short = self.is_short.load(Ordering::Relaxed);
        let most = if was_short { cap / 4 * 3 } else { cap / 8 * 7 };
        let is_short = now > most;
        self.is_short.store(is_short, Ordering::Relaxed);
        is_short
    }

    /// Whether a page had to wait for others to be read.
    pub(crate) fn has_waited(&self) -> bool {
        self.has_waited.load(Ordering::Relaxed)
    }

    /// Waits until a page that may take so many bytes may be read: where there is no room for it, until no other of its
    /// size is.
    pub(crate) fn turn(&self, bytes: u64) -> Turn<'_> {
        let mut pages = self.lock();
        while *pages.of_size(bytes) > 0 && !self.has_room(&mut pages, bytes) {
            self.has_waited.store(true, Ordering::Relaxed);
            let waited = self.done.wait_timeout(pages, LOOK);
            pages = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *pages.of_size(bytes) += 1;
        pages.bytes = pages.bytes.saturating_add(bytes);
        Turn {
            memory: self,
            bytes,
        }
    }

    /// Whether there is room for a page beside those that are being read.
    fn has_room(&self, pages: &mut Pages, bytes: u64) -> bool {
        let wanted = pages.used().saturating_add(pages.bytes);
        wanted.saturating_add(bytes) <= self.cap / 8 * 7
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A page is being read, and may take so many bytes.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    memory: &'a Memory,
    bytes: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut pages = self.memory.lock();
        *pages.of_size(self.bytes) -= 1;
        pages.bytes = pages.bytes.saturating_sub(self.bytes);
        drop(pages);
        self.memory.done.notify_all();
    }
}

/// What was chosen; or three quarters of what the machine has, or the box that the process runs in.
pub(crate) fn cap(chosen: Option<u64>) -> u64 {
    chosen.unwrap_or_else(|| machine().min(own_box()) / 4 * 3)
}

/// Gives every part of the program, at most, its part of what the process may have. Those that stay full for long (all but
/// bodies, which are fewer when less is fetched) are four fifths of it together; the rest is for the program itself and for
/// pages while they are read.
pub(crate) fn share_out(config: &mut CollectionConfig) {
    let cap = cap(config.run.memory);
    for (part, of) in [
        (&mut config.fetch.body_memory, 4),
        (&mut config.run.repository_memory, 4),
        // Less makes an index of many small pieces, whose merging costs more than it saves.
        (&mut config.index.memory_bytes, 4),
        (&mut config.index.queue_bytes, 16),
        // Beside what is kept: it is taken and given back.
        (&mut config.index.merge_bytes, 16),
        (&mut config.links.memory_bytes, 16),
        (&mut config.links.cache_bytes, 32),
        (&mut config.links.queue_bytes, 32),
        (&mut config.catalog.queue_bytes, 32),
        // Two of them are open.
        (&mut config.run.commit_bytes, 32),
        // A page takes three times as much while it is read.
        (&mut config.fetch.body_decoded_bytes, 8),
    ] {
        *part = (*part).min(cap / of);
    }
}

fn machine() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    field(&text, "MemTotal:").unwrap_or(u64::MAX)
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

/// Bytes that this process has in memory; 0 where the system does not tell.
fn used() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    used_in(&text)
}

/// Parts of files that are mapped (the program itself, the index) do not count: the system takes them back when it needs the room. Old
/// systems do not tell them apart.
fn used_in(status: &str) -> u64 {
    let own = field(status, "RssAnon:").map(|own| own + field(status, "RssShmem:").unwrap_or(0));
    own.or_else(|| field(status, "VmRSS:")).unwrap_or(0)
}

/// A field that is given in `kB`, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes = line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?;
    Some(kilobytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    const LARGE: u64 = SMALL + 1;

    /// Reads pages of these sizes on threads of their own, each with as many others as may be beside it; the most small
    /// and large ones at once. A page that is alone stays so for a while before it believes it.
    fn most_at_once(memory: &Memory, sizes: &[u64]) -> [usize; 2] {
        let now = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let most = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let read = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for &bytes in sizes {
                let (now, most, read) = (&now, &most, &read);
                scope.spawn(move || {
                    let kind = usize::from(bytes > SMALL);
                    let turn = memory.turn(bytes);
                    let others = now[kind].fetch_add(1, Ordering::SeqCst) + 1;
                    most[kind].fetch_max(others, Ordering::SeqCst);
                    let until = Instant::now() + Duration::from_millis(50);
                    while Instant::now() < until {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    now[kind].fetch_sub(1, Ordering::SeqCst);
                    drop(turn);
                    read.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(read.into_inner(), sizes.len(), "all are read");
        most.map(AtomicUsize::into_inner)
    }

    #[test]
    fn where_memory_is_short_pages_are_read_one_after_another_and_all_are_read() {
        let memory = Memory::new(Some(1));
        assert!(memory.is_short());
        let sizes = [1, 1, 1, 1, LARGE, LARGE, LARGE, LARGE];
        assert_eq!(most_at_once(&memory, &sizes), [1, 1]);
        assert!(memory.has_waited());
    }

    /// Were they not, the last one would never be reached.
    #[test]
    fn where_there_is_enough_pages_are_read_together() {
        let memory = Memory::new(Some(u64::MAX));
        assert!(!memory.is_short());
        let turns = [1, 1, LARGE, LARGE].map(|bytes| memory.turn(bytes));
        assert_eq!(memory.lock().bytes, 2 + 2 * LARGE);
        assert!(!memory.has_waited());
        drop(turns);
        let pages = memory.lock();
        assert_eq!((pages.small, pages.large, pages.bytes), (0, 0, 0));
    }

    /// Were they, the small one would never be read.
    #[test]
    fn a_large_page_that_is_read_holds_up_no_small_one_however_short_memory_is() {
        let memory = Memory::new(Some(1));
        let large = memory.turn(LARGE);
        drop(memory.turn(1));
        drop(memory.turn(1));
        assert!(!memory.has_waited());
        drop(large);
    }

    #[test]
    fn room_is_what_a_page_may_take_beside_those_that_are_read() {
        // 700 MiB more than there are now, or will be by what other tests do.
        let memory = Memory::new(Some(used() * 8 / 7 + (800 << 20)));
        let first = memory.turn(400 << 20);
        let mut pages = memory.lock();
        assert!(memory.has_room(&mut pages, 1 << 20));
        assert!(!memory.has_room(&mut pages, 600 << 20));
        drop(pages);
        drop(first);
        assert!(memory.has_room(&mut memory.lock(), 400 << 20));
    }

    #[test]
    fn parts_of_files_do_not_count() {
        let status =
            "VmRSS:\t    2268 kB\nRssAnon:\t     148 kB\nRssFile:\t    2120 kB\nRssShmem:\t 4 kB\n";
        assert_eq!(used_in(status), 152 << 10);
        assert_eq!(used_in("VmRSS:\t    2268 kB\n"), 2268 << 10);
        let before = used();
        assert!(before > 0, "this system tells");
        let held = std::hint::black_box(vec![7_u8; 64 << 20]);
        assert!(used() >= before + (32 << 20));
        drop(held);
    }

    #[test]
    fn what_stays_full_is_four_fifths_of_any_cap_and_what_fits_is_left_alone() {
        for cap in [128 << 20, 200 << 20, 1 << 30_u64] {
            let mut config = CollectionConfig::default();
            config.run.memory = Some(cap);
            share_out(&mut config);
            assert!(config.check().is_ok(), "{cap}");
            let (index, links) = (&config.index, &config.links);
            let kept = config.run.repository_memory
                + index.memory_bytes
                + index.queue_bytes
                + links.memory_bytes
                + links.cache_bytes
                + links.queue_bytes
                + config.catalog.queue_bytes
                + 2 * config.run.commit_bytes;
            assert!(kept <= cap / 5 * 4, "{kept} of {cap}");
            let merging = config.index.writer().merge_bytes;
            assert!(
                merging <= cap / 16,
                "merges have their part: {merging} of {cap}"
            );
        }
        let (mut config, usual) = (CollectionConfig::default(), CollectionConfig::default());
        config.run.memory = Some(4 << 30);
        share_out(&mut config);
        config.run.memory = None;
        assert_eq!(config.to_toml(), usual.to_toml());
    }

    #[test]
    fn without_a_choice_it_is_a_part_of_the_machine() {
        let cap = cap(None);
        assert!(cap > 64 << 20 && cap < machine(), "{cap}");
    }
}
