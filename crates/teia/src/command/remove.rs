//! `teia remove`: what people asked to have removed from view.

use std::process::ExitCode;

use anyhow::{Context, Result};
use teia_base::SystemClock;
use teia_engine::{
    CollectionConfig, Directory, EngineError, Reading, Removals, Turn, tell_of_removals,
};

use super::Usage;
use super::page::spellings;
use super::place::Place;
use crate::show::{counted, outln};

/// What is to be done with what is named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) restore: bool,
    pub(crate) erase: bool,
    pub(crate) list: bool,
}

/// Hides a URL or a host, shows it again, or lists what is hidden.
pub(crate) fn remove(
    place: &Place,
    url: Option<&str>,
    host: Option<&str>,
    how: How,
) -> Result<ExitCode> {
    let How {
        restore,
        erase,
        list,
    } = how;
    let directory = Directory::open(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let (files, layout) = (reading.files(), reading.layout());
    let turn = Turn::take(&*files)?;
    let mut removals =
        Removals::read(&*files, layout).context("cannot read the list of removals")?;
    // What collections that are deleted hid is remembered, and can be taken back from here.
    let mut kept = Removals::read_kept(&*files).context("cannot read the list of removals")?;
    let before = kept.clone();
    let mut changed = Vec::new();
    // What is to be erased is what was named now, and nothing that was hidden before.
    let mut named = Removals::default();
    if let Some(url) = url {
        let config = CollectionConfig::load(&*files, reading.root(), layout)?.unwrap_or_default();
        // Without a scheme both are meant.
        for spelling in spellings(&config, url)? {
            let normal = spelling.normal();
            named.add_url(normal);
            let is_new = if restore {
                removals.restore_url(normal) | kept.restore_url(normal)
            } else {
                removals.add_url(normal)
            };
            changed.push((normal.to_string(), is_new));
        }
    }
    if let Some(host) = host {
        let typed = host.trim().trim_end_matches('.');
        let is_name =
            !typed.is_empty() && !typed.contains(['/', ':', ' ']) || typed.starts_with('[');
        let parsed = teia_base::CanonicalUrl::parse(&format!("http://{typed}/"));
        let (true, Ok(parsed)) = (is_name, parsed) else {
            let sentence =
                format!("`{host}` is no host; write its name alone, for example www.example.org");
            return Err(Usage(sentence).into());
        };
        named.add_host(parsed.host_str());
        let is_new = if restore {
            removals.restore_host(parsed.host_str()) | kept.restore_host(parsed.host_str())
        } else {
            removals.add_host(parsed.host_str())
        };
        changed.push((parsed.host_str().to_owned(), is_new));
    }
    if changed.iter().any(|(_, is_new)| *is_new) {
        removals.write(&*files, layout).with_context(|| {
            let list = directory.root().join(layout.name()).join("removed");
            format!("cannot write the list of removals, {}", list.display())
        })?;
    }
    if kept != before {
        kept.write_kept(&*files)
            .context("cannot write the list of removals")?;
    }
    drop(turn);
    if !changed.is_empty() {
        // When this command ends, nothing of it waits any more.
        tell_of_removals(&directory.control_socket());
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
    if let Some(host) = url.filter(|url| !restore && is_bare_host(url)) {
        eprintln!(
            "teia: that is the front page alone; everything on the host: `{}`",
            place.command(&["remove", "--host", host])
        );
    }
    if erase && named != Removals::default() {
        erase_now(place, &directory, &reading, &named)?;
    }
    if list {
        for (kind, name) in removals.lines() {
            outln!("{kind}\t{name}")?;
        }
        for (kind, name) in kept.lines() {
            outln!("{kind}\t{name}\tof a deleted collection: no run fetches it")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether somebody who typed this may have meant a host.
fn is_bare_host(typed: &str) -> bool {
    !typed.contains("://") && !typed.trim_end_matches('/').contains(['/', '?', '#'])
}

fn erase_now(
    place: &Place,
    directory: &Directory,
    reading: &Reading,
    named: &Removals,
) -> Result<()> {
    let (files, layout) = (reading.files(), reading.layout());
    let config = CollectionConfig::load(&*files, reading.root(), layout)?.unwrap_or_default();
    let lock = directory.lock().map_err(|error| {
        let is_used = matches!(error, EngineError::InUse { .. });
        let error = anyhow::Error::new(error);
        if is_used {
            error.context(format!(
                "it is hidden, and nothing is erased while a process collects there: end that, and then run `{}` with the same words again",
                place.command(&["remove", "--erase"])
            ))
        } else {
            error
        }
    })?;
    let erasure = teia_engine::erase(directory, &lock, layout, &config, named, &SystemClock)?;
    let archive = erasure.archive;
    outln!(
        "erased: {} in {} of the archive, and what the journal had noted in {}",
        counted(archive.records, "record"),
        counted(archive.files, "file"),
        counted(erasure.attempts, "place")
    )?;
    if archive.restored > 0 {
        outln!(
            "{} of other URLs had the same body, and keep it",
            counted(archive.restored, "page")
        )?;
    }
    for left in &erasure.left {
        eprintln!("teia: could not be made anew, and may still hold something: {left}");
    }
    if !erasure.left.is_empty() {
        anyhow::bail!("not everything was erased; run it again when the cause is mended");
    }
    Ok(())
}
