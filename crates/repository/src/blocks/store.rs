//! The store itself: what is offered, what is decided at once, and what waits.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::{HashMap, HashSet};
use teia_base::Files;
use teia_base::journal::Chain;

use super::block::{Block, Disk, Kind, block_of, name_of};
use super::config::StoreConfig;
use super::delta::{
    ADMITS, DECIDED, DECIDED_OUT, Delta, Event, OFFERED, PRIORITISED, SETTLED, Settlement, Standing,
};
use super::error::StoreError;
use super::filter::Filter;
use super::fold::{FoldDone, FoldJob};
use super::front::{ByHash, Front};
use super::key::{Key, host_hash, write_key};
use super::manifest::{BlockRecord, Manifest, key_check};
use super::recent::Recent;
use super::row::{FALLBACK_HTTP, REQUISITE, SEED};
use super::run::RunFile;
use super::schedule::Schedule;
use crate::row::State;

/// A link to a URL, as it is offered.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The canonical text.
    pub url: &'a str,
    /// Hops from a seed by this way.
    pub depth: u16,
    /// Sequence number of the page on which it was found; 0 for none.
    pub referrer: u64,
    /// The rule that leaves it out, as a number of the caller's list; 0 admits it.
    pub rule: u32,
    /// Needed by a kept page.
    pub requisite: bool,
    /// Given by a person; without scheme?
    pub seed: Option<bool>,
    /// The spelling in which it was found, where that is another one.
    pub spelling: Option<&'a str>,
    /// As part of this chain of redirects.
    pub chain: Option<Chain>,
    /// `lastmod` of a sitemap or feed, in seconds since 1970.
    pub last_modified: Option<u32>,
}

impl<'a> Link<'a> {
    /// A plain link that is admitted.
    pub fn new(url: &'a str, depth: u16) -> Self {
        Self {
            url,
            depth,
            referrer: 0,
            rule: 0,
            requisite: false,
            seed: None,
            spelling: None,
            chain: None,
            last_modified: None,
        }
    }

    fn flags(&self) -> u8 {
        u8::from(self.requisite) * REQUISITE
            + u8::from(self.seed.is_some()) * SEED
            + u8::from(self.seed == Some(true)) * FALLBACK_HTTP
    }
}

/// What the store says of an offered link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Never met before; it has this sequence number.
    New(u64),
    /// Met before; if it is new after all, that is said of the first link to it.
    Known,
    /// Met before as left out, and admitted now.
    Readmitted,
    /// A visit will say.
    Pending,
}

/// What a journal says was decided of a link, when it is told again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It was new.
    New,
    /// It was known.
    Known,
    /// It was left to a visit.
    Pending,
}

/// Every URL ever met, once, on disk.
#[derive(Debug)]
pub struct Store {
    pub(crate) disk: Arc<Disk>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) filters: Vec<Option<Filter>>,
    /// URLs that were settled in news that waits for their block: no longer to be handed out.
    pub(crate) taken: Vec<HashSet<u64, ByHash>>,
    pub(crate) leased: HashSet<u64, ByHash>,
    pub(crate) schedules: HashMap<u64, Schedule, ByHash>,
    pub(crate) waiting: Vec<Arc<RunFile>>,
    pub(crate) front: Front,
    pub(crate) sealed: Option<Arc<Front>>,
    recent: Option<Recent>,
    scratch: Vec<u8>,
    pub(crate) news: Vec<(u64, Vec<Arc<RunFile>>)>,
    told: u64,
    acknowledged: u64,
    position: u64,
    sealed_position: u64,
    sequence: u64,
    pub(crate) epochs: Vec<(u64, u32)>,
    pub(crate) fold: u64,
    credit: i64,
    states: [u64; 5],
}

/// What a fold did.
#[derive(Debug, Default)]
pub struct FoldReport {
    /// Its number.
    pub fold: u64,
    /// Blocks visited.
    pub visited: usize,
    /// Rows read by the visits.
    pub scanned: u64,
    /// URLs with news that were decided.
    pub decided: u64,
    /// Of these, URLs never met before.
    pub fresh: u64,
    /// Rows written again by compaction.
    pub compacted: u64,
    /// Blocks that could not be visited, each with the reason; their news waits.
    pub damaged: Vec<StoreError>,
}

