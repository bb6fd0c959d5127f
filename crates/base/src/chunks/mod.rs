//! Where the payload of a chunked body lies, without moving a byte of it.

mod reader;

pub use reader::{ChunkFault, ChunkReader};

use std::ops::Range;

/// The parts of a body that are its payload.
///
/// Parts that look alike are kept as one: a million chunks of one byte take as much memory as two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    runs: Vec<Run>,
    payload: u64,
}

/// Parts of one length, each so many bytes after the end of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    gap: u32,
    len: u32,
    count: u32,
}

impl Chunks {
    /// All of a body that came in one piece.
    pub fn whole(len: u64) -> Self {
        let mut whole = Self::default();
        whole.push(0, len);
        whole
    }

    /// Adds a part, `gap` bytes behind the one before it. Without a gap, that one becomes longer.
    pub fn push(&mut self, mut gap: u32, len: u64) {
        self.payload += len;
        let mut left = len;
        if gap == 0
            && let Some(last) = self.runs.last_mut()
        {
            gap = last.gap;
            left += u64::from(last.len);
            last.count -= 1;
            if last.count == 0 {
                self.runs.pop();
            }
        }
        while left > 0 {
            let part = u32::try_from(left).unwrap_or(u32::MAX);
            self.append(gap, part, 1);
            left -= u64::from(part);
            gap = 0;
        }
    }

    /// Adds so many parts that look alike; there is a gap before each.
    fn push_alike(&mut self, gap: u32, len: u32, count: u32) {
        self.payload += u64::from(len) * u64::from(count);
        if count > 0 {
            self.append(gap, len, count);
        }
    }

    fn append(&mut self, gap: u32, len: u32, count: u32) {
        if let Some(last) = self.runs.last_mut()
            && (last.gap, last.len) == (gap, len)
            && let Some(sum) = last.count.checked_add(count)
        {
            last.count = sum;
        } else {
            self.runs.push(Run { gap, len, count });
        }
    }

    /// Bytes of payload.
    pub fn payload(&self) -> u64 {
        self.payload
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.payload == 0
    }

    /// Bytes of memory that this takes.
    pub fn memory(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
    }

    /// The payload, where it is in one piece.
    pub fn in_one(&self) -> Option<Range<u64>> {
        match self.runs.as_slice() {
            [] => Some(0..0),
            [Run { gap, len, count: 1 }] => {
                let start = u64::from(*gap);
                Some(start..start + u64::from(*len))
            }
            _ => None,
        }
    }

    /// The parts, one after another.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let mut end = 0;
        self.runs
            .iter()
            .flat_map(|run| std::iter::repeat_n(run, run.count as usize))
            .map(move |run| {
                let start = end + u64::from(run.gap);
                end = start + u64::from(run.len);
                start..end
            })
    }
}

/// A place in the payload, for one who reads it.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The run, and how many of its parts are behind us.
    run: usize,
    done: u32,
    /// How much of the body is behind us.
    position: u64,
    /// Where the part ends that we are in.
    end: u64,
}

impl Place {
    /// What is left of the part that we are in, or else the next one; `None` at the end.
    pub(crate) fn part(&mut self, chunks: &Chunks) -> Option<Range<u64>> {
        while self.position == self.end {
            let run = chunks.runs.get(self.run)?;
            if self.done == run.count {
                (self.run, self.done) = (self.run + 1, 0);
                continue;
            }
            self.done += 1;
            self.position += u64::from(run.gap);
            self.end = self.position + u64::from(run.len);
        }
        Some(self.position..self.end)
    }

    /// So many bytes of this part were read.
    pub(crate) fn advance(&mut self, read: usize) {
        self.position += read as u64;
    }

    /// Where short parts that look alike come next: where the framing before the first of them begins.
    pub(crate) fn before_short_parts(&self, chunks: &Chunks) -> Option<u64> {
        let run = chunks.runs.get(self.run)?;
        let is_worth_it = run.len <= SHORT && run.count - self.done >= SOME;
        (is_worth_it && self.position == self.end).then_some(self.position)
    }

    /// Takes as many whole short parts as there are in `bytes`, which begin where we are, and as `out` has room for;
    /// says how many bytes of payload those are.
    pub(crate) fn gather(&mut self, chunks: &Chunks, bytes: &[u8], out: &mut [u8]) -> usize {
        let Some(run) = chunks.runs.get(self.run) else {
            return 0;
        };
        let (gap, len) = (run.gap as usize, run.len as usize);
        let step = gap + len;
        let count = ((run.count - self.done) as usize)
            .min(bytes.len() / step)
            .min(out.len() / len);
        let parts = bytes.chunks_exact(step).take(count);
        if len == 1 {
            for (out, part) in out.iter_mut().zip(parts) {
                *out = part[gap];
            }
        } else {
            for (out, part) in out.chunks_exact_mut(len).zip(parts) {
                out.copy_from_slice(&part[gap..]);
            }
        }
        self.done += u32::try_from(count).unwrap_or(u32::MAX);
        self.position += (count * step) as u64;
        self.end = self.position;
        count * len
    }
}

/// Parts up to this length are gathered many at a time, where there are at least so many.
const SHORT: u32 = 64;
const SOME: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_that_look_alike_take_no_memory() {
        let mut chunks = Chunks::default();
        chunks.push(3, 1);
        for _ in 0..999_999 {
            chunks.push(5, 1);
        }
        assert_eq!((chunks.runs.len(), chunks.payload()), (2, 1_000_000));
        assert_eq!(chunks.ranges().last(), Some(5_999_997..5_999_998));
        assert_eq!(chunks.in_one(), None);
    }

    #[test]
    fn a_part_may_be_of_any_length_and_come_in_pieces() {
        let mut chunks = Chunks::default();
        let most = u64::from(u32::MAX);
        chunks.push(7, most - 1);
        chunks.push(0, 5);
        chunks.push(0, 2 * most);
        let end = 7 + 3 * most + 4;
        assert_eq!(chunks.ranges().map(|range| range.end).last(), Some(end));
        assert_eq!(chunks.payload(), 3 * most + 4);
        assert_eq!(Chunks::whole(9).in_one(), Some(0..9));
        assert_eq!(Chunks::whole(0).in_one(), Some(0..0));
    }

    proptest! {
        /// However they were pushed, the parts are those that were.
        #[test]
        fn parts_are_those_that_were_pushed(parts in proptest::collection::vec((0_u32..3, 0_u64..4), 0..60)) {
            let mut chunks = Chunks::default();
            let (mut at, mut bytes) = (0, Vec::new());
            for (gap, len) in parts {
                // A gap is told with the part behind it.
                if len > 0 {
                    at += u64::from(gap);
                    chunks.push(gap, len);
                    bytes.extend(at..at + len);
                    at += len;
                }
            }
            prop_assert_eq!(chunks.payload(), bytes.len() as u64);
            prop_assert_eq!(chunks.ranges().flatten().collect::<Vec<_>>(), bytes);
        }
    }
}
