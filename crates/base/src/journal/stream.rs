//! Committed entries one after another: a follower that has much to catch up on holds one at a time.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use memchr::memmem;

use super::pack::Pack;
use super::segment::{Frames, walk_segment};
use super::{Entry, JournalError, SegmentEnd, all_segments, segments};
use crate::Files;

/// The entries from one number to another, both included, in order, packed or not.
///
/// The last must be committed: what may still be torn is not read. Ends after an error.
#[derive(Debug)]
pub struct EntryStream {
    files: Arc<dyn Files>,
    directory: PathBuf,
    /// Numbers of the first entries of the segments to read, the next one last.
    segments: Vec<u64>,
    source: Option<Source>,
    /// The number of the next entry; 0 before the first segment.
    sequence: u64,
    from: u64,
    until: u64,
    text: Option<memmem::Finder<'static>>,
    deadline: Option<Instant>,
    is_cut_off: bool,
}

/// The segment that is being read.
#[derive(Debug)]
enum Source {
    Plain(Frames),
    Packed(Pack),
}

impl Source {
    /// Whoever packs removes a segment when its pack is there.
    fn open(files: &dyn Files, directory: &Path, first: u64) -> Result<Self, JournalError> {
        match Frames::open(files, directory, first) {
            Err(JournalError::Read { path, source })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                let pack = Pack::open(files, directory, first)?;
                let pack = pack.ok_or(JournalError::Read { path, source })?;
                Ok(Self::Packed(pack))
            }
            frames => Ok(Self::Plain(frames?)),
        }
    }

    fn next(&mut self, from: u64) -> Result<Option<&[u8]>, JournalError> {
        match self {
            Self::Plain(frames) => frames.next(from),
            Self::Packed(pack) => pack.next(from),
        }
    }

    fn place(&self) -> (&Path, u64, u64) {
        match self {
            Self::Plain(frames) => frames.place(),
            Self::Packed(pack) => pack.place(),
        }
    }
}

