//! The control socket: one line in (`status`, `start`, `pause`, `resume`, `stop`, `settings`, `change`, `follow`,
//! `events`, `heed`), one JSON line out. All but `status` and `heed` may name a collection; where several run, they must.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::control::Control;
use crate::feedback::Progress;
use crate::watch::Watch;

/// No command is longer: `change` and `follow` bring a collection file along.
const MAX_LINE: u64 = 4 << 20;

/// The socket of this process; its file goes with it.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    listening: tokio::task::JoinHandle<()>,
}

/// A run of this process, as it can be reached.
#[derive(Clone, Debug)]
pub struct Run {
    /// The collection.
    pub name: String,
    /// How it is steered.
    pub control: Control,
    /// Where it stands.
    pub watch: Arc<Watch>,
}

/// The runs of this process.
pub trait Runs: std::fmt::Debug + Send + Sync + 'static {
    /// Those that run now.
    fn running(&self) -> Vec<Run>;

    /// What was heard of the runs of this process, also of those that have ended.
    fn watches(&self) -> Vec<(String, Arc<Watch>)> {
        let running = self.running().into_iter();
        running.map(|run| (run.name, run.watch)).collect()
    }

    /// Whether the process goes on when its runs have ended.
    fn minds(&self) -> bool {
        false
    }

    /// Begins a run of a collection that does not run; says whether this process can.
    fn start(&self, _name: &str) -> bool {
        false
    }

    /// Why the last run of a collection could not begin or go on in this process, where it could not.
    fn failure(&self, _name: &str) -> Option<String> {
        None
    }
}

/// The one run of a command that collects.
impl Runs for Run {
    fn running(&self) -> Vec<Run> {
        vec![self.clone()]
    }
}

impl ControlSocket {
    /// Listens; the directory's lock makes sure that a file already there is a leftover.
    pub fn open(path: &Path, runs: Arc<dyn Runs>) -> Result<Self, EngineError> {
        let _ = std::fs::remove_file(path);
        let listener = ShortPath::of(path)
            .and_then(|short| UnixListener::bind(&short.path))
            .map_err(|source| EngineError::Socket {
                path: path.to_owned(),
                source,
            })?;
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let runs = Arc::clone(&runs);
                tokio::spawn(async move {
                    let limit = Duration::from_secs(5);
                    let _ = tokio::time::timeout(limit, answer(stream, &*runs)).await;
                });
            }
        });
        Ok(Self {
            path: path.to_owned(),
            listening,
        })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.listening.abort();
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn answer(stream: tokio::net::UnixStream, runs: &dyn Runs) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    tokio::io::BufReader::new(read.take(MAX_LINE))
        .read_line(&mut line)
        .await?;
    let mut words = line.trim_end().splitn(3, ' ');
    let (command, name) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let rest = words.next().unwrap_or("");
    let reply = match obey(runs, command, name, rest).await {
        Ok(reply) => reply,
        Err(error) => json!({"error": error}),
    };
    write.write_all(format!("{reply}\n").as_bytes()).await
}

/// Does what it is told; says where the runs stand then.
async fn obey(runs: &dyn Runs, command: &str, name: &str, rest: &str) -> Result<Value, String> {
    if command == "status" {
        return Ok(standing(runs, None));
    }
    if command == "heed" {
        heed(&runs.running()).await;
        return Ok(standing(runs, None));
    }
    if command == "failure" {
        return Ok(json!({"collection": name, "failure": runs.failure(name)}));
    }
    if command == "start" && !runs.running().iter().any(|run| run.name == name) {
        if runs.start(name) {
            return Ok(standing(runs, None));
        }
        return Err(wrong_collection(runs));
    }
    let run = chosen(runs, name)?;
    let control = &run.control;
    match command {
        "start" | "resume" => {
            control.resume();
            until_noted(control).await;
        }
        "pause" => {
            control.pause();
            until_noted(control).await;
        }
        "stop" => control.stop(),
        "settings" => {
            return Ok(json!({"collection": run.name, "settings": control.effective_settings()}));
        }
        "events" => {
            return Ok(json!({
                "collection": run.name,
                "events": run.watch.events(),
                "points": run.watch.points(),
            "attempts": run.watch.attempts(),
            }));
        }
        "change" | "follow" => {
            let text: String =
                serde_json::from_str(rest).map_err(|_| "no settings came along".to_owned())?;
            let config = CollectionConfig::parse(&text)?;
            match command {
                "follow" => control.follow_file(config),
                _ => control.change(config),
            }
            let answer = until_changed(control).await?;
            let mut reply = standing(runs, Some(&run));
            reply["answer"] = answer.into();
            return Ok(reply);
        }
        _ => {
            return Err(
                "unknown command; use status, start, pause, resume, stop, settings, change, follow or events"
                    .to_owned(),
            );
        }
    }
    Ok(standing(runs, Some(&run)))
}

/// The run that is meant; without a name, the only one.
fn chosen(runs: &dyn Runs, name: &str) -> Result<Run, String> {
    let mut running = runs.running();
    if !name.is_empty() {
        running.retain(|run| run.name == name);
    }
    match running.len() {
        1 => Ok(running.remove(0)),
        0 => Err(wrong_collection(runs)),
        _ => Err(format!("{}; name one of them", wrong_collection(runs))),
    }
}

fn wrong_collection(runs: &dyn Runs) -> String {
    let names: Vec<String> = runs
        .running()
        .iter()
        .map(|run| format!("`{}`", run.name))
        .collect();
    if names.is_empty() {
        "the process in this directory collects nothing at the moment".to_owned()
    } else {
        format!(
            "the process in this directory collects {}",
            names.join(", ")
        )
    }
}

