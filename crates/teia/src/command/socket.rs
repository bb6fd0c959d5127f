//! The control socket: one line in (`status`, `pause`, `resume`, `stop`), one JSON line out.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use teia_engine::{Control, Progress};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use crate::show::ProgressBar;

/// No command is longer.
const MAX_LINE: u64 = 256;

/// The socket of this process; its file goes with it.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    path: PathBuf,
}

impl ControlSocket {
    /// Listens; the directory's lock makes sure that a file already there is a leftover.
    pub(crate) fn open(
        path: &Path,
        collection: &str,
        control: Control,
        progress: Arc<ProgressBar>,
    ) -> Result<Self> {
        let _ = std::fs::remove_file(path);
        let listener = ShortPath::of(path)
            .and_then(|short| UnixListener::bind(&short.path))
            .with_context(|| {
                format!(
                    "cannot open the control socket {}; name another directory with --data, on a local disk and with a shorter path",
                    path.display()
                )
            })?;
        let collection = collection.to_owned();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (control, progress, collection) =
                    (control.clone(), Arc::clone(&progress), collection.clone());
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(
                        Duration::from_secs(5),
                        answer(stream, &collection, &control, &progress),
                    )
                    .await;
                });
            }
        });
        Ok(Self {
            path: path.to_owned(),
        })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn answer(
    stream: tokio::net::UnixStream,
    collection: &str,
    control: &Control,
    progress: &ProgressBar,
) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut line = String::new();
    tokio::io::BufReader::new(read.take(MAX_LINE))
        .read_line(&mut line)
        .await?;
    let mut words = line.split_whitespace();
    let (command, name) = (words.next().unwrap_or(""), words.next());
    if name.is_some_and(|name| name != collection) {
        let reply =
            json!({"error": format!("the process in this directory collects `{collection}`")});
        return write.write_all(format!("{reply}\n").as_bytes()).await;
    }
    let error = match command {
        "status" => None,
        "pause" => {
            control.pause();
            until_noted(control).await;
            None
        }
        "resume" => {
            control.resume();
            until_noted(control).await;
            None
        }
        "stop" => {
            control.stop();
            None
        }
        _ => Some("unknown command; use status, pause, resume or stop"),
    };
    let latest = progress.latest();
    let reply = match error {
        Some(error) => json!({"error": error}),
        None => json!({
            "collection": collection,
            "process": std::process::id(),
            "state": state(control, &latest),
            "noted": is_noted(control),
            "progress": latest,
        }),
    };
    write.write_all(format!("{reply}\n").as_bytes()).await
}

fn state(control: &Control, latest: &Progress) -> &'static str {
    match (control.is_paused(), latest.rest) {
        (true, _) => "paused",
        (false, Some(rest)) if rest != "paused" => rest,
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
pub(crate) fn ask(path: &Path, line: &str) -> Result<Option<Value>> {
    let Ok(mut stream) = ShortPath::of(path).and_then(|short| UnixStream::connect(&short.path))
    else {
        return Ok(None);
    };
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    writeln!(stream, "{line}")?;
    let mut reply = String::new();
    BufReader::new(stream.take(1 << 20))
        .read_line(&mut reply)
        .context("the process that collects there does not answer; it may be reading its journal, or hang: try again in a while")?;
    Ok(Some(serde_json::from_str(&reply).context(
        "the collecting process answers something else",
    )?))
}
