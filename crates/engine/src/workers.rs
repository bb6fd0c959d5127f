//! The threads that read what was fetched. Pages that are dear to read have a lane of their own: a few hosts that send
//! them must not keep all workers busy while the pages of others wait.
//!
//! ```text
//! answer ──> quick lane: a thread for each core ───────────────────┐
//!        └─> slow lane: few threads that others go before ─────────┴──> ring
//!            (the host is asked again when its page was read)
//! ```
//!
//! Who goes where, and who waits, is in `lanes`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use teia_base::{Exchange, HostId};
use tokio::sync::mpsc;

use crate::EngineError;
use crate::company::Company;
use crate::control::Control;
use crate::lanes::Lane;
use crate::message::Message;
use crate::ring::Ring;
use crate::shares::Share;
use crate::stage::extract::Workshop;
use crate::stage::fetch::Job;

/// Longer than this, a text is likely to be dear to read.
const LONG_TEXT: u64 = 512 << 10;
/// How long a host of dear or long pages waits where enough of them are to be read.
const LANE_REST: Duration = Duration::from_millis(500);
/// How much less than others a thread of the slow lane gets where there is not enough for all.
const NICE: i32 = 10;

/// The way to the workers.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    quick: mpsc::Sender<Job>,
    slow: mpsc::Sender<Job>,
    /// Pages that go to the slow lane or are there; not more than so many.
    in_slow: Arc<AtomicUsize>,
    most_in_slow: usize,
    /// This run's part of the processor, among others.
    share: Option<Arc<Share>>,
}

impl Jobs {
    /// Starts so many workers, and a few more for what is dear. In company they read by the run's weight.
    pub(crate) fn start(
        workers: usize,
        most_in_slow: usize,
        company: Option<(&Company, u32)>,
        workshop: &Arc<Workshop>,
        messages: &mpsc::Sender<Message>,
        control: &Control,
    ) -> std::io::Result<Self> {
        let (quick, quick_jobs) = mpsc::channel(workers * 16);
        let (slow, slow_jobs) = mpsc::channel(workers * 16);
        let quick_jobs = Arc::new(Mutex::new(quick_jobs));
        let slow_jobs = Arc::new(Mutex::new(slow_jobs));
        let in_slow: Arc<AtomicUsize> = Arc::default();
        let share = company.map(|(company, weight)| {
            let queue: mpsc::WeakSender<Job> = quick.downgrade();
            let has_pages = move || {
                queue
                    .upgrade()
                    .is_some_and(|queue| queue.capacity() < queue.max_capacity())
            };
            Arc::new(company.shares().join(weight, workers, has_pages))
        });
        let start = |name: String, jobs: &Arc<Mutex<mpsc::Receiver<Job>>>, lane: Lane| {
            let worker = Worker {
                jobs: Arc::clone(jobs),
                lane,
                share: share.clone().filter(|_| lane == Lane::Quick),
                in_slow: Arc::clone(&in_slow),
                workshop: Arc::clone(workshop),
                // The end of a run waits for nobody who may still read a page: it is not committed, and so it is
                // fetched again.
                messages: messages.downgrade(),
                control: control.clone(),
            };
            let work = move || {
                if lane == Lane::Slow {
                    // Of this thread alone. Where it may not be said, the lane is as quick as the other.
                    let _ = rustix::process::nice(NICE);
                }
                worker.work();
            };
            std::thread::Builder::new().name(name).spawn(work).map(drop)
        };
        for number in 0..workers {
            start(format!("teia-worker-{number}"), &quick_jobs, Lane::Quick)?;
        }
        for number in 0..workers.div_ceil(4) {
            start(format!("teia-slow-{number}"), &slow_jobs, Lane::Slow)?;
        }
        Ok(Self {
            quick,
            slow,
            in_slow,
            most_in_slow,
            share,
        })
    }

    /// Another weight among the other runs.
    pub(crate) fn weigh(&self, weight: u32) {
        if let Some(share) = &self.share {
            share.set_weight(weight);
        }
    }

