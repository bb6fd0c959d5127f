//! The tokenizer of every text field: each word folded, and its stem beside it.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::memory::{Forms, Memory};
use super::words;
use super::words::Words as WordIterator;
use crate::language::Stemmer;

/// The name under which it is registered.
pub(crate) const TOKENIZER: &str = "teia-words";

/// Opens a stem in the dictionary of terms, and the language mark of a text. No word holds it.
pub(crate) const STEM_MARK: char = '\u{1}';

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
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        let (language, text) = match text.strip_prefix(STEM_MARK) {
            Some(rest) if rest.is_char_boundary(2) => rest.split_at(2),
            _ => (Stemmer::NONE, text),
        };
        let stemmer = Stemmer::of(language);
        let mut memory = Memory::take();
        let remembered = memory.of(stemmer);
        self.token.reset();
        Stream {
            text,
            words: words(text),
            stemmer,
            waiting: None,
            remembered,
            memory,
            token: &mut self.token,
        }
    }
}

/// Two tokens for each word, at one position.
pub(crate) struct Stream<'a> {
    text: &'a str,
    words: WordIterator<'a>,
    stemmer: Stemmer,
    /// The word whose folded form was just given: its stem follows.
    waiting: Option<Forms>,
    /// The number of this language's words in the memory.
    remembered: usize,
    memory: Memory,
    token: &'a mut Token,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let remembered = &mut self.memory.languages[self.remembered].1;
        if let Some(forms) = self.waiting.take() {
            self.token.text.clear();
            self.token.text.push_str(remembered.stem(forms));
            return true;
        }
        let Some(word) = self.words.next() else {
            return false;
        };
        self.token.position = self.token.position.wrapping_add(1);
        self.token.offset_from = word.start;
        self.token.offset_to = word.end;
        let forms = remembered.forms(&self.text[word.start..word.end], self.stemmer);
        self.token.text.clear();
        self.token.text.push_str(remembered.folded(forms));
        self.waiting = (forms.stem > 0).then_some(forms);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        std::mem::take(&mut self.memory).give_back();
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
