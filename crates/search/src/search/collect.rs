//! The best documents of a segment, and counts over all that match.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocAddress, SegmentReader, TERMINATED};
use teia_base::Timestamp;

use super::columns::Columns;
use super::deadline::Deadline;
use super::hidden::PassedOver;
use super::matching::Match;
use super::results::Facet;
use super::searcher::Sort;
use super::statistics::narrow;
use crate::error::SearchError;
use crate::weights::Weights;

/// A document that may be shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) shard: usize,
    pub(super) at: DocAddress,
    /// It has all that was wished for: such documents come first.
    pub(super) has_all: bool,
    /// When it was visited, in microseconds, where that is the order; else 0.
    pub(super) visited: i64,
    pub(super) score: f32,
    /// What `score` was multiplied by for rank and freshness.
    pub(super) prior: f32,
    pub(super) tie: u64,
}

impl Candidate {
    /// Better ones are less.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let key = |one: &Self| (one.has_all, one.visited, ordered(one.score));
        key(other)
            .cmp(&key(self))
            .then_with(|| self.tie.cmp(&other.tie))
    }
}

/// Floating point as integers of the same order. Scores are finite and not negative.
fn ordered(score: f32) -> u32 {
    score.max(0.0).to_bits()
}

struct Worst(Candidate);

impl PartialEq for Worst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Worst {}
impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Worst {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(&other.0)
    }
}

/// How documents are ordered beside their words.
pub(super) struct Priors<'a> {
    pub(super) weights: &'a Weights,
    pub(super) sort: Sort,
    pub(super) now: Option<Timestamp>,
    /// The moment of asking.
    pub(super) at_micros: i64,
}

/// Gathers over segments and shards.
pub(super) struct Collector {
    most: usize,
    deadline: Arc<Deadline>,
    best: BinaryHeap<Worst>,
    pub(super) total: u64,
    counts: Option<[HashMap<String, u64>; 5]>,
}

const FACETS: [&str; 5] = ["site", "host", "language", "type", "year"];
const MAX_FACET_VALUES: usize = 20;
/// What a document counts that was asked for without a word.
const NO_WORDS: f32 = 1e-6;
/// Days after which freshness counts half.
const HALF_LIFE_DAYS: f32 = 30.0;

impl Collector {
    pub(super) fn new(most: usize, deadline: &Arc<Deadline>, facets: bool) -> Self {
        Self {
            most,
            deadline: Arc::clone(deadline),
            best: BinaryHeap::with_capacity(most + 1),
            total: 0,
            counts: facets.then(Default::default),
        }
    }

    pub(super) fn segment(
        &mut self,
        place: (usize, u32),
        segment: &SegmentReader,
        (columns, ranks, passed_over): (&Columns, &[f32], [&PassedOver; 2]),
        matches: &mut (impl Match + ?Sized),
        ordering: &Priors<'_>,
    ) -> Result<(), SearchError> {
        let mut facets = match self.counts {
            Some(_) => Some(SegmentFacets::open(segment)?),
            None => None,
        };
        let mut seen = 0_u32;
        while matches.doc() != TERMINATED {
            let doc = matches.doc();
            if self.deadline.is_over_at(&mut seen) {
                break;
            }
            let is_shown = !segment.is_deleted(doc)
                && !passed_over.iter().any(|passed| passed.has(doc))
                && !columns.is_past(doc, ordering.at_micros);
            if is_shown {
                self.total += 1;
                let rank = ranks.get(doc as usize).copied().unwrap_or(0.0);
                let prior = columns.prior(doc, rank, ordering);
                // Where only conditions are asked for, rank alone decides.
                let score = matches.score().max(NO_WORDS) * prior;
                let (has_all, visited) = match ordering.sort {
                    Sort::Relevance => (matches.has_all(), 0),
                    Sort::Date => (true, columns.visits.first(doc).unwrap_or(0)),
                };
                if self.may_be_kept(has_all, visited, score) {
                    let (shard, ordinal) = place;
                    self.offer(Candidate {
                        shard,
                        at: DocAddress::new(ordinal, doc),
                        has_all,
                        visited,
                        score,
                        prior,
                        tie: columns.ties.first(doc).unwrap_or(0),
                    });
                }
                if let Some(facets) = &mut facets {
                    facets.count(doc);
                }
            }
            matches.seek(doc + 1);
        }
        if let (Some(counts), Some(facets)) = (&mut self.counts, facets) {
            facets.add_to(counts)?;
        }
        Ok(())
    }

