//! What is to be looked at, and what becomes of it: URLs chosen of a host are kept aside, and kept up to date.

use std::sync::Arc;

use super::block::{Block, Disk, bounds_of};
use super::config::FRONT_BYTES;
use super::error::StoreError;
use super::key::OwnedKey;
use super::look::{Held, Look, Looked};
use super::page::Unpacker;
use super::pending::Bounds;
use super::schedule::{Schedule, Sorting};
use super::store::Store;
use super::window::{Place, Slot, WindowOrder, mix};

/// What was chosen is kept for so many hosts.
const MOST_SCHEDULES: usize = 4096;

/// And in one of so many parts of the memory, or in the least of it: what was replaced since it was chosen adds up.
const SHARE: u64 = 16;
const LEAST_BYTES: u64 = 2 << 20;

/// A look that is to be made.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) slot: Slot,
    /// So many are asked for.
    n: usize,
    /// It goes on behind this place.
    after: Option<Place>,
    now: u32,
    /// Of the order.
    kind: u8,
    version: u64,
    bases: Vec<(OwnedKey, u64)>,
    runs: Vec<Looked>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Found {
    sorting: Sorting,
    last: Option<Place>,
    is_last: bool,
    rows: u64,
    until: u32,
    passed_over: bool,
}

impl Found {
    /// Leaves nothing behind.
    pub(crate) fn remove(&mut self, disk: &Disk) {
        self.sorting.remove(disk);
    }
}

impl Plan {
    /// Rows of the host that it goes through, and those of its neighbours in the same pages.
    fn rows(&self) -> u64 {
        let hash = self.slot.hash;
        let pages = self.runs.iter().flat_map(|looked| {
            let run = &looked.run;
            &run.index[run.pages_of(hash, hash)]
        });
        pages.map(|page| u64::from(page.rows)).sum()
    }

    /// Whether it goes on behind what another one chose.
    pub(crate) fn goes_on(&self) -> bool {
        self.after.is_some()
    }

    pub(crate) fn run(
        &self,
        host: &str,
        order: WindowOrder<'_>,
        disk: &Disk,
        epochs: &[(u64, u32)],
        held: Option<Held<'_>>,
        unpacker: &mut Unpacker,
    ) -> Result<Found, StoreError> {
        let mut look = Look::new(
            (host, self.slot),
            self.now,
            order,
            (disk, epochs),
            held,
            unpacker,
        );
        look.turn_to(self.runs.clone());
        let choices = look.choose(self.n, self.after)?;
        let last = choices.first.last().map(|choice| choice.place);
        let sorting = look.read_texts(choices.first)?;
        Ok(Found {
            sorting,
            last,
            is_last: choices.is_all,
            rows: choices.rows,
            until: look.until,
            passed_over: look.passed_over,
        })
    }
}

impl Store {
    /// Tells one look at a host from another one after more was folded in.
    pub(crate) fn version_of(&self, hash: u64) -> u64 {
        let blocks = self.blocks_of(hash);
        blocks.fold(0, |version, at| mix(version ^ self.blocks[at].visited))
    }

    fn blocks_of(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let first = self.blocks.partition_point(|block| block.lower.hash < hash);
        let end = self
            .blocks
            .partition_point(|block| block.lower.hash <= hash);
        first.saturating_sub(1)..end.max(1)
    }

    /// Where each block of a host begins, and its oldest run.
    fn bases_of(&self, hash: u64) -> Vec<(OwnedKey, u64)> {
        let blocks = self.blocks_of(hash).map(|at| &self.blocks[at]);
        let base = |block: &Block| block.runs.first().map_or(0, |run| run.id);
        blocks
            .map(|block| (block.lower.clone(), base(block)))
            .collect()
    }

    /// The runs of a host's blocks, oldest first within each block.
    fn runs_of(&self, hash: u64) -> Vec<Looked> {
        let mut runs = Vec::new();
        for block in self.blocks_of(hash) {
            for (number, run) in self.blocks[block].runs.iter().enumerate() {
                runs.push(Looked {
                    block,
                    run: Arc::clone(run),
                    is_base: number == 0,
                });
            }
        }
        runs
    }

