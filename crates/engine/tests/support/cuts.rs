//! One crawl over a disk whose power is cut again and again, and everything that must hold after it.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use teia_archive::Captures;
use teia_base::journal::{Attempt, Entry, Next, Record, walk};
use teia_base::{Files, PowerCut, Request, SimulatedDisk, SystemClock};
use teia_engine::{CollectionConfig, Control, Event, Feedback, Layout, Parts};
use teia_fetch::{Fetcher, Fetching, ScriptedFetcher};

use crate::failing::{Failing, Failure};
use crate::planted::{Bug, Planted};
use crate::steps::Stepped;
use crate::support::{called_new_in, crawl_on};

const HOSTS: u64 = 3;
const PAGES: u64 = 16;
/// With more pages on a host than this, its first page links to all of them.
const MANY: u64 = 1000;
/// Power cuts that one crawl suffers at most.
const CUTS: u64 = 6;

/// What one seed showed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) cuts: u64,
    pub(crate) packs: usize,
}

/// The web that is crawled, and what must be found in it.
pub(crate) struct Harness {
    fetcher: ScriptedFetcher,
    all: BTreeSet<String>,
}

fn url(host: u64, page: u64) -> String {
    format!("http://h{host}.cut.test/p{page}")
}

impl Harness {
    /// Every page links to three others of its host and one of the next; all are reachable.
    pub(crate) fn new() -> Self {
        Self::sized(HOSTS, PAGES)
    }

    /// The same with so many hosts, and so many pages on each.
    pub(crate) fn sized(hosts: u64, pages: u64) -> Self {
        let mut fetcher = ScriptedFetcher::new(Arc::new(SystemClock));
        let mut all = BTreeSet::new();
        for host in 0..hosts {
            for page in 0..pages {
                let mut links = vec![
                    url(host, (page + 1) % pages),
                    url(host, (page * 7 + 3) % pages),
                    url(host, (page * 5 + 1) % pages),
                    url((host + 1) % hosts, page),
                ];
                if pages > MANY && page == 0 {
                    // So many wait at once that windows are kept aside.
                    links.extend((1..pages).map(|page| url(host, page)));
                }
                let body: String = links
                    .iter()
                    .map(|link| format!("<a href=\"{link}\">{page}</a> "))
                    .collect();
                let text = format!(
                    "<title>{host}/{page}</title><p>{}</p>{body}",
                    "palavra ".repeat(usize::try_from(20 + page).unwrap())
                );
                fetcher = fetcher.page(&url(host, page), "text/html; charset=utf-8", &text);
                all.insert(url(host, page));
            }
        }
        Self { fetcher, all }
    }

