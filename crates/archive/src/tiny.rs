//! Gzip members of tiny records: requests, redirects, empty answers.
//!
//! A compressor for any size clears its tables and designs codes for each member, which takes
//! twenty times as long as to compress a request. This one has a small table and the codes that
//! deflate fixes (RFC 1951, section 3.2.6), and loses a few bytes by it.

/// Larger records gain by codes of their own.
pub(crate) const TINY_BYTES: usize = 1 << 10;

/// Appends a whole gzip member that holds `plain`, of at most [`TINY_BYTES`] bytes.
pub(crate) fn gzip(plain: &[u8], out: &mut Vec<u8>) {
    debug_assert!(plain.len() <= TINY_BYTES, "positions are small numbers");
    // No name, no time, fastest, unknown system.
    out.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
    deflate(plain, out);
    out.extend_from_slice(&libdeflater::crc32(plain).to_le_bytes());
    let length = u32::try_from(plain.len()).expect("a tiny length");
    out.extend_from_slice(&length.to_le_bytes());
}

/// Shorter matches cost as much as their letters.
const MIN_MATCH: usize = 4;
const MAX_MATCH: usize = 258;
const TABLE_BITS: u32 = 9;

fn deflate(plain: &[u8], out: &mut Vec<u8>) {
    let mut bits = Bits::new(out);
    // The last block, with fixed codes.
    bits.put(0b011, 3);
    // Where each four bytes stood last, plus one.
    let mut seen = [0_u16; 1 << TABLE_BITS];
    let mut at = 0;
    while let Some(four) = plain[at..].first_chunk::<MIN_MATCH>() {
        let slot = u32::from_le_bytes(*four).wrapping_mul(0x9e37_79b1) >> (32 - TABLE_BITS);
        let place = &mut seen[slot as usize];
        let before = usize::from(std::mem::replace(place, small(at + 1)));
        let length = match before.checked_sub(1) {
            Some(before) => common(&plain[before..], &plain[at..]),
            None => 0,
        };
        if length >= MIN_MATCH {
            bits.put_match(length, at + 1 - before);
            at += length;
        } else {
            bits.put_symbol(usize::from(plain[at]));
            at += 1;
        }
    }
    for &byte in &plain[at..] {
        bits.put_symbol(usize::from(byte));
    }
    bits.put_symbol(END_OF_BLOCK);
    bits.finish();
}

/// How many bytes both begin with.
fn common(a: &[u8], b: &[u8]) -> usize {
    let pairs = a.iter().zip(b).take(MAX_MATCH);
    pairs.take_while(|(a, b)| a == b).count()
}

fn small(position: usize) -> u16 {
    u16::try_from(position).expect("a tiny record")
}

const END_OF_BLOCK: usize = 256;

/// The first length, or distance, of a code, and how many more bits tell which one it is.
type Range = (u16, u8);

/// Lengths from 3, for the symbols from 257.
const LENGTHS: [Range; 29] = {
    let mut ranges = ranges(3, 4);
    // The longest has a code of its own.
    ranges[28] = (258, 0);
    ranges
};

/// Distances from 1; those of a tiny record, and a few more.
const DISTANCES: [Range; 29] = ranges(1, 2);

/// Ranges as deflate defines them: the first `2 * each` hold one number each, and then each
/// `each` of them are twice as large as those before.
#[expect(clippy::cast_possible_truncation, reason = "a number of bits")]
const fn ranges(first: u16, each: usize) -> [Range; 29] {
    let mut ranges = [(0, 0); 29];
    let (mut next, mut at) = (first, 0);
    while at < ranges.len() {
        let more = (at / each).saturating_sub(1);
        ranges[at] = (next, more as u8);
        next += 1 << more;
        at += 1;
    }
    ranges
}

/// The fixed code of each symbol, first bit lowest, and its length.
#[expect(clippy::cast_possible_truncation, reason = "codes have nine bits")]
const SYMBOLS: [(u16, u8); 288] = {
    let mut codes = [(0, 0); 288];
    let mut symbol = 0;
    while symbol < codes.len() {
        let (code, length) = match symbol {
            0..144 => (0x30 + symbol, 8),
            144..256 => (0x190 + symbol - 144, 9),
            256..280 => (symbol - 256, 7),
            _ => (0xc0 + symbol - 280, 8),
        };
        codes[symbol] = ((code as u16).reverse_bits() >> (16 - length), length);
        symbol += 1;
    }
    codes
};

