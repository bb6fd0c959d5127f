//! `teia index rebuild` and `teia rank`.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Subcommand;
use serde_json::json;
use teia_base::CanonicalUrl;
use teia_engine::{
    CollectionConfig, Directory, EngineError, Ranked, Reading, rank_collection, rebuild_index,
    rebuild_links, renew_index,
};
use teia_graph::{Progress, RankFile};

use super::Usage;
use super::place::Place;
use super::rank_for::rank_for;
use crate::show::{counted, outln};

/// What can be done with an index.
#[derive(Debug, Subcommand)]
pub(crate) enum Work {
    /// Make the search index anew from the archive; the old one serves until it is done
    Rebuild {
        /// Make the link graph anew as well, from the journal, and rank it
        #[arg(long)]
        links: bool,
        #[command(flatten)]
        place: Place,
    },
}

impl Work {
    /// Where it works.
    pub(crate) fn place(&self) -> Place {
        let Self::Rebuild { place, .. } = self;
        place.clone()
    }
}

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// Rebuilds.
pub(crate) fn index(work: &Work) -> Result<ExitCode> {
    let Work::Rebuild { links, place } = work;
    let (directory, reading, config) = open(place)?;
    let _lock = directory.lock()?;
    let (files, layout) = (reading.files(), reading.layout());
    if !config.archive.enabled && !files.exists(&layout.archive()) {
        return Err(Usage(format!(
            "{} keeps no archive (archive.enabled): there is nothing to build an index from",
            layout.name()
        ))
        .into());
    }
    if *links {
        rebuild_links(&files, layout, &config)?;
        let going = |_| ControlFlow::Continue(());
        rank_collection(&*files, layout, &config.links, going)?;
        outln!("The link graph of {} was made anew.", layout.name())?;
    }
    let began = Instant::now();
    let mut told = began;
    let rebuilt = rebuild_index(&files, layout, &config, |done, of| {
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            eprintln!("{}: entry {done} of {of}", layout.name());
        }
    })?;
    outln!(
        "The search index of {} was made anew in {:.1} s: {}, {} with the text of another, {} that ask to be left out.",
        layout.name(),
        began.elapsed().as_secs_f64(),
        counted(rebuilt.indexed, "document"),
        rebuilt.duplicates,
        rebuilt.refused
    )?;
    if rebuilt.missing > 0 {
        eprintln!(
            "teia: {} have no copy in the archive that can be read, and are not in the index",
            counted(rebuilt.missing, "document")
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Ranks pages and hosts, gives the ranks to the index, and shows the best.
pub(crate) fn rank(
    place: &Place,
    seen_from: &[String],
    top: usize,
    as_json: bool,
) -> Result<ExitCode> {
    let (directory, reading, config) = open(place)?;
    if !seen_from.is_empty() {
        return rank_for(place, (&reading, &config), seen_from, (top, as_json));
    }
    let lock = match directory.lock() {
        Ok(lock) => lock,
        Err(error @ EngineError::InUse { .. }) => {
            return Err(anyhow::Error::new(error).context(format!(
                "the process that collects there ranks by itself, every {} and at its end (links.rank-every)",
                teia_base::measure::format_duration(config.links.rank_every)
            )));
        }
        Err(error) => return Err(error.into()),
    };
    let (files, layout) = (reading.files(), reading.layout());
    let began = Instant::now();
    let mut told = began;
    let ranked = rank_collection(&*files, layout, &config.links, |progress| {
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            match progress {
                Progress::Reading(done, of) => eprintln!("reading links: {done} of {of} pages"),
                Progress::Swept(sweep, error) => eprintln!("sweep {sweep}: within {error:.1e}"),
                _ => eprintln!("ranking hosts"),
            }
        }
        ControlFlow::Continue(())
    })?;
    if ranked == Ranked::Nothing {
        anyhow::bail!(
            "there are no links in {} to rank by; `{}` gathers them, and `{}` reads them from the journal",
            layout.name(),
            place.command(&["crawl"]),
            place.command(&["index", "rebuild", "--links"])
        );
    }
    renew_index(&files, layout, &config)?;
    drop(lock);
    let Some(file) = RankFile::open(&*files, &layout.links(), &config.links.graph())? else {
        anyhow::bail!("the ranks that were written are not there");
    };
    let pages = best(file.pages(), top)?;
    let hosts = best(file.hosts(), top)?;
    let seconds = began.elapsed().as_secs_f64();
    if as_json {
        let rows = |rows: &[(String, f64, u32)], name: &str, from: &str| -> Vec<_> {
            rows.iter()
                .map(|(text, rank, count)| json!({ name: text, "rank": rank, from: count }))
                .collect()
        };
        let report = match ranked {
            Ranked::Anew(report) => json!({
                "links": report.links, "hosts": report.hosts, "sweeps": report.sweeps, "error": report.error,
            }),
            _ => json!(null),
        };
        outln!(
            "{}",
            json!({
                "nodes": file.len(), "seconds": seconds, "computed": report,
                "pages": rows(&pages, "url", "in_links"), "hosts": rows(&hosts, "host", "in_hosts"),
            })
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    match ranked {
        Ranked::Anew(report) => outln!(
            "{} and {} ranked by {} in {seconds:.1} s ({}, within {:.1e}).",
            counted(report.nodes, "URL"),
            counted(report.hosts, "host"),
            counted(report.links, "link"),
            counted(report.sweeps.into(), "sweep"),
            report.error
        )?,
        _ => outln!(
            "{} ranked; no link has changed since.",
            counted(file.len(), "URL")
        )?,
    }
    for (name, rows) in [("page", &pages), ("host", &hosts)] {
        outln!("\n{:>10}  {:>8}  {name}", "rank", "links in")?;
        for (text, rank, count) in rows {
            outln!("{rank:>10.6}  {count:>8}  {text}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn open(place: &Place) -> Result<(Directory, Reading, CollectionConfig)> {
    let directory = Directory::open(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let config = CollectionConfig::load(&*reading.files(), reading.root(), reading.layout())?;
    Ok((directory, reading, config.unwrap_or_default()))
}

/// The first by rank, equal ones by name.
pub(crate) fn best(rows: teia_graph::Ranked, most: usize) -> Result<Vec<(String, f64, u32)>> {
    let mut best: Vec<(String, f64, u32)> = Vec::new();
    let order = |a: &(String, f64, u32), b: &(String, f64, u32)| {
        b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0))
    };
    for row in rows {
        best.push(row?);
        if best.len() > 2 * most + 1000 {
            best.sort_by(order);
            best.truncate(most);
        }
    }
    best.sort_by(order);
    best.truncate(most);
    Ok(best)
}

/// A page's standing, as the newest ranks have it.
pub(crate) fn standing(
    reading: &Reading,
    config: &CollectionConfig,
    url: &CanonicalUrl,
) -> Option<serde_json::Value> {
    let (files, layout) = (reading.files(), reading.layout());
    let file = RankFile::open(&*files, &layout.links(), &config.links.graph()).ok()??;
    let page = file.get(url).ok()??;
    let host = file.host(url.host_str()).ok().flatten();
    #[expect(clippy::cast_precision_loss, reason = "counts that are far below 2^52")]
    let (pages, hosts) = (file.len() as f64, file.host_count() as f64);
    Some(json!({
        "rank": page.rank,
        "times_the_mean": page.rank * pages,
        "in_links": page.in_links,
        "of": file.len(),
        "host_rank": host.map(|host| host.rank),
        "host_times_the_mean": host.map(|host| host.rank * hosts),
        "of_hosts": file.host_count(),
        "in_hosts": host.map(|host| host.in_hosts),
    }))
}
