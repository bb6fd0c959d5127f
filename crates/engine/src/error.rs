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
    /// The URLs on disk know of more than the journal does.
    #[error(
        "the URLs on disk know of journal entry {urls}, and the journal ends with {journal}: restore the journal, or remove {path} so that it is built anew"
    )]
    JournalLost {
        /// The last entry that the URLs know of.
        urls: u64,
        /// The last entry there is.
        journal: u64,
        /// Where the URLs lie.
        path: PathBuf,
    },
    /// Another process collects there.
    #[error(
        "{path} is in use by process {holder}; stop it first (`teia stop`), or name another directory with --data"
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// Who has it.
        holder: String,
    },
    /// The directory holds something else.
    #[error(
        "{path} is not empty and is not a Teia data directory; name an empty or new directory with --data"
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// There is nothing there.
    #[error("there is no data directory {path}; `teia crawl SEED --data {path}` makes one")]
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
    /// A name that cannot be a collection's.
    #[error("`{0}` cannot be the name of a collection; use letters, digits, `-` and `_`")]
    CollectionName(String),
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
    /// A run without anything to do.
    #[error(
        "there is nothing to collect: name a seed, for example `teia crawl example.org`, or a file of seeds with --seeds"
    )]
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
    /// A thread of ours died.
    #[error(
        "a worker thread ended unexpectedly; what was committed is safe, start again with `teia resume`"
    )]
    WorkerLost,
}

impl EngineError {
    /// Names what was being done to a file of the data directory.
    pub fn disk(attempt: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Disk {
            attempt,
            path,
            source,
        }
    }

    /// Whether the person who typed the command must change it, rather than the machine's state.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Foreign { .. }
                | Self::NoDirectory { .. }
                | Self::Newer { .. }
                | Self::CollectionName(_)
                | Self::NoCollection { .. }
                | Self::Config { .. }
                | Self::NoSeeds
                | Self::Filter(_)
                | Self::Seed(_)
                | Self::Fixed { .. }
                | Self::Fetch(
                    FetchError::Resolve(_)
                        | FetchError::Proxy(_)
                        | FetchError::Header(_)
                        | FetchError::CaFile { .. }
                )
        )
    }
}
