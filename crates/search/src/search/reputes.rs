//! What others say of pages, joined to them: see `entry`.
//!
//! ```text
//! page: tie ───┐
//!              ├──> for each page its rank, for each repute its page
//! repute: of ──┘
//! ```
//!
//! Two segments are joined once; a commit that adds a small one costs little, however large the others are.
//! Which of both are deleted is looked at for every state of the index.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::columnar::Column;
use tantivy::index::SegmentId;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocId, Searcher, SegmentReader, TERMINATED};

use super::given::{Given, passed};
use super::matching::Scoring;
use super::phrase::FieldPhrase;
use super::searcher::Shard;
use super::statistics::{Places, narrow};
use crate::error::SearchError;
use crate::schema::ANCHORS;

/// The join in one state of an index.
#[derive(Default)]
pub(super) struct Reputes {
    segments: Vec<OfSegment>,
    /// How many there are.
    pub(super) count: u64,
}

#[derive(Default)]
struct OfSegment {
    /// The rank of each document; empty where none has one.
    ranks: Vec<f32>,
    /// The page of each document that is a repute; empty where none is.
    pages: Vec<DocAddress>,
}

/// No page has it.
const NOWHERE: DocAddress = DocAddress {
    segment_ord: u32::MAX,
    doc_id: TERMINATED,
};

impl Reputes {
    /// The ranks of the documents of a segment; empty where none has one.
    pub(super) fn ranks(&self, ordinal: u32) -> &[f32] {
        &self.segments[ordinal as usize].ranks
    }

    fn new(searcher: &Searcher, known: &mut Known) -> Result<Self, SearchError> {
        let segments = searcher.segment_readers();
        let mut reputes = Self::default();
        let mut keys = Vec::with_capacity(segments.len());
        for segment in segments {
            reputes.segments.push(OfSegment::default());
            keys.push(known.keys(segment)?);
        }
        for (j, from) in segments.iter().enumerate() {
            if keys[j].reputes.docs.is_empty() {
                continue;
            }
            let ranks = from.fast_fields().f64("rank")?;
            reputes.segments[j].pages = vec![NOWHERE; from.max_doc() as usize];
            for (i, to) in (0..).zip(segments) {
                let pairs = known.pairs((to, &keys[i as usize].pages), (from, &keys[j].reputes));
                let own = &mut reputes.segments[i as usize].ranks;
                if own.is_empty() && !pairs.is_empty() {
                    *own = vec![0.0; to.max_doc() as usize];
                }
                for &(page, repute) in pairs.iter() {
                    if to.is_deleted(page) || from.is_deleted(repute) {
                        continue;
                    }
                    let rank = narrow(ranks.first(repute).unwrap_or(0.0));
                    reputes.segments[i as usize].ranks[page as usize] = rank;
                    let address = DocAddress::new(i, page);
                    reputes.segments[j].pages[repute as usize] = address;
                    reputes.count += 1;
                }
            }
        }
        Ok(reputes)
    }
}

/// What was joined for one index.
#[derive(Default)]
pub(super) struct Memory(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Two at most: a state is joined before anybody asks for it, and the one before it is asked meanwhile.
    states: Vec<State>,
    keys: HashMap<SegmentId, Arc<Keys>>,
    /// Of pages in one segment and reputes in another.
    pairs: HashMap<(SegmentId, SegmentId), Pairs>,
}

/// An index as one commit left it.
struct State {
    generation: u64,
    segments: Vec<SegmentId>,
    reputes: Arc<Reputes>,
}

/// A page and its repute.
type Pairs = Arc<[(DocId, DocId)]>;

impl Memory {
    /// The join as the index stands.
    pub(super) fn of(&self, searcher: &Searcher) -> Result<Arc<Reputes>, SearchError> {
        let generation = searcher.generation().generation_id();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = known.states.iter().find(|it| it.generation == generation) {
            return Ok(Arc::clone(&state.reputes));
        }
        let newest = known.states.iter().map(|state| state.generation).max();
        known.states.retain(|it| Some(it.generation) == newest);
        let segments = searcher.segment_readers().iter();
        let segments: Vec<SegmentId> = segments.map(SegmentReader::segment_id).collect();
        known.forget_all_but(&segments);
        let reputes = Arc::new(Reputes::new(searcher, &mut known)?);
        known.states.push(State {
            generation,
            segments,
            reputes: Arc::clone(&reputes),
        });
        Ok(reputes)
    }

    /// Forgets what was joined for others than this state, when nobody will ask for them.
    pub(super) fn forget_all_but(&self, searcher: &Searcher) {
        let generation = searcher.generation().generation_id();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.states.retain(|it| it.generation == generation);
        known.forget_all_but(&[]);
    }

    #[cfg(test)]
    pub(super) fn knows(&self, searcher: &Searcher) -> bool {
        let generation = searcher.generation().generation_id();
        let known = self.0.lock().unwrap();
        known.states.iter().any(|it| it.generation == generation)
    }
}

impl Known {
    /// Forgets segments that are neither among these nor in a state that is remembered.
    fn forget_all_but(&mut self, segments: &[SegmentId]) {
        let states = &self.states;
        let stays = |id: &SegmentId| {
            segments.contains(id) || states.iter().any(|state| state.segments.contains(id))
        };
        self.keys.retain(|id, _| stays(id));
        self.pairs.retain(|(to, from), _| stays(to) && stays(from));
    }

