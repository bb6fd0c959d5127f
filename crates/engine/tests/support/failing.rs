//! A disk of which one call fails, once. Where that is a sync, what it should have brought to the disk is lost, though it can still be
//! read: a later sync does not bring it back.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use teia_base::{AppendFile, Files, ReadFile, SimulatedDisk};

/// How the call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// An error of the device; of a write after half of it.
    Broken,
    /// No room is left; of a write after half of it.
    Full,
    /// An error of the device where something is read. (Only what reads is counted.)
    Unreadable,
}

impl Failure {
    fn error(self) -> io::Error {
        match self {
            Self::Broken | Self::Unreadable => io::Error::from_raw_os_error(5),
            Self::Full => io::ErrorKind::StorageFull.into(),
        }
    }
}

/// The disk, and what is to fail.
#[derive(Clone, Debug)]
pub(crate) struct Failing {
    disk: SimulatedDisk,
    plan: Arc<Plan>,
}

#[derive(Debug)]
struct Plan {
    call: u64,
    failure: Failure,
    calls: AtomicU64,
    /// The call that failed: what it was, and of which file.
    failed: Mutex<Option<String>>,
    /// One sync at a time, so that the one that is to fail does.
    syncs: Mutex<()>,
}

impl Plan {
    /// One more call that writes or opens; an error where it is the one.
    fn pass(&self, what: &str, path: &Path) -> io::Result<()> {
        if self.failure == Failure::Unreadable {
            return Ok(());
        }
        self.count(what, path)
    }

    /// One more call that reads.
    fn read(&self, what: &str, path: &Path) -> io::Result<()> {
        if self.failure != Failure::Unreadable {
            return Ok(());
        }
        self.count(what, path)
    }

    fn count(&self, what: &str, path: &Path) -> io::Result<()> {
        if self.calls.fetch_add(1, Ordering::SeqCst) != self.call {
            return Ok(());
        }
        *self.failed.lock().unwrap() = Some(format!("{what} {}", path.display()));
        Err(self.failure.error())
    }

    /// A sync, which drops what it is for where it is the one that fails.
    fn sync(
        &self,
        (what, path): (&str, &Path),
        disk: &SimulatedDisk,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let _one = self.syncs.lock().unwrap();
        let Err(error) = self.pass(what, path) else {
            return sync();
        };
        disk.set_failing_sync(true);
        let failed = sync();
        disk.set_failing_sync(false);
        failed.expect_err("it was told to fail");
        Err(error)
    }
}

impl Failing {
    /// Call number `call` fails, counted from 0.
    pub(crate) fn new(disk: &SimulatedDisk, call: u64, failure: Failure) -> Self {
        let plan = Plan {
            call,
            failure,
            calls: AtomicU64::new(0),
            failed: Mutex::default(),
            syncs: Mutex::default(),
        };
        Self {
            disk: disk.clone(),
            plan: Arc::new(plan),
        }
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> u64 {
        self.plan.calls.load(Ordering::SeqCst)
    }

    /// The call that failed, if it was reached.
    pub(crate) fn failed(&self) -> Option<String> {
        self.plan.failed.lock().unwrap().clone()
    }

    fn wrap(&self, path: &Path, file: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
        Box::new(FailingFile {
            file,
            path: path.to_owned(),
            disk: self.disk.clone(),
            plan: Arc::clone(&self.plan),
        })
    }
}

impl Files for Failing {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.plan.pass("create", path)?;
        Ok(self.wrap(path, self.disk.create(path)?))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.plan.pass("append", path)?;
        Ok(self.wrap(path, self.disk.append(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        // Whether there is such a file is asked in the same way, and then nothing fails.
        let file = self.disk.open(path)?;
        self.plan.pass("open", path)?;
        self.plan.read("open", path)?;
        Ok(Box::new(FailingRead {
            file,
            path: path.to_owned(),
            plan: Arc::clone(&self.plan),
        }))
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.plan.pass("truncate", path)?;
        self.disk.truncate(path, len)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.plan.pass("rename", from)?;
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.plan.pass("remove", path)?;
        self.disk.remove(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.plan.pass("create_dir", path)?;
        self.disk.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.plan.pass("list", path)?;
        self.plan.read("list", path)?;
        self.disk.list(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let sync = || self.disk.sync_dir(path);
        self.plan.sync(("sync_dir", path), &self.disk, sync)
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.free_bytes()
    }
}

#[derive(Debug)]
struct FailingFile {
    file: Box<dyn AppendFile>,
    path: PathBuf,
    disk: SimulatedDisk,
    plan: Arc<Plan>,
}

impl AppendFile for FailingFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.plan.pass("write", &self.path) {
            self.file.append(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        let file = &mut self.file;
        let called = ("sync", self.path.as_path());
        self.plan.sync(called, &self.disk, || file.sync())
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}

#[derive(Debug)]
struct FailingRead {
    file: Box<dyn ReadFile>,
    path: PathBuf,
    plan: Arc<Plan>,
}

impl ReadFile for FailingRead {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.plan.read("read", &self.path)?;
        self.file.read_at(offset, buffer)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}
