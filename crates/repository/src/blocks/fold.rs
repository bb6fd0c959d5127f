//! A fold: what the front holds goes to the blocks that are visited now, and waits for the others.
//!
//! The job has everything it needs and can run on a thread of its own; the store goes on taking
//! offers meanwhile, and takes the result in when it is done.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hashbrown::HashSet;
use teia_base::Step;

use super::block::{Block, Disk, Kind, bounds_of};
use super::error::StoreError;
use super::front::{Front, Placed};
use super::gather::{Gathering, within};
use super::pending::{Bounds, Pending};
use super::run::{Counted, RunFile};
use super::visit::{Task, Visit, Workbench, slices, visit};

/// A fold that is to be run.
#[derive(Debug)]
pub struct FoldJob {
    pub(crate) disk: Arc<Disk>,
    pub(crate) fold: u64,
    pub(crate) front: Arc<Front>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) waiting: Vec<Arc<RunFile>>,
    /// Blocks whose filter is to be made: none was found at a start.
    pub(crate) lacks_filter: Vec<bool>,
    /// Rows that may be read, saved up or overdrawn by the folds before.
    pub(crate) credit: i64,
    /// Visit every block that has news, whatever it costs.
    pub(crate) everything: bool,
    /// Files to be written anew, whatever that costs.
    pub(crate) worn: HashSet<PathBuf>,
}

/// What came out of it, to be handed back to the store.
#[derive(Debug)]
pub struct FoldDone {
    pub(crate) fold: u64,
    pub(crate) waiting: Vec<Arc<RunFile>>,
    pub(crate) visits: Vec<(usize, Visit)>,
    pub(crate) damaged: Vec<StoreError>,
    pub(crate) credit: i64,
    pub(crate) worn: HashSet<PathBuf>,
}

impl FoldJob {
    /// Visits every block that has news, whatever it costs.
    #[must_use]
    pub fn everywhere(mut self) -> Self {
        self.everything = true;
        self
    }

