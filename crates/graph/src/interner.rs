//! Texts that wait in memory, each once.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

/// Texts numbered in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    table: HashTable<u32>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Interner {
    /// The number of a text, which is taken in if it is new. There is room for `u32::MAX` texts;
    /// memory is bounded far below that.
    pub(crate) fn number(&mut self, text: &[u8]) -> u32 {
        let hash = xxh3_64(text);
        let (bytes, ends) = (&self.bytes, &self.ends);
        let found = self
            .table
            .find(hash, |number| slice(bytes, ends, *number) == text);
        if let Some(number) = found {
            return *number;
        }
        let number =
            u32::try_from(self.ends.len()).expect("memory is bounded far below 4 Gi texts");
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.table
            .insert_unique(hash, number, |other| xxh3_64(slice(bytes, ends, *other)));
        number
    }

    pub(crate) fn text(&self, number: u32) -> &[u8] {
        slice(&self.bytes, &self.ends, number)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of memory in use, about: vectors and tables have room for up to twice as much.
    pub(crate) fn memory(&self) -> u64 {
        (self.bytes.len() * 3 / 2 + self.ends.len() * 32) as u64
    }

    /// Those in use, in the order of their texts, and for every number its place among them.
    pub(crate) fn sorted(&self, used: impl Fn(u32) -> bool) -> (Vec<u32>, Vec<u32>) {
        let all = 0..u32::try_from(self.len()).unwrap_or(u32::MAX);
        let mut order: Vec<u32> = all.filter(|number| used(*number)).collect();
        order.sort_unstable_by(|a, b| self.text(*a).cmp(self.text(*b)));
        let mut places = vec![u32::MAX; self.len()];
        for (place, number) in (0..).zip(&order) {
            places[*number as usize] = place;
        }
        (order, places)
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start..ends[number]]
}
