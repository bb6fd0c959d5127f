//! Plans made to walk over one segment: which documents match, and how well.

use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::InvertedIndexReader;
use tantivy::postings::SegmentPostings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED, Term};

use super::columns::Columns;
use super::deadline::Deadline;
use super::phrase::PhraseMatch;
use super::plan::{GroupPlan, Plan};
use super::reputes::Anchors;
use super::searcher::Shard;
use super::statistics::Statistics;
use super::tally::{Tallied, TalliedGroup, TallyMatch};
use super::word::{Opened, Walk};
use crate::error::SearchError;
use crate::schema::TEXT_FIELDS;
use crate::weights::Weights;

/// Walks over the matching documents of a segment, upwards.
pub(super) trait Match: Send {
    /// Where it stands; `TERMINATED` at the end.
    fn doc(&self) -> DocId;
    /// Goes to the first match at or after `target`, never backwards.
    fn seek(&mut self, target: DocId) -> DocId;
    /// How well the document where it stands matches.
    fn score(&mut self) -> f32;
    /// Whether the document has everything that was wished for.
    fn has_all(&self) -> bool {
        true
    }
}

/// What scoring in one segment needs.
#[derive(Clone, Copy)]
pub(super) struct Scoring<'a> {
    pub(super) shard: &'a Shard,
    /// Which segment of it.
    pub(super) ordinal: u32,
    pub(super) norms: &'a Norms,
    pub(super) anchors: &'a Anchors,
    pub(super) deadline: &'a Arc<Deadline>,
}

/// For each text field and coded length: the field's weight over its length norm, and how often a term may stand in it to be
/// believed; and `k1`.
pub(super) struct Norms {
    tables: [Arc<[(f32, u32); 256]>; TEXT_FIELDS],
    k1: f32,
}

impl Norms {
    pub(super) fn new(weights: &Weights, statistics: &Statistics) -> Self {
        let tables = std::array::from_fn(|field| {
            let (weight, b) = (weights.fields[field], weights.lengths[field]);
            let mean = statistics.mean_length(field).max(1.0);
            Arc::new(std::array::from_fn(|id| {
                let code = u8::try_from(id).unwrap_or(u8::MAX);
                let length = FieldNormReader::id_to_fieldnorm(code);
                let most = if length < weights.stuffed_length {
                    u32::MAX
                } else {
                    length / weights.stuffed_share.max(1)
                };
                (weight / (1.0 - b + b * length as f32 / mean), most)
            }))
        });
        Self {
            tables,
            k1: weights.k1,
        }
    }
}

/// The norms of one field in one segment.
pub(super) struct FieldNorm {
    lengths: FieldNormReader,
    table: Arc<[(f32, u32); 256]>,
}

impl FieldNorm {
    /// What a term counts that stands so often in a document. Where that is beyond belief, it is there, and no more.
    pub(super) fn weigh(&self, doc: DocId, count: u32) -> f32 {
        let (weight, most) = self.table[usize::from(self.lengths.fieldnorm_id(doc))];
        let count = if count > most { 1 } else { count };
        count as f32 * weight
    }
}

