//! A query as terms with weights, the same for every segment of every index.

use std::collections::HashMap;
use std::sync::Arc;

use super::deadline::Deadline;
use super::known_words::{KnownWords, state_of};
use super::searcher::Shard;
use super::statistics::{Places, Statistics, locate};
use super::tally::Tallies;
use crate::config::SearchConfig;
use crate::error::SearchError;
use crate::language::{STEMMED, Stemmer, is_query_stop_word};
use crate::query::{Group, Node, Occur, Place, Repair};
use crate::schema::{BODY, TEXT_FIELDS, TITLE, URL_WORDS};
use crate::text::{fold, words};
use crate::weights::Weights;

/// One word: the terms that stand for it, each with its field and its share.
#[derive(Clone, Debug)]
pub(super) struct WordPlan {
    pub(super) terms: Vec<TermPlan>,
    pub(super) idf: f32,
    pub(super) weight: f32,
    /// Where what it counts is remembered; none for words that few will look for again.
    pub(super) tallies: Option<Arc<Tallies>>,
}

/// A term in a field: what it counts, and where it lies in each segment.
#[derive(Clone, Debug)]
pub(super) struct TermPlan {
    pub(super) field: usize,
    pub(super) text: String,
    pub(super) share: f32,
    pub(super) places: Places,
}

/// Words in order, in any of these fields; for each field, where the words lie.
#[derive(Clone, Debug)]
pub(super) struct PhrasePlan {
    pub(super) fields: Vec<(usize, Vec<Places>)>,
    pub(super) idf: f32,
    /// Where what it counts is remembered: who pages or narrows asks for it again.
    pub(super) tallies: Arc<Tallies>,
}

/// What is to be matched.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    Word(WordPlan),
    Phrase(PhrasePlan),
    Site(String),
    Type(String),
    Language(String),
    /// Visited from (microseconds) up to, not with, to.
    Visited(i64, i64),
    Either(Vec<Self>),
    Group(GroupPlan),
}

impl Plan {
    /// How rare it is; 0 where that is not known.
    fn idf(&self) -> f32 {
        match self {
            Self::Word(word) => word.idf,
            Self::Phrase(phrase) => phrase.idf,
            _ => 0.0,
        }
    }
}

/// Clauses side by side.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupPlan {
    /// Conditions that narrow and do not score: site, type, language, date.
    pub(super) filters: Vec<Plan>,
    pub(super) must: Vec<Plan>,
    pub(super) should: Vec<Plan>,
    pub(super) not: Vec<Plan>,
    /// They help where they are, and are missed nowhere: words of expansion, small words.
    pub(super) wishes: Vec<Plan>,
}

impl GroupPlan {
    /// Whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        let all = [
            &self.filters,
            &self.must,
            &self.should,
            &self.not,
            &self.wishes,
        ];
        all.iter().all(|plans| plans.is_empty())
    }
}

/// A plan, and what the later steps want to know of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Planned {
    pub(super) group: GroupPlan,
    /// The words that are looked for, in their order: for closeness, snippets, spelling.
    pub(super) sought: Vec<Sought>,
    pub(super) repairs: Vec<Repair>,
    /// Small words of the query that were left out; looked for when little else is found.
    pub(super) left_out: Vec<Plan>,
    /// The words whose closeness counts: those looked for, and in short queries the small ones.
    pub(super) close: Vec<WordPlan>,
}

/// One word that is looked for.
#[derive(Clone, Debug)]
pub(super) struct Sought {
    /// As typed.
    pub(super) typed: String,
    /// Where it is looked for.
    pub(super) place: Place,
    pub(super) plan: WordPlan,
    /// Documents that have it.
    pub(super) documents: u64,
    pub(super) is_prefix: bool,
}

