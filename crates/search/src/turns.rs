//! The check sums of an index looked at while it is open for writing: a part of its files each time.
//!
//! ```text
//! opened ──> files that somebody suspects, then files from one that is drawn on ──> damaged? ──> told by the next commit,
//!                                                                                              or when it is closed
//! ```
//!
//! Nothing is remembered from one time to the next: where all files are smaller than the part, all of them are read.
//!
//! `suspect`, in the directory of the index: names of files that were found damaged, a line each, or `*` where a search
//! failed over one that is not known.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tantivy::{Directory, HasLen, Index};

use crate::checks::{Checks, WRITTEN_ONCE};
use crate::error::SearchError;

/// Any file.
const ANY: &str = "*";

/// Under way on a thread of its own, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Turn {
    /// Looks at about so many bytes; at none where that is 0.
    pub(crate) fn begin(path: &Path, index: &Index, checks: &Checks, most_bytes: u64) -> Self {
        let is_over: Arc<AtomicBool> = Arc::default();
        let look = Look {
            path: path.to_owned(),
            index: index.clone(),
            checks: checks.clone(),
            most_bytes,
            is_over: Arc::clone(&is_over),
        };
        let begin = || {
            let thread = std::thread::Builder::new().name("teia-checks".to_owned());
            // Where there is no thread left, the next time does it.
            thread.spawn(move || look.run()).ok()
        };
        let thread = (most_bytes > 0).then(begin).flatten();
        Self { is_over, thread }
    }

    /// Waits for it.
    pub(crate) fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic of the library is told as damage before it comes here.
            let _ = thread.join();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

struct Look {
    path: PathBuf,
    index: Index,
    checks: Checks,
    most_bytes: u64,
    is_over: Arc<AtomicBool>,
}

impl Look {
    fn run(self) {
        let Ok((wanted, is_noted)) = self.wanted() else {
            return;
        };
        for file in wanted {
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            match self.checks.look_if_there(&self.index, &file) {
                Ok(()) => {}
                Err(error) if error.is_damage() => return,
                Err(error) => {
                    tracing::debug!(%error, "the index cannot be looked at now; later perhaps");
                    return;
                }
            }
        }
        if is_noted {
            // Each of them is whole; an index that is built anew has no list.
            let _ = std::fs::remove_file(self.path.join("suspect"));
        }
    }

    /// The files that are looked at, and whether there is a list of suspects.
    fn wanted(&self) -> Result<(Vec<PathBuf>, bool), SearchError> {
        let mut files: Vec<(PathBuf, u64)> = Vec::new();
        for segment in self.index.searchable_segment_metas()? {
            for extension in WRITTEN_ONCE {
                let file = PathBuf::from(format!("{}.{extension}", segment.id().uuid_string()));
                let len = self.index.directory().open_read(&file);
                files.push((file, len.map_or(0, |it| it.len() as u64)));
            }
        }
        files.sort_unstable();
        let list = std::fs::read_to_string(self.path.join("suspect"));
        let is_noted = list.is_ok();
        let list = list.unwrap_or_default();
        let is_suspect = |file: &Path| {
            list.lines()
                .any(|line| line == ANY || Path::new(line) == file)
        };
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for (file, len) in files {
            if is_suspect(&file) {
                first.push(file);
            } else {
                rest.push((file, len));
            }
        }
        if rest.iter().map(|(_, len)| len).sum::<u64>() > self.most_bytes {
            let count = rest.len() as u64;
            let drawn = RandomState::new().hash_one(count) % count;
            rest.rotate_left(usize::try_from(drawn).unwrap_or(0));
        }
        let mut read = 0;
        let part = rest.into_iter().take_while(|(_, len)| {
            let is_wanted = read < self.most_bytes;
            read += len;
            is_wanted
        });
        first.extend(part.map(|(file, _)| file));
        Ok((first, is_noted))
    }
}

/// Notes files of an index that were found damaged, or that one of them is: the next writer looks at them first. Where that cannot be
/// written, they are looked at in their turn.
pub(crate) fn suspect(folder: &Path, files: &[PathBuf]) {
    let path = folder.join("suspect");
    let mut lines: Vec<String> = files
        .iter()
        .filter_map(|file| Some(file.file_name()?.to_str()?.to_owned()))
        .collect();
    if lines.is_empty() {
        lines.push(ANY.to_owned());
    }
    if !path.exists() && folder.join("meta.json").exists() {
        let _ = std::fs::write(path, lines.join("\n"));
    }
}
