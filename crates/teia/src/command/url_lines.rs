//! The lines of a list of URLs, read on a thread of their own: whoever waits for a slow pipe still hears signals.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Usage;

/// A longer line is no URL.
const LONGEST: usize = 1 << 20;
/// No more than about so many bytes are one commit, however few lines they are.
const MOST_BYTES: usize = 8 << 20;
/// What stands for a line that is no URL whatever it says.
const NO_URL: &str = "://(a line of more than 1 MiB)";

/// Lines on their way.
pub(crate) struct Lines {
    batches: Receiver<io::Result<Vec<String>>>,
    read: Arc<AtomicU64>,
    /// Bytes of the file, where it is one.
    length: Option<u64>,
}

/// Some lines, and whether there are more.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) lines: Vec<String>,
    pub(crate) is_end: bool,
}

impl Lines {
    /// Begins to read a file, or standard input.
    pub(crate) fn read(file: Option<&Path>) -> Result<Self> {
        let mut length = None;
        let input: Box<dyn io::Read + Send> = match file.filter(|path| *path != Path::new("-")) {
            Some(path) => {
                let refused = |error| Usage(format!("cannot read {}: {error}", path.display()));
                let file = File::open(path).map_err(refused)?;
                let about = file.metadata().map_err(refused)?;
                if about.is_dir() {
                    let what = format!("{} is a directory; name a file of URLs", path.display());
                    return Err(Usage(what).into());
                }
                length = about.is_file().then_some(about.len());
                Box::new(file)
            }
            None => Box::new(io::stdin()),
        };
        let read = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&read);
        let (sender, batches) = sync_channel(2);
        std::thread::Builder::new()
            .name("teia-lines".to_owned())
            .spawn(move || {
                let input = BufReader::with_capacity(1 << 20, input);
                if let Err(error) = send_lines(input, &counter, &sender) {
                    let _ = sender.send(Err(error));
                }
            })
            .context("cannot start a thread")?;
        Ok(Self {
            batches,
            read,
            length,
        })
    }

    /// Up to about so many lines; fewer when no more have come within this time. A slow pipe must not keep
    /// what it has sent from being committed.
    pub(crate) fn next(&self, most: usize, patience: Duration) -> Result<Batch> {
        let mut batch = Batch::default();
        let until = Instant::now() + patience;
        let mut bytes = 0;
        while batch.lines.len() < most && bytes < MOST_BYTES {
            let left = until.saturating_duration_since(Instant::now());
            match self.batches.recv_timeout(left) {
                Ok(lines) => {
                    let mut lines = lines.context("cannot read on")?;
                    bytes += lines.iter().map(String::len).sum::<usize>();
                    batch.lines.append(&mut lines);
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    batch.is_end = true;
                    break;
                }
            }
        }
        Ok(batch)
    }

    /// The share of the file that was read, where it is one.
    pub(crate) fn share(&self) -> Option<f64> {
        let read = self.read.load(Ordering::Relaxed) as f64;
        let length = self.length.filter(|length| *length > 0)?;
        Some((read / length as f64).min(1.0))
    }
}

fn send_lines(
    mut input: impl BufRead,
    read: &AtomicU64,
    sender: &SyncSender<io::Result<Vec<String>>>,
) -> io::Result<()> {
    let mut begun: Vec<u8> = Vec::new();
    let mut is_too_long = false;
    loop {
        let piece = input.fill_buf()?;
        let length = piece.len();
        let mut lines = Vec::new();
        let mut end_line = |begun: &mut Vec<u8>, is_too_long: &mut bool| {
            lines.push(if std::mem::take(is_too_long) {
                NO_URL.to_owned()
            } else {
                text_of(begun)
            });
            begun.clear();
        };
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if begun.len() + part.len() > LONGEST {
                is_too_long = true;
                begun.clear();
            } else if !is_too_long {
                begun.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                end_line(&mut begun, &mut is_too_long);
            }
        }
        if length == 0 && (is_too_long || !begun.is_empty()) {
            end_line(&mut begun, &mut is_too_long);
        }
        input.consume(length);
        read.fetch_add(length as u64, Ordering::Relaxed);
        if !lines.is_empty() && sender.send(Ok(lines)).is_err() {
            return Ok(());
        }
        if length == 0 {
            return Ok(());
        }
    }
}

/// Bytes that are no UTF-8 are written as browsers send them, each as itself: two lines that differ stay two.
fn text_of(line: &[u8]) -> String {
    match str::from_utf8(line) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let mut text = String::with_capacity(line.len() + 16);
            for byte in line {
                if byte.is_ascii() {
                    text.push(char::from(*byte));
                } else {
                    text.push_str(&format!("%{byte:02X}"));
                }
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> Vec<String> {
        let (sender, batches) = sync_channel(1000);
        let input = BufReader::with_capacity(16, input);
        send_lines(input, &AtomicU64::new(0), &sender).unwrap();
        drop(sender);
        batches.into_iter().flat_map(Result::unwrap).collect()
    }

    #[test]
    fn lines_are_whole_wherever_a_piece_ends_and_the_last_needs_no_end() {
        let lines = read(b"http://a.test/0123456789/0123456789\nhttp://b.test/\n\nhttp://c.test/");
        let expected = [
            "http://a.test/0123456789/0123456789\n",
            "http://b.test/\n",
            "\n",
            "http://c.test/",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn bytes_that_are_no_utf_8_stay_what_they_are() {
        let lines =
            read(b"http://a.test/caf\xe9\nhttp://a.test/caf\xe8\nhttp://a.test/caf\xc3\xa9");
        let expected = [
            "http://a.test/caf%E9\n",
            "http://a.test/caf%E8\n",
            "http://a.test/caf\u{e9}",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_line_without_end_is_no_url_and_takes_no_memory() {
        let mut input = b"http://a.test/".to_vec();
        input.resize(LONGEST + 5, b'a');
        input.extend_from_slice(b"\nhttp://b.test/\n");
        assert_eq!(read(&input), [NO_URL, "http://b.test/\n"]);
    }

    #[test]
    fn long_lines_are_few_in_a_commit() {
        let line = format!("http://a.test/{}\n", "x".repeat(100_000));
        let (sender, batches) = sync_channel(1000);
        for _ in 0..300 {
            sender.send(Ok(vec![line.clone()])).unwrap();
        }
        let lines = Lines {
            batches,
            read: Arc::default(),
            length: None,
        };
        let batch = lines.next(20_000, Duration::from_secs(5)).unwrap();
        let bytes: usize = batch.lines.iter().map(String::len).sum();
        assert!(
            bytes >= MOST_BYTES && bytes < MOST_BYTES + 2 * line.len(),
            "{bytes}"
        );
    }
}
