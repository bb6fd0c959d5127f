//! What stops an answer, or the server.

use std::path::PathBuf;

use teia_archive::ArchiveError;
use teia_engine::EngineError;
use teia_graph::GraphError;
use teia_search::SearchError;

/// Why something cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// Reading the data directory or a journal.
    #[error("cannot read the collection")]
    Collection(#[from] EngineError),
    /// Asking the index.
    #[error("cannot search")]
    Search(#[from] SearchError),
    /// Asking the link graph.
    #[error("cannot read the link graph")]
    Graph(#[from] GraphError),
    /// Reading the archive.
    #[error("cannot read the archive")]
    Archive(#[from] ArchiveError),
    /// Filling in a page.
    #[error("cannot write the page")]
    Page(#[from] askama::Error),
    /// Reading or writing the tokens.
    #[error("cannot {attempt} {path}")]
    Tokens {
        /// What was being attempted.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Others may read the tokens.
    #[error("{path} may be read by others: `chmod 600 {path}` keeps it to yourself")]
    OpenTokens {
        /// The file.
        path: PathBuf,
    },
    /// The tokens are no tokens.
    #[error(
        "{path} cannot be understood (line {line}: {message}); restore it from a copy, or remove it to begin anew with a first token"
    )]
    BadTokens {
        /// The file.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The tokens are not those that were written.
    #[error(
        "{path} is damaged: the check sum in line 1 is not that of the lines below it; restore it from a copy, or remove it to begin anew with a first token; if you changed it by hand, take that line out"
    )]
    DamagedTokens {
        /// The file.
        path: PathBuf,
    },
    /// A token's name.
    #[error("the name of a token has 1 to 64 letters, and none that controls a terminal")]
    TokenName,
    /// There is no end of tokens.
    #[error("there are {most} tokens already; remove one first")]
    ManyTokens {
        /// So many.
        most: usize,
    },
    /// Accepting connections.
    #[error("cannot serve")]
    Serve(#[source] std::io::Error),
}
