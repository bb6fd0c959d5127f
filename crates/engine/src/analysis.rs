//! Analyzers as a follower of the journal: each committed document, at least once.
//!
//! `crate::analyzed` holds which entries were handed over. What was committed and lost with a kill
//! is read again from the archive at the next start; what cannot be read then is reported, and tried
//! again at the start after. Only a document without a capture (there was no archive) is passed over.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use teia_archive::{ArchiveError, Captures};
use teia_base::journal::{Attempt, Commit, EntryStream, Record, all_segments};
use teia_base::{Document, Files, Outcome, Retry};

use crate::EngineError;
use crate::analyzed::Analyzed;
use crate::analyzer::{Analyzer, Insight};
use crate::control::Control;
use crate::directory::Layout;
use crate::feedback::{Event, Feedback, Level};
use crate::message::Message;
use crate::stage::extract::Workshop;

/// Failures that are told one by one; of the others only the number.
const TOLD: u64 = 20;

/// Documents that cannot be read for which the index is looked at anew.
const MOST_LOOKS: u64 = 100;

/// Documents of one journal entry.
pub(crate) type Batch = (u64, Arc<Vec<Document>>);

/// Hands documents to the Analyzers, on a thread of its own.
pub(crate) struct Analysis {
    pub(crate) analyzers: Vec<Arc<dyn Analyzer>>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) layout: Layout,
    pub(crate) workshop: Arc<Workshop>,
    pub(crate) messages: tokio::sync::mpsc::Sender<Message>,
    pub(crate) feedback: Arc<dyn Feedback>,
    pub(crate) control: Control,
    pub(crate) analyzed: RefCell<Analyzed>,
    /// The last entry that was committed before this process.
    pub(crate) committed: u64,
    pub(crate) panics: Cell<u64>,
    pub(crate) unread: Cell<u64>,
}

impl Drop for Analysis {
    /// However it ended, nobody waits for more.
    fn drop(&mut self) {
        let _ = self.messages.blocking_send(Message::AnalyzersGone);
    }
}

impl Analysis {
    /// Starts the thread; returns where documents are handed in. Full, it makes the committer wait.
    pub(crate) fn spawn(self) -> Result<SyncSender<Batch>, EngineError> {
        let (sender, receiver) = sync_channel(2);
        let name = self.layout.name().to_owned();
        std::thread::Builder::new()
            .name("teia-analyze".to_owned())
            .spawn(move || self.run(&receiver))
            .map_err(EngineError::disk("start a thread for", name))?;
        Ok(sender)
    }

    fn run(self, batches: &Receiver<Batch>) {
        self.catch_up();
        let _ = self.messages.blocking_send(Message::Analyzed);
        while let Ok((sequence, documents)) = batches.recv() {
            for document in &*documents {
                self.hand_over(document);
            }
            self.analyzed.borrow_mut().advance(sequence);
            self.note();
            let _ = self.messages.blocking_send(Message::Analyzed);
        }
        let more = self.panics.get().saturating_sub(TOLD);
        if more > 0 {
            self.complain(format!("Analyzers panicked {more} more times"));
        }
    }

    /// Hands over what was missed: entry by entry, so that however much it is, no more than one lies in
    /// memory; what was handed over is noted after each segment.
    fn catch_up(&self) {
        self.analyzed.borrow_mut().owe_until(self.committed);
        if self.analyzed.borrow().is_settled() {
            return;
        }
        let journal = self.layout.journal();
        let mut captures = match Captures::open(Arc::clone(&self.files), &self.layout.archive()) {
            Ok(captures) => captures,
            Err(error) => return self.put_off("the archive cannot be opened", &error),
        };
        let found = match all_segments(&*self.files, &journal) {
            Ok(found) => found,
            Err(error) => return self.put_off("the journal cannot be listed", &error),
        };
        for (at, &first) in found.iter().enumerate() {
            let next = found.get(at + 1).copied();
            // What the committer adds meanwhile comes another way, and is not owed.
            let last = next.map_or(self.committed, |next| next - 1);
            if !self.analyzed.borrow().owes_between(first, last) {
                continue;
            }
            let is_ended = self.catch_up_between(first, last, &mut captures);
            self.note();
            if is_ended {
                return;
            }
        }
        let more = self.unread.get().saturating_sub(TOLD);
        if more > 0 {
            self.complain(format!(
                "{more} more documents that Analyzers missed cannot be read; they are tried again at the next start"
            ));
        }
    }

