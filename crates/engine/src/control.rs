//! Steering a run from outside: signals, another thread, or another process through the socket.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::collection::CollectionConfig;
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
    /// What people asked to have removed is another list: not seen yet, or not all done yet.
    heed: AtomicU8,
    settings: Mutex<Settings>,
    notify: Notify,
}

/// What the run goes by, and what it is to go by.
#[derive(Debug, Default)]
struct Settings {
    /// As TOML, without passwords.
    effective: String,
    wanted: VecDeque<Wanted>,
    /// What came of the last wish.
    answer: Option<Result<String, String>>,
}

/// Other settings for a run.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// They count for this run, whatever its collection's file says.
    Run(Box<CollectionConfig>),
    /// The file of the collection says so by now.
    File(Box<CollectionConfig>),
}

const HEEDED: u8 = 0;
const UNSEEN: u8 = 1;
const SEEN: u8 = 2;

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

    /// Looks at once at what people asked to have removed; a run does so by itself every second.
    pub fn heed(&self) {
        self.inner.heed.store(UNSEEN, Ordering::SeqCst);
        self.nudge();
    }

    /// Whether that was done: nothing of it waits any more.
    pub fn has_heeded(&self) -> bool {
        self.inner.heed.load(Ordering::SeqCst) == HEEDED
    }

    /// Whether somebody says that the list is another one; once.
    pub(crate) fn take_heed(&self) -> bool {
        let heed = &self.inner.heed;
        heed.compare_exchange(UNSEEN, SEEN, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    /// What was seen is done; says whether anybody waits to hear so.
    pub(crate) fn note_heeded(&self) -> bool {
        let heed = &self.inner.heed;
        heed.compare_exchange(SEEN, HEEDED, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    /// Other settings, from now on. What cannot change under a run counts from the next start; the
    /// answer says so.
    pub fn change(&self, config: CollectionConfig) {
        self.want(Wanted::Run(Box::new(config)));
    }

    /// The file of the collection was edited, and says this now. What was changed for the run alone stays, but for
    /// settings of which the file says something else than before.
    pub fn follow_file(&self, config: CollectionConfig) {
        self.want(Wanted::File(Box::new(config)));
    }

    fn want(&self, wanted: Wanted) {
        let mut settings = self.settings();
        settings.wanted.push_back(wanted);
        settings.answer = None;
        drop(settings);
        self.nudge();
    }

    /// What came of the last change, once: what the run goes by now, or why it does not.
    pub fn change_answer(&self) -> Option<Result<String, String>> {
        self.settings().answer.take()
    }

    /// The settings that the run goes by, as TOML without passwords; empty before it has begun.
    pub fn effective_settings(&self) -> String {
        self.settings().effective.clone()
    }

    pub(crate) fn take_change(&self) -> Option<Wanted> {
        self.settings().wanted.pop_front()
    }

    pub(crate) fn note_settings(&self, effective: String, answer: Option<Result<String, String>>) {
        let mut settings = self.settings();
        settings.effective = effective;
        settings.answer = answer.or(settings.answer.take());
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        let settings = self.inner.settings.lock();
        settings.unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the run look what is new.
    pub(crate) fn nudge(&self) {
        self.inner.notify.notify_one();
    }

    pub(crate) async fn changed(&self) {
        self.inner.notify.notified().await;
    }

    fn wish(&self, wish: u8) {
        self.inner.wish.fetch_max(wish, Ordering::SeqCst);
        self.inner.notify.notify_one();
    }
}
