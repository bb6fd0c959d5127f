//! `teia export`: what was collected, in the forms that other tools read.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::show::outln;
use anyhow::{Context, Result};
use clap::ValueEnum;
use teia_archive::{Captures, CdxEntry, export as archive_export};
use teia_base::{CanonicalUrl, Clock, DiskFiles, SystemClock};
use teia_engine::{CollectionConfig, Directory, Reading, Removals};

use super::Usage;

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// All captures as one .warc.gz
    Warc,
    /// Captures with index and list of pages, as one .wacz for viewers
    Wacz,
    /// The sorted index of captures
    Cdxj,
    /// Every URL with its state, tab-separated
    Urls,
    /// One file for each page, into a directory
    Files,
}

/// Writes it.
pub(crate) fn export(
    data: &Path,
    collection: &str,
    what: What,
    output: Option<&Path>,
    prefix: Option<&str>,
) -> Result<ExitCode> {
    let directory = Directory::open(data)?;
    let reading = Reading::open(&directory, collection)?;
    if what == What::Urls {
        let mut out = sink(output)?;
        write_urls(&reading, prefix, &mut *out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let captures = Captures::open(reading.files(), &reading.layout().archive())?;
    let removals = Removals::read(&*reading.files(), reading.layout())
        .context("cannot read the list of removals")?;
    let is_hidden =
        |entry: &CdxEntry| CanonicalUrl::parse(&entry.url).is_ok_and(|url| removals.hides(&url));
    // What asks for no copies, or was removed on request, is kept in the archive and goes nowhere
    // from there.
    let filter = |entry: &CdxEntry| {
        !entry.noarchive
            && !is_hidden(entry)
            && prefix.is_none_or(|prefix| entry.url.starts_with(prefix))
    };
    let limits = CollectionConfig::load(&*reading.files(), reading.root(), reading.layout())?
        .unwrap_or_default()
        .decode_limits();
    let mut cut = 0_u64;
    let exported = match what {
        What::Warc => archive_export::warc(&captures, &filter, &mut *sink(output)?)?,
        What::Wacz => {
            let made = (collection, SystemClock.wall());
            archive_export::wacz(&captures, &filter, made, &mut *sink(output)?)?
        }
        What::Cdxj => archive_export::cdxj(&captures, &filter, &mut *sink(output)?)?,
        _ => {
            let Some(target) = output else {
                return Err(Usage(
                    "name the directory to write the files into: teia export files --output DIR"
                        .to_owned(),
                )
                .into());
            };
            let target = DiskFiles::new(target)
                .with_context(|| format!("cannot make {}", target.display()))?;
            archive_export::files(&captures, &filter, &target, &mut |capture| {
                let decoded = teia_fetch::decode(&capture.response, &limits);
                cut += u64::from(decoded.truncated);
                Ok(decoded.bytes.to_vec())
            })?
        }
    };
    if let Some(output) = output {
        outln!(
            "{} captures written to {}",
            exported.captures,
            output.display()
        )?;
    }
    if cut > 0 {
        eprintln!(
            "teia: {cut} bodies are longer than the collection's limits let them unpack, and were cut off"
        );
    }
    if exported.damaged > 0 {
        eprintln!(
            "teia: {} captures were left out because their record is damaged",
            exported.damaged
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn sink(output: Option<&Path>) -> Result<Box<dyn Write>> {
    Ok(match output {
        Some(path) => Box::new(BufWriter::new(
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?,
        )),
        None => Box::new(BufWriter::new(std::io::stdout().lock())),
    })
}

fn write_urls(reading: &Reading, prefix: Option<&str>, out: &mut dyn Write) -> Result<()> {
    let repository = reading.repository()?;
    writeln!(
        out,
        "url\tstate\toutcome\tdepth\tfirst_seen\tlast_attempt\trule"
    )?;
    for url in repository.urls() {
        let text = url.url.normal().as_str();
        if prefix.is_some_and(|prefix| !text.starts_with(prefix)) {
            continue;
        }
        writeln!(
            out,
            "{text}\t{}\t{}\t{}\t{}\t{}\t{}",
            url.state.name(),
            url.fetched
                .as_ref()
                .map(|fetched| fetched.outcome.number().to_string())
                .unwrap_or_default(),
            url.depth,
            url.first_seen,
            url.fetched
                .as_ref()
                .map(|fetched| fetched.last_attempt.to_string())
                .unwrap_or_default(),
            url.exclusion
                .as_ref()
                .map(|exclusion| exclusion.rule.as_str())
                .unwrap_or_default(),
        )?;
    }
    out.flush()?;
    Ok(())
}
