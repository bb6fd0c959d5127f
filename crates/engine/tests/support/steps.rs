//! A disk whose power fails at a call of a named step (see `teia_base::Step`).
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use teia_base::{AppendFile, Files, PowerCut, ReadFile, SimulatedDisk, Step};

/// The disk, with the steps at which it is called.
#[derive(Clone, Debug)]
pub(crate) struct Stepped {
    disk: SimulatedDisk,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Debug, Default)]
struct Plan {
    /// Calls at each step so far.
    calls: BTreeMap<&'static str, u64>,
    /// The power fails before this call of this step.
    cut: Option<(&'static str, u64)>,
    /// What was being done when it failed.
    hit: Option<String>,
}

impl Stepped {
    pub(crate) fn new(disk: &SimulatedDisk, cut: Option<(&'static str, u64)>) -> Self {
        let plan = Plan {
            cut,
            ..Plan::default()
        };
        Self {
            disk: disk.clone(),
            plan: Arc::new(Mutex::new(plan)),
        }
    }

    /// Calls at each step.
    pub(crate) fn calls(&self) -> BTreeMap<&'static str, u64> {
        self.plan.lock().unwrap().calls.clone()
    }

    /// The call at which the power failed, if it came to it.
    pub(crate) fn hit(&self) -> Option<String> {
        self.plan.lock().unwrap().hit.clone()
    }

    fn pass(&self, what: &str, path: &Path) {
        let mut plan = self.plan.lock().unwrap();
        // What is written by itself all the time has no step: its path names it.
        let step = match Step::current() {
            "" if path.components().any(|part| part.as_os_str() == "journal") => "journal",
            "" if path.components().any(|part| part.as_os_str() == "state") => "checkpoint",
            "" if path.components().any(|part| part.as_os_str() == "history") => "packing",
            "" if path.components().any(|part| part.as_os_str() == "archive") => "archive",
            step => step,
        };
        let calls = plan.calls.entry(step).or_default();
        let number = *calls;
        *calls += 1;
        if plan.cut == Some((step, number)) {
            plan.hit = Some(format!("{what} {}", path.display()));
            self.disk.plan(PowerCut { after_calls: 0 });
        }
    }

    fn wrap(&self, path: &Path, file: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
        Box::new(SteppedFile {
            file,
            path: path.to_owned(),
            disk: self.clone(),
        })
    }
}

impl Files for Stepped {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.pass("create", path);
        Ok(self.wrap(path, self.disk.create(path)?))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.pass("append", path);
        Ok(self.wrap(path, self.disk.append(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(SteppedRead {
            file: self.disk.open(path)?,
            path: path.to_owned(),
            disk: self.clone(),
        }))
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.pass("truncate", path);
        self.disk.truncate(path, len)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass("rename", from);
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.pass("remove", path);
        self.disk.remove(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.pass("create_dir", path);
        self.disk.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.disk.list(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.pass("sync_dir", path);
        self.disk.sync_dir(path)
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.free_bytes()
    }
}

#[derive(Debug)]
struct SteppedFile {
    file: Box<dyn AppendFile>,
    path: std::path::PathBuf,
    disk: Stepped,
}

impl AppendFile for SteppedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.disk.pass("write", &self.path);
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.pass("sync", &self.path);
        self.file.sync()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}

/// What only reads changes nothing, but the power may fail while it does.
#[derive(Debug)]
struct SteppedRead {
    file: Box<dyn ReadFile>,
    path: std::path::PathBuf,
    disk: Stepped,
}

impl ReadFile for SteppedRead {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if Step::current() == "refill" {
            self.disk.pass("read", &self.path);
        }
        self.file.read_at(offset, buffer)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}
