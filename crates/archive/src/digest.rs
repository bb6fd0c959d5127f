//! SHA-1 digests as WARC writes them.
//!
//! SHA-1 is what other archives and tools compare; it is no proof against a hostile page.

use std::io::{self, Read};

use sha1::{Digest, Sha1};
use teia_base::{Body, Response};

/// The SHA-1 of an answer's payload: transfer coding (chunks) removed, content coding kept.
///
/// A spooled body is read from its file, which is the only way in which this can fail.
pub fn payload_digest(response: &Response) -> io::Result<[u8; 20]> {
    let mut sha1 = Sha1::new();
    match &response.chunks {
        None => update(&mut sha1, &response.body, 0, response.body.len())?,
        Some(_) => drain(&mut sha1, response.payload_reader())?,
    }
    Ok(sha1.finalize().into())
}

/// The SHA-1 of a record's block: head and body as received.
pub(crate) fn block_digest(head: &[u8], body: &Body) -> io::Result<[u8; 20]> {
    let mut sha1 = Sha1::new();
    sha1.update(head);
    update(&mut sha1, body, 0, body.len())?;
    Ok(sha1.finalize().into())
}

/// The SHA-1 of bytes in memory.
pub(crate) fn sha1(bytes: &[u8]) -> [u8; 20] {
    Sha1::digest(bytes).into()
}

/// `sha1:` and the digest in base 32.
pub(crate) fn labelled(digest: &[u8; 20]) -> String {
    let mut text = String::with_capacity(37);
    text.push_str("sha1:");
    data_encoding::BASE32.encode_append(digest, &mut text);
    text
}

/// The digest in base 32.
pub(crate) fn base32(digest: &[u8; 20]) -> String {
    data_encoding::BASE32.encode(digest)
}

pub(crate) fn update(sha1: &mut Sha1, body: &Body, start: u64, end: u64) -> io::Result<()> {
    if let Some(bytes) = body.as_memory() {
        let clamp = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (clamp(start), clamp(end));
        sha1.update(&bytes[start.min(end)..end]);
        return Ok(());
    }
    drain(sha1, body.reader(start, end))
}

pub(crate) fn drain(sha1: &mut Sha1, mut reader: impl Read) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(()),
            read => sha1.update(&buffer[..read]),
        }
    }
}
