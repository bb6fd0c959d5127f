//! What one segment has gathered so far.

use tantivy::DocId;

use super::interner::Interner;
use crate::entry::Entry;
use crate::language::Stemmer;
use crate::schema::TEXT_FIELDS;
use crate::text::words;

/// All that the lists of a segment are made of.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) words: Interner,
    pub(super) languages: Vec<Stemmer>,
    pub(super) logs: [Log; TEXT_FIELDS],
    pub(super) keys: Keys,
    /// Documents so far.
    pub(super) documents: DocId,
}

/// The words of one text field, document after document.
#[derive(Default)]
pub(super) struct Log {
    /// Numbers of words, and [`GAP`].
    pub(super) numbers: Vec<u32>,
    /// The documents that have the field, and where their words begin.
    pub(super) starts: Vec<(DocId, usize)>,
}

/// Between two values of a field, so that no phrase goes over its end.
pub(super) const GAP: u32 = u32::MAX;
/// What a word of a text takes: its number, and its place when all are sorted.
const BYTES_OF_PLACE: usize = 8;

/// Terms that are no words: addresses, hosts, types, digests.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) bytes: Vec<u8>,
    pub(super) found: Vec<Key>,
}

pub(super) struct Key {
    pub(super) field: u32,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) doc: DocId,
}

impl Gathered {
    pub(super) fn add(&mut self, doc: DocId, entry: &Entry) {
        self.documents = doc + 1;
        let language = self.language(entry.stemmer);
        for (field, text) in &entry.texts {
            let log = &mut self.logs[*field];
            if log.starts.last().is_none_or(|(last, _)| *last != doc) {
                log.starts.push((doc, log.numbers.len()));
            }
            for word in words(text) {
                let number = self.words.number(text, word, language);
                log.numbers.push(number);
            }
            log.numbers.push(GAP);
        }
        for (field, key) in entry.keys() {
            let start = self.keys.bytes.len();
            self.keys.bytes.extend(key);
            self.keys.found.push(Key {
                field: field.field_id(),
                start,
                end: self.keys.bytes.len(),
                doc,
            });
        }
    }

    /// The number of a language. There are seven of them.
    fn language(&mut self, stemmer: Stemmer) -> u8 {
        let mut known = self.languages.iter();
        let place = known.position(|known| known.language() == stemmer.language());
        let place = place.unwrap_or_else(|| {
            self.languages.push(stemmer);
            self.languages.len() - 1
        });
        u8::try_from(place).expect("few languages are stemmed")
    }

    /// Memory that it takes, with what writing it will take.
    pub(super) fn bytes(&self) -> usize {
        let logs = self.logs.iter();
        let places: usize = logs.map(|log| log.numbers.len() * BYTES_OF_PLACE).sum();
        let keys = self.keys.bytes.len() + self.keys.found.len() * size_of::<Key>();
        self.words.bytes() + places + keys
    }
}
