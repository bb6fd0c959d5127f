//! The data directory: who may use it, and where things lie in it.
//!
//! `DIR/format` is four lines: `teia-data 1`, `normal-form 3`, `key HEX`, and `check HEX`, the hash of the
//! three. It is written first, by one process only, and read before anything else, so that a foreign, an
//! older, a newer or a damaged directory is refused untouched. One whose URLs may stay as they are spelled is
//! no older one: whoever writes in it first writes the newer number before.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use teia_base::journal::history_of;
use teia_base::{DiskFiles, Files, NORMAL_FORM_VERSION, OLDEST_NORMAL_FORM};
use teia_catalog::{Catalog, Identity};
use xxhash_rust::xxh3::xxh3_64;

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::removals::Removals;
use crate::steering::{ask, run_of};
use crate::turn::Turn;

const LAYOUT_VERSION: u32 = 1;

/// A data directory that exists.
#[derive(Clone, Debug)]
pub struct Directory {
    root: PathBuf,
    key: u64,
    /// The version of the rules by which its URLs are spelled, as `format` says.
    normal_form: u32,
    /// Whether this process wrote `format`.
    is_new: bool,
    /// Directories that this process made on the way, innermost first.
    made: Vec<PathBuf>,
}

/// Held while a process collects in a directory; the lock goes with its last copy.
#[derive(Clone, Debug)]
pub struct DirectoryLock {
    _file: Arc<File>,
}

impl Directory {
    /// Opens a data directory, and makes it if there is none or an empty one.
    pub fn create(root: &Path) -> Result<Self, EngineError> {
        refuse_file(root)?;
        let made =
            make_directories(root).map_err(EngineError::disk("create the data directory", root))?;
        let format = root.join("format");
        let mut is_new = false;
        if !format.exists() {
            let is_foreign = has_foreign(root).map_err(EngineError::disk("read", root))?;
            // Unless another process has begun here meanwhile.
            if is_foreign && !format.exists() {
                return Err(EngineError::Foreign {
                    path: root.to_owned(),
                });
            }
            is_new = write_format(root).map_err(EngineError::disk("write", format))?;
        }
        let opened = Self::open(root)?;
        Ok(Self {
            is_new,
            made,
            ..opened
        })
    }

    /// Opens a data directory that must exist.
    pub fn open(root: &Path) -> Result<Self, EngineError> {
        refuse_file(root)?;
        let path = root.join("format");
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
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
        let Some((layout, normal, key)) = read_format(&text) else {
            return Err(if root.join("collections").is_dir() {
                EngineError::FormatDamaged { path }
            } else {
                EngineError::Foreign {
                    path: root.to_owned(),
                }
            });
        };
        let is_known = (OLDEST_NORMAL_FORM..=NORMAL_FORM_VERSION).contains(&normal);
        if layout != LAYOUT_VERSION || !is_known {
            let path = root.to_owned();
            let found = format!("layout {layout}, normal form {normal}");
            let known = format!("layout {LAYOUT_VERSION}, normal form {NORMAL_FORM_VERSION}");
            let is_newer = layout > LAYOUT_VERSION || normal > NORMAL_FORM_VERSION;
            return Err(if is_newer {
                EngineError::Newer { path, found, known }
            } else {
                EngineError::Older { path, found, known }
            });
        }
        Ok(Self {
            root: root.to_owned(),
            key,
            normal_form: normal,
            is_new: false,
            made: Vec::new(),
        })
    }

    /// Opens a data directory to look at its collections: also one in which there is nothing yet but what people wrote.
    pub fn open_to_read(root: &Path) -> Result<Self, EngineError> {
        let opened = Self::open(root);
        let is_begun = root.join("format").exists() || !root.join("collections").is_dir();
        if is_begun || has_foreign(root).map_err(EngineError::disk("read", root))? {
            return opened;
        }
        Ok(Self {
            root: root.to_owned(),
            // Nothing is hashed by it: who writes here opens the directory anew.
            key: 0,
            normal_form: NORMAL_FORM_VERSION,
            is_new: false,
            made: Vec::new(),
        })
    }

