//! Words that were planned before: looking one up means asking some fifty terms of every segment. And what
//! they and phrases count in each document, as far as it was read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::Xxh3;

use super::plan::WordPlan;
use super::searcher::Shard;
use super::tally::Tallies;
use crate::query::Place;

/// Words remembered before the memory begins anew.
const MAX_REMEMBERED: usize = 10_000;
/// Bytes of their tallies.
const MAX_BYTES: usize = 64 << 20;

/// Words of the dictionaries that are spelt nearly like another: how far, in how many documents, and which.
pub(super) type Near = Arc<[(usize, u64, String)]>;

/// Plans of words, and in how many documents they are, for one state of the indexes.
#[derive(Debug, Default)]
pub(super) struct KnownWords(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    state: u64,
    words: HashMap<(String, Place), (WordPlan, u64)>,
    phrases: HashMap<(String, Place), Arc<Tallies>>,
    /// By word and field.
    near: HashMap<(String, usize), Near>,
    /// Bytes of their tallies.
    held: Arc<AtomicUsize>,
}

impl KnownWords {
    /// What is known of a word, where the indexes are still as they were.
    pub(super) fn get(&self, state: u64, word: &str, place: Place) -> Option<(WordPlan, u64)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.state != state {
            return None;
        }
        known.words.get(&(word.to_owned(), place)).cloned()
    }

    /// For what a word counts in these indexes: nothing is read yet.
    pub(super) fn tallies(&self, state: u64, shards: &[Shard]) -> Tallies {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.bound(state);
        Tallies::new(segments_of(shards), &known.held)
    }

    pub(super) fn put(&self, state: u64, word: &str, place: Place, plan: &WordPlan, count: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.bound(state);
        let key = (word.to_owned(), place);
        known.words.insert(key, (plan.clone(), count));
    }

    /// Words that are spelt nearly like this one: who asks for a word that is nowhere pages and narrows as others do.
    pub(super) fn near(&self, state: u64, word: &str, field: usize) -> Option<Near> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = known.state == state;
        is_known.then(|| known.near.get(&(word.to_owned(), field)).cloned())?
    }

    pub(super) fn put_near(&self, state: u64, word: &str, field: usize, near: &Near) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.bound(state);
        let key = (word.to_owned(), field);
        known.near.insert(key, Arc::clone(near));
    }

    /// What a phrase counts in these indexes, as far as it was read.
    pub(super) fn phrase(
        &self,
        state: u64,
        phrase: &str,
        place: Place,
        shards: &[Shard],
    ) -> Arc<Tallies> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.bound(state);
        let tallies = Tallies::new(segments_of(shards), &known.held);
        let key = (phrase.to_owned(), place);
        let own = known.phrases.entry(key);
        Arc::clone(own.or_insert_with(|| Arc::new(tallies)))
    }
}

impl Known {
    /// Begins anew where the indexes changed, or where it is full.
    fn bound(&mut self, state: u64) {
        let is_full = self.words.len() + self.phrases.len() + self.near.len() >= MAX_REMEMBERED
            || self.held.load(Ordering::Relaxed) >= MAX_BYTES;
        if self.state != state || is_full {
            *self = Self {
                state,
                ..Self::default()
            };
        }
    }
}

fn segments_of(shards: &[Shard]) -> usize {
    shards.iter().map(|shard| shard.columns.len()).sum()
}

/// A number for the indexes that are searched, as they are: another one after every commit.
pub(super) fn state_of(shards: &[Shard]) -> u64 {
    let mut state = Xxh3::new();
    for shard in shards {
        state.update(shard.name.as_bytes());
        let generation = shard.searcher.generation().generation_id();
        state.update(&generation.to_le_bytes());
    }
    state.digest()
}
