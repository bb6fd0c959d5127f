//! The copies that the archive has: what a page was, where its server says that it has not changed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use teia_archive::{Captures, CdxEntry, StoredCapture};
use teia_base::journal::Revisit;
use teia_base::{CaptureId, Files, Timestamp};

/// So long the archive is not opened again for copies that it does not have.
const REST: Duration = Duration::from_secs(10);

/// The archive, opened when a copy is first asked for. Shared by the workers.
#[derive(Debug)]
pub(crate) struct Copies {
    files: Arc<dyn Files>,
    archive: PathBuf,
    captures: RwLock<Option<Captures>>,
    /// A copy was not there though the archive was opened again: others may be gone as well.
    missed: Mutex<Option<Instant>>,
}

impl Copies {
    pub(crate) fn new(files: Arc<dyn Files>, archive: PathBuf) -> Self {
        Self {
            files,
            archive,
            captures: RwLock::new(None),
            missed: Mutex::new(None),
        }
    }

    /// A capture as it was received; `None` where it cannot be read any more.
    pub(crate) fn read(&self, url: &str, capture: CaptureId) -> Option<StoredCapture> {
        self.look(url, capture).or_else(|| {
            // It may be newer than what was opened.
            let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
            if missed.is_some_and(|moment| moment.elapsed() < REST) {
                return None;
            }
            self.open_again()?;
            let found = self.look(url, capture);
            *missed = found.is_none().then(Instant::now);
            found
        })
    }

    fn look(&self, url: &str, capture: CaptureId) -> Option<StoredCapture> {
        let captures = self.captures.read().unwrap_or_else(PoisonError::into_inner);
        let captures = captures.as_ref()?;
        let versions = captures.versions(url).ok()?;
        let mut versions = versions.into_iter();
        let entry = versions.find(|entry| entry.id == Some(capture))?;
        captures.read(&entry).ok()
    }

    fn open_again(&self) -> Option<()> {
        let opened = Captures::open(Arc::clone(&self.files), &self.archive).ok()?;
        let mut captures = self
            .captures
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *captures = Some(opened);
        Some(())
    }
}

/// What a revisit of this copy refers to: the record that has the payload.
pub(crate) fn revisit_of(stored: &StoredCapture) -> Option<Revisit> {
    let entry: &CdxEntry = stored.original.as_ref().unwrap_or(&stored.entry);
    Some(Revisit {
        url: entry.url.clone(),
        capture: entry.id?,
        date: Timestamp::parse(&entry.timestamp)?,
    })
}
