//! Text with its white space folded, as it grows.

use unicode_segmentation::UnicodeSegmentation;

use crate::marks;

/// Words with one space between them, or the end of a line, no control characters, nothing invisible.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    text: String,
    /// White space was seen since the last word.
    gap: bool,
    /// A line has ended since the last word.
    ends_line: bool,
}

impl Folded {
    /// With room for the usual share of text in a page of this length.
    pub(crate) fn for_page(bytes: usize) -> Self {
        Self {
            text: String::with_capacity((bytes / 2).min(64 << 10)),
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text; it neither begins nor ends with white space.
    pub(crate) fn into_string(self) -> String {
        self.text
    }

    /// What follows is another word.
    #[inline]
    pub(crate) fn break_word(&mut self) {
        self.gap = true;
    }

    /// What follows is another line: a paragraph, a heading, the cell of a table.
    #[inline]
    pub(crate) fn break_line(&mut self) {
        self.gap = true;
        self.ends_line = true;
    }

    /// Takes back what came after this length.
    pub(crate) fn truncate(&mut self, length: usize) {
        if length < self.text.len() {
            self.text.truncate(floor_boundary(&self.text, length));
            self.gap = true;
        }
    }

    /// What was written since this length, without white space around it.
    pub(crate) fn since(&self, length: usize) -> &str {
        self.text.get(length..).unwrap_or("").trim()
    }

    /// Adds characters.
    #[inline]
    pub(crate) fn push(&mut self, piece: &str) {
        let bytes = piece.as_bytes();
        let mut at = 0;
        loop {
            while bytes
                .get(at)
                .is_some_and(|&byte| CLASSES[usize::from(byte)] == SPACE)
            {
                at += 1;
                self.gap = true;
            }
            let start = at;
            let mut odd = None;
            at += plain_run(&bytes[at..]);
            while let Some(&byte) = bytes.get(at) {
                match CLASSES[usize::from(byte)] {
                    // After a letter with an accent the next plain ones come by eights again.
                    PLAIN if byte >= 0x80 && bytes.get(at + 1).is_some_and(u8::is_ascii) => {
                        at += 1 + plain_run(&bytes[at + 1..]);
                        continue;
                    }
                    PLAIN => {}
                    SPACE => {
                        // One space between words is copied with them.
                        let next = bytes.get(at + 1).map(|&next| CLASSES[usize::from(next)]);
                        if byte != b' ' || next != Some(PLAIN) {
                            break;
                        }
                    }
                    CONTROL => {
                        odd = Some(Odd::Nothing(1));
                        break;
                    }
                    _ => {
                        odd = odd_character(&bytes[at..]);
                        if odd.is_some() {
                            break;
                        }
                    }
                }
                at += 1;
            }
            if at > start {
                if self.gap && !self.text.is_empty() {
                    self.text.push(if self.ends_line { '\n' } else { ' ' });
                }
                self.gap = false;
                self.ends_line = false;
                self.text.push_str(&piece[start..at]);
            }
            match odd {
                Some(Odd::Space(length)) => {
                    at += length;
                    self.gap = true;
                }
                Some(Odd::Nothing(length)) => at += length,
                None if at >= bytes.len() => return,
                None => {}
            }
        }
    }
}

/// One text folded and cut at a character border.
pub(crate) fn fold(text: &str, max_bytes: usize) -> String {
    let mut folded = Folded::default();
    folded.push(text);
    folded.truncate(max_bytes);
    let mut text = folded.into_string();
    text.truncate(text.trim_end().len());
    text
}

/// Characters of a title: nobody reads more, and some write a page into it.
const TITLE_CHARS: usize = 512;

/// A title: folded, and cut after 512 characters, never within what people see as one.
pub(crate) fn fold_title(text: &str, max_bytes: usize) -> String {
    // A little more, to see where the last one ends.
    let mut title = fold(text, max_bytes.saturating_add(64));
    // Before it is cut: all of thousands of marks are one character with their letter.
    marks::limit(&mut title);
    let beyond = title.char_indices().nth(TITLE_CHARS);
    let end = beyond.map_or(title.len(), |(end, _)| end).min(max_bytes);
    if end < title.len() {
        let borders = title.grapheme_indices(true).map(|(border, _)| border);
        let border = borders.take_while(|border| *border <= end).last();
        title.truncate(border.unwrap_or(0));
        title.truncate(title.trim_end().len());
    }
    title
}

/// The text cut at a character border.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..floor_boundary(text, max_bytes)]
}

fn floor_boundary(text: &str, length: usize) -> usize {
    text.floor_char_boundary(length.min(text.len()))
}

const PLAIN: u8 = 0;
const SPACE: u8 = 1;
const CONTROL: u8 = 2;
/// First byte of characters some of which are white space or invisible.
const LEAD: u8 = 3;

const CLASSES: [u8; 256] = {
    let mut classes = [PLAIN; 256];
    let mut byte = 0;
    while byte < 0x20 {
        classes[byte] = CONTROL;
        byte += 1;
    }
    classes[0x7f] = CONTROL;
    classes[b' ' as usize] = SPACE;
    classes[b'\t' as usize] = SPACE;
    classes[b'\n' as usize] = SPACE;
    classes[b'\r' as usize] = SPACE;
    classes[0x0b] = SPACE;
    classes[0x0c] = SPACE;
    classes[0xc2] = LEAD;
    classes[0xe1] = LEAD;
    classes[0xe2] = LEAD;
    classes[0xe3] = LEAD;
    classes[0xef] = LEAD;
    classes
};

/// A character that is not copied, with its length in bytes.
enum Odd {
    Space(usize),
    Nothing(usize),
}

/// White space, controls and invisible characters outside ASCII. The joiners U+200C and U+200D
/// stay: Persian and the scripts of India spell with them.
fn odd_character(bytes: &[u8]) -> Option<Odd> {
    match *bytes {
        // U+0085 and U+00A0.
        [0xc2, 0x85 | 0xa0, ..] => Some(Odd::Space(2)),
        // Other C1 controls and the soft hyphen.
        [0xc2, 0x80..=0x9f | 0xad, ..] => Some(Odd::Nothing(2)),
        // U+1680.
        [0xe1, 0x9a, 0x80, ..] => Some(Odd::Space(3)),
        // U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F.
        [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..] | [0xe2, 0x81, 0x9f, ..] => {
            Some(Odd::Space(3))
        }
        // Zero-width space, direction marks, embeddings and overrides; U+2060 to U+206F.
        [0xe2, 0x80, 0x8b | 0x8e | 0x8f | 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa0..=0xaf, ..] => {
            Some(Odd::Nothing(3))
        }
        // U+3000.
        [0xe3, 0x80, 0x80, ..] => Some(Odd::Space(3)),
        // U+FEFF.
        [0xef, 0xbb, 0xbf, ..] => Some(Odd::Nothing(3)),
        _ => None,
    }
}

/// Bytes of plain words with single spaces between them, found eight at a time. The last byte of the
/// run is never a space, because what follows it may be another.
fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut run = 0;
    // Whether the byte before these eight was a space.
    let mut space_before = 0;
    while let Some(eight) = bytes.get(run..run + 8) {
        let value = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
        let not_space = value ^ (ONES * 0x20);
        // The high bit of each byte that is a space; exact, because all bytes are below 0x80.
        let spaces = !(((not_space & !HIGHS) + (ONES * 0x7f)) | not_space) & HIGHS;
        let control = value.wrapping_sub(ONES * 0x20) & !value & HIGHS;
        let delete = !(((value ^ (ONES * 0x7f)) & !HIGHS) + (ONES * 0x7f)) & HIGHS;
        let doubled = spaces & ((spaces << 8) | space_before);
        if value & HIGHS != 0 || control != 0 || delete != 0 || doubled != 0 {
            break;
        }
        space_before = spaces >> 56;
        run += 8;
    }
    while run > 0 && bytes[run - 1] == b' ' {
        run -= 1;
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], folded: &str) {
        let mut text = Folded::default();
        for piece in pieces {
            text.push(piece);
        }
        assert_eq!(text.into_string(), folded);
    }

    #[test]
    fn white_space_is_one_space() {
        check(&["  a\n\t b ", " c"], "a b c");
        check(&["a ", "b"], "a b");
        check(&["a", "b"], "ab");
        check(&["a\u{a0}\u{3000}b\u{2003}c"], "a b c");
    }

    proptest::proptest! {
        /// The quick way by eights gives what the plain way gives.
        #[test]
        fn folding_is_splitting_and_joining(pieces in proptest::collection::vec("[ab é\t\n\u{1}\u{7f}]{0,40}", 0..4)) {
            let mut text = Folded::default();
            for piece in &pieces {
                text.push(piece);
            }
            let seen: String = pieces.concat().chars().filter(|c| !matches!(c, '\u{1}' | '\u{7f}')).collect();
            let words: Vec<&str> = seen.split_whitespace().collect();
            proptest::prop_assert_eq!(text.into_string(), words.join(" "));
        }
    }

    #[test]
    fn a_line_ends_once_and_not_at_the_borders_of_the_text() {
        let mut text = Folded::default();
        text.break_line();
        text.push("a ");
        text.break_line();
        text.push(" \n");
        text.break_line();
        text.push(" b c");
        text.break_word();
        text.push("d");
        text.break_line();
        assert_eq!(text.into_string(), "a\nb c d");
    }

    #[test]
    fn what_nobody_sees_is_left_out() {
        check(&["a\0b\u{200b}c\u{ad}d\u{202e}e\u{feff}"], "abcde");
        check(&["日本、ひらがな…ok"], "日本、ひらがな…ok");
    }

    #[test]
    fn cutting_respects_characters() {
        assert_eq!(fold(" é é ", 3), "é");
        assert_eq!(cut("éé", 3), "é");
    }
}
