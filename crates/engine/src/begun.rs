//! `begun.list` in the data directory: the collections whose run a Coordinator began and has not seen end, a name
//! a line. Only so is a run that a person asked a server for told from one that a person interrupted at
//! a terminal, when both look the same in the journal.
//!
//! ```text
//! check: 91c2fd07b8a3e4c5
//! default
//! ```
//!
//! The first line holds the hash of the others. A list that is damaged counts for none: no run goes on that nobody
//! asked for. Lists from before there was such a line have none.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use teia_base::Files;
use xxhash_rust::xxh3::xxh3_64;

use crate::EngineError;
use crate::turn::Turn;

/// No collection has a dot in its name.
const PATH: &str = "begun.list";
/// Nor a colon or a blank.
const CHECK: &str = "check: ";

/// The names in it; none where it is not there, or damaged.
pub(crate) fn read(files: &dyn Files) -> BTreeSet<String> {
    try_read(files).unwrap_or_default()
}

/// What is wrong with it, if anything is.
pub fn begun_damage(files: &dyn Files) -> Option<String> {
    try_read(files).err()
}

fn try_read(files: &dyn Files) -> Result<BTreeSet<String>, String> {
    let content = match files.read(Path::new(PATH)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(format!("{PATH} cannot be read: {error}")),
        Ok(content) => content,
    };
    let damaged = |line: usize, what: &str| format!("{PATH} is damaged, line {line}: {what}");
    let text = String::from_utf8(content).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let ends = before.iter().filter(|byte| **byte == b'\n').count();
        damaged(ends + 1, "it is no text")
    })?;
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(damaged(text.lines().count(), "it has no end"));
    }
    let (names, first) = match text.strip_prefix(CHECK) {
        Some(guarded) => {
            let (check, names) = guarded.split_once('\n').unwrap_or((guarded, ""));
            if check != check_of(names) {
                return Err(damaged(
                    1,
                    "the check sum is not that of the lines below it",
                ));
            }
            (names, 2)
        }
        None => (text.as_str(), 1),
    };
    let is_name = |name: &str| {
        let is_good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !name.is_empty() && name.chars().all(is_good)
    };
    for (number, name) in (first..).zip(names.lines()) {
        if !is_name(name) {
            return Err(damaged(number, "no collection has such a name"));
        }
    }
    Ok(names.lines().map(str::to_owned).collect())
}

fn check_of(names: &str) -> String {
    format!("{:016x}", xxh3_64(names.as_bytes()))
}

/// Notes that a run of this collection was begun, or has ended.
pub(crate) fn note(files: &dyn Files, name: &str, is_begun: bool) -> Result<(), EngineError> {
    if try_read(files).is_ok_and(|names| names.contains(name) == is_begun) {
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
    let text = format!("{CHECK}{}\n{text}", check_of(&text));
    let written = files.replace(Path::new(PATH), text.as_bytes());
    written.map_err(EngineError::disk("write", PATH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::DiskFiles;

    #[test]
    fn a_list_that_is_damaged_anywhere_is_told_of_and_counts_for_none() {
        let folder = tempfile::tempdir().unwrap();
        let files = DiskFiles::new(folder.path()).unwrap();
        assert_eq!(begun_damage(&files), None);
        std::fs::write(folder.path().join(PATH), "old\n").unwrap();
        assert!(read(&files).contains("old"), "one without a check");
        note(&files, "birds", true).unwrap();
        note(&files, "old", false).unwrap();
        assert_eq!(begun_damage(&files), None);
        assert_eq!(read(&files), BTreeSet::from(["birds".to_owned()]));
        let good = files.read(Path::new(PATH)).unwrap();
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                std::fs::write(folder.path().join(PATH), &bad).unwrap();
                let told = begun_damage(&files);
                assert!(
                    told.is_some_and(|it| it.contains("begun.list")),
                    "{at} {bit}"
                );
                assert!(read(&files).is_empty());
            }
        }
        for end in 0..good.len() {
            std::fs::write(folder.path().join(PATH), &good[..end]).unwrap();
            assert!(begun_damage(&files).is_some() || end == 0, "{end}");
        }
        note(&files, "birds", true).unwrap();
        assert_eq!(files.read(Path::new(PATH)).unwrap(), good);
    }
}
