//! Letters that only a few of the languages in Latin script write.

use super::closed_words::LANGUAGES;

/// Adds what the letters of a word (in lower case) say.
pub(super) fn add(word: &str, scores: &mut [f32; LANGUAGES.len()]) {
    if word.is_ascii() {
        return;
    }
    for (letters, languages) in CLUES {
        if word.contains(|letter| letters.contains(letter)) {
            for language in languages {
                if let Some(number) = LANGUAGES.iter().position(|known| known == language) {
                    scores[number] += 0.8;
                }
            }
        }
    }
}

const CLUES: [(&str, &[&str]); 15] = [
    ("ěřů", &["cs"]),
    ("ľĺŕ", &["sk"]),
    ("ýťďň", &["cs", "sk"]),
    ("łąęśźżńć", &["pl"]),
    ("șțăşţ", &["ro"]),
    ("őű", &["hu"]),
    ("ĉĝĥĵŝŭ", &["eo"]),
    ("čšž", &["hr", "sl", "cs", "sk"]),
    ("ćđ", &["hr"]),
    ("æø", &["da", "no"]),
    ("å", &["da", "no", "sv"]),
    ("äö", &["sv", "fi", "de"]),
    ("ğış", &["tr"]),
    ("ß", &["de"]),
    ("ơưđạảấầậắằặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ", &["vi"]),
];
