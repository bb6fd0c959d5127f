//! A start reads what was saved and the journal's end, not the journal's beginning; so does whoever
//! looks at a collection.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail loudly and say what it counted"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use teia_base::journal::{Next, pack_segment, segment_name, segments};
use teia_base::{CanonicalUrl, DiskFiles, Files, Overlay, Seed, SystemClock};
use teia_engine::{
    CollectionConfig, Control, Crawl, Directory, EngineError, Executor, LastRun, Layout, Parts,
    Reading, Report, ThisMachine,
};
use teia_fetch::ScriptedFetcher;
use teia_repository::blocks::Store;
use teia_repository::{Backing, State};

const HOSTS: u64 = 9;
const PAGES: u64 = 120;

fn url(host: u64, page: u64) -> String {
    format!("http://h{host}.large.test/a-rather-long-directory/page-{page}.html")
}

fn web() -> ScriptedFetcher {
    let mut fetcher = ScriptedFetcher::new(Arc::new(SystemClock));
    for host in 0..HOSTS {
        for page in 0..PAGES {
            let links = [
                url(host, (page + 1) % PAGES),
                url(host, (page * 7 + 3) % PAGES),
                url((host + 1) % HOSTS, page),
                format!("http://outside.test/{}", page % 40),
            ];
            let links = links.map(|link| format!("<a href=\"{link}\">{page}</a> "));
            let text = format!("<title>{host}/{page}</title>{}", links.concat());
            fetcher = fetcher.page(&url(host, page), "text/html; charset=utf-8", &text);
        }
    }
    fetcher
}

fn config(most_pages: Option<u64>) -> CollectionConfig {
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.filter.scope = "suffix:.large.test".parse().unwrap();
    config.filter.max_pages = most_pages;
    config.run.commit_every = Duration::from_millis(5);
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    config.run.repository_memory = 4 << 10;
    config.run.journal_segment_bytes = 4 << 10;
    config.archive.enabled = false;
    config.index.enabled = false;
    config.links.enabled = false;
    config
}

fn crawl(root: &Path, fetcher: &ScriptedFetcher, most_pages: Option<u64>) -> Report {
    try_crawl(root, fetcher, most_pages).unwrap()
}

fn try_crawl(
    root: &Path,
    fetcher: &ScriptedFetcher,
    most_pages: Option<u64>,
) -> Result<Report, EngineError> {
    crawl_as(root, fetcher, config(most_pages))
}

