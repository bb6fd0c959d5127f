//! What was committed is found while the run goes on, without anything being committed after it; and never before archive and
//! journal have it.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

#[path = "support/script.rs"]
mod script;
#[path = "support/scripted.rs"]
mod scripted;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use script::Script;
use scripted::{SEED, config, links};
use support::{attempts, crawl_on};
use teia_archive::Captures;
use teia_base::{AppendFile, DiskFiles, Files, ReadFile, Request};
use teia_engine::{Control, Layout, Parts};
use teia_fetch::{Fetcher, Fetching};
use teia_search::{Hit, SearchConfig, SearchRequest, Searcher, Weights};

/// Nothing here takes so long, unless it never comes.
const LIMIT: Duration = Duration::from_secs(60);
/// How often the index is committed; what it has is looked for many times as long.
const COMMIT: Duration = Duration::from_millis(20);

/// Pages in a chain, each with a word of its own; page `n` is answered when that many were let go.
#[derive(Clone, Debug)]
struct Chain {
    script: Script,
    let_go: Arc<AtomicUsize>,
}

fn url(page: usize) -> String {
    match page {
        0 => SEED.to_owned(),
        _ => format!("{SEED}{page}"),
    }
}

fn word(page: usize) -> String {
    format!("matter{page}")
}

impl Chain {
    fn new(pages: usize) -> Self {
        let mut script = Script::default();
        for page in 0..pages {
            let next = links(&[&url(page + 1)]);
            script = script.html(&url(page), &format!("<p>{} speaks here {next}", word(page)));
        }
        Self {
            script,
            let_go: Arc::default(),
        }
    }

    fn let_go(&self, page: usize) {
        self.let_go.fetch_max(page, Ordering::SeqCst);
    }
}

impl Fetcher for Chain {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        let asked = request.url.to_string();
        let page = (0..10).find(|page| url(*page) == asked).unwrap_or(0);
        Box::pin(async move {
            while self.let_go.load(Ordering::SeqCst) < page {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            self.script.fetch(request).await
        })
    }
}

/// A disk on which syncs below one folder wait while its door is shut.
#[derive(Clone, Debug)]
struct Doored {
    disk: DiskFiles,
    door: Arc<Door>,
}

#[derive(Debug, Default)]
struct Door {
    /// The folder that is shut, and how many wait for it.
    shut: Mutex<(Option<PathBuf>, usize)>,
    changed: Condvar,
}

impl Door {
    fn shut(&self, folder: PathBuf) {
        *self.shut.lock().unwrap() = (Some(folder), 0);
    }

    fn open(&self) {
        self.shut.lock().unwrap().0 = None;
        self.changed.notify_all();
    }

    fn waiting(&self) -> usize {
        self.shut.lock().unwrap().1
    }

    fn pass(&self, path: &Path) {
        let mut shut = self.shut.lock().unwrap();
        let is_shut = |folder: &Option<PathBuf>| {
            let folder = folder.as_ref();
            folder.is_some_and(|folder| path.starts_with(folder))
        };
        if is_shut(&shut.0) {
            shut.1 += 1;
            drop(self.changed.wait_while(shut, |shut| is_shut(&shut.0)));
        }
    }
}

impl Files for Doored {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = self.disk.create(path)?;
        Ok(Box::new(DooredFile(file, path.into(), self.door.clone())))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = self.disk.append(path)?;
        Ok(Box::new(DooredFile(file, path.into(), self.door.clone())))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        self.disk.open(path)
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.disk.truncate(path, len)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.disk.list(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_dir(path)
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.free_bytes()
    }

    fn on_disk(&self, path: &Path) -> Option<PathBuf> {
        self.disk.on_disk(path)
    }
}

#[derive(Debug)]
struct DooredFile(Box<dyn AppendFile>, PathBuf, Arc<Door>);

impl AppendFile for DooredFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.2.pass(&self.1);
        self.0.sync()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }
}

#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LIMIT, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What another reader finds at this moment.
fn found(root: &Path, page: usize) -> Option<Hit> {
    let index = root.join(Layout::new("default").unwrap().index());
    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    searcher.open("default", &index).ok()?;
    let results = searcher.search(&SearchRequest::new(word(page))).ok()?;
    results.hits.into_iter().next()
}

#[test]
fn a_page_is_found_while_the_run_goes_on_and_never_ahead_of_the_archive() {
    const PAGES: usize = 4;
    let home = tempfile::tempdir().unwrap();
    let disk = DiskFiles::new(home.path()).unwrap();
    let layout = Layout::new("default").unwrap();
    let (chain, door) = (Chain::new(PAGES), Arc::new(Door::default()));
    let files: Arc<dyn Files> = Arc::new(Doored {
        disk: disk.clone(),
        door: door.clone(),
    });
    let mut config = config();
    config.index.commit_every = COMMIT;
    let parts = Parts {
        fetcher: Some(Arc::new(chain.clone())),
        ..Parts::default()
    };
    let run = std::thread::spawn(move || {
        let seeds = [SEED.to_owned()];
        crawl_on(files, &config, &seeds, parts, &Control::default()).unwrap()
    });

    // The next page is not answered before this one is found: nothing is committed in between.
    until("the first page to be found", || {
        found(home.path(), 0).is_some()
    });
    for (page, folder) in [(1, layout.archive()), (2, layout.journal())] {
        door.shut(folder.clone());
        chain.let_go(page);
        until("a commit to wait for the disk", || door.waiting() > 0);
        for _ in 0..20 {
            let early = found(home.path(), page);
            assert!(early.is_none(), "ahead of {}: {early:?}", folder.display());
            std::thread::sleep(COMMIT);
        }
        door.open();
        let mut hit = None;
        until("a page to be found", || {
            hit = found(home.path(), page);
            hit.is_some()
        });
        // By then it can be read from the archive, by anybody.
        let captures = Captures::open(Arc::new(disk.clone()), &layout.archive()).unwrap();
        let capture = hit.and_then(|hit| hit.capture).unwrap();
        let entry = captures.by_id(capture).unwrap().unwrap();
        assert_eq!(entry.url, url(page));
        captures.read(&entry).unwrap();
        assert!(!run.is_finished());
        let committed = attempts(&disk);
        let last = committed.iter().rfind(|attempt| !attempt.is_robots());
        assert_eq!(last.unwrap().url.request(), url(page));
    }
    chain.let_go(PAGES);
    run.join().unwrap();
    assert!(found(home.path(), PAGES - 1).is_some());
}
