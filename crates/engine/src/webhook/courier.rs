//! The courier: carries messages, on a thread of its own that outlives the run where the process does.

use std::sync::Arc;
use std::time::Duration;

use teia_base::{Clock, Outcome, Retry};
use teia_fetch::Poster;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use url::Url;

use super::book::{Book, DeliveryState, Letter, WAITING};
use super::config::origin;
use super::message::{Message, signature};
use crate::feedback::{Event, Feedback, Level};

/// The rests before further tries; the last one again and again.
const RESTS: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(25),
    Duration::from_secs(120),
    Duration::from_secs(600),
];

/// What all deliveries of a run share.
#[derive(Debug)]
pub(super) struct Courier {
    pub(super) poster: Poster,
    pub(super) receivers: Vec<Url>,
    pub(super) secret: Option<String>,
    pub(super) retries: u8,
    pub(super) timeout: Duration,
    pub(super) book: Arc<Book>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) feedback: Arc<dyn Feedback>,
    /// Messages that nobody has tried to deliver yet, counted once for each receiver.
    pub(super) untried: Arc<watch::Sender<usize>>,
}

impl Courier {
    /// Delivers until no more messages come, and each is taken or given up.
    pub(super) async fn work(self, mut messages: mpsc::Receiver<Message>) {
        let courier = Arc::new(self);
        let mut ways = JoinSet::new();
        let mut doors = Vec::new();
        for url in courier.receivers.clone() {
            // The book holds no more than these.
            let (door, letters) = mpsc::channel(WAITING);
            ways.spawn(Arc::clone(&courier).serve(letters));
            doors.push((url, door));
        }
        if let Some(told) = courier.book.set_aside() {
            courier.say(Level::Warning, told);
        }
        let left = courier
            .book
            .take_up(&courier.receivers, courier.clock.wall());
        courier.untried.send_modify(|count| *count += left.len());
        for letter in left {
            let door = doors.iter().find(|(url, _)| *url == letter.url);
            match door {
                Some((_, door)) if door.send(letter).await.is_ok() => {}
                _ => courier.tried(),
            }
        }
        while let Some(message) = messages.recv().await {
            for (url, door) in &doors {
                let letter = courier.book.add(&message, url);
                let sent = letter.is_some_and(|letter| door.try_send(letter).is_ok());
                if !sent {
                    courier.tried();
                    courier.say(
                        Level::Warning,
                        format!(
                            "too much waits for the webhook {}; it is not told of {}",
                            origin(url),
                            message.event
                        ),
                    );
                }
            }
        }
        drop(doors);
        while ways.join_next().await.is_some() {}
    }

    /// The messages to one receiver: first tries in their order, later ones when their time has come.
    async fn serve(self: Arc<Self>, mut letters: mpsc::Receiver<Letter>) {
        let mut again = JoinSet::new();
        while let Some(letter) = letters.recv().await {
            let is_done = self.deliver(&letter, self.retries).await;
            self.tried();
            if !is_done {
                again.spawn(Arc::clone(&self).try_again(letter));
            }
            while again.try_join_next().is_some() {}
        }
        while again.join_next().await.is_some() {}
    }

    async fn try_again(self: Arc<Self>, letter: Letter) {
        for left in (0..self.retries).rev() {
            let tried = usize::from(self.retries - left - 1);
            tokio::time::sleep(RESTS[tried.min(RESTS.len() - 1)]).await;
            if self.deliver(&letter, left).await {
                return;
            }
        }
    }

    /// One try; whether the message is done with. With the same id each time, and signed anew.
    async fn deliver(&self, letter: &Letter, tries_left: u8) -> bool {
        let seconds = self.clock.wall().as_seconds();
        let stamp = seconds.to_string();
        let signed = self.secret.as_deref();
        let signed = signed.map(|secret| signature(secret, seconds, &letter.body));
        let mut fields = vec![
            ("Content-Type", "application/json"),
            ("Teia-Event", letter.event.as_str()),
            ("Teia-Delivery", letter.id.as_str()),
            ("Teia-Timestamp", stamp.as_str()),
        ];
        fields.extend(signed.as_deref().map(|text| ("Teia-Signature", text)));
        let answered = self
            .poster
            .post(&letter.url, &fields, letter.body.as_bytes(), self.timeout)
            .await;
        let (outcome, words) = match answered {
            Ok(status @ 300..400) => (
                Outcome::http(status),
                format!("answered {status}, and redirects are not followed"),
            ),
            Ok(status) => (Outcome::http(status), format!("answered {status}")),
            Err(unanswered) => (unanswered.outcome, unanswered.to_string()),
        };
        let state = if outcome.is_ok() {
            DeliveryState::Delivered
        } else if tries_left > 0 && outcome.retry() != Retry::Final {
            DeliveryState::Waiting
        } else {
            DeliveryState::Failed
        };
        self.book.note(letter, state, &words, self.clock.wall());
        let (to, event) = (origin(&letter.url), &letter.event);
        match state {
            DeliveryState::Delivered => {
                self.say(Level::Info, format!("the webhook {to} took {event}"));
            }
            DeliveryState::Waiting => {}
            DeliveryState::Failed => self.say(
                Level::Warning,
                format!("the webhook {to} could not be told of {event}: {words}"),
            ),
        }
        state != DeliveryState::Waiting
    }

    fn tried(&self) {
        self.untried
            .send_modify(|count| *count = count.saturating_sub(1));
    }

    fn say(&self, level: Level, text: String) {
        self.feedback.hear(&Event::Notice { level, text });
    }
}
