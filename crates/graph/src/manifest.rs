//! Which segments make up the graph, and how far it has followed the journal.
//!
//! ```text
//! TEIAGRM1, xxh3 of the rest (u64), Manifest in postcard
//! ```
//!
//! Replaced atomically, after every file that it names is durable.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use teia_base::Files;
use xxhash_rust::xxh3::xxh3_64;

use crate::GraphError;

const NAME: &str = "manifest";
const MAGIC: &[u8; 8] = b"TEIAGRM1";

/// The committed state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The last journal entry whose pages are in the segments.
    pub(crate) position: u64,
    /// The number of the next segment.
    pub(crate) next: u64,
    /// The oldest first.
    pub(crate) segments: Vec<Named>,
}

/// A segment, as the manifest names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    pub(crate) number: u64,
    pub(crate) level: u32,
    /// Length on disk.
    pub(crate) bytes: u64,
}

impl Manifest {
    /// The newest one; an empty one where there is none yet.
    pub(crate) fn read(files: &dyn Files, prefix: &Path) -> Result<Self, GraphError> {
        let path = prefix.join(NAME);
        let bytes = match files.read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(GraphError::Read { path, source }),
        };
        let Some((head, rest)) = bytes.split_at_checked(16) else {
            return Err(GraphError::Foreign { path });
        };
        if head[..8] != *MAGIC {
            return Err(GraphError::Foreign { path });
        }
        let damaged = |offset, what| GraphError::Damaged {
            path: path.clone(),
            offset,
            what,
        };
        if head[8..] != xxh3_64(rest).to_le_bytes() {
            return Err(damaged(8, "the checksum differs"));
        }
        postcard::from_bytes(rest).map_err(|_| damaged(16, "it cannot be read"))
    }

    pub(crate) fn write(&self, files: &dyn Files, prefix: &Path) -> Result<(), GraphError> {
        let path = prefix.join(NAME);
        let failed = |source| GraphError::Write {
            path: path.clone(),
            source,
        };
        let rest = postcard::to_stdvec(self).map_err(|error| failed(io::Error::other(error)))?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&xxh3_64(&rest).to_le_bytes());
        bytes.extend_from_slice(&rest);
        files.replace(&path, &bytes).map_err(failed)
    }
}
