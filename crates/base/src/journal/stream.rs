//! Committed entries one after another: a follower that has much to catch up on holds one at a time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memmem;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::segment::{FRAME_HEAD, frame_head};
use super::{Entry, JournalError, SEGMENT_HEADER, segment_name, segments};
use crate::{Files, ReadFile};

/// The entries from one number to another, both included, in order.
///
/// The last must be committed: what may still be torn is not read. Ends after an error.
#[derive(Debug)]
pub struct EntryStream {
    files: Arc<dyn Files>,
    directory: PathBuf,
    /// Numbers of the first entries of the segments to read, the next one last.
    segments: Vec<u64>,
    file: Option<(PathBuf, Box<dyn ReadFile>)>,
    offset: u64,
    /// The number of the entry at `offset`.
    sequence: u64,
    from: u64,
    until: u64,
    text: Option<memmem::Finder<'static>>,
}

impl EntryStream {
    /// Stands before entry `from` of the journal in `directory`; ends after entry `until`.
    pub fn open(
        files: Arc<dyn Files>,
        directory: &Path,
        from: u64,
        until: u64,
    ) -> Result<Self, JournalError> {
        let found = segments(&*files, directory).map_err(|source| JournalError::Read {
            path: directory.to_owned(),
            source,
        })?;
        let begin = found.partition_point(|first| *first <= from);
        let mut wanted: Vec<u64> = found[begin.saturating_sub(1)..]
            .iter()
            .copied()
            .take_while(|first| *first <= until)
            .collect();
        wanted.reverse();
        Ok(Self {
            files,
            directory: directory.to_owned(),
            segments: wanted,
            file: None,
            offset: 0,
            sequence: 0,
            from,
            until,
            text: None,
        })
    }

    /// Passes over entries in which this text stands nowhere, without taking them apart.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Self {
        self.text = Some(memmem::Finder::new(text).into_owned());
        self
    }

    fn step(&mut self) -> Result<Option<Entry>, JournalError> {
        loop {
            if self.file.is_none() && !self.open_next()? {
                return Ok(None);
            }
            let Some((path, file)) = &self.file else {
                return Ok(None);
            };
            let read = |source| JournalError::Read {
                path: path.clone(),
                source,
            };
            if self.offset >= file.len().map_err(read)? {
                self.file = None;
                continue;
            }
            let damaged = || JournalError::Damaged {
                path: path.clone(),
                offset: self.offset,
            };
            let mut head = [0; FRAME_HEAD];
            file.read_exact_at(self.offset, &mut head)
                .map_err(|_| damaged())?;
            let (len, checksum) = frame_head(&head).ok_or_else(damaged)?;
            let (start, offset) = (self.offset + FRAME_HEAD as u64, self.offset);
            let wanted = self.sequence >= self.from;
            let mut payload = vec![0; if wanted { len } else { 0 }];
            if wanted {
                file.read_exact_at(start, &mut payload)
                    .map_err(|_| damaged())?;
                if xxh3_64_with_seed(&payload, offset) != checksum {
                    return Err(damaged());
                }
            }
            let is_there = |text: &memmem::Finder<'_>| text.find(&payload).is_some();
            let wanted = wanted && self.text.as_ref().is_none_or(is_there);
            let entry: Option<Entry> = match wanted {
                true => Some(postcard::from_bytes(&payload).map_err(|_| damaged())?),
                false => None,
            };
            if let Some(entry) = &entry
                && entry.sequence != self.sequence
            {
                return Err(JournalError::Gap {
                    path: path.clone(),
                    offset,
                    expected: self.sequence,
                    found: entry.sequence,
                });
            }
            self.offset = start + len as u64;
            self.sequence += 1;
            if entry.is_some() {
                return Ok(entry);
            }
        }
    }

    fn open_next(&mut self) -> Result<bool, JournalError> {
        let Some(first) = self.segments.pop() else {
            return Ok(false);
        };
        let path = self.directory.join(segment_name(first));
        let file = self
            .files
            .open(&path)
            .map_err(|source| JournalError::Read {
                path: path.clone(),
                source,
            })?;
        let mut header = [0; SEGMENT_HEADER.len()];
        if file.read_exact_at(0, &mut header).is_err() || &header != SEGMENT_HEADER {
            return Err(JournalError::Foreign { path });
        }
        self.file = Some((path, file));
        self.offset = SEGMENT_HEADER.len() as u64;
        self.sequence = first;
        Ok(true)
    }
}

