//! Bugs that are planted on purpose, to see whether the harness catches them.
//!
//! Each breaks the order of the commit as a mistake in the engine would, and sits behind [`Files`]: the
//! code that is tried is the one that people run, and no switch for a bug can be in their program.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::io;
use std::path::Path;
use std::sync::Arc;

use teia_base::journal::{Entry, LinkVerdict, Next, Record, encode_frame};
use teia_base::{AppendFile, Files, ReadFile};

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A commit is called done before its entry is synced; the sync comes with the next one.
    AcknowledgeBeforeSync,
    /// The journal names captures before the archive is synced.
    JournalBeforeArchive,
    /// The names in this folder are never synced.
    SkipDirectorySync(&'static str),
    /// One new link of each commit is not in its entry.
    DropLink,
    /// What never happened is not cut off the end of files in this folder.
    KeepTail(&'static str),
    /// An entry does not say that a lease is over, and so the next process hands its URL out again.
    ReuseLease,
    /// Who syncs files in this folder does not hear when that fails.
    SwallowSync(&'static str),
    /// A sync in this folder that failed is tried again, as if nothing had happened.
    RetrySync(&'static str),
}

/// A disk over which the engine behaves as if it had the bug.
#[derive(Debug)]
pub(crate) struct Planted {
    disk: Arc<dyn Files>,
    bug: Bug,
}

impl Planted {
    pub(crate) fn new(disk: impl Files + 'static, bug: Bug) -> Self {
        let disk = Arc::new(disk);
        Self { disk, bug }
    }

    fn wrap(&self, path: &Path, file: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
        let late = match self.bug {
            Bug::AcknowledgeBeforeSync => is_in(path, "journal"),
            Bug::JournalBeforeArchive => is_in(path, "archive"),
            _ => false,
        };
        if late {
            return Box::new(LateSync { file, owed: false });
        }
        match self.bug {
            Bug::SwallowSync(folder) | Bug::RetrySync(folder) if is_in(path, folder) => {
                Box::new(DeafSync {
                    file,
                    tries: usize::from(matches!(self.bug, Bug::RetrySync(_))) + 1,
                })
            }
            Bug::DropLink | Bug::ReuseLease if is_in(path, "journal") => Box::new(Rewritten {
                file,
                bug: self.bug,
            }),
            _ => file,
        }
    }
}

fn is_in(path: &Path, folder: &str) -> bool {
    path.parent().is_some_and(|parent| parent.ends_with(folder))
}

impl Files for Planted {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(self.wrap(path, self.disk.create(path)?))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(self.wrap(path, self.disk.append(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        self.disk.open(path)
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        match self.bug {
            Bug::KeepTail(folder) if is_in(path, folder) => Ok(()),
            _ => self.disk.truncate(path, len),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.disk.list(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        match self.bug {
            Bug::SkipDirectorySync(folder) if path.ends_with(folder) => Ok(()),
            _ => self.disk.sync_dir(path),
        }
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.free_bytes()
    }
}

/// Says that it is synced, whatever the disk said at the last try.
#[derive(Debug)]
struct DeafSync {
    file: Box<dyn AppendFile>,
    tries: usize,
}

impl AppendFile for DeafSync {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        // The error of the last try is swallowed, unless there is another one.
        (0..self.tries).any(|_| self.file.sync().is_ok());
        Ok(())
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}

/// Says that it is synced, and is only when more is written.
#[derive(Debug)]
struct LateSync {
    file: Box<dyn AppendFile>,
    owed: bool,
}

impl AppendFile for LateSync {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if std::mem::take(&mut self.owed) {
            self.file.sync()?;
        }
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.owed = true;
        Ok(())
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}

/// A journal whose entries say less than what happened.
#[derive(Debug)]
struct Rewritten {
    file: Box<dyn AppendFile>,
    bug: Bug,
}

impl AppendFile for Rewritten {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        const FRAME_HEAD: usize = 16;
        let payload = bytes.get(FRAME_HEAD..).unwrap_or_default();
        let Ok(mut entry) = postcard::from_bytes::<Entry>(payload) else {
            // The head of a segment.
            return self.file.append(bytes);
        };
        falsify(&mut entry, self.bug);
        let mut frame = Vec::new();
        encode_frame(&entry, self.file.len(), &mut frame).unwrap();
        self.file.append(&frame)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}

fn falsify(entry: &mut Entry, bug: Bug) {
    let Record::Commit(commit) = &mut entry.record else {
        return;
    };
    if bug == Bug::ReuseLease {
        let page = commit.attempts.iter_mut().find(|it| it.outcome.is_ok());
        if let Some(page) = page.filter(|page| page.next == Next::Done) {
            page.next = Next::Waiting;
        }
        return;
    }
    for attempt in &mut commit.attempts {
        let is_new = |link: &teia_base::journal::LinkRecord| link.verdict == LinkVerdict::New;
        if let Some(at) = attempt.links.iter().position(is_new) {
            attempt.links.remove(at);
            return;
        }
    }
}
