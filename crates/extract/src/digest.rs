//! Two signatures of a text: one for "the same", one for "nearly the same".

use std::cell::RefCell;

use xxhash_rust::xxh3::xxh3_128;

use crate::letters;
use crate::votes::Votes;

/// Texts with fewer words have no signature: chance alone would make them alike.
pub const MIN_WORDS: usize = 50;

/// Both signatures of a text: [`text_digest`] and [`similarity`].
pub fn signatures(text: &str) -> (u128, u64) {
    thread_local! {
        static BUFFERS: RefCell<Buffers> = RefCell::default();
    }
    BUFFERS.with_borrow_mut(|buffers| {
        let signatures = buffers.read(text);
        if text.len() > KEPT_BYTES {
            *buffers = Buffers::default();
        }
        signatures
    })
}

/// A digest of the letters and digits of a text: case, accents, punctuation and white space do
/// not change it, and so a change of it means that the page says something else.
pub fn text_digest(text: &str) -> u128 {
    signatures(text).0
}

/// A 64-bit simhash over shingles of three words, folded as for [`text_digest`]: texts that share
/// most shingles differ in few bits. Zero, for no signature, below [`MIN_WORDS`] words.
pub fn similarity(text: &str) -> u64 {
    signatures(text).1
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

/// Buffers for longer texts are not kept for the next one.
const KEPT_BYTES: usize = 1 << 20;

/// Spaces are looked for in so many bytes at once.
const STRIDE: usize = 64;

/// Letters are read by eights, two of them: few words are longer.
const EIGHT: usize = 8;

/// What is written while a text is read; kept by each thread, because to get it and to clear it
/// for each page would cost as much as to read the page.
#[derive(Default)]
struct Buffers {
    /// Folded words with spaces between them.
    words: Vec<u8>,
    /// The same without the spaces.
    letters: Vec<u8>,
}

impl Buffers {
    fn read(&mut self, text: &str) -> (u128, u64) {
        let end = letters::fold(text, &mut self.words);
        // So the last word ends, strides are whole, and two eights can be read wherever a word is.
        let strides = end / STRIDE + 1;
        let padded = strides * STRIDE + 2 * EIGHT;
        if self.words.len() < padded {
            self.words.resize(padded, 0);
        }
        self.words[end..padded].fill(b' ');
        if self.letters.len() < padded {
            self.letters.resize(padded, 0);
        }
        let mut reading = Reading {
            words: &self.words[..padded],
            letters: &mut self.letters,
            length: 0,
            shingle: [0; 3],
            count: 0,
            votes: Votes::default(),
        };
        let mut start = 0;
        for stride in 0..strides {
            let first = stride * STRIDE;
            let mut spaces = spaces(&reading.words[first..first + STRIDE]);
            while spaces != 0 {
                let at = first + spaces.trailing_zeros() as usize;
                spaces &= spaces - 1;
                if at > start {
                    reading.word(start, at - start);
                }
                start = at + 1;
            }
        }
        let similarity = if reading.count < MIN_WORDS {
            0
        } else {
            reading.votes.majority().max(1)
        };
        (xxh3_128(&reading.letters[..reading.length]), similarity)
    }
}

/// A text while its words go by.
struct Reading<'a> {
    words: &'a [u8],
    letters: &'a mut [u8],
    length: usize,
    /// The hashes of the last three words.
    shingle: [u64; 3],
    count: usize,
    votes: Votes,
}

impl Reading<'_> {
    #[inline]
    fn word(&mut self, start: usize, length: usize) {
        let mut hash = length as u64;
        let mut taken = 0;
        // Sixteen letters each time, without asking whether there are so many: a branch that goes
        // now this way and now that costs more than the letters.
        while taken < length {
            let left = length - taken;
            let two = &self.words[start + taken..start + taken + 2 * EIGHT];
            let one = eight(&two[..EIGHT]) & FIRST[left.min(EIGHT)];
            let other = eight(&two[EIGHT..]) & FIRST[left.clamp(EIGHT, 2 * EIGHT) - EIGHT];
            self.letters[self.length..self.length + 2 * EIGHT].copy_from_slice(two);
            self.length += left.min(2 * EIGHT);
            hash = mix(hash ^ one, 0xc2b2_ae3d_27d4_eb4f ^ other);
            taken += 2 * EIGHT;
        }
        self.shingle = [self.shingle[1], self.shingle[2], hash];
        self.count += 1;
        if self.count >= 3 {
            // Order matters: "a b c" is another shingle than "c b a".
            let [a, b, c] = self.shingle;
            let joined = a.rotate_left(31) ^ b.rotate_left(17) ^ c;
            self.votes.add(mix(joined, 0x9e37_79b9_7f4a_7c15));
        }
    }
}

/// A one for each of 64 bytes that is a space, the first byte lowest.
fn spaces(stride: &[u8]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOWS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let mut mask = 0;
    for (at, bytes) in stride.chunks_exact(EIGHT).enumerate() {
        let other = eight(bytes) ^ (ONES * b' ' as u64);
        // The high bit of each byte that is zero now; nothing is carried from byte to byte.
        let found = !(((other & LOWS) + LOWS) | other | LOWS);
        // Gathers the eight bits in the highest byte.
        let bits = (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= bits << (at * EIGHT);
    }
    mask
}

fn eight(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// What leaves so many bytes of a word of eight.
const FIRST: [u64; EIGHT + 1] = {
    let mut masks = [u64::MAX; EIGHT + 1];
    let mut bytes = 0;
    while bytes < EIGHT {
        masks[bytes] = (1 << (bytes * 8)) - 1;
        bytes += 1;
    }
    masks
};

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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> String {
        (0..count)
            .map(|at| format!("word{} ", at * 7919 % 1000))
            .collect()
    }

    #[test]
    fn spaces_are_found_where_they_are() {
        let mut stride = [b'a'; STRIDE];
        for at in [0, 1, 7, 8, 31, 62, 63] {
            stride[at] = b' ';
        }
        stride[2] = b'!';
        stride[3] = 0xa0;
        stride[9] = 0x1f;
        let expected = [0, 1, 7, 8, 31, 62, 63].map(|at| 1_u64 << at);
        assert_eq!(spaces(&stride), expected.into_iter().fold(0, |a, b| a | b));
    }

    #[test]
    fn words_of_every_length_are_told_apart_by_every_letter() {
        let rest = words(60);
        for length in 1..70 {
            let word = "x".repeat(length);
            let mut seen = vec![signatures(&format!("{rest} {word} {rest}"))];
            for at in 0..length {
                let mut other = word.clone();
                other.replace_range(at..=at, "y");
                seen.push(signatures(&format!("{rest} {other} {rest}")));
            }
            seen.sort_unstable();
            seen.dedup_by_key(|seen| seen.0);
            assert_eq!(seen.len(), length + 1);
        }
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
}
