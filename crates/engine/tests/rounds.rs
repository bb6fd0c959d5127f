//! Ten rounds in which pages change, vanish and come back: index and graph follow every one of
//! them, and in the end are what a rebuild makes. There is no mode that visits pages again yet, so
//! the rounds are written into journal and archive as a run would write them.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use teia_archive::{
    ArchiveConfig, Capture, Committed, RecordNames, Writer, capture_records, payload_digest,
};
use teia_base::journal::{
    ArchivePosition, Attempt, Commit, Entry, LinkRecord, LinkVerdict, Record, RunStarted,
    SEGMENT_HEADER, SeedRecord, encode_frame, segment_name,
};
use teia_base::{
    Body, CanonicalUrl, CaptureId, DiskFiles, Exchange, Files, Flags, Head, LinkKind, NormalForm,
    Outcome, Protocol, Rel, Response, Timestamp,
};
use teia_engine::{
    CollectionConfig, Control, Crawl, DryRun, Executor, Layout, Parts, rank_collection,
    rebuild_index, rebuild_links, renew_index,
};
use teia_extract::{Extractors, Source};
use teia_graph::{GraphConfig, RankFile, Snapshot};
use teia_search::{SearchConfig, SearchRequest, Searcher, Weights};

const KEY: u64 = 7;
const PAGES: u64 = 24;

/// A page as it is in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Its words, and the pages it links to.
    Page(String, BTreeSet<u64>),
    /// It asks to stay out of the index.
    Hidden(String, BTreeSet<u64>),
    Gone,
    /// The server fails; what was known of it stays.
    Failing,
}

/// A collection whose journal and archive are written by hand.
struct History {
    files: Arc<dyn Files>,
    layout: Layout,
    committed: Option<Committed>,
    captures: u64,
    seconds: i64,
}

fn url(page: u64) -> String {
    format!("http://h{}.example/{page}", page % 5)
}

fn canonical(page: u64) -> CanonicalUrl {
    CanonicalUrl::parse(&url(page)).unwrap()
}

impl History {
    fn new(root: &Path) -> Self {
        let files: Arc<dyn Files> = Arc::new(DiskFiles::new(root).unwrap());
        let history = Self {
            files,
            layout: Layout::new("default").unwrap(),
            committed: None,
            captures: 0,
            seconds: 1_794_772_800,
        };
        history.files.create_dir(&history.layout.journal()).unwrap();
        let seeds = vec![SeedRecord {
            url: NormalForm::default().parse(&url(0)).unwrap(),
            fallback_http: false,
            verdict: LinkVerdict::New,
        }];
        history.append(vec![Record::RunStarted(RunStarted {
            options: String::new(),
            seeds,
            version: "test".to_owned(),
        })]);
        history
    }

    /// Writes entries as a segment of their own.
    fn append(&self, records: Vec<Record>) {
        let first = support::entries_on(&self.files).len() as u64 + 1;
        let mut bytes = SEGMENT_HEADER.to_vec();
        for (sequence, record) in (first..).zip(records) {
            let wall = Timestamp::from_micros(self.seconds * 1_000_000);
            let entry = Entry {
                sequence,
                wall,
                run: 1,
                record,
            };
            let offset = bytes.len() as u64;
            encode_frame(&entry, offset, &mut bytes).unwrap();
        }
        let path = self.layout.journal().join(segment_name(first));
        let mut file = self.files.create(&path).unwrap();
        file.append(&bytes).unwrap();
        file.sync().unwrap();
    }

    /// One round: these pages are visited, in this order, a few in each commit.
    fn round(&mut self, number: u32, visits: &[(u64, State)]) {
        let mut archive = Writer::open(
            Arc::clone(&self.files),
            &self.layout.archive(),
            ArchiveConfig::default(),
            RecordNames::new(KEY),
            self.committed.clone(),
        )
        .unwrap();
        let mut records = Vec::new();
        for visits in visits.chunks(5) {
            let attempts = visits
                .iter()
                .map(|(page, state)| self.attempt(number, *page, state, &mut archive))
                .collect();
            self.committed = archive.sync().unwrap();
            let position = self.committed.as_ref().map(|committed| ArchivePosition {
                file: committed.file.clone(),
                len: committed.len,
            });
            records.push(Record::Commit(Commit {
                attempts,
                archive: position,
                ..Commit::default()
            }));
        }
        self.append(records);
    }

