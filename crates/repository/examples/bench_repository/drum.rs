//! DRUM, from its description, with its table as a plain sorted file.
//!
//! Links go as (64-bit hash, text) into buckets on disk, by the leading bits of the hash. At a merge
//! each bucket is read and sorted, the table of (hash, 8 bytes) is read once from end to end beside
//! them and written anew; texts of new URLs are appended to a file. One thread reads ahead, one
//! writes behind, as its authors do. Hashes decide: it is not exact.
//!
//! It is filled by a bulk load: the sorted table is written at once. The texts of what came so are
//! counted and not written: they are never read, and 350 million of them would take 30 GB.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use xxhash_rust::xxh3::xxh3_64;

use crate::bulk::Buckets;
use crate::generator::{Cycle, Generator};
use crate::stores::{Contender, NewUrls};

const BUCKETS: usize = 64;
const PIECE: usize = 4 << 20;

pub(crate) struct Drum {
    folder: PathBuf,
    every: u64,
    cycles: u64,
    buckets: Vec<BufWriter<File>>,
    /// Bytes of texts that a bulk load did not write.
    unwritten: u64,
}

impl Drum {
    pub(crate) fn open(folder: &Path, every: u64) -> Self {
        fs::create_dir_all(folder).unwrap();
        for name in ["table", "texts"] {
            let mut options = File::options();
            options.create(true).append(true);
            options.open(folder.join(name)).unwrap();
        }
        let mut drum = Self {
            folder: folder.to_owned(),
            every,
            cycles: 0,
            buckets: Vec::new(),
            unwritten: 0,
        };
        drum.empty_buckets();
        drum
    }

    fn empty_buckets(&mut self) {
        self.buckets = (0..BUCKETS)
            .map(|bucket| {
                let file = File::create(self.folder.join(format!("bucket-{bucket}"))).unwrap();
                BufWriter::with_capacity(64 << 10, file)
            })
            .collect();
    }

    fn put(&mut self, url: &str, update: bool) {
        let hash = xxh3_64(url.as_bytes());
        let bucket = &mut self.buckets[(hash >> 58) as usize];
        let len = u16::try_from(url.len()).unwrap() | u16::from(update) << 15;
        bucket.write_all(&hash.to_le_bytes()).unwrap();
        bucket.write_all(&len.to_le_bytes()).unwrap();
        bucket.write_all(url.as_bytes()).unwrap();
    }

    fn merge(&mut self) -> NewUrls {
        for bucket in &mut self.buckets {
            bucket.flush().unwrap();
        }
        let mut new = NewUrls::default();
        let texts = File::options()
            .append(true)
            .open(self.folder.join("texts"))
            .unwrap();
        let mut texts = BufWriter::with_capacity(1 << 20, texts);
        let mut rewrite = Rewrite::begin(&self.folder);
        let (old, out) = (&mut rewrite.old, &mut rewrite.out);
        for bucket in 0..BUCKETS {
            let bytes = fs::read(self.folder.join(format!("bucket-{bucket}"))).unwrap();
            for (hash, update, text) in sorted(&bytes) {
                while let Some((known, value)) = old.peek()
                    && known < hash
                {
                    out.put(known, value);
                    old.pass();
                }
                match old.peek() {
                    Some((known, value)) if known == hash => {
                        if update {
                            old.replace(value + 1);
                        }
                    }
                    _ if out.last() == Some(hash) => {}
                    _ => {
                        if !update {
                            out.put(hash, 1);
                            new.add(std::str::from_utf8(text).unwrap());
                            texts.write_all(text).unwrap();
                            texts.write_all(b"\n").unwrap();
                        }
                    }
                }
            }
        }
        rewrite.finish(&self.folder);
        texts.into_inner().unwrap().sync_data().unwrap();
        self.empty_buckets();
        new
    }
}

impl Contender for Drum {
    fn cycle(&mut self, links: &Cycle, fetched: &Cycle, _: usize, _: &mut Generator) -> NewUrls {
        for url in fetched.iter() {
            self.put(url, true);
        }
        for url in links.iter() {
            self.put(url, false);
        }
        self.cycles += 1;
        if self.cycles.is_multiple_of(self.every) {
            let mut new = self.merge();
            if self.every == 1 {
                new.at_once = new.count;
            }
            new
        } else {
            NewUrls::default()
        }
    }

    fn bulk(&mut self, generator: &mut Generator, size: u64) -> Option<NewUrls> {
        let buckets = Buckets::fill(&self.folder, generator, size, false)?;
        self.unwritten += buckets.text_bytes;
        let mut new = NewUrls::default();
        let mut rewrite = Rewrite::begin(&self.folder);
        buckets.for_each(|urls| {
            for &(hash, _) in urls {
                if rewrite.pass_to(hash) != Some(hash) {
                    rewrite.out.put(hash, 1);
                    new.add_hash(hash);
                }
            }
        });
        rewrite.finish(&self.folder);
        Some(new)
    }

    fn finish(&mut self) -> NewUrls {
        self.merge()
    }

    fn unwritten(&self) -> u64 {
        self.unwritten
    }

    fn save(&self) -> Vec<u64> {
        vec![self.cycles, self.unwritten]
    }

