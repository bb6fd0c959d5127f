//! A committed document, read again from the archive as it was read the first time.

use std::path::Path;
use std::sync::Arc;

use teia_archive::{ArchiveError, Captures};
use teia_base::journal::Attempt;
use teia_base::{Document, Files};

use crate::answers::Answers;
use crate::collection::CollectionConfig;

/// Reads documents again. Shared by threads.
#[derive(Debug)]
pub(crate) struct Rereader {
    answers: Answers,
    captures: Captures,
}

impl Rereader {
    /// Over the archive as it is now.
    pub(crate) fn open(
        files: Arc<dyn Files>,
        archive: &Path,
        config: &CollectionConfig,
    ) -> Result<Self, ArchiveError> {
        Ok(Self {
            answers: Answers::new(config),
            captures: Captures::open(files, archive)?,
        })
    }

    /// The document of an attempt; `None` where the archive has no copy that can be read.
    pub(crate) fn document(&self, attempt: &Attempt) -> Option<Document> {
        let request = attempt.url.request();
        let entry = match attempt.capture {
            Some(capture) => {
                let versions = self.captures.versions(request).ok()?;
                versions
                    .into_iter()
                    .find(|entry| entry.id == Some(capture))?
            }
            None => return None,
        };
        let stored = match self.captures.read(&entry) {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(url = %request, %error, "an archived copy cannot be read");
                return None;
            }
        };
        self.answers.document_again(attempt, &stored.response)
    }
}