/// How large the store is.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreStats {
    /// URLs in the blocks; what waits for its visit is not counted.
    pub urls: u64,
    /// Blocks.
    pub blocks: usize,
    /// Runs.
    pub runs: usize,
    /// Bytes of the runs.
    pub run_bytes: u64,
    /// Rows that wait for a visit.
    pub waiting_rows: u64,
    /// Bytes of the files in which they wait.
    pub waiting_bytes: u64,
    /// Bytes of the filters in memory.
    pub filter_bytes: usize,
    /// URLs in the front.
    pub front: usize,
}

impl Store {
    /// Opens the store, or makes an empty one. Files that the manifest does not name are removed.
    pub fn open(files: Arc<dyn Files>, config: StoreConfig) -> Result<Self, StoreError> {
        let manifest_path = config.prefix.join("manifest");
        files
            .create_dir(&config.prefix)
            .map_err(StoreError::disk("make", &config.prefix))?;
        let manifest = Manifest::read(&*files, &manifest_path)?.unwrap_or_else(|| Manifest {
            key_check: key_check(config.key),
            next_id: 1,
            next_sequence: 1,
            ..Manifest::default()
        });
        if manifest.key_check != key_check(config.key) {
            return Err(StoreError::Key {
                path: manifest_path,
            });
        }
        let disk = Disk {
            files,
            next_id: AtomicU64::new(manifest.next_id),
            config,
        };
        remove_unnamed(&disk, &manifest)?;
        let mut blocks = Vec::new();
        for record in manifest.blocks {
            let runs = record.runs.iter().map(|&id| disk.open(Kind::Run, id));
            blocks.push(Block {
                lower: record.lower,
                runs: runs.collect::<Result<_, _>>()?,
                visited: record.visited,
                visited_fold: record.visited_fold,
                urls: record.urls,
            });
        }
        let mut filters: Vec<Option<Filter>> = blocks.iter().map(|_| None).collect();
        let mut news = Vec::new();
        for (fold, runs) in manifest.news {
            let runs = runs.iter().map(|&id| disk.open(Kind::Run, id));
            news.push((fold, runs.collect::<Result<_, _>>()?));
        }
        let waiting = manifest.waiting.iter();
        let waiting = waiting.map(|&id| disk.open(Kind::Pending, id));
        let waiting: Vec<_> = waiting.collect::<Result<_, _>>()?;
        if blocks.is_empty() {
            blocks.push(Block::empty());
            // Nothing was ever met, which an empty filter says at once.
            let urls = disk.config.front_urls as u64;
            let filter = disk.config.filter_bits.map(|bits| Filter::new(urls, bits));
            filters.push(filter.filter(|_| waiting.is_empty()));
        }
        let mut store = Self {
            taken: blocks.iter().map(|_| HashSet::default()).collect(),
            leased: HashSet::default(),
            schedules: HashMap::default(),
            recent: Recent::new(disk.config.recent_links, disk.config.key),
            disk: Arc::new(disk),
            blocks,
            filters,
            waiting,
            front: Front::default(),
            sealed: None,
            scratch: Vec::new(),
            news,
            told: 0,
            acknowledged: 0,
            position: manifest.position,
            sealed_position: manifest.position,
            sequence: manifest.next_sequence,
            epochs: manifest.epochs,
            fold: manifest.fold,
            credit: 0,
            states: manifest.states,
        };
        store.find_taken()?;
        Ok(store)
    }

    /// The caller's position as of the last fold: what came after it is to be told again.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Number of the last fold.
    pub fn last_fold(&self) -> u64 {
        self.fold
    }

    /// Whether so much was met that a fold is due.
    pub fn wants_fold(&self) -> bool {
        self.sealed.is_none() && self.front.len() >= self.disk.config.front_urls
    }

    /// Notes the time: what is offered from now on was first met then (seconds since 1970).
    pub fn set_time(&mut self, now: u32) {
        match self.epochs.last_mut() {
            Some((sequence, second)) if *sequence == self.sequence => *second = now,
            Some((_, second)) if now.saturating_sub(*second) < 60 => {}
            _ => self.epochs.push((self.sequence, now)),
        }
    }