    fn attempt(&mut self, round: u32, page: u64, state: &State, archive: &mut Writer) -> Attempt {
        self.seconds += 1;
        let started = Timestamp::from_micros(self.seconds * 1_000_000);
        let found = NormalForm::default().parse(&url(page)).unwrap();
        let (status, meta, words, links) = match state {
            State::Page(words, links) => (200, "", words.as_str(), links.clone()),
            State::Hidden(words, links) => (
                200,
                "<meta name=robots content=noindex>",
                words.as_str(),
                links.clone(),
            ),
            State::Gone => (404, "", "", BTreeSet::new()),
            State::Failing => (503, "", "", BTreeSet::new()),
        };
        let mut attempt = Attempt::new(found, started, Outcome::http(status));
        attempt.visit = round + 1;
        attempt.answered = true;
        if status != 200 {
            return attempt;
        }
        let anchors: String = links
            .iter()
            .map(|to| format!("<a href=\"{}\">anchor{page}to{to}</a> ", url(*to)))
            .collect();
        let body = format!("<title>Page {page}</title>{meta}<p>{words}</p>{anchors}");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";
        let (name, value) = (17..29, 31..55);
        let mut exchange = Exchange::failed(Outcome::http(200), None, started, Instant::now());
        exchange.protocol = Protocol::Http11;
        exchange.request_head = Bytes::from_static(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        exchange.response = Some(Response {
            status: 200,
            head: Head::new(Bytes::from(head), vec![(name, value)]),
            body: Body::from(body.clone().into_bytes()),
            chunks: None,
        });
        let response = exchange.response.as_ref().unwrap();
        assert_eq!(response.media_type().unwrap().essence(), "text/html");
        self.captures += 1;
        let id = CaptureId(self.captures);
        let capture = Capture {
            id,
            names: RecordNames::new(KEY),
            url: attempt.url.request(),
            exchange: &exchange,
            payload_sha1: payload_digest(response).unwrap(),
            revisit_of: None,
            outlinks: &[],
            noarchive: false,
            truncated: None,
        };
        let records = capture_records(&capture, &ArchiveConfig::default()).unwrap();
        archive.append(&records, started).unwrap();
        attempt.capture = Some(id);
        attempt.media_type = Some("text/html".to_owned());
        attempt.body_bytes = body.len() as u64;
        let base = url::Url::parse(&url(page)).unwrap();
        let extracted = Extractors::default().extract(&Source::new(&base, body.as_bytes()));
        if extracted.robots.noindex {
            attempt.flags.add(Flags::NOINDEX);
        }
        attempt.links = extracted
            .links
            .iter()
            .map(|link| LinkRecord {
                url: NormalForm::default().parse(&link.url).unwrap(),
                kind: LinkKind::Anchor,
                rel: Rel::default(),
                anchor: link.anchor.clone(),
                last_modified: None,
                depth: 1,
                requisite: false,
                chain: None,
                verdict: LinkVerdict::Known,
            })
            .collect();
        attempt
    }

    /// Starts the followers as a run does, and waits until they have everything.
    fn follow(&self, root: &Path, config: &CollectionConfig) {
        let crawl = Crawl {
            files: Arc::clone(&self.files),
            root: root.to_owned(),
            key: KEY,
            layout: self.layout.clone(),
            config: config.clone(),
            save: false,
            seeds: Vec::new(),
            parts: Parts::default(),
            control: Control::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(DryRun.run(crawl)).unwrap();
    }
}

/// What the collection holds after some rounds.
#[derive(Default)]
struct Model {
    pages: BTreeMap<u64, (String, BTreeSet<u64>, bool)>,
}

impl Model {
    fn apply(&mut self, visits: &[(u64, State)]) {
        for (page, state) in visits {
            match state {
                State::Page(words, links) => {
                    self.pages
                        .insert(*page, (words.clone(), links.clone(), true));
                }
                State::Hidden(words, links) => {
                    self.pages
                        .insert(*page, (words.clone(), links.clone(), false));
                }
                State::Gone => {
                    self.pages.remove(page);
                }
                State::Failing => {}
            }
        }
    }

    fn check(&self, root: &Path, files: &dyn Files, every_word: &BTreeSet<String>) {
        let prefix = Path::new("default/links");
        let snapshot = Snapshot::open(files, prefix, &GraphConfig::default()).unwrap();
        for page in 0..PAGES {
            let counts = snapshot.counts(&canonical(page)).unwrap();
            let linking = self
                .pages
                .values()
                .filter(|(_, links, _)| links.contains(&page));
            let in_links = linking.count() as u64;
            let out_links = self
                .pages
                .get(&page)
                .map(|(_, links, _)| links.len() as u64);
            match counts {
                Some(counts) => assert_eq!(
                    (counts.out_links, counts.in_links),
                    (out_links, in_links),
                    "page {page}"
                ),
                None => assert_eq!((out_links, in_links), (None, 0), "page {page}"),
            }
        }
        let all: BTreeSet<String> = snapshot.pages().map(Result::unwrap).collect();
        assert_eq!(all, self.pages.keys().map(|page| url(*page)).collect());
        let searcher = searcher(root);
        for word in every_word {
            let want: BTreeSet<String> = self
                .pages
                .iter()
                .filter(|(_, (words, _, is_open))| {
                    *is_open && words.split(' ').any(|it| it == word)
                })
                .map(|(page, _)| url(*page))
                .collect();
            assert_eq!(found(&searcher, word), want, "{word}");
        }
    }
}

fn searcher(root: &Path) -> Searcher {
    let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
    searcher
        .open("default", &root.join("default/index"))
        .unwrap();
    searcher
}

/// Every address with this word in its own text.
fn found(searcher: &Searcher, word: &str) -> BTreeSet<String> {
    let request = SearchRequest {
        limit: 100,
        group_similar: false,
        ..SearchRequest::new(word)
    };
    let hits = searcher.search(&request).unwrap().hits;
    hits.into_iter()
        .flat_map(|hit| hit.other_addresses.into_iter().chain([hit.url]))
        .collect()
}

/// Numbers that follow from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn state(&mut self, round: u64, page: u64) -> State {
        let links = (0..self.below(6)).map(|_| self.below(PAGES)).collect();
        // Two texts in a round are shared by many pages: exact duplicates of each other.
        let words = match self.below(4) {
            0 => format!("shared{}x{round} text", self.below(2)),
            _ => format!("own{page}x{round} palavra"),
        };
        match self.below(10) {
            0 | 1 => State::Gone,
            2 => State::Failing,
            3 => State::Hidden(words, links),
            _ => State::Page(words, links),
        }
    }
}

