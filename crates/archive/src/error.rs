//! What stops the archive itself, not merely one capture.

use std::io;
use std::path::PathBuf;

/// Why the archive cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// An exchange without an answer has nothing to archive.
    #[error("no answer to archive for {url}")]
    NoResponse {
        /// The URL asked for.
        url: String,
    },
    /// Reading a spooled body, or compressing it to a temporary file.
    #[error("cannot build the records of {url}")]
    Build {
        /// The URL asked for.
        url: String,
        /// What the system said.
        source: io::Error,
    },
    /// Appending to an archive file. The file is cut back before it is used again, so after a
    /// full disk the same call may be tried again.
    #[error("cannot append to {file} at byte {offset}")]
    Append {
        /// The archive file.
        file: PathBuf,
        /// Its length before.
        offset: u64,
        /// What the system said.
        source: io::Error,
    },
    /// Making what was written durable. The writer is of no use afterwards.
    #[error("cannot sync {file}")]
    Sync {
        /// The archive file or its directory.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A sync failed before: what the disk holds is not known until the archive is opened again.
    #[error("the archive writer stopped after a failed sync")]
    Stopped,
    /// Making, opening, cutting, renaming or listing files.
    #[error("cannot {attempt} {file}")]
    File {
        /// What was attempted: `open`, `cut`, `list`…
        attempt: &'static str,
        /// The file or directory.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Bytes that the journal says are there are not.
    #[error("{file} ends at byte {found}, but {committed} bytes of it are committed")]
    Missing {
        /// The archive file.
        file: PathBuf,
        /// Length that the journal names.
        committed: u64,
        /// Length found; 0 where the whole file is gone.
        found: u64,
    },
    /// The archive holds sealed files and the journal names none: it is not the journal of this archive.
    #[error(
        "{file} is sealed, but the journal names no archive file; move the archive away or restore its journal"
    )]
    ForeignJournal {
        /// One sealed file.
        file: PathBuf,
    },
    /// Reading an archive file, an index or a record.
    #[error("cannot read {file} at byte {offset}")]
    Read {
        /// The file.
        file: PathBuf,
        /// Where.
        offset: u64,
        /// What the system said.
        source: io::Error,
    },
    /// Bytes that are no record or no index line.
    #[error("damaged {file} at byte {offset}: {what}")]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where the damaged record or line begins.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A revisit whose original is not in the archive.
    #[error("the original of the revisit of {url} at {file} byte {offset} is not in the archive")]
    NoOriginal {
        /// The URL of the revisit.
        url: String,
        /// The archive file.
        file: PathBuf,
        /// Where the revisit lies.
        offset: u64,
    },
    /// Writing an export.
    #[error("cannot write the export")]
    Export(#[source] io::Error),
}

impl ArchiveError {
    /// Whether the disk is full: a reason to wait, not to fail.
    pub fn is_full_disk(&self) -> bool {
        let (Self::Append { source, .. } | Self::Build { source, .. } | Self::File { source, .. }) =
            self
        else {
            return false;
        };
        matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }

    pub(crate) fn file(
        attempt: &'static str,
        file: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| Self::File {
            attempt,
            file,
            source,
        }
    }

    pub(crate) fn read(file: impl Into<PathBuf>, offset: u64) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| Self::Read {
            file,
            offset,
            source,
        }
    }
}
