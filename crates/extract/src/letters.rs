//! The letters and digits of a text: small, without accents, in UTF-8.
//!
//! ```text
//! ASCII, sixteen at once ──────────┐
//! Latin, Greek, Cyrillic: a table ─┼──> letters, digits, a space for each white space
//! all others: the normalizer ──────┘
//! ```

use std::sync::LazyLock;

use icu_normalizer::DecomposingNormalizerBorrowed;

/// Characters of ASCII are looked at by so many: one step of a vector unit.
const STEP: usize = 16;

/// Writes the letters and digits of a text, with a space for each white space of ASCII and
/// [`NOTHING`] for each other character of ASCII, to the front of a buffer, and returns how many
/// bytes they are. What stands behind them in the buffer means nothing: to clear it for each text
/// would cost as much as to fill it.
pub(crate) fn fold(text: &str, out: &mut Vec<u8>) -> usize {
    let mut folding = Folding { out, end: 0 };
    folding.make_room(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(step) = bytes[at..].first_chunk::<STEP>() {
        let plain = (u128::from_le_bytes(*step) & HIGH_BITS).trailing_zeros() as usize / 8;
        // Writes all sixteen and goes on behind the plain ones: to ask first would cost more.
        folding.out[folding.end..folding.end + STEP].copy_from_slice(&fold_step(step));
        folding.end += plain;
        at += plain;
        if plain < STEP {
            at = folding.beyond_ascii(text, at);
        }
    }
    while at < bytes.len() {
        if bytes[at].is_ascii() {
            folding.put(&[SMALL[usize::from(bytes[at])]]);
            at += 1;
        } else {
            at = folding.beyond_ascii(text, at);
        }
    }
    folding.end
}

/// Those of bytes beyond ASCII.
const HIGH_BITS: u128 = 0x8080_8080_8080_8080_8080_8080_8080_8080;

/// Stands for a character that does not count: to leave a gap costs less than to close it here.
pub(crate) const NOTHING: u8 = 0;

/// Sixteen bytes folded. Without branches, so that the compiler does all sixteen at once.
#[inline]
fn fold_step(step: &[u8; STEP]) -> [u8; STEP] {
    let mut folded = [NOTHING; STEP];
    for at in 0..STEP {
        let byte = step[at];
        let small = byte | (u8::from(byte.wrapping_sub(b'A') < 26) << 5);
        let letter = u8::from(small.wrapping_sub(b'a') < 26);
        let digit = u8::from(byte.wrapping_sub(b'0') < 10);
        let space = u8::from(byte == b' ')
            | u8::from(byte.wrapping_sub(b'\t') < 2)
            | u8::from(byte.wrapping_sub(0x0c) < 2);
        folded[at] = (small & (letter | digit).wrapping_neg()) | (b' ' & space.wrapping_neg());
    }
    folded
}

struct Folding<'a> {
    out: &'a mut Vec<u8>,
    end: usize,
}

