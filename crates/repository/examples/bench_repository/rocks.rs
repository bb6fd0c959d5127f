//! RocksDB, in a process of its own (tools/bench-rocksdb.c over the system's librocksdb).

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use xxhash_rust::xxh3::xxh3_64;

use crate::bulk::Buckets;
use crate::generator::{Cycle, Generator};
use crate::stores::{Contender, NewUrls};

const BATCH: usize = 8192;
/// What follows is sorted, and met for the first time.
const SORTED: u8 = 2;

pub(crate) struct Rocks {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Rocks {
    pub(crate) fn open(helper: &Path, folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let mut child = Command::new(helper)
            .arg(folder.join("db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = BufWriter::with_capacity(1 << 20, child.stdin.take().unwrap());
        let from = BufReader::with_capacity(1 << 16, child.stdout.take().unwrap());
        Self {
            child,
            to,
            from,
            folder: folder.to_owned(),
        }
    }

    fn send(&mut self, urls: &[&str], update: bool, new: &mut NewUrls) {
        let count = u32::try_from(urls.len()).unwrap();
        self.to.write_all(&count.to_le_bytes()).unwrap();
        self.to.write_all(&[u8::from(update)]).unwrap();
        for url in urls {
            self.write(xxh3_64(url.as_bytes()), url.as_bytes());
        }
        self.to.flush().unwrap();
        let mut verdicts = vec![0; urls.len()];
        self.from.read_exact(&mut verdicts).unwrap();
        if !update {
            for (url, verdict) in urls.iter().zip(verdicts) {
                if verdict == 1 {
                    new.add(url);
                    new.at_once += 1;
                }
            }
        }
    }
}

impl Rocks {
    fn write(&mut self, hash: u64, text: &[u8]) {
        self.to.write_all(&hash.to_be_bytes()).unwrap();
        let len = u16::try_from(text.len()).unwrap();
        self.to.write_all(&len.to_le_bytes()).unwrap();
        self.to.write_all(text).unwrap();
    }
}

impl Contender for Rocks {
    fn cycle(&mut self, links: &Cycle, fetched: &Cycle, _: usize, _: &mut Generator) -> NewUrls {
        let mut new = NewUrls::default();
        for (cycle, update) in [(fetched, true), (links, false)] {
            let urls: Vec<&str> = cycle.iter().collect();
            for batch in urls.chunks(BATCH) {
                self.send(batch, update, &mut new);
            }
        }
        new
    }

    /// Sorted files are made outside the database and taken in as they are, which leaves it as a
    /// whole compaction would: nothing in it is read twice.
    fn bulk(&mut self, generator: &mut Generator, size: u64) -> Option<NewUrls> {
        let folder = self.folder.join("bulk");
        let buckets = Buckets::fill(&folder, generator, size, true)?;
        let mut new = NewUrls::default();
        buckets.for_each(|urls| {
            let count = u32::try_from(urls.len()).unwrap();
            self.to.write_all(&count.to_le_bytes()).unwrap();
            self.to.write_all(&[SORTED]).unwrap();
            for &(hash, text) in urls {
                self.write(hash, text);
                new.add_hash(hash);
            }
            self.to.flush().unwrap();
            self.from.read_exact(&mut [0]).unwrap();
        });
        std::fs::remove_dir_all(folder).unwrap();
        Some(new)
    }

    fn finish(&mut self) -> NewUrls {
        NewUrls::default()
    }

    fn helper(&self) -> Option<u32> {
        Some(self.child.id())
    }
}

impl Drop for Rocks {
    fn drop(&mut self) {
        let _ = self.to.write_all(&0_u32.to_le_bytes());
        let _ = self.to.flush();
        let _ = self.child.wait();
    }
}
