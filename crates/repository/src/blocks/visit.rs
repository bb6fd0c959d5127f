//! A visit: the news that waits for a block is decided on full text and becomes a small run.
//!
//! ```text
//! waiting news ──┐
//! front ─────────┴─> sort, join by URL ──> merge-join with each run ──> small run ──> base(s)
//!                                          (newest run first)       (new and changed rows)
//! ```

use std::sync::Arc;

use teia_base::Step;

use super::block::{Block, Disk, Kind};
use super::compact::compact;
use super::config::{Packing, Thrift};
use super::decoded::DecodedPage;
use super::error::StoreError;
use super::filter::Filter;
use super::front::{Front, Placed};
use super::gather::{Gathering, Sources, within};
use super::join::{Room, join};
use super::key::OwnedKey;
use super::pending::{Bounds, Changed, Found, Pending};
use super::row::{Row, state_of};
use super::run::{Counted, RunFile, RunWriter};
use super::stream::RowStream;
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
    /// What the number of URLs asks for.
    pub(crate) thrift: Thrift,
    /// Threads that it may take.
    pub(crate) threads: usize,
    /// Nothing in memory tells which URLs are new: filters are not kept over a start.
    pub(crate) lacks_filter: bool,
    /// A run of it is to be written anew.
    pub(crate) is_worn: bool,
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

impl Workbench {
    /// Gives memory back that only a slice with a large host needed.
    fn give_back(&mut self) {
        if self.pending.len() as u64 > 4 * SLICE {
            self.gathering = Gathering::default();
            self.pending = Pending::default();
        }
    }
}

/// Visits a block, slice by slice: what a visit holds in memory does not grow with what waited.
pub(crate) fn visit(
    disk: &Disk,
    task: Task<'_>,
    workbench: &mut Workbench,
) -> Result<Visit, StoreError> {
    let _step = Step::begin(if task.block.runs.is_empty() {
        "first run"
    } else {
        "visit"
    });
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
    let output = decide_all(disk, &task, workbench)?;
    visit.decided = output.decided;
    visit.fresh = output.fresh;
    visit.states = output.states;
    let (run, filter) = output.finish()?;
    block.urls += visit.fresh;
    if let Some(run) = run {
        if run.news > 0 {
            visit.news = Some(Arc::clone(&run));
        }
        block.runs.push(run);
    }
    if task.is_worn || block.wants_compaction(&disk.config, task.thrift) {
        for part in compact(
            disk,
            &block,
            task.bounds,
            task.thrift.base_packing,
            task.threads,
        )? {
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
        let filter = match (filter, disk.config.filter_bits) {
            (None, Some(bits)) if task.lacks_filter => Some(filter_of(disk, &block, bits)?),
            (filter, _) => filter,
        };
        visit.blocks.push((block, filter));
    }
    Ok(visit)
}

/// Makes the filter of a block from its runs.
fn filter_of(disk: &Disk, block: &Block, bits: u32) -> Result<Filter, StoreError> {
    let mut filter = Filter::new(block.urls * 3 / 2, bits);
    for run in &block.runs {
        let mut stream = RowStream::open(run, 0..run.index.len(), disk.config.key)?;
        while stream.has_row() {
            filter.insert(stream.key().url_hash());
            stream.advance()?;
        }
    }
    Ok(filter)
}

/// Decides all news of a block: on two threads, if it may, each of which has half of the hosts.
fn decide_all<'d>(
    disk: &'d Disk,
    task: &Task<'_>,
    workbench: &mut Workbench,
) -> Result<Output<'d>, StoreError> {
    let room = task.rows(task.bounds) * 3 / 2;
    let halves = (task.threads > 1).then(|| task.bounds.cut(task.block.middle(task.bounds)));
    let Some((first, second)) = halves.flatten() else {
        let output = Output::new(disk, task, room, false);
        return decide_part(output, task, task.bounds, workbench);
    };
    let (mine, theirs) = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| {
            let output = Output::new(disk, task, room, true);
            decide_part(output, task, &second, &mut Workbench::default())
        });
        let output = Output::new(disk, task, room, false);
        let mine = decide_part(output, task, &first, workbench);
        (mine, theirs.join().expect("a visit does not panic"))
    });
    let mut mine = mine?;
    match theirs.and_then(|theirs| mine.absorb(theirs)) {
        Ok(()) => Ok(mine),
        Err(error) => {
            mine.give_up();
            Err(error)
        }
    }
}

