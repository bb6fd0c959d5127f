//! The tokenizer of every text field: each word folded, and its stem beside it.

use hashbrown::HashMap;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::words::Words as WordIterator;
use super::{fold_into, words};
use crate::language::Stemmer;

/// The name under which it is registered.
pub(crate) const TOKENIZER: &str = "teia-words";

/// Opens a stem in the dictionary of terms, and the language mark of a text. No word holds it.
pub(crate) const STEM_MARK: char = '\u{1}';

/// Words of a language that each tokenizer remembers before it begins anew.
const MAX_REMEMBERED: usize = 40_000;

/// A text as the tokenizer takes it: the language in front, two letters.
pub(crate) fn marked(language: &str, text: &str) -> String {
    let code = if language.len() == 2 {
        language
    } else {
        Stemmer::NONE
    };
    format!("{STEM_MARK}{code}{text}")
}

/// The term under which a stem of a language is indexed.
pub(crate) fn stem_term(language: &str, stem: &str) -> String {
    format!("{STEM_MARK}{language}{stem}")
}

/// A term of the index as a word: without the mark and the language of a stem.
pub(crate) fn without_mark(term: &str) -> &str {
    match term.strip_prefix(STEM_MARK) {
        Some(rest) => rest.get(2..).unwrap_or(rest),
        None => term,
    }
}

/// Splits marked text. Stop words of the language have no stem: they serve phrases only.
#[derive(Clone, Default)]
pub(crate) struct Words {
    /// By language. Pages of several alternate, and none is to forget the words of another.
    remembered: HashMap<String, Remembered>,
    token: Token,
}

/// The forms of words that were seen before: folding and stemming again would take most of the time.
#[derive(Clone, Default)]
struct Remembered {
    numbers: HashMap<Box<str>, usize>,
    /// Folded, and the stem; empty for a stop word.
    forms: Vec<(Box<str>, Box<str>)>,
}

impl Remembered {
    /// The number of a word's forms.
    fn number(&mut self, word: &str, stemmer: Stemmer) -> usize {
        if let Some(&number) = self.numbers.get(word) {
            return number;
        }
        if self.forms.len() >= MAX_REMEMBERED {
            self.numbers.clear();
            self.forms.clear();
        }
        let mut folded = String::new();
        fold_into(word, &mut folded);
        let stem = stemmer.term(word).unwrap_or_default();
        self.forms.push((folded.into(), stem.into()));
        self.numbers.insert(word.into(), self.forms.len() - 1);
        self.forms.len() - 1
    }
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        let (language, text) = match text.strip_prefix(STEM_MARK) {
            Some(rest) if rest.is_char_boundary(2) => rest.split_at(2),
            _ => (Stemmer::NONE, text),
        };
        let stemmer = Stemmer::of(language);
        // Languages without a stemmer share one memory, so there are only a few.
        let language = stemmer.language();
        if !self.remembered.contains_key(language) {
            let begun = Remembered::default();
            self.remembered.insert(language.to_owned(), begun);
        }
        self.token.reset();
        Stream {
            text,
            words: words(text),
            stemmer,
            waiting: None,
            remembered: self
                .remembered
                .get_mut(language)
                .expect("it was put there just now"),
            token: &mut self.token,
        }
    }
}

/// Two tokens for each word, at one position.
pub(crate) struct Stream<'a> {
    text: &'a str,
    words: WordIterator<'a>,
    stemmer: Stemmer,
    /// The forms whose folded one was just given: the stem follows.
    waiting: Option<usize>,
    remembered: &'a mut Remembered,
    token: &'a mut Token,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        if let Some(number) = self.waiting.take() {
            self.token.text.clear();
            self.token.text.push_str(&self.remembered.forms[number].1);
            return true;
        }
        let Some(word) = self.words.next() else {
            return false;
        };
        self.token.position = self.token.position.wrapping_add(1);
        self.token.offset_from = word.start;
        self.token.offset_to = word.end;
        let text = &self.text[word.start..word.end];
        let number = self.remembered.number(text, self.stemmer);
        let (folded, stem) = &self.remembered.forms[number];
        self.token.text.clear();
        self.token.text.push_str(folded);
        self.waiting = (!stem.is_empty()).then_some(number);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use tantivy::tokenizer::{TokenStream, Tokenizer};

    use super::{Words, marked};

    #[test]
    fn each_word_stands_beside_its_stem_and_stop_words_have_none() {
        let mut words = Words::default();
        let text = marked("pt", "As licitações de São Paulo");
        let mut found = Vec::new();
        let mut stream = words.token_stream(&text);
        while stream.advance() {
            found.push((stream.token().position, stream.token().text.clone()));
        }
        let expected = [
            (0, "as"),
            (1, "licitacoes"),
            (1, "\u{1}ptlicit"),
            (2, "de"),
            (3, "sao"),
            (4, "paulo"),
            (4, "\u{1}ptpaul"),
        ];
        assert_eq!(found, expected.map(|(at, text)| (at, text.to_owned())));
    }
}
