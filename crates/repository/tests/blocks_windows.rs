//! Windows over blocks: the right URLs, in the right order, each once, at a flat cost.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use teia_base::{AppendFile, Files, ReadFile, SimulatedDisk};
use teia_repository::blocks::{Link, Part, Settlement, Standing, Store, StoreConfig, WindowOrder};

const NOW: u32 = 1_800_000_000;

/// Counts the bytes that are read.
#[derive(Debug, Default)]
struct Counting {
    disk: SimulatedDisk,
    read: Arc<AtomicU64>,
}

#[derive(Debug)]
struct CountingRead(Box<dyn ReadFile>, Arc<AtomicU64>);

impl ReadFile for CountingRead {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read_at(offset, buffer)?;
        self.1.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}

impl Files for Counting {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.disk.create(path)
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.disk.append(path)
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        let file = self.disk.open(path)?;
        Ok(Box::new(CountingRead(file, Arc::clone(&self.read))))
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
}

fn config() -> StoreConfig {
    StoreConfig {
        key: 3,
        page_bytes: 4096,
        block_bytes: 300_000,
        delay: 4,
        scan_rows: 20_000,
        ..StoreConfig::default()
    }
}

fn mix(number: u64) -> u64 {
    (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

fn url(number: u64) -> String {
    format!("https://big.test/{}/page-{number}", mix(number) % 97)
}

/// A store with so many URLs of one host, in some folds.
fn filled(files: Arc<dyn Files>, urls: u64) -> Store {
    filled_as(config(), files, urls)
}

fn filled_as(config: StoreConfig, files: Arc<dyn Files>, urls: u64) -> Store {
    let mut store = Store::open(files, config).unwrap();
    for number in 0..urls {
        let depth = u16::try_from(mix(number) % 9).unwrap();
        store.offer(&Link::new(&url(number), depth));
        if number % 30_000 == 29_999 {
            store.fold(0).unwrap();
        }
    }
    store.fold_everything(0).unwrap();
    store
}

fn settled(store: &mut Store, url: &str) {
    store.settle(
        url,
        Settlement {
            at: NOW,
            outcome: 200,
            state: Standing::Fetched,
            ..Settlement::default()
        },
    );
}

/// Takes everything by windows, folding now and then.
fn drain(store: &mut Store, order: WindowOrder<'_>, n: usize, folds: bool) -> Vec<String> {
    let mut all = Vec::new();
    let mut windows = 0;
    loop {
        let window = store.window("big.test", n, order, NOW).unwrap();
        if window.is_empty() {
            return all;
        }
        for leased in window {
            settled(store, &leased.url);
            all.push(leased.url);
        }
        windows += 1;
        if folds && windows % 5 == 0 {
            store.fold(0).unwrap();
        }
    }
}

#[test]
fn a_host_is_drained_once_and_in_order() {
    let urls = 40_000;
    for (order, folds) in [
        (WindowOrder::Insertion, false),
        (WindowOrder::Depth, true),
        (WindowOrder::Random(4), true),
    ] {
        let mut store = filled(Arc::new(SimulatedDisk::new()), urls);
        let drained = drain(&mut store, order, 1000, folds);
        let expected: BTreeSet<String> = (0..urls).map(url).collect();
        assert_eq!(drained.len(), expected.len());
        assert_eq!(drained.iter().cloned().collect::<BTreeSet<_>>(), expected);
        match order {
            WindowOrder::Insertion => assert!((0..urls).map(url).eq(drained)),
            WindowOrder::Depth => assert!(drained.is_sorted_by_key(|url| mix(number_of(url)) % 9)),
            _ => {}
        }
    }
}

/// Folds go on, leases are given back, and the host is asked for again and again while another thread chooses.
#[test]
fn a_large_host_is_looked_at_beside_everything_else() {
    let urls = 40_000;
    let config = StoreConfig {
        look_rows: 5000,
        ..config()
    };
    for releases in [false, true] {
        let mut store = filled_as(config.clone(), Arc::new(SimulatedDisk::new()), urls);
        let mut drained: Vec<String> = Vec::new();
        let (mut windows, mut empty_handed, mut released) = (0_u64, 0_u64, 0);
        loop {
            let window = store
                .window("big.test", 500, WindowOrder::Depth, NOW)
                .unwrap();
            windows += 1;
            if window.is_empty() {
                if store.is_looking(Part::All, "big.test") {
                    // Nobody is kept from other work; what is folded in meanwhile counts.
                    empty_handed += 1;
                    if empty_handed % 3 == 0 {
                        store.fold(0).unwrap();
                    }
                    std::thread::yield_now();
                    continue;
                }
                break;
            }
            for (at, leased) in window.iter().enumerate() {
                if releases && windows % 7 == 0 && at % 50 == 0 && released < 100 {
                    released += 1;
                    store.release(&leased.url);
                    continue;
                }
                settled(&mut store, &leased.url);
                drained.push(leased.url.clone());
            }
            if windows % 5 == 0 {
                store.fold(0).unwrap();
            }
        }
        assert!(empty_handed > 0, "nobody had to wait for another thread");
        let different: BTreeSet<&String> = drained.iter().collect();
        assert_eq!(drained.len(), different.len(), "some came twice");
        assert_eq!(drained.len() as u64, urls, "{released} were given back");
        let is_sorted = drained.is_sorted_by_key(|url| mix(number_of(url)) % 9);
        assert!(is_sorted || releases);
    }
}

fn number_of(url: &str) -> u64 {
    url.rsplit_once('-').unwrap().1.parse().unwrap()
}

#[test]
fn priorities_and_due_dates_decide_when_they_are_asked_for() {
    let urls = 9000;
    let mut store = filled(Arc::new(SimulatedDisk::new()), urls);
    let priority = |number: u64| i32::try_from(mix(number ^ 77) % 1000).unwrap() - 500;
    for number in 0..urls {
        store.set_priority(&url(number), priority(number));
    }
    store.fold_everything(0).unwrap();
    let drained = drain(&mut store, WindowOrder::Priority, 500, true);
    assert_eq!(drained.len() as u64, urls);
    assert!(drained.is_sorted_by_key(|url| -priority(number_of(url))));
    assert_eq!(
        store.window("big.test", 5, WindowOrder::Due, NOW).unwrap(),
        []
    );

    // Now each is to be tried again at some moment, and waits for it.
    store.fold_everything(0).unwrap();
    let due = |number: u64| NOW + 10 + u32::try_from(mix(number ^ 5) % 5000).unwrap();
    for number in 0..urls {
        store.settle(
            &url(number),
            Settlement {
                at: NOW,
                outcome: -10,
                state: Standing::Waiting,
                tries: 1,
                due: due(number),
                ..Settlement::default()
            },
        );
    }
    store.fold_everything(0).unwrap();
    let first = (0..urls).map(due).min().unwrap();
    assert_eq!(store.next_due(), Some(first));
    let early = store.window("big.test", 10, WindowOrder::Due, first - 1);
    assert_eq!(early.unwrap(), []);
    let on_time = store.window("big.test", 100_000, WindowOrder::Due, NOW + 2000);
    let on_time: Vec<String> = on_time
        .unwrap()
        .into_iter()
        .map(|leased| leased.url)
        .collect();
    let right = (0..urls).filter(|&number| due(number) <= NOW + 2000);
    assert_eq!(on_time.len(), right.count());
    assert!(on_time.is_sorted_by_key(|url| due(number_of(url))));
    // Time passes: the others become due without any fold.
    let rest = store.window("big.test", 100_000, WindowOrder::Due, NOW + 6000);
    assert_eq!(
        rest.unwrap().len() + on_time.len(),
        usize::try_from(urls).unwrap()
    );
}

#[test]
fn leases_are_exclusive_and_end_with_release_or_the_process() {
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut store = filled(Arc::clone(&files), 3000);
    let first = store
        .window("big.test", 100, WindowOrder::Depth, NOW)
        .unwrap();
    let second = store
        .window("big.test", 100, WindowOrder::Depth, NOW)
        .unwrap();
    let taken: BTreeSet<&String> = first
        .iter()
        .chain(&second)
        .map(|leased| &leased.url)
        .collect();
    assert_eq!(taken.len(), 200);
    store.release(&first[0].url);
    let again = store
        .window("big.test", 1, WindowOrder::Depth, NOW)
        .unwrap();
    assert_eq!(again[0].url, first[0].url);
    assert!(again[0].known.leased);
    // What was settled and folded, though not visited, is not handed out after a start either.
    for leased in &first {
        settled(&mut store, &leased.url);
    }
    store.fold(0).unwrap();
    drop(store);
    let mut store = Store::open(files, config()).unwrap();
    let after = store
        .window("big.test", 10_000, WindowOrder::Depth, NOW)
        .unwrap();
    assert_eq!(after.len(), 2900);
    assert!(
        after
            .iter()
            .all(|leased| first.iter().all(|other| other.url != leased.url))
    );
}

#[test]
fn with_a_filter_new_urls_are_handed_out_before_any_fold() {
    let config = StoreConfig {
        filter_bits: Some(12),
        ..config()
    };
    let mut store = Store::open(Arc::new(SimulatedDisk::new()), config).unwrap();
    for number in 0..50 {
        store.offer(&Link::new(&url(number), 1));
    }
    let window = store
        .window("big.test", 20, WindowOrder::Insertion, NOW)
        .unwrap();
    let right = (0..20).map(url);
    assert!(right.eq(window.into_iter().map(|leased| leased.url)));
}

#[test]
fn what_was_called_new_at_once_does_not_wait_for_its_visit() {
    let config = StoreConfig {
        filter_bits: Some(12),
        scan_rows: 1,
        waiting_share: 1_000_000,
        delay: 1000,
        ..config()
    };
    let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
    let mut store = Store::open(Arc::clone(&files), config.clone()).unwrap();
    for number in 0..5000 {
        store.offer(&Link::new(&format!("https://other.test/{number}"), 1));
    }
    store.fold_everything(0).unwrap();
    let mut taken = BTreeSet::new();
    for fold in 0..6_u64 {
        for number in fold * 100..fold * 100 + 100 {
            store.offer(&Link::new(&url(number), 1));
        }
        let visited = store.fold(0).unwrap().visited;
        assert!(fold == 0 || visited == 0, "nothing is visited in this test");
        for leased in store
            .window("big.test", 60, WindowOrder::Depth, NOW)
            .unwrap()
        {
            settled(&mut store, &leased.url);
            assert!(taken.insert(leased.url));
        }
    }
    assert_eq!(taken.len(), 360);
    store.fold(0).unwrap();
    drop(store);
    let mut store = Store::open(files, config).unwrap();
    // One or two look met to the filter: those wait for the visit indeed.
    for (least, visits) in [(590, false), (600, true)] {
        if visits {
            store.fold_everything(0).unwrap();
        }
        let rest = store.window("big.test", 1000, WindowOrder::Depth, NOW);
        for leased in rest.unwrap() {
            assert!(taken.insert(leased.url));
        }
        assert!(taken.len() >= least, "{}", taken.len());
    }
    assert_eq!(taken.len(), 600);
}

#[test]
fn bytes_read_for_a_url_do_not_grow_with_the_host() {
    let cost = |urls: u64| {
        let files = Counting::default();
        let read = Arc::clone(&files.read);
        let mut store = filled(Arc::new(files), urls);
        let before = read.load(Ordering::Relaxed);
        let mut taken = 0;
        for _ in 0..10 {
            let window = store
                .window("big.test", 500, WindowOrder::Depth, NOW)
                .unwrap();
            taken += window.len() as u64;
        }
        assert_eq!(taken, 5000);
        (read.load(Ordering::Relaxed) - before) / taken
    };
    let (small, large) = (cost(10_000), cost(300_000));
    assert!(
        large < 3 * small.max(500),
        "{small} bytes a URL, then {large}"
    );
}

#[test]
fn between_windows_a_host_keeps_next_to_nothing_in_memory() {
    const HOSTS: u64 = 40;
    const EACH: u64 = 2_000;
    let mut store = Store::open(Arc::new(SimulatedDisk::default()), config()).unwrap();
    let host = |number: u64| format!("h{number}.test");
    for number in 0..HOSTS * EACH {
        let url = format!("https://{}/{}", host(number % HOSTS), number / HOSTS);
        store.offer(&Link::new(&url, 1));
    }
    store.fold_everything(0).unwrap();
    // One look at a host chooses 62 of its URLs, and a window hands out ten of them.
    let mut handed: Vec<Vec<u64>> = vec![Vec::new(); usize::try_from(HOSTS).unwrap()];
    for _ in 0..20 {
        for (number, handed) in (0..).zip(&mut handed) {
            let window = store
                .window(&host(number), 10, WindowOrder::Insertion, NOW)
                .unwrap();
            assert_eq!(window.len(), 10);
            let place = |url: &str| url.rsplit('/').next().unwrap().parse::<u64>().unwrap();
            handed.extend(window.iter().map(|leased| place(&leased.url)));
        }
        let kept = store.stats().kept_aside;
        assert!(kept <= 16 * handed.len(), "{kept}");
    }
    for handed in handed {
        assert_eq!(handed, (0..200).collect::<Vec<u64>>());
    }
}

#[test]
fn what_was_chosen_of_many_hosts_takes_bounded_memory_and_none_of_it_is_lost() {
    const HOSTS: u64 = 1_500;
    const EACH: u64 = 60;
    let config = StoreConfig {
        front_urls: 1_000,
        ..config()
    };
    let mut store = Store::open(Arc::new(SimulatedDisk::default()), config).unwrap();
    let host = |number: u64| format!("h{number}.test");
    let long = "x".repeat(200);
    for number in 0..HOSTS * EACH {
        let url = format!("https://{}/{long}{}", host(number % HOSTS), number / HOSTS);
        store.offer(&Link::new(&url, 1));
    }
    store.fold_everything(0).unwrap();
    let mut handed = std::collections::HashSet::new();
    for round in 0..2 {
        for number in 0..HOSTS {
            let n = if round == 0 { 46 } else { 60 };
            let window = store.window(&host(number), n, WindowOrder::Insertion, NOW);
            handed.extend(window.unwrap().into_iter().map(|leased| leased.url));
        }
        let before = store.stats().schedule_bytes;
        assert!(round > 0 || before > 4 << 20, "{before} shows nothing");
        store.fold_everything(0).unwrap();
        let after = store.stats().schedule_bytes;
        assert!(after <= 2 << 20, "{after}");
    }
    assert_eq!(handed.len() as u64, HOSTS * EACH);
}

/// The worst of ten tenths of a host that is drained, with folds, in bytes read for each URL; and how many stood
/// in the right order.
fn drained_by_tenths(urls: u64, order: WindowOrder<'_>, key: impl Fn(u64) -> i64) -> (u64, u64) {
    let files = Counting::default();
    let read = Arc::clone(&files.read);
    let mut store = filled(Arc::new(files), urls);
    for number in 0..urls {
        let key = i32::try_from(key(number)).unwrap();
        match order {
            WindowOrder::Priority => store.set_priority(&url(number), -key),
            _ => store.settle(
                &url(number),
                Settlement {
                    at: NOW - 1_000_000,
                    outcome: 200,
                    state: Standing::Waiting,
                    due: u32::try_from(key).unwrap(),
                    ..Settlement::default()
                },
            ),
        }
        if number % 30_000 == 29_999 {
            store.fold(0).unwrap();
        }
    }
    store.fold_everything(0).unwrap();
    let (mut worst, mut right, mut all) = (0, 0, BTreeSet::new());
    let mut last = i64::MIN;
    for _ in 0..10 {
        let mut bytes = 0;
        let mut taken = 0;
        while taken < urls / 10 {
            let before = read.load(Ordering::Relaxed);
            let window = store.window("big.test", 250, order, NOW).unwrap();
            bytes += read.load(Ordering::Relaxed) - before;
            assert!(!window.is_empty());
            for leased in window {
                settled(&mut store, &leased.url);
                let key = key(number_of(&leased.url));
                right += u64::from(key >= last);
                last = last.max(key);
                taken += 1;
                assert!(all.insert(leased.url));
            }
            // What folds read is not the windows'.
            if all.len() % 2000 == 0 {
                store.fold(0).unwrap();
            }
        }
        worst = worst.max(bytes / taken);
    }
    assert_eq!(all.len() as u64, urls);
    (worst, right * 1000 / urls)
}

#[test]
fn a_host_is_drained_at_a_flat_cost_from_the_first_url_to_the_last() {
    let due =
        |number: u64| i64::from(NOW) - 500_000 + i64::try_from(mix(number) % 400_000).unwrap();
    let priority = |number: u64| i64::try_from(mix(number ^ 9) % 100_000).unwrap() - 50_000;
    for order in [WindowOrder::Priority, WindowOrder::Due] {
        let run = |urls: u64| match order {
            WindowOrder::Priority => drained_by_tenths(urls, order, priority),
            _ => drained_by_tenths(urls, order, due),
        };
        let ((small, small_right), (large, large_right)) = (run(10_000), run(80_000));
        assert!(small_right >= 990 && large_right >= 990, "{order:?}");
        assert!(
            large <= 2 * small.max(3000),
            "{order:?}: {small} bytes a URL, then {large}"
        );
    }
}

#[test]
fn new_urls_and_visited_ones_are_two_windows() {
    let mut store = filled(Arc::new(SimulatedDisk::new()), 3000);
    for number in 0..1000 {
        let again = Settlement {
            at: NOW - 50,
            outcome: 200,
            state: Standing::Waiting,
            due: NOW - 10 + u32::try_from(number % 7).unwrap(),
            ..Settlement::default()
        };
        store.settle(&url(number), again);
    }
    store.fold_everything(0).unwrap();
    let mut take = |part, n| {
        let order = WindowOrder::Due;
        let window = store.window_of(part, "big.test", n, order, NOW).unwrap();
        window
            .into_iter()
            .map(|leased| number_of(&leased.url))
            .collect::<Vec<_>>()
    };
    let new = take(Part::New, 700);
    assert!(new.len() == 700 && new.iter().all(|number| *number >= 1000));
    let again = take(Part::Again, 600);
    assert!(
        again.is_sorted_by_key(|number| number % 7) && again.iter().all(|number| *number < 1000)
    );
    assert_eq!(take(Part::All, 9000).len(), 3000 - 700 - 600);
    assert!(take(Part::Again, 9000).is_empty() && take(Part::New, 9000).is_empty());
}

/// Among so many URLs some are taken for others by four bytes of a hash: they wait for a visit of their block, and come.
#[test]
fn who_was_taken_for_another_comes_after_the_visit() {
    const URLS: u64 = 1_000_000;
    /// Handed out between two visits.
    const BETWEEN: usize = 60_000;
    let config = StoreConfig {
        page_bytes: 16 << 10,
        block_bytes: 256 << 20,
        delay: 1000,
        scan_rows: 1,
        waiting_share: 1_000_000,
        // A merge would choose everything anew.
        compact_share: 0,
        ..config()
    };
    let mut store = Store::open(Arc::new(SimulatedDisk::new()), config).unwrap();
    for number in 0..URLS {
        store.offer(&Link::new(&url(number), 1));
    }
    store.fold_everything(0).unwrap();
    let (mut handed, mut passed_over) = (BTreeSet::new(), 0);
    loop {
        let window = store.window("big.test", 5000, WindowOrder::Insertion, NOW);
        let window = window.unwrap();
        if window.is_empty() && !store.has_unfolded() {
            break;
        }
        let numbers = window.iter().map(|leased| number_of(&leased.url));
        passed_over += u64::from(
            numbers
                .min()
                .is_some_and(|least| least < handed.len() as u64),
        );
        let is_visit = window.is_empty() || (handed.len() + window.len()) % BETWEEN < 5000;
        for leased in window {
            settled(&mut store, &leased.url);
            assert!(handed.insert(leased.url));
        }
        // In between, what was handed out is remembered by those four bytes.
        let folded = if is_visit {
            store.fold_everything(0)
        } else {
            store.fold(0)
        };
        folded.unwrap();
    }
    assert_eq!(handed.len() as u64, URLS);
    assert!(
        passed_over > 0,
        "none was taken for another: this test says nothing"
    );
}

/// Whoever asks for many URLs has each page read once or twice, and is told the same as one who asks for each.
#[test]
fn many_urls_are_looked_up_with_few_reads() {
    let disk = Arc::new(Counting::default());
    let read = Arc::clone(&disk.read);
    let mut store = Store::open(disk, config()).unwrap();
    let far = |number: u64| format!("https://h{}.many.test/{number}", mix(number) % 500);
    for fold in 0..4_u64 {
        for number in (0..12_000_u64).filter(|number| number % 4 == fold || number % 7 == 0) {
            store.offer(&Link::new(&url(number), 1));
            store.offer(&Link::new(&far(number), 1));
        }
        store.fold_everything(fold + 1).unwrap();
        store.verdicts().unwrap();
    }
    // Some of it waits in memory.
    for number in 11_990..12_020 {
        store.offer(&Link::new(&far(number), 0));
    }
    let texts: Vec<String> = (0..12_100)
        .flat_map(|number| [far(number), url(number)])
        .collect();
    let urls: Vec<&str> = texts.iter().map(String::as_str).collect();
    read.store(0, Ordering::Relaxed);
    let states = store.states(&urls);
    let of_many = read.swap(0, Ordering::Relaxed);
    let mut known = 0;
    for (text, state) in urls.iter().zip(states) {
        let state = state.unwrap();
        known += usize::from(state.is_some());
        assert_eq!(state, store.state(text).unwrap(), "{text}");
    }
    assert_eq!(known, 24_000 + 20);
    let of_each = read.load(Ordering::Relaxed);
    let bytes = store.stats().run_bytes;
    assert!(
        of_many < 4 * bytes && of_many * 20 < of_each,
        "{of_many} bytes read of {bytes}; one by one {of_each}"
    );
}
