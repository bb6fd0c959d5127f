//! The data directory: who may use it, and where things lie in it.
//!
//! `DIR/format` is three lines: `teia-data 1`, `normal-form 1`, `key HEX`. It is written first and
//! read before anything else, so that a foreign or newer directory is refused untouched.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use teia_base::{DiskFiles, Files, NORMAL_FORM_VERSION};

use crate::EngineError;

const LAYOUT_VERSION: u32 = 1;

/// A data directory that exists.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
    key: u64,
}

/// Held while a process collects in a directory; the lock goes with it.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: File,
}

impl Directory {
    /// Opens a data directory, and makes it if there is none or an empty one.
    pub fn create(root: &Path) -> Result<Self, EngineError> {
        fs::create_dir_all(root).map_err(EngineError::disk("create the data directory", root))?;
        let format = root.join("format");
        if !format.exists() {
            let mut entries = fs::read_dir(root).map_err(EngineError::disk("read", root))?;
            // A crash between the first two files of a new directory leaves the one aside.
            let is_ours = |name: &str| matches!(name, "lock" | "format.new" | "lost+found");
            if entries.any(|entry| {
                entry.map_or(true, |entry| !is_ours(&entry.file_name().to_string_lossy()))
            }) {
                return Err(EngineError::Foreign {
                    path: root.to_owned(),
                });
            }
            let key = random_key().map_err(EngineError::disk("draw a key for", root))?;
            let text = format!(
                "teia-data {LAYOUT_VERSION}\nnormal-form {NORMAL_FORM_VERSION}\nkey {key:016x}\n"
            );
            let files = DiskFiles::new(root).map_err(EngineError::disk("open", root))?;
            files
                .replace(Path::new("format"), text.as_bytes())
                .map_err(EngineError::disk("write", format))?;
        }
        Self::open(root)
    }

    /// Opens a data directory that must exist.
    pub fn open(root: &Path) -> Result<Self, EngineError> {
        let path = root.join("format");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !root.exists() => {
                return Err(EngineError::NoDirectory {
                    path: root.to_owned(),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(EngineError::Foreign {
                    path: root.to_owned(),
                });
            }
            Err(error) => return Err(EngineError::disk("read", path)(error)),
        };
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
                .map(str::trim)
        };
        let (Some(layout), Some(normal), Some(key)) =
            (field("teia-data"), field("normal-form"), field("key"))
        else {
            return Err(EngineError::Foreign {
                path: root.to_owned(),
            });
        };
        if layout.parse() != Ok(LAYOUT_VERSION) || normal.parse() != Ok(NORMAL_FORM_VERSION) {
            return Err(EngineError::Newer {
                path: root.to_owned(),
                found: format!("layout {layout}, normal form {normal}"),
                known: format!("layout {LAYOUT_VERSION}, normal form {NORMAL_FORM_VERSION}"),
            });
        }
        let Ok(key) = u64::from_str_radix(key, 16) else {
            return Err(EngineError::Foreign {
                path: root.to_owned(),
            });
        };
        Ok(Self {
            root: root.to_owned(),
            key,
        })
    }

    /// Takes the directory for this process, or says who has it.
    pub fn lock(&self) -> Result<DirectoryLock, EngineError> {
        let path = self.root.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(EngineError::disk("open", &path))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(EngineError::InUse {
                path: self.root.clone(),
                holder: holder.trim().to_owned(),
            });
        }
        file.set_len(0).map_err(EngineError::disk("write", &path))?;
        writeln!(file, "{}", std::process::id()).map_err(EngineError::disk("write", &path))?;
        Ok(DirectoryLock { _file: file })
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Key of all hashes here.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The disk below it.
    pub fn files(&self) -> Arc<dyn Files> {
        Arc::new(DiskFiles::existing(&self.root))
    }

    /// The control socket of the process that collects here.
    pub fn control_socket(&self) -> PathBuf {
        self.root.join("control.sock")
    }

    /// Names of the collections here.
    pub fn collections(&self) -> Vec<String> {
        let mut names: Vec<String> = DiskFiles::existing(&self.root)
            .list(Path::new("collections"))
            .unwrap_or_default()
            .iter()
            .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
            .collect();
        names.sort_unstable();
        names
    }
}

/// Where the parts of one collection lie, relative to the data directory.
#[derive(Clone, Debug)]
pub struct Layout {
    name: String,
}

impl Layout {
    /// The layout of a collection; its name becomes part of paths, so it is checked.
    pub fn new(name: &str) -> Result<Self, EngineError> {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let reserved = ["collections", "lock", "format"];
        if name.is_empty()
            || name.len() > 64
            || !name.chars().all(good)
            || name.starts_with('-')
            || reserved.contains(&name)
        {
            return Err(EngineError::CollectionName(name.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
        })
    }

    /// The collection's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `collections/NAME.toml`.
    pub fn config(&self) -> PathBuf {
        Path::new("collections").join(format!("{}.toml", self.name))
    }

    /// `NAME/part-0`.
    pub fn part(&self) -> PathBuf {
        Path::new(&self.name).join("part-0")
    }

    /// `NAME/part-0/journal`.
    pub fn journal(&self) -> PathBuf {
        Path::new(&self.name).join("part-0/journal")
    }

    /// `NAME/part-0/urls`.
    pub fn urls(&self) -> PathBuf {
        Path::new(&self.name).join("part-0/urls")
    }

    /// `NAME/archive`.
    pub fn archive(&self) -> PathBuf {
        Path::new(&self.name).join("archive")
    }
}

fn random_key() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}
