//! Plans made to walk over one segment: which documents match, and how well.

use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader, TERMINATED, Term};

use super::phrase::PhraseMatch;
use super::plan::{GroupPlan, Plan, WordPlan};
use super::statistics::Statistics;
use crate::error::SearchError;
use crate::schema::{Fields, TEXT_FIELDS};
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
pub(super) struct Scoring<'a> {
    pub(super) segment: &'a SegmentReader,
    pub(super) fields: &'a Fields,
    pub(super) norms: &'a Norms,
}

/// For each text field and coded length: the field's weight over its length norm; and `k1`.
pub(super) struct Norms {
    tables: [Arc<[f32; 256]>; TEXT_FIELDS],
    k1: f32,
}

impl Norms {
    pub(super) fn new(weights: &Weights, statistics: &Statistics) -> Self {
        let tables = std::array::from_fn(|field| {
            let (weight, b) = (weights.fields[field], weights.lengths[field]);
            let mean = statistics.mean_length(field).max(1.0);
            Arc::new(std::array::from_fn(|id| {
                let code = u8::try_from(id).unwrap_or(u8::MAX);
                let length = FieldNormReader::id_to_fieldnorm(code) as f32;
                weight / (1.0 - b + b * length / mean)
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
    table: Arc<[f32; 256]>,
}

impl FieldNorm {
    pub(super) fn of(&self, doc: DocId) -> f32 {
        self.table[usize::from(self.lengths.fieldnorm_id(doc))]
    }
}

impl Scoring<'_> {
    pub(super) fn norm(&self, field: usize) -> Result<FieldNorm, SearchError> {
        let lengths = self
            .segment
            .get_fieldnorms_reader(self.fields.texts[field])?;
        Ok(FieldNorm {
            lengths,
            table: Arc::clone(&self.norms.tables[field]),
        })
    }

    /// Saturated: more of the same helps less and less.
    pub(super) fn k1(&self) -> f32 {
        self.norms.k1
    }

    pub(super) fn group(&self, plan: &GroupPlan) -> Result<Box<dyn Match>, SearchError> {
        let all = |plans: &[Plan]| {
            plans
                .iter()
                .map(|plan| self.plan(plan))
                .collect::<Result<Vec<_>, _>>()
        };
        let (must, should, wishes) = (all(&plan.must)?, all(&plan.should)?, all(&plan.wishes)?);
        let mut filters = all(&plan.filters)?;
        let mut needs_any = must.is_empty() && !(should.is_empty() && wishes.is_empty());
        if must.is_empty() && !needs_any && filters.is_empty() {
            // Only what must not be there: everything else. Nothing at all: nothing.
            needs_any = plan.not.is_empty();
            filters.push(self.visited(i64::MIN, i64::MAX)?);
        }
        let mut group = GroupMatch {
            filters,
            must,
            should,
            not: all(&plan.not)?,
            wishes,
            needs_any,
            doc: 0,
        };
        group.settle(0);
        Ok(Box::new(group))
    }

    fn plan(&self, plan: &Plan) -> Result<Box<dyn Match>, SearchError> {
        Ok(match plan {
            Plan::Word(word) => Box::new(self.word(word)?),
            Plan::Phrase(phrase) => Box::new(PhraseMatch::new(self, phrase)?),
            Plan::Site(site) => self.term(&Term::from_field_text(self.fields.within, site))?,
            Plan::Type(kind) => self.term(&Term::from_field_text(self.fields.kinds, kind))?,
            Plan::Language(code) => {
                self.term(&Term::from_field_text(self.fields.language, code))?
            }
            &Plan::Visited(from, to) => self.visited(from, to)?,
            Plan::Either(plans) => {
                let parts = plans
                    .iter()
                    .map(|plan| self.plan(plan))
                    .collect::<Result<Vec<_>, _>>()?;
                Box::new(EitherMatch { parts })
            }
            Plan::Group(group) => self.group(group)?,
        })
    }

    fn word(&self, plan: &WordPlan) -> Result<WordMatch, SearchError> {
        let mut lists = Vec::new();
        let mut norms = Vec::new();
        let mut last = None;
        for (field, term, share) in &plan.terms {
            let term = Term::from_field_text(self.fields.texts[*field], term);
            let index = self.segment.inverted_index(term.field())?;
            if let Some(postings) = index.read_postings(&term, IndexRecordOption::WithFreqs)? {
                if last != Some(*field) {
                    norms.push(self.norm(*field)?);
                    last = Some(*field);
                }
                lists.push((postings, norms.len() - 1, *share));
            }
        }
        let mut word = WordMatch {
            lists,
            norms,
            k1: self.k1(),
            idf: plan.idf * plan.weight,
            doc: 0,
        };
        word.settle();
        Ok(word)
    }

    fn term(&self, term: &Term) -> Result<Box<dyn Match>, SearchError> {
        let index = self.segment.inverted_index(term.field())?;
        let postings = index.read_postings(term, IndexRecordOption::Basic)?;
        Ok(Box::new(TermMatch(
            postings.unwrap_or_else(SegmentPostings::empty),
        )))
    }

    fn visited(&self, from: i64, to: i64) -> Result<Box<dyn Match>, SearchError> {
        let column = self.segment.fast_fields().i64("fetched")?;
        let mut visited = VisitedMatch {
            column,
            from,
            to,
            end: self.segment.max_doc(),
            doc: 0,
        };
        visited.settle(0);
        Ok(Box::new(visited))
    }
}

/// One word over all its terms: BM25F.
struct WordMatch {
    lists: Vec<(SegmentPostings, usize, f32)>,
    norms: Vec<FieldNorm>,
    k1: f32,
    idf: f32,
    doc: DocId,
}

impl WordMatch {
    fn settle(&mut self) {
        self.doc = self
            .lists
            .iter()
            .map(|(list, ..)| list.doc())
            .min()
            .unwrap_or(TERMINATED);
    }
}

impl Match for WordMatch {
    fn doc(&self) -> DocId {
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            for (list, ..) in &mut self.lists {
                let at = list.doc();
                if at + 1 == target {
                    list.advance();
                } else if at < target {
                    list.seek(target);
                }
            }
            self.settle();
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        let mut frequency = 0.0;
        for (list, field, share) in &self.lists {
            if list.doc() == self.doc {
                frequency += share * list.term_freq() as f32 * self.norms[*field].of(self.doc);
            }
        }
        self.idf * frequency * (self.k1 + 1.0) / (frequency + self.k1)
    }
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