impl Iterator for EntryStream {
    type Item = Result<Entry, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.sequence.max(self.from) > self.until {
            return None;
        }
        let step = self.step().transpose();
        if !matches!(step, Some(Ok(_))) {
            self.until = 0;
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Record, encode_frame};
    use super::*;
    use crate::{SimulatedDisk, Timestamp};

    fn journal() -> Arc<SimulatedDisk> {
        let disk = SimulatedDisk::new();
        for first in [1, 4, 9] {
            let mut bytes = SEGMENT_HEADER.to_vec();
            for sequence in first..first + if first == 1 { 3 } else { 5 } {
                let entry = Entry {
                    sequence,
                    wall: Timestamp::from_micros(7),
                    run: 1,
                    record: Record::Paused,
                };
                let offset = bytes.len() as u64;
                encode_frame(&entry, offset, &mut bytes).unwrap();
            }
            let mut file = disk.create(Path::new(&segment_name(first))).unwrap();
            file.append(&bytes).unwrap();
        }
        Arc::new(disk)
    }

    #[test]
    fn a_stream_gives_what_lies_between_over_segments() {
        for from in 1..=14 {
            for until in 0..=13 {
                let stream = EntryStream::open(journal(), Path::new(""), from, until).unwrap();
                let got: Vec<u64> = stream.map(|entry| entry.unwrap().sequence).collect();
                assert_eq!(got, (from..=until).collect::<Vec<_>>(), "{from} to {until}");
            }
        }
    }

    #[test]
    fn entries_without_a_text_are_passed_over() {
        use super::super::RunEnded;
        let disk = SimulatedDisk::new();
        let mut bytes = SEGMENT_HEADER.to_vec();
        for (sequence, reason) in (1..).zip(["done", "stopped", "done", "interrupted"]) {
            let reason = reason.to_owned();
            let entry = Entry {
                sequence,
                wall: Timestamp::from_micros(7),
                run: 1,
                record: Record::RunEnded(RunEnded { reason }),
            };
            let offset = bytes.len() as u64;
            encode_frame(&entry, offset, &mut bytes).unwrap();
        }
        let mut file = disk.create(Path::new(&segment_name(1))).unwrap();
        file.append(&bytes).unwrap();
        let files: Arc<dyn Files> = Arc::new(disk);
        let found = |text| -> Vec<u64> {
            let stream = EntryStream::open(Arc::clone(&files), Path::new(""), 1, 4).unwrap();
            let stream = stream.with_text(text);
            stream.map(|entry| entry.unwrap().sequence).collect()
        };
        assert_eq!(found("done"), [1, 3]);
        assert_eq!(found("interrupted"), [4]);
        assert_eq!(found("e"), [1, 2, 3, 4]);
        assert!(found("nothing").is_empty());
    }

    #[test]
    fn damage_is_an_error_and_then_the_end() {
        let disk = journal();
        let path = segment_name(4);
        let mut bytes = disk.read(Path::new(&path)).unwrap();
        // Within the first entry of the second segment.
        bytes[26] ^= 1;
        let mut file = disk.create(Path::new(&path)).unwrap();
        file.append(&bytes).unwrap();
        let read: Vec<_> = EntryStream::open(disk, Path::new(""), 1, 13)
            .unwrap()
            .collect();
        assert_eq!(read.len(), 4);
        assert!(matches!(
            read.last(),
            Some(Err(JournalError::Damaged { .. }))
        ));
    }
}
