//! `teia collection remove`: everything of a collection goes.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use anyhow::Result;
use teia_engine::{Directory, EngineError, Layout, Removals};

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
    let hidden = Removals::read(&*directory.files(), &layout);
    let hides = hidden.is_ok_and(|hidden| hidden != Removals::default());
    directory.remove_collection(&layout).map_err(|error| match error {
        EngineError::Catalog(error) => anyhow::Error::from(error).context(format!(
            "the rows of {name} in the catalog cannot be deleted, and so nothing was (`{}` goes without)",
            place.command_of("collection edit", "--set catalog.enabled=false")
        )),
        error => error.into(),
    })?;
    outln!("{name} is gone.")?;
    if hides {
        outln!(
            "What it hid on request is remembered: no run fetches it (`teia remove --list` shows it, --restore takes it back)."
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