/// Decides the news within these bounds.
fn decide_part<'d>(
    mut output: Output<'d>,
    task: &Task<'_>,
    bounds: &Bounds,
    workbench: &mut Workbench,
) -> Result<Output<'d>, StoreError> {
    let waiting = task.waiting.iter().map(|run| &**run);
    let mut sources = Sources::open(waiting, bounds, output.disk.config.key)?;
    let slices = slices(bounds, task.rows(bounds)).into_iter();
    let slices: Vec<Bounds> = slices
        .map(|slice| task.cut_within_host(slice, output.disk.config.key))
        .collect::<Result<Vec<_>, _>>()?
        .concat();
    for bounds in slices {
        let decided = decide(output.disk, task, &bounds, &mut sources, workbench);
        let written = decided.and_then(|()| output.write(&workbench.pending));
        workbench.give_back();
        if let Err(error) = written {
            output.give_up();
            return Err(error);
        }
    }
    Ok(output)
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

/// A slice with more than this is cut within its largest host.
const LARGE_SLICE: u64 = 4 * SLICE;

/// Pages of one host that are worth a cut.
const LARGE_HOST: usize = 16;

impl Task<'_> {
    /// Cuts a slice that is too large because of one host, where pages of that host begin: what waits for a host
    /// of millions of URLs must not lie in memory at once.
    fn cut_within_host(&self, slice: Bounds, key: u64) -> Result<Vec<Bounds>, StoreError> {
        let rows = self.rows(&slice);
        if rows <= LARGE_SLICE {
            return Ok(vec![slice]);
        }
        // A host that is new to the block has all of its pages in what waits.
        let runs = self.block.runs.iter().chain(self.waiting);
        let runs = runs.map(|run| (largest_host(run, &slice), run));
        let most = runs.max_by_key(|(pages, _)| pages.len());
        let Some((largest, run)) = most.filter(|(pages, _)| pages.len() >= LARGE_HOST) else {
            return Ok(vec![slice]);
        };
        let parts = usize::try_from(rows / LARGE_SLICE + 1).unwrap_or(1);
        let mut parts_of_it = Vec::new();
        let (mut page, mut text) = (DecodedPage::default(), Vec::new());
        let mut lower = slice.lower.clone();
        for part in 1..parts {
            // The first page may begin with another host.
            let at = largest.start + (largest.len() * part / parts).max(1);
            run.read_text(at, &mut text)?;
            page.load_text(key, &text)
                .map_err(|flaw| run.damaged(at, flaw))?;
            let cut = page.key(0).to_owned_key();
            if cut > lower && slice.contain(&cut.as_key()) {
                let upper = Some(cut.clone());
                parts_of_it.push(Bounds { lower, upper });
                lower = cut;
            }
        }
        let upper = slice.upper;
        parts_of_it.push(Bounds { lower, upper });
        Ok(parts_of_it)
    }

    /// About how much news there is within these bounds.
    fn rows(&self, bounds: &Bounds) -> u64 {
        let (lower, last) = (bounds.lower.hash, bounds.last_hash());
        let waiting = self.waiting.iter().flat_map(|run| {
            let pages = &run.index[run.pages_of(lower, last)];
            pages.iter().map(|page| u64::from(page.rows))
        });
        waiting.sum::<u64>() + within(self.front.1, bounds).len() as u64
    }
}

