//! One file of the store is hurt, in any place and in any way: the store opens, names the place,
//! goes on with the rest, and never calls a URL new twice.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use support::Draw;
use teia_base::{DiskFiles, Files, SimulatedDisk};
use teia_repository::blocks::{
    Decided, HostCounts, Link, News, Settlement, Standing, Store, StoreConfig, StoreError,
    WindowOrder,
};
use xxhash_rust::xxh3::xxh3_64;

fn config() -> StoreConfig {
    StoreConfig {
        key: 5,
        page_bytes: 300,
        block_bytes: 3000,
        delay: 30,
        scan_rows: 10,
        waiting_share: 80,
        threads: 1,
        ..StoreConfig::default()
    }
}

fn open(disk: &SimulatedDisk) -> Result<Store, StoreError> {
    Store::open(Arc::new(disk.clone()), config())
}

/// A store with many blocks, several runs in most, and news that waits.
struct Life {
    disk: SimulatedDisk,
    /// URLs that were called new.
    told: BTreeSet<String>,
    /// URLs that were offered and are still to be decided.
    waiting: BTreeSet<String>,
    /// The last fold whose news was heard.
    noted: u64,
}

fn life() -> Life {
    let disk = SimulatedDisk::new();
    let mut store = open(&disk).unwrap();
    let mut draw = Draw::new(9);
    let (mut told, mut waiting) = (BTreeSet::new(), BTreeSet::new());
    let mut noted = 0;
    for fold in 0..14 {
        for _ in 0..200 {
            let url = format!(
                "https://h{}.hurt.test/{}",
                draw.below(40),
                draw.below(20 + fold * 20)
            );
            store.offer(&Link::new(&url, 1));
            if draw.below(5) == 0 {
                store.settle(&url, fetched());
            }
            waiting.insert(url);
        }
        if fold % 4 == 3 {
            store.fold_everything(fold).unwrap();
        } else {
            store.fold(fold).unwrap();
        }
        for url in listen(&mut store, &mut noted) {
            assert!(waiting.remove(&url) && told.insert(url));
        }
        // Offered again, and known.
        waiting.retain(|url| !told.contains(url));
    }
    store.fold(20).unwrap();
    for url in listen(&mut store, &mut noted) {
        assert!(waiting.remove(&url) && told.insert(url));
    }
    assert!(store.stats().blocks > 5 && store.stats().runs > store.stats().blocks);
    assert!(!waiting.is_empty() && store.stats().waiting_rows > 0);
    Life {
        disk,
        told,
        waiting,
        noted,
    }
}

fn fetched() -> Settlement {
    Settlement {
        outcome: 200,
        state: Standing::Fetched,
        ..Settlement::default()
    }
}

/// What is told and was not noted before: after a start the last news comes once more.
fn listen(store: &mut Store, noted: &mut u64) -> Vec<String> {
    let mut urls = Vec::new();
    for news in store.verdicts().unwrap() {
        store.acknowledge(news.fold);
        if news.fold <= *noted {
            continue;
        }
        *noted = news.fold;
        let new = news.urls.into_iter().filter(|told| told.news == News::New);
        urls.extend(new.map(|told| told.url));
    }
    urls
}

/// Another disk with the same files.
fn copied(disk: &SimulatedDisk) -> SimulatedDisk {
    let copy = SimulatedDisk::new();
    copy.create_dir(Path::new("urls")).unwrap();
    for name in disk.list(Path::new("urls")).unwrap() {
        let path = Path::new("urls").join(name);
        copy.replace(&path, &disk.read(&path).unwrap()).unwrap();
    }
    copy
}

