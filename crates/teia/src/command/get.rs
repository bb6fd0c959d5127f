//! `teia get URL`: the archived body.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use teia_archive::{Captures, CdxEntry, StoredCapture};
use teia_base::Timestamp;
use teia_engine::{CollectionConfig, Directory, Reading, Removals};
use teia_fetch::DecodeLimits;

use super::Usage;
use super::page::spellings;
use super::place::Place;

/// Writes the archived body of a URL to standard output.
pub(crate) fn get(place: &Place, url: &str, at: Option<&str>, with_head: bool) -> Result<ExitCode> {
    let at = match at {
        Some(text) => Some(Timestamp::parse(text).ok_or_else(|| {
            Usage(format!(
                "`{text}` is not a time; write 2026-11-15, 2026-11-15T20:00:00Z or 20261115200000"
            ))
        })?),
        None => None,
    };
    let directory = Directory::open(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let config = CollectionConfig::load(&*reading.files(), reading.root(), reading.layout())?
        .unwrap_or_default();
    let captures = Captures::open(reading.files(), &reading.layout().archive())?;
    let mut first: Option<Timestamp> = None;
    for candidate in spellings(&config, url)? {
        let found = captures.find(candidate.request(), at)?;
        // The nearest copy may be a later one; that is not what was asked for.
        let is_late = |entry: &CdxEntry| at.is_some() && entry.fetched() > at;
        let late = found.as_ref().filter(|entry| is_late(entry));
        first = first.or(late.and_then(CdxEntry::fetched));
        if let Some(entry) = found.filter(|entry| !is_late(entry)) {
            let removals = Removals::read_all_with(&*reading.files(), reading.layout())?;
            if removals.hides(candidate.normal()) {
                eprintln!(
                    "teia: {url} was removed from view on request; `{}` tells what is hidden",
                    place.command(&["remove", "--list"])
                );
                return Ok(ExitCode::from(1));
            }
            if entry.noarchive {
                eprintln!(
                    "teia: {url} asks that no copy be shown (noarchive); `{}` tells what is known of it",
                    place.command(&["page", url])
                );
                return Ok(ExitCode::from(1));
            }
            if entry.failed {
                eprintln!(
                    "teia: {url} never came whole: this is what came before the answer broke off; `{}` tells why",
                    place.command(&["page", url])
                );
            }
            return write_out(&captures.read(&entry)?, with_head, &config.decode_limits());
        }
    }
    if let (Some(at), Some(first)) = (at, first) {
        eprintln!(
            "teia: there is no archived copy of {url} from {at} or before; the first one is of {first}: `{}`",
            place.command(&["get", url, "--at", &first.to_string()])
        );
        return Ok(ExitCode::from(1));
    }
    eprintln!(
        "teia: there is no archived copy of {url} in the collection `{}`; `{}` tells what is known of it",
        place.name(),
        place.command(&["page", url])
    );
    Ok(ExitCode::from(1))
}

fn write_out(capture: &StoredCapture, with_head: bool, limits: &DecodeLimits) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    if with_head {
        out.write_all(capture.response.head.as_bytes())?;
    }
    let decoded = teia_fetch::decode(&capture.response, limits);
    if let Some((outcome, detail)) = decoded.fault {
        eprintln!(
            "teia: {} ({detail}); what could be read follows",
            outcome.sentence()
        );
    }
    out.write_all(&decoded.bytes)?;
    out.flush()?;
    if decoded.truncated {
        eprintln!(
            "teia: the body is longer than the collection's limits let it unpack; only its first {} bytes were written",
            decoded.bytes.len()
        );
        return Ok(ExitCode::from(1));
    }
    Ok(ExitCode::SUCCESS)
}
