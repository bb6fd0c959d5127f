//! Searching one or more indexes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::HashSet;
use tantivy::directory::{Directory, OwnedBytes, WatchCallback, WatchHandle};
use tantivy::index::SegmentId;
use tantivy::{DocAddress, Index, IndexReader, ReloadPolicy, TantivyError, Term, Warmer};
use teia_base::{Clock, SystemClock, Timestamp};

use super::closeness::{self, Lists};
use super::collect::{Candidate, Collector, Priors};
use super::columns::{self, Columns};
use super::copies;
use super::deadline::Deadline;
use super::filter::{Filter, narrowed};
use super::grouping::Signatures;
use super::hidden::{self, Hidden, PassedOver};
use super::known_words::KnownWords;
use super::matching::{Matches, Norms, Scoring};
use super::plan::{GroupPlan, Planned, Planner, WordPlan};
use super::reputes::{self, Anchors, Reputes};
use super::results::{Hit, Results, Snippet};
use super::snippet::Marked;
use super::statistics::{Counted, Statistics};
use super::warming::{MOST_BEFORE, ReadAhead, Warming};
use super::{expansion, snippet, spelling};
use crate::config::SearchConfig;
use crate::error::SearchError;
use crate::guard::guarded;
use crate::page::Page;
use crate::query::{Repair, parse};
use crate::record::Stored;
use crate::schema::{BODY, Fields};
use crate::store;
use crate::text::fold;
use crate::turns;
use crate::weights::Weights;

/// What is asked.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// As a person typed it.
    pub query: String,
    /// What holds for every result, whatever the query says.
    pub filters: Vec<Filter>,
    /// Results on the page.
    pub limit: usize,
    /// Results before it.
    pub offset: usize,
    /// Only these collections; all where empty.
    pub collections: Vec<String>,
    /// By relevance or by date.
    pub sort: Sort,
    /// The moment of asking: what its author wants found no more by then is passed over.
    pub at: Timestamp,
    /// Fresh pages first among equals: the moment to count their age from.
    pub fresh_at: Option<Timestamp>,
    /// Look also for words that the first results have in common.
    pub expand: bool,
    /// Put near-duplicates behind their best one.
    pub group_similar: bool,
    /// Count sites, hosts, languages, types and years.
    pub facets: bool,
    /// As if this were not there.
    pub hidden: Arc<Hidden>,
}

impl SearchRequest {
    /// The first ten results by relevance.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            filters: Vec::new(),
            limit: 10,
            offset: 0,
            collections: Vec::new(),
            sort: Sort::Relevance,
            at: SystemClock.wall(),
            fresh_at: None,
            expand: false,
            group_similar: true,
            facets: false,
            hidden: Arc::default(),
        }
    }
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The best match.
    #[default]
    Relevance,
    /// The latest visit.
    Date,
}

/// Indexes to search, one for each collection. Commits are seen within a second, also those of
/// another process.
pub struct Searcher {
    indexes: Vec<Open>,
    counted: Arc<Counted>,
    columns: Arc<columns::Opened>,
    ahead: Arc<ReadAhead>,
    known_words: KnownWords,
    copies: copies::Memory,
    config: SearchConfig,
    weights: Weights,
}

impl std::fmt::Debug for Searcher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.indexes.iter().map(|open| &open.name).collect();
        formatter
            .debug_struct("Searcher")
            .field("collections", &names)
            .finish_non_exhaustive()
    }
}

/// An index that is searched.
struct Open {
    name: String,
    reader: IndexReader,
    fields: Fields,
    hidden: hidden::Memory,
    reputes: Arc<reputes::Memory>,
    warming: Arc<Warming>,
    /// Commits are looked for as long as it is there.
    _watch: Option<WatchHandle>,
}

/// Whether commits are looked for.
#[derive(Clone, Copy)]
pub(super) enum Watch {
    Commits,
    #[cfg(test)]
    Never,
}