/// Makes plans.
pub(super) struct Planner<'a> {
    pub(super) shards: &'a [Shard],
    pub(super) statistics: &'a Statistics,
    pub(super) weights: &'a Weights,
    pub(super) config: &'a SearchConfig,
    sought: Vec<Sought>,
    repairs: Vec<Repair>,
    left_out: Vec<Plan>,
    close: Vec<WordPlan>,
    /// The language whose stop words are left out.
    language: Option<&'static str>,
    known: &'a KnownWords,
    /// See [`state_of`].
    state: u64,
    deadline: &'a Deadline,
    /// Terms that prefixes may still look at, and the prefixes that have not.
    scans: usize,
    prefixes: usize,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        shards: &'a [Shard],
        statistics: &'a Statistics,
        weights: &'a Weights,
        config: &'a SearchConfig,
        known: &'a KnownWords,
        deadline: &'a Deadline,
    ) -> Self {
        Self {
            known,
            state: state_of(shards),
            shards,
            statistics,
            weights,
            config,
            sought: Vec::new(),
            repairs: Vec::new(),
            left_out: Vec::new(),
            close: Vec::new(),
            language: None,
            deadline,
            scans: MAX_SCANNED,
            prefixes: 0,
        }
    }

    pub(super) fn plan(mut self, group: &Group) -> Result<Planned, SearchError> {
        self.language = self.language_of(group)?;
        self.prefixes = prefixes_of(group);
        let group = self.group(group)?;
        let mut close: Vec<WordPlan> = self.sought.iter().map(|word| word.plan.clone()).collect();
        close.append(&mut self.close);
        Ok(Planned {
            group,
            sought: self.sought,
            repairs: self.repairs,
            left_out: self.left_out,
            close,
        })
    }

    fn group(&mut self, group: &Group) -> Result<GroupPlan, SearchError> {
        let mut planned = GroupPlan::default();
        for (occur, node) in &group.clauses {
            match (occur, node) {
                (Occur::Should, Node::Word(text, place)) => {
                    for word in split(text) {
                        if self.is_content(&word, group) {
                            planned
                                .should
                                .push(Plan::Word(self.word(&word, *place, false)?));
                        } else {
                            let mut plan = self.word(&word, *place, true)?;
                            plan.weight = SMALL_WORD;
                            if plain_words(group).count() <= SHORT {
                                self.close.push(plan.clone());
                            }
                            self.left_out.push(Plan::Word(plan));
                        }
                    }
                }
                (Occur::Should, node) => planned.should.extend(self.node(node, false)?),
                (Occur::Must, node) => match self.node(node, false)? {
                    Some(filter) if is_filter(&filter) => planned.filters.push(filter),
                    plan => planned.must.extend(plan),
                },
                (Occur::Not, node) => planned.not.extend(self.node(node, true)?),
            }
        }
        // The rarest leads: the others are only looked at where it is. (Chosen here and not in each
        // segment, so that scores are added up in the same order everywhere.)
        planned.must.sort_by(|a, b| b.idf().total_cmp(&a.idf()));
        Ok(planned)
    }

    fn node(&mut self, node: &Node, negated: bool) -> Result<Option<Plan>, SearchError> {
        Ok(Some(match node {
            Node::Word(text, place) => {
                let mut parts = split(text);
                match parts.len() {
                    0 => return Ok(None),
                    1 => Plan::Word(self.word(&parts.remove(0), *place, negated)?),
                    _ => return self.phrase(text, *place, negated),
                }
            }
            Node::Phrase(text, place) => return self.phrase(text, *place, negated),
            Node::Prefix(text, place) => match self.prefix(text, *place, negated)? {
                Some(plan) => Plan::Word(plan),
                None => return Ok(None),
            },
            Node::Site(site) => Plan::Site(site.clone()),
            Node::Language(language) => Plan::Language(language.clone()),
            Node::Type(kind) => Plan::Type(kind.clone()),
            Node::After(moment) => Plan::Visited(moment.as_micros(), i64::MAX),
            Node::Before(moment) => Plan::Visited(i64::MIN, moment.as_micros()),
            Node::Either(nodes) => {
                let mut plans = Vec::new();
                for node in nodes {
                    plans.extend(self.node(node, negated)?);
                }
                Plan::Either(plans)
            }
            Node::Group(group) => Plan::Group(self.group(group)?),
        }))
    }

    /// A word by its own form and by its stem in every language; as typed for its accents.
    fn word(&mut self, word: &str, place: Place, negated: bool) -> Result<WordPlan, SearchError> {
        let (plan, documents) = match self.known.get(self.state, word, place) {
            Some(known) => known,
            None => {
                let (mut plan, documents) = self.look_up(word, place)?;
                plan.tallies = Some(Arc::new(self.known.tallies(self.state, self.shards)));
                // What was not looked up to its end is not remembered.
                if !self.deadline.was_over() {
                    self.known.put(self.state, word, place, &plan, documents);
                }
                (plan, documents)
            }
        };
        self.seek((word, place), &plan, documents, negated, false);
        Ok(plan)
    }

    /// Which terms there are for a word, and how many documents have one of them.
    fn look_up(&self, word: &str, place: Place) -> Result<(WordPlan, u64), SearchError> {
        let folded = fold(word);
        let mut stems: Vec<String> = Vec::new();
        for language in STEMMED.iter().chain([&Stemmer::NONE]) {
            stems.extend(Stemmer::of(language).query_terms(word));
        }
        stems.sort();
        stems.dedup();
        let mut plan = WordPlan {
            terms: Vec::new(),
            idf: 0.0,
            weight: 1.0,
            tallies: None,
        };
        let mut documents = 0;
        for field in fields_of(place) {
            let mut find = |text: &str, share: f32| -> Result<u64, SearchError> {
                let (documents, places) = locate(self.shards, field, text, self.deadline)?;
                if documents > 0 {
                    let text = text.to_owned();
                    plan.terms.push(TermPlan {
                        field,
                        text,
                        share,
                        places,
                    });
                }
                Ok(documents)
            };
            let exact = find(&folded, self.weights.exact)?;
            let mut stemmed = 0;
            for stem in &stems {
                stemmed += find(stem, 1.0)?;
            }
            documents = documents.max(exact).max(stemmed);
        }
        plan.idf = self.statistics.idf(documents);
        Ok((plan, documents))
    }

    /// The most frequent words that begin so.
    fn prefix(
        &mut self,
        text: &str,
        place: Place,
        negated: bool,
    ) -> Result<Option<WordPlan>, SearchError> {
        let Some(word) = split(text).pop() else {
            return Ok(None);
        };
        let prefix = fold(&word);
        let mut plan = WordPlan {
            terms: Vec::new(),
            idf: 0.0,
            weight: 1.0,
            tallies: None,
        };
        let mut documents = 0;
        for field in fields_of(place) {
            let words = self.config.max_prefix_words;
            // Fields that are left, those of other prefixes too, have their share of what may be looked at.
            let all = fields_of(place);
            let left = (all.end - field) + (self.prefixes - 1) * all.len();
            let scan = Scan {
                most: self.scans / left.max(1),
                deadline: self.deadline,
            };
            let Beginning {
                words: found,
                more,
                scanned,
            } = beginning(self.shards, field, &prefix, words, &scan)?;
            self.scans = self.scans.saturating_sub(scanned);
            if more {
                let repair = Repair::BroadPrefix(prefix.clone());
                if !self.repairs.contains(&repair) {
                    self.repairs.push(repair);
                }
            }
            documents = documents.max(found.iter().map(|(_, count)| count).sum());
            for (text, _) in found {
                let (_, places) = locate(self.shards, field, &text, self.deadline)?;
                plan.terms.push(TermPlan {
                    field,
                    text,
                    share: 1.0,
                    places,
                });
            }
        }
        self.prefixes = self.prefixes.saturating_sub(1).max(1);
        plan.idf = self
            .statistics
            .idf(documents.min(self.statistics.documents));
        self.seek((&word, place), &plan, documents, negated, true);
        Ok(Some(plan))
    }

    fn phrase(
        &mut self,
        text: &str,
        place: Place,
        negated: bool,
    ) -> Result<Option<Plan>, SearchError> {
        let parts = split(text);
        if parts.len() < 2 {
            // One word in quotation marks is that very form.
            let Some(word) = parts.first() else {
                return Ok(None);
            };
            let mut plan = self.word(word, place, negated)?;
            let folded = fold(word);
            plan.tallies = None;
            plan.terms.retain(|term| term.text == folded);
            plan.terms.iter_mut().for_each(|term| term.share = 1.0);
            return Ok(Some(Plan::Word(plan)));
        }
        let mut idf = 0.0;
        // A field that lacks one of the words has no such phrase.
        let mut fields: Vec<(usize, Vec<Places>)> =
            fields_of(place).map(|field| (field, Vec::new())).collect();
        for (number, part) in parts.iter().enumerate() {
            let plan = self.word(part, place, negated)?;
            idf += plan.idf;
            let folded = fold(part);
            for term in plan.terms.iter().filter(|term| term.text == folded) {
                let of_field = fields.iter_mut().find(|(field, _)| *field == term.field);
                if let Some((_, words)) = of_field {
                    words.push(Arc::clone(&term.places));
                }
            }
            fields.retain(|(_, words)| words.len() == number + 1);
        }
        let phrase = parts.join(" ");
        let tallies = self.known.phrase(self.state, &phrase, place, self.shards);
        Ok(Some(Plan::Phrase(PhrasePlan {
            fields,
            idf,
            tallies,
        })))
    }

    fn seek(
        &mut self,
        (typed, place): (&str, Place),
        plan: &WordPlan,
        documents: u64,
        negated: bool,
        is_prefix: bool,
    ) {
        if !negated {
            self.sought.push(Sought {
                typed: typed.to_owned(),
                place,
                plan: plan.clone(),
                documents,
                is_prefix,
            });
        }
    }

    /// Whether a word says what is looked for; where none does, all are taken to.
    fn is_content(&self, word: &str, group: &Group) -> bool {
        let Some(language) = self.language else {
            return true;
        };
        let is_stop = |word: &str| is_query_stop_word(language, &fold(word));
        !is_stop(word) || plain_words(group).all(|other| is_stop(&other))
    }

    /// The language whose small words the query has most of, those of the indexes before others.
    fn language_of(&self, group: &Group) -> Result<Option<&'static str>, SearchError> {
        let mut best = None;
        for language in STEMMED {
            let hits = plain_words(group)
                .filter(|word| is_query_stop_word(language, &fold(word)))
                .count();
            if hits == 0 {
                continue;
            }
            let mut share = 0;
            for shard in self.shards {
                let term = tantivy::Term::from_field_text(shard.fields.language, language);
                share += shard.searcher.doc_freq(&term)?;
            }
            // A language that hardly occurs here needs two words more than one that does.
            let present = share * 50 > self.statistics.documents;
            let score = (hits + if present { 2 } else { 0 }, share);
            if best.is_none_or(|(known, _)| score > known) {
                best = Some((score, language));
            }
        }
        Ok(best.map(|(_, language)| language))
    }
}

