//! Places for connections: how many there are, and who gives one up.
//!
//! A connection that has asked for nothing yet gives its place to a new one where all are taken, the oldest first, and not in its
//! first moments, in which a request may be on its way. So many who come and say nothing keep nobody else out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep};

/// How long nobody is sent away.
const FIRST_MOMENTS: Duration = Duration::from_millis(100);
/// How often a new connection that has no place looks again for one that can be given up.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Those who are there.
#[derive(Clone, Debug)]
pub(crate) struct Visitors {
    places: Arc<Semaphore>,
    silent: Arc<Mutex<Silent>>,
}

/// Who has asked for nothing yet, in the order in which they came.
#[derive(Debug, Default)]
struct Silent {
    next: u64,
    all: BTreeMap<u64, (Instant, oneshot::Sender<()>)>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Visitor {
    number: u64,
    has_asked: AtomicBool,
    all: Visitors,
    _place: OwnedSemaphorePermit,
}

impl Visitors {
    /// With so many places.
    pub(crate) fn new(places: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            silent: Arc::default(),
        }
    }

    /// Takes a place, as soon as there is one; and what resolves when it is to be given up.
    pub(crate) async fn enter(&self) -> (Visitor, oneshot::Receiver<()>) {
        let place = loop {
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                break place;
            }
            self.send_one_away();
            tokio::select! {
                place = Arc::clone(&self.places).acquire_owned() => {
                    break place.expect("the places are never closed");
                }
                () = sleep(LOOK_EVERY) => {}
            }
        };
        let (leave, left) = oneshot::channel();
        let mut silent = self.silent();
        let number = silent.next;
        silent.next += 1;
        silent.all.insert(number, (Instant::now(), leave));
        let visitor = Visitor {
            number,
            has_asked: AtomicBool::new(false),
            all: self.clone(),
            _place: place,
        };
        (visitor, left)
    }

    fn send_one_away(&self) {
        let mut silent = self.silent();
        let Some(oldest) = silent.all.first_entry() else {
            return;
        };
        if oldest.get().0.elapsed() >= FIRST_MOMENTS {
            let (_, leave) = oldest.remove();
            let _ = leave.send(());
        }
    }

    fn silent(&self) -> MutexGuard<'_, Silent> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Visitor {
    /// It has asked for something: from now on it keeps its place.
    pub(crate) fn asks(&self) {
        if !self.has_asked.swap(true, Ordering::Relaxed) {
            self.all.silent().all.remove(&self.number);
        }
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.asks();
    }
}
