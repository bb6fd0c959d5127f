//! What lies in the data directory, opened to be read; a crawl may go on in another process.
//!
//! ```text
//! DIR ──> shelves (one a collection) ──> journal, archive, graph, ranks, removals
//!    └──> Searcher over all indexes
//! ```
//!
//! What changed is noticed when it is asked for, at most a second late; nothing here holds a lock
//! of the directory, and nothing is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use teia_archive::{Captures, CdxEntry};
use teia_base::{CanonicalUrl, DiskFiles, Timestamp};
use teia_engine::{CollectionConfig, Directory, EngineError, Layout, Reading, Removals};
use teia_fetch::DecodeLimits;
use teia_graph::{GraphConfig, RankFile, Snapshot};
use teia_search::{Hidden, SearchConfig, Searcher, Weights};

use crate::WebError;
use crate::words::Words;

/// How old what is shown may be.
const FRESH: Duration = Duration::from_secs(1);

/// The collections of a data directory, which need not exist yet.
#[derive(Debug)]
pub struct Library {
    root: PathBuf,
    shelves: RwLock<Vec<Arc<Shelf>>>,
    searcher: RwLock<Arc<Searcher>>,
    search: SearchConfig,
    looked: Mutex<Option<Instant>>,
    hidden: Mutex<(Vec<Arc<Removals>>, Arc<Hidden>)>,
    /// What collections that are deleted hid.
    kept: Held<Removals>,
}

/// One collection.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) name: String,
    pub(crate) reading: Reading,
    pub(crate) limits: DecodeLimits,
    root: PathBuf,
    captures: Held<Captures>,
    links: Held<Snapshot>,
    ranks: Held<Option<RankFile>>,
    removals: Held<Removals>,
    index: Mutex<Option<Stamp>>,
}

/// A capture, and where it lies.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) entry: CdxEntry,
}

impl Copy {
    /// When it was made.
    pub(crate) fn moment(&self) -> Timestamp {
        self.entry.fetched().unwrap_or_default()
    }

    /// When, for people: with seconds where another of these, oldest first, is of the same minute.
    pub(crate) fn shown_moment(w: &Words, copies: &[Self], place: usize) -> String {
        let minute = |copy: &Self| copy.moment().as_seconds().div_euclid(60);
        let Some(copy) = copies.get(place) else {
            return String::new();
        };
        let neighbours = [place.checked_sub(1), Some(place + 1)];
        let mut neighbours = neighbours.into_iter().flatten();
        let is_shared = neighbours.any(|other| {
            copies
                .get(other)
                .is_some_and(|other| minute(other) == minute(copy))
        });
        if is_shared {
            w.moment_with_seconds(&copy.moment())
        } else {
            w.moment(&copy.moment())
        }
    }
}

impl Library {
    /// Looks at a data directory. One that is not there yet is an empty library.
    pub fn open(root: &Path) -> Result<Self, WebError> {
        Self::open_with(root, SearchConfig::default())
    }

    /// The same, where a query and the indexes may take this much.
    pub fn open_with(root: &Path, search: SearchConfig) -> Result<Self, WebError> {
        let library = Self {
            root: root.to_owned(),
            shelves: RwLock::default(),
            searcher: RwLock::new(Arc::new(Searcher::new(search.clone(), Weights::default()))),
            search,
            looked: Mutex::default(),
            hidden: Mutex::default(),
            kept: Held::default(),
        };
        library.look()?;
        Ok(library)
    }