    /// Hands over what is owed of these entries. However much was missed, a run that is told to end
    /// ends, and then this says so: what is left is still owed.
    fn catch_up_between(&self, first: u64, last: u64, captures: &mut Captures) -> bool {
        let files = Arc::clone(&self.files);
        let entries = match EntryStream::open(files, &self.layout.journal(), first, last) {
            Ok(entries) => entries,
            Err(error) => {
                self.put_off("a segment of the journal cannot be read", &error);
                return false;
            }
        };
        for entry in entries {
            if self.control.end().is_some() {
                return true;
            }
            match entry {
                Ok(entry) => {
                    if self.analyzed.borrow().owes(entry.sequence)
                        && self.hand_over_again(&entry.record, captures)
                    {
                        self.analyzed.borrow_mut().settle(entry.sequence);
                    }
                }
                Err(error) => self.put_off("a segment of the journal cannot be read", &error),
            }
        }
        false
    }

    /// Hands over the documents of a committed entry; true if none is left.
    fn hand_over_again(&self, record: &Record, captures: &mut Captures) -> bool {
        let Record::Commit(Commit { attempts, .. }) = record else {
            return true;
        };
        let mut whole = true;
        for attempt in attempts.iter().filter(|attempt| has_document(attempt)) {
            match self.read_again(captures, attempt) {
                Ok(Some(document)) => self.hand_over(&document),
                Ok(None) => {}
                Err(problem) => {
                    whole = false;
                    self.unread.set(self.unread.get() + 1);
                    if self.unread.get() <= TOLD {
                        self.complain(format!(
                            "{} was missed by Analyzers and cannot be read from the archive ({problem}); it is tried again at the next start",
                            attempt.url.normal()
                        ));
                    }
                }
            }
        }
        whole
    }

    /// The document of an attempt, as its worker made it; none where its answer was no document.
    fn read_again(
        &self,
        captures: &mut Captures,
        attempt: &Attempt,
    ) -> Result<Option<Document>, String> {
        let find = |captures: &Captures| -> Result<_, ArchiveError> {
            let versions = captures.versions(attempt.url.request())?;
            match versions
                .into_iter()
                .find(|entry| entry.id == attempt.capture)
            {
                Some(entry) => Ok(Some(captures.read(&entry)?.response)),
                None => Ok(None),
            }
        };
        let mut found = find(captures);
        // The index may have been merged by the crawl that goes on meanwhile: one look more. Where very
        // many cannot be read, that is not why.
        if !matches!(found, Ok(Some(_))) && self.unread.get() < MOST_LOOKS {
            captures.refresh().map_err(|error| told(&error))?;
            found = find(captures);
        }
        let response = found
            .map_err(|error| told(&error))?
            .ok_or("it is not in the index")?;
        if !Outcome::http(response.status).is_ok() {
            return Ok(None);
        }
        let read = || self.workshop.answers.document_again(attempt, &response);
        catch_unwind(AssertUnwindSafe(read)).map_err(|_| "reading it panicked".to_owned())
    }

    /// Gives a document to every Analyzer. One that panics has had it; the others get it all the same.
    fn hand_over(&self, document: &Document) {
        let mut insights: Vec<Insight> = Vec::new();
        for analyzer in &self.analyzers {
            match catch_unwind(AssertUnwindSafe(|| analyzer.analyze(document))) {
                Ok(more) => insights.extend(more),
                Err(panic) => {
                    self.panics.set(self.panics.get() + 1);
                    if self.panics.get() <= TOLD {
                        self.complain(format!(
                            "the Analyzer {} panicked at {}: {}; the crawl goes on with the next document",
                            analyzer.name(),
                            document.url,
                            panic_text(&*panic)
                        ));
                    }
                }
            }
        }
        if !insights.is_empty() {
            let _ = self.messages.blocking_send(Message::Insights(insights));
        }
    }

    fn note(&self) {
        let written = self.analyzed.borrow().write(&*self.files, &self.layout);
        if let Err(error) = written {
            tracing::warn!(%error, "the place of the Analyzers could not be noted; they will see some documents again");
        }
    }

    fn put_off(&self, what: &str, error: &dyn std::error::Error) {
        self.complain(format!(
            "{what} ({}): what Analyzers missed is handed over at the next start that can read it",
            told(error)
        ));
    }

    fn complain(&self, text: String) {
        let level = Level::Error;
        self.feedback.hear(&Event::Notice { level, text });
    }
}

/// Whether a worker may have made a document of this attempt that can be read again: a document that
/// could not be unpacked is one too, as far as it goes.
fn has_document(attempt: &Attempt) -> bool {
    let outcome = attempt.outcome;
    // One that broke off is in the archive, and nobody has read it.
    let is_read = outcome.is_ok() || !outcome.is_answered() && outcome.retry() == Retry::Final;
    attempt.capture.is_some() && !attempt.is_robots() && is_read
}

/// An error with its causes, on one line.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message")
}
