//! URLs of a block that were handed out since its last visit: its rows still say that they wait.
//!
//! One in a few for each block and fold, and a block may wait for a hundred folds: at 350 million URLs
//! that is more than ten million of them. So four bytes of a hash stand for each. A URL that is taken
//! for another waits until the next visit of its block, and no longer.

use std::collections::HashSet;

/// As many are kept in a set before they are sorted in.
const FEW: usize = 256;

/// Those of one block.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    sorted: Vec<u32>,
    fresh: HashSet<u32>,
}

impl Taken {
    pub(crate) fn insert(&mut self, url_hash: u64) {
        let short = short(url_hash);
        if self.sorted.binary_search(&short).is_ok() || !self.fresh.insert(short) {
            return;
        }
        if self.fresh.len() >= FEW.max(self.sorted.len() / 16) {
            let mut all = Vec::with_capacity(self.sorted.len() + self.fresh.len());
            all.append(&mut self.sorted);
            all.extend(std::mem::take(&mut self.fresh));
            // Two runs, of which one is sorted: quick for a sort that finds runs.
            all.sort();
            self.sorted = all;
        }
    }

    pub(crate) fn contains(&self, url_hash: u64) -> bool {
        let short = short(url_hash);
        self.fresh.contains(&short) || self.sorted.binary_search(&short).is_ok()
    }
}

fn short(url_hash: u64) -> u32 {
    u32::try_from(url_hash >> 32).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_there_and_little_else() {
        let number = |seed: u32| xxhash_rust::xxh3::xxh3_64(&seed.to_le_bytes());
        let mut taken = Taken::default();
        for seed in 0..20_000 {
            taken.insert(number(seed));
            taken.insert(number(seed / 2));
        }
        assert!((0..20_000).all(|seed| taken.contains(number(seed))));
        let wrong = (20_000..120_000).filter(|seed| taken.contains(number(*seed)));
        assert!(wrong.count() < 10);
        assert!(taken.sorted.is_sorted() && taken.sorted.len() + taken.fresh.len() <= 20_000);
        assert!(taken.fresh.len() * 16 <= taken.sorted.len() + FEW * 16);
    }
}
