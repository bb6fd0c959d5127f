//! `teia page URL`: the life of one URL.

use std::process::ExitCode;

use crate::show::outln;
use anyhow::Result;
use serde_json::json;
use teia_base::FoundUrl;
use teia_base::journal::Attempt;
use teia_engine::{CollectionConfig, Directory, Explanation, Reading, Removals, Tester};
use teia_graph::{Listing, Neighbour, Snapshot};

use super::place::Place;
use super::{Usage, index};

/// Which links of a long list are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) offset: u64,
    pub(crate) limit: usize,
}

/// The links of a page as the graph has them, and its rank.
struct Standing {
    links_in: Listing<Neighbour>,
    links_out: Option<Listing<Neighbour>>,
    rank: Option<serde_json::Value>,
}

/// Tells everything that is known of a URL.
pub(crate) fn page(place: &Place, url: &str, as_json: bool, part: Part) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let config = CollectionConfig::load(&*reading.files(), reading.root(), reading.layout())?
        .unwrap_or_default();
    // Whichever collection of the directory was asked.
    let removals = Removals::read_all_with(&*reading.files(), reading.layout())?;
    let (mut known, mut is_removed) = (None, false);
    for candidate in spellings(&config, url)? {
        known = reading.explain(candidate.normal())?;
        is_removed |= removals.hides(candidate.normal());
        if known.is_some() {
            break;
        }
    }
    let Some(known) = known else {
        if as_json {
            outln!(
                "{}",
                json!({ "url": url, "known": false, "removed": is_removed })
            )?;
        } else {
            outln!("{url} was never met in the collection `{}`.", place.name())?;
            if is_removed {
                outln!("It {}.", removed_in_words(place))?;
            }
        }
        return Ok(ExitCode::from(1));
    };
    let is_removed = removals.hides(known.state.url.normal());
    let standing = standing(&reading, &config, &known, part);
    let sites = Tester::sites_of(&config, known.state.url.normal().host_str());
    if as_json {
        let mut told = to_json(&known, standing.as_ref(), part);
        told["settings_of"] = json!(sites);
        told["removed"] = json!(is_removed);
        outln!("{told}")?;
    } else {
        let removed = is_removed.then(|| removed_in_words(place));
        print(&known, removed.as_deref(), standing.as_ref(), part)?;
        for site in &sites {
            outln!("  settings   {}", site.told())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What the graph says; `None` where there is none, or none that can be read.
fn standing(
    reading: &Reading,
    config: &CollectionConfig,
    known: &Explanation,
    part: Part,
) -> Option<Standing> {
    let (files, layout) = (reading.files(), reading.layout());
    let read = || {
        let snapshot = Snapshot::open(&*files, &layout.links(), &config.links.graph())?;
        if snapshot.position() == 0 {
            return Ok(None);
        }
        let url = known.state.url.normal();
        Ok::<_, teia_graph::GraphError>(Some(Standing {
            links_in: snapshot.in_links(url, part.offset, part.limit)?,
            links_out: snapshot.out_links(url, part.offset, part.limit)?,
            rank: index::standing(reading, config, url),
        }))
    };
    read().unwrap_or_else(|error| {
        let place = Place::new(reading.root(), layout.name());
        eprintln!(
            "teia: the link graph cannot be read ({error}); links are shown as the journal has them, and `{}` makes it anew",
            place.command(&["index", "rebuild", "--links"])
        );
        None
    })
}

/// The URLs that a person may have meant: with a scheme one, without https or http.
pub(crate) fn spellings(config: &CollectionConfig, text: &str) -> Result<Vec<FoundUrl>> {
    let urls = config.spellings(text);
    let urls = urls.map_err(|error| Usage(error.to_string()))?;
    if urls.is_empty() {
        return Err(Usage("name a URL, for example https://example.org/".to_owned()).into());
    }
    Ok(urls)
}

fn removed_in_words(place: &Place) -> String {
    let list = place.command(&["remove", "--list"]);
    format!(
        "was removed on request: no run fetches it, and it is shown to nobody; `{list}` tells what is hidden"
    )
}

fn print(
    known: &Explanation,
    removed: Option<&str>,
    standing: Option<&Standing>,
    part: Part,
) -> Result<()> {
    let state = &known.state;
    outln!("{}", state.url.normal())?;
    if let Some(spelling) = state.url.spelling() {
        outln!("  requested as {spelling}")?;
    }
    let title = known
        .attempts
        .iter()
        .rev()
        .map(|attempt| attempt.title.as_str())
        .find(|title| !title.is_empty());
    if let Some(title) = title {
        outln!("  title      {title}")?;
    }
    outln!("  state      {}", state_in_words(known))?;
    if let Some(removed) = removed {
        outln!("  hidden     {removed}")?;
    }
    // Met only through links that are not to be followed: no way leads there.
    let depth = match state.depth {
        u16::MAX => "no way from a seed".to_owned(),
        depth => format!("{depth} from a seed"),
    };
    outln!(
        "  depth      {depth}, path depth {}",
        state.url.normal().path_depth()
    )?;
    outln!(
        "  host       {} (site {})",
        state.url.normal().host_str(),
        state.url.normal().site()
    )?;
    outln!("  first seen {}", state.first_seen)?;
    match (&state.referrer, state.seed) {
        (_, true) => outln!("  found      given as a seed")?,
        (Some(referrer), _) => outln!("  found      on {referrer}")?,
        (None, false) => {}
    }
    if let Some(rank) = standing.and_then(|standing| standing.rank.as_ref()) {
        outln!(
            "  rank       {:.1} times the mean of {} URLs (PageRank {:.3e}); its host {:.1} times that of {} hosts, {} others link to it",
            rank["times_the_mean"].as_f64().unwrap_or_default(),
            rank["of"],
            rank["rank"].as_f64().unwrap_or_default(),
            rank["host_times_the_mean"].as_f64().unwrap_or_default(),
            rank["of_hosts"],
            rank["in_hosts"].as_u64().unwrap_or_default(),
        )?;
    }
    if let Some(original) = known
        .attempts
        .iter()
        .rev()
        .find_map(|attempt| attempt.revisit.as_ref())
    {
        outln!("  duplicate  of {} ({})", original.url, original.date)?;
    }
    outln!(
        "\nHistory (UTC: a link counts from the answer that held it, a try from its beginning)"
    )?;
    for happening in &known.life {
        outln!("  {}  {}", happening.at, happening.what)?;
    }
    let versions: Vec<&Attempt> = known
        .attempts
        .iter()
        .filter(|attempt| attempt.capture.is_some())
        .collect();
    if !versions.is_empty() {
        outln!("\nVersions (UTC, by the beginning of the try that brought them)")?;
        for version in versions {
            outln!("  {}  {}", version.started, version_in_words(version))?;
        }
    }
    if let Some(standing) = standing {
        print_links("Links in", &standing.links_in, part)?;
        if let Some(links_out) = &standing.links_out {
            print_links("Links out", links_out, part)?;
        }
        return Ok(());
    }
    if known.in_link_count > 0 {
        outln!("\nLinks in ({})", known.in_link_count)?;
        for link in known.in_links.iter().take(20) {
            outln!("  {}  {}", link.url, link.anchor)?;
        }
    }
    if let Some(last) = known
        .attempts
        .iter()
        .rev()
        .find(|attempt| !attempt.links.is_empty())
    {
        outln!("\nLinks out ({})", last.links.len())?;
        for link in last.links.iter().take(20) {
            outln!("  {}  {}", link.url.normal(), link.anchor)?;
        }
    }
    Ok(())
}

/// One part of a list of links.
fn print_links(name: &str, links: &Listing<Neighbour>, part: Part) -> Result<()> {
    if links.total == 0 {
        return Ok(());
    }
    outln!("\n{name} ({})", links.total)?;
    for link in &links.items {
        let mut texts: Vec<&str> = link.labels.iter().map(|it| it.anchor.as_str()).collect();
        texts.retain(|text| !text.is_empty());
        let texts = texts.join(" | ");
        let texts = texts.replace(|c: char| c.is_control(), " ");
        outln!("{}", format!("  {}  {texts}", link.url).trim_end())?;
    }
    let shown = part.offset + links.items.len() as u64;
    if shown < links.total {
        outln!("  … {} more: --offset {shown}", links.total - shown)?;
    }
    Ok(())
}

fn links_json(links: &Listing<Neighbour>) -> Vec<serde_json::Value> {
    let link = |link: &Neighbour| {
        let first = link.labels.first();
        json!({
            "url": link.url,
            "kind": first.map(|label| label.kind.name()),
            "anchor": first.map(|label| label.anchor.as_str()),
            "labels": link.labels.iter().map(|label| json!({
                "kind": label.kind.name(), "anchor": label.anchor, "nofollow": label.rel.nofollow,
            })).collect::<Vec<_>>(),
        })
    };
    links.items.iter().map(link).collect()
}

fn state_in_words(known: &Explanation) -> String {
    let state = &known.state;
    match (&state.exclusion, &state.fetched) {
        // It is in scope, and waits for a link or for the end of the run.
        (Some(exclusion), _) if state.waits_for_sweep() => {
            format!("not reached yet: {}", exclusion.rule)
        }
        (Some(exclusion), _) => format!(
            "{}: {} ({})",
            state.state.name(),
            exclusion.outcome.sentence(),
            exclusion.rule
        ),
        (None, Some(fetched)) => format!(
            "{}: last outcome {}, {}",
            state.state.name(),
            fetched.outcome,
            fetched.outcome.sentence()
        ),
        (None, None) => state.state.name().to_owned(),
    }
}

fn version_in_words(version: &Attempt) -> String {
    let media_type = version.media_type.as_deref().unwrap_or("unknown type");
    let digest = version.payload_sha1.map(|digest| {
        digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    });
    let failed = if version.outcome.is_answered() {
        String::new()
    } else {
        format!(", {}", version.outcome.name())
    };
    format!(
        "{media_type}, {} bytes, sha1 {}{failed}",
        version.body_bytes,
        digest.as_deref().unwrap_or("-")
    )
}

fn to_json(known: &Explanation, standing: Option<&Standing>, part: Part) -> serde_json::Value {
    let state = &known.state;
    let last = known
        .attempts
        .iter()
        .rev()
        .find(|attempt| !attempt.links.is_empty());
    json!({
        "url": state.url.normal().as_str(),
        "known": true,
        "requested": state.url.request(),
        "host": state.url.normal().host_str(),
        "site": state.url.normal().site(),
        "state": if state.waits_for_sweep() { "unreached" } else { state.state.name() },
        "depth": (state.depth != u16::MAX).then_some(state.depth),
        "seed": state.seed,
        "requisite": state.requisite,
        "first_seen": state.first_seen.to_string(),
        "found_on": state.referrer,
        "due": state.due.map(|due| due.to_string()),
        "excluded_by": state.exclusion.as_ref().filter(|_| !state.waits_for_sweep()).map(|exclusion| json!({
            "outcome": exclusion.outcome.number(), "name": exclusion.outcome.name(), "rule": exclusion.rule,
        })),
        "outcome": state.fetched.as_ref().map(|fetched| fetched.outcome.number()),
        "title": known.attempts.iter().rev().map(|attempt| attempt.title.as_str()).find(|title| !title.is_empty()),
        "duplicate_of": known.attempts.iter().rev().find_map(|attempt| attempt.revisit.as_ref()).map(|original| json!({
            "url": original.url, "date": original.date.to_string(),
        })),
        "history": known.life,
        "attempts": known.attempts.iter().map(attempt_json).collect::<Vec<_>>(),
        "in_links": match standing {
            Some(standing) => json!({
                "count": standing.links_in.total, "offset": part.offset, "links": links_json(&standing.links_in),
            }),
            None => json!({ "count": known.in_link_count, "links": known.in_links }),
        },
        "links_out": standing.and_then(|standing| standing.links_out.as_ref()).map(|links| json!({
            "count": links.total, "offset": part.offset, "links": links_json(links),
        })),
        "rank": standing.and_then(|standing| standing.rank.clone()),
        "out_links": last.map(|last| last.links.iter().map(|link| json!({
            "url": link.url.normal().as_str(), "kind": link.kind.name(), "anchor": link.anchor, "depth": link.depth,
            "nofollow": link.rel.nofollow, "verdict": format!("{:?}", link.verdict).to_lowercase().split(['(', ' ']).next(),
        })).collect::<Vec<_>>()),
    })
}

fn attempt_json(attempt: &Attempt) -> serde_json::Value {
    json!({
        "started": attempt.started.to_string(),
        "try": attempt.try_number,
        "visit": attempt.visit,
        "outcome": attempt.outcome.number(),
        "name": attempt.outcome.name(),
        "meaning": attempt.outcome.sentence(),
        "detail": attempt.detail,
        "flags": attempt.flags.names(),
        "remote": attempt.remote.map(|remote| remote.to_string()),
        "protocol": format!("{:?}", attempt.protocol).to_lowercase(),
        "type": attempt.media_type,
        "charset": attempt.charset.as_ref().map(|charset| json!({
            "name": charset.name, "source": charset.source.name(),
        })),
        "junk": (!attempt.junk.is_empty()).then(|| attempt.junk.escape_ascii().to_string()),
        "wire_bytes": attempt.wire_bytes,
        "body_bytes": attempt.body_bytes,
        "seconds": {
            "dns": attempt.times.dns.as_secs_f64(),
            "connect": attempt.times.connect.as_secs_f64(),
            "tls": attempt.times.tls.as_secs_f64(),
            "first_byte": attempt.times.first_byte.as_secs_f64(),
            "body": attempt.times.body.as_secs_f64(),
        },
        "text_digest": attempt.text_digest.map(|digest| format!("{digest:032x}")),
        "similarity": (attempt.similarity != 0).then(|| format!("{:016x}", attempt.similarity)),
        "capture": attempt.capture.map(|capture| capture.0),
    })
}
