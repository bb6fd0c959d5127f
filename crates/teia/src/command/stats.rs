//! `teia stats`: a collection in numbers.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::show::{counted, outln};
use anyhow::Result;
use serde_json::json;
use teia_base::measure::{format_duration, format_size};
use teia_engine::{Directory, Growth, Overview, Reading, Stats};
use teia_repository::State;

use super::place::Place;
use super::tables;
use crate::show::{Width, cut, group, print_tables};

/// Which tables of the five systems are asked for.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    /// None of them.
    None,
    /// All of them.
    All,
    /// This one alone.
    One(String),
}

/// Shows outcomes, types, languages, hosts, sizes and growth over all runs of a collection.
pub(crate) fn stats(place: &Place, as_json: bool, which: &Which) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let overview = reading.overview()?;
    let tables = match which {
        Which::None => None,
        _ => Some(teia_engine::tables(&directory, &reading, &overview)?),
    };
    let is_terminal = std::io::stdout().is_terminal();
    if let (Which::One(name), Some(tables)) = (which, tables.clone()) {
        let table = tables::named(tables, name)?;
        if as_json {
            outln!("{}", json!(table))?;
        } else {
            tables::print(&[table], Width::of_stdout(is_terminal))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let Overview {
        repository,
        runs,
        growth,
        ..
    } = overview;
    let sizes = Sizes::of(&reading);
    let mut total = Stats::default();
    for run in &runs {
        total.merge(&run.stats);
    }
    let states: serde_json::Map<String, serde_json::Value> = State::ALL
        .iter()
        .map(|state| (state.name().to_owned(), repository.count(*state).into()))
        .collect();
    if as_json {
        let mut value = json!({
                "collection": place.name(),
                "known_urls": repository.len(),
                "states": states,
                "hosts": repository.host_count(),
                "fetched": total.fetched,
                "bytes": total.bytes,
                "codes": total.codes.iter().map(|(code, count)| (code.to_string(), *count)).collect::<std::collections::BTreeMap<_, _>>(),
                "types": total.types,
                "languages": total.languages,
                "top_hosts": top(&total),
                "duplicates": total.duplicates,
                "sizes": { "received": total.bytes, "archive": sizes.archive, "journal": sizes.journal },
                "growth": growth,
                "runs": runs,
        });
        if let Some(tables) = tables {
            value["tables"] = json!(tables);
        }
        outln!("{value}")?;
        return Ok(ExitCode::SUCCESS);
    }
    outln!(
        "Collection {}: {} known on {}, {}",
        place.name(),
        counted(repository.len(), "URL"),
        counted(repository.host_count() as u64, "host"),
        counted(runs.len() as u64, "run")
    )?;
    for state in State::ALL {
        let count = group(repository.count(state));
        outln!("  {:<10} {count:>12}", state.name())?;
    }
    let mean = total.bytes.checked_div(total.fetched).unwrap_or(0);
    outln!("\nsize")?;
    for (name, bytes) in [
        ("received", total.bytes),
        ("a page", mean),
        ("archive", sizes.archive),
        ("journal", sizes.journal),
    ] {
        outln!("  {name:<10} {:>12}", format_size(bytes))?;
    }
    print_growth(&growth, Width::of_stdout(is_terminal))?;
    print_tables(&total, is_terminal)?;
    if let Some(tables) = tables {
        tables::print(&tables, Width::of_stdout(is_terminal))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A row for each span of time; on a narrow terminal without the columns that do not fit.
fn print_growth(growth: &[Growth], width: Width) -> Result<()> {
    let Some(first) = growth.first() else {
        return Ok(());
    };
    let span = format_duration(Duration::from_secs(first.seconds));
    let header = [
        format!("growth, each {span}"),
        "pages".to_owned(),
        "received".to_owned(),
        "URLs known".to_owned(),
    ];
    let rows = growth.iter().map(|row| {
        [
            row.from.to_string(),
            group(row.fetched),
            format_size(row.bytes),
            group(row.known),
        ]
    });
    // Moment and pages take 22 and 10 columns, the other two 13 each.
    let more = [58, 45]
        .iter()
        .filter(|columns| width.fits(**columns))
        .count();
    let moments = width.left_of(10, 22);
    outln!()?;
    for [from, pages, received, known] in std::iter::once(header).chain(rows) {
        let mut line = format!("{:<moments$} {pages:>9}", cut(&from, moments));
        for column in [received, known].iter().take(more) {
            line.push_str(&format!(" {column:>12}"));
        }
        outln!("{line}")?;
    }
    Ok(())
}

/// What lies on disk.
struct Sizes {
    archive: u64,
    journal: u64,
}

impl Sizes {
    fn of(reading: &Reading) -> Self {
        let files = reading.files();
        let of_folder = |folder: &Path| teia_engine::size_of(&*files, folder);
        Self {
            archive: of_folder(&reading.layout().archive()),
            journal: of_folder(&reading.layout().journal())
                + of_folder(&reading.layout().history()),
        }
    }
}

fn top(stats: &Stats) -> Vec<(String, u64)> {
    let mut hosts: Vec<(String, u64)> = stats
        .hosts
        .iter()
        .map(|(host, count)| (host.clone(), *count))
        .collect();
    hosts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    hosts.truncate(25);
    hosts
}