/// The plain words of a group: those that may be left out.
fn plain_words(group: &Group) -> impl Iterator<Item = String> + '_ {
    group
        .clauses
        .iter()
        .flat_map(|(occur, node)| match (occur, node) {
            (Occur::Should, Node::Word(text, _)) => split(text),
            _ => Vec::new(),
        })
}

/// Whether a plan narrows without scoring.
fn is_filter(plan: &Plan) -> bool {
    match plan {
        Plan::Site(_) | Plan::Type(_) | Plan::Language(_) | Plan::Visited(..) => true,
        Plan::Either(plans) => plans.iter().all(is_filter),
        _ => false,
    }
}

fn split(text: &str) -> Vec<String> {
    words(text)
        .map(|word| text[word.start..word.end].to_owned())
        .collect()
}

fn fields_of(place: Place) -> std::ops::Range<usize> {
    match place {
        Place::Anywhere => 0..TEXT_FIELDS,
        Place::Title => TITLE..TITLE + 1,
        Place::Address => URL_WORDS..URL_WORDS + 1,
    }
}

/// Queries up to so many words are names as often as sentences: "São Paulo".
const SHORT: usize = 4;
/// What a small word counts where it is looked for at all.
const SMALL_WORD: f32 = 0.05;
/// Terms looked at for all prefixes of a query, over all fields and indexes.
const MAX_SCANNED: usize = 120_000;

