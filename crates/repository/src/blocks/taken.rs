//! URLs of a block that were handed out since its last visit: its rows still say that they wait.
//!
//! One in a few for each block and fold, and a block may wait for a hundred folds: at 350 million URLs
//! that is more than ten million of them. So four bytes of a hash stand for each. A URL that is taken
//! for another waits until the next visit of its block, and no longer.

use hashbrown::HashSet;

use super::front::ByHash;

/// As many are kept in a set before they are sorted in.
const FEW: usize = 256;

/// A guess is mostly off by no more than this.
const NEAR: usize = 64;

/// Those of one block.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    sorted: Vec<u32>,
    fresh: HashSet<u64, ByHash>,
}

impl Taken {
    pub(crate) fn insert(&mut self, url_hash: u64) {
        if self.is_sorted_in(url_hash) || !self.fresh.insert(url_hash) {
            return;
        }
        if self.fresh.len() >= FEW.max(self.sorted.len() / 16) {
            let mut all = Vec::with_capacity(self.sorted.len() + self.fresh.len());
            all.append(&mut self.sorted);
            all.extend(self.fresh.drain().map(short));
            // Two runs, of which one is sorted: quick for a sort that finds runs.
            all.sort();
            all.dedup();
            self.sorted = all;
        }
    }

    /// About as much memory as it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.sorted.capacity() * 4 + self.fresh.capacity() * 9
    }

    pub(crate) fn contains(&self, url_hash: u64) -> bool {
        self.fresh.contains(&url_hash) || self.is_sorted_in(url_hash)
    }

    /// Hashes are spread evenly: one is sought about where it must be.
    fn is_sorted_in(&self, url_hash: u64) -> bool {
        let short = short(url_hash);
        let sorted = self.sorted.as_slice();
        let guess = (u64::from(short) * sorted.len() as u64) >> 32;
        let guess = usize::try_from(guess).unwrap_or(0);
        let (before, after) = sorted.split_at(guess);
        let is_after = after.first().is_some_and(|first| *first <= short);
        let mut reach = NEAR;
        if is_after {
            while after.get(reach).is_some_and(|far| *far <= short) {
                reach *= 2;
            }
            let near = &after[..reach.min(after.len())];
            near.binary_search(&short).is_ok()
        } else {
            while before.len() > reach && before[before.len() - reach] > short {
                reach *= 2;
            }
            let near = &before[before.len().saturating_sub(reach)..];
            near.binary_search(&short).is_ok()
        }
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
