//! `NAME/events.jsonl`: what was said of the runs of a collection, for those who ask when the process that said it is
//! gone. One JSON line each, with a check sum as its last field (`checked_line`); when there are many, they are set
//! aside, in place of those that were set aside before.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use teia_base::{AppendFile, Files};

use crate::checked_line::{checked_line, damage_of, damaged_lines};
use crate::directory::Layout;
use crate::watch::{EVENTS, Happened};

/// A log of this size is set aside: more than all events that are remembered.
const MOST_BYTES: u64 = 1 << 20;
/// The fields of a line, as they were before it had a check sum.
const FIELDS: &[&str] = &["number", "at", "level", "text"];

/// Writes down what is said.
#[derive(Debug)]
pub struct EventLog {
    files: Arc<dyn Files>,
    layout: Layout,
    open: Mutex<Option<Box<dyn AppendFile>>>,
}

impl EventLog {
    /// Of this collection.
    pub fn of(files: Arc<dyn Files>, layout: Layout) -> Self {
        Self {
            files,
            layout,
            open: Mutex::default(),
        }
    }

    /// What was said last, oldest first.
    pub(crate) fn last(&self) -> Vec<Happened> {
        events(&*self.files, &self.layout)
    }

    /// A sentence was said. A disk that fails costs the sentence, and no run.
    pub(crate) fn add(&self, happened: &Happened) {
        // Before the collection has a folder, there is nobody to ask later.
        if let Err(error) = self.append(happened)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path = %self.layout.events().display(), "an event was not written down");
        }
    }

    fn append(&self, happened: &Happened) -> io::Result<()> {
        let mut line = checked_line(&serde_json::to_string(happened)?);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.layout.events();
        if open.as_ref().is_some_and(|file| file.len() >= MOST_BYTES) {
            *open = None;
            self.files.rename(&path, &set_aside(&path))?;
        }
        if open.is_none() {
            // What a killed process left of a line ends there.
            let is_cut = self
                .files
                .read(&path)
                .is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
            if is_cut {
                line.insert(0, '\n');
            }
        }
        let file = match &mut *open {
            Some(file) => file,
            none if self.files.exists(&path) => none.insert(self.files.append(&path)?),
            none => none.insert(self.files.create(&path)?),
        };
        let written = file.append(line.as_bytes());
        if written.is_err() {
            // Of this line the beginning may be there: whoever opens the file next looks for that.
            *open = None;
        }
        written
    }
}

/// What was said of the runs of a collection lately, oldest first. Lines that are none, or that are
/// damaged, are passed over.
pub fn events(files: &dyn Files, layout: &Layout) -> Vec<Happened> {
    let path = layout.events();
    let mut found = Vec::new();
    for path in [set_aside(&path), path] {
        let bytes = files.read(&path).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| damage_of(line, FIELDS).is_none());
        found.extend(lines.filter_map(|line| serde_json::from_slice::<Happened>(line).ok()));
    }
    let surplus = found.len().saturating_sub(EVENTS);
    found.drain(..surplus);
    found
}

/// What is damaged in it: each file and line, with what is wrong there.
pub fn damaged_events(files: &dyn Files, layout: &Layout) -> Vec<String> {
    let path = layout.events();
    let mut found = Vec::new();
    for path in [set_aside(&path), path] {
        let shown = path.display();
        match files.read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => found.push(format!("{shown} cannot be read: {error}")),
            Ok(bytes) => found.extend(
                damaged_lines(&bytes, FIELDS)
                    .iter()
                    .map(|damaged| format!("{shown}, line {}: {}", damaged.line, damaged.what)),
            ),
        }
    }
    found
}

fn set_aside(path: &Path) -> PathBuf {
    path.with_extension("jsonl.1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::SimulatedDisk;

    fn happened(number: u64) -> Happened {
        Happened {
            number,
            at: "2026-01-01T00:00:00Z".to_owned(),
            level: "warning".to_owned(),
            text: "x".repeat(2000),
        }
    }

    #[test]
    fn the_last_ones_are_there_for_the_next_process_and_the_file_does_not_grow() {
        let files: Arc<dyn Files> = Arc::new(SimulatedDisk::default());
        let layout = Layout::new("birds").unwrap();
        files.create_dir(Path::new("birds")).unwrap();
        let open = || EventLog::of(Arc::clone(&files), layout.clone());
        assert!(open().last().is_empty());
        let mut log = open();
        for number in 1..=2000 {
            if number % 300 == 0 {
                log = open();
            }
            log.add(&happened(number));
        }
        let last: Vec<u64> = open().last().iter().map(|event| event.number).collect();
        assert_eq!(last, (1801..=2000).collect::<Vec<_>>());
        let path = layout.events();
        for path in [set_aside(&path), path.clone()] {
            assert!(files.read(&path).unwrap().len() as u64 <= MOST_BYTES + 3000);
        }
        // A line that was cut, or damaged, costs itself only.
        let len = files.read(&path).unwrap().len() as u64;
        files.truncate(&path, len - 10).unwrap();
        open().add(&happened(2001));
        let last: Vec<u64> = open().last().iter().map(|event| event.number).collect();
        assert_eq!(last[last.len() - 2..], [1999, 2001]);
        assert_eq!(damaged_events(&*files, &layout), [""; 0]);
        // A letter that changed is found, and what it says is not shown.
        let bytes = files.read(&path).unwrap();
        let hurt = String::from_utf8(bytes.clone()).unwrap();
        let at = hurt.rfind("xxx").unwrap();
        let hurt = format!("{}y{}", &hurt[..at], &hurt[at + 1..]);
        files.replace(&path, hurt.as_bytes()).unwrap();
        let lines = hurt.lines().count();
        let told = format!("birds/events.jsonl, line {lines}: its check sum differs");
        assert_eq!(damaged_events(&*files, &layout), [told]);
        let last: Vec<u64> = open().last().iter().map(|event| event.number).collect();
        assert_eq!(last[last.len() - 1], 1999);
        files.replace(&path, &bytes).unwrap();
        // Nor does a number beyond all others stop whoever counts on.
        open().add(&happened(u64::MAX));
        let watch = crate::Watch::new(Arc::new(crate::Silence)).writing(open());
        watch.note(crate::Level::Info, "here");
        assert_eq!(open().last().last().unwrap().text, "here");
    }
}
