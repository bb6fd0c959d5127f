//! Two signatures of a text: one for "the same", one for "nearly the same".

use std::sync::LazyLock;

use encoding_rs::Encoding;
use icu_normalizer::DecomposingNormalizerBorrowed;
use xxhash_rust::xxh3::xxh3_128;

/// Texts with fewer words have no signature: chance alone would make them alike.
pub const MIN_WORDS: usize = 50;

/// Both signatures of a text: [`text_digest`] and [`similarity`], with one buffer for the two.
pub fn signatures(text: &str) -> (u128, u64) {
    let mut buffer = Vec::with_capacity(text.len() + EIGHT);
    fold::<SPACE>(text, &mut buffer);
    let similarity = simhash(&mut buffer);
    buffer.clear();
    fold::<NOTHING>(text, &mut buffer);
    (xxh3_128(&buffer), similarity)
}

/// A digest of the letters and digits of a text: case, accents, punctuation and white space do
/// not change it, and so a change of it means that the page says something else.
pub fn text_digest(text: &str) -> u128 {
    let mut letters = Vec::with_capacity(text.len());
    fold::<NOTHING>(text, &mut letters);
    xxh3_128(&letters)
}

/// A 64-bit simhash over shingles of three words, folded as for [`text_digest`]: texts that share
/// most shingles differ in few bits. Zero, for no signature, below [`MIN_WORDS`] words.
pub fn similarity(text: &str) -> u64 {
    let mut words = Vec::with_capacity(text.len() + EIGHT);
    fold::<SPACE>(text, &mut words);
    simhash(&mut words)
}

/// Letters are looked at by eights: most words are shorter.
const EIGHT: usize = 8;

/// The simhash of folded words with spaces between them; adds spaces at the end.
fn simhash(text: &mut Vec<u8>) -> u64 {
    // With these, eight letters can be read wherever a word begins, and the last word ends.
    text.extend_from_slice(&[SPACE; EIGHT]);
    let end = text.len() - EIGHT;
    let mut counts = Counts::default();
    let mut shingle = [0_u64; 3];
    let mut words = 0_usize;
    let mut at = 0;
    while at < end {
        let start = at;
        let mut hash = 0;
        loop {
            let (letters, count) = letters_before_space(text, at);
            at += count;
            hash = mix(hash ^ letters, 0xc2b2_ae3d_27d4_eb4f);
            if count < EIGHT {
                break;
            }
        }
        if at > start {
            shingle = [
                shingle[1],
                shingle[2],
                hash.wrapping_add((at - start) as u64),
            ];
            words += 1;
            if words >= 3 {
                // Order matters: "a b c" is another shingle than "c b a".
                let joined = shingle[0].rotate_left(31) ^ shingle[1].rotate_left(17) ^ shingle[2];
                counts.add(mix(joined, 0x9e37_79b9_7f4a_7c15));
            }
        }
        at += 1;
    }
    if words < MIN_WORDS {
        0
    } else {
        counts.majority().max(1)
    }
}

/// The letters at a place up to the next space, at most eight, and how many they are.
fn letters_before_space(text: &[u8], at: usize) -> (u64, usize) {
    const SPACES: u64 = 0x2020_2020_2020_2020;
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let Some(eight) = text.get(at..at + EIGHT) else {
        return (0, 0);
    };
    let letters = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
    // The classic search for a zero byte; the lowest one found is right.
    let without = letters ^ SPACES;
    let found = without.wrapping_sub(ONES) & !without & HIGHS;
    if found == 0 {
        return (letters, EIGHT);
    }
    let bits = found.trailing_zeros() & !7;
    (letters & !(u64::MAX << bits), (bits / 8) as usize)
}

/// Multiplies to 128 bits and folds the halves together.
fn mix(value: u64, by: u64) -> u64 {
    let product = u128::from(value ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(by);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the two halves of a product"
    )]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

