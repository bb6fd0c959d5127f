//! What people asked to have removed from view: `NAME/removed`, one line each, kept through every rebuild.
//!
//! ```text
//! check 91c2fd07b8a3e4c5
//! url http://example.org/a
//! host example.org
//! ```
//!
//! Search and archived copies pass them over, and no run fetches them. The archive's records stay as they are,
//! unless they are erased (`erase`). `NAME/removed.copy` says the same, and counts where the list is damaged or gone: a run
//! writes it again. The first line holds the hash of the others: a list that is damaged would
//! show what somebody asked to hide, so it is an error. Lists from before there was such a line have none.
//!
//! What a collection hid is remembered when it is deleted: `removed.kept` is such a list too, beside the collections,
//! and no run fetches what stands in it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use teia_base::journal::Exclusion;
use teia_base::{CanonicalUrl, Files, Outcome};
use xxhash_rust::xxh3::xxh3_64;

use crate::ring::Ring;
use crate::turn::Turn;
use crate::{EngineError, Layout};

/// What collections that are deleted hid. No collection can have this name.
const KEPT: &str = "removed.kept";

/// How often a run looks at the list.
const EVERY: Duration = Duration::from_secs(1);

/// URLs and hosts that are not to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removals {
    urls: BTreeSet<String>,
    hosts: BTreeSet<String>,
}

impl Removals {
    /// Reads the list of a collection; empty where there is none.
    pub fn read(files: &dyn Files, layout: &Layout) -> io::Result<Self> {
        Self::read_at(files, &path(layout))
    }

    /// What collections that are deleted hid.
    pub fn read_kept(files: &dyn Files) -> io::Result<Self> {
        Self::read_at(files, Path::new(KEPT))
    }

