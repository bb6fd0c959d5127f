//! What a word comes from: Snowball, with the accents it needs, folded afterwards.

use frostem::Algorithm;
use icu_normalizer::ComposingNormalizerBorrowed;

use super::is_stop_word;
use crate::text::{fold, stem_term};

/// The languages whose words are stemmed.
pub const STEMMED: [&str; 6] = ["pt", "en", "es", "fr", "de", "it"];

/// The Snowball stem of a word in lower case, accents kept; the word itself in other languages.
pub fn stem(language: &str, word: &str) -> String {
    match algorithm(language) {
        Some(algorithm) => frostem::Stemmer::new(algorithm).stem(word).into_owned(),
        None => word.to_owned(),
    }
}

/// Makes the stem terms of one language.
#[derive(Clone, Copy)]
pub(crate) struct Stemmer {
    language: &'static str,
    stemmer: Option<frostem::Stemmer>,
}

impl Stemmer {
    /// The mark of languages without a stemmer: their words are their own stems.
    pub(crate) const NONE: &'static str = "xx";

    pub(crate) fn of(language: &str) -> Self {
        let known = STEMMED.iter().find(|&&known| known == language);
        Self {
            language: known.copied().unwrap_or(Self::NONE),
            stemmer: algorithm(language).map(frostem::Stemmer::new),
        }
    }

    /// Its language, or [`Self::NONE`].
    pub(crate) fn language(self) -> &'static str {
        self.language
    }

    /// The term of a word as it stands in a text; none for a stop word of the language.
    pub(crate) fn term(self, word: &str) -> Option<String> {
        self.term_of(word, &fold(word))
    }

    /// The same of a word whose folded form is known.
    pub(crate) fn term_of(self, word: &str, folded: &str) -> Option<String> {
        if is_stop_word(self.language, folded) {
            return None;
        }
        Some(self.stem_of(word, folded))
    }

    /// The terms of a word as it stands in a query: one, or two where accents seem to be left out.
    pub(crate) fn query_terms(self, word: &str) -> Vec<String> {
        let folded = fold(word);
        if is_stop_word(self.language, &folded) {
            return Vec::new();
        }
        let mut terms = vec![self.stem_of(word, &folded)];
        if word.is_ascii()
            && let Some(restored) = restore(self.language, &word.to_ascii_lowercase())
        {
            let term = self.stem_of(&restored, &fold(&restored));
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        terms
    }

    fn stem_of(self, word: &str, folded: &str) -> String {
        let Some(stemmer) = self.stemmer else {
            return stem_term(self.language, folded);
        };
        if word.is_ascii() {
            // Its folded form is the word in lower case.
            return stem_term(self.language, &stemmer.stem(folded));
        }
        let lower = word.to_lowercase();
        let composed = ComposingNormalizerBorrowed::new_nfc().normalize(&lower);
        stem_term(self.language, &fold(&stemmer.stem(&composed)))
    }
}

fn algorithm(language: &str) -> Option<Algorithm> {
    Some(match language {
        "pt" => Algorithm::Portuguese,
        "en" => Algorithm::English,
        "es" => Algorithm::Spanish,
        "fr" => Algorithm::French,
        "de" => Algorithm::German,
        "it" => Algorithm::Italian,
        _ => return None,
    })
}

/// A word typed without accents, with those that its ending would have: the stemmers know the
/// endings only so.
fn restore(language: &str, word: &str) -> Option<String> {
    let endings: &[(&str, &str)] = match language {
        "pt" => &[
            ("cao", "ção"),
            ("coes", "ções"),
            ("sao", "são"),
            ("soes", "sões"),
            ("xao", "xão"),
            ("oes", "ões"),
            ("ao", "ão"),
            ("encia", "ência"),
            ("encias", "ências"),
            ("ancia", "ância"),
            ("ancias", "âncias"),
            ("avel", "ável"),
            ("aveis", "áveis"),
            ("ivel", "ível"),
            ("iveis", "íveis"),
            ("ario", "ário"),
            ("arios", "ários"),
            ("aria", "ária"),
            ("arias", "árias"),
            ("orio", "ório"),
            ("orios", "órios"),
            ("oria", "ória"),
            ("orias", "órias"),
            ("logico", "lógico"),
            ("logica", "lógica"),
        ],
        "es" => &[
            ("cion", "ción"),
            ("sion", "sión"),
            ("xion", "xión"),
            ("logico", "lógico"),
            ("logica", "lógica"),
            ("ia", "ía"),
            ("ias", "ías"),
        ],
        "fr" => &[
            ("ite", "ité"),
            ("ites", "ités"),
            ("ee", "ée"),
            ("ees", "ées"),
            ("es", "és"),
        ],
        "it" => &[("ita", "ità"), ("uta", "utà")],
        _ => return None,
    };
    endings.iter().find_map(|(plain, accented)| {
        let root = word.strip_suffix(plain)?;
        (root.len() >= 2).then(|| format!("{root}{accented}"))
    })
}

#[cfg(test)]
mod tests {
    use super::Stemmer;

    #[test]
    fn a_word_typed_without_accents_finds_the_stem_of_the_right_one() {
        let portuguese = Stemmer::of("pt");
        for (typed, right) in [
            ("licitacoes", "licitação"),
            ("informacao", "informações"),
            ("exigencia", "exigências"),
            ("responsaveis", "responsável"),
        ] {
            let right = portuguese.term(right).unwrap();
            assert!(
                portuguese.query_terms(typed).contains(&right),
                "{typed}: {right}"
            );
        }
    }

    #[test]
    fn a_language_without_a_stemmer_keeps_its_words() {
        assert_eq!(
            Stemmer::of("gl").term("Cidadáns").unwrap(),
            "\u{1}xxcidadans"
        );
    }
}
