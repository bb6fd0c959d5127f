//! Durable files: the one seam through which Teia touches a disk.
//!
//! ```text
//!   room ──> Files ──> DiskFiles       the machine's disk, below one directory
//!                 ├──> Overlay         a disk that a reader may change for itself alone
//!                 └──> SimulatedDisk   a disk whose power can be cut (tests)
//! ```
//!
//! Nothing is durable before its `sync`: bytes need [`AppendFile::sync`], and a file's name needs
//! [`Files::sync_dir`] on its directory after create, rename or remove. Paths are relative to the root.

mod disk;
mod overlay;
mod simulated;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use disk::DiskFiles;
pub use overlay::Overlay;
pub use simulated::{PowerCut, SimulatedDisk};

/// A directory tree that can be appended to, read, renamed and listed.
pub trait Files: Send + Sync + fmt::Debug + 'static {
    /// Makes a new file, or empties an existing one, for appending.
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// Opens an existing file for appending at its end.
    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// Opens a file for reading anywhere in it.
    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>>;
    /// Cuts a file to a length and syncs it.
    fn truncate(&self, path: &Path, len: u64) -> io::Result<()>;
    /// Gives a file another name, replacing what has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes a directory and its parents, durably.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Names of the files in a directory, sorted; none if it does not exist.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Bytes that can still be written, if known.
    fn free_bytes(&self) -> io::Result<Option<u64>>;
    /// Bytes that the disk has in all, if known.
    fn total_bytes(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }

    /// Where a path lies on this machine, if it does: for what must use its own way to the disk.
    fn on_disk(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// Whether a file of this name exists.
    fn exists(&self, path: &Path) -> bool {
        self.open(path).is_ok()
    }

    /// The whole content of a small file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.open(path)?;
        let len = usize::try_from(file.len()?).map_err(io::Error::other)?;
        let mut content = vec![0; len];
        file.read_exact_at(0, &mut content)?;
        Ok(content)
    }

    /// Replaces a file atomically and durably: written aside, synced, renamed, directory synced.
    fn replace(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".new");
        let aside = Path::new(&aside);
        let mut file = self.create(aside)?;
        file.append(content)?;
        file.sync()?;
        drop(file);
        self.rename(aside, path)?;
        self.sync_dir(path.parent().unwrap_or(Path::new("")))
    }
}

/// A file that only grows.
pub trait AppendFile: Send + fmt::Debug {
    /// Adds bytes at the end; all of them, or an error.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes everything appended so far durable. After an error the file must not be used again:
    /// the system may have dropped what it could not write.
    fn sync(&mut self) -> io::Result<()>;
    /// Length, appended bytes included.
    fn len(&self) -> u64;
    /// Whether nothing was ever appended.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A file that is only read.
pub trait ReadFile: Send + Sync + fmt::Debug {
    /// Reads at an offset; fewer bytes than asked for only at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Length.
    fn len(&self) -> io::Result<u64>;
    /// Whether there is nothing in it.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Fills the buffer or fails.
    fn read_exact_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let read = self.read_at(offset, buffer)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer = &mut buffer[read..];
            offset += read as u64;
        }
        Ok(())
    }
}
