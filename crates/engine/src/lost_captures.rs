//! Captures that the journal names and the archive does not hold: whole files that are gone.

use std::collections::BTreeMap;

use teia_archive::CaptureSet;
use teia_base::journal::{Attempt, Commit, Record};

use crate::{EngineError, Reading, Removals};

/// Captures that were committed and are in no archive file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostCaptures {
    /// The archive file in which they were, as far as the journal tells: it names one for each commit.
    pub file: String,
    /// Whether that file is there, and does not hold them.
    pub file_exists: bool,
    /// How many.
    pub count: u64,
    /// The URL of the first of them.
    pub url: String,
}

impl Reading {
    /// Compares the captures that the journal names with those that were found in the archive, by file.
    pub fn lost_captures(&self, found: &CaptureSet) -> Result<Vec<LostCaptures>, EngineError> {
        let mut lost: BTreeMap<String, LostCaptures> = BTreeMap::new();
        self.each_lost_capture(found, |file, file_exists, attempt| {
            let lost = lost.entry(file.to_owned()).or_insert_with(|| LostCaptures {
                file: file.to_owned(),
                file_exists,
                count: 0,
                url: attempt.url.normal().as_str().to_owned(),
            });
            lost.count += 1;
        })?;
        Ok(lost.into_values().collect())
    }

    /// Hands over each attempt whose capture is lost, with its file and whether that is there.
    pub(crate) fn each_lost_capture(
        &self,
        found: &CaptureSet,
        mut each: impl FnMut(&str, bool, &Attempt),
    ) -> Result<(), EngineError> {
        let folder = self.layout().archive();
        let files = self.files();
        let list = files
            .list(&folder)
            .map_err(EngineError::disk("list", &folder))?;
        let removed = Removals::read(&*files, self.layout());
        // What is to be erased leaves the archive before it leaves the journal.
        let removed = removed.unwrap_or_default();
        let mut before = String::new();
        self.entries(|entry| {
            let Record::Commit(Commit {
                attempts,
                archive: Some(position),
                ..
            }) = entry.record
            else {
                return;
            };
            let is_there = |file: &String| list.contains(file);
            // A commit that filled one file and began the next names only the second.
            let (mut file, mut file_exists) = (&position.file, is_there(&position.file));
            if file_exists && !before.is_empty() && !is_there(&before) {
                (file, file_exists) = (&before, false);
            }
            let is_lost = |attempt: &&Attempt| {
                let is_found = attempt.capture.is_none_or(|id| found.contains(id));
                !(is_found || file_exists && removed.hides(attempt.url.normal()))
            };
            for attempt in attempts.iter().filter(is_lost) {
                each(file, file_exists, attempt);
            }
            before = position.file;
        })
    }
}