/// One index as it stood when a query began.
pub(super) struct Shard {
    pub(super) name: String,
    pub(super) searcher: tantivy::Searcher,
    pub(super) fields: Fields,
    /// The number of its first segment among those of all indexes.
    first: usize,
    /// For each segment.
    pub(super) columns: Vec<Arc<Columns>>,
    /// Ranks and anchor texts of its pages.
    pub(super) reputes: Arc<Reputes>,
    /// The same; empty where nothing is hidden.
    passed_over: Arc<Vec<PassedOver>>,
}

impl Shard {
    /// The stored page of a document.
    pub(super) fn stored(&self, at: DocAddress) -> Result<Stored<OwnedBytes>, SearchError> {
        let columns = &self.columns[at.segment_ord as usize];
        store::stored(&columns.pages, at.doc_id)
    }

    /// Whether a document is not to be shown.
    pub(super) fn passes_over(&self, ordinal: u32, doc: u32) -> bool {
        let passed_over = self.passed_over.get(ordinal as usize);
        passed_over.is_some_and(|passed_over| passed_over.has(doc))
    }

    /// The number of a segment among those of all indexes.
    pub(super) fn number_of(&self, ordinal: u32) -> usize {
        self.first + ordinal as usize
    }
}

impl Searcher {
    /// Searches nothing yet.
    pub fn new(config: SearchConfig, weights: Weights) -> Self {
        Self {
            indexes: Vec::new(),
            counted: Arc::default(),
            columns: Arc::default(),
            ahead: Arc::new(ReadAhead::new(config.read_ahead_bytes)),
            known_words: KnownWords::default(),
            copies: copies::Memory::default(),
            config,
            weights,
        }
    }

    /// Opens one more index, under the name of its collection.
    pub fn open(&mut self, collection: &str, path: &Path) -> Result<(), SearchError> {
        self.open_with(collection, path, MOST_BEFORE, Watch::Commits)
    }

    pub(super) fn open_with(
        &mut self,
        collection: &str,
        path: &Path,
        most_before: Duration,
        watch: Watch,
    ) -> Result<(), SearchError> {
        let failed = |source| SearchError::Open {
            path: path.to_owned(),
            source,
        };
        let (index, reader, warming) = guarded(|| {
            let (index, fields) = store::open(path)?;
            let warming = Arc::new(Warming {
                path: path.to_owned(),
                fields,
                columns: Arc::clone(&self.columns),
                counted: Arc::clone(&self.counted),
                reputes: Arc::default(),
                ahead: Arc::clone(&self.ahead),
                is_wanted: false.into(),
                most_before,
            });
            let warmer: Arc<dyn Warmer> = Arc::clone(&warming) as _;
            let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
            let reader = reader.warmers(vec![Arc::downgrade(&warmer)]);
            let reader: IndexReader = reader.try_into().map_err(failed)?;
            Ok((index, reader, warming))
        })?;
        let watch = match watch {
            Watch::Commits => Some(watched(&index, &reader, &warming).map_err(failed)?),
            #[cfg(test)]
            Watch::Never => None,
        };
        // What was known is of another index, which may have come as far.
        self.known_words = KnownWords::default();
        self.copies = copies::Memory::default();
        self.indexes.retain(|open| open.name != collection);
        self.indexes.push(Open {
            name: collection.to_owned(),
            reader,
            fields: warming.fields,
            hidden: hidden::Memory::default(),
            reputes: Arc::clone(&warming.reputes),
            warming,
            _watch: watch,
        });
        Ok(())
    }

    /// Reads what queries will ask for, and counts what they will need, before the first of them; from now on after every
    /// commit too. It takes as long as reading `read_ahead_bytes` does; queries may be asked meanwhile.
    pub fn warm_up(&self) {
        for open in &self.indexes {
            open.warming.begin(&open.reader.searcher());
        }
        // Between indexes: what cannot be compared now is said by the first query.
        let compared = guarded(|| {
            let shards = self.shards(&[], &Hidden::default())?;
            self.copies.of(&shards, || self.open_segments())
        });
        if let Err(error) = compared {
            tracing::debug!(%error, "indexes cannot be compared");
        }
    }

