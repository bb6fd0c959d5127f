//! Measures the store of blocks beside DRUM, RocksDB and a set in memory: `./dev bench repository`.
//!
//! Each store alone is filled by cycles of a million new URLs; at each size ten crawl cycles are
//! measured: 100,000 URLs taken out and their states written, 900,000 links offered. The generator
//! counts by itself what is new, and what each store called new is checked against that.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_possible_truncation,
    clippy::large_enum_variant,
    unreachable_pub,
    reason = "a bench prints, and stops at what it did not expect"
)]

mod drum;
mod generator;
mod measure;
mod rocks;
mod stores;

use std::path::{Path, PathBuf};

use generator::{Cycle, Generator};
use measure::{Cost, Spent};
use stores::{Contender, InMemory, NewUrls, Teia};
use teia_repository::blocks::StoreConfig;

struct Options {
    sizes: Vec<u64>,
    cycles: usize,
    links: usize,
    take: usize,
    window: usize,
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
    for name in &options.only {
        let folder = options.folder.join(name);
        let _ = std::fs::remove_dir_all(&folder);
        if name == "rocksdb" && options.rocksdb.is_none() {
            println!("{{\"kind\":\"skipped\",\"store\":\"rocksdb\"}}");
            continue;
        }
        measure::reset_peak();
        let store = open(name, &folder, &options);
        run(name, store, &folder, &options);
        let _ = std::fs::remove_dir_all(&folder);
    }
}

fn open(name: &str, folder: &Path, options: &Options) -> Box<dyn Contender> {
    let mut config = StoreConfig {
        key: 0x7E1A,
        ..StoreConfig::default()
    };
    for (key, value) in &options.settings {
        set(&mut config, key, value);
    }
    match name {
        "teia" => Box::new(Teia::open(folder, config, options.window)),
        "teia-filter" => {
            config.filter_bits = config.filter_bits.or(Some(12));
            Box::new(Teia::open(folder, config, options.window))
        }
        "teia-recent" => {
            config.recent_links = config.recent_links.max(4 << 20);
            Box::new(Teia::open(folder, config, options.window))
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

fn set(config: &mut StoreConfig, key: &str, value: &str) {
    if key == "base-level" {
        config.base_level = value.parse().unwrap();
        return;
    }
    let number: u64 = value.parse().unwrap();
    match key {
        "page-bytes" => config.page_bytes = number as usize,
        "block-bytes" => config.block_bytes = number,
        "compact-share" => config.compact_share = number,
        "delay" => config.delay = number,
        "scan-rows" => config.scan_rows = number,
        "waiting-share" => config.waiting_share = number,
        "pending-level" => config.pending_level = Some(number as i32),
        "filter-bits" => config.filter_bits = Some(number as u32),
        "recent-links" => config.recent_links = number as usize,
        "threads" => config.threads = number as usize,
        "front-urls" => config.front_urls = number as usize,
        _ => panic!("there is no setting {key}"),
    }
}

fn run(name: &str, mut store: Box<dyn Contender>, folder: &Path, options: &Options) {
    let mut generator = Generator::new(1);
    let (mut links, mut fetched) = (Cycle::default(), Cycle::default());
    let mut total = NewUrls::default();
    let mut fill = Cost::default();
    let mut filled = 0;
    for &size in &options.sizes {
        // The crawl cycles add URLs of their own.
        while generator.distinct + 1_000_000 <= size {
            generator.fill(1_000_000, &mut links);
            fetched.clear();
            let before = Spent::now(store.helper());
            let new = store.cycle(&links, &fetched, 0, &mut generator);
            fill.add(Spent::now(store.helper()).since(before));
            filled += 1;
            add(&mut total, new);
        }
        let at = generator.distinct;
        let mut sum = Cost::default();
        let mut longest: f64 = 0.0;
        let mut own = NewUrls::default();
        measure::reset_peak();
        for _ in 0..options.cycles {
            let known = generator.distinct;
            generator.old(options.take, &mut fetched);
            generator.crawl(options.links, &mut links);
            let fresh = generator.distinct - known;
            let before = Spent::now(store.helper());
            let new = store.cycle(&links, &fetched, options.take, &mut generator);
            let cost = Spent::now(store.helper()).since(before);
            own.count += fresh;
            own.at_once += new.at_once;
            longest = longest.max(cost.wall);
            sum.add(cost);
            add(&mut total, new);
        }
        let cost = sum.over(options.cycles);
        let fill = fill.over(filled);
        let generators = links.bytes() + fetched.bytes() + generator.bytes();
        let disk = measure::bytes_below(folder);
        println!(
            "{{\"kind\":\"point\",\"store\":\"{name}\",\"urls\":{at},\"hosts\":{},\"wall\":{:.4},\
             \"cpu\":{:.4},\"longest\":{longest:.4},\"read_mb\":{:.2},\"written_mb\":{:.2},\
             \"device_mb\":{:.2},\"peak_mib\":{:.1},\"generator_mib\":{:.1},\"apart_mib\":{:.1},\
             \"bytes_per_url\":{:.2},\"at_once\":{:.4},\"fill_wall\":{:.4},\"fill_cpu\":{:.4}}}",
            generator.hosts(),
            cost.wall,
            cost.cpu,
            cost.read,
            cost.written,
            cost.device,
            measure::peak_mib(None)
                + store
                    .helper()
                    .map_or(0.0, |pid| measure::peak_mib(Some(pid))),
            generators as f64 / 1048576.0,
            store.apart() as f64 / 1048576.0,
            disk as f64 / generator.distinct as f64,
            own.at_once as f64 / own.count.max(1) as f64,
            fill.wall,
            fill.cpu,
        );
    }
    let before = Spent::now(store.helper());
    add(&mut total, store.finish());
    let finish = Spent::now(store.helper()).since(before);
    let exact = total.count == generator.distinct && total.checksum == generator.checksum;
    println!(
        "{{\"kind\":\"end\",\"store\":\"{name}\",\"new\":{},\"distinct\":{},\"agrees\":{exact},\
         \"finish_wall\":{:.2},\"final_bytes_per_url\":{:.2},\"inside\":{:?}}}",
        total.count,
        generator.distinct,
        finish.wall,
        measure::bytes_below(folder) as f64 / generator.distinct as f64,
        store.inside(),
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
