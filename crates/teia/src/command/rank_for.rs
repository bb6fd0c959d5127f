//! `teia rank --for`: the web as seen from some pages. Surfers begin there, and not anywhere.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::json;
use teia_base::{CanonicalUrl, DiskFiles};
use teia_engine::{CollectionConfig, Reading};
use teia_graph::{RankFile, RankOptions, Snapshot, rank};

use super::Usage;
use super::index::best;
use super::page::spellings;
use super::place::Place;
use crate::show::{counted, outln};

/// Ranks as seen from these URLs and hosts, and shows the best. Nothing is written: ranks of the collection and
/// its index stay as they are.
pub(crate) fn rank_for(
    place: &Place,
    (reading, config): (&Reading, &CollectionConfig),
    wanted: &[String],
    (top, as_json): (usize, bool),
) -> Result<ExitCode> {
    let (files, layout) = (reading.files(), reading.layout());
    let snapshot = Snapshot::open(&*files, &layout.links(), &config.links.graph())?;
    if snapshot.stats().pages == 0 {
        anyhow::bail!(
            "there are no links in {} to rank by; `{}` gathers them",
            layout.name(),
            place.command(&["crawl"])
        );
    }
    let began = Instant::now();
    let mut options = RankOptions::default();
    for text in wanted {
        let urls = named(&snapshot, config, text)?;
        // Each of those that were named weighs the same, however many pages it has.
        let count = u32::try_from(urls.len()).unwrap_or(u32::MAX);
        let weight = 1.0 / f64::from(count);
        options
            .personalisation
            .extend(urls.into_iter().map(|url| (url, weight)));
    }
    let folder = tempfile::tempdir().context("cannot make a folder to reckon in")?;
    let scratch = DiskFiles::new(folder.path()).context("cannot open the folder to reckon in")?;
    let prefix = Path::new("");
    let report = rank(&snapshot, &scratch, prefix, &options, |_| {
        ControlFlow::Continue(())
    })?;
    let Some(file) = RankFile::open(&scratch, prefix, &config.links.graph())? else {
        anyhow::bail!("the ranks that were reckoned are not there");
    };
    let pages = best(file.pages(), top)?;
    let seconds = began.elapsed().as_secs_f64();
    if as_json {
        let rows: Vec<_> = pages
            .iter()
            .map(|(url, rank, count)| json!({"url": url, "rank": rank, "in_links": count}))
            .collect();
        outln!(
            "{}",
            json!({
                "for": wanted, "nodes": report.nodes, "links": report.links, "sweeps": report.sweeps,
                "error": report.error, "seconds": seconds, "pages": rows,
            })
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    outln!(
        "{} ranked as seen from {} in {seconds:.1} s; the ranks of {} stay as they are.",
        counted(report.nodes, "URL"),
        wanted.join(", "),
        layout.name()
    )?;
    outln!("\n{:>10}  {:>8}  page", "rank", "links in")?;
    for (url, rank, count) in &pages {
        outln!("{rank:>10.6}  {count:>8}  {url}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The nodes that a person means: a URL, or all pages of a host.
fn named(snapshot: &Snapshot, config: &CollectionConfig, text: &str) -> Result<Vec<CanonicalUrl>> {
    let mut urls = Vec::new();
    for url in spellings(config, text)? {
        if snapshot.counts(url.normal())?.is_some() {
            urls.push(url.normal().clone());
        }
    }
    let is_host = !text.contains('/');
    if is_host {
        let host = text.to_ascii_lowercase();
        // Its front page is one of them.
        urls.clear();
        for page in snapshot.pages() {
            let url = CanonicalUrl::from_stored(&page?);
            if url.host_str() == host {
                urls.push(url);
            }
        }
    }
    if urls.is_empty() {
        let what = if is_host { "host" } else { "URL" };
        return Err(Usage(format!(
            "the {what} {text} is not in the link graph: name one that was collected or linked to"
        ))
        .into());
    }
    Ok(urls)
}
