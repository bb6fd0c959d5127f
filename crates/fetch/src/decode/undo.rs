//! Undoing layers, one after another, within bounds.

use std::io::{self, BufRead, BufReader, Read};

use bytes::Bytes;
use teia_base::{MediaType, Outcome, Response};

use super::layers::{Layer, layers};
use crate::document_type::is_document;

/// The first output that a decoder may give without being asked about its input.
pub(super) const RATIO_FREE: u64 = 1 << 20;
pub(super) const STEP: usize = 64 << 10;

/// Bounds of decoding.
#[derive(Clone, Debug)]
pub struct DecodeLimits {
    /// Bytes that come out at the end.
    pub decoded_bytes: u64,
    /// The same for documents (PDF, office files, books, archives), where it is more.
    pub document_bytes: u64,
    /// Output for each byte of input, counted after the first MiB of output.
    pub ratio: u64,
    /// Codings one inside the other.
    pub layers: usize,
    /// Largest zstd window, as a power of two (23 is 8 MiB).
    pub zstd_window_log: u32,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self {
            decoded_bytes: 32 << 20,
            document_bytes: 256 << 20,
            ratio: 100,
            layers: 3,
            zstd_window_log: 23,
        }
    }
}

impl DecodeLimits {
    /// The bounds of a body of this type.
    pub(super) fn for_type(&self, media_type: Option<&MediaType>) -> Self {
        let mut limits = self.clone();
        if media_type.is_some_and(is_document) {
            limits.decoded_bytes = limits.decoded_bytes.max(limits.document_bytes);
        }
        limits
    }
}

/// A body with its content coding undone.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// What was decoded; before a fault, what came until then.
    pub bytes: Bytes,
    /// What went wrong (`decode_bomb`, `decode_error`, `decode_chain_too_long`), and a stable
    /// name that says more.
    pub fault: Option<(Outcome, &'static str)>,
    /// More would have come; `bytes` ends at a bound or at a fault.
    pub truncated: bool,
}

/// Undoes the content coding of an answer.
///
/// A body without coding that lies in memory in one piece is not copied. A body that says gzip
/// and is none is taken as it is; one that does not say so, claims to be text, and is gzip, is
/// decoded once. Both are told in `fault` with whole `bytes` and `truncated` false.
pub fn decode(response: &Response, limits: &DecodeLimits) -> Decoded {
    let limits = &limits.for_type(response.media_type().as_ref());
    let payload = match Payload::of(response, limits) {
        Ok(payload) => payload,
        Err(decoded) => return decoded,
    };
    let Ok(mut layers) = layers(&response.head, limits.layers) else {
        return payload.kept(Some((Outcome::DECODE_CHAIN_TOO_LONG, "layers")));
    };
    if layers.contains(&Layer::Unknown) {
        return payload.kept(Some((Outcome::DECODE_ERROR, "unknown_coding")));
    }
    let mut note = None;
    if layers.is_empty() && is_gzip(&payload.bytes) && is_text(response) {
        layers.push(Layer::Gzip);
        note = Some((Outcome::DECODE_ERROR, "gzip_not_labelled"));
    }
    let mut decoded = payload.kept(None);
    while let Some(layer) = layers.pop() {
        if decoded.bytes.is_empty() {
            break;
        }
        if layer == Layer::Gzip && !is_gzip(&decoded.bytes) {
            note = note.or(Some((Outcome::DECODE_ERROR, "not_gzip")));
            continue;
        }
        let input = std::mem::take(&mut decoded.bytes);
        let (bytes, fault) = undo(layer, &input, limits);
        decoded.bytes = bytes.into();
        if let Some(fault) = fault {
            decoded.truncated = true;
            decoded.fault = decoded.fault.or(Some(fault));
            if fault.0 == Outcome::DECODE_BOMB {
                break;
            }
        }
    }
    decoded.fault = decoded.fault.or(note);
    decoded
}

/// The payload in one piece, and whether a bound cut it.
struct Payload {
    bytes: Bytes,
    truncated: bool,
}

impl Payload {
    fn of(response: &Response, limits: &DecodeLimits) -> Result<Self, Decoded> {
        let chunks = response.payload();
        if let (Some(bytes), Some(range)) = (response.body.as_memory(), chunks.in_one()) {
            let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(bytes.len());
            let whole = bytes.slice(at(range.start)..at(range.end));
            return Ok(Self::bounded(whole, limits));
        }
        let total = chunks.payload();
        let mut bytes =
            Vec::with_capacity(usize::try_from(total.min(limits.decoded_bytes)).unwrap_or(0));
        let mut reader = response
            .body
            .payload_reader(chunks)
            .take(limits.decoded_bytes);
        if reader.read_to_end(&mut bytes).is_err() {
            let fault = Some((Outcome::SYSTEM_ERROR, "spool_unreadable"));
            return Err(Decoded {
                bytes: bytes.into(),
                fault,
                truncated: true,
            });
        }
        Ok(Self {
            truncated: (bytes.len() as u64) < total,
            bytes: bytes.into(),
        })
    }

