//! When two texts are the same, and when nearly so.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::text::{fold_into, words};

/// Two texts whose signatures differ in at most so many bits are nearly the same.
pub(crate) const NEAR_BITS: u32 = 3;
/// Shorter texts have no signature: templates would make them all alike.
const MIN_WORDS: usize = 50;

/// What is compared of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Of the words without case, accents and punctuation; 0 where there are none.
    pub(crate) digest: u128,
    /// 64-bit simhash over runs of three words; 0 for short texts.
    pub(crate) simhash: u64,
}

/// Reads the text once for both.
pub(crate) fn signature(text: &str) -> Signature {
    let mut digest = Xxh3::new();
    let mut bits = [0_i32; 64];
    let mut last = [0_u64; 3];
    let mut count = 0;
    let mut folded = String::new();
    for word in words(text) {
        folded.clear();
        fold_into(&text[word.start..word.end], &mut folded);
        digest.update(folded.as_bytes());
        digest.update(b" ");
        last = [last[1], last[2], xxh3_64(folded.as_bytes())];
        count += 1;
        if count >= 3 {
            let shingle = xxh3_64(&last.map(u64::to_le_bytes).concat());
            for (bit, sum) in bits.iter_mut().enumerate() {
                *sum += if shingle >> bit & 1 == 1 { 1 } else { -1 };
            }
        }
    }
    let mut simhash = 0;
    if count >= MIN_WORDS {
        for (bit, &sum) in bits.iter().enumerate() {
            simhash |= u64::from(sum > 0) << bit;
        }
    }
    Signature {
        digest: if count == 0 { 0 } else { digest.digest128() },
        simhash,
    }
}

/// Whether two signatures are of texts that are nearly the same.
pub(crate) fn is_near(a: u64, b: u64) -> bool {
    a != 0 && b != 0 && (a ^ b).count_ones() <= NEAR_BITS
}

#[cfg(test)]
mod tests {
    use super::{is_near, signature};

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
