//! The input that is being tried, in a file that outlives the process: what loops for ever, overflows the stack or is ended by
//! the system says nothing by itself.
//!
//! ```text
//! number u64 | length u64 | input        written anew before each input, in one call; nothing is synced
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use std::os::unix::process::ExitStatusExt;

use crate::Broken;

const HEAD: usize = 16;
/// How often a child is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Where inputs are noted.
#[derive(Debug)]
pub struct Tried {
    file: File,
    number: u64,
    bytes: Vec<u8>,
}

impl Tried {
    /// Begins to note inputs in a file.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::create(path)?,
            number: 0,
            bytes: Vec::new(),
        })
    }

    /// This one comes next.
    pub fn note(&mut self, input: &[u8]) -> io::Result<()> {
        self.number += 1;
        self.bytes.clear();
        self.bytes.extend_from_slice(&self.number.to_le_bytes());
        let len = input.len() as u64;
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.extend_from_slice(input);
        self.file.write_all_at(&self.bytes, 0)
    }
}

/// How a process ended that noted its inputs.
#[derive(Debug)]
pub enum Watched {
    /// By itself.
    Ended(ExitStatus),
    /// Within an input, or it was ended because of one.
    Broken(Broken),
}

/// Waits for a process that notes its inputs in this file, and ends it where one input takes longer than the limit.
pub fn watch(child: &mut Child, noted: &Path, limit: Duration) -> io::Result<Watched> {
    let mut last = (number_in(noted)?, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            let Some(signal) = status.signal() else {
                return Ok(Watched::Ended(status));
            };
            let why = format!("the process was ended by signal {signal}");
            return Ok(Watched::Broken(Broken {
                input: input_in(noted)?,
                why,
            }));
        }
        let number = number_in(noted)?;
        if number != last.0 {
            last = (number, Instant::now());
        } else if last.1.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            let why = format!("took longer than {limit:?}, and was ended");
            return Ok(Watched::Broken(Broken {
                input: input_in(noted)?,
                why,
            }));
        }
        sleep(LOOK_EVERY);
    }
}

/// Which input is being tried: 0 where none was begun.
fn number_in(noted: &Path) -> io::Result<u64> {
    let mut bytes = [0; 8];
    let read = match File::open(noted) {
        Ok(file) => file.read_at(&mut bytes, 0)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    Ok(if read == bytes.len() {
        u64::from_le_bytes(bytes)
    } else {
        0
    })
}

fn input_in(noted: &Path) -> io::Result<Vec<u8>> {
    let bytes = std::fs::read(noted)?;
    let none = || io::Error::other("the process ended before its first input");
    let (head, input) = bytes.split_at_checked(HEAD).ok_or_else(none)?;
    let len = u64::from_le_bytes(head[8..].try_into().expect("eight bytes"));
    // A longer one of before may lie behind it.
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    Ok(input[..len.min(input.len())].to_vec())
}
