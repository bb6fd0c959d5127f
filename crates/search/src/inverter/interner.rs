//! A number for each word as written, by language.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use xxhash_rust::xxh3::xxh3_64;

use crate::text::Word;

/// Words that were met, numbered from 0 in the order of their first meeting.
#[derive(Default)]
pub(super) struct Interner {
    table: HashTable<Slot>,
    /// Seeded for the process, so that nobody can choose words that collide.
    hasher: DefaultHashBuilder,
    words: Vec<Known>,
    text: String,
}

struct Slot {
    key: Key,
    number: u32,
}

/// A word of up to 14 bytes, its length and its language; of a longer one its hash in place of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key([u64; 2]);

struct Known {
    start: u32,
    length: u8,
    language: u8,
}

const SHORT: usize = 14;
/// What a word takes in all while a segment is written, beside its letters: here, and for its forms at the end.
const BYTES_OF_WORD: usize = 128;

impl Interner {
    /// The number of a word of a text.
    pub(super) fn number(&mut self, text: &str, word: Word, language: u8) -> u32 {
        let written = &text.as_bytes()[word.start..word.end];
        let key = if written.len() <= SHORT {
            short_key(text.as_bytes(), word, language)
        } else {
            long_key(written, language)
        };
        let hash = self.hasher.hash_one(key.0);
        let is_same = |slot: &Slot| {
            slot.key == key
                && (written.len() <= SHORT || self.word(slot.number).0.as_bytes() == written)
        };
        if let Some(slot) = self.table.find(hash, is_same) {
            return slot.number;
        }
        let number = u32::try_from(self.words.len()).expect("memory ends long before");
        let start = u32::try_from(self.text.len()).expect("segments end long before 4 GiB");
        self.words.push(Known {
            start,
            length: u8::try_from(written.len()).expect("a word has at most 96 bytes"),
            language,
        });
        self.text.push_str(&text[word.start..word.end]);
        let hasher = &self.hasher;
        let slot = Slot { key, number };
        self.table
            .insert_unique(hash, slot, |slot| hasher.hash_one(slot.key.0));
        number
    }

    /// A word as written, and its language.
    pub(super) fn word(&self, number: u32) -> (&str, u8) {
        let known = &self.words[number as usize];
        let start = known.start as usize;
        let end = start + usize::from(known.length);
        (&self.text[start..end], known.language)
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn bytes(&self) -> usize {
        // Folded and as a stem it is there twice more at the end.
        3 * self.text.len() + self.words.len() * BYTES_OF_WORD
    }
}

fn short_key(text: &[u8], word: Word, language: u8) -> Key {
    let length = word.end - word.start;
    // Sixteen bytes at once, and those behind the word away again.
    let letters = match text[word.start..].first_chunk::<16>() {
        Some(chunk) => u128::from_le_bytes(*chunk) & ((1 << (8 * length)) - 1),
        None => {
            let mut chunk = [0; 16];
            chunk[..length].copy_from_slice(&text[word.start..word.end]);
            u128::from_le_bytes(chunk)
        }
    };
    let low = u64::try_from(letters & u128::from(u64::MAX)).unwrap_or_default();
    let high = u64::try_from(letters >> 64).unwrap_or_default();
    Key([
        low,
        high | (length as u64) << 48 | u64::from(language) << 56,
    ])
}

fn long_key(word: &[u8], language: u8) -> Key {
    let length = word.len() as u64;
    Key([xxh3_64(word), length << 48 | u64::from(language) << 56])
}

#[cfg(test)]
mod tests {
    use super::Interner;
    use crate::text::words;

    #[test]
    fn each_word_has_one_number_in_each_language() {
        let mut interner = Interner::default();
        let text = "ab ab\u{0}c a b caracteristicamente caracteristicamentE abcdefghijklmn abcdefghijklmno São";
        let numbers = |interner: &mut Interner, language| -> Vec<u32> {
            let found = words(text).map(|word| interner.number(text, word, language));
            found.collect()
        };
        let first = numbers(&mut interner, 0);
        assert_eq!(first, [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(numbers(&mut interner, 0), first);
        let other = numbers(&mut interner, 1);
        assert_eq!(other[0], 9, "the same word of another language is another");
        for (word, number) in words(text).zip(other) {
            assert_eq!(interner.word(number), (&text[word.start..word.end], 1));
        }
    }
}
