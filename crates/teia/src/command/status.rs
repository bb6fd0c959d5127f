//! `teia status`, `teia pause`, `teia stop`.

use std::path::Path;
use std::process::ExitCode;

use crate::show::{counted, outln};
use anyhow::Result;
use serde_json::{Value, json};
use teia_engine::{Directory, Overview, Reading};
use teia_repository::State;

use super::Usage;
use super::socket::ask;

/// Tells the process that collects in the directory what to do.
pub(crate) fn tell(data: &Path, name: &str, command: &str) -> Result<ExitCode> {
    let directory = Directory::open(data)?;
    let Some(reply) = ask(&directory.control_socket(), &format!("{command} {name}"))? else {
        return Err(Usage(format!(
            "nobody collects in {} now; `teia resume {name}` begins",
            data.display()
        ))
        .into());
    };
    if let Some(error) = reply["error"].as_str() {
        return Err(Usage(error.to_owned()).into());
    }
    if command == "stop" {
        wait_for_end(&directory);
    }
    let done = match command {
        "pause" => "rests; `teia resume` goes on",
        "stop" => "has ended; everything fetched is committed",
        _ => "goes on",
    };
    outln!("{name} {done}")?;
    Ok(ExitCode::SUCCESS)
}

/// A stop is done when the process is gone; another may then begin at once.
fn wait_for_end(directory: &Directory) {
    for _ in 0..300 {
        if directory.lock().is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// Shows where collections stand.
pub(crate) fn status(data: &Path, name: Option<&str>, as_json: bool) -> Result<ExitCode> {
    let directory = Directory::open(data)?;
    let running = ask(&directory.control_socket(), "status")?;
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => directory.collections(),
    };
    let mut rows = Vec::new();
    for name in &names {
        rows.push(row(&directory, name, running.as_ref())?);
    }
    if as_json {
        outln!(
            "{}",
            json!({ "data": data.to_string_lossy(), "collections": rows })
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        outln!(
            "There is no collection in {} yet; `teia crawl SEED` makes one.",
            data.display()
        )?;
    }
    for row in rows {
        let text = |key: &str| row[key].as_str().unwrap_or("").to_owned();
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        outln!("{}: {}", text("name"), text("state"))?;
        outln!(
            "  {} known, {} fetched, {} waiting",
            counted(number(&row["known"]), "URL"),
            row["fetched"],
            row["waiting"]
        )?;
        if let Some(progress) = row.get("progress").filter(|progress| progress.is_object()) {
            outln!(
                "  {} in this run, {:.1} pages/s, {} active, {} waiting",
                counted(number(&progress["fetched"]), "page"),
                progress["pages_per_second"].as_f64().unwrap_or(0.0),
                counted(number(&progress["hosts_active"]), "host"),
                progress["hosts_waiting"]
            )?;
        }
        if let Some(last) = row["last_commit"].as_str() {
            outln!("  run {}, last commit {last}", row["run"])?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(directory: &Directory, name: &str, running: Option<&Value>) -> Result<Value> {
    let reading = Reading::open(directory, name)?;
    let Overview {
        repository, runs, ..
    } = reading.overview()?;
    let last = runs.last();
    let live = running.filter(|reply| reply["collection"] == name);
    let state = match (live, last) {
        (Some(reply), _) => reply["state"].as_str().unwrap_or("running").to_owned(),
        (None, Some(run)) if run.paused => format!("paused; `teia resume {name}` goes on"),
        (None, Some(run)) => match &run.ended {
            Some(reason) => format!("ended ({reason})"),
            None => "interrupted; `teia resume` goes on".to_owned(),
        },
        (None, None) => "never run".to_owned(),
    };
    Ok(json!({
        "name": name,
        "state": state,
        "known": repository.len(),
        "fetched": repository.count(State::Fetched),
        "gone": repository.count(State::Gone),
        "waiting": repository.count(State::Waiting),
        "failed": repository.count(State::Failed),
        "excluded": repository.count(State::Excluded),
        "hosts": repository.host_count(),
        "run": last.map(|run| run.number),
        "last_commit": last.map(|run| run.last_commit.to_string()),
        "progress": live.map(|reply| reply["progress"].clone()),
    }))
}
