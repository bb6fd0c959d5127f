//! A filter in memory: what it does not hold was never met.
//!
//! A Bloom filter of cache lines: a URL sets six bits of one line of 512. Presence proves nothing;
//! absence proves that the URL is new, which decides most new URLs at once.

/// The filter of a block.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    lines: Vec<[u64; 8]>,
}

impl Filter {
    /// For so many URLs with so many bits each.
    pub(crate) fn new(urls: u64, bits: u32) -> Self {
        let lines = (urls.max(1) * u64::from(bits)).div_ceil(512);
        let lines = usize::try_from(lines).unwrap_or(usize::MAX);
        Self {
            lines: vec![[0; 8]; lines],
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.lines.len() * 64
    }

    /// Adds a URL, and says whether it may have been there.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64) -> bool {
        let at = self.line_of(hash);
        let line = &mut self.lines[at];
        let mut there = true;
        for_bits(hash, |word, bit| {
            there &= line[word] & bit != 0;
            line[word] |= bit;
        });
        there
    }

    /// Adds what another one of the same size holds.
    pub(crate) fn join(&mut self, other: &Self) {
        for (line, theirs) in self.lines.iter_mut().zip(&other.lines) {
            for (word, their) in line.iter_mut().zip(theirs) {
                *word |= their;
            }
        }
    }

    /// Whether a URL may be there.
    pub(crate) fn contains(&self, hash: u64) -> bool {
        let line = &self.lines[self.line_of(hash)];
        let mut there = true;
        for_bits(hash, |word, bit| there &= line[word] & bit != 0);
        there
    }

    #[inline]
    fn line_of(&self, hash: u64) -> usize {
        let at = (u128::from(hash) * self.lines.len() as u128) >> 64;
        usize::try_from(at).expect("it is less than the number of lines")
    }
}

/// The six bits of a hash: 54 bits of a number mixed from it, nine for each.
#[inline]
fn for_bits(hash: u64, mut set: impl FnMut(usize, u64)) {
    let mut mixed = (hash ^ (hash >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^= mixed >> 29;
    for _ in 0..6 {
        set(((mixed >> 6) & 7) as usize, 1 << (mixed & 63));
        mixed >>= 9;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_and_little_else() {
        let mut filter = Filter::new(100_000, 10);
        let number = |seed: u64| xxhash_rust::xxh3::xxh3_64(&seed.to_le_bytes());
        let mut taken = 0;
        for seed in 0..100_000 {
            taken += u32::from(filter.insert(number(seed)));
        }
        for seed in 0..100_000 {
            assert!(filter.contains(number(seed)));
        }
        // While it fills, far fewer than the one in a hundred of a full filter are mistaken.
        assert!(taken < 600, "{taken}");
    }
}
