//! A growing sequence of numbers in a few bits each (Elias and Fano), with any of them at hand.
//!
//! A merge gives every entry of a segment a new number. Both are in the order of their texts, so
//! the new numbers only grow: the low bits are stored as they are, the high ones in unary, where
//! the i-th set bit of `high` stands at `i + (value >> low_bits)`.

/// Every this many-th set bit has its place noted.
const SAMPLE: usize = 64;

/// A sequence that never falls.
#[derive(Debug)]
pub(crate) struct MonotoneMap {
    low_bits: u32,
    low: Vec<u64>,
    high: Vec<u64>,
    samples: Vec<u64>,
    len: u32,
    last: u32,
}

impl MonotoneMap {
    /// Room for `count` numbers, each below or at `most`.
    pub(crate) fn new(count: u32, most: u64) -> Self {
        let low_bits = (most / u64::from(count.max(1)))
            .checked_ilog2()
            .unwrap_or(0);
        let high = u64::from(count) + (most >> low_bits) + 1;
        let words = |bits: u64| usize::try_from(bits.div_ceil(64)).unwrap_or(usize::MAX);
        Self {
            low_bits,
            low: vec![0; words(u64::from(count) * u64::from(low_bits)) + 1],
            high: vec![0; words(high)],
            samples: Vec::with_capacity(count as usize / SAMPLE + 1),
            len: 0,
            last: 0,
        }
    }

    /// Sets the number at `index`; what was passed over gets the same one.
    pub(crate) fn set(&mut self, index: u32, value: u32) {
        debug_assert!(index >= self.len && value >= self.last, "it grows");
        while self.len <= index {
            let place = self.len as usize * self.low_bits as usize;
            let low = u64::from(value) & ((1 << self.low_bits) - 1);
            self.low[place / 64] |= low << (place % 64);
            if place % 64 + self.low_bits as usize > 64 {
                self.low[place / 64 + 1] |= low >> (64 - place % 64);
            }
            let high = self.len as usize + (value >> self.low_bits) as usize;
            if (self.len as usize).is_multiple_of(SAMPLE) {
                self.samples.push(high as u64);
            }
            self.high[high / 64] |= 1 << (high % 64);
            self.len += 1;
        }
        self.last = value;
    }

    /// The number at an index that was set, or passed over.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> u32 {
        let index = index as usize;
        debug_assert!(index < self.len as usize, "it was set");
        let start = usize::try_from(self.samples[index / SAMPLE]).unwrap_or(usize::MAX);
        let mut left = u32::try_from(index % SAMPLE).unwrap_or(0);
        let mut word = start / 64;
        let mut bits = self.high[word] & (u64::MAX << (start % 64));
        while bits.count_ones() <= left {
            left -= bits.count_ones();
            word += 1;
            bits = self.high[word];
        }
        for _ in 0..left {
            bits &= bits - 1;
        }
        let high = word * 64 + bits.trailing_zeros() as usize - index;
        let place = index * self.low_bits as usize;
        let mut low = self.low[place / 64] >> (place % 64);
        if place % 64 + self.low_bits as usize > 64 {
            low |= self.low[place / 64 + 1] << (64 - place % 64);
        }
        let value = ((high as u64) << self.low_bits) | (low & ((1 << self.low_bits) - 1));
        u32::try_from(value).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for step in [0u64, 1, 2, 3, 7, 100, 12_345] {
            let count = 3_000u32;
            let values: Vec<u32> = (0..u64::from(count))
                .map(|i| u32::try_from(i * step + i * i % (step + 1)).unwrap())
                .scan(0, |most, value| {
                    *most = value.max(*most);
                    Some(*most)
                })
                .collect();
            let mut map = MonotoneMap::new(count, u64::from(*values.last().unwrap()));
            for (index, value) in (0u32..).zip(&values) {
                // Some are passed over and take the value of the next one.
                if index % 5 != 3 {
                    map.set(index, *value);
                }
            }
            for (index, value) in (0u32..).zip(&values) {
                let expected = if index % 5 == 3 {
                    values[index as usize + 1]
                } else {
                    *value
                };
                assert_eq!(map.get(index), expected, "step {step}, index {index}");
            }
        }
    }
}