    /// Says whether a URL is new, if that can be said at once; takes it in.
    pub fn offer(&mut self, link: &Link<'_>) -> Answer {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let host_len = write_key(link.url, &mut scratch);
        let answer = self.offer_key(link, &scratch, host_len);
        self.scratch = scratch;
        answer
    }

    fn offer_key(&mut self, link: &Link<'_>, text: &[u8], host_len: usize) -> Answer {
        let (host, rest) = text.split_at(host_len);
        let hash = host_hash(self.disk.config.key, host);
        let key = Key { hash, host, rest };
        let url_hash = key.url_hash();
        if let Some(at) = self.front.find(&key, url_hash) {
            return self.meet_again(at, link);
        }
        // Only plain links are remembered: they can tell a URL that is there nothing but a depth.
        let plain = link.rule == 0 && link.seed.is_none() && link.last_modified.is_none();
        if let Some(recent) = self.recent.as_mut().filter(|_| plain && !link.requisite)
            && recent.meet(text, host_len, link.depth)
        {
            return Answer::Known;
        }
        // What is being folded is in the filter too; but its text says more than the filter can.
        let sealed = self.sealed.as_ref();
        let sealed = sealed.and_then(|front| front.find(&key, url_hash).map(|at| front.delta(at)));
        let answer = match sealed {
            Some(delta) if delta.ops & DECIDED != 0 => Answer::Known,
            Some(_) => Answer::Pending,
            None => {
                let block = block_of(&self.blocks, &key);
                let filter = self.filters[block].as_mut();
                if filter.is_some_and(|filter| !filter.insert(url_hash)) {
                    Answer::New(self.sequence)
                } else {
                    Answer::Pending
                }
            }
        };
        let decided = matches!(answer, Answer::New(_));
        self.insert(link, &key, url_hash, decided);
        answer
    }

    fn insert(&mut self, link: &Link<'_>, key: &Key<'_>, url_hash: u64, decided: bool) -> usize {
        let admits = link.rule == 0;
        let ops = OFFERED
            | (u8::from(decided) * DECIDED)
            | (u8::from(admits) * ADMITS)
            | (u8::from(decided && !admits) * DECIDED_OUT);
        let delta = Delta {
            ops,
            flags: link.flags(),
            depth: link.depth,
            sequence: self.sequence,
            referrer: link.referrer,
            rule: link.rule,
            priority: 0,
            links: 1,
        };
        self.sequence += 1;
        let at = self.front.insert(key, url_hash, delta);
        self.note(at, link);
        at
    }

    fn note(&mut self, at: usize, link: &Link<'_>) {
        if let Some(spelling) = link.spelling {
            self.front.add_event(at, &Event::Spelling(spelling.into()));
        }
        if let Some(chain) = link.chain {
            self.front.add_event(at, &Event::Chain(chain));
        }
        if let Some(moment) = link.last_modified {
            self.front.add_event(at, &Event::LastModified(moment));
        }
    }

    /// Another link to a URL that the front holds.
    fn meet_again(&mut self, at: usize, link: &Link<'_>) -> Answer {
        let delta = self.front.delta_mut(at);
        let decided = delta.ops & DECIDED != 0;
        let met = delta.ops & (OFFERED | DECIDED) != 0;
        if !met {
            // Only its outcome came by so far, so it is known.
            delta.sequence = self.sequence;
            self.sequence += 1;
            delta.rule = link.rule;
        }
        delta.depth = delta.depth.min(link.depth);
        delta.flags |= link.flags();
        delta.links = delta.links.saturating_add(1);
        delta.ops |= OFFERED;
        let mut answer = if decided || !met {
            Answer::Known
        } else {
            Answer::Pending
        };
        if link.rule == 0 {
            if decided && delta.ops & DECIDED_OUT != 0 && delta.ops & ADMITS == 0 {
                delta.ops &= !DECIDED_OUT;
                answer = Answer::Readmitted;
            }
            delta.ops |= ADMITS;
        }
        if link.last_modified.is_some() || answer == Answer::Readmitted {
            self.note(
                at,
                &Link {
                    spelling: None,
                    ..*link
                },
            );
        }
        answer
    }