impl Folding<'_> {
    /// After this so many bytes can be written, and a whole step more.
    fn make_room(&mut self, bytes: usize) {
        let needed = self.end + bytes + STEP;
        if self.out.len() < needed {
            self.out.resize(needed, 0);
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.out[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Folds characters up to the next one of ASCII; returns where that is.
    fn beyond_ascii(&mut self, text: &str, mut at: usize) -> usize {
        let table = &*TABLE;
        loop {
            let rest = &text[at..];
            let Some(c) = rest.chars().next().filter(|c| !c.is_ascii()) else {
                return at;
            };
            at += match class(c) {
                Class::Tabled => {
                    let folded = table[c as usize];
                    // A few grow, from two bytes to three.
                    self.make_room(text.len() - at + usize::from(folded.length));
                    self.put(&folded.bytes[..usize::from(folded.length)]);
                    c.len_utf8()
                }
                Class::Nothing => c.len_utf8(),
                Class::Itself => {
                    self.put(&rest.as_bytes()[..c.len_utf8()]);
                    c.len_utf8()
                }
                Class::Hard => {
                    // All that follow as well: to begin the normalizer costs more than a word.
                    let run = rest
                        .find(|c: char| c.is_ascii() || class(c) != Class::Hard)
                        .unwrap_or(rest.len());
                    let mut folded = Vec::new();
                    fold_hard(&rest[..run], &mut folded);
                    self.make_room(text.len() - at + folded.len());
                    self.put(&folded);
                    run
                }
            };
        }
    }
}

/// How a character outside ASCII is folded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Tabled,
    /// Punctuation and invisible characters.
    Nothing,
    /// Ideographs stay as they are.
    Itself,
    Hard,
}

fn class(c: char) -> Class {
    match u32::from(c) {
        code if code < TABLED => Class::Tabled,
        0x2000..=0x206f => Class::Nothing,
        0x4e00..=0x9fff => Class::Itself,
        _ => Class::Hard,
    }
}

fn fold_hard(text: &str, out: &mut Vec<u8>) {
    let normalizer = const { DecomposingNormalizerBorrowed::new_nfkd() };
    // Accents are no letters once they stand alone; the vowel signs of India are.
    for c in normalizer
        .normalize_iter(text.chars())
        .filter(|c| c.is_alphanumeric())
    {
        for small in c.to_lowercase() {
            out.extend_from_slice(small.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// Characters before this one are folded by a table: Latin, Greek, Cyrillic.
const TABLED: u32 = 0x530;

#[derive(Clone, Copy, Default)]
struct Tabled {
    bytes: [u8; 7],
    length: u8,
}

static TABLE: LazyLock<Vec<Tabled>> = LazyLock::new(|| {
    let fold_one = |code: u32| {
        let mut folded = Vec::new();
        let text = char::from_u32(code).map(String::from).unwrap_or_default();
        fold_hard(&text, &mut folded);
        let mut tabled = Tabled::default();
        for (slot, byte) in tabled.bytes.iter_mut().zip(folded) {
            *slot = byte;
            tabled.length += 1;
        }
        tabled
    };
    (0..TABLED).map(fold_one).collect()
});

/// Letters and digits of ASCII in small letters, a space for white space, [`NOTHING`] for the rest.
const SMALL: [u8; 256] = {
    let mut small = [NOTHING; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            small[byte as usize] = byte.to_ascii_lowercase();
        } else if byte.is_ascii_whitespace() {
            small[byte as usize] = b' ';
        }
        byte += 1;
    }
    small
};

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut out = Vec::new();
        let end = fold(text, &mut out);
        let kept = out[..end].iter().filter(|&&byte| byte != NOTHING);
        String::from_utf8(kept.copied().collect()).unwrap()
    }

    /// One character after the other, as the definition says.
    fn slowly(text: &str) -> String {
        let mut out = Vec::new();
        let mut hard = String::new();
        for c in text.chars() {
            if c.is_ascii() {
                fold_hard(&std::mem::take(&mut hard), &mut out);
                if c.is_ascii_whitespace() {
                    out.push(b' ');
                } else if c.is_ascii_alphanumeric() {
                    out.push(c.to_ascii_lowercase() as u8);
                }
            } else {
                hard.push(c);
            }
        }
        fold_hard(&hard, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_quick_ways_fold_as_the_normalizer_does() {
        let text = "“Ærø” — ﬁn ½ ÇÉ’s Ωmega Жёлтый が한 漢字… ﷺ ŉ नमस्ते\t[A-Z] @`{~\u{b}\u{1f}";
        assert_eq!(folded(text), slowly(text));
        // At every place within a step.
        for pad in 0..40 {
            let shifted = format!("{}{text}{}", "x Y,".repeat(pad), "z".repeat(pad));
            assert_eq!(folded(&shifted), slowly(&shifted));
        }
    }

    #[test]
    fn every_tabled_character_fits_its_place() {
        for code in 0x80..TABLED {
            let c = char::from_u32(code).unwrap();
            let text = format!("{c}{c}{c}");
            assert_eq!(folded(&text), slowly(&text), "U+{code:04X}");
        }
    }

    #[test]
    fn a_buffer_that_was_used_before_changes_nothing() {
        let mut out = Vec::new();
        fold(&"Lorem, ipsum ".repeat(50), &mut out);
        let end = fold("Olá, ação!", &mut out);
        assert_eq!(&out[..end], b"ola\0 acao\0");
    }
}
