//! The store under a disk that fails: power cuts at every call, full disks, damaged bytes.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use support::Draw;
use teia_base::{AppendFile, Files, PowerCut, ReadFile, SimulatedDisk};
use teia_repository::blocks::{
    Answer, Decided, Link, News, Settlement, Standing, Store, StoreConfig, StoreError,
};

fn config(filter: bool) -> StoreConfig {
    StoreConfig {
        key: 5,
        page_bytes: 300,
        block_bytes: 3000,
        delay: 3,
        scan_rows: 100,
        waiting_share: 80,
        filter_bits: filter.then_some(10),
        threads: 1,
        ..StoreConfig::default()
    }
}

fn url(draw: &mut Draw) -> String {
    let host = draw.below(30);
    format!("https://h{host}.crash.test/{}", draw.below(60))
}

/// What the caller's journal holds: each link with its verdict, the news that was noted.
#[derive(Clone, Debug)]
enum Noted {
    Link(String, Decided),
    Settled(String),
}

/// A caller that keeps a journal as the engine does, on a disk that never fails.
struct Caller {
    journal: Vec<Noted>,
    new: BTreeMap<String, u32>,
    noted_fold: u64,
}

impl Caller {
    fn cycle(&mut self, store: &mut Store, draw: &mut Draw) -> Result<(), StoreError> {
        for _ in 0..120 {
            let url = url(draw);
            if draw.below(8) == 0 && self.new.contains_key(&url) {
                store.settle(&url, fetched());
                self.journal.push(Noted::Settled(url));
                continue;
            }
            let decided = match store.offer(&Link::new(&url, 1)) {
                Answer::New(_) => {
                    *self.new.entry(url.clone()).or_default() += 1;
                    Decided::New
                }
                Answer::Pending => Decided::Pending,
                _ => Decided::Known,
            };
            self.journal.push(Noted::Link(url, decided));
        }
        store.fold(self.journal.len() as u64)?;
        self.listen(store)
    }

    fn listen(&mut self, store: &mut Store) -> Result<(), StoreError> {
        for news in store.verdicts()? {
            // Told again after a start: noted already.
            if news.fold > self.noted_fold {
                self.noted_fold = news.fold;
                for told in news.urls {
                    if told.news == News::New {
                        *self.new.entry(told.url).or_default() += 1;
                    }
                }
            }
            store.acknowledge(self.noted_fold);
        }
        Ok(())
    }

    /// Starts again after a crash: what came after the position is told again.
    fn recover(&mut self, store: &mut Store) -> Result<(), StoreError> {
        let from = usize::try_from(store.position()).unwrap();
        for noted in &self.journal[from..] {
            match noted {
                Noted::Link(url, decided) => {
                    store.replay(&Link::new(url, 1), *decided);
                }
                Noted::Settled(url) => store.settle(url, fetched()),
            }
        }
        self.listen(store)
    }

    fn check(&mut self, store: &mut Store) {
        store.fold_everything(self.journal.len() as u64).unwrap();
        self.listen(store).unwrap();
        let offered: BTreeSet<&String> = self
            .journal
            .iter()
            .filter_map(|noted| match noted {
                Noted::Link(url, _) => Some(url),
                Noted::Settled(_) => None,
            })
            .collect();
        let told: BTreeSet<&String> = self.new.keys().collect();
        assert_eq!(offered, told, "lost");
        assert!(self.new.values().all(|times| *times == 1), "doubled");
        assert_eq!(store.stats().urls, offered.len() as u64);
        assert!(store.verify().problems.is_empty());
    }
}

fn fetched() -> Settlement {
    Settlement {
        outcome: 200,
        state: Standing::Fetched,
        ..Settlement::default()
    }
}

/// Lives through `cycles` with the power cut after so many calls, and again during recovery.
fn survive(cut: u64, second: u64, filter: bool) -> bool {
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    survive_on(&disk, &files, cut, second, filter)
}

