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
    /// Ends what goes on in the background.
    fn rest(&mut self) -> NewUrls {
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
    front_urls: usize,
    /// The fold that runs beside the next cycle.
    folding: Option<JoinHandle<FoldDone>>,
}

impl Teia {
    pub(crate) fn open(folder: &Path, config: StoreConfig, window: usize) -> Self {
        Self {
            front_urls: config.front_urls,
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
        for news in self.store.verdicts().unwrap() {
            let is_heard = news.fold <= self.noted;
            for told in news.urls.iter().filter(|_| !is_heard) {
                if told.news == News::New {
                    new.add(&told.url);
                }
            }
            self.noted = self.noted.max(news.fold);
            self.store.acknowledge(news.fold);
        }
    }

    /// Takes in the fold that ran beside this cycle, and begins the next one.
    fn fold(&mut self, new: &mut NewUrls) {
        self.finish_folding(new);
        self.folded += 1;
        let job = self.store.begin_fold(self.folded);
        let folding = std::thread::Builder::new().name("fold".to_owned());
        let folding = folding.spawn(move || job.run().unwrap());
        self.folding = Some(folding.unwrap());
    }

    fn finish_folding(&mut self, new: &mut NewUrls) {
        if let Some(folding) = self.folding.take() {
            let report = self.store.finish_fold(folding.join().unwrap()).unwrap();
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
            let window = self
                .store
                .window(&host, n, WindowOrder::Depth, self.now)
                .unwrap();
            left -= window.len();
            self.taken += window.len() as u64;
            for leased in window {
                let digest = u128::from(xxh3_64(leased.url.as_bytes()));
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
            if let Answer::New(_) = self.store.offer(&link) {
                new.add(url);
                new.at_once += 1;
            }
            // With little memory a cycle has several folds.
            if number % 4096 == 4095 && self.store.stats().front >= self.front_urls {
                self.fold(&mut new);
            }
        }
        let offers = crate::measure::thread_cpu();
        self.fold(&mut new);
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
