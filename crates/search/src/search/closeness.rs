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

/// The postings of all words in one field of one segment.
pub(super) struct Lists {
    lists: Vec<(SegmentPostings, usize)>,
    places: Vec<(u32, usize)>,
    positions: Vec<u32>,
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
        for (number, word) in sought.iter().enumerate() {
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
        })
    }

    /// Where the words stand in a document: position, and number of the word. Documents are asked upwards.
    pub(super) fn places(&mut self, doc: u32) -> &[(u32, usize)] {
        self.places.clear();
        for (list, number) in &mut self.lists {
            if list.doc() < doc {
                list.seek(doc);
            }
            if list.doc() == doc {
                list.positions(&mut self.positions);
                self.places
                    .extend(self.positions.iter().map(|&position| (position, *number)));
            }
        }
        // Runs that are in order already: the stable sort only merges them.
        self.places.sort();
        self.places.dedup();
        &self.places
    }

    fn closeness(&mut self, doc: u32, sought: &[WordPlan]) -> f32 {
        self.places(doc);
        let mut gains = vec![0.0_f32; sought.len()];
        for pair in self.places.windows(2) {
            let [(first, a), (second, b)] = *pair else {
                continue;
            };
            let distance = second - first;
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
