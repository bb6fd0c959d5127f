//! Words in order.

use std::sync::Arc;

use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED};

use super::deadline::Deadline;
use super::given::{Given, passed};
use super::matching::{FieldNorm, Match, Scoring};
use super::plan::PhrasePlan;
use super::statistics::Places;
use super::tally::{Source, Tallied, Tallies, Tally, saturated};
use super::word::Walk;
use crate::error::SearchError;
use crate::schema::ANCHORS;

/// A phrase in any of its fields.
pub(super) struct PhraseMatch {
    fields: Vec<InField>,
    idf: f32,
    k1: f32,
    documents: DocId,
    /// Where it was read before.
    tally: Option<Arc<Tally>>,
    tallies: Arc<Tallies>,
    number: usize,
    deadline: Arc<Deadline>,
}

impl PhraseMatch {
    pub(super) fn new(scoring: &Scoring<'_>, plan: &PhrasePlan) -> Result<Self, SearchError> {
        let mut fields = Vec::new();
        let number = scoring.number();
        let tally = plan.tallies.get(number);
        let sought = match tally {
            Some(_) => &[][..],
            None => &plan.fields[..],
        };
        for (field, words) in sought {
            if *field == ANCHORS {
                let found = scoring.anchors.phrase(scoring, words)?;
                fields.push(InField::Anchors(found));
            } else if let Some(phrase) = FieldPhrase::new(scoring, *field, words)? {
                fields.push(InField::Own(phrase));
            }
        }
        Ok(Self {
            fields,
            idf: plan.idf,
            k1: scoring.k1(),
            documents: scoring.segment().max_doc(),
            tally,
            tallies: Arc::clone(&plan.tallies),
            number,
            deadline: Arc::clone(scoring.deadline),
        })
    }

    /// Reads all of it, unless far fewer documents will be looked at.
    pub(super) fn walk(mut self, looks: u64) -> Result<Walk, SearchError> {
        if let Some(tally) = self.tally {
            return Ok(Walk::Tallied(Tallied::new(tally, self.idf)));
        }
        let entries = self.entries();
        if entries > looks.saturating_mul(2) {
            return Ok(Walk::Other(Box::new(self)));
        }
        let (documents, k1, idf) = (self.documents, self.k1, self.idf);
        let tally = Arc::new(Tally::of(&mut self, entries, documents, k1)?);
        if !self.deadline.was_over() {
            self.tallies.put(self.number, &tally);
        }
        Ok(Walk::Tallied(Tallied::new(tally, idf)))
    }

    /// At least as many as the documents that have it: those of its rarest word in each field.
    pub(super) fn entries(&self) -> u64 {
        match &self.tally {
            Some(tally) => tally.len() as u64,
            None => self.fields.iter().map(InField::entries).sum(),
        }
    }
}

impl Source for PhraseMatch {
    fn read(&mut self, mut each: impl FnMut(DocId, f32)) -> Result<(), SearchError> {
        for field in &mut self.fields {
            let mut doc = field.seek(0);
            while doc != TERMINATED {
                each(doc, field.frequency());
                doc = field.seek(doc + 1);
            }
        }
        Ok(())
    }
}

/// Where a phrase is looked for.
enum InField {
    /// In what the page itself says.
    Own(FieldPhrase),
    /// In what others say of it.
    Anchors(Given),
}

impl InField {
    fn entries(&self) -> u64 {
        match self {
            Self::Own(phrase) => {
                let rarest = phrase.lists.first();
                rarest.map_or(0, |(list, _)| u64::from(list.doc_freq()))
            }
            Self::Anchors(given) => given.len() as u64,
        }
    }

    fn doc(&self) -> DocId {
        match self {
            Self::Own(phrase) => phrase.doc,
            Self::Anchors(given) => given.doc(),
        }
    }

    fn seek(&mut self, target: DocId) -> DocId {
        match self {
            Self::Own(phrase) => phrase.seek(target),
            Self::Anchors(given) => given.seek(target),
        }
    }

    fn frequency(&self) -> f32 {
        match self {
            Self::Own(phrase) => phrase.frequency(),
            Self::Anchors(given) => given.frequency(),
        }
    }
}

