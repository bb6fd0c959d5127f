//! `teia collection remove`: everything of a collection goes.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use teia_catalog::{Catalog, Identity};
use teia_engine::{CollectionConfig, Directory, Layout};

use super::super::Usage;
use super::super::place::Place;
use super::can_ask;
use crate::show::outln;

pub(super) fn remove(place: &Place, without_asking: bool) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let layout = Layout::new(place.name())?;
    let name = place.name();
    let (file, folder) = (
        directory.root().join(layout.config()),
        directory.root().join(name),
    );
    if !file.exists() && !folder.exists() {
        return Err(directory.no_collection(name).into());
    }
    if !without_asking {
        if !can_ask() {
            return Err(Usage(format!(
                "this deletes {} and everything in {}; add --yes if that is meant",
                file.display(),
                folder.display()
            ))
            .into());
        }
        eprint!(
            "Delete {} and everything in {}? Write the name of the collection: ",
            file.display(),
            folder.display()
        );
        std::io::stderr().flush()?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if answer.trim() != name {
            outln!("Nothing was deleted.")?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    let _lock = directory.lock()?;
    let files = directory.files();
    // The catalog first: where it cannot be reached, nothing is half gone.
    let config = CollectionConfig::load(&*files, directory.root(), &layout);
    if let Ok(Some(config)) = config
        && let Some(store) = config.catalog.store(&*files)
    {
        let identity = Identity::new(directory.key(), name);
        Catalog::remove(&store, &identity).with_context(|| {
            format!("the rows of {name} in {store} cannot be deleted, and so nothing was (`{}` goes without)", place.command_of("collection edit", "--set catalog.enabled=false"))
        })?;
    }
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot delete {}", folder.display()))?;
    }
    if file.exists() {
        std::fs::remove_file(&file).with_context(|| format!("cannot delete {}", file.display()))?;
    }
    outln!("{name} is gone.")?;
    Ok(ExitCode::SUCCESS)
}
