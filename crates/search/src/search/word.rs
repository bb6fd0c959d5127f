//! One word in one segment, over all its terms: BM25F.
//!
//! ```text
//! terms (fields × form and stems) ──> Opened ──┬──> Tally   added up for each document
//!                                              └──> Sought  far more common than what leads: looked up
//! ```
//!
//! A word has a dozen lists. Walking over them side by side costs a look at each for every document, so
//! they are read one after the other, a block at a time, and added up; unless only few documents will be
//! looked at. Both give the same numbers, to the bit.

use std::sync::Arc;

use tantivy::index::InvertedIndexReader;
use tantivy::postings::{Postings, SegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED};

use super::deadline::Deadline;
use super::given::Given;
use super::matching::{FieldNorm, Match, Scoring};
use super::plan::{TermPlan, WordPlan};
use super::tally::{Source, Tallied, Tallies, Tally, saturated};
use crate::error::SearchError;
use crate::schema::ANCHORS;

/// A word whose lists are found and not yet read.
pub(super) struct Opened {
    lists: Vec<List>,
    norms: Vec<FieldNorm>,
    k1: f32,
    idf: f32,
    /// Entries of all lists: at least the documents that have the word.
    pub(super) entries: u64,
    documents: DocId,
    /// Where it was read before.
    tally: Option<Arc<Tally>>,
    tallies: Option<Arc<Tallies>>,
    number: usize,
    deadline: Arc<Deadline>,
}

/// How a part of a group is walked over.
pub(super) enum Walk {
    Tallied(Tallied),
    Other(Box<dyn Match>),
}

/// A term in a field, and what it counts.
enum List {
    /// In what the page itself says.
    Own {
        index: Arc<InvertedIndexReader>,
        info: TermInfo,
        norm: usize,
        share: f32,
    },
    /// In what others say of it.
    Anchors(Given, f32),
}

impl Opened {
    pub(super) fn new(scoring: &Scoring<'_>, plan: &WordPlan) -> Result<Self, SearchError> {
        let (mut lists, mut norms, mut entries) = (Vec::new(), Vec::new(), 0);
        let mut last = None;
        let number = scoring.number();
        let tallies = plan.tallies.clone();
        let tally = tallies.as_ref().and_then(|tallies| tallies.get(number));
        let terms: &[TermPlan] = match &tally {
            Some(tally) => {
                entries = tally.len() as u64;
                &[]
            }
            None => &plan.terms,
        };
        for term in terms {
            if term.field == ANCHORS {
                let found = scoring.anchors.word(scoring, &term.places)?;
                if found.len() > 0 {
                    entries += found.len() as u64;
                    lists.push(List::Anchors(found, term.share));
                }
                continue;
            }
            let Some(info) = term.places[number].clone() else {
                continue;
            };
            if last != Some(term.field) {
                norms.push(scoring.norm(term.field));
                last = Some(term.field);
            }
            entries += u64::from(info.doc_freq);
            lists.push(List::Own {
                index: scoring.index(term.field)?,
                info,
                norm: norms.len() - 1,
                share: term.share,
            });
        }
        Ok(Self {
            lists,
            norms,
            k1: scoring.k1(),
            idf: plan.idf * plan.weight,
            entries,
            documents: scoring.segment().max_doc(),
            tally,
            tallies,
            number,
            deadline: Arc::clone(scoring.deadline),
        })
    }

    /// The way to walk over it that costs least, where about so many documents will be looked at.
    pub(super) fn walk(mut self, looks: u64) -> Result<Walk, SearchError> {
        if let Some(tally) = self.tally {
            return Ok(Walk::Tallied(Tallied::new(tally, self.idf)));
        }
        // A look costs a few entries for each list.
        let looked_up = looks.saturating_mul(4 * self.lists.len() as u64);
        if self.entries > looked_up {
            return Ok(Walk::Other(Box::new(Sought::new(self)?)));
        }
        let (entries, documents, k1) = (self.entries, self.documents, self.k1);
        let tally = Arc::new(Tally::of(&mut self, entries, documents, k1)?);
        // What was read only in part is not remembered.
        if let Some(tallies) = &self.tallies
            && !self.deadline.was_over()
        {
            tallies.put(self.number, &tally);
        }
        Ok(Walk::Tallied(Tallied::new(tally, self.idf)))
    }
}

impl Source for Opened {
    fn read(&mut self, mut each: impl FnMut(DocId, f32)) -> Result<(), SearchError> {
        for list in &self.lists {
            let (index, info, norm, share) = match list {
                List::Own {
                    index,
                    info,
                    norm,
                    share,
                } => (index, info, &self.norms[*norm], *share),
                List::Anchors(given, share) => {
                    for &(doc, frequency) in given.all() {
                        each(doc, share * frequency);
                    }
                    continue;
                }
            };
            let blocks =
                index.read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs);
            let mut blocks = blocks.map_err(tantivy::TantivyError::from)?;
            let mut steps = 0;
            while !blocks.docs().is_empty() && !self.deadline.is_over_at(&mut steps) {
                for (&doc, &count) in blocks.docs().iter().zip(blocks.freqs()) {
                    each(doc, share * norm.weigh(doc, count));
                }
                blocks.advance();
            }
        }
        Ok(())
    }
}

/// A word that is looked up where something rarer leads.
struct Sought {
    lists: Vec<SoughtList>,
    norms: Vec<FieldNorm>,
    k1: f32,
    idf: f32,
    doc: DocId,
}

enum SoughtList {
    Own(Box<SegmentPostings>, usize, f32),
    Anchors(Given, f32),
}

impl SoughtList {
    fn doc(&self) -> DocId {
        match self {
            Self::Own(list, ..) => list.doc(),
            Self::Anchors(given, _) => given.doc(),
        }
    }

    fn seek(&mut self, target: DocId) {
        match self {
            Self::Own(list, ..) => {
                let at = list.doc();
                if at + 1 == target {
                    list.advance();
                } else if at < target {
                    list.seek(target);
                }
            }
            Self::Anchors(given, _) => {
                given.seek(target);
            }
        }
    }
}

impl Sought {
    fn new(word: Opened) -> Result<Self, SearchError> {
        let mut lists = Vec::with_capacity(word.lists.len());
        for list in word.lists {
            lists.push(match list {
                List::Own {
                    index,
                    info,
                    norm,
                    share,
                } => {
                    let option = IndexRecordOption::WithFreqs;
                    let postings = index.read_postings_from_terminfo(&info, option);
                    let postings = postings.map_err(tantivy::TantivyError::from)?;
                    SoughtList::Own(Box::new(postings), norm, share)
                }
                List::Anchors(given, share) => SoughtList::Anchors(given, share),
            });
        }
        let mut sought = Self {
            lists,
            norms: word.norms,
            k1: word.k1,
            idf: word.idf,
            doc: 0,
        };
        sought.settle();
        Ok(sought)
    }

    fn settle(&mut self) {
        self.doc = self
            .lists
            .iter()
            .map(SoughtList::doc)
            .min()
            .unwrap_or(TERMINATED);
    }
}

impl Match for Sought {
    fn doc(&self) -> DocId {
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            for list in &mut self.lists {
                list.seek(target);
            }
            self.settle();
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        let mut frequency = 0.0;
        for list in self.lists.iter().filter(|list| list.doc() == self.doc) {
            frequency += match list {
                SoughtList::Own(list, field, share) => {
                    share * self.norms[*field].weigh(self.doc, list.term_freq())
                }
                SoughtList::Anchors(given, share) => share * given.frequency(),
            };
        }
        self.idf * saturated(self.k1, frequency)
    }
}
