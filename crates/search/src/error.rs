//! What stops the index itself.

use std::path::PathBuf;

/// Why the index cannot go on. A query never ends here: it is repaired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// Making the directory of an index.
    #[error("cannot make the index directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Opening an index.
    #[error("cannot open the index in {}", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// What the index library said.
        source: tantivy::TantivyError,
    },
    /// The index was written by another version: it is to be rebuilt from the archive.
    #[error("the index in {} has format {found}, this program writes {expected}: rebuild it", path.display())]
    Format {
        /// The directory.
        path: PathBuf,
        /// What lies there.
        found: String,
        /// What this program writes.
        expected: String,
    },
    /// Adding, removing or committing.
    #[error("cannot write the index")]
    Write(#[source] tantivy::TantivyError),
    /// Reading terms, postings or stored pages.
    #[error("cannot read the index")]
    Read(#[source] tantivy::TantivyError),
    /// A stored page does not decode.
    #[error("a stored page of the index is damaged")]
    Page(#[from] postcard::Error),
    /// A file of the index is damaged in a way that its library does not expect.
    #[error("the index is damaged ({0})")]
    Damaged(String),
}

impl SearchError {
    /// Whether what lies on disk cannot be used: the index is to be built anew from the archive.
    pub fn is_damage(&self) -> bool {
        use std::io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
        use tantivy::TantivyError as Inner;
        use tantivy::directory::error::OpenReadError;
        match self {
            Self::Format { .. } | Self::Page(_) | Self::Damaged(_) => true,
            Self::Directory { .. } => false,
            Self::Open { source, .. } | Self::Write(source) | Self::Read(source) => match source {
                Inner::DataCorruption(_)
                | Inner::SchemaError(_)
                | Inner::FieldNotFound(_)
                | Inner::DeserializeError(_)
                | Inner::InternalError(_)
                | Inner::IncompatibleIndex(_) => true,
                // Too few descriptors or a failing disk take nothing from what is there.
                Inner::OpenReadError(OpenReadError::IoError { io_error, .. }) => {
                    matches!(io_error.kind(), InvalidData | NotFound | UnexpectedEof)
                }
                Inner::OpenReadError(_) => true,
                Inner::IoError(error) => {
                    matches!(error.kind(), InvalidData | NotFound | UnexpectedEof)
                }
                _ => false,
            },
        }
    }
}

/// Reading is where most calls into the index library come from.
impl From<tantivy::TantivyError> for SearchError {
    fn from(source: tantivy::TantivyError) -> Self {
        Self::Read(source)
    }
}

impl From<std::io::Error> for SearchError {
    fn from(source: std::io::Error) -> Self {
        Self::Read(source.into())
    }
}
