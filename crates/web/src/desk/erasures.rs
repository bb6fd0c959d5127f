//! Erasing: what is removed is taken out of the files as well, on a thread of its own, one at a time.
//!
//! ```text
//! hide ──> the directory's lock ──> a thread: archive, journal, index anew ──> what came of it
//! ```

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use teia_base::{Clock, SystemClock};
use teia_engine::{CollectionConfig, Directory, DirectoryLock, EngineError, Reading, Removals};

use super::figures::lock;
use super::{Desk, DeskError, Removal, RemovalKind};

/// Erasures that are remembered.
const MOST: usize = 50;

/// An erasure, and how far it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Erasing {
    #[serde(skip)]
    collection: String,
    /// What is erased.
    pub(crate) items: Vec<Removal>,
    /// `running`, `done` or `failed`.
    pub(crate) state: &'static str,
    /// When it began.
    pub(crate) began: String,
    /// Records that left the archive.
    pub(crate) records: u64,
    /// Files of the archive that were written anew.
    pub(crate) files: u64,
    /// Attempts of which the journal now says only that they were.
    pub(crate) attempts: u64,
    /// Pages of other URLs that had the same body, and keep it.
    pub(crate) restored: u64,
    /// Why it failed, or what could not be made anew.
    pub(crate) problem: Option<String>,
}

/// The last erasures of this process, newest first.
pub(super) type Erasures = Arc<Mutex<Vec<Erasing>>>;

impl Desk {
    /// Hides a page or a host, and begins to erase it. Nobody may collect in the directory meanwhile.
    pub(crate) fn erase(&self, name: &str, removal: &Removal) -> Result<Erasing, DeskError> {
        let items = self.hide(name, removal)?;
        let (directory, reading) = self.reading(name)?;
        let is_under_way = |it: &Erasing| it.state == "running";
        if lock(&self.erasures).iter().any(is_under_way) {
            let sentence =
                "it is hidden; something else is being erased now: ask again when that is done";
            return Err(DeskError::Conflict(sentence.to_owned()));
        }
        let alone = directory.lock().map_err(|error| match error {
            EngineError::InUse { .. } => DeskError::Conflict(
                "it is hidden, and nothing is erased while a process collects in the data directory: stop the runs, and ask again"
                    .to_owned(),
            ),
            error => error.into(),
        })?;
        let named = named(&items);
        let begun = Erasing {
            collection: name.to_owned(),
            items,
            state: "running",
            began: SystemClock.wall().to_string(),
            records: 0,
            files: 0,
            attempts: 0,
            restored: 0,
            problem: None,
        };
        {
            let mut all = lock(&self.erasures);
            all.insert(0, begun.clone());
            all.truncate(MOST);
        }
        let (all, root): (Erasures, PathBuf) = (Arc::clone(&self.erasures), self.root.clone());
        let name = reading.layout().name().to_owned();
        let work = move || {
            crate::pages::give_way();
            let working = std::panic::AssertUnwindSafe(|| erase(&root, &name, &alone, &named));
            let done = std::panic::catch_unwind(working)
                .unwrap_or_else(|_| Err("it broke; the server's log says how".to_owned()));
            drop(alone);
            // Only one is under way.
            if let Some(mine) = lock(&all).iter_mut().find(|it| it.state == "running") {
                match done {
                    Ok(erasure) => {
                        mine.state = "done";
                        mine.records = erasure.archive.records;
                        mine.files = erasure.archive.files;
                        mine.restored = erasure.archive.restored;
                        mine.attempts = erasure.attempts;
                        if !erasure.left.is_empty() {
                            mine.state = "failed";
                            mine.problem = Some(format!(
                                "could not be made anew, and may still hold something: {}",
                                erasure.left.join("; ")
                            ));
                        }
                    }
                    Err(why) => {
                        mine.state = "failed";
                        mine.problem = Some(why);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("teia-erase".to_owned());
        if let Err(error) = thread.spawn(work) {
            lock(&self.erasures).remove(0);
            return Err(EngineError::disk("start a thread for", "erasing")(error).into());
        }
        Ok(begun)
    }

    /// What this process erased of a collection, newest first.
    pub(crate) fn erasures(&self, name: &str) -> Result<Vec<Erasing>, DeskError> {
        drop(self.reading(name)?);
        let all = lock(&self.erasures);
        let own = all.iter().filter(|it| it.collection == name);
        Ok(own.cloned().collect())
    }
}

/// What was named now, and nothing that was hidden before.
fn named(items: &[Removal]) -> Removals {
    let mut named = Removals::default();
    for item in items {
        match item.kind {
            RemovalKind::Host => {
                named.add_host(&item.value);
            }
            RemovalKind::Url => {
                // As it stands in the list of removals.
                named.add_url(&teia_base::CanonicalUrl::from_stored(&item.value));
            }
        }
    }
    named
}

fn erase(
    root: &Path,
    name: &str,
    alone: &DirectoryLock,
    named: &Removals,
) -> Result<teia_engine::Erasure, String> {
    let work = || -> Result<teia_engine::Erasure, EngineError> {
        let directory = Directory::open(root)?;
        let reading = Reading::open(&directory, name)?;
        let (files, layout) = (reading.files(), reading.layout());
        let config = CollectionConfig::load(&*files, root, layout)?.unwrap_or_default();
        teia_engine::erase(&directory, alone, layout, &config, named, &SystemClock)
    };
    work().map_err(|error| {
        tracing::warn!(%error, cause = ?std::error::Error::source(&error).map(ToString::to_string), "erasing failed");
        "something went wrong; the server's log says what. Nothing is half gone: ask again when the cause is mended".to_owned()
    })
}
