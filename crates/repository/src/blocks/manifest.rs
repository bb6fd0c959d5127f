//! The manifest: the one file that is replaced. What it names is the store; nothing else is.
//!
//! ```text
//! magic 8 bytes | checksum u64 of what follows | format u32 | Manifest in postcard
//! ```

use std::path::Path;

use serde::{Deserialize, Serialize};
use teia_base::Files;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::error::{Flaw, StoreError};
use super::key::OwnedKey;

const MAGIC: &[u8; 8] = b"teiaurls";
const FORMAT: u32 = 2;

/// The store as of its last fold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Tells a store written under another key.
    pub(crate) key_check: u64,
    /// The caller's position: the last journal entry taken in.
    pub(crate) position: u64,
    pub(crate) next_id: u64,
    pub(crate) next_sequence: u64,
    /// Number of the last fold.
    pub(crate) fold: u64,
    /// Files of waiting news, oldest first.
    pub(crate) waiting: Vec<u64>,
    pub(crate) blocks: Vec<BlockRecord>,
    /// Folds whose news the caller has not acknowledged, with the runs that tell it.
    pub(crate) news: Vec<(u64, Vec<u64>)>,
    /// From this sequence number on, URLs were first met in this second.
    pub(crate) epochs: Vec<(u64, u32)>,
    /// URLs in each state.
    pub(crate) states: [u64; 5],
    /// What the caller keeps beside it, as of the position.
    pub(crate) notes: Vec<u8>,
}

/// A block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockRecord {
    pub(crate) lower: OwnedKey,
    pub(crate) runs: Vec<u64>,
    pub(crate) visited: u64,
    pub(crate) visited_fold: u64,
    pub(crate) urls: u64,
}

/// A number that tells whether two keys are the same and says nothing of them.
pub(crate) fn key_check(key: u64) -> u64 {
    xxh3_64_with_seed(b"teia urls", key)
}

impl Manifest {
    /// Reads it, if there is one.
    pub(crate) fn read(files: &dyn Files, path: &Path) -> Result<Option<Self>, StoreError> {
        if !files.exists(path) {
            return Ok(None);
        }
        let bytes = files.read(path).map_err(StoreError::disk("read", path))?;
        let damaged = |what| Flaw(what).at(path, 0);
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| damaged("this is no manifest"))?;
        let (sum, body) = rest
            .split_first_chunk::<8>()
            .ok_or_else(|| damaged("the manifest is cut off"))?;
        if u64::from_le_bytes(*sum) != xxh3_64(body) {
            return Err(damaged("the checksum of the manifest is wrong"));
        }
        let (format, body) = body
            .split_first_chunk::<4>()
            .ok_or_else(|| damaged("the manifest is cut off"))?;
        let found = u32::from_le_bytes(*format);
        if found > FORMAT {
            return Err(StoreError::Newer {
                path: path.to_owned(),
                found,
                known: FORMAT,
            });
        }
        postcard::from_bytes(body)
            .map(Some)
            .map_err(|_| damaged("the manifest does not read"))
    }

    /// Replaces it: from here on the store is another one.
    pub(crate) fn write(&self, files: &dyn Files, path: &Path) -> Result<(), StoreError> {
        let mut body = FORMAT.to_le_bytes().to_vec();
        body.extend_from_slice(
            &postcard::to_stdvec(self)
                .map_err(std::io::Error::other)
                .map_err(StoreError::disk("encode", path))?,
        );
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&xxh3_64(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        files
            .replace(path, &bytes)
            .map_err(StoreError::disk("replace", path))
    }
}