    /// Takes the directory for this process, or says who has it.
    pub fn lock(&self) -> Result<DirectoryLock, EngineError> {
        let path = self.root.join("lock");
        loop {
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
            // Whoever had it may have taken the directory back: then this is a file without a name.
            if !is_at(&file, &path) {
                continue;
            }
            let now = Self::open(&self.root).ok();
            let Some(now) = now.filter(|now| now.key == self.key) else {
                let gone = io::Error::other("another process removed it meanwhile; try again");
                return Err(EngineError::disk("use", &self.root)(gone));
            };
            // Before a URL is written that an older program would spell otherwise, so that it is refused.
            if now.normal_form != NORMAL_FORM_VERSION {
                let format = self.root.join("format");
                renew_format(&self.root, self.key).map_err(EngineError::disk("write", format))?;
            }
            file.set_len(0).map_err(EngineError::disk("write", &path))?;
            writeln!(file, "{}", std::process::id()).map_err(EngineError::disk("write", &path))?;
            return Ok(DirectoryLock {
                _file: Arc::new(file),
            });
        }
    }

    /// Takes back what [`create`](Self::create) made, after a command that was refused: only what this
    /// process made, only while it holds the lock, and only if nothing has been collected.
    pub fn take_back(self, lock: DirectoryLock) {
        if !self.is_new {
            return;
        }
        remove_empty_directories(&self.root);
        let is_left = |entry: io::Result<fs::DirEntry>| {
            entry.map_or(true, |entry| {
                let name = entry.file_name();
                name != "format" && name != "lock"
            })
        };
        if fs::read_dir(&self.root).map_or(true, |mut entries| entries.any(is_left)) {
            return;
        }
        let _ = fs::remove_file(self.root.join("format"));
        let _ = fs::remove_file(self.root.join("lock"));
        // As far as they are empty again.
        for directory in &self.made {
            let _ = fs::remove_dir(directory);
        }
        drop(lock);
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

    /// Deletes a collection: its file, and everything that was collected; what it hid is remembered. It must not run;
    /// others may.
    pub fn remove_collection(&self, layout: &Layout) -> Result<(), EngineError> {
        let (file, folder) = (
            self.root.join(layout.config()),
            self.root.join(layout.name()),
        );
        if !file.exists() && !folder.exists() {
            return Err(self.no_collection(layout.name()));
        }
        let _lock = match self.lock() {
            Ok(lock) => Some(lock),
            // Whoever has the directory says what runs. Who says nothing may be about to begin with this one.
            Err(error @ EngineError::InUse { .. }) => {
                match ask(&self.control_socket(), "status")? {
                    Some(reply) if run_of(&reply, layout.name()).is_none() => None,
                    _ => return Err(error),
                }
            }
            Err(error) => return Err(error),
        };
        let files = self.files();
        let _turn = Turn::take(&*files)?;
        // The catalog first: where it cannot be reached, nothing is half gone.
        let config = CollectionConfig::load(&*files, &self.root, layout);
        if let Ok(Some(config)) = config
            && let Some(store) = config.catalog.store(&*files)
        {
            Catalog::remove(&store, &Identity::new(self.key, layout.name()))?;
        }
        // Whoever asked to be left alone did not ask the collection.
        Removals::keep(&*files, layout)
            .map_err(EngineError::disk("remember the removals of", layout.name()))?;
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(EngineError::disk("delete", folder))?;
        }
        if file.exists() {
            fs::remove_file(&file).map_err(EngineError::disk("delete", file))?;
        }
        Ok(())
    }

    /// That there is no collection of this name here, and which ones there are.
    pub fn no_collection(&self, name: &str) -> EngineError {
        let names = self.collections();
        EngineError::NoCollection {
            name: name.to_owned(),
            path: self.root.clone(),
            existing: if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            },
        }
    }
}

/// Whether a directory without `format` has something in it that is not ours.
fn has_foreign(root: &Path) -> io::Result<bool> {
    // A crash between the first two files of a new directory leaves the one aside; and people
    // write the file of a collection before anything else is there.
    let is_ours = |name: &str| {
        name.starts_with("format.new") || matches!(name, "lock" | "lost+found" | "collections")
    };
    let mut entries = fs::read_dir(root)?;
    Ok(entries
        .any(|entry| entry.map_or(true, |entry| !is_ours(&entry.file_name().to_string_lossy()))))
}

fn refuse_file(root: &Path) -> Result<(), EngineError> {
    if root.is_file() {
        return Err(EngineError::NotDirectory {
            path: root.to_owned(),
        });
    }
    Ok(())
}

/// Names in a data directory that are no collection's.
const OWN_NAMES: [&str; 7] = [
    "collections",
    "lock",
    "format",
    "format.new",
    "control.sock",
    "teia.db",
    "lost+found",
];