/// The same on this disk, which the store reaches through `files`.
fn survive_on(
    disk: &SimulatedDisk,
    files: &Arc<dyn Files>,
    cut: u64,
    second: u64,
    filter: bool,
) -> bool {
    let open = || Store::open(Arc::clone(files), config(filter));
    let mut caller = Caller {
        journal: Vec::new(),
        new: BTreeMap::new(),
        noted_fold: 0,
    };
    let mut draw = Draw::new(cut + 1);
    let mut store = open().unwrap();
    disk.plan(PowerCut { after_calls: cut });
    let lived = (0..8).all(|_| caller.cycle(&mut store, &mut draw).is_ok());
    disk.cut_power(cut);
    // The recovery itself is cut as well, once.
    disk.plan(PowerCut {
        after_calls: second,
    });
    let recovered = open().and_then(|mut store| {
        caller.recover(&mut store)?;
        store.fold(caller.journal.len() as u64)?;
        caller.listen(&mut store)
    });
    drop(recovered);
    disk.cut_power(cut ^ 0x55);
    let mut store = open().unwrap();
    caller.recover(&mut store).unwrap();
    for _ in 0..3 {
        caller.cycle(&mut store, &mut draw).unwrap();
    }
    caller.check(&mut store);
    lived
}

#[test]
fn a_power_cut_at_any_call_loses_and_doubles_nothing() {
    for filter in [false, true] {
        // Until the cut comes after the last call of all.
        let calls = (0..5000).find(|&cut| survive(cut, cut % 23, filter));
        assert!(calls.is_some_and(|calls| calls > 60), "{calls:?}");
    }
}

/// A bug that is planted: the store never makes the names of its files durable.
#[derive(Debug)]
struct NoDirectorySync(SimulatedDisk);

impl Files for NoDirectorySync {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.0.create(path)
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.0.append(path)
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        self.0.open(path)
    }
    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.0.truncate(path, len)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.0.free_bytes()
    }
}

#[test]
fn a_store_that_does_not_sync_its_directory_is_caught() {
    let caught = (0..200).any(|cut| {
        let disk = SimulatedDisk::new();
        let files: Arc<dyn Files> = Arc::new(NoDirectorySync(disk.clone()));
        let survive = || survive_on(&disk, &files, cut, cut % 23, false);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(survive)).is_err()
    });
    assert!(caught, "names were never durable, and nothing was lost");
}

#[test]
fn a_full_disk_is_an_error_and_the_next_fold_goes_on() {
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let mut store = Store::open(files, config(true)).unwrap();
    let mut caller = Caller {
        journal: Vec::new(),
        new: BTreeMap::new(),
        noted_fold: 0,
    };
    let mut draw = Draw::new(3);
    caller.cycle(&mut store, &mut draw).unwrap();
    for free in [0, 50, 500, 2000] {
        disk.set_free_bytes(Some(free));
        let failed = caller.cycle(&mut store, &mut draw);
        assert!(matches!(failed, Err(StoreError::Disk { .. })), "{failed:?}");
        disk.set_free_bytes(None);
        caller.cycle(&mut store, &mut draw).unwrap();
    }
    // What was met while a fold failed is folded by the ones after it.
    caller.check(&mut store);
    caller.check(&mut store);
}

fn filled() -> (SimulatedDisk, Vec<String>) {
    let disk = SimulatedDisk::new();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let mut store = Store::open(files, config(false)).unwrap();
    let mut urls = BTreeSet::new();
    let mut draw = Draw::new(9);
    for fold in 0..12 {
        for _ in 0..200 {
            let url = url(&mut draw);
            store.offer(&Link::new(&url, 1));
            urls.insert(url);
        }
        store.fold(fold).unwrap();
    }
    (disk, urls.into_iter().collect())
}

fn rewrite(disk: &SimulatedDisk, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = Path::new("urls").join(name);
    let mut bytes = disk.read(&path).unwrap();
    change(&mut bytes);
    disk.replace(&path, &bytes).unwrap();
}

