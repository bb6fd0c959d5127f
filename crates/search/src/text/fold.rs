//! Accent-insensitive, case-insensitive form of a word.

use icu_normalizer::DecomposingNormalizerBorrowed;

/// The folded form: `São` and `SAO` are `sao`, `Straße` is `strasse`.
pub fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    fold_into(word, &mut folded);
    folded
}

/// Appends the folded form.
pub(crate) fn fold_into(word: &str, out: &mut String) {
    if word.is_ascii() {
        out.extend(
            word.bytes()
                .map(|byte| char::from(byte.to_ascii_lowercase())),
        );
        return;
    }
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
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
        | '\u{00ad}' | '\u{200c}' | '\u{200d}')
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
    use super::fold;

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
