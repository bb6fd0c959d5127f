//! What was found damaged: each place is told once, and the rest of the store goes on.
//!
//! ```text
//! manifest             its copy counts in its place; without both the store does not open
//! index, trailer       found again from the pages, which are whole (see `mend`)   } and the next fold
//! directory            counted again from the pages                               } writes them anew
//! page                 its block waits, with the news for it; windows pass over its host
//! index and trailer    the run is lost: its block waits, with the news for it
//! file that is gone    the same; and one in whose place another file of the store lies
//! ```

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashSet;
use teia_base::Files;

use super::block::Block;
use super::error::StoreError;
use super::run::RunFile;
use super::store::Store;

/// What was found damaged since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Damage(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    untold: Vec<StoreError>,
    places: HashSet<(PathBuf, u64)>,
    /// Files with damage that is made good each time when they are read, until they are written anew.
    worn: HashSet<PathBuf>,
}

impl Damage {
    /// Takes an error that damage explains; any other one is given back.
    pub(crate) fn note(&self, error: StoreError) -> Result<(), StoreError> {
        let StoreError::Damaged { path, offset, .. } = &error else {
            return Err(error);
        };
        let mut found = self.found();
        if found.places.insert((path.clone(), *offset)) {
            if error.is_mended() {
                found.worn.insert(path.clone());
            }
            found.untold.push(error);
        }
        Ok(())
    }

    /// What was not told yet.
    pub(crate) fn take(&self) -> Vec<StoreError> {
        std::mem::take(&mut self.found().untold)
    }

    /// Forgets files that a fold was to write anew: what it could not is tried again at the next start.
    pub(crate) fn forget_worn(&self, tried: &HashSet<PathBuf>) {
        self.found().worn.retain(|path| !tried.contains(path));
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Places that were found damaged, each with file and offset, and were not told of before.
    /// The next fold tells of them too, if nobody asks.
    pub fn take_damage(&self) -> Vec<StoreError> {
        self.damage.take()
    }

    /// Takes an error that damage explains, to be told of with the rest; any other one is given back.
    pub fn note_damage(&self, error: StoreError) -> Result<(), StoreError> {
        self.damage.note(error)
    }

    /// Removes the store below a prefix, for a caller who can tell everything again from position
    /// 0: for one whose manifest and its copy are both damaged. The manifest goes first.
    pub fn forget(files: &dyn Files, prefix: &std::path::Path) -> Result<(), StoreError> {
        let mut names = files
            .list(prefix)
            .map_err(StoreError::disk("list", prefix))?;
        names.sort_unstable_by_key(|name| (name != "manifest", name != "manifest.copy"));
        for name in names {
            let path = prefix.join(name);
            files
                .remove(&path)
                .map_err(StoreError::disk("remove", &path))?;
        }
        files
            .sync_dir(prefix)
            .map_err(StoreError::disk("sync", prefix))
    }

    /// Notes what was mended or found lost when the runs were opened.
    pub(crate) fn note_flaws(&self) -> Result<(), StoreError> {
        for run in self.all_runs() {
            run.flaw().map_or(Ok(()), |error| self.damage.note(error))?;
        }
        Ok(())
    }

    /// Whether there are files with damage that a fold would mend for good.
    pub fn wants_mending(&self) -> bool {
        !self.worn().is_empty()
    }

    /// Files that the next fold is to write anew. One that still has news to tell goes when that was heard.
    pub(crate) fn worn(&self) -> HashSet<PathBuf> {
        let mut worn = self.damage.found().worn.clone();
        if !worn.is_empty() {
            let unheard = self
                .news
                .iter()
                .filter(|(fold, _)| *fold > self.acknowledged);
            for run in unheard.flat_map(|(_, runs)| runs) {
                worn.remove(&run.path);
            }
        }
        worn
    }

    /// The first run of which nothing can be read.
    pub fn lost_run(&self) -> Option<StoreError> {
        self.all_runs().find_map(|run| run.whole().err())
    }

    /// Whether files that the manifest names were not there. For one who reads beside the owner this
    /// means that the owner has others now.
    pub fn misses_files(&self) -> bool {
        self.all_runs().any(|run| run.is_gone())
    }

    fn all_runs(&self) -> impl Iterator<Item = &Arc<RunFile>> {
        let runs = self.blocks.iter().flat_map(|block: &Block| &block.runs);
        let told = self.news.iter().flat_map(|(_, runs)| runs);
        runs.chain(&self.waiting).chain(told)
    }
}

impl RunFile {
    /// An error if nothing can be read of it.
    pub(crate) fn whole(&self) -> Result<(), StoreError> {
        match self.flaw() {
            Some(error) if self.is_lost => Err(error),
            _ => Ok(()),
        }
    }
}
