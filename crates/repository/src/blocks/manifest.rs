//! The manifest: the one file that is replaced. What it names is the store; nothing else is.
//!
//! ```text
//! magic 8 bytes | checksum u64 of what follows | format u32 | Manifest in postcard
//! ```
//!
//! It is written twice, first `manifest`, then `manifest.copy`, and no file goes before both name
//! what counts: so if the first is damaged, the copy tells the store as it is, or as it was one fold
//! before, with a position from which the caller tells the rest again.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use teia_base::Files;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::error::{Flaw, StoreError};
use super::key::OwnedKey;

const MAGIC: &[u8; 8] = b"teiaurls";
/// Since 4 pages may be packed with LZ4; since 5 the files of URLs know their numbers.
const FORMAT: u32 = 5;

/// No number of a store comes near it: sums of them are no danger.
const MOST: u64 = 1 << 48;

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
    /// Media types, in the order of their numbers; since format 3.
    pub(crate) media_types: Vec<Box<str>>,
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
    /// Reads it, if there is one, or its copy where it is damaged or gone; then the damage is told too.
    /// A copy that is not the same is written anew, and told of where it is damaged: one that is only older was
    /// left so by a kill.
    pub(crate) fn read(
        files: &dyn Files,
        path: &Path,
    ) -> Result<Option<(Self, Option<StoreError>)>, StoreError> {
        if !Self::exists(files, path) {
            return Ok(None);
        }
        let copy = copy_of(path);
        let copied = files.read(&copy).unwrap_or_default();
        if !files.exists(path) {
            let gone = Flaw("the manifest is gone").at(path, 0);
            return Ok(Some((Self::decode(&copied, &copy)?, Some(gone.mended()))));
        }
        let bytes = files.read(path).map_err(StoreError::disk("read", path))?;
        match Self::decode(&bytes, path) {
            Ok(manifest) => {
                let mut damage = None;
                if bytes != copied {
                    if !copied.is_empty() {
                        damage = Self::decode(&copied, &copy).err();
                    }
                    files
                        .replace(&copy, &bytes)
                        .map_err(StoreError::disk("replace", &copy))?;
                }
                Ok(Some((manifest, damage.map(StoreError::mended))))
            }
            Err(damage @ StoreError::Damaged { .. }) => match Self::decode(&copied, &copy) {
                Ok(manifest) => Ok(Some((manifest, Some(damage.mended())))),
                Err(_) => Err(damage),
            },
            Err(error) => Err(error),
        }
    }

    /// Whether there is one, or its copy.
    pub(crate) fn exists(files: &dyn Files, path: &Path) -> bool {
        files.exists(path) || files.exists(&copy_of(path))
    }

    /// Reads the bytes of one.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Self, StoreError> {
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
        let read = if found < 3 {
            // An empty list at the end is one nought.
            postcard::from_bytes(&[body, &[0]].concat())
        } else {
            postcard::from_bytes(body)
        };
        let read: Self = read.map_err(|_| damaged("the manifest does not read"))?;
        if read.is_sane() {
            Ok(read)
        } else {
            Err(damaged("the manifest tells of what cannot be"))
        }
    }

    /// Whether one can reckon with it: blocks in order, and numbers that a store can come to.
    fn is_sane(&self) -> bool {
        let blocks = self.blocks.iter();
        let of_blocks = blocks.flat_map(|it| [it.visited, it.visited_fold, it.urls]);
        let numbers = [self.next_id, self.next_sequence, self.fold].into_iter();
        let mut numbers = numbers.chain(self.states).chain(of_blocks);
        numbers.all(|number| number < MOST)
            && self.blocks.is_sorted_by(|one, next| one.lower < next.lower)
    }

    /// Replaces it and then its copy: from here on the store is another one.
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
        for path in [path, &copy_of(path)] {
            files
                .replace(path, &bytes)
                .map_err(StoreError::disk("replace", path))?;
        }
        Ok(())
    }
}

/// Where the copy of a manifest is.
pub(crate) fn copy_of(path: &Path) -> PathBuf {
    path.with_extension("copy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_of_format_2_reads() {
        let manifest = Manifest {
            position: 77,
            notes: vec![1, 2, 3],
            ..Manifest::default()
        };
        let mut body = 2_u32.to_le_bytes().to_vec();
        body.extend(postcard::to_stdvec(&manifest).unwrap());
        assert_eq!(body.pop(), Some(0));
        let mut bytes = MAGIC.to_vec();
        bytes.extend(xxh3_64(&body).to_le_bytes());
        bytes.extend(body);
        let read = Manifest::decode(&bytes, Path::new("manifest")).unwrap();
        assert_eq!(read, manifest);
    }
}
