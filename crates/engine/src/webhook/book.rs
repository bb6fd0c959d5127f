//! The book of deliveries, `NAME/webhook.json`: a JSON list of what was told to whom, and what is still to be told
//! with its whole text. Replaced as a whole.
//!
//! Each entry has a `check`: the XXH3 (64 bits) of its other fields as JSON, sorted by name. Entries of before there was one
//! have none. What waits is nowhere else, so of a damaged book the good entries are gone on with, and it is set aside as
//! `webhook.json.damaged`, in place of one that was set aside before.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use teia_base::{Files, Timestamp};
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

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
    /// What was wrong with the file, until it is set aside.
    damage: Mutex<Option<String>>,
}

/// The deliveries of a collection, newest first.
pub fn deliveries(files: &dyn Files, layout: &Layout) -> Vec<Delivery> {
    let kept = Found::read(files, &layout.deliveries()).kept;
    kept.into_iter().rev().map(|kept| kept.delivery).collect()
}

/// What is wrong with the book of a collection, if anything is.
pub fn deliveries_damage(files: &dyn Files, layout: &Layout) -> Option<String> {
    Found::read(files, &layout.deliveries()).damage
}

/// What a file has.
#[derive(Debug, Default)]
struct Found {
    kept: Vec<Kept>,
    /// What is wrong with it.
    damage: Option<String>,
}

impl Found {
    /// As far as it can be read.
    fn read(files: &dyn Files, path: &Path) -> Self {
        let shown = path.display();
        let damaged = |what: String| Self {
            kept: Vec::new(),
            damage: Some(what),
        };
        let bytes = match files.read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::default(),
            Err(error) => return damaged(format!("{shown} cannot be read: {error}")),
            Ok(bytes) => bytes,
        };
        let list: Vec<Map<String, Value>> = match serde_json::from_slice(&bytes) {
            Err(error) => return damaged(format!("{shown} is damaged: {error}")),
            Ok(list) => list,
        };
        let mut found = Self::default();
        for (number, fields) in (1..).zip(list) {
            match Kept::from_fields(fields) {
                Ok(kept) => found.kept.push(kept),
                Err(what) => {
                    let told = || format!("{shown} is damaged: entry {number}: {what}");
                    found.damage.get_or_insert_with(told);
                }
            }
        }
        found
    }
}

impl Book {
    pub(crate) fn open(files: &Arc<dyn Files>, layout: &Layout) -> Self {
        let path = layout.deliveries();
        let found = Found::read(&**files, &path);
        Self {
            kept: Mutex::new(found.kept),
            damage: Mutex::new(found.damage),
            files: Arc::clone(files),
            path,
        }
    }

    /// Whether somebody in this process delivers something of it.
    pub(crate) fn is_busy(&self) -> bool {
        self.lock().iter().any(|kept| kept.in_hand)
    }

    /// Sets a damaged file aside, before it is written anew; what is to be told of it.
    pub(super) fn set_aside(&self) -> Option<String> {
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        let damage = damage.take()?;
        let aside = self.path.with_extension("json.damaged");
        Some(match self.files.rename(&self.path, &aside) {
            Ok(()) => format!(
                "{damage}; messages to webhooks that waited in it may be missing (it is kept as {})",
                aside.display()
            ),
            Err(error) => format!(
                "{damage}; messages to webhooks that waited in it may be missing, and it cannot be set aside: {error}"
            ),
        })
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
        let fields: Result<Vec<_>, _> = list.iter().map(Kept::to_fields).collect();
        let written = fields
            .and_then(|fields| serde_json::to_vec(&fields))
            .map_err(io::Error::other)
            .and_then(|bytes| self.files.replace(&self.path, &bytes));
        if let Err(error) = written {
            tracing::warn!(path = %self.path.display(), %error, "the list of deliveries cannot be written");
        }
    }
}

impl Kept {
    /// As it is written, with its check.
    fn to_fields(&self) -> Result<Value, serde_json::Error> {
        let mut fields = serde_json::to_value(self)?;
        fields[CHECK] = check_of(&fields).into();
        Ok(fields)
    }

