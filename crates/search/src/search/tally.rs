//! What a word or a phrase counts in each document of a segment that has it, added up over all its lists.
//!
//! ```text
//! lists ──> Tally ──┬──> TallyMatch    beside parts that are looked up
//!                   └──> TalliedGroup  where every part is tallied: 64 documents at a time
//! ```
//!
//! The tallies of words are remembered until the next commit: those of most queries were read before.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tantivy::{DocId, TERMINATED};

use super::given::passed;
use super::matching::Match;
use crate::error::SearchError;

/// Something whose lists can be read one after the other.
pub(super) trait Source {
    /// Calls `each` with every entry: document, and what it adds to the frequency there.
    fn read(&mut self, each: impl FnMut(DocId, f32)) -> Result<(), SearchError>;
}

/// Documents with what they count, before the idf.
pub(super) enum Tally {
    /// Rare: the documents in order.
    Few(Box<[(DocId, f32)]>),
    /// Common: a bit and a number for every document of the segment.
    Many {
        bits: Box<[u64]>,
        values: Box<[f32]>,
        count: usize,
    },
}

/// What a frequency counts: more of the same helps less and less.
pub(super) fn saturated(k1: f32, frequency: f32) -> f32 {
    frequency * (k1 + 1.0) / (frequency + k1)
}

impl Tally {
    /// Of a source with at most so many entries, in a segment of so many documents.
    pub(super) fn of(
        source: &mut impl Source,
        entries: u64,
        documents: DocId,
        k1: f32,
    ) -> Result<Self, SearchError> {
        // Up to here sorting is cheaper than a place for every document.
        if entries * 16 < u64::from(documents) {
            return Self::few(source, entries, k1);
        }
        let documents = documents as usize;
        let mut bits = vec![0_u64; documents.div_ceil(64)];
        let mut values = vec![0.0_f32; documents];
        source.read(|doc, frequency| {
            bits[doc as usize / 64] |= 1 << (doc % 64);
            values[doc as usize] += frequency;
        })?;
        let count = bits.iter().map(|bits| bits.count_ones() as usize).sum();
        values
            .iter_mut()
            .for_each(|value| *value = saturated(k1, *value));
        Ok(Self::Many {
            bits: bits.into(),
            values: values.into(),
            count,
        })
    }

    fn few(source: &mut impl Source, entries: u64, k1: f32) -> Result<Self, SearchError> {
        let mut found = Vec::with_capacity(usize::try_from(entries).unwrap_or(0));
        source.read(|doc, frequency| found.push((doc, frequency)))?;
        // Stable: what is added up for a document is added in the order of the terms.
        found.sort_by_key(|(doc, _): &(DocId, f32)| *doc);
        found.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        for (_, value) in &mut found {
            *value = saturated(k1, *value);
        }
        Ok(Self::Few(found.into()))
    }

    /// Documents that have it.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Few(found) => found.len(),
            Self::Many { count, .. } => *count,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Few(found) => size_of_val(&**found),
            Self::Many { bits, values, .. } => size_of_val(&**bits) + size_of_val(&**values),
        }
    }

    fn has(&self, doc: DocId) -> bool {
        match self {
            Self::Few(found) => found.binary_search_by_key(&doc, |(doc, _)| *doc).is_ok(),
            Self::Many { bits, .. } => bits[doc as usize / 64] >> (doc % 64) & 1 == 1,
        }
    }

    /// Sets the bits of its documents.
    fn add_to(&self, sum: &mut [u64]) {
        match self {
            Self::Few(found) => {
                for (doc, _) in found {
                    sum[*doc as usize / 64] |= 1 << (doc % 64);
                }
            }
            Self::Many { bits, .. } => {
                sum.iter_mut()
                    .zip(bits)
                    .for_each(|(sum, bits)| *sum |= bits);
            }
        }
    }

    /// Clears the bits of its documents.
    fn take_from(&self, sum: &mut [u64]) {
        match self {
            Self::Few(found) => {
                for (doc, _) in found {
                    sum[*doc as usize / 64] &= !(1 << (doc % 64));
                }
            }
            Self::Many { bits, .. } => {
                sum.iter_mut()
                    .zip(bits)
                    .for_each(|(sum, bits)| *sum &= !bits);
            }
        }
    }

    /// Clears the bits of all others.
    fn narrow(&self, sum: &mut [u64]) {
        match self {
            Self::Few(_) => {
                let mut own = vec![0; sum.len()];
                self.add_to(&mut own);
                sum.iter_mut().zip(own).for_each(|(sum, own)| *sum &= own);
            }
            Self::Many { bits, .. } => {
                sum.iter_mut()
                    .zip(bits)
                    .for_each(|(sum, bits)| *sum &= bits);
            }
        }
    }
}

