//! Commit: archive appended and synced, then one journal entry, synced. Runs on a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Instant;

use teia_archive::{Committed, Records, Writer};
use teia_base::journal::{ArchivePosition, Attempt, Commit, Entry, HostUpdate, Record, UrlChange};
use teia_base::{Clock, Document};

use crate::EngineError;
use crate::analysis::Batch;
use crate::followers::{Feeds, Handed};
use crate::journal_writer::JournalWriter;
use crate::message::Message;

/// The commit window that is filling.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) opened: Option<Instant>,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) hosts: Vec<HostUpdate>,
    pub(crate) changes: Vec<UrlChange>,
    pub(crate) records: Vec<Records>,
    pub(crate) documents: Vec<Document>,
    pub(crate) bytes: u64,
}

impl Window {
    pub(crate) fn new() -> Self {
        Self {
            opened: None,
            attempts: Vec::new(),
            hosts: Vec::new(),
            changes: Vec::new(),
            records: Vec::new(),
            documents: Vec::new(),
            bytes: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.attempts.is_empty() && self.hosts.is_empty() && self.changes.is_empty()
    }
}

/// What the committer is asked to make durable.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) entry: Entry,
    pub(crate) records: Vec<Records>,
    pub(crate) documents: Vec<Document>,
}

/// Makes orders durable, one after another, until there are no more.
pub(crate) struct Committer {
    pub(crate) archive: Option<Writer>,
    pub(crate) journal: JournalWriter,
    /// The end of the archive that the journal names.
    pub(crate) journalled: Option<Committed>,
    pub(crate) clock: std::sync::Arc<dyn Clock>,
    pub(crate) documents: Option<SyncSender<Batch>>,
    pub(crate) feeds: Feeds,
}

impl Committer {
    pub(crate) fn run(
        mut self,
        orders: &Receiver<Order>,
        messages: &tokio::sync::mpsc::Sender<Message>,
    ) {
        while let Ok(order) = orders.recv() {
            let message = match self.commit(order) {
                Ok(entry) => Message::Committed(entry),
                Err(error) => Message::Broken(error),
            };
            let broken = matches!(message, Message::Broken(_));
            if messages.blocking_send(message).is_err() || broken {
                // After a failed write or sync nothing is written any more: what is on disk is
                // what the last entry says, and the next start begins there.
                return;
            }
        }
        if let Some(archive) = self.archive.take()
            && let Err(error) = archive.close(self.journalled.as_ref())
        {
            let _ = messages.blocking_send(Message::Broken(error.into()));
        }
    }

    fn commit(&mut self, order: Order) -> Result<Arc<Entry>, EngineError> {
        let Order {
            mut entry,
            records,
            documents,
        } = order;
        if let Some(archive) = &mut self.archive
            && !records.is_empty()
        {
            let wall = self.clock.wall();
            for record in &records {
                archive.append(record, wall)?;
            }
            let committed = archive.sync()?;
            if let (Record::Commit(Commit { archive, .. }), Some(committed)) =
                (&mut entry.record, &committed)
            {
                *archive = Some(ArchivePosition {
                    file: committed.file.clone(),
                    len: committed.len,
                });
            }
            self.journal.append(&entry)?;
            self.keep_up(committed);
        } else {
            self.journal.append(&entry)?;
        }
        let (entry, documents) = (Arc::new(entry), Arc::new(documents));
        self.feeds.hand_over(Handed {
            entry: Arc::clone(&entry),
            documents: Arc::clone(&documents),
        });
        if let Some(listener) = &self.documents
            && !documents.is_empty()
        {
            // A slow Analyzer holds up the next commit, and so the crawl: nothing piles up.
            let _ = listener.send((entry.sequence, documents));
        }
        Ok(entry)
    }

    /// Seals the file before, once a new one has begun; beside the commits, because it takes a while.
    fn keep_up(&mut self, committed: Option<Committed>) {
        let is_new_file =
            committed.as_ref().map(|c| &c.file) != self.journalled.as_ref().map(|c| &c.file);
        let was_first = self.journalled.is_none();
        self.journalled = committed;
        if let (Some(archive), Some(journalled)) = (&self.archive, &self.journalled)
            && is_new_file
            && !was_first
        {
            let upkeep = archive.upkeep(journalled);
            std::thread::spawn(move || {
                if let Err(error) = upkeep.run() {
                    tracing::warn!(%error, "the index of a sealed archive file could not be written; it will be at the next start");
                }
            });
        }
    }
}