    /// The collections, by name.
    pub(crate) fn shelves(&self) -> Vec<Arc<Shelf>> {
        let due = {
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            let due = looked.is_none_or(|looked| looked.elapsed() >= FRESH);
            if due {
                *looked = Some(Instant::now());
            }
            due
        };
        if due && let Err(error) = self.look() {
            tracing::warn!(%error, "the data directory cannot be read");
        }
        self.shelves
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The data directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the directory can be read; one that is not there yet can.
    pub(crate) fn check(&self) -> Result<(), WebError> {
        self.look()
    }

    /// The data directory, as a person would type it.
    pub(crate) fn shown_root(&self) -> String {
        self.root.display().to_string()
    }

    /// A text that the operator put into the data directory, if it is there; its beginning, where it is
    /// long.
    pub(crate) fn own_file(&self, name: &str, most: u64) -> Option<String> {
        use std::io::Read;
        let file = fs::File::open(self.root.join(name)).ok()?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// All indexes that there are.
    pub(crate) fn searcher(&self) -> Arc<Searcher> {
        drop(self.shelves());
        Arc::clone(&self.searcher.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Captures of a URL in all collections, oldest first; hidden ones are not there, nor those that broke off.
    pub(crate) fn versions(&self, url: &str) -> Result<Vec<Copy>, WebError> {
        let mut copies = Vec::new();
        // Copies are found by another scheme too, and what is removed is removed from all.
        let removals = self.removals().into_iter().collect::<Result<Vec<_>, _>>()?;
        for shelf in self.shelves() {
            for entry in shelf.captures()?.versions(url)? {
                let is_hidden = CanonicalUrl::parse(&entry.url)
                    .is_ok_and(|url| removals.iter().any(|list| list.hides(&url)));
                if !is_hidden && !entry.noarchive && !entry.failed {
                    let shelf = Arc::clone(&shelf);
                    copies.push(Copy { shelf, entry });
                }
            }
        }
        copies.sort_by(|a, b| a.entry.timestamp.cmp(&b.entry.timestamp));
        Ok(copies)
    }

    /// Whether some capture of a URL is there that asks not to be shown.
    pub(crate) fn is_private(&self, url: &str) -> Result<bool, WebError> {
        for shelf in self.shelves() {
            let versions = shelf.captures()?.versions(url)?;
            if versions.iter().any(|entry| entry.noarchive) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether some collection hides this address. A list that cannot be read may hide any.
    pub(crate) fn hides(&self, url: &str) -> bool {
        CanonicalUrl::parse(url).is_ok_and(|url| {
            let mut lists = self.removals().into_iter();
            lists.any(|list| list.map_or(true, |list| list.hides(&url)))
        })
    }

    /// The same, where it must not be guessed.
    pub(crate) fn surely_hides(&self, url: &CanonicalUrl) -> Result<bool, WebError> {
        let lists = self.removals().into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(lists.iter().any(|list| list.hides(url)))
    }

    /// The same for everything on a host.
    pub(crate) fn hides_host(&self, host: &str) -> bool {
        let mut lists = self.removals().into_iter();
        lists.any(|list| list.map_or(true, |list| list.hides_host(host)))
    }

    /// All lists of what is not to be shown: whoever asked for that did not ask one collection.
    fn removals(&self) -> Vec<Result<Arc<Removals>, WebError>> {
        let path = self.root.join("removed.kept");
        let kept = self.kept.at_once(std::slice::from_ref(&path), || {
            let read = Removals::read_kept(&DiskFiles::existing(&self.root));
            Ok(read.map_err(EngineError::disk("read", &path))?)
        });
        let shelves = self.shelves();
        let lists = shelves.iter().map(|shelf| shelf.removals());
        lists.chain([kept]).collect()
    }

    /// What no search may show: all that some collection hides, as it is this moment.
    pub(crate) fn hidden(&self) -> Result<Arc<Hidden>, WebError> {
        let lists: Vec<_> = self.removals().into_iter().collect::<Result<_, _>>()?;
        let mut held = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = held.0.len() == lists.len()
            && held.0.iter().zip(&lists).all(|(a, b)| Arc::ptr_eq(a, b));
        if !is_known {
            let of = |wanted: &'static str| {
                let lines = lists.iter().flat_map(|list| list.lines());
                lines
                    .filter(move |(kind, _)| *kind == wanted)
                    .map(|(_, text)| text.to_owned())
            };
            let hidden = Hidden::new(of("url"), of("host"));
            *held = (lists, Arc::new(hidden));
        }
        Ok(Arc::clone(&held.1))
    }

    /// Finds new collections and new indexes.
    fn look(&self) -> Result<(), WebError> {
        if !self.root.join("format").exists() {
            return Ok(());
        }
        let directory = Directory::open(&self.root)?;
        let names = directory.collections();
        let mut shelves = self.shelves.write().unwrap_or_else(PoisonError::into_inner);
        let before = shelves.len();
        shelves.retain(|shelf| names.contains(&shelf.name));
        // What was deleted is not to be found any more, either.
        let has_gone = shelves.len() < before;
        for name in names {
            if !shelves.iter().any(|shelf| shelf.name == name)
                && let Some(shelf) = Shelf::open(&directory, &name)
            {
                shelves.push(Arc::new(shelf));
            }
        }
        shelves.sort_by(|a, b| a.name.cmp(&b.name));
        let stale = shelves.iter().any(|shelf| shelf.has_other_index());
        if stale || has_gone {
            let mut searcher = Searcher::new(self.search.clone(), Weights::default());
            for shelf in shelves.iter() {
                shelf.open_index(&mut searcher);
            }
            let searcher = Arc::new(searcher);
            warm_up(Arc::clone(&searcher));
            let held = self.searcher.write();
            *held.unwrap_or_else(PoisonError::into_inner) = searcher;
        }
        Ok(())
    }
}

impl Shelf {
    fn open(directory: &Directory, name: &str) -> Option<Self> {
        let reading = Reading::open(directory, name);
        let reading = reading
            .inspect_err(|error| tracing::warn!(name, %error, "a collection is passed over"))
            .ok()?;
        let config = CollectionConfig::load(&*reading.files(), reading.root(), reading.layout());
        let limits = config.ok().flatten().unwrap_or_default().decode_limits();
        Some(Self {
            name: name.to_owned(),
            root: directory.root().to_owned(),
            reading,
            limits,
            captures: Held::default(),
            links: Held::default(),
            ranks: Held::default(),
            removals: Held::default(),
            index: Mutex::default(),
        })
    }

    /// Its archive, as of a second ago.
    pub(crate) fn captures(&self) -> Result<Arc<Captures>, WebError> {
        let dir = self.layout().archive();
        self.captures.get(&[self.root.join(&dir)], || {
            Ok(Captures::open(self.reading.files(), &dir)?)
        })
    }

    /// Its link graph; empty where there is none.
    pub(crate) fn links(&self) -> Result<Arc<Snapshot>, WebError> {
        let prefix = self.links_path();
        self.links.get(&[self.root.join(&prefix)], || {
            let files = self.reading.files();
            Ok(Snapshot::open(&*files, &prefix, &GraphConfig::default())?)
        })
    }

    /// Its ranks; none where none were computed.
    pub(crate) fn ranks(&self) -> Result<Arc<Option<RankFile>>, WebError> {
        let prefix = self.links_path();
        self.ranks.get(&[self.root.join(&prefix)], || {
            let files = self.reading.files();
            Ok(RankFile::open(&*files, &prefix, &GraphConfig::default())?)
        })
    }

    /// What is hidden here, as it is this moment.
    pub(crate) fn removals(&self) -> Result<Arc<Removals>, WebError> {
        let path = self.root.join(&self.name).join("removed");
        let read = || {
            let read = Removals::read(&*self.reading.files(), self.layout());
            Ok(read.map_err(EngineError::disk("read", &path))?)
        };
        self.removals.at_once(std::slice::from_ref(&path), read)
    }

    fn layout(&self) -> &Layout {
        self.reading.layout()
    }

    /// How much older the newest file of the index is than the newest of the journal; nothing where one
    /// of them is not there.
    pub(crate) fn lag(&self) -> Option<Duration> {
        let index = newest(&self.index_path())?;
        let behind = self.journal_written()?.duration_since(index);
        Some(behind.unwrap_or_default())
    }

    /// When the journal was written last.
    pub(crate) fn journal_written(&self) -> Option<SystemTime> {
        newest(&self.root.join(self.layout().journal()))
    }

    fn links_path(&self) -> PathBuf {
        Path::new(&self.name).join("links")
    }

    fn index_path(&self) -> PathBuf {
        self.root.join(&self.name).join("index")
    }

    /// Whether an index came or went: commits of an index that is open are seen by itself.
    fn has_other_index(&self) -> bool {
        let held = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index_stamp(&self.index_path()) != *held
    }

    fn open_index(&self, searcher: &mut Searcher) {
        let path = self.index_path();
        let stamp = index_stamp(&path);
        if stamp.is_some()
            && let Err(error) = searcher.open(&self.name, &path)
        {
            tracing::warn!(name = self.name, %error, "an index cannot be opened");
        }
        *self.index.lock().unwrap_or_else(PoisonError::into_inner) = stamp;
    }
}

/// Beside the first answers: who asks at once waits for the disk as without it, and nobody after that.
fn warm_up(searcher: Arc<Searcher>) {
    let warming = std::thread::Builder::new().name("warming".to_owned());
    let begun = warming.spawn(move || {
        let began = Instant::now();
        searcher.warm_up();
        tracing::debug!(
            seconds = began.elapsed().as_secs_f64(),
            "search indexes are read ahead"
        );
    });
    if let Err(error) = begun {
        tracing::warn!(%error, "search indexes are not read ahead: no thread could be begun");
    }
}

/// A directory that is moved into the place of another has another number.
fn index_stamp(path: &Path) -> Option<Stamp> {
    use std::os::unix::fs::MetadataExt;
    path.join("meta.json").exists().then_some(())?;
    let number = fs::metadata(path).ok()?.ino();
    Some(Stamp(vec![(String::new(), number, None)]))
}

/// Something that is opened again when its files changed.
#[derive(Debug)]
struct Held<T>(Mutex<Option<Opened<T>>>);

#[derive(Debug)]
struct Opened<T> {
    value: Arc<T>,
    stamp: Stamp,
    checked: Instant,
}

/// What files look like: names, lengths, moments of change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp(Vec<(String, u64, Option<SystemTime>)>);

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Held<T> {
    /// The value; the files are looked at again after a second.
    fn get(
        &self,
        paths: &[PathBuf],
        open: impl FnOnce() -> Result<T, WebError>,
    ) -> Result<Arc<T>, WebError> {
        self.held(paths, FRESH, open)
    }

    /// The value as the files are now.
    fn at_once(
        &self,
        paths: &[PathBuf],
        open: impl FnOnce() -> Result<T, WebError>,
    ) -> Result<Arc<T>, WebError> {
        self.held(paths, Duration::ZERO, open)
    }

    fn held(
        &self,
        paths: &[PathBuf],
        fresh: Duration,
        open: impl FnOnce() -> Result<T, WebError>,
    ) -> Result<Arc<T>, WebError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = held.as_mut() {
            if opened.checked.elapsed() < fresh {
                return Ok(Arc::clone(&opened.value));
            }
            if Stamp::of(paths) == opened.stamp {
                opened.checked = Instant::now();
                return Ok(Arc::clone(&opened.value));
            }
        }
        // Taken before opening: what changes meanwhile is seen the next time.
        let stamp = Stamp::of(paths);
        let value = Arc::new(open()?);
        *held = Some(Opened {
            value: Arc::clone(&value),
            stamp,
            checked: Instant::now(),
        });
        Ok(value)
    }
}

impl Stamp {
    fn of(paths: &[PathBuf]) -> Self {
        let mut seen = Vec::new();
        for path in paths {
            note(path, &mut seen);
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                note(&entry.path(), &mut seen);
            }
        }
        seen.sort();
        Self(seen)
    }
}

fn note(path: &Path, seen: &mut Vec<(String, u64, Option<SystemTime>)>) {
    if let Ok(known) = fs::metadata(path) {
        let name = path.to_string_lossy().into_owned();
        seen.push((name, known.len(), known.modified().ok()));
    }
}

/// When the newest file of a folder was written.
fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries
        .filter_map(|entry| entry.metadata().ok()?.modified().ok())
        .max()
}
