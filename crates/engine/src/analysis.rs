//! Analyzers as a follower of the journal: each committed document, at least once.
//!
//! `NAME/part-0/analyzed` holds the number of the last entry whose documents were all handed over.
//! What was committed after it and lost with a kill is read again from the archive at the next
//! start; without an archive there is nothing to read, and those documents are passed over.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use teia_base::journal::{Entry, Record, read_segment, segments};
use teia_base::{Document, Files};

use crate::analyzer::{Analyzer, Insight};
use crate::collection::CollectionConfig;
use crate::directory::Layout;
use crate::followers::Rereader;
use crate::ring::Message;

/// Documents of one journal entry.
pub(crate) type Batch = (u64, Arc<Vec<Document>>);

/// Hands documents to the Analyzers, on a thread of its own.
pub(crate) struct Analysis {
    pub(crate) analyzers: Vec<Arc<dyn Analyzer>>,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) layout: Layout,
    pub(crate) config: CollectionConfig,
    pub(crate) messages: tokio::sync::mpsc::Sender<Message>,
    /// The entries after the first and up to the second number were committed before this process,
    /// and not handed over by the last one.
    pub(crate) missed: (u64, u64),
}

/// The last entry whose documents were all handed over; 0 before the first.
pub(crate) fn position(files: &dyn Files, layout: &Layout) -> u64 {
    let bytes = files.read(&path(layout)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().parse().unwrap_or(0)
}

fn path(layout: &Layout) -> PathBuf {
    layout.part().join("analyzed")
}

impl Analysis {
    /// Starts the thread; returns where documents are handed in. Full, it makes the committer wait.
    pub(crate) fn spawn(self) -> SyncSender<Batch> {
        let (sender, receiver) = sync_channel(2);
        let _ = std::thread::Builder::new()
            .name("teia-analyze".to_owned())
            .spawn(move || self.run(&receiver));
        sender
    }

    fn run(self, batches: &Receiver<Batch>) {
        self.catch_up();
        while let Ok((sequence, documents)) = batches.recv() {
            for document in &*documents {
                self.hand_over(document);
            }
            self.note(sequence);
        }
    }

    /// Hands over what was missed: segment by segment, so that however much it is, no more than one
    /// lies in memory, and what was handed over is noted after each.
    fn catch_up(&self) {
        let (after, until) = self.missed;
        if after >= until {
            return;
        }
        let journal = self.layout.journal();
        let archive = self.layout.archive();
        let rereader = Rereader::open(Arc::clone(&self.files), &archive, &self.config);
        let (Ok(rereader), Ok(found)) = (rereader, segments(&*self.files, &journal)) else {
            return self.note(until);
        };
        for (at, &first) in found.iter().enumerate() {
            let next = found.get(at + 1).copied();
            if next.is_some_and(|next| next <= after + 1) {
                continue;
            }
            let segment = match read_segment(&*self.files, &journal, first, next.is_none()) {
                Ok(segment) => segment,
                Err(error) => {
                    tracing::warn!(%error, "what Analyzers missed cannot be read; they will see it at the next start");
                    return;
                }
            };
            let mut last = after;
            for entry in &segment.entries {
                // The committer may be adding to this segment meanwhile; that comes another way.
                if (after + 1..=until).contains(&entry.sequence) {
                    self.hand_over_again(entry, &rereader);
                    last = entry.sequence;
                }
            }
            self.note(last);
        }
    }

    fn hand_over_again(&self, entry: &Entry, rereader: &Rereader) {
        let Record::Commit(commit) = &entry.record else {
            return;
        };
        let documents = commit
            .attempts
            .iter()
            .filter(|attempt| attempt.outcome.is_ok() && !attempt.is_robots());
        for attempt in documents {
            if let Some(document) = rereader.document(attempt) {
                self.hand_over(&document);
            }
        }
    }

    fn hand_over(&self, document: &Document) {
        let insights: Vec<Insight> = self
            .analyzers
            .iter()
            .flat_map(|analyzer| analyzer.analyze(document))
            .collect();
        if !insights.is_empty() {
            let _ = self.messages.blocking_send(Message::Insights(insights));
        }
    }

    fn note(&self, sequence: u64) {
        let written = self
            .files
            .replace(&path(&self.layout), sequence.to_string().as_bytes());
        if let Err(error) = written {
            tracing::warn!(%error, "the place of the Analyzers could not be noted; they will see some documents again");
        }
    }
}
