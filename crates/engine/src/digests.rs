//! A bounded memory of recent payloads, so that the same body is stored once.

use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::sync::{Mutex, PoisonError};

use teia_base::journal::Revisit;
use teia_base::{CaptureId, Response};
use xxhash_rust::xxh3::Xxh3;

/// Stands for the capture of a body that was met and not archived.
pub(crate) const NOT_ARCHIVED: CaptureId = CaptureId(0);

/// Payload digests of recent captures. Full, it forgets the oldest: a repeat of something old is
/// then stored again, which costs space and nothing else.
#[derive(Debug)]
pub(crate) struct Digests {
    most: usize,
    /// Of the data directory: nobody outside can make two bodies with one print.
    key: u64,
    inner: Mutex<Inner>,
}

/// Whether a payload was met before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Same {
    /// This capture has it.
    Yes(Revisit),
    /// This one of an earlier process has one with the same digest; only the archive can tell.
    Unsure(Revisit),
    /// Never, or only another one with the same digest.
    No,
}

#[derive(Debug, Default)]
struct Inner {
    /// With the print of the body, where this process has seen it.
    map: HashMap<[u8; 20], (Revisit, Option<u128>)>,
    order: VecDeque<[u8; 20]>,
}

impl Digests {
    pub(crate) fn new(most: usize, key: u64) -> Self {
        Self {
            most,
            key,
            inner: Mutex::default(),
        }
    }

    /// The capture that has a payload of this digest.
    pub(crate) fn find(&self, digest: &[u8; 20]) -> Option<Revisit> {
        self.lock()
            .map
            .get(digest)
            .map(|(capture, _)| capture.clone())
    }

    /// Whether it has this very payload.
    pub(crate) fn compare(&self, digest: &[u8; 20], print: u128) -> Same {
        match self.lock().map.get(digest) {
            Some((capture, Some(known))) if *known == print => Same::Yes(capture.clone()),
            Some((capture, None)) => Same::Unsure(capture.clone()),
            Some(_) | None => Same::No,
        }
    }

    /// A payload hashed once more, by a hash with a secret: SHA-1 is what archives are written with, and
    /// can be deceived. `None` where it cannot be read.
    pub(crate) fn print(&self, response: &Response) -> Option<u128> {
        let mut hash = Xxh3::with_seed(self.key);
        let mut buffer = vec![0; 64 << 10];
        let mut payload = response.payload_reader();
        loop {
            match payload.read(&mut buffer).ok()? {
                0 => return Some(hash.digest128()),
                read => hash.update(&buffer[..read]),
            }
        }
    }

    /// The capture was read, and has this payload.
    pub(crate) fn confirm(&self, digest: &[u8; 20], print: u128) {
        if let Some((_, known)) = self.lock().map.get_mut(digest) {
            *known = Some(print);
        }
    }

    /// The capture does not have it: the next one that does takes its place.
    pub(crate) fn forget(&self, digest: &[u8; 20]) {
        let mut inner = self.lock();
        if inner.map.remove(digest).is_some() {
            inner.order.retain(|other| other != digest);
        }
    }

    /// Remembers a capture that is on its way into the archive.
    pub(crate) fn insert(&self, digest: [u8; 20], capture: Revisit, print: Option<u128>) {
        let mut inner = self.lock();
        if let Some(known) = inner.map.get_mut(&digest) {
            if known.0.capture == NOT_ARCHIVED {
                *known = (capture, print);
            }
            return;
        }
        if inner.order.len() >= self.most
            && let Some(oldest) = inner.order.pop_front()
        {
            inner.map.remove(&oldest);
        }
        inner.map.insert(digest, (capture, print));
        inner.order.push_back(digest);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(id: u64) -> Revisit {
        Revisit {
            url: format!("http://a.test/{id}"),
            capture: CaptureId(id),
            date: teia_base::Timestamp::default(),
        }
    }

    /// Two files with one SHA-1 can be bought; the second is no repeat of the first.
    #[test]
    fn two_bodies_with_one_digest_are_told_apart() {
        let digests = Digests::new(10, 7);
        let digest = [1; 20];
        digests.insert(digest, capture(1), Some(11));
        assert_eq!(digests.compare(&digest, 11), Same::Yes(capture(1)));
        assert_eq!(digests.compare(&digest, 12), Same::No);
        assert_eq!(digests.compare(&[2; 20], 11), Same::No);
    }

    #[test]
    fn a_capture_of_an_earlier_process_is_believed_once_it_was_read() {
        let digests = Digests::new(10, 7);
        let digest = [1; 20];
        digests.insert(digest, capture(1), None);
        assert_eq!(digests.compare(&digest, 11), Same::Unsure(capture(1)));
        digests.confirm(&digest, 11);
        assert_eq!(digests.compare(&digest, 11), Same::Yes(capture(1)));
        // One that cannot be read makes place for the next.
        digests.forget(&digest);
        assert_eq!(digests.compare(&digest, 11), Same::No);
        digests.insert(digest, capture(2), Some(11));
        assert_eq!(digests.compare(&digest, 11), Same::Yes(capture(2)));
    }
}
