//! The forms of words that were seen before: folding and stemming again would take most of the time.
//!
//! The index library makes a new tokenizer for every field of every piece of the index, and a crawl
//! commits every few seconds; so memories outlive tokenizers. One that is not in use waits in a pool.

use std::sync::{Mutex, PoisonError};

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use super::fold_into;
use crate::language::Stemmer;

/// Words of a language that are remembered before its memory begins anew.
const MAX_WORDS: usize = 40_000;
/// Bytes of them.
const MAX_BYTES: usize = 4 << 20;
/// Memories that wait: as many as threads are likely to index at once.
const MAX_SPARE: usize = 16;

static SPARE: Mutex<Vec<Memory>> = Mutex::new(Vec::new());

/// Words by language. Pages of several alternate, and none is to forget the words of another.
#[derive(Default)]
pub(super) struct Memory {
    /// Languages without a stemmer share one, so there are only a few.
    pub(super) languages: Vec<(&'static str, Remembered)>,
}

impl Memory {
    /// One that nobody else uses.
    pub(super) fn take() -> Self {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        spare.pop().unwrap_or_default()
    }

    /// For the next one who takes.
    pub(super) fn give_back(self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MAX_SPARE {
            spare.push(self);
        }
    }

    /// The number of a language.
    pub(super) fn of(&mut self, stemmer: Stemmer) -> usize {
        let language = stemmer.language();
        let known = self
            .languages
            .iter()
            .position(|(known, _)| *known == language);
        known.unwrap_or_else(|| {
            self.languages.push((language, Remembered::default()));
            self.languages.len() - 1
        })
    }
}

/// Words of one language.
#[derive(Default)]
pub(super) struct Remembered {
    words: HashTable<Forms>,
    /// Of each word: as written, folded, the stem's term.
    text: String,
}

/// Where the forms of a word lie in the text of its memory.
#[derive(Clone, Copy)]
pub(super) struct Forms {
    /// Of the word as written: the text of another word is hardly ever looked at.
    hash: u64,
    start: u32,
    written: u16,
    folded: u16,
    /// 0 for a stop word.
    pub(super) stem: u16,
}

impl Remembered {
    /// The forms of a word; until the next call.
    pub(super) fn forms(&mut self, word: &str, stemmer: Stemmer) -> Forms {
        let hash = xxh3_64(word.as_bytes());
        let known = self.words.find(hash, |forms| {
            let start = forms.start as usize;
            forms.hash == hash && self.text[start..start + usize::from(forms.written)] == *word
        });
        if let Some(&forms) = known {
            return forms;
        }
        if self.words.len() >= MAX_WORDS || self.text.len() >= MAX_BYTES {
            *self = Self::default();
        }
        let short = |length: usize| u16::try_from(length).unwrap_or(0);
        let start = self.text.len();
        self.text.push_str(word);
        fold_into(word, &mut self.text);
        let folded = self.text.len() - start - word.len();
        let stem = stemmer.term(word).unwrap_or_default();
        self.text.push_str(&stem);
        let forms = Forms {
            hash,
            start: u32::try_from(start).unwrap_or(u32::MAX),
            // A word has at most 96 bytes, and no letter folds to more than a few dozen.
            written: short(word.len()),
            folded: short(folded),
            stem: short(stem.len()),
        };
        self.words.insert_unique(hash, forms, |known| known.hash);
        forms
    }

    pub(super) fn folded(&self, forms: Forms) -> &str {
        let start = forms.start as usize + usize::from(forms.written);
        &self.text[start..start + usize::from(forms.folded)]
    }

    pub(super) fn stem(&self, forms: Forms) -> &str {
        let start = forms.start as usize + usize::from(forms.written) + usize::from(forms.folded);
        &self.text[start..start + usize::from(forms.stem)]
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;
    use crate::language::Stemmer;

    #[test]
    fn a_memory_that_is_full_begins_anew_and_still_knows_its_words() {
        let mut memory = Memory::default();
        let stemmer = Stemmer::of("pt");
        let number = memory.of(stemmer);
        let words = &mut memory.languages[number].1;
        for count in 0..super::MAX_WORDS + 10 {
            words.forms(&format!("Palavra{count}"), stemmer);
        }
        assert!(words.words.len() <= super::MAX_WORDS);
        for _ in 0..2 {
            let forms = words.forms("Licitações", stemmer);
            assert_eq!(words.folded(forms), "licitacoes");
            assert_eq!(words.stem(forms), "\u{1}ptlicit");
            let stop = words.forms("de", stemmer);
            assert_eq!((words.folded(stop), stop.stem), ("de", 0));
        }
    }
}
