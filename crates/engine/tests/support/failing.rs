//! A disk of which one call fails, once.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::io;
use std::path::Path;
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
}

impl Failure {
    fn error(self) -> io::Error {
        match self {
            Self::Broken => io::Error::from_raw_os_error(5),
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
}

impl Plan {
    /// One more call; an error where it is the one.
    fn pass(&self, what: &str, path: &Path) -> io::Result<()> {
        if self.calls.fetch_add(1, Ordering::SeqCst) != self.call {
            return Ok(());
        }
        *self.failed.lock().unwrap() = Some(format!("{what} {}", path.display()));
        Err(self.failure.error())
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
        Ok(file)
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
        self.disk.list(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.plan.pass("sync_dir", path)?;
        self.disk.sync_dir(path)
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.free_bytes()
    }
}

#[derive(Debug)]
struct FailingFile {
    file: Box<dyn AppendFile>,
    path: std::path::PathBuf,
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
        self.plan.pass("sync", &self.path)?;
        self.file.sync()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}
