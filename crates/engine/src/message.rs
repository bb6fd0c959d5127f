//! What reaches the loop of the ring, and what becomes of it.
//!
//! ```text
//! fetch task, worker, committer, Analyzers ──> Message ──> hear ──> Repository, Frontier, window
//! ```

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use teia_base::journal::{Commit, Entry, Next, Record};
use teia_base::{HostId, Outcome};
use teia_frontier::Answer;
use tokio::sync::mpsc;

use crate::EngineError;
use crate::analyzer::Insight;
use crate::feedback::Event;
use crate::lanes::Lane;
use crate::ring::Ring;
use crate::stage::extract::Page;

/// What reaches the loop.
#[derive(Debug)]
pub(crate) enum Message {
    /// A host has answered, or not, with so many bytes; it may rest.
    Answered {
        host: HostId,
        answer: Answer,
        bytes: u64,
        lane: Lane,
        is_long: bool,
    },
    /// These addresses may answer for a host.
    Located {
        host: HostId,
        addresses: Vec<IpAddr>,
    },
    /// Whether a name server has answered for a host; none where none is asked about it.
    Named {
        host: HostId,
        has_answered: Option<bool>,
    },
    /// A worker is done with a page of a host, and this is what it took.
    Worked {
        host: HostId,
        lane: Lane,
        page: Box<Page>,
        computed: Duration,
    },
    /// An entry is on disk.
    Committed(Arc<Entry>),
    /// The disk cannot go on.
    Broken(EngineError),
    /// An Analyzer has something to say.
    Insights(Vec<Insight>),
    /// Analyzers have seen the documents of one more entry.
    Analyzed,
    /// There are no Analyzers any more.
    AnalyzersGone,
}

impl Ring {
    /// Takes in this message and some more.
    pub(crate) fn hear_all(
        &mut self,
        first: Option<Message>,
        inbox: &mut mpsc::Receiver<Message>,
    ) -> Result<(), EngineError> {
        self.hear(first.ok_or(EngineError::WorkerLost)?)?;
        // Some more, but not so many that the next lease waits for them.
        for _ in 0..64 {
            match inbox.try_recv() {
                Ok(message) => self.hear(message)?,
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Takes in one message.
    pub(crate) fn hear(&mut self, message: Message) -> Result<(), EngineError> {
        match message {
            Message::Answered {
                host,
                mut answer,
                bytes,
                lane,
                is_long,
            } => {
                self.lanes.note_answer(host, lane, is_long);
                self.bytes_arrived += bytes;
                let asked = self.asking.remove(&host);
                self.note_pace(host, asked.as_ref().map(|(_, since)| *since));
                let is_secure = asked.is_some_and(|(url, _)| url.scheme() == "https");
                self.note_outage(host, answer.outcome, is_secure);
                self.note_nowhere(host, answer.outcome);
                if self.outage.explains(answer.outcome) {
                    // The host is not to blame, and so rests no longer than it always does.
                    answer.outcome = Outcome::SYSTEM_ERROR;
                }
                self.frontier.settle(host, &answer);
                self.give_back(host, Some(answer.ended));
                self.wake(host);
            }
            Message::Located { host, addresses } => {
                self.note_addresses(host, &addresses);
                self.locate(host, &addresses);
            }
            Message::Named { host, has_answered } => self.note_name(host, has_answered),
            Message::Worked {
                host,
                lane,
                page,
                computed,
            } => {
                self.note_read(host, lane, computed);
                self.outstanding -= 1;
                self.bytes_arrived -= page.attempt.wire_bytes.min(self.bytes_arrived);
                self.admit(*page);
            }
            Message::Committed(entry) => {
                self.committing -= 1;
                self.repository.apply(&entry);
                self.ledger.apply(&entry, self.repository.len());
                self.answer_if_changed(entry.sequence);
                if matches!(entry.record, Record::Paused | Record::Resumed) {
                    self.control.note_pause(self.pause_noted);
                }
                let attempts = match &entry.record {
                    Record::Commit(commit) => commit.attempts.len(),
                    _ => 0,
                };
                if let Record::Commit(commit) = &entry.record {
                    self.wake_retries(commit);
                }
                self.look_at_decided(&entry);
                self.feedback.hear(&Event::Committed {
                    sequence: entry.sequence,
                    attempts,
                });
                if let Some(news) = self.news_in(&entry) {
                    self.feedback.hear(&news);
                }
            }
            Message::Broken(error) => return Err(error),
            Message::Analyzed => {
                if let Some(entries) = &mut self.to_analyze {
                    *entries = entries.saturating_sub(1);
                }
            }
            Message::AnalyzersGone => self.to_analyze = None,
            Message::Insights(insights) => {
                for insight in insights {
                    if let Some(priority) = insight.priority {
                        self.priorities.push((insight.url.clone(), priority));
                    }
                    if let Some(extra) = &insight.extra {
                        self.frontier.inform(&insight.url, &**extra);
                    }
                }
            }
        }
        while let Some(ended) = self.tasks.try_join_next() {
            if ended.is_err_and(|error| error.is_panic()) {
                return Err(EngineError::WorkerLost);
            }
        }
        Ok(())
    }

    /// URLs that wait for another try join their host's queue with the commit, as do those of a host
    /// that is no alias any more.
    fn wake_retries(&mut self, commit: &Commit) {
        for attempt in &commit.attempts {
            if matches!(
                attempt.next,
                Next::RetryAt(_) | Next::Waiting | Next::Again(_)
            ) && let Some(host) = self.repository.host(attempt.url.normal().host_str())
            {
                self.wake(host);
            }
        }
        for update in &commit.hosts {
            if update.alias_of.as_deref() == Some("")
                && let Some(host) = self.repository.host(&update.host)
            {
                self.wake(host);
            }
        }
    }
}
