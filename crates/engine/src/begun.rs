//! `begun.list` in the data directory: the collections whose run a Coordinator began and has not seen end, a name
//! a line. Only so is a run that a person asked a server for told from one that a person interrupted at
//! a terminal, when both look the same in the journal.

use std::collections::BTreeSet;
use std::path::Path;

use teia_base::Files;

use crate::EngineError;
use crate::turn::Turn;

/// No collection has a dot in its name.
const PATH: &str = "begun.list";

/// The names in it; none where it is not there.
pub(crate) fn read(files: &dyn Files) -> BTreeSet<String> {
    let content = files.read(Path::new(PATH)).unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    text.lines().map(str::to_owned).collect()
}

/// Notes that a run of this collection was begun, or has ended.
pub(crate) fn note(files: &dyn Files, name: &str, is_begun: bool) -> Result<(), EngineError> {
    if read(files).contains(name) == is_begun {
        return Ok(());
    }
    let _turn = Turn::take(files)?;
    let mut names = read(files);
    if is_begun {
        names.insert(name.to_owned());
    } else {
        names.remove(name);
    }
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    let written = files.replace(Path::new(PATH), text.as_bytes());
    written.map_err(EngineError::disk("write", PATH))
}
