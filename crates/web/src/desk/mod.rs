//! The desk: everything that can be managed, for pages and for programs. No HTML here, and no HTTP.
//!
//! ```text
//!                  ┌─> files.rs    collections/NAME.toml: new, check, change, remove
//!                  ├─> machine.rs  what is decided on the machine alone
//! pages ──┐        ├─> control.rs  start, pause, resume, stop, other settings under a run, live figures
//!         ├─> Desk ├─> dashboard.rs a collection at a glance         <── catalog
//!         │        ├─> lives.rs    the life of one URL                <── journal
//!         │        ├─> figures.rs  states, runs, growth               <── journal, catalog
//!         │        ├─> counter.rs  the tables, one collection at a time <── journal, catalog
//! API ────┘        ├─> urls.rs     URLs, queue, explain, hosts        <── Repository, journal
//!                  ├─> removals.rs what is hidden
//!                  └─> erasures.rs what is erased
//! ```
//!
//! Everything here may read much and waits for disks: it is called off the async threads. Runs are reached
//! through the control socket, so that it does not matter in which process they are; only where nothing
//! runs at all is this process asked to begin.

mod control;
mod counter;
mod dashboard;
mod erasures;
mod figures;
mod files;
mod lives;
mod machine;
mod removals;
mod urls;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde::Serialize;
use teia_engine::{Directory, EngineError, Layout, Reading, Runs, WrongSetting};

pub(crate) use control::{LEVELS, Live, Order, Rates, Standing, is_as_bad};
pub(crate) use figures::{Card, Health, Trap};
pub(crate) use files::{Changes, NewCollection, SettingError, ToCheck};
pub(crate) use machine::Inside;
pub(crate) use removals::{Remembered, Removal, RemovalKind};
pub(crate) use urls::{HostOrder, HostRow, HostsAsked, UrlRow, UrlsAsked};

use counter::{Counted, Counter};
use figures::Figures;

/// Where everything is managed.
#[derive(Debug)]
pub(crate) struct Desk {
    root: PathBuf,
    /// The runs of this process, where it collects.
    runs: Option<Arc<dyn Runs>>,
    figures: Mutex<HashMap<String, Arc<Held>>>,
    dashboards: Mutex<HashMap<String, dashboard::Kept>>,
    /// Collections whose catalog did not answer, and when.
    away: Mutex<HashMap<String, Instant>>,
    lives: Mutex<lives::Lives>,
    counter: Counter,
    erasures: erasures::Erasures,
    /// One change of files at a time.
    changing: Mutex<()>,
    inside: Inside,
}

/// The figures of one collection, where they were made; held while they are made again.
type Held = Mutex<Option<Arc<Figures>>>;

/// Why something is not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeskError {
    /// It is not there.
    #[error("{0}")]
    Missing(String),
    /// What was asked for makes no sense; what to write instead.
    #[error("{0}")]
    Wrong(String),
    /// Settings that cannot be so; the sentence tells of all of them.
    #[error("{sentence}")]
    Settings {
        /// As a person reads it.
        sentence: String,
        /// One by one, the cause first.
        wrong: Vec<WrongSetting>,
    },
    /// Not as things are now.
    #[error("{0}")]
    Conflict(String),
    /// The process that collects is silent.
    #[error("{0}")]
    Busy(String),
    /// The database in which the catalog is does not answer.
    #[error("the catalog does not answer")]
    Catalog,
    /// Reading or writing failed.
    #[error("the data directory cannot be used")]
    Failed(#[source] EngineError),
}

impl From<EngineError> for DeskError {
    fn from(error: EngineError) -> Self {
        match error {
            // People far away need not know where on this machine things lie.
            EngineError::NoCollection { name, .. } => no_collection(&name),
            EngineError::NoDirectory { .. } => {
                Self::Missing("there is no collection yet".to_owned())
            }
            EngineError::Config { message, .. } => Self::Wrong(message),
            EngineError::Settings(ref wrong) => Self::Settings {
                sentence: error.to_string(),
                wrong: wrong.clone(),
            },
            EngineError::InUse { holder, .. } => Self::Conflict(format!(
                "process {holder} collects in this directory now; stop its runs first"
            )),
            EngineError::NoAnswer { .. } => Self::Busy(error.to_string()),
            error @ (EngineError::CollectionName { .. }
            | EngineError::NoSeeds
            | EngineError::Filter(_)
            | EngineError::Seed(_)
            | EngineError::Fixed { .. }
            | EngineError::Senseless(_)) => Self::Wrong(error.to_string()),
            error => Self::Failed(error),
        }
    }
}

fn no_collection(name: &str) -> DeskError {
    DeskError::Missing(format!("there is no collection `{name}`"))
}

/// A part of a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Page<T> {
    /// The part.
    pub(crate) items: Vec<T>,
    /// How many there are in all.
    pub(crate) total: u64,
    /// How many stand before it.
    pub(crate) offset: u64,
    /// How many it has at most.
    pub(crate) limit: u64,
}

/// Which part of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) offset: u64,
    pub(crate) limit: u64,
}

impl Window {
    /// A part of a list that is there as a whole.
    pub(crate) fn of<T>(self, all: Vec<T>) -> Page<T> {
        let total = all.len() as u64;
        let (skip, take) = (as_count(self.offset), as_count(self.limit));
        Page {
            items: all.into_iter().skip(skip).take(take).collect(),
            total,
            offset: self.offset,
            limit: self.limit,
        }
    }
}

/// A place among the rows of a database, which windows never leave.
pub(crate) fn as_row(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(crate) fn as_count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Desk {
    /// Over a data directory, which need not exist yet.
    pub(crate) fn new(root: &Path, runs: Option<Arc<dyn Runs>>, inside: Inside) -> Self {
        Self {
            root: root.to_owned(),
            runs,
            figures: Mutex::default(),
            dashboards: Mutex::default(),
            away: Mutex::default(),
            lives: Mutex::default(),
            counter: figures::counter(root),
            erasures: erasures::Erasures::default(),
            changing: Mutex::default(),
            inside,
        }
    }

    /// Whether a setting is changed on the machine alone.
    pub(crate) fn keeps(&self, setting: &str) -> bool {
        machine::is_of_the_machine(setting, self.inside)
    }

    /// The directory, if it is there.
    fn directory(&self) -> Result<Directory, DeskError> {
        Ok(Directory::open(&self.root)?)
    }

    /// A collection that must be there.
    fn reading(&self, name: &str) -> Result<(Directory, Reading), DeskError> {
        // A name that cannot be one is no collection.
        Layout::new(name).map_err(|_| no_collection(name))?;
        let directory = self.directory().map_err(|error| match error {
            DeskError::Missing(_) => no_collection(name),
            error => error,
        })?;
        let reading = Reading::open(&directory, name)?;
        Ok((directory, reading))
    }
}