#[test]
fn any_changed_byte_is_found_and_named_and_never_a_panic() {
    let (disk, _) = filled();
    let names = disk.list(Path::new("urls")).unwrap();
    let runs: Vec<_> = names
        .iter()
        .filter(|name| !name.starts_with("manifest"))
        .collect();
    assert!(runs.len() > 5, "{names:?}");
    let mut draw = Draw::new(1);
    for round in 0..400 {
        let name = runs[usize::try_from(draw.below(runs.len() as u64)).unwrap()];
        let path = Path::new("urls").join(name);
        let whole = disk.read(&path).unwrap();
        let at = usize::try_from(draw.below(whole.len() as u64)).unwrap();
        rewrite(&disk, name, |bytes| match round % 3 {
            0 => bytes[at] ^= 1 << draw.below(8),
            1 => bytes.truncate(at),
            _ => {
                let end = bytes.len().min(at + 64);
                bytes[at..end].fill(0);
            }
        });
        let same = disk.read(&path).unwrap() == whole;
        let problems = match Store::open(Arc::new(disk.clone()), config(false)) {
            Err(error) => vec![error],
            Ok(store) => {
                let mut store = store;
                let problems = store.verify().problems;
                // A fold and a look never panic, and leave other blocks in order.
                store.offer(&Link::new("https://h1.crash.test/never-met", 1));
                let _ = store.state("https://h1.crash.test/1");
                let _ = store.window(
                    "h1.crash.test",
                    10,
                    teia_repository::blocks::WindowOrder::Depth,
                    5,
                );
                problems
            }
        };
        assert_eq!(problems.is_empty(), same, "{name} {at} {problems:?}");
        for problem in &problems {
            let text = problem.to_string();
            assert!(text.contains(name.as_str()), "{text} does not name {name}");
        }
        rewrite(&disk, name, |bytes| *bytes = whole);
    }
}

#[test]
fn a_damaged_block_waits_and_the_others_go_on() {
    let (disk, urls) = filled();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let mut store = Store::open(Arc::clone(&files), config(false)).unwrap();
    store.fold_everything(50).unwrap();
    let before = store.stats().urls;
    assert_eq!(before, urls.len() as u64);
    store.acknowledge(store.last_fold());
    store.fold(50).unwrap();
    drop(store);
    let names = disk.list(Path::new("urls")).unwrap();
    let run = names.iter().find(|name| name.starts_with("run-")).unwrap();
    let path = Path::new("urls").join(run);
    let whole = disk.read(&path).unwrap();
    rewrite(&disk, run, |bytes| bytes[20] ^= 1);
    let mut store = Store::open(Arc::clone(&files), config(false)).unwrap();
    for url in &urls {
        store.offer(&Link::new(&format!("{url}/more"), 1));
    }
    let report = store.fold_everything(51).unwrap();
    assert_eq!(report.damaged.len(), 1);
    let text = report.damaged[0].to_string();
    assert!(
        text.contains(run.as_str()) && text.contains("byte"),
        "{text}"
    );
    let between = store.stats().urls;
    assert!(between > before && between < 2 * before, "{between}");
    drop(store);
    // Repaired, it takes in what waited for it.
    rewrite(&disk, run, |bytes| *bytes = whole);
    let mut store = Store::open(files, config(false)).unwrap();
    let report = store.fold_everything(52).unwrap();
    assert!(report.damaged.is_empty());
    assert_eq!(store.stats().urls, 2 * before);
}

#[test]
fn a_newer_manifest_and_another_key_are_refused() {
    let (disk, _) = filled();
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let other = StoreConfig {
        key: 6,
        ..config(false)
    };
    let refused = Store::open(Arc::clone(&files), other);
    assert!(matches!(refused, Err(StoreError::Key { .. })));
    // What is newer is refused though the copy would be older: it may be there for a reason.
    rewrite(&disk, "manifest", |bytes| {
        bytes[16] = 77;
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[16..]);
        bytes[8..16].copy_from_slice(&sum.to_le_bytes());
    });
    let refused = Store::open(files, config(false));
    assert!(matches!(refused, Err(StoreError::Newer { found: 77, .. })));
}