    /// Takes in a link of which the journal says what was decided. No filter is asked.
    pub fn replay(&mut self, link: &Link<'_>, decided: Decided) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let host_len = write_key(link.url, &mut scratch);
        let (host, rest) = scratch.split_at(host_len);
        let hash = host_hash(self.disk.config.key, host);
        let key = Key { hash, host, rest };
        let url_hash = key.url_hash();
        let is_new = decided == Decided::New;
        if let Some(at) = self.front.find(&key, url_hash) {
            self.meet_again(at, link);
            if is_new {
                self.front.decide(at);
            }
        } else {
            let block = block_of(&self.blocks, &key);
            if let Some(filter) = &mut self.filters[block] {
                filter.insert(url_hash);
            }
            // One that was known then may still wait as the first link to a new URL: it must not
            // keep the visit from saying so.
            self.insert(link, &key, url_hash, is_new);
        }
        self.scratch = scratch;
    }

    /// Takes in what became of a URL, after its commit; its lease is over.
    pub fn settle(&mut self, url: &str, settlement: Settlement) {
        let at = self.touch(url);
        self.front.delta_mut(at).ops |= SETTLED;
        let url_hash = self.front.entry(at).url_hash;
        self.leased.remove(&url_hash);
        if matches!(settlement.state, Standing::Excluded(_)) {
            // A link that admits it again is news.
            self.recent = Recent::new(self.disk.config.recent_links, self.disk.config.key);
        }
        self.front.add_event(at, &Event::Settled(settlement));
    }

    /// Sets what an Analyzer thinks of a URL.
    pub fn set_priority(&mut self, url: &str, priority: i32) {
        let at = self.touch(url);
        let delta = self.front.delta_mut(at);
        delta.ops |= PRIORITISED;
        delta.priority = priority;
        // It has another place now.
        let host = self.front.entry(at).host_hash;
        self.schedules.remove(&host);
    }

    /// The place of a URL in the front, where it is put if it is not there.
    fn touch(&mut self, url: &str) -> usize {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let host_len = write_key(url, &mut scratch);
        let (host, rest) = scratch.split_at(host_len);
        let hash = host_hash(self.disk.config.key, host);
        let key = Key { hash, host, rest };
        let url_hash = key.url_hash();
        let at = self.front.find(&key, url_hash).unwrap_or_else(|| {
            let delta = Delta {
                ops: 0,
                flags: 0,
                depth: u16::MAX,
                sequence: 0,
                referrer: 0,
                rule: 0,
                priority: 0,
                links: 0,
            };
            self.front.insert(&key, url_hash, delta)
        });
        self.scratch = scratch;
        at
    }

    /// Folds what was met so far and waits for it; `position` is the caller's, up to which
    /// everything was told.
    pub fn fold(&mut self, position: u64) -> Result<FoldReport, StoreError> {
        let done = self.begin_fold(position).run()?;
        self.finish_fold(done)
    }

    /// Folds, and visits every block that has news.
    pub fn fold_everything(&mut self, position: u64) -> Result<FoldReport, StoreError> {
        let mut job = self.begin_fold(position);
        job.everything = true;
        let done = job.run()?;
        self.finish_fold(done)
    }

    /// Seals what was met so far, to be folded on any thread. If the last job was never finished,
    /// this one does its work again.
    pub fn begin_fold(&mut self, position: u64) -> FoldJob {
        let front = match &self.sealed {
            Some(front) => Arc::clone(front),
            None => {
                self.sealed_position = position;
                let next = Front::like(&self.front);
                let front = Arc::new(std::mem::replace(&mut self.front, next));
                self.sealed = Some(Arc::clone(&front));
                front
            }
        };
        FoldJob {
            disk: Arc::clone(&self.disk),
            fold: self.fold + 1,
            front,
            blocks: self.blocks.clone(),
            waiting: self.waiting.clone(),
            credit: self.credit,
            everything: false,
        }
    }

