//! What is not to be shown, though it is indexed: results, counts and facets are as if it were not there.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::schema::IndexRecordOption::Basic;
use tantivy::{DocAddress, DocId, DocSet, TERMINATED, Term};
use teia_base::CanonicalUrl;
use xxhash_rust::xxh3::Xxh3;

use super::searcher::Shard;
use crate::error::SearchError;
use crate::store;

/// URLs and hosts that people asked to have removed from view.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    urls: HashSet<String>,
    hosts: HashSet<String>,
    /// Tells this list from another.
    mark: u64,
}

impl Hidden {
    /// These URLs, by their normal form, and everything on these hosts, by name without port.
    pub fn new(
        urls: impl IntoIterator<Item = String>,
        hosts: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut hidden = Self {
            urls: urls.into_iter().collect(),
            hosts: hosts.into_iter().collect(),
            mark: 0,
        };
        let mut all: Vec<(u8, &String)> = hidden.urls.iter().map(|url| (0, url)).collect();
        all.extend(hidden.hosts.iter().map(|host| (1, host)));
        all.sort_unstable();
        let mut mark = Xxh3::new();
        for (kind, text) in all {
            mark.update(&[kind]);
            mark.update(text.as_bytes());
            mark.update(b"\n");
        }
        hidden.mark = mark.digest();
        hidden
    }

    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty() && self.hosts.is_empty()
    }

    /// Whether a URL is hidden, by itself or with its host.
    pub fn hides(&self, url: &str) -> bool {
        self.urls.contains(url)
            || (!self.hosts.is_empty()
                && self
                    .hosts
                    .contains(CanonicalUrl::from_stored(url).host_str()))
    }
}

/// The documents of a segment that are passed over; none where all are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct PassedOver(Option<Vec<u64>>);

impl PassedOver {
    pub(super) const NONE: Self = Self(None);

    /// Adds a document of a segment that has so many.
    pub(super) fn add(&mut self, doc: DocId, documents: DocId) {
        let words = (documents as usize).div_ceil(64);
        let bits = self.0.get_or_insert_with(|| vec![0; words]);
        bits[doc as usize / 64] |= 1 << (doc % 64);
    }

    pub(super) fn has(&self, doc: DocId) -> bool {
        let bits = self.0.as_ref();
        bits.is_some_and(|bits| bits[doc as usize / 64] >> (doc % 64) & 1 == 1)
    }
}

/// What was found for one list in one state of one index: lists and indexes change seldom.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    mark: u64,
    generation: u64,
    segments: Arc<Vec<PassedOver>>,
}

impl Memory {
    /// For each segment of an index, what is passed over.
    pub(super) fn of(
        &self,
        shard: &Shard,
        hidden: &Hidden,
    ) -> Result<Arc<Vec<PassedOver>>, SearchError> {
        let generation = shard.searcher.generation().generation_id();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref()
            && (known.mark, known.generation) == (hidden.mark, generation)
        {
            return Ok(Arc::clone(&known.segments));
        }
        let segments = Arc::new(passed_over(shard, hidden)?);
        *known = Some(Known {
            mark: hidden.mark,
            generation,
            segments: Arc::clone(&segments),
        });
        Ok(segments)
    }
}

fn passed_over(shard: &Shard, hidden: &Hidden) -> Result<Vec<PassedOver>, SearchError> {
    let mut segments = Vec::new();
    for segment in shard.searcher.segment_readers() {
        let fast = segment.fast_fields();
        let mut docs: Vec<DocId> = Vec::new();
        if !hidden.hosts.is_empty()
            && let Some(column) = fast.str("host")?
        {
            let mut numbers = HashSet::new();
            for host in &hidden.hosts {
                numbers.extend(column.dictionary().term_ord(host)?);
            }
            let is_on_host = |doc: &DocId| {
                let number = column.ords().first(*doc);
                number.is_some_and(|number| numbers.contains(&number))
            };
            docs.extend((0..segment.max_doc()).filter(is_on_host));
        }
        let index = segment.inverted_index(shard.fields.url)?;
        for url in &hidden.urls {
            let term = Term::from_field_text(shard.fields.url, url);
            if let Some(mut postings) = index.read_postings(&term, Basic)? {
                while postings.doc() != TERMINATED {
                    docs.push(postings.doc());
                    postings.advance();
                }
            }
        }
        // A text that another address has too is still found there.
        let digests = fast.u64("digest")?;
        let mut bits = vec![0_u64; (segment.max_doc() as usize).div_ceil(64)];
        let mut is_any = false;
        for doc in docs {
            let elsewhere = match digests.first(doc) {
                Some(digest) if !segment.is_deleted(doc) => other_address(shard, digest, hidden)?,
                _ => None,
            };
            if elsewhere.is_none() {
                bits[doc as usize / 64] |= 1 << (doc % 64);
                is_any = true;
            }
        }
        segments.push(PassedOver(is_any.then_some(bits)));
    }
    Ok(segments)
}

/// The first address of a text, by name, that is not hidden; the one that is indexed apart.
pub(super) fn other_address(
    shard: &Shard,
    digest: u64,
    hidden: &Hidden,
) -> Result<Option<DocAddress>, SearchError> {
    let term = Term::from_field_u64(shard.fields.alias_of, digest);
    let mut first: Option<(String, DocAddress)> = None;
    for at in store::holding(&shard.searcher, &term)? {
        let url = shard.stored(at)?.page.url;
        let is_first = first.as_ref().is_none_or(|(known, _)| url < *known);
        if is_first && !hidden.hides(&url) {
            first = Some((url, at));
        }
    }
    Ok(first.map(|(_, at)| at))
}