    fn keys(&mut self, segment: &SegmentReader) -> Result<Arc<Keys>, SearchError> {
        if let Some(keys) = self.keys.get(&segment.segment_id()) {
            return Ok(Arc::clone(keys));
        }
        let fast = segment.fast_fields();
        let documents = segment.max_doc();
        let keys = Arc::new(Keys {
            pages: Side::new(fast.u64("tie")?, documents),
            reputes: Side::new(fast.u64("of")?, documents),
        });
        self.keys.insert(segment.segment_id(), Arc::clone(&keys));
        Ok(keys)
    }

    fn pairs(
        &mut self,
        (to, pages): (&SegmentReader, &Side),
        (from, reputes): (&SegmentReader, &Side),
    ) -> Pairs {
        let both = (to.segment_id(), from.segment_id());
        let pairs = self
            .pairs
            .entry(both)
            .or_insert_with(|| joined(pages, reputes).into());
        Arc::clone(pairs)
    }
}

/// The documents of a segment by what they are joined by.
struct Keys {
    pages: Side,
    reputes: Side,
}

/// Documents that have a key, in its order.
pub(super) struct Side {
    docs: Vec<DocId>,
    keys: Column<u64>,
}

impl Side {
    pub(super) fn new(keys: Column<u64>, documents: DocId) -> Self {
        let found = (0..documents).filter_map(|doc| Some((keys.first(doc)?, doc)));
        let mut found: Vec<(u64, DocId)> = found.collect();
        found.sort_unstable();
        Self {
            docs: found.into_iter().map(|(_, doc)| doc).collect(),
            keys,
        }
    }

    fn key(&self, doc: DocId) -> u64 {
        self.keys.first(doc).unwrap_or(0)
    }
}

/// Pages with their reputes, or with others of the same URL. An old version of either may still be there: all are paired.
pub(super) fn joined(pages: &Side, reputes: &Side) -> Vec<(DocId, DocId)> {
    if pages.docs.len() > reputes.docs.len() {
        let mut pairs = joined(reputes, pages);
        pairs.iter_mut().for_each(|pair| *pair = (pair.1, pair.0));
        return pairs;
    }
    let (mut pairs, mut at) = (Vec::new(), 0);
    for &doc in &pages.docs {
        let key = pages.key(doc);
        at += passed(&reputes.docs[at..], |&other| reputes.key(other) < key);
        let same = reputes.docs[at..].iter();
        let same = same.take_while(|&&other| reputes.key(other) == key);
        pairs.extend(same.map(|&other| (doc, other)));
    }
    pairs
}

/// What anchor texts give the pages of one index while a query is answered: read once for all segments,
/// as the reputes of one segment lie in any other.
#[derive(Default)]
pub(super) struct Anchors {
    /// By where the terms lie: a term of a plan has one such list.
    read: RefCell<HashMap<Vec<usize>, Vec<Given>>>,
}

impl Anchors {
    /// The documents of this segment that have a term in their anchor texts.
    pub(super) fn word(
        &self,
        scoring: &Scoring<'_>,
        places: &Places,
    ) -> Result<Given, SearchError> {
        self.of(scoring, std::slice::from_ref(places), |there, each| {
            let Some(info) = &places[there.number()] else {
                return Ok(());
            };
            let norm = there.norm(ANCHORS);
            let index = there.index(ANCHORS)?;
            let option = IndexRecordOption::WithFreqs;
            let blocks = index.read_block_postings_from_terminfo(info, option);
            let mut blocks = blocks.map_err(tantivy::TantivyError::from)?;
            while !blocks.docs().is_empty() {
                for (&doc, &count) in blocks.docs().iter().zip(blocks.freqs()) {
                    each(doc, norm.weigh(doc, count));
                }
                blocks.advance();
            }
            Ok(())
        })
    }

    /// The same for words in order.
    pub(super) fn phrase(
        &self,
        scoring: &Scoring<'_>,
        words: &[Places],
    ) -> Result<Given, SearchError> {
        self.of(scoring, words, |there, each| {
            if let Some(mut phrase) = FieldPhrase::new(there, ANCHORS, words)? {
                while phrase.doc() != TERMINATED {
                    each(phrase.doc(), phrase.frequency());
                    phrase.seek(phrase.doc() + 1);
                }
            }
            Ok(())
        })
    }

    fn of(
        &self,
        scoring: &Scoring<'_>,
        words: &[Places],
        read: impl Fn(&Scoring<'_>, &mut dyn FnMut(DocId, f32)) -> Result<(), SearchError>,
    ) -> Result<Given, SearchError> {
        let key: Vec<usize> = words.iter().map(|places| places.as_ptr().addr()).collect();
        let ordinal = scoring.ordinal as usize;
        if let Some(known) = self.read.borrow().get(&key) {
            return Ok(known[ordinal].clone());
        }
        let shard: &Shard = scoring.shard;
        let reputes = &shard.reputes.segments;
        let mut found = vec![Vec::new(); reputes.len()];
        for (there, own) in (0..).zip(reputes).filter(|(_, own)| !own.pages.is_empty()) {
            let there = Scoring {
                ordinal: there,
                ..*scoring
            };
            read(&there, &mut |doc, frequency| {
                let page = own.pages[doc as usize];
                if let Some(found) = found.get_mut(page.segment_ord as usize) {
                    found.push((page.doc_id, frequency));
                }
            })?;
        }
        let found: Vec<Given> = found
            .into_iter()
            .map(|mut found| {
                found.sort_unstable_by_key(|(doc, _)| *doc);
                Given::new(found.into())
            })
            .collect();
        let own = found[ordinal].clone();
        self.read.borrow_mut().insert(key, found);
        Ok(own)
    }
}
