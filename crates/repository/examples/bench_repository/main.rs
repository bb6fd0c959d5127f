//! Measures the store of blocks beside DRUM, RocksDB and a set in memory: `./dev bench repository`.
//!
//! Teia is filled by cycles of a million new URLs, the others with the same URLs in the quickest way
//! that they have; at each size ten crawl cycles are measured: 100,000 URLs taken out and their states written, 900,000 links offered; then some more
//! after the store's files were dropped from the system's cache. The generator counts by itself what
//! is new, and what each store called new is checked against that. It works while the store rests.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_possible_truncation,
    clippy::large_enum_variant,
    unreachable_pub,
    reason = "a bench prints, and stops at what it did not expect"
)]

mod bulk;
mod drain;
mod drum;
mod generator;
mod latency;
mod measure;
mod rocks;
mod saved;
mod stores;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use generator::{Cycle, Generator};
use measure::{Cost, Spent};
use stores::{Contender, InMemory, NewUrls, Teia};
use teia_base::SimulatedDisk;
use teia_repository::Backing;
use teia_repository::blocks::{Packing, StoreConfig};

/// That of the program: the system's keeps what a fold took, which is counted as if it were needed. The tool
/// around this tells it to give back at once, as the program does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Options {
    sizes: Vec<u64>,
    cycles: usize,
    links: usize,
    take: usize,
    window: usize,
    cold: usize,
    /// Crawl cycles before those that are measured: what the all-new fill left waiting is decided.
    settle: usize,
    /// Go on with what is there.
    keep: bool,
    /// Leave it there, for another process that goes on.
    leave: bool,
    latency: bool,
    /// Hosts of so many URLs are drained, one after another.
    drain: Vec<u64>,
    folder: PathBuf,
    rocksdb: Option<PathBuf>,
    only: Vec<String>,
    settings: Vec<(String, String)>,
}

