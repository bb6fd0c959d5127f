//! What stops a run, or keeps it from starting.

use std::io;
use std::path::PathBuf;

use teia_fetch::FetchError;

/// Why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Reading or writing something in the data directory.
    #[error("cannot {attempt} {path}")]
    Disk {
        /// What was being attempted.
        attempt: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The URLs on disk.
    #[error("the URLs on disk cannot be used")]
    Urls(#[from] teia_repository::blocks::StoreError),
    /// The URLs on disk were damaged, and were removed because the journal has all of them.
    #[error(
        "the URLs on disk are damaged, and will be made again from the journal, which is whole"
    )]
    UrlsForgotten(#[source] teia_repository::blocks::StoreError),
    /// The URLs on disk know of more than the journal does.
    #[error(
        "the URLs on disk ({path}) know of journal entry {urls}, and the journal ends with {journal}: restore it from a copy ({lost})"
    )]
    JournalLost {
        /// The last entry that the URLs know of.
        urls: u64,
        /// The last entry there is.
        journal: u64,
        /// Where the URLs lie.
        path: PathBuf,
        /// Where the journal lies.
        lost: PathBuf,
    },
    /// Another process collects there.
    #[error("{path} is in use by process {holder}")]
    InUse {
        /// The directory.
        path: PathBuf,
        /// Who has it.
        holder: String,
    },
    /// The directory holds something else.
    #[error(
        "{path} is not empty and is not a Teia data directory: it has no file `format`; name an empty or new directory with --data, or restore that file from a copy"
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// The file that says what the directory is cannot be read.
    #[error(
        "{path} is damaged: it says with which layout, normal form and hash key everything beside it was written, so nothing is read or written without it; restore that file from a copy"
    )]
    FormatDamaged {
        /// The file.
        path: PathBuf,
    },
    /// There is nothing there.
    #[error("there is no data directory {path}")]
    NoDirectory {
        /// Where it should be.
        path: PathBuf,
    },
    /// The directory was written by a newer program.
    #[error(
        "{path} was written by a newer Teia ({found}); this one knows {known}: use the newer program"
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// What is there.
        found: String,
        /// What is known here.
        known: String,
    },
    /// The directory was written by an older program.
    #[error(
        "{path} was written by an older Teia ({found}); this one knows {known}, in which some URLs are spelled differently, and there is no command yet that converts the one to the other: go on with the older program, or collect anew into another directory with --data"
    )]
    Older {
        /// The directory.
        path: PathBuf,
        /// What is there.
        found: String,
        /// What is known here.
        known: String,
    },
    /// There is a file where the directory should be.
    #[error("{path} is a file, and data lies in a directory; name one with --data")]
    NotDirectory {
        /// The file.
        path: PathBuf,
    },
    /// A name that cannot be a collection's.
    #[error("`{name}` cannot be the name of a collection: {reason}")]
    CollectionName {
        /// The name.
        name: String,
        /// Why not, and what can.
        reason: &'static str,
    },
    /// There is no such collection.
    #[error("there is no collection `{name}` in {path}; the ones there are: {existing}")]
    NoCollection {
        /// The name asked for.
        name: String,
        /// The data directory.
        path: PathBuf,
        /// What is there.
        existing: String,
    },
    /// A collection file that cannot be understood.
    #[error("{path}: {message}")]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong, where, and what to write.
        message: String,
    },
    /// Settings that cannot be as somebody wants them.
    #[error("{}", crate::wrong_setting::told(.0))]
    Settings(Vec<crate::WrongSetting>),
    /// A run without anything to do.
    #[error("there is nothing to collect: it has no seeds")]
    NoSeeds,
    /// A seed that the rules refuse.
    #[error(transparent)]
    Filter(#[from] teia_base::filter::FilterError),
    /// A seed that is no URL.
    #[error(transparent)]
    Seed(#[from] teia_base::SeedError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] teia_base::journal::JournalError),
    /// The archive.
    #[error(transparent)]
    Archive(#[from] teia_archive::ArchiveError),
    /// The search index.
    #[error(transparent)]
    Search(#[from] teia_search::SearchError),
    /// The link graph.
    #[error(transparent)]
    Graph(#[from] teia_graph::GraphError),
    /// The catalog.
    #[error(transparent)]
    Catalog(#[from] teia_catalog::CatalogError),
    /// Following the journal.
    #[error("cannot follow the journal: {0}")]
    Follower(String),
    /// The search index needs a directory on this machine.
    #[error("a search index needs a data directory on a disk of this machine")]
    NotOnDisk,
    /// An index would have to be made again, and there is no archive to make it from.
    #[error(
        "the search index would have to be made again, and the collection keeps no archive to make it from; move {} away first if it may go", path.display()
    )]
    IndexWithoutArchive {
        /// The index.
        path: PathBuf,
    },
    /// The fetcher could not start.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A setting that cannot be changed once the collection exists.
    #[error(
        "`{setting}` was fixed when the collection was created; start another collection with --collection NAME"
    )]
    Fixed {
        /// Which.
        setting: &'static str,
    },
    /// What was fixed when the collection was created cannot be read any more.
    #[error(
        "the settings with which this collection was last run cannot be read, and so not compared ({message}); use the program that wrote them, or start another collection with --collection NAME"
    )]
    StoredOptions {
        /// What is wrong with them.
        message: String,
    },
    /// A setting whose value makes no sense.
    #[error(transparent)]
    Senseless(#[from] crate::sense::Senseless),
    /// Listening for those who steer runs.
    #[error(
        "cannot open the control socket {path}; name another directory with --data, on a local disk and with a shorter path"
    )]
    Socket {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process has the directory, and is silent.
    #[error(
        "the process that collects there ({holder}) does not answer; it may be reading its journal, be stopped, or hang: try again in a while"
    )]
    NoAnswer {
        /// Its number.
        holder: String,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody could be told of the run.
    #[error("[webhook] {key}: {message}")]
    Webhook {
        /// The setting.
        key: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// A thread of ours died.
    #[error("a worker thread ended unexpectedly; what was committed is safe")]
    WorkerLost,
}

impl EngineError {
    /// What happened, with its causes.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(inner) = cause {
            text.push_str(&format!(": {inner}"));
            cause = inner.source();
        }
        text
    }

    /// Names what was being done to a file of the data directory.
    pub fn disk(attempt: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Disk {
            attempt,
            path,
            source,
        }
    }

    /// Whether a file was not there.
    pub(crate) fn is_not_found(&self) -> bool {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = cause {
            if let Some(io) = error.downcast_ref::<std::io::Error>() {
                return io.kind() == std::io::ErrorKind::NotFound;
            }
            cause = error.source();
        }
        false
    }

    /// Whether the person who typed the command must change it, rather than the machine's state.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Foreign { .. }
                | Self::NoDirectory { .. }
                | Self::Newer { .. }
                | Self::Older { .. }
                | Self::NotDirectory { .. }
                | Self::CollectionName { .. }
                | Self::NoCollection { .. }
                | Self::Config { .. }
                | Self::Settings(_)
                | Self::NoSeeds
                | Self::Filter(_)
                | Self::Seed(_)
                | Self::Fixed { .. }
                | Self::StoredOptions { .. }
                | Self::IndexWithoutArchive { .. }
                | Self::Senseless(_)
                | Self::Webhook { .. }
                | Self::Fetch(
                    FetchError::Resolve(_)
                        | FetchError::Proxy(_)
                        | FetchError::Header(_)
                        | FetchError::CaFile { .. }
                )
        )
    }
}
