//! What stops an answer, or the server.

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
    /// Accepting connections.
    #[error("cannot serve")]
    Serve(#[source] std::io::Error),
}
