//! `teia stats`: a collection in numbers.

use std::path::Path;
use std::process::ExitCode;

use crate::show::outln;
use anyhow::Result;
use serde_json::json;
use teia_engine::{Directory, Reading, Stats};
use teia_repository::State;

use crate::show::print_tables;

/// Shows outcomes, types, hosts and sizes over all runs of a collection.
pub(crate) fn stats(data: &Path, collection: &str, as_json: bool) -> Result<ExitCode> {
    let directory = Directory::open(data)?;
    let reading = Reading::open(&directory, collection)?;
    let runs = reading.runs()?;
    let repository = reading.repository()?;
    let mut total = Stats::default();
    for run in &runs {
        total.merge(&run.stats);
    }
    let states: serde_json::Map<String, serde_json::Value> = State::ALL
        .iter()
        .map(|state| (state.name().to_owned(), repository.count(*state).into()))
        .collect();
    if as_json {
        outln!(
            "{}",
            json!({
                "collection": collection,
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
                "runs": runs,
            })
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    outln!(
        "Collection {collection}: {} URLs known on {} hosts, {} runs",
        repository.len(),
        repository.host_count(),
        runs.len()
    )?;
    for state in State::ALL {
        outln!("  {:<10} {:>12}", state.name(), repository.count(state))?;
    }
    print_tables(&total, std::io::IsTerminal::is_terminal(&std::io::stdout()))?;
    Ok(ExitCode::SUCCESS)
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
