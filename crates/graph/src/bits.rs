//! A set of small numbers, one bit each.

/// A set of numbers; costs nothing while it is empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
    count: u64,
}

impl Bits {
    /// Adds a number below `universe`.
    pub(crate) fn insert(&mut self, number: u32, universe: u32) {
        if self.words.is_empty() {
            self.words = vec![0; (universe as usize).div_ceil(64)];
        }
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            let bit = 1 << (number % 64);
            self.count += u64::from(*word & bit == 0);
            *word |= bit;
        }
    }

    #[inline]
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.words
            .get(number as usize / 64)
            .is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// How many numbers are in it.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}