    /// Takes a fold in: the manifest is replaced, and from then on it counts.
    pub fn finish_fold(&mut self, done: FoldDone) -> Result<FoldReport, StoreError> {
        let mut report = FoldReport {
            fold: done.fold,
            visited: done.visits.len(),
            damaged: done.damaged,
            ..FoldReport::default()
        };
        let mut states = self.states;
        let mut news = self.news.clone();
        news.retain(|(fold, _)| *fold > self.acknowledged);
        let mut told = Vec::new();
        let mut visits = done.visits.into_iter().peekable();
        let (mut blocks, mut filters, mut taken) = (Vec::new(), Vec::new(), Vec::new());
        let mut kept = Vec::new();
        for (at, block) in self.blocks.iter().enumerate() {
            let Some((_, visit)) = visits.next_if(|(visited, _)| *visited == at) else {
                kept.push((blocks.len(), at));
                blocks.push(block.clone());
                filters.push(None);
                taken.push(HashSet::default());
                continue;
            };
            report.scanned += visit.scanned;
            report.decided += visit.decided;
            report.fresh += visit.fresh;
            report.compacted += visit.compacted;
            for (count, change) in states.iter_mut().zip(visit.states) {
                *count = count.saturating_add_signed(change);
            }
            told.extend(visit.news);
            let is_one = visit.blocks.len() == 1;
            for (block, filter) in visit.blocks {
                if filter.is_none() && is_one {
                    kept.push((blocks.len(), at));
                }
                blocks.push(block);
                filters.push(filter);
                taken.push(HashSet::default());
            }
        }
        if !told.is_empty() {
            news.push((done.fold, told));
        }
        let oldest = blocks.iter().map(|block| block.visited).min().unwrap_or(0);
        let mut waiting = done.waiting;
        waiting.retain(|run| run.id > oldest);
        self.write_manifest(&blocks, &waiting, &news, states, done.fold)?;

        // It is done: the rest is memory, and files that nobody names any more.
        for (new, old) in kept {
            filters[new] = self.filters[old].take();
            if blocks[new].visited == self.blocks[old].visited {
                taken[new] = std::mem::take(&mut self.taken[old]);
            }
        }
        self.drop_unnamed(&blocks, &waiting, &news);
        self.blocks = blocks;
        self.filters = filters;
        self.taken = taken;
        self.waiting = waiting;
        self.news = news;
        self.states = states;
        self.fold = done.fold;
        self.credit = done.credit;
        self.position = self.sealed_position;
        self.after_fold(done.fold);
        Ok(report)
    }

    /// Brings filters and taken URLs up to date with what was sealed and what came meanwhile.
    fn after_fold(&mut self, fold: u64) {
        let Some(sealed) = self.sealed.take() else {
            return;
        };
        for entry in sealed.entries() {
            if entry.delta.ops & SETTLED != 0 {
                let block = block_of(&self.blocks, &sealed.key_of(entry));
                if self.blocks[block].visited_fold != fold {
                    self.taken[block].insert(entry.url_hash);
                }
            }
        }
        if self.filters.iter().any(Option::is_some) {
            for entry in self.front.entries() {
                let block = block_of(&self.blocks, &self.front.key_of(entry));
                if let Some(filter) = &mut self.filters[block] {
                    filter.insert(entry.url_hash);
                }
            }
        }
    }

    fn write_manifest(
        &self,
        blocks: &[Block],
        waiting: &[Arc<RunFile>],
        news: &[(u64, Vec<Arc<RunFile>>)],
        states: [u64; 5],
        fold: u64,
    ) -> Result<(), StoreError> {
        let ids = |runs: &[Arc<RunFile>]| runs.iter().map(|run| run.id).collect();
        let manifest = Manifest {
            key_check: key_check(self.disk.config.key),
            position: self.sealed_position,
            next_id: self.disk.next_id.load(Ordering::Relaxed),
            next_sequence: self.sequence,
            fold,
            waiting: ids(waiting),
            blocks: blocks
                .iter()
                .map(|block| BlockRecord {
                    lower: block.lower.clone(),
                    runs: ids(&block.runs),
                    visited: block.visited,
                    visited_fold: block.visited_fold,
                    urls: block.urls,
                })
                .collect(),
            news: news.iter().map(|(fold, runs)| (*fold, ids(runs))).collect(),
            epochs: self.epochs.clone(),
            states,
        };
        let path = self.disk.config.prefix.join("manifest");
        manifest.write(&*self.disk.files, &path)
    }