/// Where the parts of one collection lie, relative to the data directory.
#[derive(Clone, Debug)]
pub struct Layout {
    name: String,
    part: &'static str,
}

impl Layout {
    /// The layout of a collection; its name becomes part of paths, so it is checked.
    pub fn new(name: &str) -> Result<Self, EngineError> {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_own = |own: &&str| own.eq_ignore_ascii_case(name);
        let reason = if OWN_NAMES.iter().any(is_own) {
            "the data directory has something of its own under that name; choose another"
        } else if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
            "use 1 to 64 letters (a to z), digits, `-` and `_`"
        } else if name.starts_with('-') {
            "it would be taken for an option; begin with a letter or a digit"
        } else {
            return Ok(Self {
                name: name.to_owned(),
                part: "part-0",
            });
        };
        Err(EngineError::CollectionName {
            name: name.to_owned(),
            reason,
        })
    }

    /// Where a new part is made that is to take the place of the old one.
    pub(crate) fn aside(&self) -> Self {
        Self {
            name: self.name.clone(),
            part: "part-0.new",
        }
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
        Path::new(&self.name).join(self.part)
    }

    /// `NAME/part-0/journal`.
    pub fn journal(&self) -> PathBuf {
        self.part().join("journal")
    }

    /// `NAME/part-0/history`: packed segments of the journal.
    pub fn history(&self) -> PathBuf {
        history_of(&self.journal())
    }

    /// `NAME/spool`: large bodies on their way into the archive; emptied at each start.
    pub(crate) fn spool(&self) -> PathBuf {
        Path::new(&self.name).join("spool")
    }

    /// `NAME/crashes`: bodies that an extractor could not bear.
    pub(crate) fn crashes(&self) -> PathBuf {
        Path::new(&self.name).join("crashes")
    }

    /// `NAME/index`.
    pub fn index(&self) -> PathBuf {
        Path::new(&self.name).join("index")
    }

    /// `NAME/links`.
    pub fn links(&self) -> PathBuf {
        Path::new(&self.name).join("links")
    }

    /// `NAME/part-0/urls`.
    pub fn urls(&self) -> PathBuf {
        self.part().join("urls")
    }

    /// `NAME/events.jsonl`: what was said of its runs.
    pub(crate) fn events(&self) -> PathBuf {
        Path::new(&self.name).join("events.jsonl")
    }

    /// `NAME/webhook.json`: what was told to whom, and what is still to be.
    pub(crate) fn deliveries(&self) -> PathBuf {
        Path::new(&self.name).join("webhook.json")
    }

    /// `NAME/archive`.
    pub fn archive(&self) -> PathBuf {
        Path::new(&self.name).join("archive")
    }
}

/// Makes a directory and those above it; returns the ones that this call made, innermost first.
fn make_directories(root: &Path) -> io::Result<Vec<PathBuf>> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = root.ancestors().take_while(is_missing).collect();
    let mut made = Vec::new();
    for path in missing.into_iter().rev() {
        match fs::create_dir(path) {
            Ok(()) => made.insert(0, path.to_owned()),
            // Somebody else was faster: it is theirs.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    // Says so where something that is no directory has the name.
    fs::create_dir_all(root)?;
    Ok(made)
}

/// Writes `format` whole, or leaves the one that another process has just written; true if it is ours.
fn write_format(root: &Path) -> io::Result<bool> {
    let (aside, format) = (
        write_format_aside(root, random_key()?)?,
        root.join("format"),
    );
    let is_new = match fs::hard_link(&aside, &format) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        // A file system without links.
        Err(_) => fs::rename(&aside, &format).map(|()| true)?,
    };
    let _ = fs::remove_file(&aside);
    DiskFiles::new(root)?.sync_dir(Path::new(""))?;
    Ok(is_new)
}

/// Replaces `format` by one of today with the same key.
fn renew_format(root: &Path, key: u64) -> io::Result<()> {
    fs::rename(write_format_aside(root, key)?, root.join("format"))?;
    DiskFiles::new(root)?.sync_dir(Path::new(""))
}

/// Writes what is to be `format`, whole, beside it.
fn write_format_aside(root: &Path, key: u64) -> io::Result<PathBuf> {
    let text =
        format!("teia-data {LAYOUT_VERSION}\nnormal-form {NORMAL_FORM_VERSION}\nkey {key:016x}\n");
    let text = format!("{text}check {:016x}\n", xxh3_64(text.as_bytes()));
    let aside = format!("format.new.{key:016x}");
    let mut file = DiskFiles::new(root)?.create(Path::new(&aside))?;
    file.append(text.as_bytes())?;
    file.sync()?;
    Ok(root.join(aside))
}

