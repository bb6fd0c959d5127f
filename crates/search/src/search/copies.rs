//! One URL in several collections is one page: its newest copy counts, and the others are as if they were not
//! there, for results, counts and facets alike.
//!
//! Two segments are compared once, as in `reputes`; which documents are deleted is looked at for every state of
//! the indexes.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::index::SegmentId;
use tantivy::{DocId, SegmentReader};

use super::hidden::PassedOver;
use super::known_words::state_of;
use super::reputes::{Side, joined};
use super::searcher::Shard;
use crate::error::SearchError;

/// For each segment of each index, by its number: the documents of which another index has a newer copy.
pub(super) type Older = Arc<Vec<PassedOver>>;

/// What was compared before.
#[derive(Default)]
pub(super) struct Memory(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// By the state of the indexes that are asked.
    older: HashMap<u64, Older>,
    sides: HashMap<SegmentId, Arc<Side>>,
    pairs: HashMap<(SegmentId, SegmentId), Pairs>,
}

/// Documents of two segments that have one URL.
type Pairs = Arc<[(DocId, DocId)]>;

/// Choices of collections that are remembered before the memory begins anew.
const MAX_REMEMBERED: usize = 16;

impl Memory {
    /// What is passed over in these indexes; `open` are the segments of all that there are.
    pub(super) fn of(
        &self,
        shards: &[Shard],
        open: impl FnOnce() -> HashSet<SegmentId>,
    ) -> Result<Older, SearchError> {
        if shards.len() < 2 {
            return Ok(Older::default());
        }
        let state = state_of(shards);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(older) = known.older.get(&state) {
            return Ok(Arc::clone(older));
        }
        let open = open();
        known.sides.retain(|id, _| open.contains(id));
        known
            .pairs
            .retain(|(one, other), _| open.contains(one) && open.contains(other));
        if known.older.len() >= MAX_REMEMBERED {
            known.older.clear();
        }
        let older = Arc::new(known.compare(shards)?);
        known.older.insert(state, Arc::clone(&older));
        Ok(older)
    }
}

impl Known {
    fn compare(&mut self, shards: &[Shard]) -> Result<Vec<PassedOver>, SearchError> {
        let count = shards.iter().map(|shard| shard.columns.len()).sum();
        let mut older = vec![PassedOver::NONE; count];
        for (at, one) in shards.iter().enumerate() {
            for other in &shards[at + 1..] {
                for place in (0..).zip(one.searcher.segment_readers()) {
                    for beside in (0..).zip(other.searcher.segment_readers()) {
                        self.compare_two((one, place), (other, beside), &mut older)?;
                    }
                }
            }
        }
        Ok(older)
    }

    /// Marks the older of two copies; of two with one age that of the later collection.
    fn compare_two(
        &mut self,
        (one, (ordinal, segment)): (&Shard, (u32, &SegmentReader)),
        (other, (beside, against)): (&Shard, (u32, &SegmentReader)),
        older: &mut [PassedOver],
    ) -> Result<(), SearchError> {
        let pairs = self.pairs(segment, against)?;
        let visits = &one.columns[ordinal as usize].visits;
        let other_visits = &other.columns[beside as usize].visits;
        for &(doc, copy) in pairs.iter() {
            if segment.is_deleted(doc) || against.is_deleted(copy) {
                continue;
            }
            if visits.first(doc) < other_visits.first(copy) {
                older[one.number_of(ordinal)].add(doc, segment.max_doc());
            } else {
                older[other.number_of(beside)].add(copy, against.max_doc());
            }
        }
        Ok(())
    }

    fn pairs(&mut self, one: &SegmentReader, other: &SegmentReader) -> Result<Pairs, SearchError> {
        let both = (one.segment_id(), other.segment_id());
        if let Some(known) = self.pairs.get(&both) {
            return Ok(Arc::clone(known));
        }
        let pairs: Arc<[_]> = joined(&*self.side(one)?, &*self.side(other)?).into();
        self.pairs.insert(both, Arc::clone(&pairs));
        Ok(pairs)
    }

    fn side(&mut self, segment: &SegmentReader) -> Result<Arc<Side>, SearchError> {
        if let Some(known) = self.sides.get(&segment.segment_id()) {
            return Ok(Arc::clone(known));
        }
        let ties = segment.fast_fields().u64("tie")?;
        let side = Arc::new(Side::new(ties, segment.max_doc()));
        self.sides.insert(segment.segment_id(), Arc::clone(&side));
        Ok(side)
    }
}