    fn drop_unnamed(
        &self,
        blocks: &[Block],
        waiting: &[Arc<RunFile>],
        news: &[(u64, Vec<Arc<RunFile>>)],
    ) {
        let named: HashSet<u64> = blocks
            .iter()
            .flat_map(|block| &block.runs)
            .chain(waiting)
            .chain(news.iter().flat_map(|(_, runs)| runs))
            .map(|run| run.id)
            .collect();
        let old = self.blocks.iter().flat_map(|block| &block.runs);
        let told = self.news.iter().flat_map(|(_, runs)| runs);
        for run in old.chain(&self.waiting).chain(told) {
            if !named.contains(&run.id) {
                self.disk.remove(&run.path);
            }
        }
    }

    /// Folds whose news was not handed out yet in this process, oldest first.
    pub(crate) fn untold(&mut self) -> Vec<(u64, Vec<Arc<RunFile>>)> {
        let told = self.told.max(self.acknowledged);
        let untold: Vec<_> = self
            .news
            .iter()
            .filter(|(fold, _)| *fold > told)
            .cloned()
            .collect();
        if let Some((fold, _)) = untold.last() {
            self.told = *fold;
        }
        untold
    }

    /// The caller has noted the news of all folds up to this one durably: it is not told again.
    /// Counts from the next fold on.
    pub fn acknowledge(&mut self, fold: u64) {
        self.acknowledged = self.acknowledged.max(fold);
    }

    /// URLs in a state, as far as they have reached the blocks.
    pub fn count(&self, state: State) -> u64 {
        self.states[state as usize]
    }

    /// How large everything is.
    pub fn stats(&self) -> StoreStats {
        let runs = || self.blocks.iter().flat_map(|block| &block.runs);
        StoreStats {
            urls: self.blocks.iter().map(|block| block.urls).sum(),
            blocks: self.blocks.len(),
            runs: runs().count(),
            run_bytes: runs().map(|run| run.bytes).sum(),
            waiting_rows: self.waiting.iter().map(|run| run.rows).sum(),
            waiting_bytes: self.waiting.iter().map(|run| run.bytes).sum(),
            filter_bytes: self.filters.iter().flatten().map(Filter::bytes).sum(),
            front: self.front.len(),
        }
    }

    /// After a start: which URLs were settled in news that still waits.
    fn find_taken(&mut self) -> Result<(), StoreError> {
        let mut taken = std::mem::take(&mut self.taken);
        for run in &self.waiting {
            let range = 0..run.index.len();
            let mut stream = super::stream::RowStream::open(run, range, self.disk.config.key)?;
            while stream.has_row() {
                let key = stream.key();
                if Delta::read(stream.cells()).ops & SETTLED != 0 {
                    let block = block_of(&self.blocks, &key);
                    if self.blocks[block].visited < run.id {
                        taken[block].insert(key.url_hash());
                    }
                }
                stream.advance()?;
            }
        }
        self.taken = taken;
        Ok(())
    }
}

/// Removes what a crash left behind: files that the manifest does not name.
fn remove_unnamed(disk: &Disk, manifest: &Manifest) -> Result<(), StoreError> {
    let prefix = &disk.config.prefix;
    let mut named: HashSet<String> = HashSet::from_iter(["manifest".to_owned()]);
    named.extend(
        manifest
            .waiting
            .iter()
            .map(|&id| name_of(Kind::Pending, id)),
    );
    let runs = manifest.blocks.iter().flat_map(|block| &block.runs);
    let told = manifest.news.iter().flat_map(|(_, runs)| runs);
    named.extend(runs.chain(told).map(|&id| name_of(Kind::Run, id)));
    let present = disk.files.list(prefix);
    for name in present.map_err(StoreError::disk("list", prefix))? {
        if !named.contains(&name) {
            let path: PathBuf = prefix.join(name);
            disk.files
                .remove(&path)
                .map_err(StoreError::disk("remove", &path))?;
        }
    }
    Ok(())
}
