//! How a fold comes to count: everything is written, then the manifest, then the rest is memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::HashSet;
use teia_base::Step;

use super::block::{Block, block_of};
use super::delta::SETTLED;
use super::error::StoreError;
use super::fold::{FoldDone, FoldJob};
use super::front::Front;
use super::manifest::{BlockRecord, Manifest, key_check};
use super::run::RunFile;
use super::store::Store;
use super::taken::Taken;

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
    /// Blocks that could not be visited, each with the reason; their news waits. And what else was
    /// found damaged and not told of yet.
    pub damaged: Vec<StoreError>,
}

impl Store {
    /// Folds what was met so far and waits for it; `position` is the caller's, up to which
    /// everything was told.
    pub fn fold(&mut self, position: u64) -> Result<FoldReport, StoreError> {
        let done = self.begin_fold(position).run()?;
        self.finish_fold(done)
    }

    /// Folds, and visits every block that has news.
    pub fn fold_everything(&mut self, position: u64) -> Result<FoldReport, StoreError> {
        let done = self.begin_fold(position).everywhere().run()?;
        self.finish_fold(done)
    }

    /// Seals what was met so far, to be folded on any thread. If the last job was never finished,
    /// this one does its work again.
    pub fn begin_fold(&mut self, position: u64) -> FoldJob {
        let front = match &self.sealed {
            Some(front) => Arc::clone(front),
            None => {
                self.sealed_position = position;
                self.sealed_notes = self.notes.clone();
                let spare = self.spare.take();
                let next = spare.unwrap_or_else(|| Front::like(&self.front, self.front_room));
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
            lacks_filter: self.filters.iter().map(Option::is_none).collect(),
            credit: self.credit,
            everything: false,
            worn: self.worn(),
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
                taken.push(Taken::default());
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
                taken.push(Taken::default());
            }
        }
        if !told.is_empty() {
            news.push((done.fold, told));
        }
        let oldest = blocks.iter().map(|block| block.visited).min().unwrap_or(0);
        let mut waiting = done.waiting;
        waiting.retain(|run| run.id > oldest);
        let step = Step::begin("manifest");
        self.write_manifest(&blocks, &waiting, &news, states, done.fold)?;
        drop(step);

        // It is done: the rest is memory, and files that nobody names any more.
        for (new, old) in kept {
            filters[new] = self.filters[old].take();
            if blocks[new].visited == self.blocks[old].visited {
                taken[new] = std::mem::take(&mut self.taken[old]);
            }
        }
        let step = Step::begin("removal");
        self.drop_unnamed(&blocks, &waiting, &news);
        drop(step);
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
        self.make_room();
        self.damage.forget_worn(&done.worn);
        report.damaged.extend(self.damage.take());
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
        // One that is too large by now gives its memory back.
        if sealed.fits(self.front_room)
            && let Ok(mut front) = Arc::try_unwrap(sealed)
        {
            front.clear();
            self.spare = Some(front);
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
            notes: self.sealed_notes.clone(),
            media_types: self.media_types.names().to_vec(),
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
}