fn crawl_as(
    root: &Path,
    fetcher: &ScriptedFetcher,
    config: CollectionConfig,
) -> Result<Report, EngineError> {
    let directory = Directory::create(root).unwrap();
    let crawl = Crawl {
        files: directory.files(),
        root: root.to_owned(),
        key: directory.key(),
        layout: Layout::new("default").unwrap(),
        config,
        save: true,
        seeds: vec![Seed::parse(&url(0, 0)).unwrap().unwrap()],
        parts: Parts {
            fetcher: Some(Arc::new(fetcher.clone())),
            ..Parts::default()
        },
        control: Control::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(ThisMachine.run(crawl))
}

fn reading(root: &Path) -> Reading {
    Reading::open(&Directory::open(root).unwrap(), "default").unwrap()
}

/// Runs, growth, states and hosts, as people and the next process see them.
fn shown(root: &Path) -> String {
    let overview = reading(root).overview().unwrap();
    let mut growth = overview.growth;
    // What folds decide is known a little earlier or later.
    growth.iter_mut().for_each(|row| row.known = 0);
    let repository = &overview.repository;
    let hosts: BTreeMap<&str, _> = repository
        .hosts()
        .map(|(host, name)| {
            let record = repository.host_record(host).cloned().unwrap_or_default();
            (name, (repository.host_counts(host), record))
        })
        .collect();
    let states = State::ALL.map(|state| repository.count(state));
    format!("{:#?} {growth:?} {states:?} {hosts:#?}", overview.runs)
}

fn blocks_position(root: &Path) -> u64 {
    let directory = Directory::open(root).unwrap();
    let files: Arc<dyn Files> = Arc::new(Overlay::in_scratch(directory.files()).unwrap());
    let backing = Backing {
        files: Arc::clone(&files),
        prefix: Layout::new("default").unwrap().urls(),
        memory: 4 << 10,
        window: 10,
        filter_bits: 10,
    };
    let store = Store::open(files, backing.store_config(directory.key()));
    store.unwrap().position()
}

fn answered(files: &DiskFiles) -> Vec<String> {
    let attempts = support::attempts(files).into_iter();
    attempts
        .filter(|attempt| attempt.next == Next::Done && !attempt.is_robots())
        .map(|attempt| attempt.url.normal().to_string())
        .collect()
}

#[test]
fn what_was_saved_says_what_the_whole_journal_says() {
    let (place, fetcher) = (tempfile::tempdir().unwrap(), web());
    let root = place.path();
    for most_pages in [Some(300), Some(300), None] {
        crawl(root, &fetcher, most_pages);
        let part = root.join("default/part-0");
        let with = shown(root);
        assert!(part.join("manifest").exists(), "nothing was saved");
        std::fs::rename(part.join("manifest"), part.join("aside")).unwrap();
        let without = shown(root);
        std::fs::rename(part.join("aside"), part.join("manifest")).unwrap();
        assert_eq!(with, without);
    }
}

#[test]
fn a_start_and_a_reader_need_only_the_end_of_the_journal() {
    let (place, fetcher) = (tempfile::tempdir().unwrap(), web());
    let root = place.path();
    let layout = Layout::new("default").unwrap();
    let files = DiskFiles::new(root).unwrap();
    let mut fetched = Vec::new();
    let mut removed = 0;
    for most_pages in [Some(300), Some(300), None] {
        crawl(root, &fetcher, most_pages);
        let before = shown(root);
        fetched = [fetched, answered(&files)].concat();
        // Everything goes that the blocks have; the checkpoint is of the end of the run.
        let found = segments(&files, &layout.journal()).unwrap();
        let position = blocks_position(root);
        let needed = found.partition_point(|first| *first <= position);
        let gone = &found[..needed.saturating_sub(1)];
        println!("{} of {} segments removed", gone.len(), found.len());
        removed += gone.len();
        for first in gone {
            let path = layout.journal().join(segment_name(*first));
            files.remove(&path).unwrap();
        }
        // What is left is met again in the next round.
        let left: BTreeSet<String> = answered(&files).into_iter().collect();
        fetched.retain(|url| !left.contains(url));
        assert_eq!(shown(root), before);
    }
    assert!(removed > 2, "{removed} segments");
    fetched.extend(answered(&files));
    let distinct: BTreeSet<&String> = fetched.iter().collect();
    let all = usize::try_from(HOSTS * PAGES).unwrap();
    assert_eq!((distinct.len(), fetched.len()), (all, all));
    let repository = reading(root).repository().unwrap();
    assert_eq!(repository.count(State::Fetched), HOSTS * PAGES);
    assert_eq!(repository.count(State::Waiting), 0);
}

#[test]
fn a_damaged_checkpoint_costs_time_and_nothing_else() {
    let (place, fetcher) = (tempfile::tempdir().unwrap(), web());
    let root = place.path();
    crawl(root, &fetcher, Some(700));
    crawl(root, &fetcher, Some(100));
    let before = shown(root);
    let state = root.join("default/part-0/state");
    for entry in std::fs::read_dir(state).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(shown(root), before);
    crawl(root, &fetcher, None);
    let repository = reading(root).repository().unwrap();
    assert_eq!(repository.count(State::Fetched), HOSTS * PAGES);
}

#[test]
fn blocks_without_a_manifest_that_can_be_read_are_made_again_from_the_journal() {
    let (place, fetcher) = (tempfile::tempdir().unwrap(), web());
    let root = place.path();
    crawl(root, &fetcher, Some(700));
    crawl(root, &fetcher, Some(100));
    let urls = root.join("default/part-0/urls");
    for name in ["manifest", "manifest.copy"] {
        let mut bytes = std::fs::read(urls.join(name)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(urls.join(name), bytes).unwrap();
    }
    // A reader says what is wrong; whoever may write makes it good.
    let error = format!("{:?}", reading(root).repository().unwrap_err());
    assert!(
        error.contains("Damaged") && error.contains("manifest"),
        "{error}"
    );
    crawl(root, &fetcher, None);
    let repository = reading(root).repository().unwrap();
    assert_eq!(repository.count(State::Fetched), HOSTS * PAGES);
    assert_eq!(repository.count(State::Waiting), 0);
    let files = DiskFiles::new(root).unwrap();
    let fetched = answered(&files);
    let distinct: BTreeSet<&String> = fetched.iter().collect();
    assert_eq!(distinct.len(), fetched.len(), "a page was fetched twice");
}

#[test]
fn damaged_blocks_are_told_of_and_made_again_from_the_journal() {
    let (place, fetcher) = (tempfile::tempdir().unwrap(), web());
    let root = place.path();
    crawl(root, &fetcher, Some(600));
    crawl(root, &fetcher, Some(100));
    let known: Vec<String> = answered(&DiskFiles::new(root).unwrap());
    for entry in std::fs::read_dir(root.join("default/part-0/urls")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("run-") {
            let mut bytes = std::fs::read(&path).unwrap();
            for at in (40..bytes.len()).step_by(97) {
                bytes[at] ^= 0x55;
            }
            std::fs::write(&path, bytes).unwrap();
        }
    }
    let mut errors = 0;
    for url in known.iter().step_by(20) {
        let url = CanonicalUrl::parse(url).unwrap();
        match reading(root).explain(&url) {
            Err(_) => errors += 1,
            Ok(found) => assert!(found.is_some(), "{url} is known, and was denied"),
        }
    }
    assert!(errors > 0, "nothing was damaged");
    // One run may fail, or leave something; the next one does not.
    let _ = try_crawl(root, &fetcher, None);
    crawl(root, &fetcher, None);
    let repository = reading(root).repository().unwrap();
    assert_eq!(repository.count(State::Fetched), HOSTS * PAGES);
    assert_eq!(repository.count(State::Waiting), 0);
}

/// As [`config`], with a journal of which only the last segments are not packed.
fn packed(most_pages: Option<u64>) -> CollectionConfig {
    let mut config = config(most_pages);
    config.run.journal_bytes = 8 << 10;
    config
}

/// What is sealed when a run ends may not be packed yet: the thread that does it stops then.
fn pack_the_rest(files: &dyn Files, layout: &Layout) {
    let mut found = segments(files, &layout.journal()).unwrap();
    found.pop();
    for first in found {
        assert!(pack_segment(files, &layout.journal(), first, &|| false).unwrap());
    }
}

#[test]
fn packed_segments_say_all_that_a_collection_is_made_of() {
    let (place, fetcher) = (tempfile::tempdir().unwrap(), web());
    let root = place.path();
    let layout = Layout::new("default").unwrap();
    for most_pages in [Some(400), Some(300)] {
        crawl_as(root, &fetcher, packed(most_pages)).unwrap();
        let files: Arc<dyn Files> = Arc::new(DiskFiles::new(root).unwrap());
        pack_the_rest(&*files, &layout);
        // When the run began is known, though that is packed.
        let entries = support::entries_on(&files);
        let last = entries.last().unwrap().run;
        let began = entries.iter().find(|entry| entry.run == last).unwrap();
        let read = LastRun::read(&files, &layout).unwrap().unwrap();
        assert_eq!((read.number, read.began), (last, began.wall));
        let unpacked = segments(&*files, &layout.journal()).unwrap();
        assert!(unpacked[0] > began.sequence, "the run lies in one segment");
    }
    let files = DiskFiles::new(root).unwrap();
    let size = |folder: &Path| -> u64 {
        let names = files.list(folder).unwrap();
        let open = |name: &String| files.open(&folder.join(name)).unwrap().len().unwrap();
        names.iter().map(open).sum()
    };
    let (journal, history) = (size(&layout.journal()), size(&layout.history()));
    let packs = files.list(&layout.history()).unwrap().len();
    println!("journal {journal}, history {history} bytes in {packs} packs");
    assert!(packs > 3, "{packs} packs");
    // Nothing is missing, and nothing is there twice.
    let entries = support::entries(&files);
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.sequence).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    // A page whose attempt is packed is explained by it.
    let first = CanonicalUrl::parse(&url(0, 0)).unwrap();
    let explained = reading(root).explain(&first).unwrap().unwrap();
    assert_eq!(explained.attempts.len(), 1);
    assert!(!explained.in_links.is_empty());
    let second = CanonicalUrl::parse(&url(0, 1)).unwrap();
    let found_on = reading(root)
        .explain(&second)
        .unwrap()
        .unwrap()
        .state
        .referrer;
    assert_eq!(found_on, Some(url(0, 0)));
    let before = shown(root);
    // Blocks and what was saved go; they are made again from what is packed.
    for folder in ["urls", "state"] {
        std::fs::remove_dir_all(root.join("default/part-0").join(folder)).unwrap();
    }
    std::fs::remove_file(root.join("default/part-0/manifest")).unwrap();
    assert_eq!(shown(root), before);
    crawl_as(root, &fetcher, packed(None)).unwrap();
    let repository = reading(root).repository().unwrap();
    assert_eq!(repository.count(State::Fetched), HOSTS * PAGES);
    assert_eq!(repository.count(State::Waiting), 0);
    let fetched = answered(&files);
    let distinct: BTreeSet<&String> = fetched.iter().collect();
    assert_eq!(distinct.len(), fetched.len(), "a page was fetched twice");
}

#[test]
fn a_damaged_pack_is_named_and_stops_nobody_who_does_not_need_it() {
    let (place, fetcher) = (tempfile::tempdir().unwrap(), web());
    let root = place.path();
    crawl_as(root, &fetcher, packed(Some(700))).unwrap();
    pack_the_rest(
        &DiskFiles::new(root).unwrap(),
        &Layout::new("default").unwrap(),
    );
    let history = root.join("default/part-0/history");
    let mut packs: Vec<_> = std::fs::read_dir(&history)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    packs.sort();
    let mut bytes = std::fs::read(&packs[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&packs[0], bytes).unwrap();
    let first = CanonicalUrl::parse(&url(0, 0)).unwrap();
    let error = reading(root).explain(&first).unwrap_err().to_string();
    let name = packs[0].file_name().unwrap().to_string_lossy().into_owned();
    assert!(
        error.contains(&name) && error.contains("damaged"),
        "{error}"
    );
    crawl_as(root, &fetcher, packed(None)).unwrap();
    let repository = reading(root).repository().unwrap();
    assert_eq!(repository.count(State::Fetched), HOSTS * PAGES);
}

#[test]
fn whoever_only_looks_changes_nothing() {
    fn tree(root: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(root).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(tree(&path));
            } else {
                let content = std::fs::read(&path).unwrap();
                found.insert(path, content);
            }
        }
        found
    }
    let (place, fetcher) = (tempfile::tempdir().unwrap(), web());
    let root = place.path();
    crawl(root, &fetcher, Some(700));
    crawl(root, &fetcher, Some(100));
    let before = tree(root);
    let mut repository = reading(root).repository().unwrap();
    let mut count = 0;
    repository.for_each(None, |_| true, |_| count += 1).unwrap();
    assert!(count > 400, "{count}");
    assert!(repository.verify().unwrap().problems.is_empty());
    drop(repository);
    assert!(tree(root) == before, "a reader has changed a file");
}
