//! What is known of all indexes together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::index::SegmentId;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;
use tantivy::{SegmentReader, Term};

use super::deadline::Deadline;
use super::searcher::Shard;
use crate::error::SearchError;
use crate::schema::{ANCHORS, Fields, TEXT_FIELDS};

/// Counts of living documents and their words.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Statistics {
    pub(super) documents: u64,
    /// For each text field: documents that have it, and its words in all of them.
    fields: [(u64, u64); TEXT_FIELDS],
}

impl Statistics {
    /// The mean length of a text field where it is there at all.
    pub(super) fn mean_length(&self, field: usize) -> f32 {
        let (documents, words) = self.fields[field];
        if documents == 0 {
            1.0
        } else {
            narrow(words as f64 / documents as f64)
        }
    }

    /// How telling a word is that this many documents have.
    pub(super) fn idf(&self, documents: u64) -> f32 {
        let all = self.documents.max(documents) as f64;
        let some = documents as f64;
        narrow((1.0 + (all - some + 0.5) / (some + 0.5)).ln())
    }

    fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        for (sum, part) in self.fields.iter_mut().zip(other.fields) {
            sum.0 += part.0;
            sum.1 += part.1;
        }
    }
}

/// Scores are reckoned with less than half the digits that counts are.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a rounded score is still the score"
)]
pub(super) fn narrow(value: f64) -> f32 {
    value as f32
}

/// Statistics of segments that were counted once.
#[derive(Debug, Default)]
pub(super) struct Counted {
    segments: Mutex<HashMap<(SegmentId, Option<u64>), Statistics>>,
}

/// Segments remembered before the memory begins anew.
const MAX_REMEMBERED: usize = 4_096;

impl Counted {
    pub(super) fn of(&self, shards: &[Shard]) -> Result<Statistics, SearchError> {
        let mut sum = Statistics::default();
        for shard in shards {
            sum.add(&self.of_index(shard.searcher.segment_readers(), &shard.fields)?);
        }
        Ok(sum)
    }

    /// Those of one index.
    pub(super) fn of_index(
        &self,
        segments: &[SegmentReader],
        fields: &Fields,
    ) -> Result<Statistics, SearchError> {
        // Damaged columns may have made a holder panic; what it had remembered by then is true.
        let remembered = self.segments.lock();
        let mut remembered = remembered.unwrap_or_else(PoisonError::into_inner);
        if remembered.len() > MAX_REMEMBERED {
            remembered.clear();
        }
        let mut sum = Statistics::default();
        for segment in segments {
            let key = (segment.segment_id(), segment.delete_opstamp());
            let known = match remembered.get(&key) {
                Some(known) => *known,
                None => {
                    let counted = count(segment, fields)?;
                    remembered.insert(key, counted);
                    counted
                }
            };
            sum.add(&known);
        }
        Ok(sum)
    }
}

fn count(segment: &SegmentReader, fields: &Fields) -> Result<Statistics, SearchError> {
    let mut statistics = Statistics::default();
    let digests = segment.fast_fields().u64("digest")?;
    let mut lengths = Vec::with_capacity(TEXT_FIELDS);
    for field in fields.texts {
        lengths.push(segment.get_fieldnorms_reader(field)?);
    }
    let reputes = segment.fast_fields().u64("of")?;
    for document in segment.doc_ids_alive() {
        // Anchor texts are those of a repute, which is there as long as its page is.
        if reputes.first(document).is_some() {
            let length = lengths[ANCHORS].fieldnorm(document);
            statistics.fields[ANCHORS].0 += u64::from(length > 0);
            statistics.fields[ANCHORS].1 += u64::from(length);
            continue;
        }
        if digests.first(document).is_none() {
            continue;
        }
        statistics.documents += 1;
        for (sum, lengths) in statistics.fields.iter_mut().zip(&lengths) {
            let length = lengths.fieldnorm(document);
            sum.0 += u64::from(length > 0);
            sum.1 += u64::from(length);
        }
    }
    Ok(statistics)
}

/// Where a term lies in each segment of all indexes, by the segment's number.
pub(super) type Places = Arc<[Option<TermInfo>]>;

/// Living documents that have a term, and where it lies; nowhere in segments that were not looked at in time.
pub(super) fn locate(
    shards: &[Shard],
    field: usize,
    term: &str,
    deadline: &Deadline,
) -> Result<(u64, Places), SearchError> {
    let mut sum = 0;
    let mut places = Vec::new();
    for shard in shards {
        let term = Term::from_field_text(shard.fields.texts[field], term);
        for segment in shard.searcher.segment_readers() {
            if deadline.is_over() {
                places.push(None);
                continue;
            }
            let index = segment.inverted_index(term.field())?;
            let info = index.get_term_info(&term)?;
            if let Some(info) = &info {
                sum += match segment.alive_bitset() {
                    None => u64::from(info.doc_freq),
                    Some(alive) => {
                        let postings =
                            index.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
                        u64::from(postings.doc_freq_given_deletes(alive))
                    }
                };
            }
            places.push(info);
        }
    }
    Ok((sum, places.into()))
}

#[cfg(test)]
mod tests {
    use super::super::deadline::Deadline;
    use super::{Counted, locate};
    use crate::config::{IndexConfig, SearchConfig};
    use crate::page::Extras;
    use crate::schema::BODY;
    use crate::search::Searcher;
    use crate::weights::Weights;
    use crate::writer::Writer;

    #[test]
    fn a_term_is_looked_up_in_no_segment_when_the_time_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
        for number in 0..3 {
            let url = format!("http://a.pt/{number}");
            let text = format!("zebra número {number}");
            let document = crate::page::tests::document(&url, &text);
            writer.add(&document, &Extras::default()).unwrap();
            // A segment each.
            writer.commit(number + 1).unwrap();
        }
        let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
        searcher.open("a", folder.path()).unwrap();
        let shards = searcher.every_shard().unwrap();
        for looks in 0..=3 {
            let deadline = Deadline::after_looks(looks);
            let (documents, places) = locate(&shards, BODY, "zebra", &deadline).unwrap();
            let found = places.iter().flatten().count();
            assert_eq!(places.len(), 3, "every segment has a place");
            assert_eq!((documents, found), (u64::from(looks), looks as usize));
            assert_eq!(deadline.was_over(), looks < 3);
        }
    }

    /// Tantivy panics over damaged columns. One query that does must not end all that come after it.
    #[test]
    fn a_query_that_panicked_while_it_counted_does_not_end_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
        let document = crate::page::tests::document("http://a.pt/", "zebra");
        writer.add(&document, &Extras::default()).unwrap();
        writer.commit(1).unwrap();
        let mut searcher = Searcher::new(SearchConfig::default(), Weights::default());
        searcher.open("a", folder.path()).unwrap();
        let shards = searcher.every_shard().unwrap();
        let counted = Counted::default();
        let panicked = std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let _held = counted.segments.lock().unwrap();
                std::panic::resume_unwind(Box::new("a damaged column"));
            });
            holder.join().is_err()
        });
        assert!(panicked && counted.segments.is_poisoned());
        assert_eq!(counted.of(&shards).unwrap().documents, 1);
    }
}
