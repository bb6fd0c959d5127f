//! The herald: listens to a run, and has others told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use teia_base::Clock;
use teia_fetch::Poster;
use tokio::sync::{mpsc, watch};

use super::book::{Book, WAITING};
use super::config::WebhookConfig;
use super::courier::Courier;
use super::message::Message;
use crate::EngineError;
use crate::crawl::Crawl;
use crate::feedback::{Event, Feedback, Level, Progress};
use crate::report::{EndReason, Report};

/// A process that ends with its run waits so long for the first try of its last messages; the book has the others.
const LAST: Duration = Duration::from_secs(15);
/// And so long where a person waits for the end.
const HURRIED: Duration = Duration::from_secs(2);

/// Tells of one run. Hands everything that it hears on to the one behind.
#[derive(Debug)]
pub(crate) struct Herald {
    collection: String,
    key: u64,
    config: WebhookConfig,
    receivers: usize,
    clock: Arc<dyn Clock>,
    behind: Arc<dyn Feedback>,
    untried: Arc<watch::Sender<usize>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Gone when the run is over.
    queue: Option<mpsc::Sender<Message>>,
    /// The run, once it is written down.
    run: Option<u32>,
    /// How many were told of.
    number: u64,
    figures: Value,
}

impl Herald {
    /// For a collection that names somebody to tell. What cannot work is refused before the run begins.
    pub(crate) fn of(crawl: &Crawl) -> Result<Option<Arc<Self>>, EngineError> {
        let config = &crawl.config.webhook;
        let receivers = config.receivers();
        if receivers.is_empty() {
            return Ok(None);
        }
        let secret = config
            .secret()
            .map_err(|(key, message)| EngineError::Webhook { key, message })?;
        let clock = Arc::clone(&crawl.parts.clock);
        let poster = Poster::new(
            &crawl.config.fetch,
            config.allow_private,
            Arc::clone(&clock),
        )?;
        let book = match &crawl.parts.company {
            Some(company) => company.deliveries(&crawl.files, &crawl.layout),
            None => Arc::new(Book::open(&crawl.files, &crawl.layout)),
        };
        let untried = Arc::new(watch::Sender::new(0));
        let (queue, messages) = mpsc::channel(WAITING);
        let herald = Self {
            collection: crawl.layout.name().to_owned(),
            key: crawl.key,
            config: config.clone(),
            receivers: receivers.len(),
            clock: Arc::clone(&clock),
            behind: Arc::clone(&crawl.parts.feedback),
            untried: Arc::clone(&untried),
            state: Mutex::new(State {
                queue: Some(queue),
                run: None,
                number: 0,
                figures: json!({}),
            }),
        };
        let courier = Courier {
            poster,
            receivers,
            secret,
            retries: config.retries,
            timeout: config.timeout,
            book,
            clock,
            feedback: Arc::clone(&crawl.parts.feedback),
            untried,
        };
        let name = crawl.layout.name();
        let failed = || EngineError::disk("start a thread for", name);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed())?;
        std::thread::Builder::new()
            .name("teia-webhook".to_owned())
            .spawn(move || runtime.block_on(courier.work(messages)))
            .map_err(failed())?;
        Ok(Some(Arc::new(herald)))
    }

    /// The run is over; nothing is told after this. Where the process stays, nobody waits.
    pub(crate) async fn over(&self, ended: &Result<Report, EngineError>, stays: bool) {
        let is_hurried = match ended {
            Ok(report) => {
                let figures = json!({
                    "fetched": report.fetched,
                    "bytes": report.stats.bytes,
                    "errors": report.stats.errors,
                    "known_urls": report.known_urls,
                    "waiting": report.waiting,
                    "hosts": report.hosts,
                    "seconds": report.elapsed.as_secs_f64(),
                });
                let more = json!({ "reason": report.reason.name(), "figures": figures });
                self.tell("run_ended", more);
                report.reason == EndReason::Interrupted
            }
            Err(error) => {
                self.tell("run_failed", json!({ "error": error.with_causes() }));
                false
            }
        };
        self.state().queue = None;
        let most = match (is_hurried, stays) {
            (true, _) => HURRIED,
            (false, true) => return,
            (false, false) => LAST,
        };
        let mut untried = self.untried.subscribe();
        let all_tried = untried.wait_for(|count| *count == 0);
        // What was not tried by then is in the book.
        let _ = tokio::time::timeout(most, all_tried).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: &'static str, mut more: Value) {
        if !self.config.wants(event) {
            return;
        }
        let mut state = self.state();
        state.number += 1;
        if more.get("figures").is_none() {
            more["figures"] = state.figures.clone();
        }
        let of = (self.key, self.collection.as_str());
        let what = (event, state.run.unwrap_or_default(), state.number);
        let message = Message::new(of, what, self.clock.wall(), more);
        let Some(queue) = &state.queue else { return };
        self.untried.send_modify(|count| *count += self.receivers);
        if queue.try_send(message).is_err() {
            drop(state);
            self.untried
                .send_modify(|count| *count = count.saturating_sub(self.receivers));
            self.behind.hear(&Event::Notice {
                level: Level::Warning,
                text: format!("too much waits for the webhooks; they are not told of {event}"),
            });
        }
    }

    fn begun(&self, run: u32, goes_on: bool) {
        // Other settings under a run begin it again, for the journal.
        if self.state().run.replace(run).is_none() {
            self.tell("run_started", json!({ "goes_on": goes_on }));
        }
    }
}

impl Feedback for Herald {
    fn hear(&self, event: &Event) {
        match event {
            Event::Progress(progress) => self.state().figures = figures(progress),
            Event::Begun { run, goes_on } => self.begun(*run, *goes_on),
            Event::Paused => self.tell("run_paused", json!({})),
            Event::Resumed => self.tell("run_resumed", json!({})),
            Event::Quarantined { host, pattern } => self.tell(
                "trap_quarantined",
                json!({ "host": host, "pattern": pattern }),
            ),
            _ => {}
        }
        self.behind.hear(event);
    }

    fn wants_attempts(&self) -> bool {
        self.behind.wants_attempts()
    }
}

fn figures(progress: &Progress) -> Value {
    json!({
        "fetched": progress.fetched,
        "bytes": progress.bytes,
        "errors": progress.errors,
        "known_urls": progress.known,
        "waiting": progress.queue,
        "seconds": progress.elapsed.as_secs_f64(),
    })
}
