//! A disk of 1 MB/s under a web that is much faster: fetching waits for it, so that little is held, and nothing is lost.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

mod support;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::{attempts, crawl_on};
use teia_base::{AppendFile, Files, ReadFile, Request, SimulatedDisk, SystemClock};
use teia_engine::{CollectionConfig, Control, Event, Feedback, Parts};
use teia_fetch::{Fetcher, Fetching, ScriptedFetcher};

const BYTES_PER_SECOND: u64 = 1_000_000;
const HOSTS: usize = 16;
const PAGES: usize = 16;
/// Of each page, in bytes that do not pack.
const PAGE: usize = 24 << 10;
const COMMIT: u64 = 256 << 10;

/// A disk that takes its time.
#[derive(Clone, Debug)]
struct Slow(SimulatedDisk);

fn take(bytes: usize) {
    let nanoseconds = bytes as u64 * (1_000_000_000 / BYTES_PER_SECOND);
    std::thread::sleep(Duration::from_nanos(nanoseconds));
}

impl Files for Slow {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(SlowFile(self.0.create(path)?)))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(SlowFile(self.0.append(path)?)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(SlowRead(self.0.open(path)?)))
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

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.0.free_bytes()
    }
}

#[derive(Debug)]
struct SlowFile(Box<dyn AppendFile>);

impl AppendFile for SlowFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        take(bytes.len());
        self.0.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        take(10_000);
        self.0.sync()
    }

    fn len(&self) -> u64 {
        self.0.len()
    }
}

#[derive(Debug)]
struct SlowRead(Box<dyn ReadFile>);

impl ReadFile for SlowRead {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        take(buffer.len());
        self.0.read_at(offset, buffer)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}

/// The web, and how many of its answers were taken and not committed yet.
#[derive(Clone, Debug)]
struct Watched {
    web: ScriptedFetcher,
    held: Arc<Held>,
}

#[derive(Debug, Default)]
struct Held {
    asked: AtomicUsize,
    committed: AtomicUsize,
    most: AtomicUsize,
}

impl Fetcher for Watched {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        let asked = self.held.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let held = asked.saturating_sub(self.held.committed.load(Ordering::SeqCst));
        self.held.most.fetch_max(held, Ordering::SeqCst);
        self.web.fetch(request)
    }
}

impl Feedback for Held {
    fn hear(&self, event: &Event) {
        if let Event::Committed { attempts, .. } = event {
            self.committed.fetch_add(*attempts, Ordering::SeqCst);
        }
    }
}

fn web() -> (ScriptedFetcher, Vec<String>) {
    let mut web = ScriptedFetcher::new(Arc::new(SystemClock));
    let mut random = 1_u64;
    let mut seeds = Vec::new();
    for host in 0..HOSTS {
        for page in 0..PAGES {
            let mut noise = String::with_capacity(PAGE);
            while noise.len() < PAGE {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                noise.push_str(&format!("{:x} ", random >> 8));
            }
            let url = format!("http://h{host}.slow.test/p{page}");
            let link = format!("<a href=/p{}>next</a>", (page + 1) % PAGES);
            web = web.page(
                &url,
                "text/html; charset=utf-8",
                &format!("{link}<p>{noise}"),
            );
        }
        seeds.push(format!("http://h{host}.slow.test/p0"));
    }
    (web, seeds)
}

#[test]
fn env_18_on_a_slow_disk_fetching_waits_and_nothing_is_lost() {
    let (web, seeds) = web();
    let held = Arc::new(Held::default());
    let mut config = CollectionConfig::default();
    config.links.enabled = false;
    config.politeness.delay = Duration::ZERO;
    config.filter.scope = "suffix:.slow.test".parse().unwrap();
    config.run.commit_bytes = COMMIT;
    config.run.alias_pages = 0;
    config.run.hosts_at_once = Some(HOSTS);
    config.traps.enabled = false;
    let parts = Parts {
        fetcher: Some(Arc::new(Watched {
            web,
            held: Arc::clone(&held),
        })),
        feedback: held.clone(),
        ..Parts::default()
    };
    let disk = SimulatedDisk::new();
    let files = Arc::new(Slow(disk.clone()));
    crawl_on(files, &config, &seeds, parts, &Control::default()).unwrap();
    let found = attempts(&disk);
    let pages = found.iter().filter(|one| !one.is_robots());
    assert!(pages.clone().all(|page| page.outcome.is_ok()));
    assert_eq!(pages.count(), HOSTS * PAGES);
    let most = held.most.load(Ordering::SeqCst);
    println!(
        "{most} answers at most were taken and not on disk, of {}",
        HOSTS * PAGES
    );
    // Two commits that are open, what is being fetched, and what waits to be read of it.
    let of_commits = 2 * usize::try_from(COMMIT).unwrap() / PAGE;
    assert!(
        most <= of_commits + 6 * HOSTS,
        "{most} answers waited for the disk"
    );
    assert!(most < HOSTS * PAGES / 2, "{most}: nothing is shown by this");
}