fn main() {
    let options = parse();
    println!(
        "{{\"kind\":\"options\",\"sizes\":{:?},\"cycles\":{},\"links\":{},\"take\":{}}}",
        options.sizes, options.cycles, options.links, options.take
    );
    for &urls in &options.drain {
        for by_priority in [true, false] {
            let folder = options.folder.join("drain");
            drain::drain(&folder, &config_of(&options), urls, by_priority);
        }
    }
    if !options.drain.is_empty() {
        return;
    }
    for name in &options.only {
        let folder = options.folder.join(name);
        let state = saved::path(&options.folder, name);
        if !options.keep || !state.exists() {
            let _ = std::fs::remove_dir_all(&folder);
            let _ = std::fs::remove_file(&state);
        }
        if name == "rocksdb" && options.rocksdb.is_none() {
            println!("{{\"kind\":\"skipped\",\"store\":\"rocksdb\"}}");
            continue;
        }
        measure::reset_peak(None);
        let store = open(name, &folder, &options);
        run(name, store, &folder, &options);
        if !options.leave {
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

fn config_of(options: &Options) -> StoreConfig {
    let mut config = StoreConfig {
        key: 0x7E1A,
        ..StoreConfig::default()
    };
    set(&mut config, "memory", MEMORY);
    for (key, value) in &options.settings {
        set(&mut config, key, value);
    }
    config
}

fn open(name: &str, folder: &Path, options: &Options) -> Box<dyn Contender> {
    let mut config = config_of(options);
    match name {
        "teia" => teia(folder, config, options),
        "teia-filter" => {
            config.filter_bits = config.filter_bits.or(Some(12));
            teia(folder, config, options)
        }
        "teia-recent" => {
            config.recent_links = config.recent_links.max(4 << 20);
            teia(folder, config, options)
        }
        "drum" => Box::new(drum::Drum::open(folder, 1)),
        "drum64" => Box::new(drum::Drum::open(folder, 64)),
        "rocksdb" => {
            let helper = options.rocksdb.as_ref().expect("looked for before");
            Box::new(rocks::Rocks::open(helper, folder))
        }
        "memory" => Box::new(InMemory::default()),
        _ => panic!("there is no store called {name}"),
    }
}

fn teia(folder: &Path, config: StoreConfig, options: &Options) -> Box<dyn Contender> {
    Box::new(Teia::open(folder, config, options.window, options.latency))
}

fn set(config: &mut StoreConfig, key: &str, value: &str) {
    let packing = || match value {
        "no" => Packing::Plain,
        "lz4" => Packing::Lz4,
        level => Packing::Zstd(level.parse().unwrap()),
    };
    match key {
        "base-packing" => config.base_packing = packing(),
        "few-packing" => config.few_packing = packing(),
        "small-packing" => config.small_packing = packing(),
        "pending-packing" => config.pending_packing = packing(),
        _ => set_number(config, key, value),
    }
}

fn set_number(config: &mut StoreConfig, key: &str, value: &str) {
    let number: u64 = value.parse().unwrap();
    match key {
        // As the Repository sets the store up within so much memory, but for the filter.
        "memory" => {
            let backing = Backing {
                files: Arc::new(SimulatedDisk::new()),
                prefix: config.prefix.clone(),
                memory: number,
                window: 1000,
                filter_bits: 10,
            };
            *config = StoreConfig {
                filter_bits: config.filter_bits,
                recent_links: config.recent_links,
                ..backing.store_config(config.key)
            };
        }
        "page-bytes" => config.page_bytes = number as usize,
        "block-bytes" => config.block_bytes = number,
        "compact-share" => config.compact_share = number,
        "delay" => config.delay = number,
        "scan-rows" => config.scan_rows = number,
        "few-urls" => config.few_urls = number,
        "waiting-share" => config.waiting_share = number,
        "filter-bits" => config.filter_bits = Some(number as u32),
        "recent-links" => config.recent_links = number as usize,
        "threads" => config.threads = number as usize,
        "front-urls" => config.front_urls = number as usize,
        _ => panic!("there is no setting {key}"),
    }
}

/// Bytes for which the store is set up, as the Repository does it by default; without a filter.
const MEMORY: &str = "536870912";

/// Cycles of a million new URLs that are made ahead at once.
const FILL_BATCH: usize = 8;

/// A store that is being measured, and what it was shown so far.
struct Run<'a> {
    name: &'a str,
    store: Box<dyn Contender>,
    folder: &'a Path,
    options: &'a Options,
    generator: Generator,
    /// Links and fetched URLs of cycles that were made ahead: while they are made the store rests,
    /// so that whatever it does in the background is counted.
    ahead: Vec<(Cycle, Cycle)>,
    total: NewUrls,
    /// The most memory that the store took while it worked, in MiB.
    peak: f64,
}

/// What some cycles cost.
#[derive(Default)]
struct Measured {
    mean: Cost,
    sum: Cost,
    longest: f64,
    at_once: u64,
}

impl Run<'_> {
    /// Makes cycles ahead, and says how many new URLs are in them.
    fn make(&mut self, cycles: usize, links: usize, take: usize) -> u64 {
        let known = self.generator.distinct;
        self.ahead.resize_with(cycles, Default::default);
        for (links_of, fetched) in &mut self.ahead {
            if take > 0 {
                self.generator.old(take, fetched);
                self.generator.crawl(links, links_of);
            } else {
                fetched.clear();
                self.generator.fill(links, links_of);
            }
        }
        self.generator.distinct - known
    }

    /// Lets the store work through what was made ahead, and rest.
    fn work(&mut self, take: usize, kind: Option<&str>) -> Measured {
        let mut measured = Measured::default();
        let mut sum = Cost::default();
        measure::reset_peak(self.store.helper());
        let ahead = std::mem::take(&mut self.ahead);
        for (number, (links, fetched)) in ahead.iter().enumerate() {
            let before = Spent::now(self.store.helper());
            let mut new = self.store.cycle(links, fetched, take, &mut self.generator);
            if number + 1 == ahead.len() {
                // What still goes on beside it belongs to these cycles.
                add(&mut new, self.store.rest());
            }
            let cost = Spent::now(self.store.helper()).since(before);
            if let Some(kind) = kind {
                println!(
                    "{{\"kind\":\"{kind}\",\"store\":\"{}\",\"number\":{number},{}}}",
                    self.name,
                    cost.json()
                );
            }
            measured.at_once += new.at_once;
            measured.longest = measured.longest.max(cost.wall);
            sum.add(cost);
            add(&mut self.total, new);
        }
        measured.mean = sum.over(ahead.len());
        measured.sum = sum;
        self.ahead = ahead;
        self.peak = self.peak.max(self.memory());
        measured
    }

    /// The most memory since the last reset, in MiB, without what the generator holds.
    fn memory(&self) -> f64 {
        let ahead = self.ahead.iter();
        let ahead: usize = ahead
            .map(|(links, fetched)| links.bytes() + fetched.bytes())
            .sum();
        let helper = self.store.helper();
        let helper = helper.map_or(0.0, |pid| measure::peak_mib(Some(pid)));
        let generator = (ahead + self.generator.bytes()) as f64 / 1048576.0;
        measure::peak_mib(None) + helper - generator
    }

    /// Fills up to a size, and says what the last cycles of it cost, each.
    fn fill(&mut self, size: u64) -> Measured {
        let mut last = Measured::default();
        if let Some(new) = self.store.bulk(&mut self.generator, size) {
            add(&mut self.total, new);
            return last;
        }
        loop {
            let left = size.saturating_sub(self.generator.distinct) / 1_000_000;
            let cycles = usize::try_from(left).unwrap().min(FILL_BATCH);
            if cycles == 0 {
                return last;
            }
            self.make(cycles, 1_000_000, 0);
            last = self.work(0, None);
            println!(
                "{{\"kind\":\"fill\",\"store\":\"{}\",\"urls\":{},{}}}",
                self.name,
                self.generator.distinct,
                last.mean.json()
            );
        }
    }

    fn point(&mut self, size: u64) {
        let options = self.options;
        self.peak = 0.0;
        let fill = self.fill(size);
        let mut left = options.settle;
        while left > 0 {
            let cycles = left.min(FILL_BATCH);
            self.make(cycles, options.links, options.take);
            self.work(options.take, None);
            left -= cycles;
        }
        if options.cycles == 0 {
            return;
        }
        let at = self.generator.distinct;
        let cycles = options.cycles.max(self.store.least_cycles());
        let mut crawl = Measured::default();
        let mut sum = Cost::default();
        let mut fresh = 0;
        let mut left = cycles;
        while left > 0 {
            let batch = left.min(options.cycles);
            fresh += self.make(batch, options.links, options.take);
            let part = self.work(options.take, Some("cycle"));
            sum.add(part.sum);
            crawl.longest = crawl.longest.max(part.longest);
            crawl.at_once += part.at_once;
            left -= batch;
        }
        crawl.mean = sum.over(cycles);
        let disk = measure::bytes_below(self.folder) + self.store.unwritten();
        let urls = self.generator.distinct;
        let mut cold = Cost::default();
        for _ in 0..options.cold {
            self.make(1, options.links, options.take);
            measure::drop_cache(self.folder);
            cold.add(self.work(options.take, Some("cold")).mean);
        }
        let cold = cold.over(options.cold);
        println!(
            "{{\"kind\":\"point\",\"store\":\"{}\",\"urls\":{at},\"hosts\":{},{},\
             \"longest\":{:.4},\"memory_mib\":{:.1},\"apart_mib\":{:.1},\"bytes_per_url\":{:.2},\"at_once\":{:.4},\"fill_wall\":{:.4},\
             \"fill_cpu\":{:.4},\"cold_wall\":{:.4},\"cold_cpu\":{:.4}{},\"inside\":{:?}}}",
            self.name,
            self.generator.hosts(),
            crawl.mean.json(),
            crawl.longest,
            self.peak,
            self.store.apart() as f64 / 1048576.0,
            disk as f64 / urls as f64,
            crawl.at_once as f64 / fresh.max(1) as f64,
            fill.mean.wall,
            fill.mean.cpu,
            cold.wall,
            cold.cpu,
            self.store.latencies(),
            self.store.inside(),
        );
    }
}

fn run(name: &str, store: Box<dyn Contender>, folder: &Path, options: &Options) {
    let mut run = Run {
        name,
        store,
        folder,
        options,
        generator: Generator::new(1),
        ahead: Vec::new(),
        total: NewUrls::default(),
        peak: 0.0,
    };
    let state = saved::path(&options.folder, name);
    if state.exists() {
        (run.generator, run.total) = saved::load(&state, &mut *run.store);
        // Whatever comes in between, this state is used once.
        std::fs::remove_file(&state).unwrap();
    }
    for &size in &options.sizes {
        run.point(size);
    }
    let closed = run.store.close();
    add(&mut run.total, closed);
    if options.leave {
        saved::save(&state, &run.generator, run.total, &*run.store);
        return;
    }
    let before = Spent::now(run.store.helper());
    run.store.reopen();
    let reopened = Spent::now(run.store.helper()).since(before);
    let before = Spent::now(run.store.helper());
    let last = run.store.finish();
    add(&mut run.total, last);
    let finish = Spent::now(run.store.helper()).since(before);
    let (total, generator) = (&run.total, &run.generator);
    let exact = total.count == generator.distinct && total.checksum == generator.checksum;
    println!(
        "{{\"kind\":\"end\",\"store\":\"{name}\",\"new\":{},\"distinct\":{},\"agrees\":{exact},\
         \"reopen_wall\":{:.2},\"reopen_cpu\":{:.2},\"finish_wall\":{:.2},\"final_bytes_per_url\":{:.2},\"inside\":{:?}}}",
        total.count,
        generator.distinct,
        reopened.wall,
        reopened.cpu,
        finish.wall,
        (measure::bytes_below(folder) + run.store.unwritten()) as f64 / generator.distinct as f64,
        run.store.inside(),
    );
    assert!(exact || name != "teia", "{name} lost or doubled URLs");
}

fn add(total: &mut NewUrls, new: NewUrls) {
    total.count += new.count;
    total.checksum = total.checksum.wrapping_add(new.checksum);
    total.at_once += new.at_once;
}

fn parse() -> Options {
    let mut options = Options {
        sizes: vec![2_000_000],
        cycles: 10,
        links: 900_000,
        take: 100_000,
        window: 1000,
        cold: 0,
        settle: 0,
        keep: false,
        leave: false,
        latency: false,
        drain: Vec::new(),
        folder: std::env::temp_dir().join("teia-bench-repository"),
        rocksdb: None,
        only: vec!["teia".to_owned()],
        settings: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments
            .next()
            .unwrap_or_else(|| panic!("{name} needs a value"));
        let list = || value.split(',').map(str::to_owned).collect::<Vec<_>>();
        match name.as_str() {
            "--sizes" => options.sizes = list().iter().map(|size| size.parse().unwrap()).collect(),
            "--cycles" => options.cycles = value.parse().unwrap(),
            "--links" => options.links = value.parse().unwrap(),
            "--take" => options.take = value.parse().unwrap(),
            "--cold" => options.cold = value.parse().unwrap(),
            "--settle" => options.settle = value.parse().unwrap(),
            "--keep" => {
                options.keep = value != "no";
                options.leave = value == "yes";
            }
            "--drain" => options.drain = list().iter().map(|size| size.parse().unwrap()).collect(),
            "--latency" => options.latency = value == "yes",
            "--window" => options.window = value.parse().unwrap(),
            "--folder" => options.folder = value.into(),
            "--rocksdb" => options.rocksdb = Some(value.into()),
            "--only" => options.only = list(),
            "--set" => {
                let (key, value) = value.split_once('=').expect("--set key=number");
                options.settings.push((key.to_owned(), value.to_owned()));
            }
            _ => panic!("there is no option {name}"),
        }
    }
    options
}