/// How many words that begin with something a query asks for.
fn prefixes_of(group: &Group) -> usize {
    fn of(node: &Node) -> usize {
        match node {
            Node::Prefix(..) => 1,
            Node::Either(nodes) => nodes.iter().map(of).sum(),
            Node::Group(group) => prefixes_of(group),
            _ => 0,
        }
    }
    group.clauses.iter().map(|(_, node)| of(node)).sum()
}

/// How far dictionaries are read.
struct Scan<'a> {
    most: usize,
    deadline: &'a Deadline,
}

/// Words that begin so, with the documents that have them.
struct Beginning {
    words: Vec<(String, u64)>,
    more: bool,
    scanned: usize,
}

/// The most frequent terms of a field with a prefix, whether there were more, and how many were looked at. Every
/// segment has the same share.
fn beginning(
    shards: &[Shard],
    field: usize,
    prefix: &str,
    words: usize,
    scan: &Scan<'_>,
) -> Result<Beginning, SearchError> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut left: usize = shards.iter().map(|shard| shard.columns.len()).sum();
    let (mut scanned, mut is_cut) = (0, false);
    for shard in shards {
        for segment in shard.searcher.segment_readers() {
            let share = (scan.most - scanned.min(scan.most)) / left.max(1);
            left -= 1;
            let end = scanned + share;
            let mut steps = 0;
            if scan.deadline.is_over() {
                continue;
            }
            let index = segment.inverted_index(shard.fields.texts[field])?;
            let mut stream = index.terms().range().ge(prefix).into_stream()?;
            while let Some((term, info)) = stream.next() {
                if !term.starts_with(prefix.as_bytes()) || scan.deadline.is_over_at(&mut steps) {
                    break;
                }
                if scanned >= end {
                    is_cut = true;
                    break;
                }
                scanned += 1;
                let Ok(term) = std::str::from_utf8(term) else {
                    continue;
                };
                *counts.entry(term.to_owned()).or_default() += u64::from(info.doc_freq);
            }
        }
    }
    let mut found: Vec<_> = counts.into_iter().collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let more = field == BODY && (found.len() > words || is_cut);
    found.truncate(words);
    Ok(Beginning {
        words: found,
        more,
        scanned,
    })
}
