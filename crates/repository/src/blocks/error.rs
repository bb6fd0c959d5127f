//! What can stop the store itself.

use std::io;
use std::path::PathBuf;

/// What stops the store of blocks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A call to the disk.
    #[error("cannot {doing} {}", path.display())]
    Disk {
        /// What was being attempted.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Bytes that are not what was written.
    #[error("{} is damaged at byte {offset}: {what}", path.display())]
    Damaged {
        /// In which file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What does not hold.
        what: &'static str,
        /// Whether what was there was found again elsewhere: nothing is missing, and nothing waits.
        is_mended: bool,
    },
    /// A manifest of a later program.
    #[error("{} has format {found}, and this program knows {known} at most", path.display())]
    Newer {
        /// The manifest.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A manifest written under another key: its blocks are sorted by other hashes.
    #[error("{} was written with another hash key", path.display())]
    Key {
        /// The manifest.
        path: PathBuf,
    },
}

impl StoreError {
    /// Whether something that was written is gone or damaged, so that only the journal knows it.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Damaged { is_mended, .. } => !is_mended,
            Self::Disk { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Whether this is damage that the store has mended by itself: worth a word, and no failure.
    pub fn is_mended(&self) -> bool {
        matches!(
            self,
            Self::Damaged {
                is_mended: true,
                ..
            }
        )
    }

    /// The same damage, after what was there was found again elsewhere.
    #[must_use]
    pub(crate) fn mended(mut self) -> Self {
        if let Self::Damaged { is_mended, .. } = &mut self {
            *is_mended = true;
        }
        self
    }

    pub(crate) fn disk(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Disk {
            doing,
            path,
            source,
        }
    }
}

/// What does not hold within a page, before it is known which page that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flaw(pub(crate) &'static str);

impl Flaw {
    pub(crate) fn at(self, path: impl Into<PathBuf>, offset: u64) -> StoreError {
        StoreError::Damaged {
            path: path.into(),
            offset,
            what: self.0,
            is_mended: false,
        }
    }
}
