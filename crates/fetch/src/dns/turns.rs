//! Turns: how many lookups are under way at once, and who is next.
//!
//! The one who came last is next. Ten thousand names whose servers say nothing would hold up a queue that is fair
//! for longer than anyone waits; here a name that comes after them waits for one place, and those that have waited
//! longest, most of them silent anyway, find their time over.

use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

/// Places, and who waits for one; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<Mutex<Places>>);

#[derive(Debug)]
struct Places {
    free: usize,
    /// The last one is next. Some may have gone away meanwhile.
    waiting: Vec<oneshot::Sender<Turn>>,
    /// At so many it is looked who has gone away.
    sweep_at: usize,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn(Option<Turns>);

impl Turns {
    const SWEEP: usize = 1024;

    pub(crate) fn new(places: usize) -> Self {
        Self(Arc::new(Mutex::new(Places {
            free: places,
            waiting: Vec::new(),
            sweep_at: Self::SWEEP,
        })))
    }

    /// Waits for a place.
    pub(crate) async fn take(&self) -> Turn {
        let receiver = {
            let mut places = self.0.lock().expect("no holder panics");
            if places.free > 0 {
                places.free -= 1;
                return Turn(Some(self.clone()));
            }
            if places.waiting.len() >= places.sweep_at {
                places.waiting.retain(|waiter| !waiter.is_closed());
                places.sweep_at = Self::SWEEP.max(2 * places.waiting.len());
            }
            let (sender, receiver) = oneshot::channel();
            places.waiting.push(sender);
            receiver
        };
        receiver.await.expect("who holds a place hands it on")
    }

    /// Hands a place on to the one who came last, or keeps it.
    fn hand_on(&self) {
        loop {
            let next = {
                let mut places = self.0.lock().expect("no holder panics");
                let Some(next) = places.waiting.pop() else {
                    places.free += 1;
                    return;
                };
                next
            };
            match next.send(Turn(Some(self.clone()))) {
                Ok(()) => return,
                // It has gone away; the place is still ours to hand on.
                Err(mut turn) => turn.0 = None,
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.hand_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn the_last_one_is_next_and_no_place_is_lost() {
        let turns = Turns::new(1);
        let Poll::Ready(first) = poll(pin!(turns.take())) else {
            panic!("there is a place");
        };
        let (mut old, mut new) = (pin!(turns.take()), pin!(turns.take()));
        assert!(poll(old.as_mut()).is_pending() && poll(new.as_mut()).is_pending());
        {
            // One that goes away, before and after it is given the place.
            let mut gone = Box::pin(turns.take());
            assert!(poll(gone.as_mut()).is_pending());
        }
        let mut late = Box::pin(turns.take());
        assert!(poll(late.as_mut()).is_pending());
        drop(first);
        drop(late);
        let Poll::Ready(place) = poll(new.as_mut()) else {
            panic!("the last of those who wait");
        };
        assert!(poll(old.as_mut()).is_pending());
        drop(place);
        assert!(poll(old.as_mut()).is_ready());
        assert!(poll(pin!(turns.take())).is_ready());
    }

    #[test]
    fn those_who_went_away_are_forgotten() {
        let turns = Turns::new(0);
        for _ in 0..10 * Turns::SWEEP {
            assert!(poll(pin!(turns.take())).is_pending());
        }
        let places = turns.0.lock().unwrap();
        assert!(places.waiting.len() <= Turns::SWEEP + 1);
    }
}
