//! Where the words of a text are.

/// One word: where it lies in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// First byte.
    pub(crate) start: usize,
    /// One past the last byte.
    pub(crate) end: usize,
}

/// As much of a word is taken, in bytes: nobody tells two words apart by what comes after it.
const MAX_WORD_BYTES: usize = 96;
/// What goes on longer is no word of any language, and is passed over.
const MAX_RUN_BYTES: usize = 255;

/// The words of a text, in order. Scripts without spaces give overlapping pairs of characters.
pub(crate) fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
}

/// See [`words`].
#[derive(Clone, Debug)]
pub(crate) struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        loop {
            // Most of what lies between words, and most beginnings of words, is plain ASCII.
            let bytes = self.text.as_bytes();
            let start = self.at;
            let first = *bytes.get(start)?;
            if first < 0x80 {
                self.at += 1;
                if !IN_WORD[usize::from(first)] {
                    continue;
                }
            } else {
                let first = self.text[start..].chars().next()?;
                self.at += first.len_utf8();
                if is_pairwise(first) {
                    return Some(self.pair(start));
                }
                if !is_letter(first) {
                    continue;
                }
            }
            self.run();
            if self.at - start > MAX_RUN_BYTES {
                continue;
            }
            let end = self
                .at
                .min(floor_boundary(self.text, start + MAX_WORD_BYTES));
            return Some(Word { start, end });
        }
    }
}

impl Words<'_> {
    /// Goes on to the end of a run of letters and digits; `c++` and `c#` are words too.
    fn run(&mut self) {
        let start = self.at;
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if IN_WORD[usize::from(byte)] {
                self.at += 1;
                continue;
            }
            if byte < 0x80 {
                break;
            }
            match self.text[self.at..].chars().next() {
                Some(next) if is_letter(next) && !is_pairwise(next) || is_invisible(next) => {
                    self.at += next.len_utf8();
                }
                _ => break,
            }
        }
        if self.at == start {
            let rest = &bytes[self.at..];
            let sign = match rest {
                [b'+', b'+', ..] => 2,
                [b'#', ..] => 1,
                _ => return,
            };
            let ends = rest
                .get(sign)
                .is_none_or(|next| !next.is_ascii_alphanumeric());
            if ends && bytes[start - 1].is_ascii_alphabetic() {
                self.at += sign;
            }
        }
    }

    /// The pair that begins here; the last character of a run is a word only when it stands alone.
    fn pair(&mut self, start: usize) -> Word {
        let rest = &self.text[self.at..];
        let mut following = rest.chars();
        let second = following.next().filter(|&next| is_pairwise(next));
        let Some(second) = second else {
            return Word {
                start,
                end: self.at,
            };
        };
        let end = self.at + second.len_utf8();
        // The run ends with this pair: its second character begins none.
        if following.next().is_none_or(|next| !is_pairwise(next)) {
            self.at = end;
        }
        Word { start, end }
    }
}

/// The bytes that are letters or digits by themselves.
static IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x80_u8 {
        table[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

fn is_letter(character: char) -> bool {
    match character {
        // All letters but two signs, without a search in the tables of Unicode.
        '\u{00c0}'..='\u{024f}' => !matches!(character, '×' | '÷'),
        '\u{0300}'..='\u{036f}' => true,
        _ => character.is_alphanumeric(),
    }
}

/// What has no width: a word goes on over it, and folding leaves it out. Between letters it stands for a place where a
/// line may break, joins letters, or hides a word from whoever looks for it.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(character, '\u{00ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// Scripts that are written without spaces between words.
fn is_pairwise(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}' | '\u{0e00}'..='\u{0eff}'
        | '\u{1780}'..='\u{17ff}' | '\u{1000}'..='\u{109f}')
}

/// The last character border at or before `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::words;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = words(text)
            .map(|word| &text[word.start..word.end])
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        check(
            "  Olá, mundo_novo! 3.14",
            &["Olá", "mundo", "novo", "3", "14"],
        );
        check("d'água l’homme", &["d", "água", "l", "homme"]);
        check(
            "C++ e C# mas a+b, x++y",
            &["C++", "e", "C#", "mas", "a", "b", "x", "y"],
        );
        check("\u{0}\u{1}", &[]);
    }

    #[test]
    fn what_has_no_width_parts_no_word() {
        let text = "a c\u{200b}a\u{200d}s\u{2060}i\u{feff}n\u{ad}o. \u{200b}b";
        check(
            text,
            &["a", "c\u{200b}a\u{200d}s\u{2060}i\u{feff}n\u{ad}o", "b"],
        );
        assert_eq!(
            crate::text::fold("c\u{200b}a\u{200d}s\u{2060}i\u{feff}n\u{ad}o"),
            "casino"
        );
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        check("東京都 x", &["東京", "京都", "x"]);
        check("木 and 日本x", &["木", "and", "日本", "x"]);
    }

    #[test]
    fn the_letters_of_europe_are_those_of_unicode() {
        for character in '\u{c0}'..='\u{24f}' {
            assert_eq!(
                super::is_letter(character),
                character.is_alphanumeric(),
                "{character}"
            );
        }
    }

    #[test]
    fn a_long_word_is_cut_and_an_endless_one_is_none() {
        let long = "é".repeat(127);
        let found: Vec<_> = words(&long).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].end, 96);
        for letters in [128, 10_000] {
            let text = format!("{} after", "é".repeat(letters));
            let found: Vec<_> = words(&text).collect();
            assert_eq!(found.len(), 1, "{letters}");
            assert_eq!(&text[found[0].start..], "after");
        }
    }
}
