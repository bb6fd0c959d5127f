//! A visit: the news that waits for a block is decided on full text and becomes a small run.
//!
//! ```text
//! waiting news ──┐
//! front ─────────┴─> sort, join by URL ──> merge-join with each run ──> small run ──> base(s)
//!                                          (newest run first)       (new and changed rows)
//! ```

use std::sync::Arc;

use super::block::{Block, Disk, Kind};
use super::compact::compact;
use super::error::StoreError;
use super::filter::Filter;
use super::front::Front;
use super::gather::Gathering;
use super::join::join;
use super::pending::{Bounds, Changed, Found, Pending};
use super::row::Row;
use super::run::{Counted, RunFile, RunWriter};
use crate::row::State;

/// What a visit takes in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) block: &'a Block,
    pub(crate) bounds: &'a Bounds,
    /// Files of waiting news that it has not taken in yet, oldest first.
    pub(crate) waiting: &'a [Arc<RunFile>],
    /// What the front holds for it, in order.
    pub(crate) front: (&'a Front, &'a [u32]),
    /// The newest file of waiting news, this fold's included.
    pub(crate) visited: u64,
    pub(crate) fold: u64,
}

/// What came out of it.
#[derive(Debug)]
pub(crate) struct Visit {
    /// The block after it; several when it was split.
    pub(crate) blocks: Vec<(Block, Option<Filter>)>,
    /// The run that tells the news, if there is any.
    pub(crate) news: Option<Arc<RunFile>>,
    /// How the number of URLs in each state has changed.
    pub(crate) states: [i64; 5],
    /// Rows read.
    pub(crate) scanned: u64,
    /// News of different URLs that was decided.
    pub(crate) decided: u64,
    /// Of these, URLs that had never been met.
    pub(crate) fresh: u64,
    /// Rows written in compaction.
    pub(crate) compacted: u64,
}

/// Visits a block.
pub(crate) fn visit(disk: &Disk, task: Task<'_>) -> Result<Visit, StoreError> {
    let key = disk.config.key;
    for run in &task.block.runs {
        // Without all of its runs nobody can say that a URL is new.
        run.whole()?;
    }
    let mut gathering = Gathering::new(task.front);
    for run in task.waiting {
        gathering.load(run, task.bounds, key)?;
    }
    let mut pending = gathering.settle();
    let mut scratch = Vec::new();
    for run in task.block.runs.iter().rev() {
        join(
            run,
            task.bounds,
            key,
            &mut pending,
            |pending, at, row| match look(pending, at, &row, &mut scratch) {
                Some(changed) => pending.set_changed(at, changed),
                None => pending.set_same(at),
            },
        )?;
    }
    let mut visit = Visit {
        blocks: Vec::new(),
        news: None,
        states: [0; 5],
        scanned: task.block.rows(),
        decided: pending.len() as u64,
        fresh: 0,
        compacted: 0,
    };
    let mut block = task.block.clone();
    block.visited = task.visited;
    block.visited_fold = task.fold;
    let (run, filter) = write(disk, &pending, block.runs.is_empty(), &mut visit)?;
    block.urls += visit.fresh;
    if let Some(run) = run {
        if run.news > 0 {
            visit.news = Some(Arc::clone(&run));
        }
        block.runs.push(run);
    }
    if block.wants_compaction(&disk.config) {
        for part in compact(disk, &block.runs, &block.lower, block.urls)? {
            visit.compacted += part.run.rows;
            let part_block = Block {
                lower: part.lower,
                urls: part.run.rows,
                runs: vec![part.run],
                ..block
            };
            visit.blocks.push((part_block, part.filter));
        }
    } else {
        visit.blocks.push((block, filter));
    }
    Ok(visit)
}

fn look(pending: &Pending, at: usize, row: &Row<'_>, scratch: &mut Vec<u8>) -> Option<Changed> {
    let changed = pending.delta(at).merge(row, pending.events(at), scratch)?;
    Some(Changed {
        cells: changed.cells(),
        rare: changed.rare.to_vec(),
        was: if row.state == State::Waiting {
            Counted::Waiting
        } else {
            Counted::Known
        },
        was_state: row.state,
    })
}

type RunAndFilter = (Option<Arc<RunFile>>, Option<Filter>);

/// Writes new and changed rows as a run: the base, if it is the block's first.
fn write(
    disk: &Disk,
    pending: &Pending,
    is_base: bool,
    visit: &mut Visit,
) -> Result<RunAndFilter, StoreError> {
    let mut open: Option<(u64, RunWriter)> = None;
    let bits = disk.config.filter_bits.filter(|_| is_base);
    let mut filter = bits.map(|bits| Filter::new(pending.len() as u64 * 3 / 2, bits));
    let mut scratch = Vec::new();
    for at in 0..pending.len() {
        let (cells, rare, was) = match pending.found(at) {
            Found::Same => continue,
            Found::Nowhere => {
                let made = pending.delta(at).into_row(pending.events(at), &mut scratch);
                visit.fresh += 1;
                visit.states[made.state as usize] += 1;
                (made.cells(), made.rare, Counted::Not)
            }
            Found::Changed(number) => {
                let changed = pending.changed(number);
                visit.states[changed.was_state as usize] -= 1;
                visit.states[super::row::state_of(changed.cells[0]) as usize] += 1;
                (changed.cells, changed.rare.as_slice(), changed.was)
            }
        };
        let key = pending.key(at);
        if let Some(filter) = &mut filter {
            filter.insert(key.url_hash());
        }
        let (_, writer) = match &mut open {
            Some(open) => open,
            None => {
                let id = disk.new_id();
                let level = is_base.then_some(disk.config.base_level);
                open.insert((id, disk.create(Kind::Run, id, level)?))
            }
        };
        writer.push(&key, &cells, rare, was)?;
    }
    let Some((id, writer)) = open else {
        return Ok((None, filter));
    };
    writer.finish()?;
    Ok((Some(disk.open(Kind::Run, id)?), filter))
}
