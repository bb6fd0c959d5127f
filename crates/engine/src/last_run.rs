//! The last run of a collection, as its journal tells of it: the one truth of what was begun.

use std::sync::Arc;

use teia_base::journal::{Entry, Record, read_segment, segments};
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
    /// to where the run begins.
    pub fn read(files: &Arc<dyn Files>, layout: &Layout) -> Result<Option<Self>, EngineError> {
        let directory = layout.journal();
        let found = match segments(&**files, &directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(EngineError::disk("list", &directory))?,
        };
        let mut last: Option<Self> = None;
        for (at, first) in found.iter().enumerate().rev() {
            let is_last = at + 1 == found.len();
            let segment = read_segment(&**files, &directory, *first, is_last)?;
            for entry in segment.entries.iter().rev() {
                match &mut last {
                    Some(run) if entry.run < run.number => return Ok(last),
                    _ => Self::take(&mut last, entry),
                }
            }
        }
        Ok(last)
    }

    /// Takes an entry that comes before those that were taken.
    fn take(last: &mut Option<Self>, entry: &Entry) {
        // What a person adds belongs to no run.
        if matches!(entry.record, Record::Added(_)) {
            return;
        }
        match last {
            Some(run) => run.began = entry.wall,
            None => {
                let ended = match &entry.record {
                    Record::RunEnded(end) => Some(end.reason.clone()),
                    _ => None,
                };
                *last = Some(Self {
                    number: entry.run,
                    began: entry.wall,
                    ended,
                });
            }
        }
    }

    /// Whether it is to go on: nothing ended it but a kill or the end of its process.
    pub fn goes_on(&self) -> bool {
        let reason = self.ended.as_deref();
        reason.is_none_or(|reason| reason == EndReason::Interrupted.name())
    }
}
