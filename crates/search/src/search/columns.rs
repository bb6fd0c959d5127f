//! What is kept beside the words of a segment, opened once: opening costs more than a query takes of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::columnar::{Column, ColumnValues};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::store::StoreReader;
use tantivy::{DocId, SegmentReader};

use crate::error::SearchError;
use crate::schema::{Fields, TEXT_FIELDS};

/// Numbers of every document of a segment.
pub(super) struct Columns {
    pub(super) ties: Column<u64>,
    pub(super) visits: Column<i64>,
    /// None where no page of the segment has such a day: that is nearly everywhere, and it is asked for every match.
    untils: Option<Column<i64>>,
    simhashes: Column<u64>,
    /// Lengths of the text fields.
    pub(super) lengths: [FieldNormReader; TEXT_FIELDS],
    /// The stored pages.
    pub(super) pages: StoreReader,
}

impl Columns {
    fn open(segment: &SegmentReader, fields: &Fields) -> Result<Self, SearchError> {
        let fast = segment.fast_fields();
        let mut lengths = Vec::with_capacity(TEXT_FIELDS);
        for field in fields.texts {
            lengths.push(segment.get_fieldnorms_reader(field)?);
        }
        let Ok(lengths) = lengths.try_into() else {
            unreachable!("one is pushed for each field");
        };
        let untils = fast.i64("until")?;
        Ok(Self {
            ties: fast.u64("tie")?,
            visits: fast.i64("fetched")?,
            untils: (untils.values.num_vals() > 0).then_some(untils),
            simhashes: fast.u64("simhash")?,
            lengths,
            pages: segment.get_store_reader(CACHED_BLOCKS)?,
        })
    }

    /// Whether its author wants it found no more at this moment.
    pub(super) fn is_past(&self, doc: DocId, now_micros: i64) -> bool {
        let until = self.untils.as_ref().and_then(|untils| untils.first(doc));
        until.is_some_and(|until| until <= now_micros)
    }

    pub(super) fn simhash(&self, doc: DocId) -> u64 {
        self.simhashes.first(doc).unwrap_or(0)
    }
}

/// Blocks of stored pages that a segment keeps in memory: neighbours of a result are often shown with it.
const CACHED_BLOCKS: usize = 16;

/// Columns of segments that were opened before.
#[derive(Default)]
pub(super) struct Opened(Mutex<HashMap<SegmentId, Arc<Columns>>>);

/// Segments remembered before the memory begins anew.
const MAX_REMEMBERED: usize = 1_024;

impl Opened {
    /// The columns of each segment, in their order.
    pub(super) fn of(
        &self,
        segments: &[SegmentReader],
        fields: &Fields,
    ) -> Result<Vec<Arc<Columns>>, SearchError> {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let news = segments.iter();
        let news = news.filter(|segment| !opened.contains_key(&segment.segment_id()));
        if opened.len() + news.count() > MAX_REMEMBERED {
            opened.clear();
        }
        let mut columns = Vec::with_capacity(segments.len());
        for segment in segments {
            let known = match opened.get(&segment.segment_id()) {
                Some(known) => Arc::clone(known),
                None => {
                    let opening = Arc::new(Columns::open(segment, fields)?);
                    opened.insert(segment.segment_id(), Arc::clone(&opening));
                    opening
                }
            };
            columns.push(known);
        }
        Ok(columns)
    }
}
