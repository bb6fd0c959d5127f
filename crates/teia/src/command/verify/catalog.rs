//! The catalog beside the journal. SQLite has no check sums, so it is written from the journal once more, into a
//! temporary file, and compared row by row.

use std::path::Path;

use teia_base::journal::{EntryStream, Record};
use teia_catalog::{Catalog, Compared, Extent, Identity, Reader, Store};
use teia_engine::{Directory, Reading, store_of};

use super::Report;

/// So often the catalog is followed that a run goes on with meanwhile.
const MOST_TRIES: usize = 20;

/// What came of comparing.
enum Found {
    /// So many rows were looked at, and this is wrong.
    Rows(u64, Vec<String>),
    /// It has no such collection, and what it has is of nobody who is here.
    Strangers(String),
    /// It has come further than the journal, whose end is here.
    Ahead { catalog: u64, journal: u64 },
    /// There is nothing to compare, or it does not stand still.
    Nothing,
}

/// What is wrong with it. How many rows were compared; none where it is not, or lies elsewhere.
pub(super) fn catalog(
    report: &mut Report<'_>,
    directory: &Directory,
    reading: &Reading,
) -> Option<u64> {
    let help = report.command(&["catalog", "rebuild"]);
    let Ok(Some(store)) = store_of(reading) else {
        return None;
    };
    let Store::Sqlite(path) = &store else {
        return None;
    };
    let checked = Reader::open(&store).and_then(|reader| match reader {
        Some(mut reader) => reader.ask("PRAGMA integrity_check"),
        None => Ok(Vec::new()),
    });
    let mut is_whole = true;
    match checked {
        Ok(rows) => {
            for text in rows.into_iter().flatten().flatten() {
                if text != "ok" {
                    is_whole = false;
                    report.add_text("catalog", &format!("{store}: {text}"), &help);
                }
            }
        }
        Err(error) => {
            report.add("catalog", error, &help);
            return None;
        }
    }
    // Of what is told already nothing more is to be learnt; nor from a journal that has to be restored first.
    if !is_whole || !report.is_journal_whole {
        return None;
    }
    let shown = store.to_string();
    match compared(directory, reading, &store, path) {
        Ok(Found::Rows(rows, differences)) => {
            for difference in differences {
                report.add_text("catalog", &format!("{shown}: {difference}"), &help);
            }
            Some(rows)
        }
        Ok(Found::Ahead { catalog, journal }) => {
            let what =
                format!("{shown} has journal entry {catalog}, and the journal ends with {journal}");
            report.add_text("catalog", &what, &help);
            None
        }
        Ok(Found::Strangers(name)) => {
            let what = format!(
                "{shown} has no collection {}, and has one that is not here: {name}",
                reading.layout().name()
            );
            let help = format!("remove it while nothing runs, then {help}");
            report.add_text("catalog", &what, &help);
            None
        }
        Ok(Found::Nothing) => None,
        Err(error) => {
            report.add("catalog", error, &help);
            None
        }
    }
}

fn compared(
    directory: &Directory,
    reading: &Reading,
    store: &Store,
    path: &Path,
) -> anyhow::Result<Found> {
    let identity = Identity::new(directory.key(), reading.layout().name());
    let Some(mut reader) = Reader::open(store)? else {
        return Ok(Found::Nothing);
    };
    let Some(known) = reader.find(&identity)? else {
        return strangers(directory, &mut reader, &identity);
    };
    drop(reader);
    let mut anew = Catalog::open(&Store::temporary(), &identity)?;
    let (mut extent, mut end, mut wanted) = (Extent::Everything, 0, known.position.entry);
    for _ in 0..MOST_TRIES {
        let (files, journal) = (reading.files(), reading.layout().journal());
        for entry in EntryStream::open(files, &journal, end + 1, wanted)? {
            let entry = entry?;
            if let Record::RunStarted(started) = &entry.record
                && started.version != env!("CARGO_PKG_VERSION")
            {
                extent = Extent::Copied;
            }
            anew.apply(&entry)?;
            end = entry.sequence;
        }
        if end < wanted {
            return Ok(Found::Ahead {
                catalog: wanted,
                journal: end,
            });
        }
        match anew.compare(path, &identity, extent)? {
            Compared::Rows { rows, differences } => return Ok(Found::Rows(rows, differences)),
            // A run goes on with it.
            Compared::Elsewhere(Some(position)) if position.entry > end => wanted = position.entry,
            // Somebody writes it anew.
            _ => break,
        }
    }
    Ok(Found::Nothing)
}

/// The collection may never have been in the catalog; but then nobody else is, whom nobody knows.
fn strangers(
    directory: &Directory,
    reader: &mut Reader,
    identity: &Identity,
) -> anyhow::Result<Found> {
    let names = directory.collections();
    for row in reader.ask("SELECT directory, name FROM collection")? {
        let [Some(of), Some(name)] = row.as_slice() else {
            return Ok(Found::Strangers("one without a name".to_owned()));
        };
        if *of != identity.directory || !names.contains(name) {
            return Ok(Found::Strangers(format!("{name} ({of})")));
        }
    }
    Ok(Found::Nothing)
}
