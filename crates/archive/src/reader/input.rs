//! A file read from a place on, and its gzip members.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use flate2::bufread::GzDecoder;
use teia_base::ReadFile;

const BUFFER_BYTES: usize = 64 << 10;

/// Reads a file from an offset on, and knows how far it has come.
#[derive(Debug)]
pub(crate) struct Input {
    file: Arc<dyn ReadFile>,
    buffer: Vec<u8>,
    /// Place in the file of the first buffered byte.
    start: u64,
    used: usize,
    filled: usize,
    end: u64,
}

impl Input {
    /// Reads `start..end` of a file.
    pub(crate) fn new(file: Arc<dyn ReadFile>, start: u64, end: u64) -> Self {
        Self {
            file,
            buffer: Vec::new(),
            start,
            used: 0,
            filled: 0,
            end,
        }
    }

    /// The place in the file of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.start + self.used as u64
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.used == self.filled {
            self.start = self.position();
            self.used = 0;
            self.filled = 0;
            let left = usize::try_from(self.end.saturating_sub(self.start)).unwrap_or(usize::MAX);
            let want = left.min(BUFFER_BYTES);
            // Small records are common, so the buffer is no larger than what is asked of it.
            if self.buffer.len() < want {
                self.buffer.resize(want, 0);
            }
            self.filled = self.file.read_at(self.start, &mut self.buffer[..want])?;
        }
        Ok(&self.buffer[self.used..self.filled])
    }

    fn consume(&mut self, amount: usize) {
        self.used = (self.used + amount).min(self.filled);
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let read = available.len().min(into.len());
        into[..read].copy_from_slice(&available[..read]);
        self.consume(read);
        Ok(read)
    }
}

/// The bytes of records: as in the file, or out of one gzip member.
#[derive(Debug)]
pub(crate) enum Stream {
    /// Uncompressed.
    Plain(Input),
    /// One member; its check sum is verified at its end.
    Member(Box<GzDecoder<Input>>),
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(into),
            Self::Member(decoder) => decoder.read(into),
        }
    }
}

/// A stream with a look-ahead, which counts what was taken from it.
#[derive(Debug)]
pub(crate) struct Layer {
    reader: BufReader<Stream>,
    taken: u64,
}

impl Layer {
    pub(crate) fn plain(input: Input) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, Stream::Plain(input)),
            taken: 0,
        }
    }

    pub(crate) fn member(input: Input) -> Self {
        let decoder = Box::new(GzDecoder::new(input));
        Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, Stream::Member(decoder)),
            taken: 0,
        }
    }

    /// Whether the bytes are those of the file itself.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.reader.get_ref(), Stream::Plain(_))
    }

    /// Bytes taken so far.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// The place in the file after the member, once it has been read to its end.
    pub(crate) fn place_after(&self) -> u64 {
        match self.reader.get_ref() {
            Stream::Plain(input) => input.position() - self.reader.buffer().len() as u64,
            Stream::Member(decoder) => decoder.get_ref().position(),
        }
    }

    /// Takes line ends; whether the end of the stream follows.
    pub(crate) fn skip_line_ends(&mut self) -> io::Result<bool> {
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(true);
            }
            let ends = buffer
                .iter()
                .take_while(|byte| matches!(byte, b'\r' | b'\n'))
                .count();
            let all = ends == buffer.len();
            self.reader.consume(ends);
            self.taken += ends as u64;
            if !all {
                return Ok(false);
            }
        }
    }

    /// Whether these bytes come next, as far as they can be seen without taking them.
    pub(crate) fn continues_with(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let buffer = self.reader.fill_buf()?;
        let seen = buffer.len().min(bytes.len());
        Ok(buffer[..seen] == bytes[..seen])
    }

    /// Takes one line with its end, of at most `limit` bytes; empty at the end of the stream.
    pub(crate) fn line(&mut self, limit: usize) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        while line.len() < limit {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                break;
            }
            let window = &buffer[..buffer.len().min(limit - line.len())];
            let found = memchr::memchr(b'\n', window);
            let take = found.map_or(window.len(), |at| at + 1);
            line.extend_from_slice(&window[..take]);
            self.reader.consume(take);
            self.taken += take as u64;
            if found.is_some() {
                break;
            }
        }
        Ok(line)
    }
}

impl Read for Layer {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(into)?;
        self.taken += read as u64;
        Ok(read)
    }
}