    /// Reads a list, or its copy where that alone is whole.
    fn read_at(files: &dyn Files, path: &Path) -> io::Result<Self> {
        Self::read_own(files, path).or_else(|error| {
            // A disk that cannot be read for now may have something newer.
            let is_lost = matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::NotFound
            );
            let copy = is_lost.then(|| files.read(&copy_of(path)).ok()).flatten();
            copy.and_then(|copy| Self::parse(&copy)).ok_or(error)
        })
    }

    /// The same without its copy.
    fn read_own(files: &dyn Files, path: &Path) -> io::Result<Self> {
        let content = match files.read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return if files.exists(&copy_of(path)) {
                    Err(unreadable(path, "missing"))
                } else {
                    Ok(Self::default())
                };
            }
            Err(error) => {
                let told = format!("`{}` cannot be read: {error}", path.display());
                return Err(io::Error::new(error.kind(), told));
            }
            Ok(content) => content,
        };
        Self::parse(&content).ok_or_else(|| unreadable(path, "damaged"))
    }

    /// What is wrong with the list of a collection, and with the one of collections that are deleted; and whether the copy of it is whole.
    pub fn damage(files: &dyn Files, layout: &Layout) -> Vec<(io::Error, bool)> {
        let lists = [path(layout), PathBuf::from(KEPT)];
        let damage = lists.iter().map(|list| {
            let error = Self::read_own(files, list).err()?;
            Some((error, Self::read_at(files, list).is_ok()))
        });
        damage.flatten().collect()
    }

    /// Writes lists again that are damaged or gone and have a whole copy, and copies that are not as their lists; which lists were
    /// made good.
    pub(crate) fn mend(files: &dyn Files, own: &Layout) -> Result<Vec<PathBuf>, EngineError> {
        let mut mended = Vec::new();
        let all: BTreeSet<PathBuf> = lists(files).into_iter().chain([path(own)]).collect();
        if all.iter().all(|list| Self::is_right(files, list)) {
            return Ok(mended);
        }
        // Somebody may be writing one of them just now, who has the turn: what was seen of that is half of it.
        let _turn = Turn::take(files)?;
        for list in all {
            let Ok(whole) = Self::read_at(files, &list) else {
                continue;
            };
            if Self::is_right(files, &list) {
                continue;
            }
            if Self::read_own(files, &list).is_err() {
                mended.push(list.clone());
            }
            let written = whole.write_at(files, &list);
            written.map_err(EngineError::disk("write the removals in", list))?;
        }
        Ok(mended)
    }

    /// Whether a list is whole, and its copy the same.
    fn is_right(files: &dyn Files, list: &Path) -> bool {
        let is_same = || files.read(&copy_of(list)).ok() == files.read(list).ok();
        Self::read_own(files, list).is_ok() && (!files.exists(list) || is_same())
    }

    /// What no run of the directory fetches, and nobody is shown: all that some collection of it hides, or hid before it was deleted.
    /// Whoever asked to be left alone did not ask one collection.
    pub fn read_all(files: &dyn Files) -> io::Result<Self> {
        Heeded::of(layouts(files)?.iter().map(path), files).whole()
    }

    /// The same, where this collection may be one without a file of its own.
    pub fn read_all_with(files: &dyn Files, own: &Layout) -> io::Result<Self> {
        Self::heeded(files, own).whole()
    }

    /// What a run of this collection does not fetch, as far as it can be read.
    pub(crate) fn heeded(files: &dyn Files, own: &Layout) -> Heeded {
        let (layouts, error) = match layouts(files) {
            Ok(layouts) => (layouts, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        // A run without a file of its own has a list all the same.
        let lists: BTreeSet<PathBuf> = layouts.iter().chain([own]).map(path).collect();
        let mut heeded = Heeded::of(lists.into_iter(), files);
        heeded.unreadable.extend(error);
        heeded
    }

    /// Hides what another list hides too.
    pub fn extend(&mut self, other: Self) {
        self.urls.extend(other.urls);
        self.hosts.extend(other.hosts);
    }

    fn parse(content: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(content).ok()?;
        let lines = match text.strip_prefix("check ") {
            Some(guarded) => {
                let (check, lines) = guarded.split_once('\n')?;
                (check == check_of(lines)).then_some(lines)?
            }
            // An empty list has its line too.
            None => (!text.is_empty()).then_some(text)?,
        };
        let mut removals = Self::default();
        for line in lines.lines() {
            match line.split_once(' ')? {
                (_, "") => return None,
                ("url", url) => removals.urls.insert(url.to_owned()),
                ("host", host) => removals.hosts.insert(host.to_owned()),
                _ => return None,
            };
        }
        Some(removals)
    }

    /// Writes the list in place of the old one, atomically.
    pub fn write(&self, files: &dyn Files, layout: &Layout) -> io::Result<()> {
        files.create_dir(Path::new(layout.name()))?;
        self.write_at(files, &path(layout))
    }

    /// The same for what collections that are deleted hid.
    pub fn write_kept(&self, files: &dyn Files) -> io::Result<()> {
        self.write_at(files, Path::new(KEPT))
    }

    /// Remembers what a collection hides, before it is deleted.
    pub(crate) fn keep(files: &dyn Files, layout: &Layout) -> io::Result<()> {
        let own = Self::read(files, layout)?;
        if own == Self::default() {
            return Ok(());
        }
        let mut kept = Self::read_kept(files)?;
        kept.extend(own);
        kept.write_kept(files)
    }

    fn write_at(&self, files: &dyn Files, path: &Path) -> io::Result<()> {
        let mut text = String::new();
        for url in &self.urls {
            text.push_str(&format!("url {url}\n"));
        }
        for host in &self.hosts {
            text.push_str(&format!("host {host}\n"));
        }
        text.insert_str(0, &format!("check {}\n", check_of(&text)));
        // The copy first: whatever comes between, it hides no less.
        files.replace(&copy_of(path), text.as_bytes())?;
        files.replace(path, text.as_bytes())
    }

    /// Hides one URL; false where it was hidden already.
    pub fn add_url(&mut self, url: &CanonicalUrl) -> bool {
        self.urls.insert(url.as_str().to_owned())
    }

    /// Hides a host, by its name in ASCII and without port; false where it was hidden already.
    pub fn add_host(&mut self, host: &str) -> bool {
        self.hosts.insert(host.to_ascii_lowercase())
    }

    /// Shows a URL again; false where it was not hidden by itself.
    pub fn restore_url(&mut self, url: &CanonicalUrl) -> bool {
        self.urls.remove(url.as_str())
    }

    /// Shows a host again; false where it was not hidden.
    pub fn restore_host(&mut self, host: &str) -> bool {
        self.hosts.remove(&host.to_ascii_lowercase())
    }

    /// Whether a URL is hidden, by itself or with its host.
    pub fn hides(&self, url: &CanonicalUrl) -> bool {
        self.urls.contains(url.as_str()) || self.hosts.contains(url.host_str())
    }

    /// How the journal says that a URL is left out for it.
    pub(crate) fn exclusion() -> Exclusion {
        Exclusion {
            outcome: Outcome::REMOVED,
            rule: "removed on request".to_owned(),
        }
    }

    /// Whether everything on a host is hidden.
    pub fn hides_host(&self, host: &str) -> bool {
        self.hosts.contains(host)
    }

    /// Whether somebody ever asked for anything in the directory; it may have been taken back.
    pub fn is_begun(files: &dyn Files) -> bool {
        lists(files).iter().any(|list| files.exists(list))
    }

    /// Names what all lists of the directory say: with another one, something else is hidden.
    pub fn stamp(files: &dyn Files) -> u64 {
        let mut all = Vec::new();
        for list in lists(files) {
            all.extend(list.as_os_str().as_encoded_bytes());
            // What cannot be read says something else than an empty list.
            let content = files.read(&list).map_or(0, |content| xxh3_64(&content));
            all.extend(content.to_le_bytes());
        }
        xxh3_64(&all)
    }

    /// The URLs, then the hosts.
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let urls = self.urls.iter().map(|url| ("url", url.as_str()));
        urls.chain(self.hosts.iter().map(|host| ("host", host.as_str())))
    }
}