/// Layout, normal form and hash key; `None` where they are damaged. The last line holds the hash of the
/// lines before it; directories from before there was such a line have none.
fn read_format(text: &str) -> Option<(u32, u32, u64)> {
    let lines = match text.split_once("check ") {
        Some((lines, check)) => {
            let is_whole = check == format!("{:016x}\n", xxh3_64(lines.as_bytes()));
            is_whole.then_some(lines)?
        }
        None => text,
    };
    let field = |name: &str| {
        let mut found = lines.lines();
        found.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
    };
    let key = field("key").filter(|key| key.len() == 16)?;
    Some((
        field("teia-data")?.parse().ok()?,
        field("normal-form")?.parse().ok()?,
        u64::from_str_radix(key, 16).ok()?,
    ))
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(own), Ok(there)) = (file.metadata(), fs::metadata(path)) else {
        return false;
    };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

fn remove_empty_directories(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty_directories(&entry.path());
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn random_key() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_made_is_taken_back() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("a/b/data");
        let directory = Directory::create(&root).unwrap();
        let lock = directory.lock().unwrap();
        // What a refused command leaves.
        fs::create_dir_all(root.join("default/part-0/journal")).unwrap();
        directory.take_back(lock);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_deleted_collection_is_gone_and_what_it_hid_is_remembered() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::create(place.path()).unwrap();
        let (files, layout) = (directory.files(), Layout::new("birds").unwrap());
        files.create_dir(Path::new("collections")).unwrap();
        files.replace(&layout.config(), b"").unwrap();
        let mut removals = Removals::default();
        removals.add_host("private.example");
        removals.write(&*files, &layout).unwrap();
        // Before it is known what it hides, it is not deleted.
        let list = place.path().join("birds/removed");
        let lists = [list.clone(), place.path().join("birds/removed.copy")];
        let good = fs::read(&list).unwrap();
        for list in &lists {
            fs::write(list, b"check 0\n").unwrap();
        }
        assert!(directory.remove_collection(&layout).is_err());
        assert!(list.exists() && directory.collections() == ["birds"]);
        for list in &lists {
            fs::write(list, &good).unwrap();
        }
        directory.remove_collection(&layout).unwrap();
        assert!(!place.path().join("birds").exists());
        assert!(directory.collections().is_empty());
        assert_eq!(Removals::read_all(&*files).unwrap(), removals);
    }

    #[test]
    fn what_another_process_made_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("data");
        // Both saw that nothing was there; the other one was faster.
        let other = Directory::create(&root).unwrap();
        let directory = Directory::create(&root).unwrap();
        assert_eq!(directory.key(), other.key());
        directory.clone().take_back(directory.lock().unwrap());
        assert!(root.join("format").exists());
        // And what has been collected meanwhile is left, whoever made the directory.
        fs::create_dir_all(root.join("default/archive")).unwrap();
        fs::write(root.join("default/archive/a.warc.gz"), b"page").unwrap();
        let lock = other.lock().unwrap();
        other.take_back(lock);
        assert!(root.join("format").exists());
        assert!(root.join("default/archive/a.warc.gz").exists());
    }

    #[test]
    fn two_who_begin_at_once_have_one_key() {
        for _ in 0..20 {
            let place = tempfile::tempdir().unwrap();
            let root = place.path().join("data");
            let keys: Vec<(u64, bool)> = std::thread::scope(|scope| {
                let create = || {
                    let directory = Directory::create(&root).unwrap();
                    (directory.key(), directory.is_new)
                };
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(create)).collect();
                let joined = threads.into_iter().map(|thread| thread.join().unwrap());
                joined.collect()
            });
            assert!(keys.iter().all(|(key, _)| *key == keys[0].0), "{keys:?}");
            assert_eq!(keys.iter().filter(|(_, is_new)| *is_new).count(), 1);
        }
    }

    #[test]
    fn a_lock_on_a_directory_that_was_taken_back_is_no_lock() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("data");
        let first = Directory::create(&root).unwrap();
        let second = Directory::create(&root).unwrap();
        let lock = first.lock().unwrap();
        assert!(matches!(second.lock(), Err(EngineError::InUse { .. })));
        first.take_back(lock);
        assert!(second.lock().is_err(), "there is nothing to lock any more");
        // Made anew by somebody, it has another key.
        Directory::create(&root).unwrap();
        let error = second.lock().unwrap_err();
        assert!(
            std::error::Error::source(&error)
                .is_some_and(|cause| cause.to_string().contains("try again"))
        );
    }

    #[test]
    fn what_people_wrote_before_anything_else_was_there_can_be_read_and_not_collected() {
        let place = tempfile::tempdir().unwrap();
        let refused = Directory::open_to_read(place.path()).unwrap_err();
        assert!(matches!(refused, EngineError::Foreign { .. }));
        fs::create_dir(place.path().join("collections")).unwrap();
        fs::write(place.path().join("collections/birds.toml"), "").unwrap();
        let directory = Directory::open_to_read(place.path()).unwrap();
        assert_eq!(directory.collections(), ["birds"]);
        assert!(directory.lock().is_err(), "nobody collects with its key");
        assert!(!place.path().join("format").exists());
        fs::write(place.path().join("letters"), "").unwrap();
        let refused = Directory::open_to_read(place.path()).unwrap_err();
        assert!(matches!(refused, EngineError::Foreign { .. }));
        // One in which something was collected has its own key.
        let place = tempfile::tempdir().unwrap();
        let key = Directory::create(place.path()).unwrap().key();
        assert_eq!(Directory::open_to_read(place.path()).unwrap().key(), key);
    }

    #[test]
    fn an_older_directory_is_refused_with_what_to_do() {
        let place = tempfile::tempdir().unwrap();
        let old = "teia-data 1\nnormal-form 1\nkey 00000000000000ff\n";
        fs::write(place.path().join("format"), old).unwrap();
        for result in [
            Directory::open(place.path()),
            Directory::create(place.path()),
        ] {
            let error = result.unwrap_err();
            assert!(matches!(error, EngineError::Older { .. }) && error.is_usage());
            let text = error.to_string();
            for word in ["normal form 1", "no command", "--data"] {
                assert!(text.contains(word), "{text}");
            }
        }
        let new = "teia-data 1\nnormal-form 9\nkey 00000000000000ff\n";
        fs::write(place.path().join("format"), new).unwrap();
        let error = Directory::open(place.path()).unwrap_err();
        assert!(matches!(error, EngineError::Newer { .. }));
    }

    /// It can be read as it is; whoever may write in it says first that older programs may not.
    #[test]
    fn a_directory_of_the_normal_form_before_goes_on_with_its_key() {
        let place = tempfile::tempdir().unwrap();
        let format = place.path().join("format");
        let old = "teia-data 1\nnormal-form 2\nkey 00000000000000ff\n";
        fs::write(&format, old).unwrap();
        let directory = Directory::create(place.path()).unwrap();
        assert_eq!(directory.key(), 0xff);
        assert_eq!(
            fs::read_to_string(&format).unwrap(),
            old,
            "not before it is locked"
        );
        let lock = directory.lock().unwrap();
        let renewed = fs::read_to_string(&format).unwrap();
        assert!(
            renewed.contains("normal-form 3\nkey 00000000000000ff\ncheck "),
            "{renewed}"
        );
        assert_eq!(Directory::open(place.path()).unwrap().key(), 0xff);
        directory.take_back(lock);
        assert!(format.exists(), "it was not made here");
    }

    #[test]
    fn every_byte_of_the_format_that_is_changed_is_found_out() {
        let place = tempfile::tempdir().unwrap();
        let key = Directory::create(place.path()).unwrap().key();
        fs::create_dir(place.path().join("collections")).unwrap();
        let path = place.path().join("format");
        let good = fs::read(&path).unwrap();
        let check = |bad: &[u8], what: &str| {
            fs::write(&path, bad).unwrap();
            match Directory::open(place.path()) {
                // Only the line that guards the others is gone.
                Ok(opened) => assert_eq!(opened.key(), key, "{what}"),
                Err(error) => assert!(
                    matches!(error, EngineError::FormatDamaged { .. }),
                    "{what}: {error}"
                ),
            }
        };
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            check(&bad, &format!("byte {at}"));
            check(&good[..at], &format!("cut at {at}"));
        }
        check(&[&good[..], b"x"].concat(), "more at the end");
        fs::write(&path, good).unwrap();
        assert_eq!(Directory::open(place.path()).unwrap().key(), key);
    }
}