    /// How often the disk is called at each step of a crawl whose power does not fail.
    pub(crate) fn steps(&self, seed: u64) -> Result<BTreeMap<&'static str, u64>, String> {
        let disk = SimulatedDisk::new();
        let files = Stepped::new(&disk, None);
        let parts = Parts {
            fetcher: Some(Arc::new(self.fetcher.clone())),
            ..Parts::default()
        };
        let (config, seeds) = (config(seed), [url(0, 0)]);
        crawl_on(
            Arc::new(files.clone()),
            &config,
            &seeds,
            parts,
            &Control::default(),
        )
        .map_err(|error| chain(&error))?;
        self.check_end(seed, &disk)?;
        Ok(files.calls())
    }

    /// Crawls until the power fails before this call at this step, and then to the end, with the power failing once more
    /// when the blocks are opened again. What was being done at each failure; none where it did not come to it.
    pub(crate) fn check_step(
        &self,
        seed: u64,
        step: &'static str,
        call: u64,
    ) -> Result<[Option<String>; 2], String> {
        let disk = SimulatedDisk::new();
        let (mut hit, mut in_recovery) = (None, None);
        // There are few: the place is made sure of, and what the failure left is removed.
        let again = ("recovery", call % 2);
        let mut committed = BTreeSet::new();
        for cut in [Some((step, call)), Some(again), None] {
            let files = Stepped::new(&disk, cut);
            let acknowledged = Arc::new(Acknowledged::default());
            let asked = Asked::of(&self.fetcher);
            let parts = Parts {
                fetcher: Some(Arc::new(asked.clone())),
                feedback: acknowledged.clone(),
                ..Parts::default()
            };
            let (config, seeds) = (config(seed), [url(0, 0)]);
            let ended = crawl_on(
                Arc::new(files.clone()),
                &config,
                &seeds,
                parts,
                &Control::default(),
            );
            if cut == Some((step, call)) {
                hit = files.hit();
            } else if cut == Some(again) {
                in_recovery = files.hit();
            }
            let wrong = |wrong: String| format!("{step}, call {call} ({hit:?}): {wrong}");
            match (&ended, files.hit()) {
                (Err(error), None) => {
                    return Err(wrong(format!(
                        "given up with the power on: {}",
                        chain(error)
                    )));
                }
                // The last calls of a run may fail unheard: nothing depends on them.
                (_, Some(_)) => disk.cut_power(call ^ seed << 32),
                (Ok(_), None) => {}
            }
            let entries = entries(&disk).map_err(wrong)?;
            let kept = entries.last().map_or(0, |entry| entry.sequence);
            let said = acknowledged.0.load(Ordering::Relaxed);
            if kept < said {
                let lost = format!("entry {said} was called committed, and only {kept} are there");
                return Err(wrong(lost));
            }
            asked.check(&committed).map_err(wrong)?;
            let now = known_pages(&entries).map_err(wrong)?;
            let lost: Vec<_> = committed.difference(&now).collect();
            if !lost.is_empty() {
                return Err(wrong(format!("lost {lost:?}")));
            }
            committed = now;
        }
        let end = self.check_end(seed, &disk);
        end.map_err(|wrong| format!("{step}, call {call} ({hit:?}): {wrong}"))?;
        Ok([hit, in_recovery])
    }

    /// Crawls until done, with the power cut at seeded moments, and with a bug if one is given. What is
    /// wrong after it, in words.
    pub(crate) fn check(&self, seed: u64, bug: Option<Bug>) -> Result<Seen, String> {
        let disk = SimulatedDisk::new();
        let cuts = self.crawl(seed, bug, &disk).and_then(|cuts| {
            self.check_end(seed, &disk)
                .map(|packs| Seen { cuts, packs })
        });
        cuts.map_err(|wrong| format!("seed {seed}: {wrong} (TEIA_SEED={seed} TEIA_SEEDS=1)"))
    }

    fn crawl(&self, seed: u64, bug: Option<Bug>, disk: &SimulatedDisk) -> Result<u64, String> {
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut draw = |bound: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % bound
        };
        let mut committed: BTreeSet<String> = BTreeSet::new();
        let mut cuts = 0;
        loop {
            let mut last_call = u64::MAX;
            if cuts < CUTS {
                let after_calls = draw(if seed % 2 == 1 { 240 } else { 90 });
                last_call = disk.calls() + after_calls;
                disk.plan(PowerCut { after_calls });
            }
            let acknowledged = Arc::new(Acknowledged::default());
            let asked = Asked::of(&self.fetcher);
            let parts = Parts {
                fetcher: Some(Arc::new(asked.clone())),
                feedback: acknowledged.clone(),
                ..Parts::default()
            };
            let files: Arc<dyn Files> = match bug {
                Some(bug) => Arc::new(Planted::new(disk.clone(), bug)),
                None => Arc::new(disk.clone()),
            };
            let (config, seeds) = (config(seed), [url(0, 0)]);
            let result = crawl_on(files, &config, &seeds, parts, &Control::default());
            let Err(error) = result else {
                known_pages(&entries(disk)?)?;
                asked.check(&committed)?;
                return Ok(cuts);
            };
            // Only the power may end a crawl: whatever else does is what a bug has left behind.
            if disk.calls() <= last_call {
                return Err(format!("given up with the power on: {}", chain(&error)));
            }
            cuts += 1;
            disk.cut_power(draw(u64::MAX));
            let said = acknowledged.0.load(Ordering::Relaxed);
            let entries = entries(disk)?;
            let kept = entries.last().map_or(0, |entry| entry.sequence);
            if kept < said {
                return Err(format!(
                    "entry {said} was called committed, and only {kept} are there"
                ));
            }
            let now = known_pages(&entries)?;
            asked.check(&committed)?;
            // What one process saw as committed, every later one must see too.
            let lost: Vec<_> = committed.difference(&now).collect();
            if !lost.is_empty() {
                return Err(format!("lost {lost:?}"));
            }
            committed = now;
        }
    }

    /// Crawls with one failing call, with a bug if one is given; cuts the power, and crawls once more without. How the first
    /// one ended, in a word; none where it has fewer calls.
    pub(crate) fn check_failing(
        &self,
        seed: u64,
        call: u64,
        failure: Failure,
        bug: Option<Bug>,
    ) -> Result<Option<String>, String> {
        let disk = SimulatedDisk::new();
        if failure == Failure::Unreadable {
            self.begin(seed, call, &disk)?;
        }
        let files = Failing::new(&disk, call, failure);
        let ended = self.crawl_failing(seed, call, &disk, &files, bug);
        if files.failed().is_none() {
            return ended.map(|_| None);
        }
        let what = || {
            let failed = files.failed().unwrap_or_default();
            format!("call {call} of {}, {failed} ({failure:?})", files.calls())
        };
        let ended = ended.map_err(|wrong| format!("{}: {wrong}", what()))?;
        let end = self.check_end(seed, &disk);
        end.map_err(|wrong| format!("{}: {wrong}", what()))?;
        Ok(Some(ended))
    }

    /// Leaves something behind that is to be read: a crawl whose power was cut.
    fn begin(&self, seed: u64, call: u64, disk: &SimulatedDisk) -> Result<(), String> {
        disk.plan(PowerCut { after_calls: 150 });
        let parts = Parts {
            fetcher: Some(Arc::new(self.fetcher.clone())),
            ..Parts::default()
        };
        let (config, seeds) = (config(seed), [url(0, 0)]);
        let files = Arc::new(disk.clone());
        let ended = crawl_on(files, &config, &seeds, parts, &Control::default());
        disk.cut_power(call);
        match ended {
            Err(_) => Ok(()),
            Ok(_) => Err("the crawl was done before the power was cut".to_owned()),
        }
    }

    fn crawl_failing(
        &self,
        seed: u64,
        call: u64,
        disk: &SimulatedDisk,
        files: &Failing,
        bug: Option<Bug>,
    ) -> Result<String, String> {
        let acknowledged = Arc::new(Acknowledged::default());
        let before = known_pages(&entries(disk)?)?;
        let asked = Asked::of(&self.fetcher);
        let parts = Parts {
            fetcher: Some(Arc::new(asked.clone())),
            feedback: acknowledged.clone(),
            ..Parts::default()
        };
        let (config, seeds, control) = (config(seed), [url(0, 0)], Control::default());
        let failing: Arc<dyn Files> = match bug {
            Some(bug) => Arc::new(Planted::new(files.clone(), bug)),
            None => Arc::new(files.clone()),
        };
        let first = crawl_on(failing, &config, &seeds, parts, &control);
        // What a failed sync leaves nobody knows, and whoever went on after it knows no better: what was not synced is gone.
        disk.cut_power(call);
        asked.check(&before)?;
        let (said, ended) = match &first {
            Ok(_) => (String::new(), "went on"),
            Err(error) => (chain(error), "ended, and went on at the next start"),
        };
        let is_clear = ["default", "data"].iter().any(|place| said.contains(place));
        if first.is_err() && !is_clear {
            return Err(format!("it does not say where: {said}"));
        }
        let (told, entries) = (acknowledged.0.load(Ordering::Relaxed), entries(disk)?);
        let kept = entries.last().map_or(0, |entry| entry.sequence);
        if kept < told {
            return Err(format!(
                "entry {told} was called committed, and only {kept} are there, after: {ended} {said}"
            ));
        }
        let committed = known_pages(&entries)?;
        let lost: Vec<_> = before.difference(&committed).collect();
        if !lost.is_empty() {
            return Err(format!("lost {lost:?}, after: {said}"));
        }
        let asked = Asked::of(&self.fetcher);
        let parts = Parts {
            fetcher: Some(Arc::new(asked.clone())),
            ..Parts::default()
        };
        crawl_on(Arc::new(disk.clone()), &config, &seeds, parts, &control)
            .map_err(|error| format!("it does not go on: {}, after: {said}", chain(&error)))?;
        asked.check(&committed)?;
        Ok(ended.to_owned())
    }

    /// Everything is there, once.
    fn check_end(&self, seed: u64, disk: &SimulatedDisk) -> Result<usize, String> {
        let entries = entries(disk)?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for attempt in answered(&entries).filter(|attempt| attempt.next == Next::Done) {
            *counts.entry(normal(attempt)).or_default() += 1;
        }
        let found: BTreeSet<String> = counts.keys().cloned().collect();
        differ("fetched", &found, &self.all)?;
        counts.retain(|_, count| *count != 1);
        if !counts.is_empty() {
            return Err(format!("fetched more than once: {counts:?}"));
        }
        self.check_archive(disk)?;
        let mut new = called_new_in(&entries);
        differ("called new", &new.keys().cloned().collect(), &self.all)?;
        new.retain(|_, count| *count != 1);
        if !new.is_empty() {
            return Err(format!("called new more than once: {new:?}"));
        }
        let layout = Layout::new("default").unwrap();
        if disk.exists(&layout.urls().join("manifest")) != (seed % 2 == 1) {
            return Err("the URLs are where they should not be".to_owned());
        }
        let packs = disk.list(&layout.history()).unwrap().len();
        if packs > 0 && (seed / 2).is_multiple_of(2) {
            return Err("something is packed that should not be".to_owned());
        }
        Ok(packs)
    }

    fn check_archive(&self, disk: &SimulatedDisk) -> Result<(), String> {
        let broken = |error| format!("the archive cannot be read: {}", chain(&error));
        let files: Arc<dyn Files> = Arc::new(disk.clone());
        let archive = Layout::new("default").unwrap().archive();
        let captures = Captures::open(files, &archive).map_err(broken)?;
        let mut pages = BTreeSet::new();
        for entry in captures.all().map_err(broken)? {
            let entry = entry.map_err(broken)?;
            if entry.url.ends_with("/robots.txt") {
                continue;
            }
            if !pages.insert(entry.url.clone()) {
                return Err(format!("{} is archived twice", entry.url));
            }
            captures.read(&entry).map_err(broken)?;
        }
        differ("archived", &pages, &self.all)
    }
}

