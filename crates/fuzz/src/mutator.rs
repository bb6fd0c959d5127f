//! Makes broken input from good input.

/// Inputs stay below this, so that many of them are tried.
const MAX_BYTES: usize = 64 << 10;

/// Numbers at the borders of what a field can hold.
const BORDERS: [u64; 10] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];

/// A source of changes that are the same for the same seed.
#[derive(Clone, Debug)]
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// The changes of a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed ^ 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// A changed copy of one of the bases (examples and kept inputs); `words` are what the format is made of.
    pub fn make(&mut self, bases: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
        let mut input = bases[self.below(bases.len())].clone();
        for _ in 0..=self.below(6) {
            self.change(&mut input, bases, words);
        }
        input.truncate(MAX_BYTES);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, bases: &[Vec<u8>], words: &[&str]) {
        let at = self.below(input.len() + 1);
        let rest = input.len() - at;
        let some = 1 + self.below(rest.clamp(1, 64));
        match self.below(10) {
            0 if rest > 0 => input[at] ^= 1 << self.below(8),
            1 if rest > 0 => input[at] = self.byte(),
            2 => input.truncate(at),
            3 if rest > 0 => drop(input.drain(at..(at + some).min(input.len()))),
            4 if rest > 0 => {
                let piece = input[at..(at + some).min(input.len())].to_vec();
                let times = 1 << self.below(10);
                let room = MAX_BYTES.saturating_sub(input.len());
                let repeated = piece.repeat(times.min(1 + room / piece.len()));
                input.splice(at..at, repeated);
            }
            5 => {
                let other = &bases[self.below(bases.len())];
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            6 if rest > 8 => {
                let width = 1 << self.below(4);
                let border = BORDERS[self.below(BORDERS.len())].to_le_bytes();
                input[at..at + width].copy_from_slice(&border[..width]);
            }
            7 => {
                let noise: Vec<u8> = (0..some).map(|_| self.byte()).collect();
                input.splice(at..at, noise);
            }
            _ if !words.is_empty() => {
                let word = words[self.below(words.len())].bytes();
                input.splice(at..at, word);
            }
            _ => {}
        }
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[7]
    }

    /// A number below `bound`, or 0.
    fn below(&mut self, bound: usize) -> usize {
        let high = self.next() >> 33;
        usize::try_from(high).unwrap_or(0) % bound.max(1)
    }

    fn next(&mut self) -> u64 {
        // SplitMix64: every seed gives another sequence.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
