//! Keeps the journal small: its oldest segments are packed into `history/`, on a thread beside the
//! commits.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use teia_base::Files;
use teia_base::journal::{pack_segment, segment_name, segments};

/// Packs what a journal holds beyond its measure.
#[derive(Debug)]
pub(crate) struct Packer {
    files: Arc<dyn Files>,
    directory: PathBuf,
    /// Bytes of sealed segments that stay as they are.
    kept: u64,
    is_over: Arc<AtomicBool>,
    /// Segments that could not be packed: told of once, and left as they are.
    failed: Arc<Mutex<HashSet<u64>>>,
    packing: Option<JoinHandle<()>>,
    /// Whoever writes waits for it: where nothing is fetched, a journal grows quicker than it is packed.
    in_step: bool,
}

impl Packer {
    pub(crate) fn new(files: Arc<dyn Files>, directory: PathBuf, kept: u64) -> Self {
        Self {
            files,
            directory,
            kept,
            is_over: Arc::default(),
            failed: Arc::default(),
            packing: None,
            in_step: false,
        }
    }

    /// From now on whoever writes waits for it.
    pub(crate) fn keep_in_step(&mut self) {
        self.in_step = true;
    }

    /// Begins to pack where there is too much. To be called when a segment was sealed: the last one is
    /// still written to.
    pub(crate) fn look(&mut self) {
        match self.packing.take_if(|it| self.in_step || it.is_finished()) {
            Some(packing) => {
                let _ = packing.join();
            }
            None if self.packing.is_some() => return,
            None => {}
        }
        let due = self.due();
        if due.is_empty() {
            return;
        }
        let (files, directory) = (Arc::clone(&self.files), self.directory.clone());
        let (is_over, failed) = (Arc::clone(&self.is_over), Arc::clone(&self.failed));
        let pack = move || {
            let is_over = || is_over.load(Ordering::Relaxed);
            for first in due {
                if is_over() {
                    break;
                }
                // A journal that is too long is no reason to collect nothing.
                if let Err(error) = pack_segment(&*files, &directory, first, &is_over)
                    && lock(&failed).insert(first)
                {
                    let source = std::error::Error::source(&error).map(ToString::to_string);
                    let source = source.unwrap_or_default();
                    tracing::warn!(%error, source, "a segment stays as it is");
                }
            }
        };
        let thread = std::thread::Builder::new().name("teia-history".to_owned());
        self.packing = thread.spawn(pack).ok();
    }

    /// The oldest segments, beyond those that fit.
    fn due(&self) -> Vec<u64> {
        let mut found = segments(&*self.files, &self.directory).unwrap_or_default();
        found.pop();
        let mut room = self.kept;
        let fits = |first: &u64| {
            let path = self.directory.join(segment_name(*first));
            let bytes = self.files.open(&path).and_then(|file| file.len());
            let left = room.checked_sub(bytes.unwrap_or(0));
            room = left.unwrap_or(0);
            left.is_some()
        };
        let kept = found.iter().rev().copied().take_while({
            let mut fits = fits;
            move |first| fits(first)
        });
        let kept = kept.count();
        found.truncate(found.len() - kept);
        found
    }
}

fn lock(failed: &Mutex<HashSet<u64>>) -> MutexGuard<'_, HashSet<u64>> {
    failed.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Packer {
    fn drop(&mut self) {
        // Nothing is written after its owner is gone.
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(packing) = self.packing.take() {
            let _ = packing.join();
        }
    }
}
