//! The tables of the five systems that Teia joins, from the catalog and from what lies beside it.

use std::collections::BTreeMap;
use std::path::Path;

use teia_base::Files;
use teia_catalog::{
    Beside, Catalog, CatalogError, Identity, Known, Reader, Statistic, Store, statistics,
};
use teia_repository::State;

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::directory::Directory;
use crate::reading::{Overview, Reading};

/// Every table of a collection.
pub fn tables(
    directory: &Directory,
    reading: &Reading,
    overview: &Overview,
) -> Result<Vec<Statistic>, EngineError> {
    let (mut reader, known) = catalog_reader(directory, reading, overview.repository.position())?;
    let beside = beside(reading, overview);
    Ok(statistics(&mut reader, known, &beside)?)
}

/// The catalog as it is, if it has everything up to this entry; else one that is written from the
/// journal for this question alone, so that the answer is exact whatever the settings are.
pub fn catalog_reader(
    directory: &Directory,
    reading: &Reading,
    position: u64,
) -> Result<(Reader, Known), EngineError> {
    let identity = Identity::new(directory.key(), reading.layout().name());
    if let Some(store) = store_of(reading)? {
        match asked(&store, &identity) {
            Ok(Some((reader, known))) if known.position.entry == position => {
                return Ok((reader, known));
            }
            Ok(_) => {}
            Err(error) => {
                let cause = cause(&error);
                tracing::warn!(%error, cause, "the catalog cannot be asked; the journal is read instead");
            }
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

/// Where the catalog of a collection lies, if it keeps one.
pub fn store_of(reading: &Reading) -> Result<Option<Store>, EngineError> {
    let (files, root, layout) = (reading.files(), reading.root(), reading.layout());
    let config = CollectionConfig::load(&*files, root, layout)?.unwrap_or_default();
    Ok(config.catalog.store(&*files))
}

/// Bytes of the files in a folder.
pub fn size_of(files: &dyn Files, folder: &Path) -> u64 {
    let names = files.list(folder).unwrap_or_default();
    let length = |name: &String| files.open(&folder.join(name)).ok()?.len().ok();
    names.iter().filter_map(length).sum()
}

fn asked(store: &Store, identity: &Identity) -> Result<Option<(Reader, Known)>, CatalogError> {
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
