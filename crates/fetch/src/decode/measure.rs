//! What nobody reads: its coding undone in a stream, of which only the beginning stays.

use std::io::{self, BufReader, Cursor, Read};

use bytes::Bytes;
use teia_base::{Outcome, Response};

use super::layers::{Layer, layers};
use super::undo::{DecodeLimits, RATIO_FREE, STEP, is_gzip, is_text, is_zlib};

/// A body with its content coding undone, and forgotten but for its beginning.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its first bytes.
    pub start: Bytes,
    /// How many there are, up to a bound or a fault.
    pub len: u64,
    /// As [`decode`](super::decode) tells it.
    pub fault: Option<(Outcome, &'static str)>,
    /// More would have come.
    pub truncated: bool,
}

/// How much of a body is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Only what is kept: for a first look.
    Start,
    /// All of it, as far as the bounds allow.
    Whole,
}

/// Undoes the content coding of an answer in little memory, whatever its size, and keeps the first `most` bytes.
pub fn measure(
    response: &Response,
    limits: &DecodeLimits,
    most: usize,
    extent: Extent,
) -> Measured {
    let limits = limits.for_type(response.media_type().as_ref());
    let reader = response.payload_reader();
    let payload = reader.payload();
    let mut reader: Box<dyn Read + '_> = Box::new(reader);
    let mut note = None;
    let mut named = layers(&response.head, limits.layers).unwrap_or_else(|()| {
        note = Some((Outcome::DECODE_CHAIN_TOO_LONG, "layers"));
        Vec::new()
    });
    if named.contains(&Layer::Unknown) {
        note = Some((Outcome::DECODE_ERROR, "unknown_coding"));
        named.clear();
    }
    if note.is_none() && named.is_empty() && is_text(response) {
        let peeked = peek(reader);
        reader = peeked.1;
        if is_gzip(&peeked.0) {
            named.push(Layer::Gzip);
            note = Some((Outcome::DECODE_ERROR, "gzip_not_labelled"));
        }
    }
    let count = named.len();
    while let Some(layer) = named.pop() {
        let (first, whole) = peek(reader);
        reader = whole;
        if layer == Layer::Gzip && !is_gzip(&first) && !first.is_empty() {
            note = note.or(Some((Outcome::DECODE_ERROR, "not_gzip")));
            continue;
        }
        if first.is_empty() {
            continue;
        }
        reader = match undone(layer, is_zlib(&first), reader, &limits) {
            Ok(undone) => undone,
            Err(_) => Box::new(io::empty()),
        };
    }
    // Of several layers nobody knows what goes into the inner ones; they are held to the bound alone.
    let ratio = if count == 1 {
        payload.saturating_mul(limits.ratio).max(RATIO_FREE)
    } else {
        u64::MAX
    };
    let bounds = Bounds {
        allowed: limits.decoded_bytes.min(ratio),
        is_ratio: ratio < limits.decoded_bytes,
        is_coded: count > 0,
        payload,
    };
    let mut measured = bounds.drain(reader, most, extent);
    measured.fault = measured.fault.or(note);
    measured
}

struct Bounds {
    allowed: u64,
    is_ratio: bool,
    is_coded: bool,
    payload: u64,
}

impl Bounds {
    fn drain(&self, mut reader: impl Read, most: usize, extent: Extent) -> Measured {
        let mut measured = Measured {
            start: Bytes::new(),
            len: 0,
            fault: None,
            truncated: false,
        };
        let (mut start, mut buffer) = (Vec::new(), vec![0; STEP]);
        loop {
            // Nothing is hidden in a body without coding: its length is known.
            let is_enough = start.len() == most && (extent == Extent::Start || !self.is_coded);
            if is_enough {
                break;
            }
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    measured.len += read as u64;
                    let wanted = (most - start.len()).min(read);
                    start.extend_from_slice(&buffer[..wanted]);
                    if self.is_coded && measured.len > self.allowed {
                        measured.len = self.allowed;
                        measured.truncated = true;
                        let name = if self.is_ratio {
                            "ratio"
                        } else {
                            "decoded_bytes"
                        };
                        measured.fault = Some((Outcome::DECODE_BOMB, name));
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    measured.truncated = true;
                    measured.fault = Some(match error.kind() {
                        _ if !self.is_coded => (Outcome::SYSTEM_ERROR, "spool_unreadable"),
                        io::ErrorKind::UnexpectedEof => (Outcome::DECODE_ERROR, "short"),
                        _ => (Outcome::DECODE_ERROR, "damaged"),
                    });
                    break;
                }
            }
        }
        if !self.is_coded {
            measured.len = self.payload.min(self.allowed);
            measured.truncated |= self.payload > self.allowed;
        }
        measured.start = start.into();
        measured
    }
}

/// The first two bytes, and all of it again.
fn peek<'a>(mut reader: Box<dyn Read + 'a>) -> (Vec<u8>, Box<dyn Read + 'a>) {
    let mut first = Vec::with_capacity(2);
    // What cannot be read now cannot be read then, and is told then.
    let _ = reader.by_ref().take(2).read_to_end(&mut first);
    (first.clone(), Box::new(Cursor::new(first).chain(reader)))
}

fn undone<'a>(
    layer: Layer,
    is_zlib: bool,
    reader: Box<dyn Read + 'a>,
    limits: &DecodeLimits,
) -> io::Result<Box<dyn Read + 'a>> {
    let reader = BufReader::with_capacity(STEP, reader);
    Ok(match layer {
        Layer::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        Layer::Deflate if is_zlib => Box::new(flate2::bufread::ZlibDecoder::new(reader)),
        Layer::Deflate => Box::new(flate2::bufread::DeflateDecoder::new(reader)),
        Layer::Brotli => Box::new(brotli_decompressor::Decompressor::new(reader, 4096)),
        Layer::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(reader)?;
            decoder.window_log_max(limits.zstd_window_log)?;
            Box::new(decoder)
        }
        Layer::Unknown => Box::new(io::empty()),
    })
}