impl<'a> Scoring<'a> {
    pub(super) fn segment(&self) -> &'a SegmentReader {
        self.shard.searcher.segment_reader(self.ordinal)
    }

    /// The number of the segment among those of all indexes.
    pub(super) fn number(&self) -> usize {
        self.shard.number_of(self.ordinal)
    }

    fn columns(&self) -> &'a Columns {
        &self.shard.columns[self.ordinal as usize]
    }

    /// The lists of a text field.
    pub(super) fn index(&self, field: usize) -> Result<Arc<InvertedIndexReader>, SearchError> {
        Ok(self
            .segment()
            .inverted_index(self.shard.fields.texts[field])?)
    }

    pub(super) fn norm(&self, field: usize) -> FieldNorm {
        FieldNorm {
            lengths: self.columns().lengths[field].clone(),
            table: Arc::clone(&self.norms.tables[field]),
        }
    }

    /// Saturated: more of the same helps less and less.
    pub(super) fn k1(&self) -> f32 {
        self.norms.k1
    }

    pub(super) fn group(&self, plan: &GroupPlan) -> Result<Matches, SearchError> {
        let all = |plans: &[Plan]| {
            plans
                .iter()
                .map(|plan| self.open(plan))
                .collect::<Result<Vec<_>, _>>()
        };
        let (must, should) = (all(&plan.must)?, all(&plan.should)?);
        let (wishes, not) = (all(&plan.wishes)?, all(&plan.not)?);
        let filters = all(&plan.filters)?;
        let looks = if must.is_empty() && filters.is_empty() {
            should.iter().chain(&wishes).map(Part::entries).sum()
        } else {
            let all_needed = must.iter().chain(&filters);
            all_needed.map(Part::entries).min().unwrap_or(0)
        };
        let walk = |parts: Vec<Part>| {
            parts
                .into_iter()
                .map(|part| part.walk(looks))
                .collect::<Result<Vec<_>, _>>()
        };
        let (must, should) = (walk(must)?, walk(should)?);
        let (wishes, not) = (walk(wishes)?, walk(not)?);
        let mut sought = must.iter().chain(&should).chain(&wishes).peekable();
        if filters.is_empty() && sought.peek().is_some() {
            let mut all = sought.chain(&not);
            if all.all(|part| matches!(part, Walk::Tallied(_))) {
                let documents = self.segment().max_doc();
                let (must, should) = (tallied(must), tallied(should));
                let (wishes, not) = (tallied(wishes), tallied(not));
                let group = TalliedGroup::new(documents, must, should, wishes, &not);
                return Ok(Matches::Tallied(group));
            }
        }
        let (must, should) = (boxed(must), boxed(should));
        let (wishes, not) = (boxed(wishes), boxed(not));
        let mut filters = boxed(walk(filters)?);
        let mut needs_any = must.is_empty() && !(should.is_empty() && wishes.is_empty());
        if must.is_empty() && !needs_any && filters.is_empty() {
            // Only what must not be there: everything else. Nothing at all: nothing.
            needs_any = plan.not.is_empty();
            filters.push(self.visited(i64::MIN, i64::MAX));
        }
        let mut group = GroupMatch {
            filters,
            must,
            should,
            not,
            wishes,
            needs_any,
            doc: 0,
            deadline: Arc::clone(self.deadline),
            steps: 0,
        };
        group.settle(0);
        Ok(Matches::Other(Box::new(group)))
    }

    /// A part of a group. How a word is walked over is chosen when the other parts are known.
    fn open(&self, plan: &Plan) -> Result<Part, SearchError> {
        let everything = u64::from(self.segment().max_doc());
        Ok(match plan {
            Plan::Word(word) => Part::Word(Opened::new(self, word)?),
            Plan::Phrase(phrase) => Part::Phrase(PhraseMatch::new(self, phrase)?),
            Plan::Site(site) => {
                self.term(&Term::from_field_text(self.shard.fields.within, site))?
            }
            Plan::Type(kind) => self.term(&Term::from_field_text(self.shard.fields.kinds, kind))?,
            Plan::Language(code) => {
                self.term(&Term::from_field_text(self.shard.fields.language, code))?
            }
            &Plan::Visited(from, to) => Part::Other(everything, self.visited(from, to)),
            Plan::Either(plans) => {
                let mut parts = Vec::with_capacity(plans.len());
                let mut entries = 0;
                for plan in plans {
                    let part = self.open(plan)?;
                    entries += part.entries();
                    parts.push(part.walk(u64::MAX)?);
                }
                let parts = boxed(parts);
                Part::Other(entries, Box::new(EitherMatch { parts }))
            }
            Plan::Group(group) => Part::Other(everything, self.group(group)?.boxed()),
        })
    }

    fn term(&self, term: &Term) -> Result<Part, SearchError> {
        let index = self.segment().inverted_index(term.field())?;
        let postings = index.read_postings(term, IndexRecordOption::Basic)?;
        let postings = postings.unwrap_or_else(SegmentPostings::empty);
        let entries = u64::from(postings.doc_freq());
        Ok(Part::Other(entries, Box::new(TermMatch(postings))))
    }

    fn visited(&self, from: i64, to: i64) -> Box<dyn Match> {
        let mut visited = VisitedMatch {
            column: self.columns().visits.clone(),
            from,
            to,
            end: self.segment().max_doc(),
            doc: 0,
        };
        visited.settle(0);
        Box::new(visited)
    }
}

/// How a whole query is walked over. Most are tallied, and their thousands of matches are worth a walk of its own.
pub(super) enum Matches {
    Tallied(TalliedGroup),
    Other(Box<dyn Match>),
}

impl Matches {
    fn boxed(self) -> Box<dyn Match> {
        match self {
            Self::Tallied(group) => Box::new(group),
            Self::Other(matches) => matches,
        }
    }
}

/// A part of a group that is found in the segment, with at least as many entries as it has documents.
enum Part {
    Word(Opened),
    Phrase(PhraseMatch),
    Other(u64, Box<dyn Match>),
}

impl Part {
    fn entries(&self) -> u64 {
        match self {
            Self::Word(word) => word.entries,
            Self::Phrase(phrase) => phrase.entries(),
            Self::Other(entries, _) => *entries,
        }
    }

