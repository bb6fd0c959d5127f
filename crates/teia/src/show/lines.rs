//! Lines on standard error that hold nobody up: whoever reads them may be slow or gone, and the disk that
//! they go to may be full.
//!
//! ```text
//! say, log ──> a bounded queue ──> one thread ──> standard error
//! ```
//!
//! When the queue is full, lines are left out, and how many is told before the next one. Where the log is JSON, every line
//! is an object, whoever says it.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use teia_base::{Clock, SystemClock};
use teia_engine::Level;

/// Lines that wait.
const MOST: usize = 1024;
/// How long the end of the program waits for them.
const PATIENCE: Duration = Duration::from_secs(2);

static QUEUE: OnceLock<Option<SyncSender<Message>>> = OnceLock::new();
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);
static IS_JSON: AtomicBool = AtomicBool::new(false);

enum Message {
    Line(Vec<u8>),
    /// Everything before this was written.
    Done(SyncSender<()>),
}

/// From now on every line is a JSON object, also what a panic says.
pub(crate) fn write_json() {
    IS_JSON.store(true, Ordering::Relaxed);
}

/// From now on a panic says in a line of the log whose fault it is, and what to do. Where it is caught, the run goes on, and
/// says what became of the page. With RUST_BACKTRACE the usual words follow, unless lines are objects.
pub(crate) fn hear_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or("unnamed").to_owned();
        let line = if teia_search::is_of_index(panic) {
            let at = panic.location().map(ToString::to_string);
            index_line(&at.unwrap_or_default())
        } else {
            panic_line(&thread, &panic.to_string())
        };
        write(&shaped(Level::Error, &line));
        let wants_more = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
        if wants_more && !IS_JSON.load(Ordering::Relaxed) {
            usual(panic);
        }
    }));
}

/// What is said of a panic: `panicked at FILE:LINE:COLUMN:` and its text, in one line.
fn panic_line(thread: &str, panic: &str) -> String {
    let panic = panic.lines().collect::<Vec<_>>().join(" ");
    format!(
        "a fault of this program: the thread {thread} {panic} (please report this line, and the page that was read if one is named next; what was committed is safe)"
    )
}

/// What is said where the library of the index gave up over what it read.
fn index_line(at: &str) -> String {
    format!(
        "a search index is damaged: what reads it gave up at {at} (the next run looks at it and builds it anew, `teia index rebuild` does at once; what was committed is safe)"
    )
}

/// Says a line.
pub(crate) fn say(line: &str) {
    say_at(Level::Info, line);
}

/// Says a line of this weight, which is written with it only where lines are objects.
pub(crate) fn say_at(level: Level, line: &str) {
    send(shaped(level, line));
}

/// Says a line at once: where a terminal shows more than lines, or the program ends.
pub(crate) fn write_now(level: Level, line: &str) {
    write(&shaped(level, line));
}

/// A line as the log has them.
fn shaped(level: Level, line: &str) -> Vec<u8> {
    if !IS_JSON.load(Ordering::Relaxed) {
        return format!("{line}\n").into_bytes();
    }
    let level = match level {
        Level::Info => "INFO",
        Level::Warning => "WARN",
        Level::Error => "ERROR",
    };
    let object = serde_json::json!({
        "timestamp": SystemClock.wall().to_string(),
        "level": level,
        "fields": {"message": line},
        "target": "teia",
    });
    format!("{object}\n").into_bytes()
}

/// Where a log is written to, one event at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits until everything is written, but not for ever.
pub(crate) fn finish() {
    let Some(Some(queue)) = QUEUE.get() else {
        return;
    };
    let by = Instant::now() + PATIENCE;
    let (done, written) = sync_channel(1);
    let mut message = Message::Done(done);
    while Instant::now() < by {
        match queue.try_send(message) {
            Ok(()) => {
                let _ = written.recv_timeout(by.saturating_duration_since(Instant::now()));
                return;
            }
            Err(TrySendError::Full(back)) => {
                message = back;
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(TrySendError::Disconnected(_)) => return,
        }
    }
}

fn send(line: Vec<u8>) {
    match QUEUE.get_or_init(start) {
        Some(queue) => {
            if queue.try_send(Message::Line(line)).is_err() {
                LEFT_OUT.fetch_add(1, Ordering::Relaxed);
            }
        }
        None => write(&line),
    }
}

fn start() -> Option<SyncSender<Message>> {
    let (queue, lines) = sync_channel(MOST);
    std::thread::Builder::new()
        .name("teia-lines".to_owned())
        .spawn(move || write_all(&lines))
        .ok()?;
    Some(queue)
}

fn write_all(lines: &Receiver<Message>) {
    while let Ok(message) = lines.recv() {
        match message {
            Message::Line(line) => {
                let left_out = LEFT_OUT.swap(0, Ordering::Relaxed);
                if left_out > 0 {
                    let line = format!("({left_out} lines were left out here)");
                    write_now(Level::Warning, &line);
                }
                write(&line);
            }
            Message::Done(done) => {
                let _ = done.try_send(());
            }
        }
    }
}

/// What cannot be written is lost: a crawl is worth more than its log.
fn write(line: &[u8]) {
    let _ = io::stderr().lock().write_all(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_one_line_that_says_what_to_do() {
        let line = panic_line(
            "teia-worker-1",
            "panicked at src/a.rs:1:2:\nindex out\nof bounds",
        );
        assert!(line.contains("teia-worker-1 panicked at src/a.rs:1:2: index out of bounds"));
        assert!(line.contains("please report") && !line.contains('\n'));
    }
}