    /// As it was written, or what is wrong with it.
    fn from_fields(mut fields: Map<String, Value>) -> Result<Self, String> {
        let check = fields.remove(CHECK);
        let fields = Value::Object(fields);
        let is_checked = match check {
            Some(check) if check == check_of(&fields) => true,
            Some(_) => return Err("its check sum differs".to_owned()),
            None => false,
        };
        let kept = Self::deserialize(&fields).map_err(|error| error.to_string())?;
        // So that a damaged name of the check is not taken for an entry without one.
        let known = serde_json::to_value(&kept).map_err(|error| error.to_string())?;
        let mut names = fields.as_object().into_iter().flat_map(Map::keys);
        match names.find(|name| known.get(name).is_none()) {
            Some(name) if !is_checked => Err(format!("nobody wrote a field `{name}`")),
            _ => Ok(kept),
        }
    }

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

/// The field that guards the others.
const CHECK: &str = "check";

/// Of fields in the order of their names.
fn check_of(fields: &Value) -> String {
    format!("{:016x}", xxh3_64(fields.to_string().as_bytes()))
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

    /// A book with a message that waits, and one that was taken, for this receiver.
    fn written(folder: &Path, url: &Url) -> (Arc<dyn Files>, Layout, Vec<u8>) {
        std::fs::create_dir(folder.join("birds")).unwrap();
        let files: Arc<dyn Files> = Arc::new(DiskFiles::new(folder).unwrap());
        let layout = Layout::new("birds").unwrap();
        let now = Timestamp::parse("2026-01-02T03:04:05Z").unwrap();
        let book = Book::open(&files, &layout);
        let letter = book.add(&message(1, now), url).unwrap();
        book.add(&message(2, now), url).unwrap();
        book.note(&letter, DeliveryState::Delivered, "answered 204", now);
        let bytes = files.read(&layout.deliveries()).unwrap();
        (files, layout, bytes)
    }

    #[test]
    fn every_bit_of_the_book_is_guarded_and_what_is_good_of_it_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let url = Url::parse("https://a.example/hook").unwrap();
        let (files, layout, good) = written(folder.path(), &url);
        assert_eq!(deliveries_damage(&*files, &layout), None);
        let path = folder.path().join("birds/webhook.json");
        let was = deliveries(&*files, &layout);
        for at in 0..good.len() {
            for bit in [0, 5] {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                std::fs::write(&path, &bad).unwrap();
                let told = deliveries_damage(&*files, &layout);
                // The case of a digit in `\\u001f` says the same.
                let now = deliveries(&*files, &layout);
                assert!(told.is_some() || now == was, "bit {bit} of byte {at}");
                assert!(told.is_none_or(|it| it.contains("birds/webhook.json")));
            }
        }
        // One letter of the message that was taken: the one that waits is delivered all the same.
        let text = String::from_utf8(good.clone()).unwrap();
        std::fs::write(&path, text.replacen("answered 204", "answered 205", 1)).unwrap();
        let book = Book::open(&files, &layout);
        let told = book.set_aside().unwrap();
        assert!(told.contains("entry 1: its check sum differs"), "{told}");
        assert!(told.contains("birds/webhook.json.damaged"), "{told}");
        assert!(path.with_extension("json.damaged").exists() && !path.exists());
        assert_eq!(book.set_aside(), None, "it is told once");
        let now = Timestamp::parse("2026-01-02T03:04:06Z").unwrap();
        assert_eq!(book.take_up(std::slice::from_ref(&url), now).len(), 1);
        assert_eq!(deliveries_damage(&*files, &layout), None);
        // Of garbage nothing is left, and one damaged book is kept at most.
        std::fs::write(&path, "no list").unwrap();
        let told = Book::open(&files, &layout).set_aside().unwrap();
        assert!(told.contains("may be missing"), "{told}");
        let kept = std::fs::read(path.with_extension("json.damaged")).unwrap();
        assert_eq!(kept, b"no list");
    }

    #[test]
    fn a_book_of_before_there_were_checks_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let url = Url::parse("https://a.example/hook").unwrap();
        let (files, layout, good) = written(folder.path(), &url);
        let mut list: Vec<Map<String, Value>> = serde_json::from_slice(&good).unwrap();
        for fields in &mut list {
            assert!(fields.remove(CHECK).is_some());
        }
        files
            .replace(&layout.deliveries(), &serde_json::to_vec(&list).unwrap())
            .unwrap();
        assert_eq!(deliveries_damage(&*files, &layout), None);
        assert_eq!(deliveries(&*files, &layout).len(), 2);
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
