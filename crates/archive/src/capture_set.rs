//! Which captures there are: a bit for each number.

use std::collections::BTreeMap;

use teia_base::CaptureId;

/// Numbers in one block.
const BLOCK: u64 = 4_096;

/// A set of captures. Numbers that follow one another cost a bit each, and one that damage made up costs a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureSet {
    blocks: BTreeMap<u64, Box<[u64; 64]>>,
}

impl CaptureSet {
    /// Whether it has this one.
    pub fn contains(&self, id: CaptureId) -> bool {
        let (block, word, bit) = place(id);
        self.blocks
            .get(&block)
            .is_some_and(|words| words[word] & bit != 0)
    }
}

impl Extend<CaptureId> for CaptureSet {
    fn extend<T: IntoIterator<Item = CaptureId>>(&mut self, ids: T) {
        for id in ids {
            let (block, word, bit) = place(id);
            let words = self
                .blocks
                .entry(block)
                .or_insert_with(|| Box::new([0; 64]));
            words[word] |= bit;
        }
    }
}

/// The block, the word in it, and the bit in that.
fn place(id: CaptureId) -> (u64, usize, u64) {
    let within = id.0 % BLOCK;
    let word = (within / 64) as usize;
    (id.0 / BLOCK, word, 1 << (within % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_it_was_given_and_nothing_else() {
        let given = [0, 1, 63, 64, 4_095, 4_096, u64::MAX].map(CaptureId);
        let mut set = CaptureSet::default();
        set.extend(given);
        for id in given {
            assert!(set.contains(id));
        }
        for id in [2, 62, 65, 4_094, 4_097, u64::MAX - 1].map(CaptureId) {
            assert!(!set.contains(id));
        }
    }
}
