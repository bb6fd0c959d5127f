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

/// A 64-bit simhash over shingles of three words, folded as for [`text_digest`], and a word ends at
/// punctuation too: texts that share most shingles differ in few bits. Zero, for no signature, below [`MIN_WORDS`] words.
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

/// The ends of words are looked for in so many bytes at once.
const STRIDE: usize = 64;

/// Letters are read and copied by so many at once: few words are longer.
const SIXTEEN: usize = 16;

/// So many shingles are counted together.
const TOGETHER: usize = 16 * STRIDE;

/// What is written while a text is read; kept by each thread, because to get it and to clear it
/// for each page would cost as much as to read the page.
#[derive(Default)]
struct Buffers {
    /// Folded words with spaces and gaps between them.
    words: Vec<u8>,
    /// The same without the spaces and gaps.
    letters: Vec<u8>,
}

impl Buffers {
    fn read(&mut self, text: &str) -> (u128, u64) {
        let end = letters::fold(text, &mut self.words);
        // So the last word ends, strides are whole, and sixteen letters can be read wherever a
        // word is.
        let padded = (end / STRIDE + 1) * STRIDE + SIXTEEN;
        if self.words.len() < padded {
            self.words.resize(padded, 0);
        }
        self.words[end..padded].fill(b' ');
        if self.letters.len() < padded {
            self.letters.resize(padded, 0);
        }
        let (length, votes) = read_words(&self.words[..padded], &mut self.letters[..padded]);
        let similarity = if (votes.count() as usize) < MIN_WORDS {
            0
        } else {
            votes.majority().max(1)
        };
        (xxh3_128(&self.letters[..length]), similarity)
    }
}

/// Copies the letters of all words and counts the shingles that the words make; returns how many
/// letters there are, and the count. One loop over local variables: this is the hottest place of
/// a crawl after compression.
fn read_words(words: &[u8], letters: &mut [u8]) -> (usize, Votes) {
    let mut votes = Votes::default();
    let mut shingles = [0; TOGETHER];
    let (mut waiting, mut length, mut start) = (0, 0, 0);
    // The hashes of the two words before.
    let (mut second, mut first) = (0_u64, 0_u64);
    let (strides, _) = words.as_chunks::<STRIDE>();
    for (at, stride) in strides.iter().enumerate() {
        if waiting > TOGETHER - STRIDE {
            votes.add_all(&shingles[..waiting]);
            waiting = 0;
        }
        let mut ends = word_ends(stride);
        while ends != 0 {
            let end = at * STRIDE + ends.trailing_zeros() as usize;
            ends &= ends - 1;
            let (mut from, mut left) = (start, end - start);
            start = end + 1;
            if left == 0 {
                continue;
            }
            let mut hash = 0;
            // Sixteen letters each time, without asking whether there are so many: a branch that
            // goes now this way and now that costs more than the letters.
            while let (Some(read), Some(written)) = (
                words[from..].first_chunk::<SIXTEEN>(),
                letters[length..].first_chunk_mut::<SIXTEEN>(),
            ) {
                *written = *read;
                let taken = left.min(SIXTEEN);
                let (low, high) = halves(u128::from_le_bytes(*read) & FIRST[taken]);
                hash = mix(hash ^ low, 0xc2b2_ae3d_27d4_eb4f ^ high);
                length += taken;
                left -= taken;
                if left == 0 {
                    break;
                }
                from += SIXTEEN;
            }
            // Order matters: "a b c" is another shingle than "c b a".
            shingles[waiting] = second.rotate_left(31) ^ first.rotate_left(17) ^ hash;
            waiting += 1;
            (second, first) = (first, hash);
        }
    }
    votes.add_all(&shingles[..waiting]);
    (length, votes)
}

/// A one for each of 64 bytes that ends a word, a space or [`letters::NOTHING`], the first byte
/// lowest.
fn word_ends(stride: &[u8; STRIDE]) -> u64 {
    const EIGHT: usize = 8;
    const LOWS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    const NOT_A_SPACE: u64 = 0xdfdf_dfdf_dfdf_dfdf;
    let (eights, _) = stride.as_chunks::<EIGHT>();
    let mut mask = 0;
    for (at, &bytes) in eights.iter().enumerate() {
        let other = u64::from_le_bytes(bytes) & NOT_A_SPACE;
        // The high bit of each byte that is zero now; nothing is carried from byte to byte.
        let found = !(((other & LOWS) + LOWS) | other | LOWS);
        // Gathers the eight bits in the highest byte.
        let bits = (found >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= bits << (at * EIGHT);
    }
    mask
}

/// What leaves so many bytes of a word of sixteen.
const FIRST: [u128; SIXTEEN + 1] = {
    let mut masks = [u128::MAX; SIXTEEN + 1];
    let mut bytes = 0;
    while bytes < SIXTEEN {
        masks[bytes] = (1 << (bytes * 8)) - 1;
        bytes += 1;
    }
    masks
};

/// Multiplies to 128 bits and folds the halves together.
fn mix(value: u64, by: u64) -> u64 {
    let (low, high) = halves(u128::from(value ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(by));
    low ^ high
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn halves(whole: u128) -> (u64, u64) {
    (whole as u64, (whole >> 64) as u64)
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
    fn words_end_at_spaces_and_gaps_alone() {
        let mut stride = [b'a'; STRIDE];
        for at in [0, 1, 7, 8, 31, 62, 63] {
            stride[at] = if at % 2 == 0 { b' ' } else { letters::NOTHING };
        }
        stride[2] = b'0';
        stride[3] = 0xa0;
        stride[9] = 0x80;
        let expected = [0, 1, 7, 8, 31, 62, 63].map(|at| 1_u64 << at);
        assert_eq!(
            word_ends(&stride),
            expected.into_iter().fold(0, |a, b| a | b)
        );
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
