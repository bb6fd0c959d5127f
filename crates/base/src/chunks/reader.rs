//! Walks over a chunked body as it arrives, or as it was kept.

use super::Chunks;

/// Longest text after a chunk's size.
const EXTENSION_BYTES: usize = 4096;
/// Most memory for knowing where the chunks of one body lie, which the budget for bodies may set lower. Those that
/// look like the one before them take none.
const MOST_MEMORY: usize = 32 << 20;

/// Digits of a size that needs no care: it cannot overflow.
const PLAIN_DIGITS: usize = 7;
const LINE_END: &[u8] = b"\r\n";

/// Why a chunked body cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkFault {
    /// The framing is broken.
    Bad,
    /// The trailers are longer than a head may be.
    Trailers,
    /// There are more chunks than are worth their memory.
    TooMany,
}

/// Walks over a chunked body as it arrives.
#[derive(Debug)]
pub struct ChunkReader {
    state: State,
    /// Bytes of framing since the last byte of payload.
    framing: u32,
    chunks: Chunks,
    trailer_limit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the digits of a size.
    Size {
        value: u64,
        digits: u32,
    },
    /// In what follows a size on its line.
    Extension {
        size: u64,
        len: usize,
        named: bool,
    },
    /// After the carriage return of a size line.
    SizeEnd {
        size: u64,
    },
    Data {
        left: u64,
    },
    /// After the data of a chunk; `true` after the carriage return.
    DataEnd {
        returned: bool,
    },
    /// In the trailers: bytes so far, bytes of this line, whether a carriage return came last.
    Trailer {
        total: usize,
        line: usize,
        returned: bool,
    },
    Done,
}

impl State {
    /// Before the first digit of a size.
    const START: Self = Self::Size {
        value: 0,
        digits: 0,
    };
}

impl ChunkReader {
    /// At the beginning of a body whose trailers may have so many bytes.
    pub fn new(trailer_limit: usize) -> Self {
        Self {
            state: State::START,
            framing: 0,
            chunks: Chunks::default(),
            trailer_limit,
        }
    }

    /// Whether the last chunk and the trailers have come.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Where the payload lies, as far as it has come.
    pub fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    /// The same, when nothing more comes.
    pub fn into_chunks(mut self) -> Chunks {
        self.chunks.runs.shrink_to_fit();
        self.chunks
    }

    /// Whether there was no size of a chunk yet: what ends here is not framed as chunks.
    pub fn is_unframed(&self) -> bool {
        let in_size = matches!(
            self.state,
            State::Size { .. } | State::Extension { .. } | State::SizeEnd { .. }
        );
        in_size && self.chunks.is_empty()
    }

    /// How many more bytes are known to come: the rest of this chunk.
    pub fn expected(&self) -> u64 {
        if let State::Data { left } = self.state {
            left
        } else {
            0
        }
    }

