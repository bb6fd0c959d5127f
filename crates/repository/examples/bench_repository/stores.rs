//! The stores that are compared, behind one small door.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use hashbrown::HashSet;
use teia_base::DiskFiles;
use teia_repository::blocks::{
    Answer, FoldDone, FoldReport, Link, News, Settlement, Standing, Store, StoreConfig, WindowOrder,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::generator::{Cycle, Generator};
use crate::latency::Latency;

/// What a store called new in a cycle: how many, the sum of their hashes, and how many of them at
/// once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewUrls {
    pub(crate) count: u64,
    pub(crate) checksum: u64,
    pub(crate) at_once: u64,
}

impl NewUrls {
    pub(crate) fn add(&mut self, url: &str) {
        self.count += 1;
        self.checksum = self.checksum.wrapping_add(xxh3_64(url.as_bytes()));
    }

    /// Of a URL of which only the hash is at hand.
    pub(crate) fn add_hash(&mut self, hash: u64) {
        self.count += 1;
        self.checksum = self.checksum.wrapping_add(hash);
    }
}

pub(crate) trait Contender {
    /// Takes `take` URLs out (from windows if it has them, else those given), writes their states,
    /// and offers links.
    fn cycle(
        &mut self,
        links: &Cycle,
        fetched: &Cycle,
        take: usize,
        generator: &mut Generator,
    ) -> NewUrls;
    /// Takes in all-new cycles up to a size in the quickest way that it has; none where that is one
    /// cycle after another.
    fn bulk(&mut self, _: &mut Generator, _: u64) -> Option<NewUrls> {
        None
    }
    /// Bytes that belong to it on disk, and that a bulk load did not write.
    fn unwritten(&self) -> u64 {
        0
    }
    /// Cycles that are measured at least.
    fn least_cycles(&self) -> usize {
        1
    }
    /// What it has to know beside its files to go on in another process.
    fn save(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Goes on with that.
    fn load(&mut self, _: &[u64]) {}
    /// How long its calls took, as fields of a record.
    fn latencies(&self) -> String {
        String::new()
    }
    /// Ends what goes on in the background.
    fn rest(&mut self) -> NewUrls {
        NewUrls::default()
    }
    /// Brings everything that is in memory only to the disk: there is no journal here.
    fn close(&mut self) -> NewUrls {
        NewUrls::default()
    }
    /// Ends without a word and begins again, as after a kill; nothing where that means nothing.
    fn reopen(&mut self) {}
    /// Decides all that waits, outside the measured cycles.
    fn finish(&mut self) -> NewUrls;
    /// A process that works for it.
    fn helper(&self) -> Option<u32> {
        None
    }
    /// Bytes of memory to be counted apart.
    fn apart(&self) -> usize {
        0
    }
    /// A line about its inside.
    fn inside(&self) -> String {
        String::new()
    }
}

/// Rows whose news is heard at once.
const STEP: usize = 10_000;

/// Teia's blocks.
pub(crate) struct Teia {
    store: Store,
    folder: PathBuf,
    config: StoreConfig,
    /// The last fold whose news was heard: after a start it is told once more.
    noted: u64,
    now: u32,
    pub(crate) window: usize,
    pub(crate) taken: u64,
    folded: u64,
    latency: Latency,
    /// The fold that runs beside the next cycle.
    folding: Option<JoinHandle<FoldDone>>,
}

impl Teia {
    pub(crate) fn open(folder: &Path, config: StoreConfig, window: usize, latency: bool) -> Self {
        Self {
            latency: Latency::new(latency),
            store: open(folder, &config),
            folder: folder.to_owned(),
            config,
            noted: 0,
            now: 1_800_000_000,
            window,
            taken: 0,
            folded: 0,
            folding: None,
        }
    }

    fn listen(&mut self, new: &mut NewUrls) {
        loop {
            self.latency.begin();
            let news = self.store.some_verdicts(STEP).unwrap();
            self.latency.end("verdicts");
            let Some(news) = news else { break };
            let is_heard = news.fold <= self.noted;
            for told in news.urls.iter().filter(|_| !is_heard) {
                if told.news == News::New {
                    new.add(&told.url);
                }
            }
            if news.is_last {
                self.noted = self.noted.max(news.fold);
                self.store.acknowledge(news.fold);
            }
        }
    }

    /// Takes in the fold that ran beside this cycle, and begins the next one.
    fn fold(&mut self, new: &mut NewUrls) {
        self.finish_folding(new);
        self.folded += 1;
        self.latency.begin();
        let job = self.store.begin_fold(self.folded);
        self.latency.end("begin_fold");
        let folding = std::thread::Builder::new().name("fold".to_owned());
        let folding = folding.spawn(move || job.run().unwrap());
        self.folding = Some(folding.unwrap());
    }

    /// What the last fold found out is heard in steps, as the Repository does.
    fn finish_folding(&mut self, new: &mut NewUrls) {
        if let Some(folding) = self.folding.take() {
            let done = folding.join().unwrap();
            self.latency.begin();
            let report = self.store.finish_fold(done).unwrap();
            self.latency.end("finish_fold");
            self.report(&report);
            self.listen(new);
        }
    }