impl EntryStream {
    /// Stands before entry `from` of the journal in `directory`; ends after entry `until`.
    pub fn open(
        files: Arc<dyn Files>,
        directory: &Path,
        from: u64,
        until: u64,
    ) -> Result<Self, JournalError> {
        let found = all_segments(&*files, directory).map_err(|source| JournalError::Read {
            path: directory.to_owned(),
            source,
        })?;
        // Whoever reads what is left of a past takes it for the whole of it.
        if found.first().is_some_and(|first| *first > from.max(1)) && from <= until {
            return Err(JournalError::Missing {
                path: directory.to_owned(),
                expected: from.max(1),
            });
        }
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
            source: None,
            sequence: 0,
            from,
            until,
            text: None,
            deadline: None,
            is_cut_off: false,
        })
    }

    /// Passes over entries in which this text stands nowhere, without taking them apart.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Self {
        self.text = Some(memmem::Finder::new(text).into_owned());
        self
    }

    /// Ends at this moment, wherever it has come to.
    #[must_use]
    pub fn until(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Whether the time was over before the journal was.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    fn step(&mut self) -> Result<Option<Entry>, JournalError> {
        loop {
            if self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
            {
                self.is_cut_off = true;
                return Ok(None);
            }
            let Some(source) = &mut self.source else {
                if self.open_next()? {
                    continue;
                }
                return Ok(None);
            };
            let Some(payload) = source.next(self.from)? else {
                self.sequence = source.place().2;
                self.source = None;
                continue;
            };
            let finder = self.text.as_ref();
            let is_wanted = finder.is_none_or(|text| text.find(payload).is_some());
            let entry: Option<Result<Entry, _>> = is_wanted.then(|| postcard::from_bytes(payload));
            let (path, offset, next) = source.place();
            self.sequence = next;
            match entry {
                None if next > self.until => return Ok(None),
                None => {}
                Some(Ok(entry)) if entry.sequence + 1 == next => return Ok(Some(entry)),
                Some(Ok(entry)) => {
                    return Err(JournalError::Gap {
                        path: path.to_owned(),
                        offset,
                        expected: next - 1,
                        found: entry.sequence,
                    });
                }
                Some(Err(_)) => {
                    return Err(JournalError::Damaged {
                        path: path.to_owned(),
                        offset,
                    });
                }
            }
        }
    }

    fn open_next(&mut self) -> Result<bool, JournalError> {
        let Some(first) = self.segments.pop() else {
            return Ok(false);
        };
        if self.sequence != 0 && first != self.sequence {
            return Err(JournalError::Missing {
                path: self.directory.clone(),
                expected: self.sequence,
            });
        }
        self.source = Some(Source::open(&*self.files, &self.directory, first)?);
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

/// Reads every entry from `from` on, also the last, after which a torn one may lie. Gives the number of
/// the last segment's first entry, and where that segment ends; `None` where there is no segment.
pub fn walk(
    files: &Arc<dyn Files>,
    directory: &Path,
    from: u64,
    mut each: impl FnMut(Entry),
) -> Result<Option<(u64, SegmentEnd)>, JournalError> {
    let mut expected = from.max(1);
    loop {
        let found = segments(&**files, directory).map_err(|source| JournalError::Read {
            path: directory.to_owned(),
            source,
        })?;
        let missing = |expected| JournalError::Missing {
            path: directory.to_owned(),
            expected,
        };
        let Some(&last) = found.last() else {
            // What is packed was followed by something.
            let packed = all_segments(&**files, directory);
            let is_empty = packed.is_ok_and(|packed| packed.is_empty());
            return if is_empty {
                Ok(None)
            } else {
                Err(missing(expected))
            };
        };
        for entry in EntryStream::open(Arc::clone(files), directory, expected, last - 1)? {
            expected = entry.as_ref().map_or(expected, |entry| entry.sequence + 1);
            each(entry?);
        }
        if expected < last {
            return Err(missing(expected));
        }
        let walked = walk_segment(&**files, directory, last, true, |entry| {
            if entry.sequence >= expected {
                each(entry);
            }
        });
        match walked {
            // It was the last when it was found; by now others have come, and it is packed.
            Err(JournalError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            walked => return Ok(Some((last, walked?))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Record, SEGMENT_HEADER, encode_frame, history_of, pack_segment, segment_name,
    };
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
    fn packed_or_not_a_journal_says_the_same() {
        for packed in [vec![1], vec![1, 4], vec![4]] {
            let disk = journal();
            for first in &packed {
                assert!(pack_segment(&*disk, Path::new(""), *first, &|| false).unwrap());
                assert!(!disk.exists(Path::new(&segment_name(*first))));
            }
            assert_eq!(all_segments(&*disk, Path::new("")).unwrap(), [1, 4, 9]);
            let files: Arc<dyn Files> = disk;
            for from in 1..=14 {
                for until in 0..=13 {
                    let stream =
                        EntryStream::open(Arc::clone(&files), Path::new(""), from, until).unwrap();
                    let got: Vec<u64> = stream.map(|entry| entry.unwrap().sequence).collect();
                    assert_eq!(got, (from..=until).collect::<Vec<_>>(), "{from} to {until}");
                }
                let mut got = Vec::new();
                let end = walk(&files, Path::new(""), from, |entry| {
                    got.push(entry.sequence);
                });
                let (last, end) = end.unwrap().unwrap();
                assert_eq!((last, end.entries), (9, 5));
                assert_eq!(got, (from..=13).collect::<Vec<_>>(), "from {from}");
            }
        }
    }

    #[test]
    fn a_pack_that_was_not_finished_does_not_count_and_one_that_was_counts_once() {
        let disk = journal();
        let segment = disk.read(Path::new(&segment_name(4))).unwrap();
        pack_segment(&*disk, Path::new(""), 4, &|| false).unwrap();
        // As if the power had gone before the segment was removed.
        let mut file = disk.create(Path::new(&segment_name(4))).unwrap();
        file.append(&segment).unwrap();
        let files: Arc<dyn Files> = disk;
        let read = || EntryStream::open(Arc::clone(&files), Path::new(""), 1, 13).unwrap();
        assert_eq!(read().count(), 13);
        pack_segment(&*files, Path::new(""), 4, &|| false).unwrap();
        assert_eq!(read().map(|entry| entry.unwrap().sequence).max(), Some(13));
        assert_eq!(segments(&*files, Path::new("")).unwrap(), [1, 9]);
    }

    #[test]
    fn a_pack_whose_name_did_not_reach_the_disk_does_not_cost_its_segment() {
        for seed in 0..20 {
            let disk = journal();
            for first in [1, 4, 9] {
                let path = segment_name(first);
                disk.append(Path::new(&path)).unwrap().sync().unwrap();
            }
            disk.sync_dir(Path::new("")).unwrap();
            disk.set_failing_dir_sync(true);
            pack_segment(&*disk, Path::new(""), 4, &|| false).unwrap_err();
            disk.set_failing_dir_sync(false);
            pack_segment(&*disk, Path::new(""), 4, &|| false).unwrap();
            disk.cut_power(seed);
            let read = EntryStream::open(disk, Path::new(""), 1, 13).unwrap();
            assert_eq!(read.filter(Result::is_ok).count(), 13, "seed {seed}");
        }
    }

    #[test]
    fn every_byte_of_a_pack_that_is_changed_is_found_out() {
        let disk = journal();
        pack_segment(&*disk, Path::new(""), 4, &|| false).unwrap();
        let path = history_of(Path::new("")).join(format!("{:020}.pack", 4));
        let good = disk.read(&path).unwrap();
        let files: Arc<dyn Files> = Arc::clone(&disk) as Arc<dyn Files>;
        let read = |bytes: &[u8]| {
            let mut file = disk.create(&path).unwrap();
            file.append(bytes).unwrap();
            EntryStream::open(Arc::clone(&files), Path::new(""), 4, 13)
                .unwrap()
                .collect::<Result<Vec<_>, _>>()
        };
        assert_eq!(read(&good).unwrap().len(), 10);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x41;
            assert!(read(&bad).is_err(), "byte {at}");
            assert!(read(&good[..at]).is_err(), "cut at {at}");
        }
        assert!(read(&[&good[..], b"TEIB and more"].concat()).is_err());
    }

    #[test]
    fn packing_stops_when_told_and_leaves_nothing() {
        use super::super::RunEnded;
        let disk = SimulatedDisk::new();
        let mut bytes = SEGMENT_HEADER.to_vec();
        for sequence in 1..=4 {
            let entry = Entry {
                sequence,
                wall: Timestamp::from_micros(7),
                run: 1,
                record: Record::RunEnded(RunEnded {
                    reason: "because ".repeat(400_000),
                }),
            };
            let offset = bytes.len() as u64;
            encode_frame(&entry, offset, &mut bytes).unwrap();
        }
        let segment = segment_name(1);
        disk.create(Path::new(&segment))
            .unwrap()
            .append(&bytes)
            .unwrap();
        assert!(!pack_segment(&disk, Path::new(""), 1, &|| true).unwrap());
        assert!(disk.list(&history_of(Path::new(""))).unwrap().is_empty());
        assert!(disk.exists(Path::new(&segment)));
        assert!(pack_segment(&disk, Path::new(""), 1, &|| false).unwrap());
        let files: Arc<dyn Files> = Arc::new(disk);
        // Several blocks, and those before are passed over.
        let entries = EntryStream::open(files, Path::new(""), 3, 4).unwrap();
        let got: Vec<u64> = entries.map(|entry| entry.unwrap().sequence).collect();
        assert_eq!(got, [3, 4]);
    }

    #[test]
    fn a_damaged_segment_is_not_packed() {
        let disk = journal();
        let path = segment_name(4);
        let mut bytes = disk.read(Path::new(&path)).unwrap();
        bytes[26] ^= 1;
        let mut file = disk.create(Path::new(&path)).unwrap();
        file.append(&bytes).unwrap();
        let packed = pack_segment(&*disk, Path::new(""), 4, &|| false);
        assert!(matches!(packed, Err(JournalError::Damaged { .. })));
        assert_eq!(disk.read(Path::new(&path)).unwrap(), bytes);
        assert!(disk.list(&history_of(Path::new(""))).unwrap().is_empty());
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
    fn a_stream_ends_when_its_time_is_over() {
        let stream = EntryStream::open(journal(), Path::new(""), 1, 4).unwrap();
        let mut stream = stream.until(Some(Instant::now()));
        assert!(stream.next().is_none() && stream.is_cut_off());
        let mut whole = EntryStream::open(journal(), Path::new(""), 1, 4).unwrap();
        assert_eq!(whole.by_ref().count(), 4);
        assert!(!whole.is_cut_off());
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
