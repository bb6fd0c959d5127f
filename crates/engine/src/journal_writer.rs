//! Writes the journal: one entry, one sync, and never a second try after a failed one.

use std::path::PathBuf;
use std::sync::Arc;

use teia_base::journal::{Entry, SEGMENT_HEADER, closing, encode_frame, segment_name, walk};
use teia_base::{AppendFile, Files};

use crate::EngineError;
use crate::history::Packer;

/// Appends entries to the newest segment and begins another when it has grown.
#[derive(Debug)]
pub(crate) struct JournalWriter {
    files: Arc<dyn Files>,
    directory: PathBuf,
    file: Option<Box<dyn AppendFile>>,
    next_sequence: u64,
    segment_bytes: u64,
    frame: Vec<u8>,
    packer: Packer,
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        // So that damage to the last entry is found. Without it nothing is lost: it is as after a kill.
        if let Some(mut file) = self.file.take() {
            let end = closing(file.len());
            // First what it speaks of: a disk that keeps this alone would make an entry that never happened look damaged.
            let closed = file.sync().and_then(|()| file.append(&end));
            let _ = closed.and_then(|()| file.sync());
        }
    }
}

/// How large a journal grows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalSize {
    /// A segment is closed at so many bytes.
    pub(crate) segment: u64,
    /// Closed segments beyond so many bytes are packed.
    pub(crate) kept: u64,
}

impl JournalWriter {
    /// Reads every entry from `from` on into `replay`, cuts off what never happened, and stands ready
    /// to append.
    pub(crate) fn open(
        files: Arc<dyn Files>,
        directory: PathBuf,
        size: JournalSize,
        from: u64,
        mut replay: impl FnMut(Entry),
    ) -> Result<Self, EngineError> {
        files
            .create_dir(&directory)
            .map_err(EngineError::disk("create", &directory))?;
        let mut file = None;
        let mut next_sequence = 1;
        if let Some((last, end)) = walk(&files, &directory, from, &mut replay)? {
            next_sequence = last + end.entries;
            let path = directory.join(segment_name(last));
            if end.whole_bytes == 0 {
                files
                    .remove(&path)
                    .map_err(EngineError::disk("remove", &path))?;
                files
                    .sync_dir(&directory)
                    .map_err(EngineError::disk("sync", &directory))?;
            } else if end.whole_bytes < end.file_bytes {
                files
                    .truncate(&path, end.whole_bytes)
                    .map_err(EngineError::disk("cut", &path))?;
            }
            if (1..size.segment).contains(&end.whole_bytes) {
                let opened = files.append(&path);
                file = Some(opened.map_err(EngineError::disk("open", &path))?);
            }
        }
        let mut packer = Packer::new(Arc::clone(&files), directory.clone(), size.kept);
        packer.look();
        Ok(Self {
            files,
            directory,
            file,
            next_sequence,
            segment_bytes: size.segment,
            frame: Vec::new(),
            packer,
        })
    }

    /// Old segments are packed as quickly as new ones are written.
    pub(crate) fn pack_in_step(&mut self) {
        self.packer.keep_in_step();
    }

    /// The number that the next entry will have.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Appends an entry and syncs it: when this returns, it has happened.
    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), EngineError> {
        self.append_unsynced(entry)?;
        self.sync()
    }

    /// Makes durable what was appended.
    pub(crate) fn sync(&mut self) -> Result<(), EngineError> {
        // After a failed sync there is no file: it must not be used again.
        if let Some(mut file) = self.file.take() {
            let synced = file.sync();
            synced.map_err(EngineError::disk("write the journal in", &self.directory))?;
            self.file = Some(file);
        }
        Ok(())
    }

    /// Appends an entry to a journal that does not count yet.
    pub(crate) fn append_unsynced(&mut self, entry: &Entry) -> Result<(), EngineError> {
        debug_assert_eq!(entry.sequence, self.next_sequence);
        let mut file = match self.file.take() {
            Some(file) if file.len() < self.segment_bytes => file,
            full => {
                self.file = full;
                self.sync()?;
                let file = self.begin_segment()?;
                self.packer.look();
                file
            }
        };
        self.frame.clear();
        encode_frame(entry, file.len(), &mut self.frame).map_err(|error| {
            EngineError::disk("encode an entry of", &self.directory)(std::io::Error::other(error))
        })?;
        let written = file.append(&self.frame);
        written.map_err(EngineError::disk("write the journal in", &self.directory))?;
        self.file = Some(file);
        self.next_sequence += 1;
        self.frame.shrink_to(4 << 20);
        Ok(())
    }

    fn begin_segment(&self) -> Result<Box<dyn AppendFile>, EngineError> {
        let path = self.directory.join(segment_name(self.next_sequence));
        let begin = || {
            let mut file = self.files.create(&path)?;
            file.append(SEGMENT_HEADER)?;
            file.sync()?;
            self.files.sync_dir(&self.directory)?;
            Ok(file)
        };
        begin().map_err(EngineError::disk("begin journal segment", &path))
    }
}