    /// The lane for an answer, by what is known before it is read, and whether that is a long text. Where the slow lane is
    /// full, the page goes with the others: to wait for the lane would hold up everybody.
    pub(crate) fn lane(&self, exchange: &Exchange, host_is_dear: bool) -> (Lane, bool) {
        let is_long = is_long_text(exchange);
        let is_for_slow = is_long || host_is_dear;
        let one_more = |pages: usize| (pages < self.most_in_slow).then_some(pages + 1);
        let in_slow = &self.in_slow;
        let lane = if is_for_slow
            && in_slow
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
                .is_ok()
        {
            Lane::Slow
        } else {
            Lane::Quick
        };
        (lane, is_long)
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
    /// A page of the host was read, and took this much of a processor.
    pub(crate) fn note_read(&mut self, host: HostId, lane: Lane, computed: Duration) {
        if self.lanes.note_read(host, lane, computed) {
            self.wake(host);
        }
    }

    /// Whether a host of dear or long pages must wait because enough of them are to be read; it then has given its
    /// lease back.
    pub(crate) fn waits_for_lane(&mut self, host: HostId) -> bool {
        let waits = self.lanes.must_wait(host);
        if waits {
            self.frontier.release(host);
            self.frontier.hold(host, self.clock.now() + LANE_REST);
            self.wake(host);
        }
        waits
    }
}

fn is_long_text(exchange: &Exchange) -> bool {
    let Some(response) = exchange.response.as_ref() else {
        return false;
    };
    let declared = response.media_type();
    let is_binary = declared.is_some_and(|declared| {
        let essence = declared.essence();
        [
            "image/",
            "video/",
            "audio/",
            "font/",
            "application/pdf",
            "application/zip",
        ]
        .iter()
        .any(|kind| essence.starts_with(kind))
    });
    !is_binary && exchange.wire_bytes() > LONG_TEXT
}

struct Worker {
    jobs: Arc<Mutex<mpsc::Receiver<Job>>>,
    lane: Lane,
    share: Option<Arc<Share>>,
    in_slow: Arc<AtomicUsize>,
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
            if let Some(share) = &self.share {
                share.turn(|| self.is_over());
            }
            let room = self.workshop.room_for(&job);
            let turn = self.rest(|| self.workshop.memory.turn(room));
            // A part that a program brought may panic; the run then ends instead of hanging.
            let (worked, computed) =
                throttle.measure(|| catch_unwind(AssertUnwindSafe(|| self.workshop.work(job))));
            let message = match worked {
                Ok(page) => Message::Worked {
                    host,
                    lane: self.lane,
                    page: Box::new(page),
                    computed,
                },
                Err(_) => Message::Broken(EngineError::WorkerLost),
            };
            if self.lane == Lane::Slow {
                self.in_slow.fetch_sub(1, Ordering::Relaxed);
            }
            if let Some(share) = &self.share {
                share.note(computed);
            }
            let Some(messages) = self.messages.upgrade() else {
                return;
            };
            if self.rest(|| messages.blocking_send(message)).is_err() {
                return;
            }
            drop(turn);
            self.rest(|| throttle.pay(computed, || self.is_over()));
        }
    }

    fn is_over(&self) -> bool {
        self.control.end().is_some()
    }

    /// Waits for something, while no other run waits for this worker.
    fn rest<T>(&self, waiting: impl FnOnce() -> T) -> T {
        match &self.share {
            Some(share) => share.rest(waiting),
            None => waiting(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::{Body, Clock, Head, Outcome, Response, SystemClock};

    /// An answer of so many bytes of this type.
    fn answer(media_type: &str, bytes: usize) -> Exchange {
        let clock = SystemClock;
        let mut exchange = Exchange::failed(Outcome::http(200), None, clock.wall(), clock.now());
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n\r\n");
        let (name, value) = (17..29, 31..31 + media_type.len());
        exchange.response = Some(Response {
            status: 200,
            head: Head::new(head.into(), [(name, value)]),
            body: Body::Memory(vec![b'x'; bytes].into()),
            chunks: None,
        });
        exchange
    }

    #[test]
    fn long_texts_go_to_the_slow_lane_until_it_is_full() {
        let (quick, _quick) = mpsc::channel(1);
        let (slow, _slow) = mpsc::channel(1);
        let jobs = Jobs {
            quick,
            slow,
            in_slow: Arc::default(),
            most_in_slow: 3,
            share: None,
        };
        let (long, short) = (600 << 10, 9);
        assert_eq!(
            jobs.lane(&answer("text/html", short), false),
            (Lane::Quick, false)
        );
        assert_eq!(
            jobs.lane(&answer("Image/PNG", long), false),
            (Lane::Quick, false)
        );
        assert_eq!(
            jobs.lane(&answer("text/html", short), true),
            (Lane::Slow, false)
        );
        assert_eq!(
            jobs.lane(&answer("text/html", long), false),
            (Lane::Slow, true)
        );
        assert_eq!(
            jobs.lane(&answer("TEXT/html", long), true),
            (Lane::Slow, true)
        );
        assert_eq!(
            jobs.lane(&answer("text/html", long), false),
            (Lane::Quick, true)
        );
    }
}
