//! When two texts are the same, and when nearly so.

use teia_base::Margin;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::margins::{Marginal, Margins};
use crate::record::{Cut, Cutter};
use crate::text::{fold_word, words};

/// Two texts whose signatures differ in at most so many bits are nearly the same.
pub(crate) const NEAR_BITS: u32 = 3;
/// Shorter texts have no signature: templates would make them all alike.
const MIN_WORDS: usize = 50;

/// What is compared of a text, and where it is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Of the words without case, accents and punctuation; 0 where there are none.
    pub(crate) digest: u128,
    /// 64-bit simhash over runs of three words; 0 for short texts.
    pub(crate) simhash: u64,
    /// Where the pieces begin in which it is stored.
    pub(crate) cuts: Vec<Cut>,
    /// Which of its words stand beside the main text.
    pub(crate) margins: Margins,
}

/// Reads the text once for all of it.
pub(crate) fn signature(text: &str, margins: &[Margin]) -> Signature {
    let mut digest = Xxh3::new();
    let mut votes = Votes::default();
    let mut last = [0_u64; 3];
    let mut count = 0;
    let mut cutter = Cutter::default();
    let mut marginal = Marginal::new(margins);
    let mut folded = Vec::with_capacity(2 * GATHERED);
    for word in words(text) {
        cutter.hear(word);
        marginal.hear(word);
        let from = folded.len();
        fold_word(text, word, &mut folded);
        last = [last[1], last[2], xxh3_64(&folded[from..])];
        folded.push(b' ');
        // A digest takes a long piece far faster than its words.
        if folded.len() >= GATHERED {
            digest.update(&folded);
            folded.clear();
        }
        count += 1;
        if count >= 3 {
            let mut run = [0_u8; 24];
            for (place, hash) in run.chunks_exact_mut(8).zip(last) {
                place.copy_from_slice(&hash.to_le_bytes());
            }
            votes.add(xxh3_64(&run));
        }
    }
    digest.update(&folded);
    Signature {
        digest: if count == 0 { 0 } else { digest.digest128() },
        simhash: if count >= MIN_WORDS {
            votes.majority()
        } else {
            0
        },
        cuts: cutter.cuts,
        margins: marginal.found,
    }
}

/// Bytes of words that are digested at once.
const GATHERED: usize = 4 << 10;

/// How many hashes have each bit: 64 counters side by side, one bit of each in one number. Adding
/// touches two of the numbers on average, not 64.
#[derive(Default)]
struct Votes {
    planes: [u64; 32],
    count: u64,
}

impl Votes {
    fn add(&mut self, hash: u64) {
        let mut carry = hash;
        for plane in &mut self.planes {
            let both = *plane & carry;
            *plane ^= carry;
            carry = both;
            if carry == 0 {
                break;
            }
        }
        self.count += 1;
    }

    /// The bits that more than half of the hashes have.
    fn majority(&self) -> u64 {
        let mut bits = 0;
        for bit in 0..64 {
            let planes = self.planes.iter().enumerate();
            let ones: u64 = planes.map(|(at, plane)| (plane >> bit & 1) << at).sum();
            bits |= u64::from(2 * ones > self.count) << bit;
        }
        bits
    }
}

/// Whether two signatures are of texts that are nearly the same.
pub(crate) fn is_near(a: u64, b: u64) -> bool {
    a != 0 && b != 0 && (a ^ b).count_ones() <= NEAR_BITS
}

#[cfg(test)]
mod tests {
    use super::{Signature, is_near};

    fn signature(text: &str) -> Signature {
        super::signature(text, &[])
    }

    fn prose(words: usize) -> String {
        (0..words)
            .map(|n| format!("palavra{} ", (n * 7919) % 997))
            .collect()
    }

    #[test]
    fn case_accents_and_punctuation_do_not_make_another_text() {
        assert_eq!(
            signature("São Paulo, hoje!").digest,
            signature("sao PAULO hoje").digest
        );
        assert_ne!(signature("São Paulo").digest, signature("São Pedro").digest);
        assert_eq!(signature(" … ").digest, 0);
    }

    #[test]
    fn one_word_more_is_nearly_the_same_and_other_words_are_not() {
        let text = prose(900);
        let changed = format!("{text} visitas");
        let other: String = (0..900)
            .map(|n| format!("termo{} ", (n * 31) % 883))
            .collect();
        let simhash = signature(&text).simhash;
        assert!(is_near(simhash, signature(&changed).simhash));
        assert!(!is_near(simhash, signature(&other).simhash));
        assert_eq!(signature(&prose(20)).simhash, 0);
    }
}