    /// Walks over the next bytes; says how many belong to the body (all, unless it ended).
    pub fn advance(&mut self, bytes: &[u8]) -> Result<usize, ChunkFault> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Done {
            if self.state == State::START {
                at += self.take_plain(&bytes[at..]);
                if at == bytes.len() {
                    break;
                }
            }
            if let State::Data { left } = self.state {
                let take = usize::try_from(left)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len() - at);
                self.take_data(take as u64, left);
                at += take;
            } else {
                self.state = self.step(bytes[at])?;
                at += 1;
                self.framing = self.framing.saturating_add(1);
                if let State::Data { .. } = self.state
                    && self.chunks.memory() > MOST_MEMORY
                {
                    return Err(ChunkFault::TooMany);
                }
            }
        }
        Ok(at)
    }

    /// Walks over the whole chunks that begin here and look as nearly all do: a size, CRLF, the data, CRLF. A body of a
    /// million chunks of one byte is walked over in this loop. What looks otherwise, ends the body or is not all here
    /// is left to `step`.
    fn take_plain(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while self.chunks.memory() <= MOST_MEMORY
            && let Some((digits, size)) = plain_size(&bytes[at..])
        {
            let head = digits + LINE_END.len();
            let end = at + head + size;
            if bytes.get(end..end + LINE_END.len()) != Some(LINE_END) {
                break;
            }
            let gap = self.framing.saturating_add(short(head));
            self.chunks.push(gap, size as u64);
            self.framing = short(LINE_END.len());
            let count = count_alike(&bytes[at..at + head], size, &bytes[end..]);
            let framing = head + LINE_END.len();
            self.chunks
                .push_alike(short(framing), short(size), short(count));
            at = end + LINE_END.len() + count * (framing + size);
        }
        at
    }

    fn take_data(&mut self, take: u64, left: u64) {
        self.chunks.push(std::mem::take(&mut self.framing), take);
        self.state = if take == left {
            State::DataEnd { returned: false }
        } else {
            State::Data { left: left - take }
        };
    }

    /// The state after one byte of framing.
    fn step(&self, byte: u8) -> Result<State, ChunkFault> {
        let after_size = |size| match size {
            0 => State::Trailer {
                total: 0,
                line: 0,
                returned: false,
            },
            left => State::Data { left },
        };
        Ok(match (self.state, byte) {
            (State::Size { value, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F')
                if digits < 32 =>
            {
                let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
                let value = value.checked_mul(16).ok_or(ChunkFault::Bad)? | digit;
                State::Size {
                    value,
                    digits: digits + 1,
                }
            }
            (State::Size { digits: 0, .. }, _) => return Err(ChunkFault::Bad),
            (State::Size { value, .. }, b'\n') => after_size(value),
            (State::Size { value, .. }, b'\r') => State::SizeEnd { size: value },
            (State::Size { value, .. }, b' ' | b'\t') => State::Extension {
                size: value,
                len: 1,
                named: false,
            },
            (State::Size { value, .. }, b';') => State::Extension {
                size: value,
                len: 1,
                named: true,
            },
            (State::Extension { size, .. }, b'\n') => after_size(size),
            (State::Extension { size, .. }, b'\r') => State::SizeEnd { size },
            (State::Extension { size, len, named }, _) if len < EXTENSION_BYTES => {
                if !named && !matches!(byte, b' ' | b'\t' | b';') {
                    return Err(ChunkFault::Bad);
                }
                State::Extension {
                    size,
                    len: len + 1,
                    named: named || byte == b';',
                }
            }
            (State::SizeEnd { size }, b'\n') => after_size(size),
            (State::DataEnd { returned: false }, b'\r') => State::DataEnd { returned: true },
            (State::DataEnd { .. }, b'\n') => State::START,
            (State::Trailer { line: 0, .. }, b'\n') => State::Done,
            (State::Trailer { returned: true, .. }, other) if other != b'\n' => {
                return Err(ChunkFault::Bad);
            }
            (State::Trailer { total, .. }, _) if total >= self.trailer_limit => {
                return Err(ChunkFault::Trailers);
            }
            (State::Trailer { total, .. }, b'\n') => State::Trailer {
                total: total + 1,
                line: 0,
                returned: false,
            },
            (State::Trailer { total, line, .. }, b'\r') => State::Trailer {
                total: total + 1,
                line,
                returned: true,
            },
            (State::Trailer { total, line, .. }, _) => State::Trailer {
                total: total + 1,
                line: line + 1,
                returned: false,
            },
            _ => return Err(ChunkFault::Bad),
        })
    }
}

/// The digits of a size and the size itself, where a few digits and CRLF are all of the line; none for the last chunk.
fn plain_size(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut size = 0;
    for (at, byte) in bytes.iter().take(PLAIN_DIGITS + 1).enumerate() {
        match char::from(*byte).to_digit(16) {
            Some(digit) => size = size << 4 | digit as usize,
            None => {
                let is_plain = size > 0 && bytes[at..].starts_with(LINE_END);
                return is_plain.then_some((at, size));
            }
        }
    }
    None
}

/// How many whole chunks with this line of size follow one whose data end where `bytes` begin.
fn count_alike(size_line: &[u8], size: usize, bytes: &[u8]) -> usize {
    // All that is framing between two of them is compared at once: the end of the data, and the line of the next size.
    let framing = LINE_END.len() + size_line.len();
    let mut wanted = [0; size_of::<u64>()];
    if framing > wanted.len() {
        return 0;
    }
    wanted[..LINE_END.len()].copy_from_slice(LINE_END);
    wanted[LINE_END.len()..framing].copy_from_slice(size_line);
    let wanted = u64::from_le_bytes(wanted);
    let mask = u64::MAX >> (u64::BITS as usize - 8 * framing);
    let line_end = u64::from(u16::MAX);
    let eight = |at: usize| {
        bytes
            .get(at..)?
            .first_chunk()
            .copied()
            .map(u64::from_le_bytes)
    };
    let (mut at, mut count) = (0, 0);
    let mut here = eight(at);
    while here.is_some_and(|here| here & mask == wanted) {
        at += framing + size;
        here = eight(at).filter(|here| here & line_end == wanted & line_end);
        count += usize::from(here.is_some());
    }
    count
}

/// Lengths of framing and of what a few digits say are short.
fn short(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> (Result<usize, ChunkFault>, Vec<u8>, bool) {
        let mut reader = ChunkReader::new(64);
        let result = reader.advance(bytes);
        let done = reader.is_done();
        (result, collect(bytes, &reader.into_chunks()), done)
    }

    fn collect(bytes: &[u8], chunks: &Chunks) -> Vec<u8> {
        let at = |n: u64| usize::try_from(n).unwrap();
        chunks
            .ranges()
            .flat_map(|range| bytes[at(range.start)..at(range.end)].to_vec())
            .collect()
    }

    #[test]
    fn payload_is_found_between_the_framing() {
        let body =
            b"5;name=\"x\"\r\nhello\r\n006 \r\n world\r\n0\r\nTrailer: x\r\n\r\nHTTP/1.1 200";
        let (result, payload, done) = read(body);
        assert_eq!(result, Ok(body.len() - "HTTP/1.1 200".len()));
        assert_eq!(payload, b"hello world");
        assert!(done);
        assert_eq!(read(b"3\nabc\n0\n\n").1, b"abc");
    }

    #[test]
    fn broken_framing_is_refused() {
        for body in [
            "x\r\n",
            "\r\n",
            "-1\r\n",
            "10000000000000000\r\n",
            "5 5\r\nhello",
            "3\r\nabcd\r\n",
            "3\rabc",
            "0\r\nA\rB",
        ] {
            assert_eq!(read(body.as_bytes()).0, Err(ChunkFault::Bad), "{body:?}");
        }
        let long = format!("5;{}\r\nhello", "x".repeat(5000));
        assert_eq!(read(long.as_bytes()).0, Err(ChunkFault::Bad));
        let trailers = format!("0\r\n{}", "a: b\r\n".repeat(50));
        assert_eq!(read(trailers.as_bytes()).0, Err(ChunkFault::Trailers));
    }

    #[test]
    fn a_body_cut_short_keeps_what_came() {
        let (result, payload, done) = read(b"10\r\nhello");
        assert_eq!(
            (result, payload.as_slice(), done),
            (Ok(9), b"hello".as_slice(), false)
        );
    }

    /// What is walked over in one loop is what one byte after another gives.
    #[test]
    fn many_small_chunks_are_those_that_came() {
        let mut body = Vec::new();
        // Of many lengths, and of one length many times over, with two digits, too.
        let lens = (0..3000_usize).map(|n| n % 19 + 1);
        for len in lens.chain((0..3000).map(|n| n / 100 * 9 + 1)) {
            body.extend(format!("{len:x}\r\n{}\r\n", "y".repeat(len)).into_bytes());
        }
        body.extend(b"0\r\n\r\n");
        let mut slow = ChunkReader::new(64);
        for byte in body.chunks(1) {
            assert_eq!(slow.advance(byte), Ok(1));
        }
        let mut quick = ChunkReader::new(64);
        assert_eq!(quick.advance(&body), Ok(body.len()));
        assert!(slow.is_done() && quick.is_done());
        assert_eq!(slow.into_chunks(), quick.into_chunks());
    }

    #[test]
    fn there_are_not_more_chunks_than_are_worth_it() {
        let alike = b"1\r\nx\r\n".repeat(3_000_000);
        let mut reader = ChunkReader::new(64);
        assert_eq!(reader.advance(&alike), Ok(alike.len()));
        assert!(reader.chunks().memory() < 1000);
        assert_eq!(reader.chunks().payload(), 3_000_000);
        let unlike = b"1\r\nx\r\n2\r\nyy\r\n".repeat(1000);
        let walked = (0..10_000).find_map(|_| reader.advance(&unlike).err());
        assert_eq!(walked, Some(ChunkFault::TooMany));
        assert!(reader.chunks().memory() <= 2 * MOST_MEMORY);
    }

    proptest! {
        #[test]
        fn splits_do_not_change_the_reading(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'1'), Just(b'0'), Just(b';'), Just(b'a'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(any::<usize>(), 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut reader = ChunkReader::new(64);
            let mut result = Ok(0);
            for pair in cuts.windows(2) {
                match (reader.advance(&bytes[pair[0]..pair[1]]), &mut result) {
                    (Ok(used), Ok(sum)) => *sum += used,
                    (Err(fault), _) => { result = Err(fault); break; }
                    _ => unreachable!(),
                }
            }
            let done = reader.is_done();
            let whole = read(&bytes);
            prop_assert_eq!((result, collect(&bytes, &reader.into_chunks()), done), whole);
        }
    }
}
