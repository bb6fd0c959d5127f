//! Whether the digests in a record's header are those of its block.

use std::io;
use std::sync::Arc;

use sha1::{Digest, Sha1};
use teia_base::{Body, Chunks};

use super::http::{chunks_of, parse_head};
use super::records::Record;
use crate::digest::{base32, block_digest, drain, sha1, update};

/// What the digests of a record prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Every digest that could be checked is right.
    Good,
    /// One is wrong.
    Wrong,
    /// There is none that we can check.
    Nothing,
}

impl Record {
    /// Checks the SHA-1 digests of the block and of the payload.
    ///
    /// For a chunked body a payload digest is right over the payload, as the standard has it, or
    /// over the chunks as they stand, as warcio has it. A body that is not framed as chunks is all payload,
    /// whatever its head says.
    pub fn verify(&self) -> io::Result<Proof> {
        let mut proof = Proof::Nothing;
        if let Some(expected) = self.header.get("WARC-Block-Digest").and_then(sha1_text) {
            if base32(&block_digest(&self.head, &self.body)?) != expected {
                return Ok(Proof::Wrong);
            }
            proof = Proof::Good;
        }
        let has_payload = matches!(self.header.kind(), "response" | "resource")
            && self.header.get("WARC-Segment-Number").is_none();
        let payload = ["WARC-Payload-Digest", "Teia-Payload-Digest"]
            .iter()
            .find_map(|name| self.header.get(name).and_then(sha1_text))
            .filter(|_| has_payload);
        if let Some(expected) = payload {
            let mut matches = digest_of(&self.body, None)? == expected;
            if !matches && self.is_chunked() {
                let chunks = chunks_of(&self.body)?;
                // Teia once wrote the digest of nothing for a body that says it is chunked and is not; the digest of its block is
                // that of all of it.
                let is_of_nothing = chunks.is_none() && expected == base32(&sha1(b""));
                matches = is_of_nothing || digest_of(&self.body, chunks)? == expected;
            }
            if !matches {
                return Ok(Proof::Wrong);
            }
            proof = Proof::Good;
        }
        Ok(proof)
    }

    /// Whether the answer says that its body came in chunks.
    pub(crate) fn is_chunked(&self) -> bool {
        let (_, head) = parse_head(self.head.clone());
        head.texts("transfer-encoding").iter().any(|value| {
            value
                .split(',')
                .any(|coding| coding.trim().eq_ignore_ascii_case("chunked"))
        })
    }
}

/// The digest in base 32, from a value such as `sha1:…`; also when it is written in base 16.
fn sha1_text(value: &str) -> Option<String> {
    let (name, digest) = value.split_once(':')?;
    if !name.eq_ignore_ascii_case("sha1") {
        return None;
    }
    match digest.len() {
        32 => Some(digest.to_ascii_uppercase()),
        40 => data_encoding::HEXLOWER_PERMISSIVE
            .decode(digest.as_bytes())
            .ok()
            .map(|bytes| data_encoding::BASE32.encode(&bytes)),
        _ => None,
    }
}

/// SHA-1 of a body, or of the chunks in it, in base 32.
pub(crate) fn digest_of(body: &Body, chunks: Option<Arc<Chunks>>) -> io::Result<String> {
    let mut sha1 = Sha1::new();
    match chunks {
        None => update(&mut sha1, body, 0, body.len())?,
        Some(chunks) => drain(&mut sha1, body.payload_reader(chunks))?,
    }
    Ok(base32(&sha1.finalize().into()))
}