    /// Chooses URLs of a host and keeps them aside in order; one with very many URLs is looked at on another
    /// thread. Says whether there is any now.
    pub(crate) fn look(
        &mut self,
        host: &str,
        slot: Slot,
        n: usize,
        order: WindowOrder<'_>,
        now: u32,
        after: Option<Place>,
    ) -> Result<bool, StoreError> {
        let plan = Plan {
            slot,
            n,
            now,
            after,
            kind: order.kind(),
            version: self.version_of(slot.hash),
            bases: self.bases_of(slot.hash),
            runs: self.runs_of(slot.hash),
        };
        if plan.rows() > self.disk.config.look_rows {
            self.look_aside(host, plan, order);
            return Ok(false);
        }
        let mut unpacker = std::mem::take(&mut self.unpacker);
        let held = Held {
            taken: &self.taken,
            leased: &self.leased,
        };
        let epochs = &self.epochs;
        let found = plan.run(host, order, &self.disk, epochs, Some(held), &mut unpacker);
        self.unpacker = unpacker;
        self.finish_look(plan, found)
    }

    /// Keeps aside what a look has chosen. Says whether there is any.
    pub(crate) fn finish_look(
        &mut self,
        plan: Plan,
        found: Result<Found, StoreError>,
    ) -> Result<bool, StoreError> {
        let found = found.or_else(|error| {
            // Nobody can say what waits on this host, so nothing of it is handed out.
            self.damage.note(error)?;
            Ok(Found {
                is_last: true,
                until: u32::MAX,
                ..Found::default()
            })
        })?;
        // A look that goes on does not come back to those before it.
        let before = self.schedules.get(&plan.slot);
        let before = before.filter(|_| plan.after.is_some());
        let passed_over = before.and_then(|schedule| schedule.passed_over);
        let mut schedule = Schedule::new(plan.kind, found.sorting);
        schedule.version = plan.version;
        schedule.bases = plan.bases;
        schedule.seen = plan.runs.iter().map(|looked| looked.run.id).collect();
        schedule.last = found.last.or(plan.after);
        schedule.is_last = found.is_last;
        schedule.until = found.until;
        schedule.now = plan.now;
        schedule.rows = found.rows;
        schedule.passed_over = passed_over.or(found.passed_over.then_some(schedule.version));
        self.put_schedule(plan.slot, schedule);
        self.drop_least_schedules();
        Ok(found.last.is_some() || !found.is_last)
    }

    /// Bounded; those that are dropped are chosen anew. The larger a host, the dearer that is.
    fn drop_least_schedules(&mut self) {
        if self.schedules.len() <= MOST_SCHEDULES {
            return;
        }
        let mut slots: Vec<(u64, Slot)> = self
            .schedules
            .iter()
            .map(|(slot, schedule)| (schedule.rows, *slot))
            .collect();
        slots.select_nth_unstable_by_key(MOST_SCHEDULES / 4, |(rows, _)| std::cmp::Reverse(*rows));
        for (_, slot) in slots.drain(MOST_SCHEDULES / 4..) {
            self.drop_schedule(slot);
        }
    }

    /// Drops what was chosen of some hosts where all of it takes too much memory, and says how much of its share the rest takes.
    /// Those go first that are looked at again most cheaply for what they take.
    pub(crate) fn bound_schedules(&mut self) -> usize {
        let memory = self.disk.config.front_urls as u64 * FRONT_BYTES;
        let narrow = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let share = narrow(memory / SHARE);
        let most = share.max(narrow(LEAST_BYTES));
        let schedules = self.schedules.iter();
        let mut taken: Vec<(u64, usize, Slot)> = schedules
            .map(|(slot, schedule)| (schedule.rows, schedule.bytes(), *slot))
            .collect();
        let mut bytes: usize = taken.iter().map(|(_, bytes, _)| bytes).sum();
        if bytes <= most {
            return bytes.min(share);
        }
        taken.sort_unstable_by_key(|(rows, bytes, _)| rows * 1024 / (*bytes as u64).max(1));
        for (_, its, slot) in taken {
            // Well below it, so that this is not done at every fold.
            if bytes <= most / 4 * 3 {
                break;
            }
            bytes -= its;
            self.drop_schedule(slot);
        }
        bytes.min(share)
    }