    /// Sorts, visits, writes and syncs. Nothing of it counts before the store has taken it in.
    pub fn run(self) -> Result<FoldDone, StoreError> {
        let _step = Step::begin("fold");
        let placed = self.front.by_host();
        let bounds: Vec<Bounds> = (0..self.blocks.len())
            .map(|at| bounds_of(&self.blocks, at))
            .collect();
        let (chosen, credit) = self.choose(&placed, &bounds);
        let mark = self.disk.new_id();
        let left_over = (0..self.blocks.len()).filter(|at| !chosen.contains(at));
        let left_over = left_over.map(|at| &bounds[at]).collect();
        let rest = self.leave(mark, &placed, left_over);
        let (rest, results) = self.visit_all(&chosen, &placed, &bounds, mark, rest)?;
        let mut waiting = self.waiting.clone();
        waiting.extend(rest);
        let (mut visits, mut damaged, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for (at, result) in results {
            match result {
                Ok(visit) => visits.push((at, visit)),
                // A damaged block is left as it is, and its news waits; the others go on.
                Err(error @ StoreError::Damaged { .. }) => {
                    damaged.push(error);
                    failed.push(at);
                }
                Err(error) => return Err(error),
            }
        }
        if !failed.is_empty() {
            // In the order of their keys, as every file is.
            failed.sort_unstable();
            let id = self.disk.new_id();
            let failed = failed.iter().map(|&at| &bounds[at]).collect();
            let left: Leave<'_> = self.leave(id, &placed, failed);
            waiting.extend(left()?);
        }
        let prefix = &self.disk.config.prefix;
        self.disk
            .files
            .sync_dir(prefix)
            .map_err(StoreError::disk("sync", prefix))?;
        visits.sort_by_key(|(at, _)| *at);
        Ok(FoldDone {
            fold: self.fold,
            waiting,
            visits,
            damaged,
            credit,
            worn: self.worn,
        })
    }

    /// The blocks to visit: those that have waited too long or have worn files, then those with most news for the rows
    /// that a visit reads, as far as the rows that may be read go.
    fn choose(&self, placed: &[Placed], bounds: &[Bounds]) -> (Vec<usize>, i64) {
        let config = &self.disk.config;
        let wide = |rows: u64| i64::try_from(rows).unwrap_or(i64::MAX / 4);
        let urls = self.urls();
        let rows: u64 = self.blocks.iter().map(Block::rows).sum();
        let thrift = config.thrift(urls);
        let per_fold = wide(config.scan_rows.max(rows / config.delay.max(1)));
        let mut credit = self.credit + per_fold;
        let mut candidates: Vec<(bool, u64, usize, u64)> = Vec::new();
        let mut waiting = 0;
        for (at, block) in self.blocks.iter().enumerate() {
            let news =
                self.waiting_rows(block, &bounds[at]) + within(placed, &bounds[at]).len() as u64;
            // What waits in a worn file goes when every block has taken its part.
            let mut runs = block.runs.iter().chain(self.unvisited(block));
            let is_worn = !self.worn.is_empty() && runs.any(|run| self.worn.contains(&run.path));
            if news == 0 && !is_worn {
                continue;
            }
            waiting += news;
            let age = self.fold.saturating_sub(block.visited_fold);
            let forced = self.everything || is_worn || age >= config.delay;
            // What a visit decides for each row that it reads.
            let worth = news.saturating_mul(1 << 16) / block.rows().max(1);
            candidates.push((forced, worth, at, news));
        }
        candidates.sort_unstable_by(|one, other| other.cmp(one));
        let mut chosen = Vec::new();
        for (forced, _, at, news) in candidates {
            let cost = wide(self.blocks[at].rows());
            let crowded = waiting * 100 > urls * thrift.waiting_share;
            if !forced && !crowded && credit < cost / 2 {
                // The next one is worth less: it is not read because it happens to be smaller.
                break;
            }
            credit -= cost;
            waiting -= news;
            chosen.push(at);
        }
        // What was not needed is not saved up for ever, and what was overdrawn is forgiven in time.
        let largest = self.blocks.iter().map(Block::rows).max().unwrap_or(0);
        let most = (per_fold * 2).max(wide(largest));
        (chosen, credit.clamp(-most, most))
    }

    fn waiting_rows(&self, block: &Block, bounds: &Bounds) -> u64 {
        self.unvisited(block)
            .iter()
            .map(|run| {
                let pages = run.pages_of(bounds.lower.hash, bounds.last_hash());
                // The first and last page are shared with the neighbours.
                let rows: u64 = run.index[pages.clone()]
                    .iter()
                    .map(|page| u64::from(page.rows))
                    .sum();
                if pages.len() > 2 {
                    rows - rows / pages.len() as u64
                } else {
                    rows
                }
            })
            .sum()
    }

    /// URLs in the blocks.
    fn urls(&self) -> u64 {
        self.blocks.iter().map(|block| block.urls).sum()
    }

    fn unvisited(&self, block: &Block) -> &[Arc<RunFile>] {
        let from = self.waiting.partition_point(|run| run.id <= block.visited);
        &self.waiting[from..]
    }

    /// Writes what the front holds for these blocks, which are in order, as a file in which it waits.
    fn leave<'a>(&'a self, id: u64, placed: &'a [Placed], blocks: Vec<&'a Bounds>) -> Leave<'a> {
        Box::new(move || {
            let _step = Step::begin("waiting news");
            let packing = self.disk.config.thrift(self.urls()).pending_packing;
            let mut open = None;
            let mut gathering = Gathering::default();
            let mut pending = Pending::default();
            for block in blocks {
                let placed = within(placed, block);
                for slice in slices(block, placed.len() as u64) {
                    gathering.add_front(&self.front, placed, &slice);
                    gathering.settle(&mut pending);
                    if pending.len() == 0 {
                        continue;
                    }
                    let writer = match &mut open {
                        Some(writer) => writer,
                        None => open.insert(self.disk.create(Kind::Pending, id, packing)?),
                    };
                    for at in 0..pending.len() {
                        let cells = pending.delta(at).cells();
                        let (key, events) = (pending.key(at), pending.events(at));
                        writer.push(&key, &cells, events, Counted::Known)?;
                    }
                }
            }
            let Some(writer) = open else {
                return Ok(None);
            };
            writer.finish()?;
            self.disk.open(Kind::Pending, id).map(Some)
        })
    }

    /// Visits on several threads, and writes what is left over beside them.
    fn visit_all<'a>(
        &'a self,
        chosen: &[usize],
        placed: &'a [Placed],
        bounds: &'a [Bounds],
        mark: u64,
        leave: Leave<'a>,
    ) -> Result<(Option<Arc<RunFile>>, Results), StoreError> {
        let next = AtomicUsize::new(0);
        let threads = self.disk.config.threads.clamp(1, 64);
        let thrift = self.disk.config.thrift(self.urls());
        let results = Mutex::new(Vec::new());
        let work = || {
            let mut workbench = Workbench::default();
            while let Some(&at) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                let block = &self.blocks[at];
                let task = Task {
                    block,
                    bounds: &bounds[at],
                    waiting: self.unvisited(block),
                    front: (&self.front, within(placed, &bounds[at])),
                    visited: mark,
                    fold: self.fold,
                    thrift,
                    threads: threads / chosen.len().max(1),
                    lacks_filter: self.lacks_filter[at],
                    is_worn: block.runs.iter().any(|run| self.worn.contains(&run.path)),
                };
                let result = visit(&self.disk, task, &mut workbench);
                results
                    .lock()
                    .expect("no visit panics while it holds the lock")
                    .push((at, result));
            }
        };
        let rest = std::thread::scope(|scope| {
            for _ in 1..threads.min(chosen.len() + 1) {
                scope.spawn(work);
            }
            let rest = leave();
            work();
            rest
        })?;
        let results = results.into_inner().expect("no visit panics");
        Ok((rest, results))
    }
}

type Leave<'a> = Box<dyn FnOnce() -> Result<Option<Arc<RunFile>>, StoreError> + 'a>;
type Results = Vec<(usize, Result<Visit, StoreError>)>;