/// What no run fetches, as far as the lists can be read.
#[derive(Debug, Default)]
pub(crate) struct Heeded {
    pub(crate) removals: Removals,
    /// Each names its list, and what to do.
    pub(crate) unreadable: Vec<io::Error>,
}

impl Heeded {
    /// What these lists say, and the one that is kept of collections that are deleted.
    fn of(lists: impl Iterator<Item = PathBuf>, files: &dyn Files) -> Self {
        let mut heeded = Self::default();
        for list in lists.chain([PathBuf::from(KEPT)]) {
            match Removals::read_at(files, &list) {
                Ok(removals) => heeded.removals.extend(removals),
                Err(error) => heeded.unreadable.push(error),
            }
        }
        heeded
    }

    /// All of it, or why it cannot be known.
    pub(crate) fn whole(self) -> io::Result<Removals> {
        match self.unreadable.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(self.removals),
        }
    }
}

/// Looks now and then whether somebody asked for something while a run goes on.
#[derive(Debug)]
pub(crate) struct RemovalWatch {
    files: Arc<dyn Files>,
    layout: Layout,
    looked: Option<Instant>,
    /// Why something could not be read, as it was told last.
    told: String,
}

impl RemovalWatch {
    pub(crate) fn new(files: Arc<dyn Files>, layout: Layout) -> Self {
        Self {
            files,
            layout,
            looked: None,
            told: String::new(),
        }
    }

    /// The list, if somebody says that it is another one, or if it is time to look; one that cannot be read now can
    /// be the next time.
    fn look(&mut self, now: Instant, is_told: bool) -> Option<Heeded> {
        let looked = self.looked;
        let is_time =
            is_told || looked.is_none_or(|looked| now.saturating_duration_since(looked) >= EVERY);
        if !is_time {
            return None;
        }
        self.looked = Some(now);
        Some(Removals::heeded(&*self.files, &self.layout))
    }

    /// What is to be told of lists that cannot be read: once, and again when it is something else.
    fn complaint(&mut self, unreadable: &[io::Error]) -> Option<String> {
        let causes: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
        let causes = causes.join("; ");
        let is_new = causes != self.told && !causes.is_empty();
        self.told.clone_from(&causes);
        is_new.then_some(causes)
    }
}

impl Ring {
    /// What was asked for meanwhile is not fetched any more; what was taken back may be.
    pub(crate) fn heed_removals(&mut self) {
        if self.committing > 0 || self.stopping {
            return;
        }
        let is_told = self.control.take_heed();
        let heeded = self.removals.look(self.clock.now(), is_told);
        let Some(mut heeded) = heeded else {
            return;
        };
        if let Some(causes) = self.removals.complaint(&heeded.unreadable) {
            self.warn(format!(
                "not all that people asked to remove can be read: {causes}. What this run knows of it stays removed, and what other lists say counts; it looks again every second"
            ));
        }
        let judge = self.workshop.judge();
        if !heeded.unreadable.is_empty() {
            // It may be in the list that cannot be read.
            heeded.removals.extend((*judge.removals).clone());
        }
        if *judge.removals == heeded.removals {
            return;
        }
        let mut judge = (*judge).clone();
        judge.removals = Arc::new(heeded.removals);
        *self
            .workshop
            .judge
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(judge);
        self.look_again();
    }
}