    /// Whether it is not plainly worse than all that are kept.
    fn may_be_kept(&self, has_all: bool, visited: i64, score: f32) -> bool {
        if self.best.len() < self.most {
            return true;
        }
        self.best.peek().is_some_and(|Worst(worst)| {
            (has_all, visited, ordered(score))
                >= (worst.has_all, worst.visited, ordered(worst.score))
        })
    }

    fn offer(&mut self, candidate: Candidate) {
        if self.best.len() >= self.most {
            match self.best.peek() {
                Some(worst) if candidate.order(&worst.0) == Ordering::Less => {
                    self.best.pop();
                }
                _ => return,
            }
        }
        self.best.push(Worst(candidate));
    }

    /// The best, best first; and the facets.
    pub(super) fn finish(self) -> (Vec<Candidate>, Vec<Facet>) {
        let best = self
            .best
            .into_sorted_vec()
            .into_iter()
            .map(|worst| worst.0)
            .collect();
        let facets = self.counts.into_iter().flatten().zip(FACETS);
        let facets = facets.map(|(counts, name)| {
            let mut counts: Vec<_> = counts
                .into_iter()
                .filter(|(value, _)| !value.is_empty())
                .collect();
            counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            counts.truncate(MAX_FACET_VALUES);
            Facet { name, counts }
        });
        (best, facets.collect())
    }
}

impl Columns {
    fn prior(&self, doc: u32, rank: f32, ordering: &Priors<'_>) -> f32 {
        let mut prior = 1.0 + ordering.weights.rank * rank;
        if let Some(now) = ordering.now {
            let age = now
                .as_micros()
                .saturating_sub(self.visits.first(doc).unwrap_or(0))
                .max(0);
            let days = narrow(age as f64 / 86_400e6);
            prior *= 1.0 + ordering.weights.freshness * (-days / HALF_LIFE_DAYS).exp2();
        }
        prior
    }
}

/// Counts of one segment, by the numbers of its dictionaries.
struct SegmentFacets {
    columns: [Option<StrColumn>; 4],
    counts: [HashMap<u64, u64>; 4],
    visits: Column<i64>,
    years: HashMap<i64, u64>,
}

impl SegmentFacets {
    fn open(segment: &SegmentReader) -> Result<Self, SearchError> {
        let fast = segment.fast_fields();
        Ok(Self {
            columns: [
                fast.str("site")?,
                fast.str("host")?,
                fast.str("language")?,
                fast.str("type")?,
            ],
            counts: Default::default(),
            visits: fast.i64("fetched")?,
            years: HashMap::new(),
        })
    }

    fn count(&mut self, doc: u32) {
        for (column, counts) in self.columns.iter().zip(&mut self.counts) {
            if let Some(value) = column.as_ref().and_then(|column| column.ords().first(doc)) {
                *counts.entry(value).or_default() += 1;
            }
        }
        if let Some(visit) = self.visits.first(doc) {
            // Counted by day; the days of a year are put together at the end.
            *self
                .years
                .entry(visit.div_euclid(86_400_000_000))
                .or_default() += 1;
        }
    }

    fn add_to(self, sums: &mut [HashMap<String, u64>; 5]) -> Result<(), SearchError> {
        let mut value = String::new();
        for ((column, counts), sums) in self.columns.iter().zip(self.counts).zip(sums.iter_mut()) {
            let Some(column) = column else {
                continue;
            };
            for (ordinal, count) in counts {
                value.clear();
                column.ord_to_str(ordinal, &mut value)?;
                *sums.entry(value.clone()).or_default() += count;
            }
        }
        for (day, count) in self.years {
            let digits = Timestamp::from_micros(day.saturating_mul(86_400_000_000)).to_digits();
            *sums[4].entry(digits.chars().take(4).collect()).or_default() += count;
        }
        Ok(())
    }
}