    fn load(&mut self, numbers: &[u64]) {
        [self.cycles, self.unwritten] = numbers.try_into().unwrap();
        assert!(self.cycles.is_multiple_of(self.every), "nothing waits");
    }

    /// As many cycles as there are from one merge to the next: with fewer none might be among them.
    fn least_cycles(&self) -> usize {
        usize::try_from(self.every).unwrap()
    }
}

/// The table while it is read, and written anew beside that.
struct Rewrite {
    old: Table,
    out: Output,
    reader: thread::JoinHandle<()>,
    writer: thread::JoinHandle<()>,
}

impl Rewrite {
    fn begin(folder: &Path) -> Self {
        let (table, next) = (folder.join("table"), folder.join("table.new"));
        let (send_read, pieces) = sync_channel::<Vec<u8>>(4);
        let reader = thread::spawn(move || read_ahead(&table, &send_read));
        let (send, to_write) = sync_channel::<Vec<u8>>(4);
        let writer = thread::spawn(move || write_behind(&next, &to_write));
        let piece = Vec::with_capacity(PIECE);
        Self {
            old: Table::new(pieces),
            out: Output { piece, send },
            reader,
            writer,
        }
    }

    /// Copies what comes before a hash; says what comes then.
    fn pass_to(&mut self, hash: u64) -> Option<u64> {
        while let Some((known, value)) = self.old.peek() {
            if known >= hash {
                return Some(known);
            }
            self.out.put(known, value);
            self.old.pass();
        }
        None
    }

    /// Copies the rest, and lets the new table take the place of the old one.
    fn finish(mut self, folder: &Path) {
        while let Some((known, value)) = self.old.peek() {
            self.out.put(known, value);
            self.old.pass();
        }
        self.out.flush();
        drop(self.out);
        self.reader.join().unwrap();
        self.writer.join().unwrap();
        fs::rename(folder.join("table.new"), folder.join("table")).unwrap();
    }
}

fn sorted(bytes: &[u8]) -> Vec<(u64, bool, &[u8])> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while let Some((head, after)) = rest.split_first_chunk::<10>() {
        let hash = u64::from_le_bytes(head[..8].try_into().unwrap());
        let len = u16::from_le_bytes(head[8..].try_into().unwrap());
        let (text, after) = after.split_at(usize::from(len & 0x7FFF));
        records.push((hash, len >> 15 != 0, text));
        rest = after;
    }
    records.sort_unstable_by_key(|record| record.0);
    records
}

fn read_ahead(path: &Path, send: &SyncSender<Vec<u8>>) {
    let mut file = BufReader::with_capacity(16, File::open(path).unwrap());
    loop {
        let mut piece = vec![0; PIECE];
        let mut filled = 0;
        while filled < PIECE {
            let read = file.read(&mut piece[filled..]).unwrap();
            if read == 0 {
                break;
            }
            filled += read;
        }
        piece.truncate(filled);
        if filled == 0 || send.send(piece).is_err() {
            return;
        }
    }
}

fn write_behind(path: &Path, pieces: &Receiver<Vec<u8>>) {
    let mut file = File::create(path).unwrap();
    for piece in pieces {
        file.write_all(&piece).unwrap();
    }
    file.sync_data().unwrap();
}

/// The table as it is read.
struct Table {
    pieces: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Table {
    fn new(pieces: Receiver<Vec<u8>>) -> Self {
        let mut table = Self {
            pieces,
            piece: Vec::new(),
            at: 0,
        };
        table.load();
        table
    }

    fn load(&mut self) {
        self.piece = self.pieces.recv().unwrap_or_default();
        self.at = 0;
    }

    #[inline]
    fn peek(&self) -> Option<(u64, u64)> {
        let record = self.piece.get(self.at..self.at + 16)?;
        Some((
            u64::from_le_bytes(record[..8].try_into().unwrap()),
            u64::from_le_bytes(record[8..].try_into().unwrap()),
        ))
    }

    fn replace(&mut self, value: u64) {
        self.piece[self.at + 8..self.at + 16].copy_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn pass(&mut self) {
        self.at += 16;
        if self.at >= self.piece.len() {
            self.load();
        }
    }
}

/// The table as it is written.
struct Output {
    piece: Vec<u8>,
    send: SyncSender<Vec<u8>>,
}

impl Output {
    #[inline]
    fn put(&mut self, hash: u64, value: u64) {
        if self.piece.len() >= PIECE {
            self.flush();
        }
        self.piece.extend_from_slice(&hash.to_le_bytes());
        self.piece.extend_from_slice(&value.to_le_bytes());
    }

    fn last(&self) -> Option<u64> {
        let at = self.piece.len().checked_sub(16)?;
        Some(u64::from_le_bytes(
            self.piece[at..at + 8].try_into().unwrap(),
        ))
    }

    fn flush(&mut self) {
        // The last record stays, so that a double of it is seen.
        let last = self.piece.len().saturating_sub(16);
        let keep = self.piece.split_off(last);
        let mut next = Vec::with_capacity(PIECE + 16);
        next.extend_from_slice(&keep);
        let full = std::mem::replace(&mut self.piece, next);
        self.send.send(full).unwrap();
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let rest = std::mem::take(&mut self.piece);
        let _ = self.send.send(rest);
    }
}
