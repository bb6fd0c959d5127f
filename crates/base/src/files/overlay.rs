//! A disk as it is, and what a reader changes in it: nothing of that reaches the disk below.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use tempfile::TempDir;

use super::{AppendFile, DiskFiles, Files, ReadFile};

/// Reads `below`, writes `above`. Files below are never changed, so they cannot be appended to or cut.
#[derive(Debug)]
pub struct Overlay {
    below: Arc<dyn Files>,
    above: Arc<dyn Files>,
    /// Files of `below` that count as removed.
    removed: Mutex<HashSet<PathBuf>>,
    /// Where `above` lies, if it goes with this; held, so that others see that it is in use.
    _scratch: Option<(TempDir, File)>,
}

/// How the temporary folders of readers are called.
const SCRATCH: &str = "teia-read-";
/// A folder that is younger may not be held yet.
const SCRATCH_AGE: Duration = Duration::from_secs(60);

impl Overlay {
    /// Lays one over the other.
    pub fn new(below: Arc<dyn Files>, above: Arc<dyn Files>) -> Self {
        Self {
            below,
            above,
            removed: Mutex::default(),
            _scratch: None,
        }
    }

    /// What is written goes to a temporary folder, which is removed with this.
    pub fn in_scratch(below: Arc<dyn Files>) -> io::Result<Self> {
        sweep(&std::env::temp_dir(), SCRATCH_AGE);
        let scratch = tempfile::Builder::new().prefix(SCRATCH).tempdir()?;
        let held = File::open(scratch.path())?;
        flock(&held, FlockOperation::NonBlockingLockExclusive)?;
        let above = Arc::new(DiskFiles::new(scratch.path())?);
        Ok(Self {
            _scratch: Some((scratch, held)),
            ..Self::new(below, above)
        })
    }

    fn removed(&self) -> std::sync::MutexGuard<'_, HashSet<PathBuf>> {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holder(&self, path: &Path) -> io::Result<&Arc<dyn Files>> {
        if self.above.exists(path) {
            return Ok(&self.above);
        }
        if self.removed().contains(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(&self.below)
    }

    /// What is written above needs the directories that it has below.
    fn ready(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if parent != Path::new("") => self.above.create_dir(parent),
            _ => Ok(()),
        }
    }
}

/// Removes what readers that were killed have left.
fn sweep(place: &Path, age: Duration) {
    let Ok(entries) = std::fs::read_dir(place) else {
        return;
    };
    for entry in entries.flatten() {
        let is_old = || {
            let changed = entry.metadata().and_then(|found| found.modified()).ok()?;
            Some(changed.elapsed().ok()? >= age)
        };
        let is_scratch = entry.file_name().to_string_lossy().starts_with(SCRATCH);
        if !is_scratch || is_old() != Some(true) {
            continue;
        }
        // Anybody may put anything here; of another user's, or in use: not ours to remove.
        let only_folders =
            OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(folder) = rustix::fs::open(entry.path(), only_folders, Mode::empty())
            && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn read_only(path: &Path) -> io::Error {
    let text = format!("{} is only read here", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

impl Files for Overlay {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.ready(path)?;
        self.above.create(path)
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        if !self.above.exists(path) {
            return Err(read_only(path));
        }
        self.above.append(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        self.holder(path)?.open(path)
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        if !self.above.exists(path) {
            return Err(read_only(path));
        }
        self.above.truncate(path, len)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if !self.above.exists(from) {
            return Err(read_only(from));
        }
        self.ready(to)?;
        self.above.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if self.above.exists(path) {
            self.above.remove(path)?;
        } else if !self.below.exists(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.removed().insert(path.to_owned());
        Ok(())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.above.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = self.below.list(path)?;
        let removed = self.removed();
        names.retain(|name| !removed.contains(&path.join(name)));
        names.extend(self.above.list(path)?);
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        // It is gone with its reader.
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.above.free_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimulatedDisk;

    fn put(files: &dyn Files, path: &str, text: &str) {
        let mut file = files.create(Path::new(path)).unwrap();
        file.append(text.as_bytes()).unwrap();
    }

    fn get(files: &dyn Files, path: &str) -> Option<String> {
        let bytes = files.read(Path::new(path)).ok()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn what_a_killed_reader_left_is_removed_and_what_is_in_use_is_not() {
        let place = tempfile::tempdir().unwrap();
        for name in ["teia-read-left", "teia-read-used", "teia-other"] {
            std::fs::create_dir_all(place.path().join(name).join("within")).unwrap();
        }
        // What opens only when somebody writes to it must not be waited for.
        let pipe = place.path().join("teia-read-pipe");
        let (fifo, mode) = (rustix::fs::FileType::Fifo, Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).unwrap();
        let used = File::open(place.path().join("teia-read-used")).unwrap();
        flock(&used, FlockOperation::NonBlockingLockExclusive).unwrap();
        let left = || {
            let entries = std::fs::read_dir(place.path()).unwrap();
            let name = |entry: io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
            let mut names: Vec<_> = entries.map(name).collect();
            names.sort();
            names
        };
        sweep(place.path(), Duration::from_secs(3600));
        assert_eq!(left().len(), 4, "too young");
        sweep(place.path(), Duration::ZERO);
        assert_eq!(left(), ["teia-other", "teia-read-pipe", "teia-read-used"]);
    }

    #[test]
    fn what_is_changed_above_leaves_the_disk_below_as_it_was() {
        let below = SimulatedDisk::new();
        below.create_dir(Path::new("d")).unwrap();
        put(&below, "d/a", "old a");
        put(&below, "d/b", "old b");
        let (below, above) = (Arc::new(below), Arc::new(SimulatedDisk::new()));
        let files = Overlay::new(below.clone(), above);
        assert_eq!(get(&files, "d/a").unwrap(), "old a");
        files.replace(Path::new("d/a"), b"new a").unwrap();
        put(&files, "d/c", "new c");
        files.remove(Path::new("d/b")).unwrap();
        assert_eq!(get(&files, "d/a").unwrap(), "new a");
        assert_eq!(get(&files, "d/b"), None);
        assert!(!files.exists(Path::new("d/b")));
        assert_eq!(files.list(Path::new("d")).unwrap(), ["a", "c"]);
        assert!(files.append(Path::new("d/b")).is_err());
        assert!(files.remove(Path::new("d/x")).is_err());
        // Removed above, the one below does not come back.
        files.remove(Path::new("d/a")).unwrap();
        assert_eq!(get(&files, "d/a"), None);
        assert_eq!(below.list(Path::new("d")).unwrap(), ["a", "b"]);
        assert_eq!(get(&*below, "d/a").unwrap(), "old a");
        assert_eq!(get(&*below, "d/b").unwrap(), "old b");
    }

    #[test]
    fn a_file_below_can_be_neither_appended_to_nor_cut() {
        let below = SimulatedDisk::new();
        put(&below, "a", "text");
        let files = Overlay::new(Arc::new(below), Arc::new(SimulatedDisk::new()));
        assert!(files.append(Path::new("a")).is_err());
        assert!(files.truncate(Path::new("a"), 1).is_err());
        assert!(files.rename(Path::new("a"), Path::new("b")).is_err());
        assert_eq!(get(&files, "a").unwrap(), "text");
    }
}