    fn report(&self, report: &FoldReport) {
        assert!(report.damaged.is_empty(), "{:?}", report.damaged);
        if std::env::var_os("TEIA_BENCH_FOLDS").is_some() {
            eprintln!("{report:?} {:?}", self.store.stats());
        }
    }
}

impl Contender for Teia {
    fn cycle(
        &mut self,
        links: &Cycle,
        _: &Cycle,
        take: usize,
        generator: &mut Generator,
    ) -> NewUrls {
        let mut new = NewUrls::default();
        let start = crate::measure::thread_cpu();
        self.now += 60;
        self.store.set_time(self.now);
        let mut left = take;
        let mut tries = 0;
        while left > 0 && tries < 100_000 {
            tries += 1;
            let host = generator.some_host();
            let n = left.min(self.window);
            self.latency.begin();
            let window = self
                .store
                .window(&host, n, WindowOrder::Depth, self.now)
                .unwrap();
            self.latency.end("window");
            left -= window.len();
            self.taken += window.len() as u64;
            for leased in window {
                let digest = u128::from(xxh3_64(leased.url.as_bytes()));
                self.latency.begin();
                self.store.settle(
                    &leased.url,
                    Settlement {
                        at: self.now,
                        outcome: 200,
                        state: Standing::Fetched,
                        due: self.now + 86_400,
                        media_type: Some("text/html".into()),
                        text_digest: Some(digest << 64 | digest),
                        capture: Some(self.taken),
                        ..Settlement::default()
                    },
                );
                self.latency.end("settle");
            }
        }
        let windows = crate::measure::thread_cpu();
        let referrer = self.taken;
        for (number, url) in links.iter().enumerate() {
            let depth = 2 + u16::try_from(xxh3_64(url.as_bytes()) % 7).unwrap();
            let link = Link {
                referrer: referrer + number as u64 / 30,
                ..Link::new(url, depth)
            };
            self.latency.begin();
            let answer = self.store.offer(&link);
            self.latency.end("offer");
            if let Answer::New(_) = answer {
                new.add(url);
                new.at_once += 1;
            }
            // As the Repository does: when enough was met, and not before.
            if number % 4096 == 4095 && (self.store.wants_fold() || self.store.is_behind()) {
                self.fold(&mut new);
            }
        }
        let offers = crate::measure::thread_cpu();
        if std::env::var_os("TEIA_BENCH_FOLDS").is_some() {
            let end = crate::measure::thread_cpu();
            eprintln!(
                "CPU s of this thread: windows {:.3} ({tries} hosts), offers {:.3}, news {:.3}",
                windows - start,
                offers - windows,
                end - offers
            );
        }
        new
    }

    fn rest(&mut self) -> NewUrls {
        let mut new = NewUrls::default();
        self.finish_folding(&mut new);
        new
    }

    fn close(&mut self) -> NewUrls {
        let mut new = NewUrls::default();
        self.fold(&mut new);
        self.finish_folding(&mut new);
        new
    }

    fn reopen(&mut self) {
        assert!(self.folding.is_none(), "it rests");
        self.store = open(&self.folder, &self.config);
    }

    fn finish(&mut self) -> NewUrls {
        let mut new = NewUrls::default();
        self.finish_folding(&mut new);
        let report = self.store.fold_everything(self.folded).unwrap();
        self.report(&report);
        self.listen(&mut new);
        let report = self.store.verify();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        new
    }

    fn apart(&self) -> usize {
        self.store.stats().filter_bytes
    }

    fn save(&self) -> Vec<u64> {
        assert!(self.folding.is_none(), "it rests");
        vec![self.noted, u64::from(self.now), self.taken, self.folded]
    }

    fn load(&mut self, numbers: &[u64]) {
        let now;
        [self.noted, now, self.taken, self.folded] = numbers.try_into().unwrap();
        self.now = u32::try_from(now).unwrap();
    }

    fn latencies(&self) -> String {
        self.latency.json()
    }

    fn inside(&self) -> String {
        format!("{:?}", self.store.stats())
    }
}

fn open(folder: &Path, config: &StoreConfig) -> Store {
    let files = Arc::new(DiskFiles::new(folder).unwrap());
    Store::open(files, config.clone()).unwrap()
}

/// 64-bit fingerprints in memory: the limit, though not exact and gone with the process.
#[derive(Default)]
pub(crate) struct InMemory {
    seen: HashSet<u64>,
}

impl Contender for InMemory {
    fn cycle(&mut self, links: &Cycle, _: &Cycle, _: usize, _: &mut Generator) -> NewUrls {
        let mut new = NewUrls::default();
        for url in links.iter() {
            if self.seen.insert(xxh3_64(url.as_bytes())) {
                new.add(url);
                new.at_once += 1;
            }
        }
        new
    }

    fn finish(&mut self) -> NewUrls {
        NewUrls::default()
    }
}
