//! The book of deliveries, `NAME/webhook.json`: a JSON list of what was told to whom, and what is still to be told
//! with its whole text. Replaced as a whole; a damaged one is begun anew, for nothing else depends on it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_base::{Files, Timestamp};
use url::Url;

use super::config::origin;
use super::message::Message;
use crate::directory::Layout;

/// Messages that wait for a collection's receivers; one more is dropped with a warning.
pub(super) const WAITING: usize = 64;
/// Messages that are remembered when they are done with.
const DONE: usize = 100;
/// What an earlier process could not deliver for so long is given up.
const OLDEST: Duration = Duration::from_secs(86_400);

/// One message to one receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The message's id, the same in each try.
    pub id: String,
    /// What it tells of.
    pub event: String,
    /// Of this run.
    pub run: u32,
    /// When it happened, in UTC.
    pub at: String,
    /// Scheme, host and port of the receiver.
    pub to: String,
    /// What became of it.
    pub state: DeliveryState,
    /// How often it was tried.
    pub tries: u32,
    /// What came of the last try, in words.
    pub outcome: Option<String>,
    /// When that was, in UTC.
    pub tried_at: Option<String>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// It is still to be taken.
    Waiting,
    /// The receiver took it.
    Delivered,
    /// It was given up.
    Failed,
}

/// What is sent again and again until it is done with.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    pub(super) id: String,
    pub(super) event: String,
    pub(super) url: Url,
    pub(super) body: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    delivery: Delivery,
    url: String,
    /// While it waits.
    body: Option<String>,
    /// Somebody in this process will deliver it.
    #[serde(skip)]
    in_hand: bool,
}

/// All deliveries of a collection. In one process there is one of it.
#[derive(Debug)]
pub(crate) struct Book {
    files: Arc<dyn Files>,
    path: PathBuf,
    kept: Mutex<Vec<Kept>>,
}

/// The deliveries of a collection, newest first.
pub fn deliveries(files: &dyn Files, layout: &Layout) -> Vec<Delivery> {
    let kept = read(files, &layout.deliveries());
    kept.into_iter().rev().map(|kept| kept.delivery).collect()
}

fn read(files: &dyn Files, path: &std::path::Path) -> Vec<Kept> {
    let Ok(bytes) = files.read(path) else {
        return Vec::new();
    };
    serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        tracing::warn!(path = %path.display(), %error, "the list of deliveries is damaged, and begun anew");
        Vec::new()
    })
}

impl Book {
    pub(crate) fn open(files: &Arc<dyn Files>, layout: &Layout) -> Self {
        let path = layout.deliveries();
        Self {
            kept: Mutex::new(read(&**files, &path)),
            files: Arc::clone(files),
            path,
        }
    }

    /// Whether somebody in this process delivers something of it.
    pub(crate) fn is_busy(&self) -> bool {
        self.lock().iter().any(|kept| kept.in_hand)
    }

    /// Writes a message down before it is sent; none where too many wait.
    pub(super) fn add(&self, message: &Message, url: &Url) -> Option<Letter> {
        let mut list = self.lock();
        let waits = |kept: &&Kept| kept.delivery.state == DeliveryState::Waiting;
        if list.iter().filter(waits).count() >= WAITING {
            return None;
        }
        let kept = Kept {
            delivery: Delivery {
                id: message.id.clone(),
                event: message.event.to_owned(),
                run: message.run,
                at: message.at.to_rfc3339_micros(),
                to: origin(url),
                state: DeliveryState::Waiting,
                tries: 0,
                outcome: None,
                tried_at: None,
            },
            url: url.to_string(),
            body: Some(message.body.clone()),
            in_hand: true,
        };
        let letter = kept.letter();
        list.push(kept);
        self.save(&mut list);
        letter
    }

    /// What an earlier process did not deliver, for these receivers; what is for others or too old is given up.
    pub(super) fn take_up(&self, receivers: &[Url], now: Timestamp) -> Vec<Letter> {
        let mut list = self.lock();
        let mut letters = Vec::new();
        for kept in list.iter_mut() {
            if kept.in_hand || kept.delivery.state != DeliveryState::Waiting {
                continue;
            }
            let is_wanted = receivers.iter().any(|url| url.as_str() == kept.url);
            let at = Timestamp::parse(&kept.delivery.at);
            let is_old = at.is_none_or(|at| now.since(at) > OLDEST);
            match kept.letter().filter(|_| is_wanted && !is_old) {
                Some(letter) => {
                    kept.in_hand = true;
                    letters.push(letter);
                }
                None => {
                    kept.give_up(if is_wanted {
                        "too old"
                    } else {
                        "no longer a receiver"
                    });
                }
            }
        }
        self.save(&mut list);
        letters
    }