    #[cfg(test)]
    pub(super) fn first_reader(&self) -> (IndexReader, Arc<Warming>) {
        let open = &self.indexes[0];
        (open.reader.clone(), Arc::clone(&open.warming))
    }

    #[cfg(test)]
    pub(super) fn ahead(&self) -> &ReadAhead {
        &self.ahead
    }

    /// Sees every commit so far, at once.
    pub fn refresh(&self) -> Result<(), SearchError> {
        for open in &self.indexes {
            guarded(|| Ok(open.reader.reload()?))?;
            open.warming.again(&open.reader.searcher());
        }
        Ok(())
    }

    /// Documents in all indexes.
    pub fn documents(&self) -> Result<u64, SearchError> {
        guarded(|| {
            let shards = self.shards(&[], &Hidden::default())?;
            Ok(self.counted.of(&shards)?.documents)
        })
    }

    /// The collections that are open, each with the entries of its index: documents and other addresses.
    pub fn collections(&self) -> Vec<(String, u64)> {
        let named = self.indexes.iter();
        named
            .map(|open| {
                let searcher = open.reader.searcher();
                // What others say of a page is no entry of its own.
                let count = || open.reputes.of(&searcher).map_or(0, |found| found.count);
                let reputes = guarded(|| Ok(count())).unwrap_or(0);
                (
                    open.name.clone(),
                    searcher.num_docs().saturating_sub(reputes),
                )
            })
            .collect()
    }

    /// Answers a query. Never fails for what the query says.
    pub fn search(&self, request: &SearchRequest) -> Result<Results, SearchError> {
        let deadline = Deadline::after(Instant::now(), self.config.max_milliseconds);
        let answered = guarded(|| self.answer(request, deadline));
        if let Err(error) = &answered
            && error.is_damage()
        {
            // One of these is, and nobody knows which.
            for open in &self.indexes {
                turns::suspect(&open.warming.path, &[]);
            }
        }
        answered
    }

    pub(super) fn answer(
        &self,
        request: &SearchRequest,
        deadline: Deadline,
    ) -> Result<Results, SearchError> {
        let began = Instant::now();
        let deadline = Arc::new(deadline);
        let shards = self.shards(&request.collections, &request.hidden)?;
        let statistics = self.counted.of(&shards)?;
        let parsed = parse(&request.query);
        let mut results = Results {
            repairs: parsed.repairs,
            ..Results::default()
        };
        let group = narrowed(parsed.group, &request.filters);
        if group.clauses.is_empty() {
            return Ok(results);
        }
        let query = Query {
            searcher: self,
            shards: &shards,
            statistics: &statistics,
            request,
            older: self.copies.of(&shards, || self.open_segments())?,
            deadline: Arc::clone(&deadline),
        };
        let planner = Planner::new(
            &shards,
            &statistics,
            &self.weights,
            &self.config,
            &self.known_words,
            &deadline,
        );
        let planned = planner.plan(&group)?;
        results.repairs.extend(planned.repairs.iter().cloned());
        if planned.group.is_empty() && planned.left_out.is_empty() {
            // Signs and pictures alone.
            results.repairs.push(Repair::Empty);
            return Ok(results);
        }
        query.fill(&planned, &mut results)?;
        if !deadline.is_over() {
            let known = &self.known_words;
            results.suggestion =
                spelling::suggestion(&shards, known, &request.query, &planned.sought, &deadline)?;
        }
        if results.is_partial {
            results.repairs.push(Repair::TimeOver);
        }
        results.seconds = began.elapsed().as_secs_f64();
        Ok(results)
    }

    #[cfg(test)]
    pub(super) fn every_shard(&self) -> Result<Vec<Shard>, SearchError> {
        self.shards(&[], &Hidden::default())
    }

    fn open_segments(&self) -> std::collections::HashSet<SegmentId> {
        let readers = self.indexes.iter().map(|open| open.reader.searcher());
        let ids = |searcher: tantivy::Searcher| {
            let segments = searcher.segment_readers().iter();
            segments
                .map(|segment| segment.segment_id())
                .collect::<Vec<_>>()
        };
        readers.flat_map(ids).collect()
    }