impl Match for PhraseMatch {
    fn doc(&self) -> DocId {
        self.fields
            .iter()
            .map(InField::doc)
            .min()
            .unwrap_or(TERMINATED)
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.fields
            .iter_mut()
            .map(|field| field.seek(target))
            .min()
            .unwrap_or(TERMINATED)
    }

    fn score(&mut self) -> f32 {
        let doc = self.doc();
        let here = self.fields.iter().filter(|field| field.doc() == doc);
        let frequency: f32 = here.map(InField::frequency).sum();
        self.idf * saturated(self.k1, frequency)
    }
}

/// A phrase in one field: the rarest words lead, positions are read only where all words are.
pub(super) struct FieldPhrase {
    /// Postings and place in the phrase, rarest first.
    lists: Vec<(SegmentPostings, u32)>,
    norm: FieldNorm,
    doc: DocId,
    count: usize,
    starts: Vec<u32>,
    others: Vec<u32>,
    deadline: Arc<Deadline>,
    steps: u32,
}

impl FieldPhrase {
    /// None where one of the words is not in this segment.
    pub(super) fn new(
        scoring: &Scoring<'_>,
        field: usize,
        words: &[Places],
    ) -> Result<Option<Self>, SearchError> {
        let infos = words.iter().map(|places| places[scoring.number()].as_ref());
        let Some(infos) = infos.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let index = scoring.index(field)?;
        let mut lists = Vec::new();
        for (place, info) in (0..).zip(infos) {
            let option = IndexRecordOption::WithFreqsAndPositions;
            lists.push((index.read_postings_from_terminfo(info, option)?, place));
        }
        lists.sort_by_key(|(postings, _)| postings.doc_freq());
        let norm = scoring.norm(field);
        let mut phrase = Self {
            lists,
            norm,
            doc: 0,
            count: 0,
            starts: Vec::new(),
            others: Vec::new(),
            deadline: Arc::clone(scoring.deadline),
            steps: 0,
        };
        phrase.settle(0);
        Ok(Some(phrase))
    }

    pub(super) fn doc(&self) -> DocId {
        self.doc
    }

    pub(super) fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            self.settle(target);
        }
        self.doc
    }

    /// How often it stands in the document, weighted.
    pub(super) fn frequency(&self) -> f32 {
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        self.norm.weigh(self.doc, count)
    }

    fn settle(&mut self, from: DocId) {
        let mut target = from;
        loop {
            // Words that stand together everywhere need not stand in this order anywhere.
            let at = match self.deadline.is_over_at(&mut self.steps) {
                true => TERMINATED,
                false => self.together(target),
            };
            self.doc = at;
            if at == TERMINATED {
                return;
            }
            self.count = self.occurrences();
            if self.count > 0 {
                return;
            }
            target = at + 1;
        }
    }

    /// The next document that has all the words.
    fn together(&mut self, from: DocId) -> DocId {
        let mut target = from;
        'again: loop {
            if self.deadline.is_over_at(&mut self.steps) {
                return TERMINATED;
            }
            for (list, _) in &mut self.lists {
                let at = if list.doc() < target {
                    list.seek(target)
                } else {
                    list.doc()
                };
                if at > target {
                    if at == TERMINATED {
                        return TERMINATED;
                    }
                    target = at;
                    continue 'again;
                }
            }
            return target;
        }
    }

    /// How often the words stand in order: beginnings of the phrase that all words agree on.
    fn occurrences(&mut self) -> usize {
        let Some(((first, place), rest)) = self.lists.split_first_mut() else {
            return 0;
        };
        first.positions(&mut self.starts);
        self.starts.retain_mut(|position| {
            let fits = *position >= *place;
            *position = position.saturating_sub(*place);
            fits
        });
        for (list, place) in rest {
            if self.starts.is_empty() {
                return 0;
            }
            list.positions(&mut self.others);
            let mut at = 0;
            self.starts.retain(|start| {
                let wanted = start + *place;
                at += passed(&self.others[at..], |&position| position < wanted);
                self.others.get(at) == Some(&wanted)
            });
        }
        self.starts.len()
    }
}