fn differ(what: &str, found: &BTreeSet<String>, all: &BTreeSet<String>) -> Result<(), String> {
    if found == all {
        return Ok(());
    }
    let (missing, more): (Vec<_>, Vec<_>) = (
        all.difference(found).collect(),
        found.difference(all).collect(),
    );
    Err(format!(
        "not {what}: {missing:?}; {what} and should not be: {more:?}"
    ))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Every other seed has so little memory for URLs that they are soon on disk.
fn config(seed: u64) -> CollectionConfig {
    let mut config = CollectionConfig::default();
    // Here the power is cut while journal and archive are written; the graph has such a test of its own.
    config.links.enabled = false;
    config.politeness.delay = Duration::ZERO;
    config.filter.scope = "suffix:.cut.test".parse().unwrap();
    config.run.commit_every = Duration::from_millis(2);
    config.run.commit_bytes = 2 << 10;
    config.run.journal_segment_bytes = 6 << 10;
    config.archive.warc.max_file_bytes = 12 << 10;
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    if seed % 2 == 1 {
        config.run.repository_memory = 4 << 10;
    }
    // And every other pair packs its journal as soon as it can.
    if seed / 2 % 2 == 1 {
        config.run.journal_bytes = 0;
    }
    config
}

/// The last entry of which the engine said that it is on disk.
#[derive(Debug, Default)]
struct Acknowledged(AtomicU64);

impl Feedback for Acknowledged {
    fn hear(&self, event: &Event) {
        if let Event::Committed { sequence, .. } = event {
            self.0.fetch_max(*sequence, Ordering::Relaxed);
        }
    }
}

/// The web, as one process asks it: it notes what it was asked for.
#[derive(Clone, Debug)]
struct Asked {
    web: ScriptedFetcher,
    pages: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Asked {
    fn of(web: &ScriptedFetcher) -> Self {
        Self {
            web: web.clone(),
            pages: Arc::default(),
        }
    }

    /// No page is asked for twice by one process, nor again once it is committed.
    fn check(&self, committed: &BTreeSet<String>) -> Result<(), String> {
        for (url, times) in &*self.pages.lock().unwrap() {
            if committed.contains(url) {
                return Err(format!("{url} was handed out again after it was committed"));
            }
            if *times > 1 {
                return Err(format!("{url} was handed out {times} times by one process"));
            }
        }
        Ok(())
    }
}

impl Fetcher for Asked {
    fn fetch(&self, request: Request) -> Fetching<'_> {
        let url = request.url.to_string();
        if !url.ends_with("/robots.txt") {
            *self.pages.lock().unwrap().entry(url).or_default() += 1;
        }
        self.web.fetch(request)
    }
}

/// Every entry of the journal, packed or not.
fn entries(disk: &SimulatedDisk) -> Result<Vec<Entry>, String> {
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let directory = Layout::new("default").unwrap().journal();
    let mut entries = Vec::new();
    walk(&files, &directory, 1, |entry| entries.push(entry))
        .map_err(|error| format!("the journal cannot be read: {}", chain(&error)))?;
    Ok(entries)
}

/// The answers that pages gave.
fn answered(entries: &[Entry]) -> impl Iterator<Item = &Attempt> {
    let commits = entries.iter().filter_map(|entry| match &entry.record {
        Record::Commit(commit) => Some(commit),
        _ => None,
    });
    commits
        .flat_map(|commit| &commit.attempts)
        .filter(|attempt| attempt.outcome.is_ok() && !attempt.is_robots())
}

/// The pages that were fetched, of each of which the journal also says how it was met.
fn known_pages(entries: &[Entry]) -> Result<BTreeSet<String>, String> {
    let pages: BTreeSet<String> = answered(entries).map(normal).collect();
    let met = called_new_in(entries);
    match pages.iter().find(|page| !met.contains_key(*page)) {
        Some(page) => Err(format!(
            "a link to {page} was dropped: it was fetched, and not called new"
        )),
        None => Ok(pages),
    }
}

fn normal(attempt: &Attempt) -> String {
    attempt.url.normal().to_string()
}
