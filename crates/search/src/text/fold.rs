//! Accent-insensitive, case-insensitive form of a word.

use std::sync::LazyLock;

use icu_normalizer::DecomposingNormalizerBorrowed;

use super::Word;
use super::words::is_invisible;

/// The folded form: `São` and `SAO` are `sao`, `Straße` is `strasse`.
pub fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    fold_into(word, &mut folded);
    folded
}

/// Appends the folded form.
pub(crate) fn fold_into(word: &str, out: &mut String) {
    let from = out.len();
    if word.is_ascii() {
        out.push_str(word);
        out[from..].make_ascii_lowercase();
        return;
    }
    if !fold_letters(word, out) {
        out.truncate(from);
        fold_slowly(word, out);
    }
}

/// Appends the folded form of a word of a text. Most words are short and plain: they are taken sixteen bytes at once.
pub(crate) fn fold_word(text: &str, word: Word, out: &mut Vec<u8>) {
    let length = word.end - word.start;
    if length <= 16
        && let Some(chunk) = text.as_bytes()[word.start..].first_chunk::<16>()
        && chunk[..length].is_ascii()
    {
        let from = out.len();
        out.extend_from_slice(&chunk.map(|byte| byte.to_ascii_lowercase()));
        out.truncate(from + length);
        return;
    }
    out.extend(fold(&text[word.start..word.end]).as_bytes());
}

/// Appends the folded form of a word whose letters are all ASCII or one of the accented ones of Europe:
/// nearly all words are. False at the first other letter.
fn fold_letters(word: &str, out: &mut String) -> bool {
    for character in word.chars() {
        if character.is_ascii() {
            out.push(character.to_ascii_lowercase());
            continue;
        }
        let place = (character as usize).wrapping_sub(FIRST_ACCENTED);
        match ACCENTED.get(place) {
            Some(folded) => out.push_str(folded),
            None => return false,
        }
    }
    true
}

/// Latin-1 and Latin Extended-A, folded; no character of theirs changes by its neighbours.
static ACCENTED: LazyLock<Vec<String>> = LazyLock::new(|| {
    ('\u{c0}'..='\u{17f}')
        .map(|character| {
            let mut folded = String::new();
            fold_slowly(character.encode_utf8(&mut [0; 4]), &mut folded);
            folded
        })
        .collect()
});
const FIRST_ACCENTED: usize = 0xc0;

fn fold_slowly(word: &str, out: &mut String) {
    let normalizer = DecomposingNormalizerBorrowed::new_nfkd();
    for character in normalizer.normalize_iter(word.chars()) {
        if is_mark(character) {
            continue;
        }
        for lower in character.to_lowercase() {
            match plain(lower) {
                Some(plain) => out.push_str(plain),
                // Lower-casing `İ` gives a mark of its own.
                None if is_mark(lower) => {}
                None => out.push(lower),
            }
        }
    }
}

/// Marks that readers leave out when they type: accents, Hebrew points, Arabic vowels.
/// (Not those of kana, which make another syllable.)
fn is_mark(character: char) -> bool {
    matches!(character,
        '\u{0300}'..='\u{036f}' | '\u{0591}'..='\u{05bd}' | '\u{05bf}' | '\u{05c1}'..='\u{05c7}'
        | '\u{064b}'..='\u{065f}' | '\u{0670}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
        || is_invisible(character)
}

/// Letters that Unicode does not decompose.
fn plain(character: char) -> Option<&'static str> {
    Some(match character {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ł' => "l",
        'þ' => "th",
        'ı' => "i",
        'ħ' => "h",
        'ŋ' => "n",
        'ς' => "σ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{fold, fold_slowly, fold_word};
    use crate::text::words;

    #[test]
    fn a_word_of_a_text_is_folded_like_the_word_alone() {
        let text = "Straße AND constitucionalmente C++ São antiConstitucional é 日本 sixteenLettersXY ÁRVORE fim";
        for word in words(text) {
            let mut folded = b"before ".to_vec();
            fold_word(text, word, &mut folded);
            let alone = fold(&text[word.start..word.end]);
            assert_eq!(folded[7..], *alone.as_bytes(), "{alone}");
        }
    }

    #[test]
    fn the_short_way_and_the_long_way_agree() {
        for character in '\u{80}'..='\u{2ff}' {
            let word = format!("A{character}z{character}{character}");
            let mut slowly = String::new();
            fold_slowly(&word, &mut slowly);
            assert_eq!(fold(&word), slowly, "{word}");
        }
    }

    #[test]
    fn accents_and_case_do_not_count() {
        for (word, folded) in [
            ("São", "sao"),
            ("AÇÃO", "acao"),
            ("Straße", "strasse"),
            ("Ærø", "aero"),
            ("İstanbul", "istanbul"),
            ("sa\u{303}o", "sao"),
            ("Ελλάς", "ελλασ"),
            ("ёлка", "елка"),
            ("ﬁm", "fim"),
            ("日本", "日本"),
        ] {
            assert_eq!(fold(word), folded, "{word}");
        }
    }
}
