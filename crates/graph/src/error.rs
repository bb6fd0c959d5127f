//! What stops the graph.

use std::io;
use std::path::PathBuf;

/// What stops the graph itself, not merely one page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The disk, while reading.
    #[error("cannot read {path}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk, while writing. What was applied since the last commit is to be applied again.
    #[error("cannot write {path}")]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Bytes that are not the ones that were written.
    #[error("{path} is damaged at byte {offset}: {what}; rebuild the graph from the journal")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where, or the beginning of the chunk where.
        offset: u64,
        /// What was seen.
        what: &'static str,
    },
    /// A file of another kind, or of a newer version.
    #[error("{path} is not a file of this version of the graph")]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// More than the format can number.
    #[error("more than {limit} {what} in one segment of the graph")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: u64,
    },
    /// None of the URLs that ranks were to be personalised with is in the graph.
    #[error("none of the {given} URLs to personalise ranks with is in the graph")]
    Personalisation {
        /// How many URLs were given.
        given: usize,
    },
    /// The caller asked a long computation to stop.
    #[error("the computation of ranks was stopped")]
    Stopped,
}

impl GraphError {
    /// Whether what lies on disk cannot be used: the graph is to be built anew from the journal.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Foreign { .. } => true,
            Self::Read { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof
            ),
            _ => false,
        }
    }
}
