//! The tokenizer of every text field: each word folded, and its stem beside it.

use std::collections::HashMap;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::words::Words as WordIterator;
use super::{fold_into, words};
use crate::language::Stemmer;

/// The name under which it is registered.
pub(crate) const TOKENIZER: &str = "teia-words";

/// Opens a stem in the dictionary of terms, and the language mark of a text. No word holds it.
pub(crate) const STEM_MARK: char = '\u{1}';

/// Words remembered by each tokenizer before it begins anew.
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

/// Splits marked text. Stop words of the language have no stem: they serve phrases only.
#[derive(Clone, Default)]
pub(crate) struct Words {
    remembered: HashMap<String, (String, Option<String>)>,
    language: String,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        let (language, text) = match text.strip_prefix(STEM_MARK) {
            Some(rest) if rest.is_char_boundary(2) => rest.split_at(2),
            _ => (Stemmer::NONE, text),
        };
        if self.language != language || self.remembered.len() > MAX_REMEMBERED {
            self.remembered.clear();
            language.clone_into(&mut self.language);
        }
        self.token.reset();
        Stream {
            text,
            words: words(text),
            stemmer: Stemmer::of(language),
            waiting: None,
            remembered: &mut self.remembered,
            token: &mut self.token,
        }
    }
}

/// Two tokens for each word, at one position.
pub(crate) struct Stream<'a> {
    text: &'a str,
    words: WordIterator<'a>,
    stemmer: Stemmer,
    /// The stem that follows the folded form just given.
    waiting: Option<String>,
    remembered: &'a mut HashMap<String, (String, Option<String>)>,
    token: &'a mut Token,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        if let Some(stem) = self.waiting.take() {
            self.token.text = stem;
            return true;
        }
        let Some(word) = self.words.next() else {
            return false;
        };
        self.token.position = self.token.position.wrapping_add(1);
        self.token.offset_from = word.start;
        self.token.offset_to = word.end;
        self.token.text.clear();
        let text = &self.text[word.start..word.end];
        if let Some((folded, stem)) = self.remembered.get(text) {
            self.token.text.push_str(folded);
            self.waiting.clone_from(stem);
            return true;
        }
        fold_into(text, &mut self.token.text);
        self.waiting = self.stemmer.term(text);
        self.remembered.insert(
            text.to_owned(),
            (self.token.text.clone(), self.waiting.clone()),
        );
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
