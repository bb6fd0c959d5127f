//! Words that were planned before: looking one up means asking some fifty terms of every segment.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::Xxh3;

use super::plan::WordPlan;
use super::searcher::Shard;
use crate::query::Place;

/// Words remembered before the memory begins anew.
const MAX_REMEMBERED: usize = 10_000;

/// Plans of words, and in how many documents they are, for one state of the indexes.
#[derive(Debug, Default)]
pub(super) struct KnownWords(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    state: u64,
    words: HashMap<(String, Place), (WordPlan, u64)>,
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

    pub(super) fn put(&self, state: u64, word: &str, place: Place, plan: &WordPlan, count: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.state != state || known.words.len() >= MAX_REMEMBERED {
            known.words.clear();
            known.state = state;
        }
        let key = (word.to_owned(), place);
        known.words.insert(key, (plan.clone(), count));
    }
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
