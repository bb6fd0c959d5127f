//! `teia status`, `teia pause`, `teia stop`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::show::{counted, group, outln};
use anyhow::Result;
use serde_json::{Value, json};
use teia_base::measure::format_duration;
use teia_engine::{Directory, Overview, Reading, ask, run_of};
use teia_repository::State;

use super::Usage;
use super::place::Place;

/// What the process that collects can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// No new requests.
    Pause,
    /// Requests again.
    Resume,
    /// An end, for which so long is waited.
    Stop {
        /// How long.
        wait: Duration,
    },
}

impl Order {
    fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Stop { .. } => "stop",
        }
    }
}

/// Tells the process that collects in the directory what to do, and says what came of it.
pub(crate) fn tell(place: &Place, order: Order) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let line = [order.word(), place.chosen().unwrap_or("")].join(" ");
    let reply = ask(&directory.control_socket(), &line)?;
    let problem = match &reply {
        None => Some(format!(
            "nobody collects in {} now; `{}` begins",
            place.data.display(),
            place.steering("resume")
        )),
        Some(reply) => reply["error"].as_str().map(str::to_owned),
    };
    if let Some(problem) = problem {
        // Perhaps because there is no such collection at all.
        if reply.is_none() || place.chosen().is_some() {
            Reading::open(&directory, place.name())?;
        }
        return Err(Usage(problem).into());
    }
    let reply = reply.unwrap_or_default();
    let place = Place::new(
        &place.data,
        reply["collection"].as_str().unwrap_or(place.name()),
    );
    let name = place.name();
    if let Order::Stop { wait } = order
        && !has_ended(&directory, name, wait)
    {
        eprintln!(
            "teia: {name} was told to stop, and process {} has not ended within {}: it commits what it fetched, and what the search index has. `{}` tells when it is over; `kill -9 {0}` ends it at once, without loss of what was committed",
            reply["process"],
            format_duration(wait),
            place.steering("status"),
        );
        return Ok(ExitCode::from(1));
    }
    // A process that does not say so is of a time when it was not asked.
    if matches!(order, Order::Pause | Order::Resume) && reply["noted"] == false {
        let (does, and) = match order {
            Order::Pause => ("rests", "a kill now would lift the pause"),
            _ => ("goes on", "a kill now would leave it paused"),
        };
        eprintln!(
            "teia: {name} {does}, but that is not on disk yet: {and}; `{}` again waits for it",
            place.steering(order.word())
        );
        return Ok(ExitCode::from(1));
    }
    match order {
        Order::Pause => outln!("{name} rests; `{}` goes on", place.steering("resume"))?,
        Order::Resume => outln!("{name} goes on")?,
        Order::Stop { .. } => outln!("{name} has ended; everything fetched is committed")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A stop is done when the process is gone, and another may begin at once; or when the process, which
/// minds several collections, has ended the run.
fn has_ended(directory: &Directory, name: &str, wait: Duration) -> bool {
    let until = Instant::now() + wait;
    loop {
        if directory.lock().is_ok() {
            return true;
        }
        let minds_others = |reply: &Value| reply["minds"] == true && run_of(reply, name).is_none();
        let reply = ask(&directory.control_socket(), "status").ok().flatten();
        if reply.as_ref().is_some_and(minds_others) {
            return true;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
}

/// The collections that it collects, for a message.
pub(crate) fn collected(reply: &Value) -> String {
    let runs = reply["runs"].as_array().map_or(&[][..], Vec::as_slice);
    let names: Vec<String> = runs
        .iter()
        .filter_map(|run| Some(format!("`{}`", run["collection"].as_str()?)))
        .collect();
    names.join(", ")
}

/// Shows where collections stand.
pub(crate) fn status(place: &Place, as_json: bool) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let running = ask(&directory.control_socket(), "status")?;
    let names = match place.chosen() {
        Some(name) => vec![name.to_owned()],
        None => directory.collections(),
    };
    let mut rows = Vec::new();
    let mut failed = None;
    for name in &names {
        let place = Place::new(&place.data, name);
        match row(&directory, &place, running.as_ref()) {
            Ok(row) => rows.push(row),
            // Whoever asks for one is told why; of several, one must not hide the others.
            Err(error) if names.len() == 1 => return Err(error),
            Err(error) => {
                eprintln!("teia: {name}: {error:#}");
                failed = Some(ExitCode::FAILURE);
            }
        }
    }
    let code = failed.unwrap_or(ExitCode::SUCCESS);
    if as_json {
        outln!(
            "{}",
            json!({ "data": place.data.to_string_lossy(), "collections": rows })
        )?;
        return Ok(code);
    }
    if names.is_empty() {
        outln!(
            "There is no collection in {} yet; `{}` makes one.",
            place.data.display(),
            place.command(&["crawl", "example.org"])
        )?;
    }
    for row in rows {
        let text = |key: &str| row[key].as_str().unwrap_or("").to_owned();
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        outln!("{}: {}", text("name"), text("state"))?;
        outln!(
            "  {} known, {} fetched, {} waiting",
            counted(number(&row["known"]), "URL"),
            group(number(&row["fetched"])),
            group(number(&row["waiting"]))
        )?;
        let undecided = number(&row["undecided"]);
        if undecided > 0 {
            outln!(
                "  and {} that are not decided yet: the numbers are at least",
                counted(undecided, "link")
            )?;
        }
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
        // The states that go on name the command themselves.
        if text("state").starts_with("ended") && number(&row["waiting"]) > 0 {
            let resume = Place::new(&place.data, &text("name")).steering("resume");
            outln!("  `{resume}` goes on with what is waiting")?;
        }
    }
    Ok(code)
}

fn row(directory: &Directory, place: &Place, running: Option<&Value>) -> Result<Value> {
    let name = place.name();
    let resume = place.steering("resume");
    let reading = Reading::open(directory, name)?;
    let Overview {
        repository, runs, ..
    } = reading.overview()?;
    let last = runs.last();
    let live = running.and_then(|reply| run_of(reply, name));
    let state = match (live, last) {
        (Some(reply), _) => reply["state"].as_str().unwrap_or("running").to_owned(),
        (None, Some(run)) if run.paused => format!("paused; `{resume}` goes on"),
        (None, Some(run)) => match &run.ended {
            Some(reason) => format!("ended ({reason})"),
            None => format!("interrupted; `{resume}` goes on"),
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
        "undecided": repository.undecided(),
        "hosts": repository.host_count(),
        "run": last.map(|run| run.number),
        "last_commit": last.map(|run| run.last_commit.to_string()),
        "progress": live.map(|reply| reply["progress"].clone()),
    }))
}