/// The parts of a run: pages, index, directory, trailer. A manifest is one part.
fn parts(name: &str, bytes: &[u8]) -> Vec<Range<usize>> {
    if name.starts_with("manifest") {
        return std::iter::once(0..bytes.len()).collect();
    }
    let trailer = bytes.len() - 64;
    let number = |at: usize| {
        let bytes = &bytes[trailer + 8 * at..trailer + 8 * at + 8];
        usize::try_from(u64::from_le_bytes(bytes.try_into().unwrap())).unwrap()
    };
    vec![
        0..number(1),
        number(1)..number(1) + number(2),
        number(1) + number(2)..trailer,
        trailer..bytes.len(),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Flip,
    Zero,
    Cut,
    Append,
}

fn hurt(bytes: &mut Vec<u8>, part: Range<usize>, way: Way, draw: &mut Draw) {
    let span = (part.end - part.start).max(1) as u64;
    let at = (part.start + usize::try_from(draw.below(span)).unwrap()).min(bytes.len() - 1);
    match way {
        Way::Flip => bytes[at] ^= 1 << draw.below(8),
        Way::Zero => {
            let end = part
                .end
                .min(at + 1 + usize::try_from(draw.below(80)).unwrap());
            bytes[at..end.max(at + 1)].fill(0);
        }
        Way::Cut => bytes.truncate(at),
        Way::Append => bytes.extend((0..=draw.below(100)).map(|_| 0xA5)),
    }
}

/// What one hurt file leads to.
struct Aftermath {
    /// URLs that were called new in spite of it.
    decided: usize,
    /// Whether everything was.
    is_all: bool,
    /// Whether the store says that it found again what was hurt.
    is_mended: bool,
}

fn live_on(life: &Life, name: &str, part: Range<usize>, way: Way, draw: &mut Draw) -> Aftermath {
    let disk = copied(&life.disk);
    let path: PathBuf = Path::new("urls").join(name);
    let whole = disk.read(&path).unwrap();
    let mut bytes = whole.clone();
    hurt(&mut bytes, part, way, draw);
    let same = bytes == whole;
    disk.replace(&path, &bytes).unwrap();
    let what = format!("{name} {way:?}");

    // It opens, and the place is named.
    let mut store = open(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let is_copy = name == "manifest.copy";
    let problems = store.verify().problems;
    // A copy that is not the same is written anew at once.
    assert_eq!(problems.is_empty(), same || is_copy, "{what}: {problems:?}");
    for problem in &problems {
        let text = problem.to_string();
        assert!(
            text.contains(name) && text.contains("byte"),
            "{what}: {text}"
        );
    }

    let mut noted = life.noted;

    // Windows and hosts answer without an error.
    let mut hosts = 0;
    store.hosts(|_| hosts += 1).unwrap();
    assert!(hosts > 0, "{what}");
    store.waiting_hosts(|_| {}).unwrap();
    let mut handed = BTreeSet::new();
    for host in 0..40 {
        let host = format!("h{host}.hurt.test");
        for leased in store.window(&host, 3, WindowOrder::Depth, 5).unwrap() {
            assert!(life.told.contains(&leased.url), "{what}: {}", leased.url);
            assert!(handed.insert(leased.url.clone()));
            store.release(&leased.url);
        }
    }

    // What was called new is never called so again, whatever is offered.
    let mut due = life.waiting.clone();
    for host in 0..40 {
        due.insert(format!("https://h{host}.hurt.test/never-met"));
    }
    for url in life.told.iter().chain(&due) {
        store.offer(&Link::new(url, 1));
    }
    let report = store.fold_everything(21).unwrap();
    let is_mended = report.damaged.iter().all(StoreError::is_mended);
    let mut decided = BTreeSet::new();
    for url in listen(&mut store, &mut noted) {
        assert!(due.contains(&url), "{what}: {url} was not new");
        assert!(decided.insert(url), "{what}: told twice");
    }
    drop(store);

    // With the file as it was, if the store still has it, everything is decided, once.
    let is_all = decided == due;
    assert!(is_all || !is_mended, "{what}: {:?}", report.damaged);
    if !name.starts_with("manifest") && disk.exists(&path) {
        disk.replace(&path, &whole).unwrap();
    }
    let mut store = open(&disk).unwrap();
    let report = store.fold_everything(22).unwrap();
    assert!(report.damaged.is_empty(), "{what}: {:?}", report.damaged);
    let again = decided.len();
    for url in listen(&mut store, &mut noted) {
        assert!(due.contains(&url), "{what}: {url} was not new");
        assert!(decided.insert(url), "{what}: told twice");
    }
    let lost: Vec<_> = due.difference(&decided).take(5).collect();
    assert!(lost.is_empty(), "{what}: {lost:?}");
    assert_eq!(store.stats().urls, (life.told.len() + due.len()) as u64);
    assert!(store.verify().problems.is_empty(), "{what}");
    Aftermath {
        decided: again,
        is_all,
        is_mended,
    }
}

#[test]
fn whatever_happens_to_one_file_the_rest_goes_on() {
    let life = life();
    let names = life.disk.list(Path::new("urls")).unwrap();
    let runs: Vec<_> = names.iter().filter(|it| it.starts_with("run-")).collect();
    let pending: Vec<_> = names
        .iter()
        .filter(|it| it.starts_with("pending-"))
        .collect();
    let manifests: Vec<_> = names.iter().filter(|it| it.starts_with("man")).collect();
    assert!(
        runs.len() > 5 && !pending.is_empty() && manifests.len() == 2,
        "{names:?}"
    );
    let mut draw = Draw::new(4);
    for kind in [runs, pending, manifests] {
        for round in 0..12 {
            let name = kind[usize::try_from(draw.below(kind.len() as u64)).unwrap()];
            let bytes = life.disk.read(&Path::new("urls").join(name)).unwrap();
            for (number, part) in parts(name, &bytes).into_iter().enumerate() {
                let ways = [Way::Flip, Way::Zero, Way::Cut, Way::Append];
                let after = live_on(&life, name, part, ways[round % 4], &mut draw);
                // A manifest has a copy, and an index that one flip hurt is found again.
                let is_mended = name.starts_with("man")
                    || (number > 0 && matches!(ways[round % 4], Way::Flip | Way::Append));
                assert!(after.is_all || !is_mended, "{name} part {number}");
                assert!(after.is_mended || !is_mended, "{name} part {number}");
                // One block of many waits.
                assert!(after.decided > 10 || !name.starts_with("run-"), "{name}");
            }
        }
    }
}

/// The files of a life that have pages.
fn files_with_pages(life: &Life) -> Vec<PathBuf> {
    let names = life.disk.list(Path::new("urls")).unwrap().into_iter();
    let names = names.filter(|name| !name.starts_with("manifest"));
    names.map(|name| Path::new("urls").join(name)).collect()
}

#[test]
fn two_files_that_were_exchanged_are_both_named_and_nothing_in_them_is_called_new_again() {
    let life = life();
    let files = files_with_pages(&life);
    let mut draw = Draw::new(11);
    for round in 0..40 {
        let mut place = || usize::try_from(draw.below(files.len() as u64)).unwrap();
        // News that waits stands first: it is exchanged with files of blocks, too.
        let one = if round % 4 == 0 { 0 } else { place() };
        let (one, other) = (&files[one], &files[place()]);
        assert!(files[0].to_string_lossy().contains("pending"));
        let (first, second) = (life.disk.read(one).unwrap(), life.disk.read(other).unwrap());
        if first == second {
            continue;
        }
        let disk = copied(&life.disk);
        disk.replace(one, &second).unwrap();
        disk.replace(other, &first).unwrap();
        let what = format!("{} and {}", one.display(), other.display());
        let mut store = open(&disk).unwrap();
        let problems = store.verify().problems;
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        for path in [one, other] {
            let name = path.to_string_lossy();
            let is_named = |it: &&String| it.contains(&*name) && it.contains("another file");
            // One that tells news, too, is named for that as well.
            assert!(told.iter().any(|it| is_named(&it)), "{what}: {told:?}");
        }
        assert!(problems.iter().all(StoreError::is_loss), "{what}: {told:?}");
        assert!(store.lost_run().is_some(), "{what}");
        // Whoever goes on without them all the same decides nothing where something is missing.
        for url in &life.told {
            store.offer(&Link::new(url, 1));
        }
        store.fold_everything(21).unwrap();
        for url in listen(&mut store, &mut life.noted.clone()) {
            assert!(life.waiting.contains(&url), "{what}: {url} was not new");
        }
    }
}

#[test]
fn a_file_that_was_found_again_is_written_anew_by_the_next_fold_and_by_no_other() {
    let life = life();
    let mut all = BTreeMap::new();
    for url in life.told.iter().chain(&life.waiting) {
        let host = url.split('/').nth(2).unwrap().to_owned();
        *all.entry(host).or_default() += 1;
    }
    for path in files_with_pages(&life) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let whole = life.disk.read(&path).unwrap();
        let parts = parts(&name, &whole);
        let mut hurts = vec![whole.clone(); 4];
        hurts[0][whole.len() - 20] ^= 1;
        hurts[1].extend([0xA5; 100]);
        hurts[2][parts[1].start + 9] ^= 1;
        // What waits has no directory.
        match parts[2].len() {
            0 => drop(hurts.pop()),
            len => hurts[3][parts[2].start + len / 2] ^= 1,
        }
        for (way, bytes) in hurts.into_iter().enumerate() {
            let what = format!("{name} {way}");
            let disk = copied(&life.disk);
            disk.replace(&path, &bytes).unwrap();
            let mut store = open(&disk).unwrap();
            assert!(!store.verify().problems.is_empty(), "{what}");
            store.hosts(|_| {}).unwrap();
            // The owner has heard of the last fold; what he has not heard of stays.
            store.acknowledge(life.noted);
            assert!(store.wants_mending(), "{what}");
            let report = store.fold(20).unwrap();
            assert!(report.damaged.iter().all(StoreError::is_mended), "{what}");
            assert!(!store.wants_mending(), "{what}");
            drop(store);
            let mut store = open(&disk).unwrap();
            assert_eq!(store.verify().problems.len(), 0, "{what}");
            assert!(
                !store.wants_mending() && store.take_damage().is_empty(),
                "{what}"
            );
            let mut noted = life.noted;
            for url in life.told.iter().chain(&life.waiting) {
                store.offer(&Link::new(url, 1));
            }
            store.fold_everything(21).unwrap();
            store.fold_everything(21).unwrap();
            let mut waiting = life.waiting.clone();
            for url in listen(&mut store, &mut noted) {
                assert!(waiting.remove(&url), "{what}: {url} was not new");
            }
            assert!(waiting.is_empty(), "{what}: {waiting:?}");
            assert_eq!(counts(&store), all, "{what}");
        }
    }
    assert!(!open(&copied(&life.disk)).unwrap().wants_mending());
}

/// URLs of each host.
fn counts(store: &Store) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let add = |host: HostCounts| *counts.entry(host.host).or_default() += host.urls;
    store.hosts(add).unwrap();
    counts
}

