//! In-links: how many pages link to a URL, each page once, however often it was visited, in how many
//! processes, and wherever the power was cut; as the pages say now (the graph), and as any version
//! of them ever said (the journal).

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use support::entries_on;
use teia_base::journal::{
    Attempt, Commit, Entry, LinkRecord, LinkVerdict, Record, RunStarted, SEGMENT_HEADER,
    SeedRecord, encode_frame, segment_name,
};
use teia_base::{
    CanonicalUrl, DiskFiles, Files, LinkKind, NormalForm, Outcome, PowerCut, Rel, SimulatedDisk,
    Timestamp,
};
use teia_engine::{
    CollectionConfig, Control, Crawl, Directory, DryRun, Executor, Layout, Parts, Reading,
};
use teia_graph::{GraphConfig, Snapshot};

const PAGES: u64 = 40;

fn url(page: u64) -> String {
    format!("http://h{}.links.test/{page}", page % 7)
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What pages link to, now and ever.
#[derive(Default)]
struct Model {
    now: BTreeMap<u64, BTreeSet<u64>>,
    ever: BTreeSet<(u64, u64)>,
    met: BTreeSet<u64>,
}

impl Model {
    /// One attempt at a page: mostly a new version, with links that may be there twice; or it is
    /// gone, or the server fails.
    fn attempt(&mut self, draw: &mut Draw, moment: i64) -> Attempt {
        let page = draw.below(PAGES);
        let found = NormalForm::default().parse(&url(page)).unwrap();
        let status = match draw.below(8) {
            0 => 404,
            1 => 503,
            _ => 200,
        };
        let started = Timestamp::from_micros(moment * 1_000_000);
        let mut attempt = Attempt::new(found, started, Outcome::http(status));
        attempt.answered = true;
        attempt.media_type = Some("text/html".to_owned());
        match status {
            200 => {
                let links: Vec<u64> = (0..draw.below(9)).map(|_| draw.below(PAGES)).collect();
                attempt.links = links.iter().map(|&to| self.link(to)).collect();
                self.ever.extend(links.iter().map(|&to| (page, to)));
                self.now.insert(page, links.into_iter().collect());
            }
            404 => {
                self.now.remove(&page);
            }
            _ => {}
        }
        attempt
    }

    fn link(&mut self, to: u64) -> LinkRecord {
        LinkRecord {
            url: NormalForm::default().parse(&url(to)).unwrap(),
            kind: LinkKind::Anchor,
            rel: Rel::default(),
            anchor: String::new(),
            last_modified: None,
            depth: 1,
            requisite: false,
            chain: None,
            verdict: if self.met.insert(to) {
                LinkVerdict::New
            } else {
                LinkVerdict::Known
            },
        }
    }

    fn check(&self, files: &dyn Files) {
        let links = Layout::new("default").unwrap().links();
        let snapshot = Snapshot::open(files, &links, &GraphConfig::default()).unwrap();
        for page in 0..PAGES {
            let counts = snapshot.counts(&CanonicalUrl::parse(&url(page)).unwrap());
            let counted = counts.unwrap().map_or(0, |counts| counts.in_links);
            let linking = self.now.values().filter(|links| links.contains(&page));
            assert_eq!(counted, linking.count() as u64, "{}", url(page));
        }
    }
}

/// Writes entries as a segment of their own, as a run would.
fn append(files: &Arc<dyn Files>, records: Vec<Record>) {
    let first = entries_on(files).len() as u64 + 1;
    let mut bytes = SEGMENT_HEADER.to_vec();
    for (sequence, record) in (first..).zip(records) {
        let wall = Timestamp::from_micros(1_794_772_800_000_000);
        let run = 1;
        let entry = Entry {
            sequence,
            wall,
            run,
            record,
        };
        let offset = bytes.len() as u64;
        encode_frame(&entry, offset, &mut bytes).unwrap();
    }
    let journal = Layout::new("default").unwrap().journal();
    files.create_dir(&journal).unwrap();
    let mut file = files.create(&journal.join(segment_name(first))).unwrap();
    file.append(&bytes).unwrap();
    file.sync().unwrap();
    files.sync_dir(&journal).unwrap();
}

fn begin(files: &Arc<dyn Files>, model: &mut Model) {
    model.met.insert(0);
    let seeds = vec![SeedRecord {
        url: NormalForm::default().parse(&url(0)).unwrap(),
        fallback_http: false,
        verdict: LinkVerdict::New,
    }];
    append(
        files,
        vec![Record::RunStarted(RunStarted {
            options: String::new(),
            seeds,
            version: "test".to_owned(),
        })],
    );
}

/// A few commits in which pages are visited again and again, also twice in one.
fn round(files: &Arc<dyn Files>, model: &mut Model, draw: &mut Draw, moment: &mut i64) {
    let mut records = Vec::new();
    for _ in 0..1 + draw.below(4) {
        let mut commit = Commit::default();
        for _ in 0..1 + draw.below(12) {
            *moment += 1;
            commit.attempts.push(model.attempt(draw, *moment));
        }
        records.push(Record::Commit(commit));
    }
    append(files, records);
}

/// A process that opens the collection and lets the followers take everything in. Every other one
/// has so little memory that its URLs are on disk.
fn follow(files: &Arc<dyn Files>, root: &Path, key: u64, on_disk: bool) -> bool {
    let mut config = CollectionConfig::default();
    config.index.enabled = false;
    config.archive.enabled = false;
    config.catalog.enabled = false;
    // What is outside would be left out, and its links with it.
    config.filter.scope = teia_base::scope::Scope::Any;
    // Much is read again from the journal.
    config.links.queue_bytes = 2000;
    if on_disk {
        config.run.repository_memory = 4 << 10;
    }
    let crawl = Crawl {
        files: Arc::clone(files),
        root: root.to_owned(),
        key,
        layout: Layout::new("default").unwrap(),
        config,
        save: false,
        seeds: Vec::new(),
        parts: Parts::default(),
        control: Control::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(DryRun.run(crawl)).is_ok()
}

#[test]
fn each_linking_page_counts_once_over_visits_starts_and_power_cuts() {
    let mut cuts = 0;
    for seed in 1..=12_u64 {
        let on_disk = seed % 2 == 0;
        let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let disk = SimulatedDisk::new();
        let files: Arc<dyn Files> = Arc::new(disk.clone());
        let mut model = Model::default();
        let mut moment = 1_794_772_800;
        begin(&files, &mut model);
        for _ in 0..8 {
            round(&files, &mut model, &mut draw, &mut moment);
            if draw.below(2) == 0 {
                disk.plan(PowerCut {
                    after_calls: draw.below(60),
                });
                follow(&files, Path::new("data"), 7, on_disk);
                disk.cut_power(draw.below(u64::MAX));
                cuts += 1;
            }
            assert!(follow(&files, Path::new("data"), 7, on_disk));
            model.check(&*files);
        }
        let urls = Layout::new("default").unwrap().urls().join("manifest");
        assert_eq!(files.exists(&urls), on_disk, "where the URLs are");
    }
    assert!(cuts > 20, "{cuts} cuts show nothing");
}

#[test]
fn without_a_graph_the_journal_tells_each_page_that_ever_linked_here_once() {
    for on_disk in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let directory = Directory::create(root).unwrap();
        let files: Arc<dyn Files> = Arc::new(DiskFiles::new(root).unwrap());
        let mut model = Model::default();
        let mut draw = Draw(0xD1CE);
        let mut moment = 1_794_772_800;
        begin(&files, &mut model);
        for _ in 0..6 {
            round(&files, &mut model, &mut draw, &mut moment);
            assert!(follow(&files, root, directory.key(), on_disk));
        }
        let reading = Reading::open(&directory, "default").unwrap();
        for page in 0..PAGES {
            let explained = reading.explain(&CanonicalUrl::parse(&url(page)).unwrap());
            let counted = explained.unwrap().map_or(0, |it| it.in_link_count);
            let linking = model.ever.iter().filter(|(_, to)| *to == page);
            assert_eq!(counted, linking.count() as u64, "{}", url(page));
        }
    }
}
