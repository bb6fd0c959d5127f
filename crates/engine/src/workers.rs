//! The threads that read what was fetched. Pages that are dear to read have a lane of their own: a few hosts that send
//! them must not keep all workers busy while the pages of others wait.
//!
//! ```text
//! answer ──> quick lane: a thread for each core ───────────────────┐
//!        └─> slow lane: few threads that others go before ─────────┴──> ring
//!            (the host is asked again when its page was read)
//! ```
//!
//! What waits for the slow lane takes no place of a request to somebody else, as long as there is not too much of it;
//! and a host has one page there at most. Were it otherwise, dear pages would pile up in front of the lane until
//! nobody could be asked for anything.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use teia_base::HostId;
use tokio::sync::mpsc;

use crate::EngineError;
use crate::control::Control;
use crate::ring::{Message, Ring};
use crate::stage::extract::Workshop;
use crate::stage::fetch::Job;

/// Longer than this, a text is likely to be dear to read.
const LONG_TEXT: u64 = 512 << 10;
/// A page that took this much of a processor was dear: the next ones of its host are taken for it too,
const DEAR: Duration = Duration::from_millis(200);
/// until one of them takes no more than this.
const CHEAP: Duration = Duration::from_millis(50);
/// Hosts whose pages are dear that are remembered.
const MOST_DEAR: usize = 65_536;
/// How long such a host waits where enough of their pages are to be read.
const LANE_REST: Duration = Duration::from_millis(500);
/// How much less than others a thread of the slow lane gets where there is not enough for all.
const NICE: i32 = 10;

/// The way to the workers.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    quick: mpsc::Sender<Job>,
    slow: mpsc::Sender<Job>,
}

/// Which threads read a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Quick,
    Slow,
}

impl Lane {
    /// The lane for an answer, by what is known before it is read.
    pub(crate) fn of(job: &Job, host_is_dear: bool) -> Self {
        if host_is_dear || is_long_text(job) {
            Self::Slow
        } else {
            Self::Quick
        }
    }
}

impl Jobs {
    /// Starts so many workers, and a few more for what is dear.
    pub(crate) fn start(
        workers: usize,
        workshop: &Arc<Workshop>,
        messages: &mpsc::Sender<Message>,
        control: &Control,
    ) -> std::io::Result<Self> {
        let (quick, quick_jobs) = mpsc::channel(workers * 16);
        let (slow, slow_jobs) = mpsc::channel(workers * 16);
        let quick_jobs = Arc::new(Mutex::new(quick_jobs));
        let slow_jobs = Arc::new(Mutex::new(slow_jobs));
        let start = |name: String, jobs: &Arc<Mutex<mpsc::Receiver<Job>>>, nice: i32| {
            let worker = Worker {
                jobs: Arc::clone(jobs),
                workshop: Arc::clone(workshop),
                // The end of a run waits for nobody who may still read a page: it is not committed, and so it is
                // fetched again.
                messages: messages.downgrade(),
                control: control.clone(),
            };
            let work = move || {
                if nice > 0 {
                    // Of this thread alone. Where it may not be said, the lane is as quick as the other.
                    let _ = rustix::process::nice(nice);
                }
                worker.work();
            };
            std::thread::Builder::new().name(name).spawn(work).map(drop)
        };
        for number in 0..workers {
            start(format!("teia-worker-{number}"), &quick_jobs, 0)?;
        }
        for number in 0..workers.div_ceil(4) {
            start(format!("teia-slow-{number}"), &slow_jobs, NICE)?;
        }
        Ok(Self { quick, slow })
    }

    /// Hands a page to the workers, and waits while they have enough to do.
    pub(crate) async fn send(&self, job: Job, lane: Lane) {
        let lane = match lane {
            Lane::Quick => &self.quick,
            Lane::Slow => &self.slow,
        };
        // It fails only when the ring is gone, and with it the need for an answer.
        let _ = lane.send(job).await;
    }