    fn walk(self, looks: u64) -> Result<Walk, SearchError> {
        match self {
            Self::Word(word) => word.walk(looks),
            Self::Phrase(phrase) => phrase.walk(looks),
            Self::Other(_, matches) => Ok(Walk::Other(matches)),
        }
    }
}

/// Those that are tallied; the caller has seen that all are.
fn tallied(parts: Vec<Walk>) -> Vec<Tallied> {
    let parts = parts.into_iter();
    let parts = parts.filter_map(|part| match part {
        Walk::Tallied(tallied) => Some(tallied),
        Walk::Other(_) => None,
    });
    parts.collect()
}

fn boxed(parts: Vec<Walk>) -> Vec<Box<dyn Match>> {
    let parts = parts.into_iter();
    let parts = parts.map(|part| match part {
        Walk::Tallied(tallied) => Box::new(TallyMatch::new(tallied)) as Box<dyn Match>,
        Walk::Other(matches) => matches,
    });
    parts.collect()
}

/// A condition without score.
struct TermMatch(SegmentPostings);

impl Match for TermMatch {
    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.0.doc() < target {
            self.0.seek(target)
        } else {
            self.0.doc()
        }
    }

    fn score(&mut self) -> f32 {
        0.0
    }
}

/// Documents visited in a stretch of time. (Mere addresses have no visit, so they never match.)
struct VisitedMatch {
    column: Column<i64>,
    from: i64,
    to: i64,
    end: DocId,
    doc: DocId,
}

impl VisitedMatch {
    fn settle(&mut self, from: DocId) {
        let found = (from..self.end).find(|&doc| {
            self.column
                .first(doc)
                .is_some_and(|at| at >= self.from && at < self.to)
        });
        self.doc = found.unwrap_or(TERMINATED);
    }
}

impl Match for VisitedMatch {
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
        0.0
    }
}

/// Any of the parts; the best of them counts.
struct EitherMatch {
    parts: Vec<Box<dyn Match>>,
}

impl Match for EitherMatch {
    fn doc(&self) -> DocId {
        self.parts
            .iter()
            .map(|part| part.doc())
            .min()
            .unwrap_or(TERMINATED)
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.parts
            .iter_mut()
            .map(|part| part.seek(target))
            .min()
            .unwrap_or(TERMINATED)
    }

    fn score(&mut self) -> f32 {
        let doc = self.doc();
        let here = self.parts.iter_mut().filter(|part| part.doc() == doc);
        here.map(|part| part.score()).fold(0.0, f32::max)
    }
}

/// Clauses side by side.
struct GroupMatch {
    filters: Vec<Box<dyn Match>>,
    must: Vec<Box<dyn Match>>,
    should: Vec<Box<dyn Match>>,
    not: Vec<Box<dyn Match>>,
    wishes: Vec<Box<dyn Match>>,
    /// Nothing must be there, so something of the rest has to.
    needs_any: bool,
    doc: DocId,
    deadline: Arc<Deadline>,
    steps: u32,
}

impl GroupMatch {
    fn settle(&mut self, from: DocId) {
        let mut target = from;
        loop {
            let candidate = self.candidate(target);
            if candidate == TERMINATED {
                self.doc = TERMINATED;
                return;
            }
            if !self
                .not
                .iter_mut()
                .any(|part| part.seek(candidate) == candidate)
            {
                self.doc = candidate;
                return;
            }
            target = candidate + 1;
        }
    }

    /// The next document that has what must be there; where no word must, any of the rest.
    fn candidate(&mut self, from: DocId) -> DocId {
        let mut target = from;
        'again: loop {
            // Lists may be long and have nothing in common.
            if self.deadline.is_over_at(&mut self.steps) {
                return TERMINATED;
            }
            for part in self.filters.iter_mut().chain(&mut self.must) {
                let at = part.seek(target);
                if at > target {
                    if at == TERMINATED {
                        return TERMINATED;
                    }
                    target = at;
                    continue 'again;
                }
            }
            if target == TERMINATED || !self.needs_any {
                return target;
            }
            let any = self.should.iter_mut().chain(&mut self.wishes);
            let at = any
                .map(|part| part.seek(target))
                .min()
                .unwrap_or(TERMINATED);
            if at == target {
                return target;
            }
            if at == TERMINATED {
                return TERMINATED;
            }
            target = at;
        }
    }
}

impl Match for GroupMatch {
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
        let doc = self.doc;
        let mut sum = 0.0;
        for part in &mut self.must {
            sum += part.score();
        }
        for part in self.should.iter_mut().chain(&mut self.wishes) {
            if part.seek(doc) == doc {
                sum += part.score();
            }
        }
        sum
    }

    fn has_all(&self) -> bool {
        let mut all = self.must.iter().chain(&self.should);
        all.all(|part| part.doc() == self.doc && part.has_all())
    }
}