/// In how many bits two signatures differ; texts are near duplicates at 3 or fewer. A text
/// without signature is as far as can be from every other.
pub fn distance(a: u64, b: u64) -> u32 {
    if a == 0 || b == 0 {
        u64::BITS
    } else {
        (a ^ b).count_ones()
    }
}

/// White space leaves nothing behind, or a space.
const NOTHING: u8 = 0;
const SPACE: u8 = b' ';

/// Adds the letters and digits of a text, small and without accents, in UTF-8, with `GAP` for
/// each white space.
fn fold<const GAP: u8>(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = Encoding::ascii_valid_up_to(rest.as_bytes());
        fold_ascii::<GAP>(&rest.as_bytes()[..ascii], out);
        rest = &rest[ascii..];
        let other = rest
            .bytes()
            .position(|byte| byte.is_ascii())
            .unwrap_or(rest.len());
        fold_other(&rest[..other], out);
        rest = &rest[other..];
    }
}

/// Writes every byte and moves on past those that stay: a branch for each would cost more.
fn fold_ascii<const GAP: u8>(bytes: &[u8], out: &mut Vec<u8>) {
    let mut end = out.len();
    out.resize(end + bytes.len(), 0);
    for &byte in bytes {
        let small = const { small_letters(GAP) }[usize::from(byte)];
        out[end] = small;
        end += usize::from(small != 0);
    }
    out.truncate(end);
}

/// Characters one by one from a table where that is right, the rest by the normalizer: to begin
/// it for each quotation mark would cost more than all the words around.
fn fold_other(text: &str, out: &mut Vec<u8>) {
    let mut hard = 0..0;
    for (at, c) in text.char_indices() {
        let folded = match u32::from(c) {
            code if code < TABLED => TABLE[code as usize].as_bytes(),
            // Punctuation and invisible characters.
            0x2000..=0x206f => b"",
            // Ideographs stay as they are.
            0x4e00..=0x9fff => &text.as_bytes()[at..at + c.len_utf8()],
            _ => {
                hard.end = at + c.len_utf8();
                continue;
            }
        };
        fold_hard(&text[hard.start..hard.end.max(hard.start)], out);
        hard = at + c.len_utf8()..0;
        out.extend_from_slice(folded);
    }
    fold_hard(&text[hard.start..hard.end.max(hard.start)], out);
}

fn fold_hard(text: &str, out: &mut Vec<u8>) {
    if text.is_empty() {
        return;
    }
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

static TABLE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let fold_one = |code: u32| {
        let mut folded = Vec::new();
        let text = char::from_u32(code).map(String::from).unwrap_or_default();
        fold_hard(&text, &mut folded);
        String::from_utf8(folded).unwrap_or_default()
    };
    (0..TABLED).map(fold_one).collect()
});

/// Letters and digits of ASCII in small letters, `gap` for white space, zero for the rest.
const fn small_letters(gap: u8) -> [u8; 256] {
    let mut small = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            small[byte as usize] = byte.to_ascii_lowercase();
        } else if byte.is_ascii_whitespace() {
            small[byte as usize] = gap;
        }
        byte += 1;
    }
    small
}

/// How often each of 64 bits was set, eight counters to a word.
///
/// Counting bit by bit would cost more than finding the words; a table turns one byte of a hash
/// into eight counters at once.
struct Counts {
    totals: [u32; 64],
    /// Eight 8-bit counters for each byte of the hash.
    lanes: [u64; 8],
    pending: u8,
    added: u32,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            totals: [0; 64],
            lanes: [0; 8],
            pending: 0,
            added: 0,
        }
    }
}

