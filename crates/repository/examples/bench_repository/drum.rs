//! DRUM, from its description, with its table as a plain sorted file.
//!
//! Links go as (64-bit hash, text) into buckets on disk, by the leading bits of the hash. At a merge
//! each bucket is read and sorted, the table of (hash, 8 bytes) is read once from end to end beside
//! them and written anew; texts of new URLs are appended to a file. One thread reads ahead, one
//! writes behind, as its authors do. Hashes decide: it is not exact.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use xxhash_rust::xxh3::xxh3_64;

use crate::generator::{Cycle, Generator};
use crate::stores::{Contender, NewUrls};

const BUCKETS: usize = 64;
const PIECE: usize = 4 << 20;

pub(crate) struct Drum {
    folder: PathBuf,
    every: u64,
    cycles: u64,
    buckets: Vec<BufWriter<File>>,
}

impl Drum {
    pub(crate) fn open(folder: &Path, every: u64) -> Self {
        fs::create_dir_all(folder).unwrap();
        File::create(folder.join("table")).unwrap();
        File::create(folder.join("texts")).unwrap();
        let mut drum = Self {
            folder: folder.to_owned(),
            every,
            cycles: 0,
            buckets: Vec::new(),
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
        let (table, next) = (self.folder.join("table"), self.folder.join("table.new"));
        let (send_read, pieces) = sync_channel::<Vec<u8>>(4);
        let source = table.clone();
        let reader = thread::spawn(move || read_ahead(&source, &send_read));
        let (send_write, to_write) = sync_channel::<Vec<u8>>(4);
        let target = next.clone();
        let writer = thread::spawn(move || write_behind(&target, &to_write));
        let texts = File::options()
            .append(true)
            .open(self.folder.join("texts"))
            .unwrap();
        let mut texts = BufWriter::with_capacity(1 << 20, texts);
        let mut old = Table::new(pieces);
        let mut out = Output {
            piece: Vec::with_capacity(PIECE),
            send: send_write,
        };
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
        while let Some((known, value)) = old.peek() {
            out.put(known, value);
            old.pass();
        }
        out.flush();
        drop(out);
        texts.into_inner().unwrap().sync_data().unwrap();
        reader.join().unwrap();
        writer.join().unwrap();
        fs::rename(next, table).unwrap();
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

    fn finish(&mut self) -> NewUrls {
        self.merge()
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
