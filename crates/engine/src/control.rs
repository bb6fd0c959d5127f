//! Steering a run from outside: signals, another thread, or another process through the socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use tokio::sync::Notify;

use crate::report::EndReason;

/// A handle by which a run can be told what to do. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Control {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    wish: AtomicU8,
    /// Somebody has said `resume`, perhaps before the run began.
    resumed: AtomicBool,
    /// The journal has the collection as paused.
    noted: AtomicBool,
    notify: Notify,
}

const GO: u8 = 0;
const PAUSE: u8 = 1;
const STOP: u8 = 2;
const INTERRUPT: u8 = 3;

impl Control {
    /// No new fetches; what is under way ends, is committed, and the run is over.
    pub fn stop(&self) {
        self.wish(STOP);
    }

    /// The same, as a signal asks for it.
    pub fn interrupt(&self) {
        self.wish(INTERRUPT);
    }

    /// No new fetches until `resume`, also in a later process.
    pub fn pause(&self) {
        let _ = self
            .inner
            .wish
            .compare_exchange(GO, PAUSE, Ordering::SeqCst, Ordering::SeqCst);
        self.inner.notify.notify_one();
    }

    /// Fetch again. Said before a run begins, it lifts the pause in which an earlier one was left.
    pub fn resume(&self) {
        self.inner.resumed.store(true, Ordering::SeqCst);
        let _ = self
            .inner
            .wish
            .compare_exchange(PAUSE, GO, Ordering::SeqCst, Ordering::SeqCst);
        self.inner.notify.notify_one();
    }

    /// Whether the run is paused.
    pub fn is_paused(&self) -> bool {
        self.inner.wish.load(Ordering::SeqCst) == PAUSE
    }

    /// Whether the journal says so too: a pause that is noted outlives this process.
    pub fn is_pause_noted(&self) -> bool {
        self.inner.noted.load(Ordering::SeqCst)
    }

    pub(crate) fn note_pause(&self, paused: bool) {
        self.inner.noted.store(paused, Ordering::SeqCst);
    }

    pub(crate) fn was_resumed(&self) -> bool {
        self.inner.resumed.load(Ordering::SeqCst)
    }

    pub(crate) fn end(&self) -> Option<EndReason> {
        match self.inner.wish.load(Ordering::SeqCst) {
            STOP => Some(EndReason::Stopped),
            INTERRUPT => Some(EndReason::Interrupted),
            _ => None,
        }
    }

    pub(crate) async fn changed(&self) {
        self.inner.notify.notified().await;
    }

    fn wish(&self, wish: u8) {
        self.inner.wish.fetch_max(wish, Ordering::SeqCst);
        self.inner.notify.notify_one();
    }
}