    /// Brings what was chosen of a host up to what was folded in since: only runs that are new are read. A block
    /// whose runs were merged is chosen anew.
    pub(crate) fn refresh_schedule(
        &mut self,
        host: &str,
        slot: Slot,
        order: WindowOrder<'_>,
    ) -> Result<(), StoreError> {
        let Some(schedule) = self.schedules.get(&slot) else {
            return Ok(());
        };
        let version = self.version_of(slot.hash);
        if schedule.is_of(order.kind()) && schedule.version == version {
            return Ok(());
        }
        // URLs that were taken from waiting news may have another number in their block.
        let is_mixed = schedule.waited > 0 && !schedule.is_spent();
        if is_mixed || !schedule.is_of(order.kind()) || order.goes_by_length() {
            self.drop_schedule(slot);
            return Ok(());
        }
        let up_to = schedule.last.filter(|_| !schedule.is_last);
        let (seen, old) = (schedule.seen.clone(), schedule.bases.clone());
        let bases = self.bases_of(slot.hash);
        // What has become due since the look is for the next one, wherever it lies.
        let now = schedule.now;
        let all = self.runs_of(slot.hash);
        let runs: Vec<u64> = all.iter().map(|looked| looked.run.id).collect();
        let first = self.blocks_of(slot.hash).next().unwrap_or(0);
        let is_remade = |block: usize| {
            let base = bases.get(block - first);
            base.is_none_or(|base| !old.contains(base))
        };
        let (mut remade, mut others) = (Vec::new(), Vec::new());
        for looked in all {
            if is_remade(looked.block) {
                remade.push(looked);
            } else if !seen.contains(&looked.run.id) {
                others.push(looked);
            }
        }
        let mut ranges: Vec<usize> = remade.iter().map(|looked| looked.block).collect();
        ranges.dedup();
        let ranges: Vec<Bounds> = ranges
            .into_iter()
            .map(|block| bounds_of(&self.blocks, block))
            .collect();
        let mut outdated = Vec::new();
        let mut last = None;
        let mut sorting = Sorting::default();
        let mut unpacker = std::mem::take(&mut self.unpacker);
        let held = Held {
            taken: &self.taken,
            leased: &self.leased,
        };
        let place = (&*self.disk, self.epochs.as_slice());
        let mut look = Look::new((host, slot), now, order, place, Some(held), &mut unpacker);
        let mut read = |look: &mut Look<'_>, runs: Vec<Looked>, tells_all: bool| {
            look.turn_to(runs);
            look.tells_all = tells_all;
            let mut choices = Vec::new();
            let (spans, _) = look.spans()?;
            look.walk(spans, |sequence, choice| {
                if tells_all {
                    outdated.push(sequence);
                }
                choices.extend(choice.filter(|it| up_to.is_none_or(|last| it.place <= last)));
            })?;
            last = last.max(choices.iter().map(|choice| choice.place).max());
            look.sort_texts(choices, &mut sorting)
        };
        let met = read(&mut look, others, true).and_then(|()| read(&mut look, remade, false));
        let (passed_over, until) = (look.passed_over, look.until);
        self.unpacker = unpacker;
        if let Err(error) = met {
            sorting.remove(&self.disk);
            self.damage.note(error)?;
            self.drop_schedule(slot);
            return Ok(());
        }
        let Some(schedule) = self.schedules.get_mut(&slot) else {
            return Ok(());
        };
        schedule.version = version;
        schedule.seen = runs;
        schedule.bases = bases;
        if passed_over {
            schedule.passed_over = Some(version);
        }
        schedule.until = schedule.until.min(until);
        for range in &ranges {
            schedule.remake(range);
        }
        schedule.last = schedule.last.max(last);
        for sequence in outdated {
            schedule.outdate(sequence);
        }
        if !schedule.add(sorting) {
            self.drop_schedule(slot);
        }
        Ok(())
    }

    /// The earliest moment at which a URL of the blocks is due, found without reading one: no URL
    /// is due before it.
    pub fn next_due(&self) -> Option<u32> {
        let runs = self.blocks.iter().flat_map(|block| &block.runs);
        let due = runs.map(|run| run.least_due).min()?;
        (due < u32::MAX).then_some(due)
    }
}