#[test]
fn ten_rounds_of_change_leave_what_a_rebuild_makes() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let mut history = History::new(root);
    let mut config = CollectionConfig::default();
    // A queue of its own size would hold all; here much is read again from the disk.
    config.links.queue_bytes = 2000;
    let mut model = Model::default();
    let mut draw = Draw(42);
    let mut words: BTreeSet<String> = BTreeSet::new();
    for round in 0..10_u64 {
        let visits: Vec<(u64, State)> = (0..PAGES)
            .filter(|page| round == 0 || (page + round) % 3 != 0)
            .map(|page| (page, draw.state(round, page)))
            .collect();
        for (_, state) in &visits {
            if let State::Page(text, _) | State::Hidden(text, _) = state {
                words.extend(text.split(' ').map(str::to_owned));
            }
        }
        history.round(u32::try_from(round).unwrap(), &visits);
        model.apply(&visits);
        history.follow(root, &config);
        model.check(root, &*history.files, &words);
    }
    assert!(
        model.pages.len() > 10,
        "{} pages are left",
        model.pages.len()
    );

    // Anchors and ranks of the links that are left, and of no others.
    let (files, layout) = (&history.files, &history.layout);
    rank_collection(&**files, layout, &config.links, |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(renew_index(files, layout, &config).unwrap());
    let ranks = RankFile::open(&**files, &layout.links(), &GraphConfig::default())
        .unwrap()
        .unwrap();
    let nodes: BTreeSet<u64> = model
        .pages
        .iter()
        .flat_map(|(page, (_, links, _))| links.iter().chain([page]))
        .copied()
        .collect();
    assert_eq!(ranks.len(), nodes.len() as u64);
    let answers = || -> Vec<Vec<(String, String)>> {
        let searcher = searcher(root);
        let anchors =
            (0..PAGES).flat_map(|from| (0..PAGES).map(move |to| format!("anchor{from}to{to}")));
        let ten = |query: String| {
            let hits = searcher.search(&SearchRequest::new(query)).unwrap().hits;
            hits.into_iter()
                .map(|hit| (hit.url, format!("{} {:.3}", hit.rank, hit.score)))
                .collect()
        };
        anchors.chain(words.iter().cloned()).map(ten).collect()
    };
    let before = answers();
    let pairs = (0..PAGES).flat_map(|from| (0..PAGES).map(move |to| (from, to)));
    for ((from, to), hits) in pairs.zip(&before) {
        let is_linked = model
            .pages
            .get(&from)
            .is_some_and(|(_, links, _)| links.contains(&to));
        let is_found = hits.iter().any(|(found, _)| *found == url(to));
        let is_open = |page: u64| model.pages.get(&page).is_some_and(|(_, _, open)| *open);
        if is_found {
            assert!(
                is_linked || hits.iter().all(|(found, _)| *found == url(from)),
                "{from} to {to}"
            );
        }
        // The page itself has the text of its links, too; one whose text another has may hide behind it.
        if is_linked && is_open(to) && from != to {
            assert!(!hits.is_empty(), "{from} to {to}");
        }
    }
    rebuild_links(files, layout, &config).unwrap();
    rank_collection(&**files, layout, &config.links, |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    rebuild_index(files, layout, &config, |_, _| {}).unwrap();
    model.check(root, &**files, &words);
    assert_eq!(answers(), before);
}
