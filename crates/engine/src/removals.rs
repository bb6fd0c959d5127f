//! What people asked to have removed from view: `NAME/removed`, one line each, kept through every rebuild.
//!
//! ```text
//! check 91c2fd07b8a3e4c5
//! url http://example.org/a
//! host example.org
//! ```
//!
//! Search and archived copies pass them over, and no run fetches them. The archive's records stay as they are,
//! unless they are erased (`erase`). `NAME/removed.copy` says the same: a list that is gone would show everything. The first line holds the hash of the others: a list that is damaged would
//! show what somebody asked to hide, so it is an error. Lists from before there was such a line have none.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use teia_base::journal::Exclusion;
use teia_base::{CanonicalUrl, Files, Outcome};
use xxhash_rust::xxh3::xxh3_64;

use crate::Layout;
use crate::ring::Ring;

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
        let content = match files.read(&path(layout)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return if files.exists(&copy_path(layout)) {
                    Err(unreadable("missing"))
                } else {
                    Ok(Self::default())
                };
            }
            content => content?,
        };
        Self::parse(&content).ok_or_else(|| unreadable("damaged"))
    }

    /// What no run of the directory fetches: all that some collection of it hides. Whoever asked to be left
    /// alone did not ask one collection.
    pub fn read_all(files: &dyn Files) -> io::Result<Self> {
        let mut all = Self::default();
        for layout in layouts(files)? {
            all.extend(Self::read(files, &layout)?);
        }
        Ok(all)
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
        let mut text = String::new();
        for url in &self.urls {
            text.push_str(&format!("url {url}\n"));
        }
        for host in &self.hosts {
            text.push_str(&format!("host {host}\n"));
        }
        text.insert_str(0, &format!("check {}\n", check_of(&text)));
        files.create_dir(Path::new(layout.name()))?;
        files.replace(&path(layout), text.as_bytes())?;
        files.replace(&copy_path(layout), text.as_bytes())
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
        let layouts = layouts(files).unwrap_or_default();
        layouts.iter().any(|layout| files.exists(&path(layout)))
    }

    /// How long all lists of the directory are: with another length, something else is hidden.
    pub fn bytes(files: &dyn Files) -> u64 {
        let layouts = layouts(files).unwrap_or_default();
        let length = |layout: &Layout| files.open(&path(layout)).ok()?.len().ok();
        layouts.iter().filter_map(length).sum()
    }

    /// The URLs, then the hosts.
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let urls = self.urls.iter().map(|url| ("url", url.as_str()));
        urls.chain(self.hosts.iter().map(|host| ("host", host.as_str())))
    }
}

/// Looks now and then whether somebody asked for something while a run goes on.
#[derive(Debug)]
pub(crate) struct RemovalWatch {
    files: Arc<dyn Files>,
    layout: Layout,
    looked: Option<Instant>,
}

impl RemovalWatch {
    pub(crate) fn new(files: Arc<dyn Files>, layout: Layout) -> Self {
        Self {
            files,
            layout,
            looked: None,
        }
    }

    /// The list, if somebody says that it is another one, or if it is time to look; one that cannot be read now can
    /// be the next time.
    fn look(&mut self, now: Instant, is_told: bool) -> Option<Removals> {
        let looked = self.looked;
        let is_time =
            is_told || looked.is_none_or(|looked| now.saturating_duration_since(looked) >= EVERY);
        if !is_time {
            return None;
        }
        self.looked = Some(now);
        let mut removals = Removals::read_all(&*self.files).ok()?;
        // A run without a file of its own has a list all the same.
        let own = Removals::read(&*self.files, &self.layout).ok()?;
        removals.extend(own);
        Some(removals)
    }
}

impl Ring {
    /// What was asked for meanwhile is not fetched any more; what was taken back may be.
    pub(crate) fn heed_removals(&mut self) {
        if self.committing > 0 || self.stopping {
            return;
        }
        let is_told = self.control.take_heed();
        let Some(removals) = self.removals.look(self.clock.now(), is_told) else {
            return;
        };
        let judge = self.workshop.judge();
        if *judge.removals == removals {
            return;
        }
        let mut judge = (*judge).clone();
        judge.removals = Arc::new(removals);
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

fn copy_path(layout: &Layout) -> PathBuf {
    Path::new(layout.name()).join("removed.copy")
}

fn unreadable(how: &str) -> io::Error {
    let told = format!(
        "it is {how}, and what people asked to hide must stay hidden: restore the file `removed` of the collection from a copy, such as `removed.copy` beside it"
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
    fn a_list_that_is_gone_is_missed() {
        let (files, layout) = (SimulatedDisk::new(), Layout::new("default").unwrap());
        let mut removals = Removals::default();
        removals.add_host("b.example");
        removals.write(&files, &layout).unwrap();
        files.remove(&path(&layout)).unwrap();
        let error = Removals::read(&files, &layout).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
        assert!(Removals::read_all(&files).is_ok(), "no such collection");
        files.rename(&copy_path(&layout), &path(&layout)).unwrap();
        assert_eq!(Removals::read(&files, &layout).unwrap(), removals);
    }

    #[test]
    fn a_list_that_is_damaged_hides_nothing_less_and_is_an_error() {
        let (files, layout) = (SimulatedDisk::new(), Layout::new("default").unwrap());
        let mut removals = Removals::default();
        removals.add_host("b.example");
        removals.add_url(&CanonicalUrl::parse("http://a.example/x").unwrap());
        removals.write(&files, &layout).unwrap();
        let good = files.read(&path(&layout)).unwrap();
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
