//! The last run of a collection, as its journal tells of it: the one truth of what was begun.

use std::sync::Arc;

use teia_base::journal::{Entry, EntryStream, Record, all_segments, walk};
use teia_base::{Files, Timestamp};

use crate::EngineError;
use crate::directory::Layout;
use crate::report::EndReason;

/// A run that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    /// Its number.
    pub number: u32,
    /// When it was begun first: it may have gone on over several processes.
    pub began: Timestamp,
    /// Why it ended, in the journal's word; nothing if it did not.
    pub ended: Option<String>,
}

impl LastRun {
    /// Reads the last run; nothing where none was ever begun. Only the end of the journal is read, back
    /// to the segment, packed or not, in which the run begins.
    pub fn read(files: &Arc<dyn Files>, layout: &Layout) -> Result<Option<Self>, EngineError> {
        let directory = layout.journal();
        let found = all_segments(&**files, &directory);
        let found = found.map_err(EngineError::disk("list", &directory))?;
        let mut last: Option<Self> = None;
        for (at, &first) in found.iter().enumerate().rev() {
            let mut part = Part::default();
            match found.get(at + 1) {
                Some(next) => {
                    let files = Arc::clone(files);
                    for entry in EntryStream::open(files, &directory, first, next - 1)? {
                        part.take(&entry?);
                    }
                }
                None => drop(walk(files, &directory, first, |entry| part.take(&entry))?),
            }
            let Some(run) = part.run else { continue };
            match &mut last {
                None => last = Some(run),
                Some(last) if last.number == run.number => last.began = run.began,
                Some(_) => break,
            }
            if part.has_earlier {
                break;
            }
        }
        Ok(last)
    }

    /// Whether it is to go on: nothing ended it but a kill or the end of its process.
    pub fn goes_on(&self) -> bool {
        let reason = self.ended.as_deref();
        reason.is_none_or(|reason| reason == EndReason::Interrupted.name())
    }
}

/// What a segment says of runs.
#[derive(Default)]
struct Part {
    /// The last of them, as far as it is told of here.
    run: Option<LastRun>,
    has_earlier: bool,
}

impl Part {
    fn take(&mut self, entry: &Entry) {
        // What belongs to no run says nothing of how the last one ended.
        if entry.record.is_of_no_run() {
            return;
        }
        let ended = match &entry.record {
            Record::RunEnded(end) => Some(end.reason.clone()),
            _ => None,
        };
        match &mut self.run {
            Some(run) if run.number == entry.run => run.ended = ended,
            run => {
                self.has_earlier = run.is_some();
                *run = Some(LastRun {
                    number: entry.run,
                    began: entry.wall,
                    ended,
                });
            }
        }
    }
}