#[test]
fn files_of_earlier_builds_do_not_know_their_number_and_are_read() {
    let life = life();
    let disk = copied(&life.disk);
    for path in files_with_pages(&life) {
        let mut bytes = disk.read(&path).unwrap();
        let index = parts("run", &bytes).swap_remove(1);
        let sum = xxh3_64(&bytes[index.start + 8..index.end]);
        bytes[index.start..index.start + 8].copy_from_slice(&sum.to_le_bytes());
        let trailer = bytes.len() - 64;
        let bytes_of = |number: usize| (number as u64).to_le_bytes();
        bytes[trailer..trailer + 8].copy_from_slice(b"teiarun1");
        bytes[trailer + 24..trailer + 32].copy_from_slice(&bytes_of(index.end));
        let sum = xxh3_64(&bytes[trailer..trailer + 56]);
        bytes[trailer + 56..].copy_from_slice(&sum.to_le_bytes());
        disk.replace(&path, &bytes).unwrap();
    }
    for name in ["manifest", "manifest.copy"] {
        let path = Path::new("urls").join(name);
        let mut bytes = disk.read(&path).unwrap();
        bytes[16..20].copy_from_slice(&4_u32.to_le_bytes());
        let sum = xxh3_64(&bytes[16..]);
        bytes[8..16].copy_from_slice(&sum.to_le_bytes());
        disk.replace(&path, &bytes).unwrap();
    }
    let mut store = open(&disk).unwrap();
    assert_eq!(store.verify().problems.len(), 0);
    for url in life.told.iter().chain(&life.waiting) {
        store.offer(&Link::new(url, 1));
    }
    let report = store.fold_everything(21).unwrap();
    assert!(report.damaged.is_empty());
    let told: BTreeSet<String> = listen(&mut store, &mut life.noted.clone())
        .into_iter()
        .collect();
    assert_eq!(told, life.waiting);
    // An index of theirs is found again, too.
    drop(store);
    let path = files_with_pages(&life)
        .into_iter()
        .find(|path| disk.exists(path));
    let path = path.unwrap();
    let mut bytes = disk.read(&path).unwrap();
    let index = parts("run", &bytes).swap_remove(1);
    bytes[index.start + 9] ^= 1;
    disk.replace(&path, &bytes).unwrap();
    assert!(
        open(&disk)
            .unwrap()
            .take_damage()
            .iter()
            .all(StoreError::is_mended)
    );
}

