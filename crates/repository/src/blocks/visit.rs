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
use super::config::Packing;
use super::error::StoreError;
use super::filter::Filter;
use super::front::{Front, Placed};
use super::gather::{Gathering, Sources};
use super::join::{Room, join};
use super::key::OwnedKey;
use super::pending::{Bounds, Changed, Found, Pending};
use super::row::{Row, state_of};
use super::run::{Counted, RunFile, RunWriter};
use crate::row::State;

/// What a visit takes in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) block: &'a Block,
    pub(crate) bounds: &'a Bounds,
    /// Files of waiting news that it has not taken in yet, oldest first.
    pub(crate) waiting: &'a [Arc<RunFile>],
    /// What the front holds for it, by host.
    pub(crate) front: (&'a Front, &'a [Placed]),
    /// The newest file of waiting news, this fold's included.
    pub(crate) visited: u64,
    pub(crate) fold: u64,
    /// How a base run is packed.
    pub(crate) base_packing: Packing,
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

/// News of about so many URLs is held in memory at a time: few enough to stay in the processor's
/// cache from the first look at them to the last.
pub(crate) const SLICE: u64 = 16_000;

/// What visits use again and again, on one thread.
#[derive(Debug, Default)]
pub(crate) struct Workbench {
    pub(crate) gathering: Gathering,
    pub(crate) pending: Pending,
    room: Room,
}

/// Visits a block, slice by slice: what a visit holds in memory does not grow with what waited.
pub(crate) fn visit(
    disk: &Disk,
    task: Task<'_>,
    workbench: &mut Workbench,
) -> Result<Visit, StoreError> {
    for run in &task.block.runs {
        // Without all of its runs nobody can say that a URL is new.
        run.whole()?;
    }
    let mut visit = Visit {
        blocks: Vec::new(),
        news: None,
        states: [0; 5],
        scanned: task.block.rows(),
        decided: 0,
        fresh: 0,
        compacted: 0,
    };
    let mut block = task.block.clone();
    block.visited = task.visited;
    block.visited_fold = task.fold;
    let rows = task.rows();
    let is_base = block.runs.is_empty();
    let bits = disk.config.filter_bits.filter(|_| is_base);
    let mut output = Output {
        disk,
        packing: if is_base {
            task.base_packing
        } else {
            disk.config.small_packing
        },
        open: None,
        filter: bits.map(|bits| Filter::new(rows * 3 / 2, bits)),
    };
    let waiting = task.waiting.iter().map(|run| &**run);
    let mut sources = Sources::open(waiting, task.bounds, disk.config.key)?;
    for bounds in slices(task.bounds, rows) {
        let decided = decide(disk, &task, &bounds, &mut sources, workbench);
        let written = decided.and_then(|()| {
            visit.decided += workbench.pending.len() as u64;
            output.write(&workbench.pending, &mut visit)
        });
        if let Err(error) = written {
            output.give_up();
            return Err(error);
        }
    }
    let (run, filter) = output.finish()?;
    block.urls += visit.fresh;
    if let Some(run) = run {
        if run.news > 0 {
            visit.news = Some(Arc::clone(&run));
        }
        block.runs.push(run);
    }
    if block.wants_compaction(&disk.config) {
        for part in compact(disk, &block, task.base_packing)? {
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

/// Divides a block by the hashes of hosts, so that each part has about as much news as may be held.
pub(crate) fn slices(bounds: &Bounds, rows: u64) -> Vec<Bounds> {
    let parts = u128::from(rows / SLICE + 1);
    let (first, last) = (
        u128::from(bounds.lower.hash),
        u128::from(bounds.last_hash()),
    );
    let mut slices = Vec::new();
    let mut lower = bounds.lower.clone();
    for part in 1..parts {
        let cut = first + (last - first) * part / parts;
        let cut = OwnedKey::of_hash(u64::try_from(cut).unwrap_or(u64::MAX));
        if cut > lower {
            let upper = Some(cut.clone());
            slices.push(Bounds { lower, upper });
            lower = cut;
        }
    }
    let upper = bounds.upper.clone();
    slices.push(Bounds { lower, upper });
    slices
}

impl Task<'_> {
    /// About how much news there is.
    fn rows(&self) -> u64 {
        let (lower, last) = (self.bounds.lower.hash, self.bounds.last_hash());
        let waiting = self.waiting.iter().flat_map(|run| {
            let pages = &run.index[run.pages_of(lower, last)];
            pages.iter().map(|page| u64::from(page.rows))
        });
        waiting.sum::<u64>() + self.front.1.len() as u64
    }
}

/// Gathers the news of a slice, and looks each URL up in all runs, the newest first.
fn decide(
    disk: &Disk,
    task: &Task<'_>,
    bounds: &Bounds,
    sources: &mut Sources<'_>,
    workbench: &mut Workbench,
) -> Result<(), StoreError> {
    let key = disk.config.key;
    let Workbench {
        gathering,
        pending,
        room,
    } = workbench;
    gathering.clear();
    // What waited came before what the front holds.
    sources.add_to(gathering, bounds)?;
    gathering.add_front(task.front.0, task.front.1, bounds);
    gathering.settle(pending);
    let mut scratch = Vec::new();
    for run in task.block.runs.iter().rev() {
        join(
            run,
            bounds,
            key,
            pending,
            room,
            |pending, at, row| match look(pending, at, &row, &mut scratch) {
                Some(changed) => pending.set_changed(at, changed),
                None => pending.set_same(at),
            },
        )?;
    }
    Ok(())
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
struct Output<'d> {
    disk: &'d Disk,
    packing: Packing,
    open: Option<(u64, RunWriter)>,
    filter: Option<Filter>,
}

impl Output<'_> {
    fn write(&mut self, pending: &Pending, visit: &mut Visit) -> Result<(), StoreError> {
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
                    visit.states[state_of(changed.cells[0]) as usize] += 1;
                    (changed.cells, changed.rare.as_slice(), changed.was)
                }
            };
            let key = pending.key(at);
            if let Some(filter) = &mut self.filter {
                filter.insert(key.url_hash());
            }
            let (_, writer) = match &mut self.open {
                Some(open) => open,
                None => {
                    let id = self.disk.new_id();
                    let writer = self.disk.create(Kind::Run, id, self.packing)?;
                    self.open.insert((id, writer))
                }
            };
            writer.push(&key, &cells, rare, was)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<RunAndFilter, StoreError> {
        let Some((id, writer)) = self.open else {
            return Ok((None, self.filter));
        };
        writer.finish()?;
        Ok((Some(self.disk.open(Kind::Run, id)?), self.filter))
    }

    /// Removes what was written so far.
    fn give_up(self) {
        if let Some((id, writer)) = self.open {
            drop(writer);
            self.disk.remove(&self.disk.path(Kind::Run, id));
        }
    }
}