/// The first set bit at or after `from`.
fn next_bit(bits: &[u64], from: DocId) -> DocId {
    let mut place = from as usize / 64;
    let Some(&first) = bits.get(place) else {
        return TERMINATED;
    };
    let mut left = first & (u64::MAX << (from % 64));
    while left == 0 {
        place += 1;
        match bits.get(place) {
            Some(&bits) => left = bits,
            None => return TERMINATED,
        }
    }
    DocId::try_from(place * 64).map_or(TERMINATED, |start| start + left.trailing_zeros())
}

/// A tally and its idf, asked for documents upwards.
pub(super) struct Tallied {
    tally: Arc<Tally>,
    idf: f32,
    /// In `Few`.
    at: usize,
}

impl Tallied {
    pub(super) fn new(tally: Arc<Tally>, idf: f32) -> Self {
        Self { tally, idf, at: 0 }
    }

    /// What it counts in a document; none where it is not there.
    fn score(&mut self, doc: DocId) -> Option<f32> {
        let value = match &*self.tally {
            Tally::Few(found) => {
                self.at += passed(&found[self.at..], |(known, _)| *known < doc);
                let (known, value) = found.get(self.at)?;
                (*known == doc).then_some(*value)?
            }
            Tally::Many { bits, values, .. } => {
                let is_here = bits[doc as usize / 64] >> (doc % 64) & 1 == 1;
                is_here.then(|| values[doc as usize])?
            }
        };
        Some(self.idf * value)
    }
}

/// Walks over the documents of one tally.
pub(super) struct TallyMatch {
    tallied: Tallied,
    doc: DocId,
}

impl TallyMatch {
    pub(super) fn new(tallied: Tallied) -> Self {
        let mut matches = Self { tallied, doc: 0 };
        matches.settle(0);
        matches
    }

    fn settle(&mut self, target: DocId) {
        self.doc = match &*self.tallied.tally {
            Tally::Few(found) => {
                let at = &mut self.tallied.at;
                *at += passed(&found[*at..], |(doc, _)| *doc < target);
                found.get(*at).map_or(TERMINATED, |(doc, _)| *doc)
            }
            Tally::Many { bits, .. } => next_bit(bits, target),
        };
    }
}

impl Match for TallyMatch {
    fn doc(&self) -> DocId {
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            self.settle(target);
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        self.tallied.score(self.doc).unwrap_or(0.0)
    }
}

/// Clauses that are all tallied: which documents match is known before the first is looked at.
pub(super) struct TalliedGroup {
    bits: Vec<u64>,
    doc: DocId,
    must: Vec<Tallied>,
    should: Vec<Tallied>,
    wishes: Vec<Tallied>,
}

impl TalliedGroup {
    pub(super) fn new(
        documents: DocId,
        must: Vec<Tallied>,
        should: Vec<Tallied>,
        wishes: Vec<Tallied>,
        not: &[Tallied],
    ) -> Self {
        let mut bits = vec![0; (documents as usize).div_ceil(64)];
        match must.split_first() {
            Some((first, rest)) => {
                first.tally.add_to(&mut bits);
                rest.iter().for_each(|part| part.tally.narrow(&mut bits));
            }
            None => {
                let any = should.iter().chain(&wishes);
                any.for_each(|part| part.tally.add_to(&mut bits));
            }
        }
        for part in not {
            part.tally.take_from(&mut bits);
        }
        Self {
            doc: next_bit(&bits, 0),
            bits,
            must,
            should,
            wishes,
        }
    }
}

impl Match for TalliedGroup {
    fn doc(&self) -> DocId {
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            self.doc = next_bit(&self.bits, target);
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        let doc = self.doc;
        let parts = self.must.iter_mut().chain(&mut self.should);
        let scores = parts
            .chain(&mut self.wishes)
            .filter_map(|part| part.score(doc));
        scores.sum()
    }

    fn has_all(&self) -> bool {
        self.should.iter().all(|part| part.tally.has(self.doc))
    }
}

/// The tallies of one word, for each segment of all indexes.
#[derive(Debug)]
pub(super) struct Tallies {
    segments: Box<[OnceLock<Arc<Tally>>]>,
    /// Bytes of all that are remembered.
    held: Arc<AtomicUsize>,
}

impl Tallies {
    pub(super) fn new(segments: usize, held: &Arc<AtomicUsize>) -> Self {
        Self {
            segments: (0..segments).map(|_| OnceLock::new()).collect(),
            held: Arc::clone(held),
        }
    }

    pub(super) fn get(&self, number: usize) -> Option<Arc<Tally>> {
        self.segments.get(number)?.get().cloned()
    }

    pub(super) fn put(&self, number: usize, tally: &Arc<Tally>) {
        let place = self.segments.get(number);
        if place.is_some_and(|place| place.set(Arc::clone(tally)).is_ok()) {
            self.held.fetch_add(tally.bytes(), Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Tally of {}", self.len())
    }
}
