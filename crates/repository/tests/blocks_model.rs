//! The store of blocks beside a plain map, over a long random life with starts in between.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod support;

use std::collections::HashMap;
use std::sync::Arc;

use support::Draw;
use teia_base::{Files, SimulatedDisk};
use teia_repository::State;
use teia_repository::blocks::{Answer, Link, News, Settlement, Standing, Store, StoreConfig};

/// What the model knows of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    depth: u16,
    state: State,
    told: bool,
    visits: u32,
    priority: i32,
}

struct Life {
    files: Arc<dyn Files>,
    config: StoreConfig,
    store: Store,
    known: HashMap<String, Known>,
    draw: Draw,
    told: u64,
    folds: u64,
}

/// Everything small, so that all boundaries are crossed all the time.
fn tiny(filter: bool, recent: usize) -> StoreConfig {
    StoreConfig {
        key: 77,
        page_bytes: 700,
        block_bytes: 24_000,
        few_urls: 3000,
        delay: 5,
        scan_rows: 800,
        waiting_share: 60,
        filter_bits: filter.then_some(10),
        recent_links: recent,
        ..StoreConfig::default()
    }
}

impl Life {
    fn new(config: StoreConfig, seed: u64) -> Self {
        let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
        Self {
            store: Store::open(Arc::clone(&files), config.clone()).unwrap(),
            files,
            config,
            known: HashMap::new(),
            draw: Draw::new(seed),
            told: 0,
            folds: 0,
        }
    }

    fn url(&mut self) -> String {
        let draw = &mut self.draw;
        // A few hosts have most URLs; some paths are met again and again.
        let host = draw.below(4000);
        let host = if draw.below(3) == 0 { host % 7 } else { host };
        let path = if draw.below(4) == 0 {
            draw.below(40)
        } else {
            draw.below(3000)
        };
        let scheme = if draw.below(5) == 0 { "http" } else { "https" };
        format!(
            "{scheme}://h{host}.model.test/section-{}/page-{path}",
            path % 11
        )
    }

    fn offer(&mut self) {
        let url = self.url();
        let depth = u16::try_from(self.draw.below(9)).unwrap();
        let rule = if self.draw.below(10) == 0 { 3 } else { 0 };
        let link = Link {
            rule,
            ..Link::new(&url, depth)
        };
        let answer = self.store.offer(&link);
        match self.known.get_mut(&url) {
            None => {
                assert!(
                    matches!(answer, Answer::New(_) | Answer::Pending),
                    "{url} {answer:?}"
                );
                let state = if rule == 0 {
                    State::Waiting
                } else {
                    State::Excluded
                };
                self.known.insert(
                    url,
                    Known {
                        depth,
                        state,
                        told: answer != Answer::Pending,
                        visits: 0,
                        priority: 0,
                    },
                );
            }
            Some(known) => {
                assert!(!matches!(answer, Answer::New(_)), "{url} is not new");
                known.depth = known.depth.min(depth);
                if rule == 0 && known.state == State::Excluded {
                    known.state = State::Waiting;
                }
            }
        }
    }

    fn settle(&mut self) {
        let url = self.url();
        let Some(known) = self.known.get_mut(&url) else {
            return;
        };
        let state = match self.draw.below(4) {
            0 => Standing::Failed,
            1 => Standing::Gone,
            _ => Standing::Fetched,
        };
        known.state = match state {
            Standing::Failed => State::Failed,
            Standing::Gone => State::Gone,
            _ => State::Fetched,
        };
        // What was given up is no visit.
        known.visits += u32::from(state != Standing::Failed);
        self.store.settle(
            &url,
            Settlement {
                at: 1_800_000_000,
                outcome: 200,
                state,
                text_digest: Some(u128::from(self.draw.below(9))),
                etag: Some("\"tag\"".into()),
                ..Settlement::default()
            },
        );
    }

    fn prioritise(&mut self) {
        let url = self.url();
        if let Some(known) = self.known.get_mut(&url) {
            known.priority = i32::try_from(self.draw.below(100)).unwrap() - 50;
            self.store.set_priority(&url, known.priority);
        }
    }

    fn step(&mut self) {
        match self.draw.below(40) {
            0..36 => self.offer(),
            36..39 => self.settle(),
            _ => self.prioritise(),
        }
    }

    fn fold(&mut self) {
        self.folds += 1;
        let report = if self.folds.is_multiple_of(23) {
            self.store.fold_everything(self.folds).unwrap()
        } else if self.folds % 7 == 2 {
            // Beside the fold, life goes on.
            let job = self.store.begin_fold(self.folds);
            let folding = std::thread::spawn(move || job.run().unwrap());
            for _ in 0..800 {
                self.step();
            }
            self.store.finish_fold(folding.join().unwrap()).unwrap()
        } else {
            self.store.fold(self.folds).unwrap()
        };
        assert!(report.damaged.is_empty());
        self.listen();
        if self.folds.is_multiple_of(3) {
            self.store.acknowledge(self.told);
        }
        if self.folds.is_multiple_of(7) {
            self.store = Store::open(Arc::clone(&self.files), self.config.clone()).unwrap();
            assert_eq!(self.store.position(), self.folds);
        }
    }

    /// Each URL is told as new once: here, or when it was offered.
    fn listen(&mut self) {
        for news in self.store.verdicts().unwrap() {
            if news.fold <= self.told {
                continue;
            }
            self.told = news.fold;
            for told in news.urls {
                let known = self
                    .known
                    .get_mut(&told.url)
                    .expect("only what was offered");
                if told.news == News::New {
                    assert!(!known.told, "{} is told twice", told.url);
                    known.told = true;
                }
            }
        }
    }

    fn check(&mut self) {
        self.store.fold_everything(self.folds).unwrap();
        self.listen();
        let stats = self.store.stats();
        assert_eq!(stats.urls, self.known.len() as u64);
        for state in State::ALL {
            let count = self.known.values().filter(|known| known.state == state);
            assert_eq!(self.store.count(state), count.count() as u64, "{state:?}");
        }
        for (url, known) in &self.known {
            assert!(known.told, "{url} was never told");
        }
        for (url, known) in self.known.iter().take(3000) {
            let is = self
                .store
                .state(url)
                .unwrap()
                .unwrap_or_else(|| panic!("{url} is lost"));
            let is = Known {
                depth: is.depth,
                state: is.state,
                told: true,
                visits: is.rare.visited.map_or(0, |visited| visited.visits),
                priority: is.priority,
            };
            assert_eq!(is, *known, "{url}");
        }
    }
}

fn live(config: StoreConfig, seed: u64, operations: u64) {
    let mut life = Life::new(config, seed);
    for number in 0..operations {
        life.step();
        if number % 5003 == 5002 {
            life.fold();
        }
    }
    life.check();
    assert!(life.store.stats().blocks > 20, "{:?}", life.store.stats());
}

#[test]
fn the_store_agrees_with_a_map_over_half_a_million_operations() {
    live(tiny(false, 0), 1, 500_000);
}

#[test]
fn so_it_does_with_a_filter() {
    live(tiny(true, 0), 2, 500_000);
}

#[test]
fn and_with_a_memory_of_recent_links() {
    live(tiny(true, 5000), 3, 200_000);
    live(tiny(false, 5000), 4, 200_000);
}
