//! A fold: what the front holds goes to the blocks that are visited now, and waits for the others.
//!
//! The job has everything it needs and can run on a thread of its own; the store goes on taking
//! offers meanwhile, and takes the result in when it is done.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::block::{Block, Disk, Kind, bounds_of};
use super::error::StoreError;
use super::front::Front;
use super::pending::Bounds;
use super::run::{Counted, RunFile};
use super::visit::{Task, Visit, visit};

/// A fold that is to be run.
#[derive(Debug)]
pub struct FoldJob {
    pub(crate) disk: Arc<Disk>,
    pub(crate) fold: u64,
    pub(crate) front: Arc<Front>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) waiting: Vec<Arc<RunFile>>,
    /// Rows that may be read, saved up or overdrawn by the folds before.
    pub(crate) credit: i64,
    /// Visit every block that has news, whatever it costs.
    pub(crate) everything: bool,
}

/// What came out of it, to be handed back to the store.
#[derive(Debug)]
pub struct FoldDone {
    pub(crate) fold: u64,
    pub(crate) waiting: Vec<Arc<RunFile>>,
    pub(crate) visits: Vec<(usize, Visit)>,
    pub(crate) damaged: Vec<StoreError>,
    pub(crate) credit: i64,
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
        let sorted = self.front.sorted();
        let bounds: Vec<Bounds> = (0..self.blocks.len())
            .map(|at| bounds_of(&self.blocks, at))
            .collect();
        let shares = self.shares(&sorted, &bounds);
        let (chosen, credit) = self.choose(&shares, &bounds);
        let mark = self.disk.new_id();
        let left_over = (0..self.blocks.len()).filter(|at| !chosen.contains(at));
        let rest = self.leave(mark, &sorted, left_over.map(|at| shares[at].clone()));
        let (rest, results) = self.visit_all(&chosen, &sorted, &shares, &bounds, mark, rest)?;
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
            let shares = failed.iter().map(|&at| shares[at].clone());
            let left: Leave<'_> = self.leave(id, &sorted, shares);
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
        })
    }

    /// The part of the sorted front that belongs to each block.
    fn shares(&self, sorted: &[u32], bounds: &[Bounds]) -> Vec<Range<usize>> {
        let mut start = 0;
        let mut shares = Vec::with_capacity(bounds.len());
        for bound in bounds {
            let end = match &bound.upper {
                None => sorted.len(),
                Some(upper) => {
                    let upper = upper.as_key();
                    start
                        + sorted[start..].partition_point(|&place| {
                            self.front.key_of(self.front.entry(place as usize)) < upper
                        })
                }
            };
            shares.push(start..end);
            start = end;
        }
        shares
    }

    /// The blocks to visit: those that have waited too long, then those with most news and longest
    /// wait, as far as the rows that may be read go.
    fn choose(&self, shares: &[Range<usize>], bounds: &[Bounds]) -> (Vec<usize>, i64) {
        let config = &self.disk.config;
        let wide = |rows: u64| i64::try_from(rows).unwrap_or(i64::MAX / 4);
        let urls: u64 = self.blocks.iter().map(|block| block.urls).sum();
        let rows: u64 = self.blocks.iter().map(Block::rows).sum();
        let mut credit = self.credit + wide(config.scan_rows.max(rows / config.delay.max(1)));
        let mut candidates: Vec<(bool, u64, usize, u64)> = Vec::new();
        let mut waiting = 0;
        for (at, block) in self.blocks.iter().enumerate() {
            let news = self.waiting_rows(block, &bounds[at]) + shares[at].len() as u64;
            if news == 0 {
                continue;
            }
            waiting += news;
            let age = self.fold.saturating_sub(block.visited_fold);
            let forced = self.everything || age >= config.delay;
            candidates.push((forced, news * (1 + age), at, news));
        }
        candidates.sort_unstable_by(|one, other| other.cmp(one));
        let mut chosen = Vec::new();
        for (forced, _, at, news) in candidates {
            let cost = wide(self.blocks[at].rows());
            let crowded = waiting * 100 > urls * config.waiting_share;
            if !forced && !crowded && credit < cost / 2 {
                continue;
            }
            credit -= cost;
            waiting -= news;
            chosen.push(at);
        }
        // What was not needed is not saved up for ever, and what was overdrawn is forgiven in time.
        let most = wide(config.scan_rows.max(rows / config.delay.max(1))) * 2;
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

    fn unvisited(&self, block: &Block) -> &[Arc<RunFile>] {
        let from = self.waiting.partition_point(|run| run.id <= block.visited);
        &self.waiting[from..]
    }

    /// Writes the news of these shares as a file in which it waits.
    fn leave<'a>(
        &'a self,
        id: u64,
        sorted: &'a [u32],
        shares: impl Iterator<Item = Range<usize>>,
    ) -> Leave<'a> {
        let shares: Vec<Range<usize>> = shares.filter(|share| !share.is_empty()).collect();
        Box::new(move || {
            if shares.is_empty() {
                return Ok(None);
            }
            let mut writer = self
                .disk
                .create(Kind::Pending, id, self.disk.config.pending_level)?;
            for share in shares {
                for &place in &sorted[share] {
                    let entry = self.front.entry(place as usize);
                    writer.push(
                        &self.front.key_of(entry),
                        &entry.delta.cells(),
                        self.front.events_of(entry),
                        Counted::Known,
                    )?;
                }
            }
            writer.finish()?;
            self.disk.open(Kind::Pending, id).map(Some)
        })
    }

    /// Visits on several threads, and writes what is left over beside them.
    fn visit_all<'a>(
        &'a self,
        chosen: &[usize],
        sorted: &'a [u32],
        shares: &[Range<usize>],
        bounds: &'a [Bounds],
        mark: u64,
        leave: Leave<'a>,
    ) -> Result<(Option<Arc<RunFile>>, Results), StoreError> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        let work = || {
            while let Some(&at) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                let block = &self.blocks[at];
                let task = Task {
                    block,
                    bounds: &bounds[at],
                    waiting: self.unvisited(block),
                    front: (&self.front, &sorted[shares[at].clone()]),
                    visited: mark,
                    fold: self.fold,
                };
                let result = visit(&self.disk, task);
                results
                    .lock()
                    .expect("no visit panics while it holds the lock")
                    .push((at, result));
            }
        };
        let rest = std::thread::scope(|scope| {
            for _ in 1..self.disk.config.threads.clamp(1, 64) {
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
