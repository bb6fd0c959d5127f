//! Marks on letters: a few are writing, thousands on one letter are an attack on whoever shows the text.

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

/// As many as the stream-safe text format of Unicode allows.
const MOST: usize = 30;

const CLASSES: CanonicalCombiningClassMapBorrowed<'static> =
    CanonicalCombiningClassMapBorrowed::new();

/// Leaves out what goes beyond thirty marks on one letter.
pub(crate) fn limit(text: &mut String) {
    if text.is_ascii() {
        return;
    }
    let mut counter = Counter::default();
    // Nearly always there is nothing to do.
    if text.chars().any(|letter| counter.count(letter) > MOST) {
        let mut counter = Counter::default();
        text.retain(|letter| counter.count(letter) <= MOST);
    }
}

/// Marks in a row.
#[derive(Debug, Default)]
struct Counter(usize);

impl Counter {
    fn count(&mut self, letter: char) -> usize {
        // Before the first of them there is no mark, and most text lies there.
        let is_mark =
            letter >= '\u{300}' && (CLASSES.get_u8(letter) != 0 || is_classless_mark(letter));
        self.0 = if is_mark { self.0 + 1 } else { 0 };
        self.0
    }
}

/// Marks that may stand in any order, and so have no class: they enclose a letter, or choose its shape.
fn is_classless_mark(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0300..=0x036f | 0x0483..=0x0489 | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff
            | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f | 0xe0100..=0xe01ef)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_marks_stay_and_words_are_as_they_were() {
        let text =
            |marks: usize| format!("a{}b cafe\u{301} \u{939}\u{93f}", "\u{301}".repeat(marks));
        let mut hostile = text(10_000);
        limit(&mut hostile);
        assert_eq!(hostile, text(30));
        let mut mixed = format!("x{}", "\u{301}\u{489}\u{20dd}\u{fe0f}".repeat(1000));
        limit(&mut mixed);
        assert_eq!(mixed.chars().count(), 31);
        let mut honest = "Ti\u{1ebf}ng Vi\u{1ec7}t \u{5e9}\u{5b8}\u{5c1}\u{5dc}".to_owned();
        let before = honest.clone();
        limit(&mut honest);
        assert_eq!(honest, before);
    }
}
