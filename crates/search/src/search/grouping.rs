//! Near-duplicates behind their best one, in time that hardly grows with what was found before.

use std::collections::HashMap;

use crate::similar::{NEAR_BITS, is_near};

/// Signatures of what was found, by parts of them. Two that are near differ in at most [`NEAR_BITS`] bits, so
/// that of one part more at least one is the same in both.
#[derive(Debug, Default)]
pub(super) struct Signatures {
    known: Vec<u64>,
    parts: [HashMap<u16, Vec<usize>>; PARTS],
}

const PARTS: usize = 4;
const _: () = assert!(PARTS > NEAR_BITS as usize);

impl Signatures {
    /// The number of the first that is nearly the same.
    pub(super) fn near(&self, signature: u64) -> Option<usize> {
        let parts = self.parts.iter().zip(parts(signature));
        let alike = parts.filter_map(|(known, part)| known.get(&part)).flatten();
        let near = alike.filter(|&&number| is_near(self.known[number], signature));
        near.copied().min()
    }

    /// Adds one; its number is how many there were.
    pub(super) fn add(&mut self, signature: u64) {
        // Without a signature nothing is near.
        if signature != 0 {
            for (known, part) in self.parts.iter_mut().zip(parts(signature)) {
                known.entry(part).or_default().push(self.known.len());
            }
        }
        self.known.push(signature);
    }
}

fn parts(signature: u64) -> [u16; PARTS] {
    let bytes = signature.to_le_bytes();
    std::array::from_fn(|part| u16::from_le_bytes([bytes[2 * part], bytes[2 * part + 1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_near_is_found_as_by_looking_at_all() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut signatures = Signatures::default();
        let mut all: Vec<u64> = vec![];
        let mut near = 0;
        for _ in 0..3_000 {
            let base = if all.is_empty() || random() % 3 == 0 {
                random()
            } else {
                all[usize::try_from(random()).unwrap() % all.len()]
            };
            let flipped = (0..random() % 5).fold(base, |value, _| value ^ 1 << (random() % 64));
            let signature = if random() % 50 == 0 { 0 } else { flipped };
            let expected = all.iter().position(|&known| is_near(known, signature));
            assert_eq!(signatures.near(signature), expected);
            near += usize::from(expected.is_some());
            signatures.add(signature);
            all.push(signature);
        }
        assert!(near > 500);
    }
}
