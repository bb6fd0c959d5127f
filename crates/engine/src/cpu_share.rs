//! A share of all cores that a run keeps to, averaged over time.
//!
//! An [`Account`] holds what was computed beyond the share. While there is something on it workers rest, and whatever waits
//! for them (fetching, writing) slows down with them, because the queue before them has a bound. What goes on it depends
//! on who else computes:
//!
//! - A run with a process of its own (`teia crawl`): all that the process computes, so that fetching, index, links and catalog count too.
//! - Runs of one process (`teia serve`) cannot tell what of it is whose. There it is what all workers of the run have computed
//!   together, each measured by its own thread.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Rests are taken in pieces: a run that is told to end, or to hurry, must not wait for them.
const PIECE: Duration = Duration::from_millis(20);

/// Parts of a hundred: 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuShare(u8);

impl TryFrom<String> for CpuShare {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = text.trim().strip_suffix('%');
        let number = number.and_then(|number| number.trim().parse::<u8>().ok());
        let share = number.filter(|share| (1..=100).contains(share));
        share
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no share of the cores; write \"1%\" to \"100%\""))
    }
}

impl From<CpuShare> for String {
    fn from(share: CpuShare) -> Self {
        share.to_string()
    }
}

impl fmt::Display for CpuShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

/// Whose computing counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// That of the whole process.
    Process,
    /// That of the workers of the run.
    Workers,
}

/// What was computed beyond the share.
#[derive(Debug)]
struct Account {
    looked: Instant,
    computed: Duration,
    /// Seconds; below zero there is something left.
    debt: f64,
}

impl Account {
    /// So much may be saved up, or owed: what took long once is not to be paid for for ever.
    const MOST_SAVED: f64 = 0.2;
    const MOST_OWED: f64 = 5.0;

    /// Takes in what was computed since the last look; says whether the share is used up.
    fn is_used_up(
        &mut self,
        share: CpuShare,
        cores: f64,
        now: Instant,
        computed: Duration,
    ) -> bool {
        let elapsed = now.saturating_duration_since(self.looked).as_secs_f64();
        let used = computed.saturating_sub(self.computed).as_secs_f64();
        let allowed = elapsed * cores * f64::from(share.0) / 100.0;
        self.debt = (self.debt + used - allowed).clamp(-Self::MOST_SAVED, Self::MOST_OWED);
        (self.looked, self.computed) = (now, computed);
        self.debt > 0.0
    }
}

/// The share of a run, which may change under it; 100 where there is no limit.
#[derive(Debug)]
pub(crate) struct Throttle {
    share: AtomicU8,
    counts: Counts,
    /// Nanoseconds that workers have computed, where these count.
    by_workers: AtomicU64,
    account: Mutex<Account>,
}

impl Throttle {
    pub(crate) fn new(share: Option<CpuShare>, counts: Counts) -> Self {
        let throttle = Self {
            share: AtomicU8::new(100),
            counts,
            by_workers: AtomicU64::new(0),
            account: Mutex::new(Account {
                looked: Instant::now(),
                computed: Duration::ZERO,
                debt: 0.0,
            }),
        };
        throttle.account().computed = throttle.computed();
        throttle.set(share);
        throttle
    }

    pub(crate) fn set(&self, share: Option<CpuShare>) {
        self.share
            .store(share.map_or(100, |share| share.0), Ordering::Relaxed);
    }

    fn share(&self) -> CpuShare {
        CpuShare(self.share.load(Ordering::Relaxed))
    }

    /// Does a piece of work, and says what this thread has computed for it.
    pub(crate) fn measure<T>(&self, work: impl FnOnce() -> T) -> (T, Duration) {
        let before = cpu(ClockId::ThreadCPUTime);
        let done = work();
        (done, cpu(ClockId::ThreadCPUTime).saturating_sub(before))
    }

    /// Takes down what a worker has computed, and rests while the share is used up, unless there is no time for it.
    pub(crate) fn pay(&self, computed: Duration, is_over: impl Fn() -> bool) {
        let nanos = u64::try_from(computed.as_nanos()).unwrap_or(u64::MAX);
        self.by_workers.fetch_add(nanos, Ordering::Relaxed);
        while self.share().0 < 100 && !is_over() && self.is_used_up() {
            std::thread::sleep(PIECE);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "nobody has so many cores")]
    fn is_used_up(&self) -> bool {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut account = self.account();
        account.is_used_up(self.share(), cores as f64, Instant::now(), self.computed())
    }

    /// All that counts, since whenever.
    fn computed(&self) -> Duration {
        match self.counts {
            Counts::Process => cpu(ClockId::ProcessCPUTime),
            Counts::Workers => Duration::from_nanos(self.by_workers.load(Ordering::Relaxed)),
        }
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was computed so far: by this thread, or by the process.
fn cpu(of: ClockId) -> Duration {
    let time = clock_gettime(of);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_written_with_its_sign() {
        for text in ["1%", "50%", "100%"] {
            assert_eq!(
                CpuShare::try_from(text.to_owned()).unwrap().to_string(),
                text
            );
        }
        for text in ["", "0%", "101%", "50", "half", "-1%"] {
            assert!(CpuShare::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn of_runs_that_share_a_process_all_workers_count_and_nobody_else() {
        let throttle = Throttle::new(Some(CpuShare(1)), Counts::Workers);
        // What others compute is not on the account.
        let begun = cpu(ClockId::ThreadCPUTime);
        while cpu(ClockId::ThreadCPUTime).saturating_sub(begun) < Duration::from_millis(50) {}
        assert!(!throttle.is_used_up());
        for _ in 0..3 {
            throttle.pay(Duration::from_secs(60), || true);
        }
        assert_eq!(throttle.computed(), Duration::from_secs(180));
        assert!(throttle.is_used_up());
    }

    #[test]
    fn who_must_end_does_not_rest() {
        for counts in [Counts::Workers, Counts::Process] {
            let throttle = Throttle::new(Some(CpuShare(1)), counts);
            throttle.pay(Duration::from_secs(3600), || true);
            // And no limit is no rest.
            throttle.set(None);
            throttle.pay(Duration::from_secs(3600), || false);
        }
    }

    #[test]
    fn an_account_is_used_up_by_computing_and_filled_by_time() {
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        let mut account = Account {
            looked: begun,
            computed: Duration::ZERO,
            debt: 0.0,
        };
        let mut look = |at: u32, computed: u32| {
            let (now, computed) = (begun + second * at, second * computed);
            account.is_used_up(CpuShare(25), 4.0, now, computed)
        };
        assert!(!look(1, 1), "a quarter of four cores is one");
        assert!(look(2, 4), "three seconds in one");
        assert!(look(3, 4));
        assert!(!look(4, 4), "the rest has paid for it");
        // A long time without work is no leave to work for long.
        assert!(!look(1000, 4));
        assert!(look(1001, 6));
        // And whatever was computed is forgiven some day.
        assert!(look(1002, 900));
        assert!(!look(1008, 900));
    }
}
