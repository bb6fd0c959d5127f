//! A bounded memory of recent payloads, so that the same body is stored once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use teia_base::CaptureId;
use teia_base::journal::Revisit;

/// Stands for the capture of a body that was met and not archived.
pub(crate) const NOT_ARCHIVED: CaptureId = CaptureId(0);

/// Payload digests of recent captures. Full, it forgets the oldest: a repeat of something old is
/// then stored again, which costs space and nothing else.
#[derive(Debug)]
pub(crate) struct Digests {
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    map: HashMap<[u8; 20], Revisit>,
    order: VecDeque<[u8; 20]>,
}

impl Digests {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            inner: Mutex::default(),
        }
    }

    /// The capture that has this payload.
    pub(crate) fn find(&self, digest: &[u8; 20]) -> Option<Revisit> {
        self.lock().map.get(digest).cloned()
    }

    /// Remembers a capture that is on its way into the archive.
    pub(crate) fn insert(&self, digest: [u8; 20], capture: Revisit) {
        let mut inner = self.lock();
        if let Some(known) = inner.map.get_mut(&digest) {
            if known.capture == NOT_ARCHIVED {
                *known = capture;
            }
            return;
        }
        if inner.order.len() >= self.most
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.map.remove(&oldest);
        }
        inner.map.insert(digest, capture);
        inner.order.push_back(digest);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