#[test]
fn a_store_without_a_manifest_that_reads_is_begun_anew() {
    let life = life();
    let disk = copied(&life.disk);
    for name in ["manifest", "manifest.copy"] {
        let path = Path::new("urls").join(name);
        let mut bytes = disk.read(&path).unwrap();
        bytes[30] ^= 1;
        disk.replace(&path, &bytes).unwrap();
    }
    let refused = open(&disk);
    let Err(error @ StoreError::Damaged { .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(error.to_string().contains("manifest"), "{error}");
    Store::forget(&disk, Path::new("urls")).unwrap();
    assert!(disk.list(Path::new("urls")).unwrap().is_empty());
    // Told again from the beginning, with what was decided then.
    let mut store = open(&disk).unwrap();
    assert_eq!(store.position(), 0);
    for url in &life.told {
        store.replay(&Link::new(url, 1), Decided::New);
    }
    for url in &life.waiting {
        store.replay(&Link::new(url, 1), Decided::Pending);
    }
    store.fold_everything(20).unwrap();
    let told: BTreeSet<String> = listen(&mut store, &mut 0).into_iter().collect();
    assert_eq!(told, life.waiting);
    let urls = life.told.len() + life.waiting.len();
    assert_eq!(store.stats().urls, urls as u64);
}

#[test]
fn a_manifest_that_is_gone_is_read_from_its_copy_and_a_damaged_copy_is_told_of() {
    let life = life();
    let urls = open(&life.disk).unwrap().stats().urls;
    let disk = copied(&life.disk);
    disk.remove(Path::new("urls/manifest")).unwrap();
    let store = open(&disk).unwrap();
    assert_eq!(store.stats().urls, urls);
    let damage = store.take_damage();
    assert!(
        damage.iter().any(|it| it.to_string().contains("gone")),
        "{damage:?}"
    );
    let disk = copied(&life.disk);
    let copy = Path::new("urls/manifest.copy");
    let mut bytes = disk.read(copy).unwrap();
    bytes[30] ^= 1;
    disk.replace(copy, &bytes).unwrap();
    let damage = open(&disk).unwrap().take_damage();
    assert!(
        damage
            .iter()
            .any(|it| it.to_string().contains("manifest.copy")),
        "{damage:?}"
    );
    assert!(damage.iter().all(StoreError::is_mended), "{damage:?}");
    assert!(open(&disk).unwrap().take_damage().is_empty());
}

#[test]
fn a_window_kept_aside_that_was_hurt_is_chosen_anew() {
    let folder = tempfile::tempdir().unwrap();
    let files: Arc<dyn Files> = Arc::new(DiskFiles::new(folder.path()).unwrap());
    let mut store = Store::open(files, config()).unwrap();
    let mut urls = BTreeSet::new();
    for number in 0..100_000 {
        let url = format!("https://one.hurt.test/{number}");
        store.offer(&Link::new(&url, 1));
        urls.insert(url);
    }
    store.fold_everything(1).unwrap();
    let mut handed = BTreeSet::new();
    let mut damaged = 0;
    let mut draw = Draw::new(8);
    while handed.len() < 20_000 {
        let window = store
            .window("one.hurt.test", 700, WindowOrder::Insertion, 5)
            .unwrap();
        assert!(!window.is_empty());
        for leased in window {
            assert!(urls.contains(&leased.url));
            assert!(handed.insert(leased.url));
        }
        for entry in std::fs::read_dir(folder.path().join("urls")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with("window-") {
                // In place, under the eyes of the store that has it open.
                let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
                let len = file.metadata().unwrap().len();
                file.write_all_at(b"??", draw.below(len - 1)).unwrap();
            }
        }
        damaged += store.take_damage().len();
    }
    assert!(damaged > 0);
}
