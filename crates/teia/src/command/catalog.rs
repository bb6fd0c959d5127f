//! `teia catalog rebuild`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Subcommand;
use teia_engine::{Directory, Reading, rebuild_catalog, store_of};

use super::Usage;
use super::place::Place;
use crate::show::{counted, outln};

/// What can be done with a catalog.
#[derive(Debug, Subcommand)]
pub(crate) enum Work {
    /// Write the catalog anew from the journal
    Rebuild {
        #[command(flatten)]
        place: Place,
    },
}

impl Work {
    /// Where it works.
    pub(crate) fn place(&self) -> Place {
        let Self::Rebuild { place } = self;
        place.clone()
    }
}

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// Rebuilds.
pub(crate) fn catalog(work: &Work) -> Result<ExitCode> {
    let Work::Rebuild { place } = work;
    let directory = Directory::open(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let Some(store) = store_of(&reading)? else {
        return Err(Usage(format!(
            "{} keeps no catalog (catalog.enabled); `{}` keeps one again",
            place.name(),
            place.command(&["crawl", "--catalog", "sqlite"])
        ))
        .into());
    };
    let _lock = directory.lock()?;
    let (files, layout) = (reading.files(), reading.layout());
    let began = Instant::now();
    let mut told = began;
    let shown = store.to_string();
    let entries = rebuild_catalog(&files, layout, directory.key(), store, |done, of| {
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            eprintln!("{}: entry {done} of {of}", layout.name());
        }
    })?;
    outln!(
        "The catalog of {} in {shown} was written anew in {:.1} s from {} of its journal.",
        layout.name(),
        began.elapsed().as_secs_f64(),
        counted(entries, "commit")
    )?;
    Ok(ExitCode::SUCCESS)
}
