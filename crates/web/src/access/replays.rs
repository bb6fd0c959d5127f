//! Requests that come twice: who sends an `Idempotency-Key` gets the first answer again, and nothing is done
//! twice (a double click, a retry after a lost answer).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use sha2::{Digest, Sha256};

/// How long an answer can be had again.
const LASTS: Duration = Duration::from_secs(3600);
/// Answers that are kept; with one more, the oldest goes.
const MOST: usize = 200;
/// Longer answers are not kept.
pub(crate) const MOST_BYTES: usize = 128 << 10;
/// Longer keys are none.
const LONGEST_KEY: usize = 255;

/// The answers that can be had again.
#[derive(Debug, Default)]
pub(crate) struct Replays(Mutex<HashMap<Key, Entry>>);

/// Who asked for what, with which key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; 32]);

#[derive(Debug)]
struct Entry {
    began: Instant,
    body: [u8; 32],
    answer: Option<Answer>,
}

/// An answer, as it was given.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Whether a request came before.
#[derive(Debug)]
pub(crate) enum Met {
    /// Never: it is to be answered, and the answer kept.
    New,
    /// Yes, and this was the answer.
    Before(Answer),
    /// Yes, and it is still being answered.
    UnderWay,
    /// The key is that of another request.
    Different,
}

impl Key {
    /// The key of a request, if it has one that can be used.
    pub(crate) fn of(caller: &str, path: &str, headers: &HeaderMap) -> Option<Self> {
        let key = headers.get("idempotency-key")?.as_bytes();
        if key.is_empty() || key.len() > LONGEST_KEY {
            return None;
        }
        let mut hash = Sha256::new();
        for part in [caller.as_bytes(), path.as_bytes(), key] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        Some(Self(hash.finalize().into()))
    }
}

impl Replays {
    /// Whether this request came before. A new one is noted.
    pub(crate) fn meet(&self, key: &Key, body: &[u8]) -> Met {
        let (now, body) = (Instant::now(), <[u8; 32]>::from(Sha256::digest(body)));
        let mut entries = self.lock();
        entries.retain(|_, entry| now.duration_since(entry.began) < LASTS);
        if let Some(entry) = entries.get(key) {
            return match &entry.answer {
                _ if entry.body != body => Met::Different,
                Some(answer) => Met::Before(answer.clone()),
                None => Met::UnderWay,
            };
        }
        if entries.len() >= MOST {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.began);
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.and_then(|key| entries.remove(&key));
        }
        let entry = Entry {
            began: now,
            body,
            answer: None,
        };
        entries.insert(key.clone(), entry);
        Met::New
    }

    /// Keeps an answer; what failed on our side may be tried again.
    pub(crate) fn keep(&self, key: &Key, answer: Answer) {
        let mut entries = self.lock();
        if answer.status.is_server_error() {
            entries.remove(key);
        } else if let Some(entry) = entries.get_mut(key) {
            entry.answer = Some(answer);
        }
    }

    /// The request was not answered after all.
    pub(crate) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(caller: &str, text: &str) -> Option<Key> {
        let mut headers = HeaderMap::new();
        headers.insert("idempotency-key", text.parse().unwrap());
        Key::of(caller, "/api/collections", &headers)
    }

    fn answer(status: u16) -> Answer {
        Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::from_static(b"{}"),
        }
    }

    #[test]
    fn the_second_request_gets_the_first_answer() {
        let replays = Replays::default();
        let one = key("a", "k").unwrap();
        assert!(matches!(replays.meet(&one, b"x"), Met::New));
        assert!(matches!(replays.meet(&one, b"x"), Met::UnderWay));
        replays.keep(&one, answer(201));
        assert!(matches!(replays.meet(&one, b"x"), Met::Before(answer) if answer.status == 201));
        assert!(matches!(replays.meet(&one, b"y"), Met::Different));
        assert!(
            matches!(replays.meet(&key("b", "k").unwrap(), b"x"), Met::New),
            "another caller"
        );
        let failed = key("a", "f").unwrap();
        assert!(matches!(replays.meet(&failed, b""), Met::New));
        replays.keep(&failed, answer(500));
        assert!(
            matches!(replays.meet(&failed, b""), Met::New),
            "to be tried again"
        );
        assert!(key("a", "").is_none() && key("a", &"k".repeat(256)).is_none());
    }

    #[test]
    fn answers_are_bounded() {
        let replays = Replays::default();
        for number in 0..MOST * 3 {
            let key = key("a", &number.to_string()).unwrap();
            replays.meet(&key, b"");
            replays.keep(&key, answer(200));
        }
        assert_eq!(replays.lock().len(), MOST);
    }
}