/// The pages of a run, within these bounds, that belong to the host with most of them.
fn largest_host(run: &RunFile, bounds: &Bounds) -> std::ops::Range<usize> {
    let pages = run.pages_of(bounds.lower.hash, bounds.last_hash());
    let mut largest = 0..0;
    let mut start = pages.start;
    for host in run.index[pages].chunk_by(|one, next| one.first_hash == next.first_hash) {
        if host.len() > largest.len() {
            largest = start..start + host.len();
        }
        start += host.len();
    }
    largest
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
    /// The number of its file; none for what is written aside.
    open: Option<(Option<u64>, RunWriter)>,
    aside: bool,
    filter: Option<Filter>,
    decided: u64,
    fresh: u64,
    states: [i64; 5],
}

impl<'d> Output<'d> {
    fn new(disk: &'d Disk, task: &Task<'_>, room: u64, aside: bool) -> Self {
        let is_base = task.block.runs.is_empty();
        let bits = disk.config.filter_bits.filter(|_| is_base);
        Self {
            disk,
            packing: if is_base {
                task.thrift.base_packing
            } else {
                task.thrift.small_packing
            },
            open: None,
            aside,
            filter: bits.map(|bits| Filter::new(room, bits)),
            decided: 0,
            fresh: 0,
            states: [0; 5],
        }
    }

    fn writer(&mut self) -> Result<&mut RunWriter, StoreError> {
        if self.open.is_none() {
            let id = (!self.aside).then(|| self.disk.new_id());
            let writer = match id {
                Some(id) => self.disk.create(Kind::Run, id, self.packing)?,
                None => RunWriter::aside(self.disk.config.page_bytes, self.packing),
            };
            self.open = Some((id, writer));
        }
        let open = self.open.as_mut();
        Ok(open.map(|(_, writer)| writer).expect("it is open now"))
    }

    /// Goes on with what was written aside.
    fn absorb(&mut self, other: Self) -> Result<(), StoreError> {
        self.decided += other.decided;
        self.fresh += other.fresh;
        for (count, change) in self.states.iter_mut().zip(other.states) {
            *count += change;
        }
        if let (Some(mine), Some(theirs)) = (&mut self.filter, &other.filter) {
            mine.join(theirs);
        }
        if let Some((_, theirs)) = other.open {
            self.writer()?.absorb(theirs)?;
        }
        Ok(())
    }

    fn write(&mut self, pending: &Pending) -> Result<(), StoreError> {
        self.decided += pending.len() as u64;
        let mut scratch = Vec::new();
        for at in 0..pending.len() {
            let (cells, rare, was) = match pending.found(at) {
                Found::Same => continue,
                Found::Nowhere => {
                    let made = pending.delta(at).into_row(pending.events(at), &mut scratch);
                    self.fresh += 1;
                    self.states[made.state as usize] += 1;
                    (made.cells(), made.rare, Counted::Not)
                }
                Found::Changed(number) => {
                    let changed = pending.changed(number);
                    self.states[changed.was_state as usize] -= 1;
                    self.states[state_of(changed.cells[0]) as usize] += 1;
                    (changed.cells, changed.rare.as_slice(), changed.was)
                }
            };
            let key = pending.key(at);
            if let Some(filter) = &mut self.filter {
                filter.insert(key.url_hash());
            }
            self.writer()?.push(&key, &cells, rare, was)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<RunAndFilter, StoreError> {
        let Some((Some(id), writer)) = self.open else {
            return Ok((None, self.filter));
        };
        writer.finish()?;
        Ok((Some(self.disk.open(Kind::Run, id)?), self.filter))
    }

    /// Removes what was written so far.
    fn give_up(self) {
        if let Some((Some(id), writer)) = self.open {
            drop(writer);
            self.disk.remove(&self.disk.path(Kind::Run, id));
        }
    }
}
