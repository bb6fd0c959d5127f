//! How stems stand in the dictionary of terms.

/// Opens a stem. No word holds it.
const STEM_MARK: char = '\u{1}';

/// The term under which a stem of a language is indexed.
pub(crate) fn stem_term(language: &str, stem: &str) -> String {
    let mut term = String::with_capacity(1 + language.len() + stem.len());
    term.push(STEM_MARK);
    term.push_str(language);
    term.push_str(stem);
    term
}

/// A term of the index as a word: without the mark and the language of a stem.
pub(crate) fn without_mark(term: &str) -> &str {
    match term.strip_prefix(STEM_MARK) {
        Some(rest) => rest.get(2..).unwrap_or(rest),
        None => term,
    }
}
