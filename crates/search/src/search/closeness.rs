//! How close together different words of the query stand, for the documents already found best.
//!
//! After Büttcher, Clarke and Lushman (2006): each pair of neighbouring occurrences of different
//! words gives each of them the other's idf, divided by the square of their distance.

use tantivy::DocSet;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;

use super::collect::Candidate;
use super::plan::WordPlan;
use super::searcher::Shard;
use crate::error::SearchError;
use crate::schema::{BODY, TITLE};

/// Words farther apart than this do not count as close.
const WINDOW: u32 = 12;

/// Adds closeness to the scores of these candidates.
pub(super) fn add(
    shards: &[Shard],
    sought: &[WordPlan],
    candidates: &mut [Candidate],
    weight: f32,
) -> Result<(), SearchError> {
    if sought.len() < 2 || weight <= 0.0 {
        return Ok(());
    }
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&index| (candidates[index].shard, candidates[index].at));
    let mut open: Option<(usize, u32, Vec<Lists>)> = None;
    for index in order {
        let Candidate { shard, at, .. } = candidates[index];
        let is_open = open
            .as_ref()
            .is_some_and(|known| (known.0, known.1) == (shard, at.segment_ord));
        if !is_open {
            let mut fields = Vec::new();
            for field in [BODY, TITLE] {
                fields.push(Lists::open(&shards[shard], at.segment_ord, field, sought)?);
            }
            open = Some((shard, at.segment_ord, fields));
        }
        if let Some((_, _, fields)) = &mut open {
            let best = fields
                .iter_mut()
                .map(|lists| lists.closeness(at.doc_id, sought))
                .fold(0.0, f32::max);
            candidates[index].score += weight * best * candidates[index].prior;
        }
    }
    Ok(())
}

/// More than closeness can add to a score, before its weight.
pub(super) fn most(sought: &[WordPlan]) -> f32 {
    let all: f32 = sought.iter().map(|word| word.idf.min(SATURATED_IDF)).sum();
    // Rounding is not to make it less.
    all * 1.001
}

/// The postings of all words in one field of one segment.
pub(super) struct Lists {
    /// Those of a word one after the other.
    lists: Vec<(SegmentPostings, u32)>,
    places: Vec<Place>,
    positions: Vec<u32>,
    last: Vec<u32>,
}

/// Where a word stands: its position, then the number of the word, in one figure that sorts fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u64);

impl Place {
    fn new(position: u32, number: u32) -> Self {
        Self(u64::from(position) << 32 | u64::from(number))
    }

    pub(super) fn position(self) -> u32 {
        u32::try_from(self.0 >> 32).unwrap_or(u32::MAX)
    }

    /// The number of the word.
    pub(super) fn number(self) -> usize {
        usize::try_from(self.0 & u64::from(u32::MAX)).unwrap_or(usize::MAX)
    }
}

impl Lists {
    pub(super) fn open(
        shard: &Shard,
        ordinal: u32,
        field: usize,
        sought: &[WordPlan],
    ) -> Result<Self, SearchError> {
        let segment = shard.searcher.segment_reader(ordinal);
        let index = segment.inverted_index(shard.fields.texts[field])?;
        let mut lists = Vec::new();
        for (number, word) in (0..).zip(sought) {
            for term in word.terms.iter().filter(|term| term.field == field) {
                if let Some(info) = &term.places[shard.number_of(ordinal)] {
                    let option = IndexRecordOption::WithFreqsAndPositions;
                    lists.push((index.read_postings_from_terminfo(info, option)?, number));
                }
            }
        }
        Ok(Self {
            lists,
            places: Vec::new(),
            positions: Vec::new(),
            last: Vec::new(),
        })
    }

    /// Where the words stand in a document, in order. Documents are asked upwards.
    pub(super) fn places(&mut self, doc: u32) -> &[Place] {
        self.places.clear();
        let mut last = None;
        for (list, number) in &mut self.lists {
            if list.doc() < doc {
                list.seek(doc);
            }
            if list.doc() != doc {
                continue;
            }
            list.positions(&mut self.positions);
            // A word and its stem often stand at the very same places.
            if last == Some(*number) && self.positions == self.last {
                continue;
            }
            last = Some(*number);
            let found = self.positions.iter();
            self.places
                .extend(found.map(|&position| Place::new(position, *number)));
            std::mem::swap(&mut self.positions, &mut self.last);
        }
        self.places.sort_unstable();
        self.places.dedup();
        &self.places
    }

    fn closeness(&mut self, doc: u32, sought: &[WordPlan]) -> f32 {
        self.places(doc);
        let mut gains = vec![0.0_f32; sought.len()];
        for pair in self.places.windows(2) {
            let [first, second] = *pair else {
                continue;
            };
            let (a, b) = (first.number(), second.number());
            let distance = second.position() - first.position();
            if a == b || distance == 0 || distance > WINDOW {
                continue;
            }
            let near = 1.0 / (distance as f32).powi(2);
            gains[a] += sought[b].idf * near;
            gains[b] += sought[a].idf * near;
        }
        let gained = gains.iter().zip(sought);
        gained
            .map(|(gain, word)| word.idf.min(SATURATED_IDF) * gain / (gain + word.idf.max(1.0)))
            .sum()
    }
}

/// Beyond this a rarer word does not gain more by its neighbours.
const SATURATED_IDF: f32 = 4.0;
