//! A bulk load: URLs of all-new cycles go to buckets on disk by the leading bits of their hashes,
//! and come back in the order of these, bucket by bucket.
//!
//! Stores that are compared are filled so: what is measured are the crawl cycles at a size, and a
//! store that is filled cycle by cycle takes hours to get there.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::generator::{Cycle, Generator};

const BUCKETS: usize = 256;

/// URLs in buckets on disk.
pub(crate) struct Buckets {
    folder: PathBuf,
    /// Bytes of all texts, each with a line's end.
    pub(crate) text_bytes: u64,
    has_texts: bool,
}

impl Buckets {
    /// Lets the generator make all-new cycles up to a size. None where not one is left to be made.
    pub(crate) fn fill(
        folder: &Path,
        generator: &mut Generator,
        size: u64,
        has_texts: bool,
    ) -> Option<Self> {
        let cycles = size.saturating_sub(generator.distinct) / 1_000_000;
        if cycles == 0 {
            return None;
        }
        fs::create_dir_all(folder).unwrap();
        let mut files: Vec<BufWriter<File>> = (0..BUCKETS)
            .map(|bucket| {
                let file = File::create(path(folder, bucket)).unwrap();
                BufWriter::with_capacity(64 << 10, file)
            })
            .collect();
        let mut text_bytes = 0;
        let mut cycle = Cycle::default();
        for _ in 0..cycles {
            generator.fill(1_000_000, &mut cycle);
            for url in cycle.iter() {
                let hash = xxh3_64(url.as_bytes());
                let file = &mut files[(hash >> 56) as usize];
                file.write_all(&hash.to_be_bytes()).unwrap();
                text_bytes += url.len() as u64 + 1;
                if has_texts {
                    let len = u16::try_from(url.len()).unwrap();
                    file.write_all(&len.to_le_bytes()).unwrap();
                    file.write_all(url.as_bytes()).unwrap();
                }
            }
        }
        for mut file in files {
            file.flush().unwrap();
        }
        Some(Self {
            folder: folder.to_owned(),
            text_bytes,
            has_texts,
        })
    }

    /// The URLs of each bucket in order, each hash once; a bucket goes when it was shown.
    pub(crate) fn for_each(self, mut show: impl FnMut(&[(u64, &[u8])])) {
        for bucket in 0..BUCKETS {
            let path = path(&self.folder, bucket);
            let bytes = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            let mut urls = Vec::new();
            let mut rest = bytes.as_slice();
            while let Some((hash, after)) = rest.split_first_chunk::<8>() {
                let mut text = &[][..];
                rest = after;
                if self.has_texts {
                    let (len, after) = after.split_first_chunk::<2>().unwrap();
                    (text, rest) = after.split_at(usize::from(u16::from_le_bytes(*len)));
                }
                urls.push((u64::from_be_bytes(*hash), text));
            }
            urls.sort_unstable_by_key(|(hash, _)| *hash);
            urls.dedup_by_key(|(hash, _)| *hash);
            show(&urls);
        }
    }
}

fn path(folder: &Path, bucket: usize) -> PathBuf {
    folder.join(format!("bulk-{bucket}"))
}