/// Where the runs stand; one of them, or the only one, also by itself.
fn standing(runs: &dyn Runs, of: Option<&Run>) -> Value {
    let running = runs.running();
    let show = |run: &Run| {
        let latest = run.watch.latest();
        json!({
            "collection": run.name,
            "process": std::process::id(),
            "state": state(&run.control, &latest),
            "noted": is_noted(&run.control),
            "progress": latest,
            "counts": run.watch.counts(),
        })
    };
    let mut reply = match (of, running.as_slice()) {
        (Some(run), _) | (None, [run]) => show(run),
        _ => json!({"process": std::process::id()}),
    };
    reply["runs"] = running.iter().map(show).collect();
    reply["minds"] = runs.minds().into();
    reply
}

/// Lets all runs look at what people asked to have removed, whichever collection it was asked of; waits until nothing
/// of it waits any more, as far as the patience of the one who asks goes.
async fn heed(runs: &[Run]) {
    for run in runs {
        run.control.heed();
    }
    for _ in 0..400 {
        if runs.iter().all(|run| run.control.has_heeded()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What came of other settings, as far as the patience of the one who asks goes.
async fn until_changed(control: &Control) -> Result<String, String> {
    for _ in 0..400 {
        if let Some(answer) = control.change_answer() {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok("the run was told, and has not answered yet".to_owned())
}

fn state(control: &Control, latest: &Progress) -> &'static str {
    match (control.is_paused(), latest.rest) {
        _ if control.end().is_some() => "stopping",
        (true, _) => "paused",
        (false, Some(rest)) if rest != "paused" => rest,
        // It reads what was collected before, and may still find that it cannot begin.
        (false, _) if control.effective_settings().is_empty() => "starting",
        (false, _) => "running",
    }
}

/// Whoever is told of a pause can rely on it: it is on disk. Where the disk is slow the answer does
/// not wait for it beyond the patience of the one who asks.
async fn until_noted(control: &Control) {
    for _ in 0..400 {
        if is_noted(control) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Whether the journal says of the pause what we say.
fn is_noted(control: &Control) -> bool {
    control.is_paused() == control.is_pause_noted()
}

/// A path of the socket that fits into a socket's address (108 bytes), however long the directory's
/// own is: through a descriptor of the directory, which lives as long as the value.
struct ShortPath {
    path: PathBuf,
    _directory: Option<File>,
}

impl ShortPath {
    const LONGEST: usize = 100;

    fn of(path: &Path) -> std::io::Result<Self> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(std::io::ErrorKind::InvalidInput.into());
        };
        if path.as_os_str().len() <= Self::LONGEST {
            return Ok(Self {
                path: path.to_owned(),
                _directory: None,
            });
        }
        let directory = File::open(directory)?;
        let here = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
        Ok(Self {
            path: here.join(name),
            _directory: Some(directory),
        })
    }
}

/// Says one line to the process that collects in a directory; `None` if there is none.
pub fn ask(path: &Path, line: &str) -> Result<Option<Value>, EngineError> {
    let Ok(mut stream) = ShortPath::of(path).and_then(|short| UnixStream::connect(&short.path))
    else {
        return Ok(None);
    };
    let mut converse = || {
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        writeln!(stream, "{line}")?;
        let mut reply = String::new();
        BufReader::new((&stream).take(MAX_LINE)).read_line(&mut reply)?;
        Ok(serde_json::from_str(&reply)?)
    };
    converse().map(Some).map_err(|source: std::io::Error| {
        let lock = std::fs::read_to_string(path.with_file_name("lock")).unwrap_or_default();
        let holder = lock.trim().to_owned();
        EngineError::NoAnswer { holder, source }
    })
}

/// Tells the runs of a directory that people asked for something to be removed, or to be shown again. Without an
/// answer they see it by themselves, a second later.
pub fn tell_of_removals(path: &Path) {
    let _ = ask(path, "heed");
}

/// What becomes of other settings for a run under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenUp {
    /// The collection does not run.
    NoRun,
    /// The process in which it runs looks at files by itself, within a second or so.
    Minded,
    /// It was told, and answered.
    Answered(String),
    /// It was told, and cannot take them.
    Refused(String),
}

/// Hands the settings of a file that was changed over to the run of its collection, where it runs in a process
/// that does not look at files.
pub fn hand_over(
    path: &Path,
    name: &str,
    config: &CollectionConfig,
) -> Result<TakenUp, EngineError> {
    let Some(reply) = ask(path, "status")? else {
        return Ok(TakenUp::NoRun);
    };
    if run_of(&reply, name).is_none() {
        return Ok(TakenUp::NoRun);
    }
    if reply["minds"] == true {
        return Ok(TakenUp::Minded);
    }
    let text = Value::from(config.without_secrets().to_toml());
    let Some(reply) = ask(path, &format!("follow {name} {text}"))? else {
        return Ok(TakenUp::NoRun);
    };
    Ok(match reply["error"].as_str() {
        Some(why) => TakenUp::Refused(why.to_owned()),
        None => TakenUp::Answered(reply["answer"].as_str().unwrap_or("changed").to_owned()),
    })
}

/// What the process that collects says of the run of a collection.
pub fn run_of<'a>(reply: &'a Value, name: &str) -> Option<&'a Value> {
    let runs = reply["runs"].as_array()?;
    runs.iter().find(|run| run["collection"] == name)
}