/// Bits on their way into bytes, the first lowest.
struct Bits<'a> {
    out: &'a mut Vec<u8>,
    waiting: u64,
    count: u8,
}

impl<'a> Bits<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            waiting: 0,
            count: 0,
        }
    }

    /// At most 32 bits at once.
    fn put(&mut self, bits: u16, count: u8) {
        self.waiting |= u64::from(bits) << self.count;
        self.count += count;
        if self.count >= 32 {
            let [a, b, c, d, ..] = self.waiting.to_le_bytes();
            self.out.extend_from_slice(&[a, b, c, d]);
            self.waiting >>= 32;
            self.count -= 32;
        }
    }

    fn put_symbol(&mut self, symbol: usize) {
        let (code, length) = SYMBOLS[symbol];
        self.put(code, length);
    }

    fn put_match(&mut self, length: usize, distance: usize) {
        let (symbol, rest, more) = find(&LENGTHS, length);
        self.put_symbol(END_OF_BLOCK + 1 + symbol);
        self.put(rest, more);
        let (symbol, rest, more) = find(&DISTANCES, distance);
        self.put(small(symbol).reverse_bits() >> 11, 5);
        self.put(rest, more);
    }

    fn finish(self) {
        let bytes = usize::from(self.count.div_ceil(8));
        self.out
            .extend_from_slice(&self.waiting.to_le_bytes()[..bytes]);
    }
}

/// The range that holds a number: its place, how far the number is into it, and the bits of that.
fn find(ranges: &[Range], number: usize) -> (usize, u16, u8) {
    let number = small(number);
    let symbol = ranges.partition_point(|&(first, _)| first <= number) - 1;
    let (first, more) = ranges[symbol];
    (symbol, number - first, more)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[track_caller]
    fn check(plain: &[u8]) -> usize {
        let mut packed = b"before".to_vec();
        gzip(plain, &mut packed);
        let mut unpacked = Vec::new();
        let mut reader = flate2::bufread::GzDecoder::new(&packed[6..]);
        reader.read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, plain);
        assert!(reader.into_inner().is_empty(), "nothing after the member");
        packed.len() - 6
    }

    #[test]
    fn every_length_and_distance_comes_back() {
        check(b"");
        for distance in 1..=600 {
            let unit: Vec<u8> = (0..distance)
                .map(|at| u8::try_from(at * 7919 % 251).unwrap())
                .collect();
            let long: Vec<u8> = unit.iter().cycle().take(TINY_BYTES).copied().collect();
            check(&long);
        }
        for length in 0..=600 {
            let mut plain = b"abcdefgh".to_vec();
            plain.extend(std::iter::repeat_n(b'x', length));
            plain.extend_from_slice(b"\xff\x90\x8f abcdefgh");
            check(&plain);
        }
    }

    #[test]
    fn noise_comes_back_and_grows_little() {
        let mut state = 1_u64;
        for length in 0..=TINY_BYTES {
            let noise: Vec<u8> = (0..length)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    state.to_le_bytes()[7]
                })
                .collect();
            assert!(check(&noise) <= 18 + 2 + length * 9 / 8 + 1);
        }
    }

    #[test]
    fn a_request_becomes_smaller() {
        let request = "WARC/1.1\r\nWARC-Type: request\r\nWARC-Target-URI: http://a.example/library/\r\n\
             WARC-Record-ID: <urn:uuid:53441986-3e30-8e4e-b816-dfb624293ae1>\r\n\
             WARC-Concurrent-To: <urn:uuid:42714cd5-0aa5-8dbc-bf11-7bcaff214b4f>\r\n\
             Content-Type: application/http; msgtype=request\r\n\r\n\
             GET /library/ HTTP/1.1\r\nHost: a.example\r\n\
             Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\r\n";
        let packed = check(request.as_bytes());
        assert!(
            packed * 10 < request.len() * 9,
            "{packed} of {}",
            request.len()
        );
    }
}