    /// What came of a try; `state` says whether another follows.
    pub(super) fn note(
        &self,
        letter: &Letter,
        state: DeliveryState,
        outcome: &str,
        now: Timestamp,
    ) {
        let mut list = self.lock();
        let is_it =
            |kept: &&mut Kept| kept.delivery.id == letter.id && kept.url == letter.url.as_str();
        if let Some(kept) = list.iter_mut().find(is_it) {
            kept.delivery.tries += 1;
            kept.delivery.state = state;
            kept.delivery.outcome = Some(outcome.to_owned());
            kept.delivery.tried_at = Some(now.to_rfc3339_micros());
            if state != DeliveryState::Waiting {
                kept.body = None;
                kept.in_hand = false;
            }
        }
        self.save(&mut list);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A disk that fails costs what a restart would have delivered, and no run.
    fn save(&self, list: &mut Vec<Kept>) {
        let is_done = |kept: &Kept| kept.delivery.state != DeliveryState::Waiting;
        let mut surplus = list
            .iter()
            .filter(|kept| is_done(kept))
            .count()
            .saturating_sub(DONE);
        list.retain(|kept| {
            let goes = surplus > 0 && is_done(kept);
            surplus -= usize::from(goes);
            !goes
        });
        let written = serde_json::to_vec(list)
            .map_err(std::io::Error::other)
            .and_then(|bytes| self.files.replace(&self.path, &bytes));
        if let Err(error) = written {
            tracing::warn!(path = %self.path.display(), %error, "the list of deliveries cannot be written");
        }
    }
}

impl Kept {
    fn letter(&self) -> Option<Letter> {
        Some(Letter {
            id: self.delivery.id.clone(),
            event: self.delivery.event.clone(),
            url: Url::parse(&self.url).ok()?,
            body: self.body.clone()?,
        })
    }

    fn give_up(&mut self, why: &str) {
        self.delivery.state = DeliveryState::Failed;
        self.delivery.outcome = Some(why.to_owned());
        self.body = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use teia_base::DiskFiles;

    fn message(number: u64, at: Timestamp) -> Message {
        Message::new((1, "birds"), ("run_ended", 1, number), at, json!({}))
    }

    #[test]
    fn what_was_not_delivered_is_taken_up_by_the_next_process_and_only_once_in_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("birds")).unwrap();
        let files: Arc<dyn Files> = Arc::new(DiskFiles::new(folder.path()).unwrap());
        let layout = Layout::new("birds").unwrap();
        let url = Url::parse("https://a.example/hook").unwrap();
        let receivers = std::slice::from_ref(&url);
        let now = Timestamp::parse("2026-01-02T03:04:05Z").unwrap();
        let book = Book::open(&files, &layout);
        let (taken, left) = (message(1, now), message(2, now));
        let letter = book.add(&taken, &url).unwrap();
        book.add(&left, &url).unwrap();
        book.note(&letter, DeliveryState::Delivered, "answered 204", now);
        // In this process somebody has it.
        assert!(book.take_up(receivers, now).is_empty());
        assert!(book.is_busy());

        let next = Book::open(&files, &layout);
        let again = next.take_up(receivers, now);
        assert_eq!(again.len(), 1);
        assert_eq!((&again[0].id, &again[0].body), (&left.id, &left.body));
        assert!(next.take_up(receivers, now).is_empty());
        let list = deliveries(&*files, &layout);
        assert_eq!(list.len(), 2);
        assert_eq!(list[0].state, DeliveryState::Waiting);
        assert_eq!(list[1].tries, 1);

        // Whoever is no receiver any more is not told, and nobody of what is long over.
        let later = now.plus(OLDEST * 2);
        assert!(
            Book::open(&files, &layout)
                .take_up(receivers, later)
                .is_empty()
        );
        let list = deliveries(&*files, &layout);
        assert_eq!(list[0].state, DeliveryState::Failed);
    }

    #[test]
    fn what_waits_and_what_is_remembered_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("birds")).unwrap();
        let files: Arc<dyn Files> = Arc::new(DiskFiles::new(folder.path()).unwrap());
        let layout = Layout::new("birds").unwrap();
        let url = Url::parse("https://a.example/").unwrap();
        let book = Book::open(&files, &layout);
        let now = Timestamp::default();
        for number in 0..300 {
            let letter = book.add(&message(number, now), &url).unwrap();
            book.note(&letter, DeliveryState::Delivered, "answered 200", now);
        }
        assert_eq!(deliveries(&*files, &layout).len(), DONE);
        for number in 300..400 {
            let is_kept = book.add(&message(number, now), &url).is_some();
            assert_eq!(is_kept, number < 300 + WAITING as u64);
        }
        std::fs::write(folder.path().join("birds/webhook.json"), "no list").unwrap();
        assert!(deliveries(&*files, &layout).is_empty());
    }
}
