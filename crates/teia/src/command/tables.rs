//! The tables of the five systems that Teia joins, for `teia stats --tables` and `teia export csv`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use teia_base::Files;
use teia_base::measure::format_size;
use teia_catalog::{Beside, Catalog, Cell, Identity, Known, Reader, Statistic, Store, statistics};
use teia_engine::{Directory, Overview, Reading, nearest};
use teia_repository::State;

use super::Usage;
use super::catalog::store_of;
use crate::show::{Width, cut, group, outln};

/// Every table of a collection.
pub(crate) fn tables(
    directory: &Directory,
    reading: &Reading,
    overview: &Overview,
) -> Result<Vec<Statistic>> {
    let (mut reader, known) = reader(directory, reading, overview.repository.position())?;
    let beside = beside(reading, overview);
    Ok(statistics(&mut reader, known, &beside)?)
}

/// The catalog as it is, if it has everything up to this entry; else one that is written from the
/// journal for this question alone, so that the answer is exact whatever the settings are.
pub(crate) fn reader(
    directory: &Directory,
    reading: &Reading,
    position: u64,
) -> Result<(Reader, Known)> {
    let identity = Identity::new(directory.key(), reading.layout().name());
    if let Some(store) = store_of(reading)? {
        match asked(&store, &identity) {
            Ok(Some((reader, known))) if known.position.entry == position => {
                return Ok((reader, known));
            }
            Ok(_) => {}
            Err(error) => eprintln!(
                "teia: {error} ({}); the journal is read instead",
                cause(&error)
            ),
        }
    }
    let mut catalog = Catalog::open(&Store::temporary(), &identity)?;
    let mut written = Ok(());
    reading.entries(|entry| {
        if written.is_ok() {
            written = catalog.apply(&entry);
        }
    })?;
    written?;
    Ok(catalog.into_reader()?)
}

fn asked(
    store: &Store,
    identity: &Identity,
) -> Result<Option<(Reader, Known)>, teia_catalog::CatalogError> {
    let Some(mut reader) = Reader::open(store)? else {
        return Ok(None);
    };
    let known = reader.find(identity)?;
    Ok(known.map(|known| (reader, known)))
}

fn cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(inner) = last.source() {
        last = inner;
    }
    last.to_string()
}

/// What the catalog does not know.
fn beside(reading: &Reading, overview: &Overview) -> Beside {
    let repository = &overview.repository;
    let mut depths: BTreeMap<u16, u64> = BTreeMap::new();
    for url in repository.urls() {
        let outcome = url.fetched.as_ref().map(|fetched| fetched.outcome);
        if outcome.is_some_and(|outcome| outcome.is_ok() || outcome.number() == 304) {
            *depths.entry(url.depth).or_default() += 1;
        }
    }
    let (files, layout) = (reading.files(), reading.layout());
    let size = |folder: &Path| size_of(&*files, folder);
    let mut disk = vec![
        ("archive".to_owned(), size(&layout.archive())),
        ("journal".to_owned(), size(&layout.journal())),
        (
            "history (packed journal)".to_owned(),
            size(&layout.history()),
        ),
        ("URLs".to_owned(), size(&layout.urls())),
        ("search index".to_owned(), size(&layout.index())),
        ("link graph".to_owned(), size(&layout.links())),
    ];
    if let Ok(Some(Store::Sqlite(path))) = store_of(reading) {
        let length = |suffix: &str| {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            std::fs::metadata(name).map_or(0, |found| found.len())
        };
        let name = "catalog (all collections)".to_owned();
        disk.push((name, length("") + length("-wal")));
    }
    Beside {
        known: repository.len(),
        to_collect: repository.count(State::Waiting),
        depths,
        disk,
    }
}

/// Bytes of the files in a folder.
pub(crate) fn size_of(files: &dyn Files, folder: &Path) -> u64 {
    let names = files.list(folder).unwrap_or_default();
    let length = |name: &String| files.open(&folder.join(name)).ok()?.len().ok();
    names.iter().filter_map(length).sum()
}

/// The one that is asked for.
pub(crate) fn named(tables: Vec<Statistic>, name: &str) -> Result<Statistic> {
    let names: Vec<&'static str> = tables.iter().map(|table| table.name).collect();
    let found = tables.into_iter().find(|table| table.name == name);
    found.ok_or_else(|| {
        let near = nearest(name, &names);
        let meant = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        Usage(format!(
            "there is no table `{name}`{meant} There are: {}",
            names.join(", ")
        ))
        .into()
    })
}

/// Prints tables, each below its title.
pub(crate) fn print(tables: &[Statistic], width: Width) -> Result<()> {
    for table in tables {
        let like = match table.like {
            "" => String::new(),
            like => format!(" ({like})"),
        };
        outln!()?;
        for line in width.wrap(&format!("{}{like}", table.title)) {
            outln!("{line}")?;
        }
        print_one(table, width)?;
    }
    Ok(())
}

fn print_one(table: &Statistic, width: Width) -> Result<()> {
    let is_size = |at: usize| table.columns[at] == "bytes";
    let header: Vec<String> = table
        .columns
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    let shown = table.all_rows().map(|row| {
        let cells = row.iter().enumerate();
        cells
            .map(|(at, cell)| for_people(cell, is_size(at)))
            .collect()
    });
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(shown).collect();
    let longest = |at: usize| {
        let lengths = lines.iter().map(|line| line[at].chars().count());
        lengths.max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..table.columns.len()).map(longest).collect();
    let is_text = |at: usize| {
        let first = table.rows.first().map(|row| &row[at]);
        matches!(first, Some(Cell::Text(_)))
    };
    // The first column of words gives way on a narrow terminal.
    if let Some(words) = (0..widths.len()).find(|at| is_text(*at)) {
        let others: usize = widths.iter().sum::<usize>() - widths[words] + 2 * widths.len();
        widths[words] = width.left_of(others, widths[words]);
    }
    for line in &lines {
        let mut text = String::from(" ");
        for (at, cell) in line.iter().enumerate() {
            let (cell, width) = (cut(cell, widths[at]), widths[at]);
            if is_text(at) {
                text.push_str(&format!(" {cell:<width$} "));
            } else {
                text.push_str(&format!(" {cell:>width$} "));
            }
        }
        outln!("{}", text.trim_end())?;
    }
    Ok(())
}

fn for_people(cell: &Cell, is_size: bool) -> String {
    match cell {
        Cell::Count(count) => match u64::try_from(*count) {
            Ok(bytes) if is_size => format_size(bytes),
            Ok(count) => group(count),
            Err(_) => count.to_string(),
        },
        cell => cell.plain(),
    }
}
