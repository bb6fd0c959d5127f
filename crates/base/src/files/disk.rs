//! The machine's own disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::{AppendFile, Files, ReadFile};

/// Files below one directory of this machine.
#[derive(Clone, Debug)]
pub struct DiskFiles {
    root: PathBuf,
}

impl DiskFiles {
    /// Files below `root`, which is made if it is missing.
    pub fn new(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        fs::create_dir_all(&root)?;
        Ok(Self { root })
    }

    /// Files below `root`, which is left alone if it is missing; for commands that only read.
    pub fn existing(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory on this machine.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl Files for DiskFiles {
    fn on_disk(&self, path: &Path) -> Option<PathBuf> {
        Some(self.root.join(path))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(self.root.join(path))?;
        Ok(Box::new(DiskAppend { file, len: 0 }))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = OpenOptions::new().append(true).open(self.root.join(path))?;
        let len = file.metadata()?.len();
        Ok(Box::new(DiskAppend { file, len }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(DiskRead(File::open(self.root.join(path))?)))
    }

    /// Who replaces one file takes turns, over threads and processes: the file aside has one name, so that a kill leaves at
    /// most one, and whoever writes it has it locked until it has the right name.
    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let (path, parent) = (self.root.join(path), path.parent());
        let mut aside = path.clone().into_os_string();
        aside.push(".new");
        let aside = Path::new(&aside);
        let mut file = lock_aside(aside)?;
        file.set_len(0)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(aside, &path)?;
        self.sync_dir(parent.unwrap_or(Path::new("")))
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.root.join(path))?;
        file.set_len(len)?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(self.root.join(from), self.root.join(to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(self.root.join(path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(self.root.join(path))?;
        // The name of each new directory lives in its parent.
        let mut parent = path.parent();
        while let Some(directory) = parent {
            self.sync_dir(directory)?;
            parent = directory.parent();
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.root.join(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(self.root.join(path))?.sync_all()
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        let stat = rustix::fs::statvfs(&self.root)?;
        Ok(Some(stat.f_bavail.saturating_mul(stat.f_frsize)))
    }

    fn total_bytes(&self) -> io::Result<Option<u64>> {
        let stat = rustix::fs::statvfs(&self.root)?;
        Ok(Some(stat.f_blocks.saturating_mul(stat.f_frsize)))
    }

    fn exists(&self, path: &Path) -> bool {
        self.root.join(path).exists()
    }
}

/// Opens the file aside when nobody else has it. What was opened may have been renamed by whoever had it before: then it is
/// no file aside any more, and the next one is.
fn lock_aside(aside: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(aside)?;
        flock(&file, FlockOperation::LockExclusive)?;
        let (held, named) = (file.metadata()?, fs::metadata(aside));
        let is_same = |named: fs::Metadata| (held.dev(), held.ino()) == (named.dev(), named.ino());
        if named.is_ok_and(is_same) {
            return Ok(file);
        }
    }
}

#[derive(Debug)]
struct DiskAppend {
    file: File,
    len: u64,
}

impl AppendFile for DiskAppend {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> u64 {
        self.len
    }
}

#[derive(Debug)]
struct DiskRead(File);

impl ReadFile for DiskRead {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self
                .0
                .read_at(&mut buffer[filled..], offset + filled as u64)
            {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_replaces_a_file_at_once_takes_turns() {
        const LENGTH: usize = 100_000;
        let folder = tempfile::tempdir().unwrap();
        let files = DiskFiles::new(folder.path()).unwrap();
        let path = Path::new("list");
        files.replace(path, &[b'.'; LENGTH]).unwrap();
        std::thread::scope(|scope| {
            for letter in [b'a', b'b', b'c'] {
                let files = &files;
                scope.spawn(move || {
                    for _ in 0..50 {
                        files.replace(path, &[letter; LENGTH]).unwrap();
                        let read = files.read(path).unwrap();
                        assert_eq!(read.len(), LENGTH);
                        assert!(read.iter().all(|byte| *byte == read[0]));
                    }
                });
            }
        });
        assert_eq!(files.list(Path::new("")).unwrap(), ["list"]);
        // What a kill left is no hindrance, whatever is in it.
        std::fs::write(folder.path().join("list.new"), "half of something longer").unwrap();
        files.replace(path, b"short").unwrap();
        assert_eq!(files.read(path).unwrap(), b"short");
    }
}