    fn shards(&self, collections: &[String], hidden: &Hidden) -> Result<Vec<Shard>, SearchError> {
        let wanted = |name: &String| collections.is_empty() || collections.contains(name);
        let (mut shards, mut first) = (Vec::new(), 0);
        for open in self.indexes.iter().filter(|open| wanted(&open.name)) {
            let searcher = open.reader.searcher();
            let columns = self.columns.of(searcher.segment_readers(), &open.fields)?;
            let mut shard = Shard {
                name: open.name.clone(),
                reputes: open.reputes.of(&searcher)?,
                searcher,
                fields: open.fields,
                first,
                columns,
                passed_over: Arc::default(),
            };
            first += shard.searcher.segment_readers().len();
            if !hidden.is_empty() {
                shard.passed_over = open.hidden.of(&shard, hidden)?;
            }
            shards.push(shard);
        }
        Ok(shards)
    }
}

/// Looks for commits, also of another process, as long as what it gives is held.
fn watched(
    index: &Index,
    reader: &IndexReader,
    warming: &Arc<Warming>,
) -> Result<WatchHandle, TantivyError> {
    let (reader, warming) = (reader.clone(), Arc::clone(warming));
    let seen = move || match guarded(|| Ok(reader.reload()?)) {
        Ok(()) => warming.again(&reader.searcher()),
        Err(error) => {
            let path = warming.path.display();
            tracing::warn!(%path, %error, "a commit of the search index cannot be read; what was searched before still is");
        }
    };
    index.directory().watch(WatchCallback::new(seen))
}

/// One query under way.
struct Query<'a> {
    searcher: &'a Searcher,
    shards: &'a [Shard],
    statistics: &'a Statistics,
    request: &'a SearchRequest,
    /// Documents of which another index has a newer copy.
    older: copies::Older,
    deadline: Arc<Deadline>,
}

