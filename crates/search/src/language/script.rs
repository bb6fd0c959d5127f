//! The script of a text tells many languages at once.

/// The language that the script alone decides, or none where several share it (Latin).
pub(super) fn language_of_script(text: &str) -> Option<&'static str> {
    let mut counts = [0_u32; SCRIPTS.len()];
    let mut latin = 0_u32;
    let mut kana = 0_u32;
    for character in text.chars().take(4_000) {
        match character {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => latin += 1,
            '\u{3040}'..='\u{30ff}' => kana += 1,
            _ if (character as u32) < 0x370 => {}
            _ => {
                let found = SCRIPTS
                    .iter()
                    .position(|&(first, last, _)| (first..=last).contains(&character));
                if let Some(index) = found {
                    counts[index] += 1;
                }
            }
        }
    }
    let (index, &most) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
    // Kanji and hanzi are one script: a little kana decides. One of them says as much as a word.
    let weight = if matches!(SCRIPTS[index].2, "zh" | "ko") {
        3
    } else {
        1
    };
    if kana > 0 && kana * 12 >= most && kana * 3 > latin {
        return Some("ja");
    }
    if most == 0 || most * weight <= latin {
        return None;
    }
    Some(match SCRIPTS[index].2 {
        "cyrillic" => cyrillic(text),
        "arabic" => arabic(text),
        language => language,
    })
}

const SCRIPTS: [(char, char, &str); 22] = [
    ('\u{0370}', '\u{03ff}', "el"),
    ('\u{1f00}', '\u{1fff}', "el"),
    ('\u{0400}', '\u{052f}', "cyrillic"),
    ('\u{0530}', '\u{058f}', "hy"),
    ('\u{0590}', '\u{05ff}', "he"),
    ('\u{0600}', '\u{077f}', "arabic"),
    ('\u{0900}', '\u{097f}', "hi"),
    ('\u{0980}', '\u{09ff}', "bn"),
    ('\u{0a00}', '\u{0a7f}', "pa"),
    ('\u{0a80}', '\u{0aff}', "gu"),
    ('\u{0b80}', '\u{0bff}', "ta"),
    ('\u{0c00}', '\u{0c7f}', "te"),
    ('\u{0c80}', '\u{0cff}', "kn"),
    ('\u{0d00}', '\u{0d7f}', "ml"),
    ('\u{0e00}', '\u{0e7f}', "th"),
    ('\u{0e80}', '\u{0eff}', "lo"),
    ('\u{10a0}', '\u{10ff}', "ka"),
    ('\u{1780}', '\u{17ff}', "km"),
    ('\u{1000}', '\u{109f}', "my"),
    ('\u{4e00}', '\u{9fff}', "zh"),
    ('\u{ac00}', '\u{d7af}', "ko"),
    ('\u{1100}', '\u{11ff}', "ko"),
];

/// Letters and small words that only one of the Cyrillic languages has.
fn cyrillic(text: &str) -> &'static str {
    let lower = text
        .chars()
        .take(4_000)
        .flat_map(char::to_lowercase)
        .collect::<String>();
    let has = |letters: &str| {
        lower
            .chars()
            .filter(|&letter| letters.contains(letter))
            .count()
    };
    if has("ђјљњћџ") > 0 {
        return if has("ѓќѕ") > 0 { "mk" } else { "sr" };
    }
    if has("ўґ") > 0 && has("ў") > 0 {
        return "be";
    }
    if has("іїєґ") > 0 && has("ы") == 0 {
        return "uk";
    }
    if has("ыэё") > 0 {
        return "ru";
    }
    let words = |list: &[&str]| {
        lower
            .split(|c: char| !c.is_alphabetic())
            .filter(|word| list.contains(word))
            .count()
    };
    let bulgarian = words(&[
        "на",
        "да",
        "се",
        "са",
        "от",
        "за",
        "това",
        "със",
        "във",
        "който",
        "ще",
        "беше",
        "като",
        "е",
        "си",
        "му",
        "при",
        "която",
    ]) + has("ъ") / 2;
    let serbian = words(&[
        "је", "су", "на", "да", "се", "од", "за", "у", "као", "који", "што", "са", "би", "није",
    ]);
    let russian = words(&[
        "на", "не", "что", "от", "за", "как", "его", "для", "это", "по", "из", "с", "и", "в", "к",
        "о",
    ]);
    if bulgarian > russian && bulgarian >= serbian {
        "bg"
    } else if serbian > russian {
        "sr"
    } else {
        "ru"
    }
}

fn arabic(text: &str) -> &'static str {
    let persian = text
        .chars()
        .take(4_000)
        .filter(|letter| "پچژگکی".contains(*letter))
        .count();
    let urdu = text
        .chars()
        .take(4_000)
        .filter(|letter| "ٹڈڑںے".contains(*letter))
        .count();
    match (urdu, persian) {
        (1.., _) if urdu * 3 > persian => "ur",
        (_, 1..) => "fa",
        _ => "ar",
    }
}