impl Counts {
    fn add(&mut self, hash: u64) {
        for (lane, byte) in self.lanes.iter_mut().zip(hash.to_le_bytes()) {
            *lane += SPREAD[usize::from(byte)];
        }
        self.pending += 1;
        self.added = self.added.saturating_add(1);
        if self.pending == u8::MAX {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for (lane, totals) in self.lanes.iter_mut().zip(self.totals.chunks_exact_mut(8)) {
            for (count, total) in lane.to_le_bytes().into_iter().zip(totals) {
                *total = total.saturating_add(u32::from(count));
            }
            *lane = 0;
        }
        self.pending = 0;
    }

    fn majority(mut self) -> u64 {
        self.flush();
        let half = self.added / 2;
        self.totals
            .iter()
            .enumerate()
            .fold(0, |bits, (at, &total)| bits | u64::from(total > half) << at)
    }
}

/// Each bit of a byte in a byte of its own.
const SPREAD: [u64; 256] = {
    let mut spread = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            spread[byte] |= ((byte >> bit & 1) as u64) << (bit * 8);
            bit += 1;
        }
        byte += 1;
    }
    spread
};

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> String {
        (0..count)
            .map(|at| format!("word{} ", at * 7919 % 1000))
            .collect()
    }

    #[test]
    fn both_signatures_at_once_are_the_same_two() {
        for text in [
            words(300),
            words(10),
            "Olá, Mundo! a-b  c".to_owned(),
            String::new(),
        ] {
            assert_eq!(signatures(&text), (text_digest(&text), similarity(&text)));
        }
    }

    #[test]
    fn letters_end_at_their_space() {
        let text = b"a bc  defghijkl m       ";
        assert_eq!(letters_before_space(text, 0), (u64::from(b'a'), 1));
        assert_eq!(letters_before_space(text, 2).1, 2);
        assert_eq!(letters_before_space(text, 4).1, 0);
        assert_eq!(letters_before_space(text, 6).1, 8);
        assert_eq!(letters_before_space(text, 14).1, 1);
    }

    #[test]
    fn white_space_between_words_counts_once_and_their_order_counts() {
        let text = words(100);
        assert_eq!(similarity(&text), similarity(&text.replace(' ', "  \n")));
        let back: Vec<&str> = text.split_whitespace().rev().collect();
        assert!(distance(similarity(&text), similarity(&back.join(" "))) > 3);
    }

    #[test]
    fn case_accents_punctuation_and_white_space_do_not_count() {
        let digest = text_digest("Olá, Mundo! Ação");
        assert_eq!(text_digest("ola mundo acao"), digest);
        assert_eq!(text_digest(" OLA\nMUN DO — (AÇÃO) "), digest);
        assert_ne!(text_digest("ola mundos acao"), digest);
        assert_ne!(text_digest("नमस्ते"), text_digest("नमस्ता"));
    }

    #[test]
    fn the_table_folds_as_the_normalizer_does() {
        let text = "“Ærø” — ﬁn ½ ÇÉ’s Ωmega Жёлтый が한 漢字… ﷺ";
        let (mut quick, mut slow) = (Vec::new(), Vec::new());
        fold::<NOTHING>(text, &mut quick);
        fold_hard(text, &mut slow);
        assert_eq!(
            String::from_utf8(quick).unwrap(),
            String::from_utf8(slow).unwrap()
        );
    }

    #[test]
    fn nearly_equal_texts_are_near() {
        let text = words(2000);
        let changed = text.replacen("word500 ", "other ", 1);
        assert!(distance(similarity(&text), similarity(&changed)) <= 3);
        let other = text.replace("word", "mot");
        assert!(distance(similarity(&text), similarity(&other)) > 10);
    }

    #[test]
    fn short_texts_have_no_signature() {
        assert_eq!(similarity(&words(MIN_WORDS - 1)), 0);
        assert_ne!(similarity(&words(MIN_WORDS)), 0);
        assert_eq!(distance(0, 0), 64);
    }

    #[test]
    fn the_table_counts_as_counting_does() {
        let hashes: Vec<u64> = (0..1000_u64)
            .map(|at| mix(at, 0x9e37_79b9_7f4a_7c15))
            .collect();
        let mut counts = Counts::default();
        hashes.iter().for_each(|&hash| counts.add(hash));
        let slow = (0..64).fold(0, |bits, at| {
            let set = hashes.iter().filter(|&&hash| hash >> at & 1 == 1).count();
            bits | u64::from(set > 500) << at
        });
        assert_eq!(counts.majority(), slow);
    }
}