impl Query<'_> {
    fn fill(&self, planned: &Planned, results: &mut Results) -> Result<(), SearchError> {
        let config = &self.searcher.config;
        let weights = &self.searcher.weights;
        let end = self.request.offset.saturating_add(self.request.limit);
        if end > config.max_results {
            results.repairs.push(Repair::TooFar {
                most: config.max_results,
            });
        }
        let end = end.min(config.max_results);
        let most = (end * 2 + 50).max(config.rescored);
        let expands = self.request.expand && self.request.sort == Sort::Relevance;
        let mut collected = self.collect(
            &planned.group,
            planned,
            most,
            self.request.facets && !expands,
        )?;
        if expands && !self.deadline.is_over() {
            let mut pages = Vec::new();
            for candidate in collected.0.iter().take(weights.feedback_documents) {
                pages.push((self.page(candidate)?, candidate.score));
            }
            let (group, added) = expansion::expand(
                self.shards,
                self.statistics,
                weights,
                planned,
                &pages,
                &self.deadline,
            )?;
            results.added_words = added;
            collected = self.collect(&group, planned, most, self.request.facets)?;
        }
        // Small words alone are looked for only where nothing else is found: what is found must not depend on how
        // many results are shown.
        if collected.1.total == 0 && !planned.left_out.is_empty() && planned.group.must.is_empty() {
            let mut group = planned.group.clone();
            group.wishes.extend(planned.left_out.iter().cloned());
            collected = self.collect(&group, planned, most, self.request.facets)?;
        }
        let (candidates, collector) = collected;
        results.total = collector.total;
        results.is_partial = self.deadline.was_over();
        results.facets = collector.facets;
        // All of them, so that every page of results counts the same.
        let groups = self.grouped(&candidates, candidates.len());
        let put_away = candidates.len() - groups.len();
        results.distinct = results.total.saturating_sub(put_away as u64);
        let terms: HashSet<String> = planned
            .sought
            .iter()
            .flat_map(|word| word.plan.terms.iter().map(|term| term.text.clone()))
            .collect();
        let prefixes = planned.sought.iter().filter(|word| word.is_prefix);
        let prefixes: Vec<String> = prefixes.map(|word| fold(&word.typed)).collect();
        // The first of these are the plans of the words that are looked for.
        let sought = &planned.close[..planned.sought.len()];
        let marked = Marked::new(terms, prefixes, sought);
        let wanted = groups.iter().take(end).skip(self.request.offset);
        for (candidate, similar) in wanted {
            results.hits.push(self.hit(candidate, *similar, &marked)?);
        }
        Ok(())
    }

    /// The best matches, words close together counted for the first of them.
    fn collect(
        &self,
        group: &GroupPlan,
        planned: &Planned,
        most: usize,
        facets: bool,
    ) -> Result<(Vec<Candidate>, Counts), SearchError> {
        let weights = &self.searcher.weights;
        let norms = Norms::new(weights, self.statistics);
        let priors = Priors {
            weights,
            sort: self.request.sort,
            now: self.request.fresh_at,
            at_micros: self.request.at.as_micros(),
        };
        let mut collector = Collector::new(most, &self.deadline, facets);
        for (number, shard) in self.shards.iter().enumerate() {
            let anchors = Anchors::default();
            for (ordinal, segment) in (0..).zip(shard.searcher.segment_readers()) {
                // A segment may take long before its first match.
                if self.deadline.is_over() {
                    break;
                }
                let columns = &shard.columns[ordinal as usize];
                let scoring = Scoring {
                    shard,
                    ordinal,
                    norms: &norms,
                    anchors: &anchors,
                    deadline: &self.deadline,
                };
                let matches = scoring.group(group)?;
                let passed_over = shard.passed_over.get(ordinal as usize);
                let older = self.older.get(shard.number_of(ordinal));
                let passed_over = [passed_over, older].map(|some| some.unwrap_or(&NOTHING));
                let place = (number, ordinal);
                let beside = (&**columns, shard.reputes.ranks(ordinal), passed_over);
                match matches {
                    Matches::Tallied(mut tallied) => {
                        collector.segment(place, segment, beside, &mut tallied, &priors)?;
                    }
                    Matches::Other(mut other) => {
                        collector.segment(place, segment, beside, other.as_mut(), &priors)?;
                    }
                }
            }
        }
        let total = collector.total;
        let (mut candidates, facets) = collector.finish();
        if self.request.sort == Sort::Relevance && !self.deadline.is_over() {
            let first = candidates.len().min(self.searcher.config.rescored);
            self.add_closeness(&planned.close, &mut candidates[..first])?;
            candidates[..first].sort_by(Candidate::order);
        }
        Ok((candidates, Counts { total, facets }))
    }

    /// Counts for these candidates, which are in order, how close together words stand; not for those that
    /// would not be shown with all that it can give.
    fn add_closeness(
        &self,
        sought: &[WordPlan],
        candidates: &mut [Candidate],
    ) -> Result<(), SearchError> {
        let weights = &self.searcher.weights;
        let end = self.request.offset.saturating_add(self.request.limit);
        let wanted = end.max(weights.feedback_documents);
        let likely = wanted.saturating_mul(2).saturating_add(20);
        let (likely, rest) = candidates.split_at_mut(likely.min(candidates.len()));
        closeness::add(self.shards, sought, likely, weights.proximity)?;
        let mut best = likely.to_vec();
        best.sort_by(Candidate::order);
        let mut hopeful = rest.len();
        let shown = self.grouped(&best, wanted);
        if let Some((last, _)) = shown.get(wanted.saturating_sub(1)) {
            let most = weights.proximity * closeness::most(sought);
            let is_hopeful = |candidate: &Candidate| {
                let score = candidate.score + most * candidate.prior;
                let at_best = Candidate {
                    score,
                    ..*candidate
                };
                at_best.order(last).is_lt()
            };
            rest.sort_by_key(|candidate| !is_hopeful(candidate));
            hopeful = rest.partition_point(is_hopeful);
        }
        closeness::add(self.shards, sought, &mut rest[..hopeful], weights.proximity)
    }

    /// Near-duplicates behind their best one, with their number; the first groups only.
    fn grouped(&self, candidates: &[Candidate], most: usize) -> Vec<(Candidate, usize)> {
        let mut groups: Vec<(Candidate, usize)> = Vec::new();
        let mut signatures = Signatures::default();
        for candidate in candidates {
            let columns = &self.shards[candidate.shard].columns;
            let simhash = columns[candidate.at.segment_ord as usize].simhash(candidate.at.doc_id);
            let near = self
                .request
                .group_similar
                .then(|| signatures.near(simhash))
                .flatten();
            if let Some(number) = near {
                groups[number].1 += 1;
            } else if groups.len() < most {
                groups.push((*candidate, 0));
                signatures.add(simhash);
            }
            // One that is not shown takes nothing from those before it.
        }
        groups
    }

    fn hit(
        &self,
        candidate: &Candidate,
        similar: usize,
        marked: &Marked<'_>,
    ) -> Result<Hit, SearchError> {
        let shard = &self.shards[candidate.shard];
        let hidden = &self.request.hidden;
        let mut stored = shard.stored(candidate.at)?;
        let mut rank = self.rank(candidate);
        // Only its text is to be found, at another address: see `hidden`.
        if hidden.hides(&stored.page.url)
            && let Some(other) = hidden::other_address(shard, stored.page.short_digest(), hidden)?
        {
            stored = shard.stored(other)?;
            rank = stored.page.repute.rank;
        }
        let snippet = self.snippet(candidate, &stored, marked)?;
        let page = stored.page;
        let mut others = Vec::new();
        let term = Term::from_field_u64(shard.fields.alias_of, page.short_digest());
        for at in store::holding(&shard.searcher, &term)?
            .into_iter()
            .take(MAX_ADDRESSES)
        {
            let other = shard.stored(at)?.page.url;
            if other != page.url && !hidden.hides(&other) {
                others.push(other);
            }
        }
        others.sort();
        let title = snippet::line(if page.title.trim().is_empty() {
            &page.url
        } else {
            &page.title
        });
        Ok(Hit {
            collections: self.collections_of(shard, &page.url)?,
            collection: shard.name.clone(),
            title,
            snippet,
            score: candidate.score,
            fetched_at: page.fetched(),
            capture: page.capture,
            rank,
            size: page.size,
            other_addresses: others,
            similar,
            url: page.url,
            language: page.language,
            media_type: page.media_type,
        })
    }

    /// The collections that have a URL, the one that it is shown from first.
    fn collections_of(&self, own: &Shard, url: &str) -> Result<Vec<String>, SearchError> {
        let mut names = vec![own.name.clone()];
        for shard in self.shards.iter().filter(|shard| shard.name != own.name) {
            let term = Term::from_field_text(shard.fields.url, url);
            if !store::holding(&shard.searcher, &term)?.is_empty() {
                names.push(shard.name.clone());
            }
        }
        Ok(names)
    }

    fn snippet(
        &self,
        candidate: &Candidate,
        stored: &Stored<OwnedBytes>,
        marked: &Marked<'_>,
    ) -> Result<Snippet, SearchError> {
        if stored.pieces() < 2 {
            return snippet::of_short(stored, marked);
        }
        // The index knows where the words stand in a long text: reading all of it would take longer than the query.
        let shard = &self.shards[candidate.shard];
        let mut lists = Lists::open(shard, candidate.at.segment_ord, BODY, marked.sought)?;
        snippet::of_long(stored, lists.places(candidate.at.doc_id), marked)
    }

    fn rank(&self, candidate: &Candidate) -> f32 {
        let Candidate { shard, at, .. } = candidate;
        let ranks = self.shards[*shard].reputes.ranks(at.segment_ord);
        ranks.get(at.doc_id as usize).copied().unwrap_or(0.0)
    }

    fn page(&self, candidate: &Candidate) -> Result<Page, SearchError> {
        self.shards[candidate.shard].stored(candidate.at)?.whole()
    }
}

/// Where nothing is hidden.
static NOTHING: PassedOver = PassedOver::NONE;

/// Other addresses listed with a hit.
const MAX_ADDRESSES: usize = 20;

/// What was counted beside the best matches.
struct Counts {
    total: u64,
    facets: Vec<super::results::Facet>,
}