/// The collections of the directory.
fn layouts(files: &dyn Files) -> io::Result<Vec<Layout>> {
    let names = files.list(Path::new("collections"))?;
    let names = names.iter().filter_map(|name| name.strip_suffix(".toml"));
    Ok(names.filter_map(|name| Layout::new(name).ok()).collect())
}

fn check_of(lines: &str) -> String {
    format!("{:016x}", xxh3_64(lines.as_bytes()))
}

fn path(layout: &Layout) -> PathBuf {
    Path::new(layout.name()).join("removed")
}

fn copy_of(list: &Path) -> PathBuf {
    list.with_added_extension("copy")
}

/// All lists of the directory.
fn lists(files: &dyn Files) -> Vec<PathBuf> {
    let layouts = layouts(files).unwrap_or_default();
    let own = layouts.iter().map(path);
    own.chain([PathBuf::from(KEPT)]).collect()
}

fn unreadable(list: &Path, how: &str) -> io::Error {
    let told = format!(
        "`{}` is {how}, and what people asked to hide must stay hidden: restore it from a copy, such as `{}` beside it",
        list.display(),
        copy_of(list).display()
    );
    io::Error::new(io::ErrorKind::InvalidData, told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::SimulatedDisk;

    #[test]
    fn what_is_written_comes_back_and_hides() {
        let (files, layout) = (SimulatedDisk::new(), Layout::new("default").unwrap());
        let mut removals = Removals::read(&files, &layout).unwrap();
        let url = |text: &str| CanonicalUrl::parse(text).unwrap();
        assert!(removals.add_url(&url("http://a.example/x?q='; DROP *")));
        assert!(removals.add_host("B.example"));
        assert!(!removals.add_host("b.example"));
        removals.write(&files, &layout).unwrap();
        let removals = Removals::read(&files, &layout).unwrap();
        assert!(removals.hides(&url("http://a.example/x?q='; DROP *")));
        assert!(removals.hides(&url("https://b.example:8080/anything")));
        assert!(!removals.hides(&url("http://a.example/y")));
        assert!(!removals.hides(&url("http://www.b.example/")));
    }

    #[test]
    fn what_one_collection_hides_no_run_of_the_directory_fetches() {
        let files = SimulatedDisk::new();
        files.create_dir(Path::new("collections")).unwrap();
        for (name, host) in [("one", "a.example"), ("two", "b.example")] {
            let layout = Layout::new(name).unwrap();
            files.replace(&layout.config(), b"").unwrap();
            let mut removals = Removals::default();
            removals.add_host(host);
            removals.write(&files, &layout).unwrap();
        }
        let all = Removals::read_all(&files).unwrap();
        assert!(all.hides_host("a.example") && all.hides_host("b.example"));
        assert!(Removals::is_begun(&files));
    }

    #[test]
    fn what_a_deleted_collection_hid_is_remembered_and_can_be_taken_back() {
        let (files, layout) = (SimulatedDisk::new(), Layout::new("one").unwrap());
        let mut removals = Removals::default();
        removals.add_host("a.example");
        removals.write(&files, &layout).unwrap();
        Removals::keep(&files, &layout).unwrap();
        // A second one adds what it hid.
        let other = Layout::new("two").unwrap();
        removals = Removals::default();
        removals.add_host("b.example");
        removals.write(&files, &other).unwrap();
        Removals::keep(&files, &other).unwrap();
        let all = Removals::read_all(&files).unwrap();
        assert!(all.hides_host("a.example") && all.hides_host("b.example"));
        assert!(Removals::is_begun(&files));
        let mut kept = Removals::read_kept(&files).unwrap();
        assert!(kept.restore_host("a.example"));
        kept.write_kept(&files).unwrap();
        assert!(!Removals::read_all(&files).unwrap().hides_host("a.example"));
        // It is guarded as the others are.
        files.remove(Path::new(KEPT)).unwrap();
        assert_eq!(Removals::read_all(&files).unwrap(), kept, "by its copy");
        let copy = copy_of(Path::new(KEPT));
        files.replace(&copy, b"check").unwrap();
        let error = Removals::read_all(&files).unwrap_err();
        assert!(error.to_string().contains("`removed.kept.copy`"), "{error}");
    }

    #[test]
    fn lists_of_one_length_have_different_stamps() {
        let files = SimulatedDisk::new();
        files.create_dir(Path::new("collections")).unwrap();
        let layout = Layout::new("one").unwrap();
        files.replace(&layout.config(), b"").unwrap();
        let mut stamps = vec![Removals::stamp(&files)];
        for host in ["a.example", "b.example"] {
            let mut removals = Removals::default();
            removals.add_host(host);
            removals.write(&files, &layout).unwrap();
            stamps.push(Removals::stamp(&files));
        }
        files.remove(&path(&layout)).unwrap();
        stamps.push(Removals::stamp(&files));
        assert!(stamps[0] != stamps[1] && stamps[1] != stamps[2] && stamps[2] != stamps[3]);
        assert_eq!(stamps[0], stamps[3]);
    }

    #[test]
    fn a_list_that_is_gone_is_missed() {
        let (files, layout) = (SimulatedDisk::new(), Layout::new("default").unwrap());
        let mut removals = Removals::default();
        removals.add_host("b.example");
        removals.write(&files, &layout).unwrap();
        files.remove(&path(&layout)).unwrap();
        let damage = Removals::damage(&files, &layout);
        let (error, has_copy) = &damage[0];
        assert!(
            *has_copy && error.to_string().contains("missing"),
            "{error}"
        );
        assert_eq!(Removals::read(&files, &layout).unwrap(), removals);
        files.replace(&copy_of(&path(&layout)), b"check").unwrap();
        let error = Removals::read(&files, &layout).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
        assert!(Removals::read_all(&files).is_ok(), "no such collection");
    }

    #[test]
    fn a_damaged_list_whose_copy_is_whole_hides_the_same_and_is_written_again() {
        let (files, layout) = (SimulatedDisk::new(), Layout::new("default").unwrap());
        let mut removals = Removals::default();
        removals.add_host("b.example");
        removals.write(&files, &layout).unwrap();
        let list = path(&layout);
        let good = files.read(&list).unwrap();
        assert!(Removals::mend(&files, &layout).unwrap().is_empty());
        for (hurt, told) in [(list.clone(), 1), (copy_of(&list), 0)] {
            for at in 0..good.len() {
                let mut bad = good.clone();
                bad[at] ^= 1;
                files.replace(&hurt, &bad).unwrap();
                assert_eq!(Removals::read(&files, &layout).unwrap(), removals, "{at}");
                let damaged = Removals::damage(&files, &layout);
                assert_eq!(damaged.len(), told, "byte {at} of {}", hurt.display());
                assert!(damaged.iter().all(|(_, has_copy)| *has_copy));
                let mended = Removals::mend(&files, &layout).unwrap();
                assert_eq!(mended.len(), told);
                assert_eq!(files.read(&list).unwrap(), good);
                assert_eq!(files.read(&copy_of(&list)).unwrap(), good);
            }
        }
    }

    #[test]
    fn a_list_that_is_damaged_hides_nothing_less_and_is_an_error() {
        let (files, layout) = (SimulatedDisk::new(), Layout::new("default").unwrap());
        let mut removals = Removals::default();
        removals.add_host("b.example");
        removals.add_url(&CanonicalUrl::parse("http://a.example/x").unwrap());
        removals.write(&files, &layout).unwrap();
        let good = files.read(&path(&layout)).unwrap();
        files.remove(&copy_of(&path(&layout))).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            for bad in [&bad[..], &good[..at]] {
                files.replace(&path(&layout), bad).unwrap();
                let error = Removals::read(&files, &layout).unwrap_err();
                assert!(error.to_string().contains("damaged"), "byte {at}: {error}");
            }
        }
        // A list without the line, as there were.
        let old = b"url http://a.example/x\nhost b.example\n";
        files.replace(&path(&layout), old).unwrap();
        assert_eq!(Removals::read(&files, &layout).unwrap(), removals);
        removals = Removals::default();
        removals.write(&files, &layout).unwrap();
        assert_eq!(Removals::read(&files, &layout).unwrap(), removals);
    }
}
