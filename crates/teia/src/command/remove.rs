//! `teia remove`: what people asked to have removed from view.

use std::process::ExitCode;

use anyhow::{Context, Result};
use teia_engine::{CollectionConfig, Directory, Reading, Removals};

use super::Usage;
use super::page::spellings;
use super::place::Place;
use crate::show::outln;

/// Hides a URL or a host, shows it again, or lists what is hidden.
pub(crate) fn remove(
    place: &Place,
    url: Option<&str>,
    host: Option<&str>,
    (restore, list): (bool, bool),
) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let (files, layout) = (reading.files(), reading.layout());
    let mut removals =
        Removals::read(&*files, layout).context("cannot read the list of removals")?;
    let mut changed = Vec::new();
    if let Some(url) = url {
        let config = CollectionConfig::load(&*files, reading.root(), layout)?.unwrap_or_default();
        // Without a scheme both are meant.
        for spelling in spellings(&config, url)? {
            let normal = spelling.normal();
            let is_new = if restore {
                removals.restore_url(normal)
            } else {
                removals.add_url(normal)
            };
            changed.push((normal.to_string(), is_new));
        }
    }
    if let Some(host) = host {
        let named = host.trim().trim_end_matches('.');
        let is_name =
            !named.is_empty() && !named.contains(['/', ':', ' ']) || named.starts_with('[');
        let parsed = teia_base::CanonicalUrl::parse(&format!("http://{named}/"));
        let (true, Ok(parsed)) = (is_name, parsed) else {
            let sentence =
                format!("`{host}` is no host; write its name alone, for example www.example.org");
            return Err(Usage(sentence).into());
        };
        let is_new = if restore {
            removals.restore_host(parsed.host_str())
        } else {
            removals.add_host(parsed.host_str())
        };
        changed.push((parsed.host_str().to_owned(), is_new));
    }
    if changed.iter().any(|(_, is_new)| *is_new) {
        removals
            .write(&*files, layout)
            .context("cannot write the list of removals")?;
    }
    for (name, is_new) in changed {
        let what = match (restore, is_new) {
            (false, true) => "is hidden from now on",
            (false, false) => "was hidden already",
            (true, true) => "is shown again",
            (true, false) => "was not hidden",
        };
        outln!("{name} {what}")?;
    }
    if list {
        for (kind, name) in removals.lines() {
            outln!("{kind}\t{name}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