    /// How full the queue before the workers is, between 0 and 1.
    pub(crate) fn fill(&self) -> f64 {
        let queued = self.quick.max_capacity() - self.quick.capacity();
        #[expect(clippy::cast_precision_loss, reason = "a share between 0 and 1")]
        let fill = queued as f64 / self.quick.max_capacity() as f64;
        fill
    }
}

impl Ring {
    /// The host has answered. A page for the slow lane keeps it from being asked until it was read.
    pub(crate) fn note_lane(&mut self, host: HostId, lane: Lane) {
        if lane == Lane::Slow {
            self.reading.insert(host);
        }
    }

    /// A page of the host was read, and took this much of a processor: those of hosts whose pages are dear wait for each
    /// other, and not the others for them.
    pub(crate) fn note_read(&mut self, host: HostId, computed: Duration) {
        match is_dear(computed) {
            Some(true) if self.dear.len() < MOST_DEAR => drop(self.dear.insert(host)),
            Some(false) => drop(self.dear.remove(&host)),
            _ => {}
        }
        if self.reading.remove(&host) {
            self.wake(host);
        }
    }

    /// Whether a host of dear pages must wait because enough of them are to be read; it then has given its lease back.
    pub(crate) fn waits_for_lane(&mut self, host: HostId) -> bool {
        let waits = self.reading.len() >= self.slack && self.dear.contains(&host);
        if waits {
            self.frontier.release(host);
            self.frontier.hold(host, self.clock.now() + LANE_REST);
            self.wake(host);
        }
        waits
    }

    /// Answers that may wait to be read beside the requests that are under way.
    pub(crate) fn room_to_read(&self) -> usize {
        self.slack + self.reading.len().min(self.slack)
    }
}

/// Whether what a page took says that its host is dear; nothing where it says neither.
fn is_dear(computed: Duration) -> Option<bool> {
    match computed {
        much if much >= DEAR => Some(true),
        little if little <= CHEAP => Some(false),
        _ => None,
    }
}

fn is_long_text(job: &Job) -> bool {
    let exchange = &job.exchange;
    let Some(response) = exchange.response.as_ref() else {
        return false;
    };
    let media_type = response.head.text("content-type").unwrap_or_default();
    let is_binary = [
        "image/",
        "video/",
        "audio/",
        "font/",
        "application/pdf",
        "application/zip",
    ]
    .iter()
    .any(|kind| media_type.starts_with(kind));
    !is_binary && exchange.wire_bytes() > LONG_TEXT
}

struct Worker {
    jobs: Arc<Mutex<mpsc::Receiver<Job>>>,
    workshop: Arc<Workshop>,
    messages: mpsc::WeakSender<Message>,
    control: Control,
}

impl Worker {
    fn work(&self) {
        loop {
            let job = self
                .jobs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .blocking_recv();
            let Some(job) = job else { return };
            let throttle = &self.workshop.throttle;
            let host = job.host;
            let turn = self.workshop.memory.turn();
            // A part that a program brought may panic; the run then ends instead of hanging.
            let (worked, computed) =
                throttle.measure(|| catch_unwind(AssertUnwindSafe(|| self.workshop.work(job))));
            let message = match worked {
                Ok(page) => Message::Worked {
                    host,
                    page: Box::new(page),
                    computed,
                },
                Err(_) => Message::Broken(EngineError::WorkerLost),
            };
            let Some(messages) = self.messages.upgrade() else {
                return;
            };
            if messages.blocking_send(message).is_err() {
                return;
            }
            drop(turn);
            throttle.pay(computed, || self.control.end().is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dear_host_stays_so_until_it_is_cheap() {
        assert_eq!(is_dear(Duration::from_millis(900)), Some(true));
        assert_eq!(is_dear(Duration::from_millis(100)), None);
        assert_eq!(is_dear(Duration::from_millis(3)), Some(false));
    }
}
