//! Which language a text is in.

use std::borrow::Cow;

use whichlang::Lang;

use super::closed_words::{LANGUAGES, languages_of};
use super::endings;
use super::letters;
use super::script::language_of_script;
use crate::page::cut;
use crate::text::words;

/// The language of a text that says nothing: no letters, or too few of them.
pub const UNDETERMINED: &str = "und";

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detected {
    /// Two letters (ISO 639-1), or [`UNDETERMINED`].
    pub language: &'static str,
    /// From 0 (a guess) to 1; over 0.5 it is right far more often than not.
    pub confidence: f32,
}

/// Pieces of a long text that are looked at: its beginning alone may be a menu, or a quotation.
const PIECES: usize = 4;
/// Bytes of each: together far more than the sentences by which the detector is measured.
const PIECE_BYTES: usize = 512;
/// What the general detector's word counts for, and what it gains with each word of the text.
const PRIOR: f32 = 1.4;
const PRIOR_PER_WORD: f32 = 0.10;
const MOST_WORDS: f32 = 40.0;
/// With a lead of so much more than it could give another language, the general detector is not asked: it
/// takes longer than all the rest.
const DECIDED: f32 = 1.5;
/// What is left of the confidence where no word of the text speaks for the language.
const HEARSAY: f32 = 0.35;

/// The language of a text. Knows 25 languages in Latin script, among them Portuguese, Spanish,
/// Galician and Catalan, and those whose script gives them away.
///
/// ```
/// let found = teia_search::detect("Toda a xente ten dereito á liberdade e á seguridade da súa persoa");
/// assert_eq!(found.language, "gl");
/// ```
pub fn detect(text: &str) -> Detected {
    let text = &*sample(text);
    if let Some(language) = language_of_script(text) {
        return Detected {
            language,
            confidence: 0.95,
        };
    }
    let lower = text.to_lowercase();
    let mut scores = [0.0_f32; LANGUAGES.len()];
    let mut closed_only = scores;
    let mut count = 0_u16;
    for word in words(&lower) {
        let word = &lower[word.start..word.end];
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        count = count.saturating_add(1);
        add_closed(word, &mut closed_only);
        letters::add(word, &mut scores);
        for (score, evidence) in scores.iter_mut().zip(endings::evidence(word)) {
            *score += evidence * 0.6;
        }
    }
    if count == 0 {
        return Detected {
            language: UNDETERMINED,
            confidence: 0.0,
        };
    }
    for (score, closed) in scores.iter_mut().zip(closed_only) {
        *score += closed;
    }
    let closed = closed_only;
    if lower.contains(['¿', '¡']) {
        scores[1] += 2.0;
    }
    let words = f32::from(count);
    let most = PRIOR + PRIOR_PER_WORD * MOST_WORDS;
    let evidence = scores;
    if lead(&scores) > most + DECIDED {
        return best(&scores, &evidence, words);
    }
    if let Some(number) = general(text) {
        // Without one small word of that language in a longer text, it is one that it does not know.
        let supported = words < 4.0 || closed[number] > 0.0;
        let prior = if supported {
            PRIOR + PRIOR_PER_WORD * words.min(MOST_WORDS)
        } else {
            0.6
        };
        scores[number] += prior;
        // It knows neither Galician nor Catalan and calls them by their neighbours' names.
        if matches!(LANGUAGES[number], "pt" | "es") {
            scores[2] += prior * 0.6;
        }
        if matches!(LANGUAGES[number], "es" | "fr" | "it" | "pt") {
            scores[3] += prior * 0.5;
        }
    }
    best(&scores, &evidence, words)
}

/// A word shared by many languages says little for each.
fn add_closed(word: &str, scores: &mut [f32; LANGUAGES.len()]) {
    let languages = languages_of(word);
    if languages == 0 {
        return;
    }
    let share = match languages.count_ones() {
        1 => 1.2,
        2 => 0.8,
        3 => 0.55,
        4 => 0.4,
        _ => 0.3,
    };
    for (number, score) in scores.iter_mut().enumerate() {
        if languages & (1 << number) != 0 {
            *score += share;
        }
    }
}

/// The first language, its score, and that of the second.
fn first_two(scores: &[f32; LANGUAGES.len()]) -> (usize, f32, f32) {
    let (mut first, mut second) = ((0, f32::MIN), f32::MIN);
    for (number, &score) in scores.iter().enumerate() {
        if score > first.1 {
            second = first.1;
            first = (number, score);
        } else {
            second = second.max(score);
        }
    }
    (first.0, first.1, second)
}

fn lead(scores: &[f32; LANGUAGES.len()]) -> f32 {
    let (_, first, second) = first_two(scores);
    first - second
}

/// The language with most, of which the words of the text themselves gave so much.
fn best(
    scores: &[f32; LANGUAGES.len()],
    evidence: &[f32; LANGUAGES.len()],
    words: f32,
) -> Detected {
    let (number, first, second) = first_two(scores);
    // The margin in evidence for each word, and how many words there were to give it.
    let margin = (first - second).max(0.0);
    let certain = margin / (margin + 1.0);
    let enough = words / (words + 1.5);
    // The general detector names a language for any letters at all.
    let own = if evidence[number] > 0.0 { 1.0 } else { HEARSAY };
    Detected {
        language: LANGUAGES[number],
        confidence: (certain * 0.6 + enough * 0.4).clamp(0.0, 1.0) * (margin * 4.0).min(1.0) * own,
    }
}

/// The number of the language that the general detector names, where it has a list here.
fn general(text: &str) -> Option<usize> {
    let language = match whichlang::detect_language(text) {
        Lang::Por => "pt",
        Lang::Spa => "es",
        Lang::Eng => "en",
        Lang::Fra => "fr",
        Lang::Ita => "it",
        Lang::Deu => "de",
        Lang::Nld => "nl",
        Lang::Swe => "sv",
        Lang::Tur => "tr",
        Lang::Vie => "vi",
        _ => return None,
    };
    LANGUAGES.iter().position(|&known| known == language)
}

/// The text, or pieces from all of it.
fn sample(text: &str) -> Cow<'_, str> {
    if text.len() <= PIECES * PIECE_BYTES {
        return Cow::Borrowed(text);
    }
    let mut sample = String::with_capacity(PIECES * (PIECE_BYTES + 1));
    for number in 0..PIECES {
        let from = cut(text, text.len() / PIECES * number).len();
        let piece = cut(&text[from..], PIECE_BYTES);
        // A torn word may look like one of another language.
        let begun = match piece.split_once(char::is_whitespace) {
            Some((_, rest)) if number > 0 => rest,
            _ => piece,
        };
        let whole = begun.rsplit_once(char::is_whitespace);
        sample.push_str(whole.map_or(begun, |(words, _)| words));
        sample.push('\n');
    }
    Cow::Owned(sample)
}

#[cfg(test)]
mod tests {
    use super::{detect, sample};

    #[test]
    fn a_long_text_is_judged_by_more_than_its_beginning() {
        let menu = "Home About Contact Log in Sign up Search the site ".repeat(10);
        let text =
            "As licitações desta câmara são públicas e qualquer pessoa pode assistir a elas. ";
        assert_eq!(detect(&format!("{menu}{}", text.repeat(60))).language, "pt");
    }

    #[test]
    fn a_sample_tears_neither_words_nor_letters() {
        let text = "ação ".repeat(2_000);
        let sample = sample(&text);
        assert!(sample.len() < 2_100);
        assert!(sample.split_whitespace().all(|word| word == "ação"));
        let unbroken = "東京都".repeat(2_000);
        assert_eq!(detect(&unbroken).language, "zh");
    }
}