    fn bounded(mut bytes: Bytes, limits: &DecodeLimits) -> Self {
        let most = usize::try_from(limits.decoded_bytes).unwrap_or(usize::MAX);
        let truncated = bytes.len() > most;
        bytes.truncate(most);
        Self { bytes, truncated }
    }

    fn kept(self, fault: Option<(Outcome, &'static str)>) -> Decoded {
        Decoded {
            bytes: self.bytes,
            fault,
            truncated: self.truncated,
        }
    }
}

/// Undoes one layer.
fn undo(
    layer: Layer,
    input: &[u8],
    limits: &DecodeLimits,
) -> (Vec<u8>, Option<(Outcome, &'static str)>) {
    let window = limits.zstd_window_log;
    match layer {
        Layer::Gzip => undo_gzip(input, limits),
        Layer::Deflate if is_zlib(input) => drain(
            flate2::bufread::ZlibDecoder::new(input),
            input.len(),
            limits,
        ),
        Layer::Deflate => drain(
            flate2::bufread::DeflateDecoder::new(input),
            input.len(),
            limits,
        ),
        // The large-window variant is not part of the `br` coding; this decoder refuses its header.
        Layer::Brotli => drain(
            brotli_decompressor::Decompressor::new(input, 4096),
            input.len(),
            limits,
        ),
        Layer::Zstd => match zstd_reader(input, window) {
            Ok(reader) => drain(reader, input.len(), limits),
            Err(_) => (Vec::new(), Some((Outcome::DECODE_ERROR, "zstd"))),
        },
        Layer::Unknown => (Vec::new(), Some((Outcome::DECODE_ERROR, "unknown_coding"))),
    }
}

/// Members one after another; what follows the last of them is a fault, and no loss.
fn undo_gzip(input: &[u8], limits: &DecodeLimits) -> (Vec<u8>, Option<(Outcome, &'static str)>) {
    let mut rest = BufReader::with_capacity(STEP, input);
    let mut output = Vec::new();
    loop {
        let fault = drain_into(
            flate2::bufread::GzDecoder::new(&mut rest),
            &mut output,
            input.len(),
            limits,
        );
        if fault.is_some() {
            return (output, fault);
        }
        match rest.fill_buf() {
            Ok([]) | Err(_) => return (output, None),
            Ok(next) if is_gzip(next) => {}
            Ok(next) if next.iter().all(|&b| b == 0) => return (output, None),
            Ok(_) => return (output, Some((Outcome::DECODE_ERROR, "trailing_bytes"))),
        }
    }
}

fn zstd_reader(input: &[u8], window_log: u32) -> io::Result<impl Read> {
    let mut reader = zstd::stream::read::Decoder::with_buffer(input)?;
    reader.window_log_max(window_log)?;
    Ok(reader)
}

fn drain(
    reader: impl Read,
    input_len: usize,
    limits: &DecodeLimits,
) -> (Vec<u8>, Option<(Outcome, &'static str)>) {
    let mut output = Vec::new();
    let fault = drain_into(reader, &mut output, input_len, limits);
    (output, fault)
}

/// Reads to the end in small steps, asking the bounds before each.
fn drain_into(
    mut reader: impl Read,
    output: &mut Vec<u8>,
    input_len: usize,
    limits: &DecodeLimits,
) -> Option<(Outcome, &'static str)> {
    let allowed = limits.decoded_bytes.min(
        (input_len as u64)
            .saturating_mul(limits.ratio)
            .max(RATIO_FREE),
    );
    output.reserve(
        input_len
            .saturating_mul(4)
            .min(STEP * 4)
            .min(usize::try_from(allowed).unwrap_or(usize::MAX)),
    );
    loop {
        let left = (allowed + 1).saturating_sub(output.len() as u64);
        match reader
            .by_ref()
            .take(left.min(STEP as u64))
            .read_to_end(output)
        {
            Ok(0) => return None,
            Ok(_) if output.len() as u64 > allowed => {
                output.truncate(usize::try_from(allowed).unwrap_or(usize::MAX));
                let name = if allowed == limits.decoded_bytes {
                    "decoded_bytes"
                } else {
                    "ratio"
                };
                return Some((Outcome::DECODE_BOMB, name));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Some((Outcome::DECODE_ERROR, "short"));
            }
            Err(_) => return Some((Outcome::DECODE_ERROR, "damaged")),
        }
    }
}

pub(super) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// A zlib header: method 8, and a checksum over its two bytes. Raw deflate has none.
pub(super) fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [first, second, ..] if first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0)
}

pub(super) fn is_text(response: &Response) -> bool {
    response.media_type().is_none_or(|media_type| {
        media_type.essence().starts_with("text/") || media_type.is_html() || media_type.is_xml()
    })
}
