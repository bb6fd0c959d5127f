//! `./dev soak fuzz`: broken input for as long as told.
#![allow(clippy::print_stdout, reason = "this is what it is for")]

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::Parser;
use rustix::process::{Signal, set_parent_process_death_signal};
use teia_base::{Clock as _, SystemClock, Timestamp};
use teia_fuzz::{Broken, TARGETS, Target, Tried, Watched, keep, run_target, watch};

/// No input may keep a target for longer, however busy the machine is; what uses the processor has a limit of its own.
const HANGS: Duration = Duration::from_secs(60);
/// What a process says by its exit code when it has found something and told it.
const FOUND: u8 = 1;

/// Gives broken input to everything that reads what others wrote.
#[derive(Parser)]
struct Options {
    /// Only these targets.
    #[arg(long)]
    target: Vec<String>,
    /// So long for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where the changes begin; the time, where it is not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Tries the targets in this process, and notes each input here before.
    #[arg(long, hide = true)]
    noted: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    if let Some(other) = options
        .target
        .iter()
        .find(|name| !names.contains(&name.as_str()))
    {
        println!(
            "there is no target `{other}`; there are: {}",
            names.join(", ")
        );
        return ExitCode::from(2);
    }
    let now = SystemClock.wall().since(Timestamp::default());
    let seed = options.seed.unwrap_or(now.as_secs());
    if options.noted.is_none() {
        println!("seed {seed}");
    }
    let is_wanted = |target: &&Target| {
        options.target.is_empty() || options.target.iter().any(|name| name == target.name)
    };
    let mut broken = 0;
    for target in TARGETS.iter().filter(is_wanted) {
        let sound = match &options.noted {
            Some(noted) => try_here(target, seed, options.seconds, noted),
            None => try_apart(target, seed, options.seconds),
        };
        match sound {
            Ok(sound) => broken += u32::from(!sound),
            Err(error) => {
                println!("{:12} could not be tried: {error}", target.name);
                return ExitCode::from(2);
            }
        }
    }
    if broken == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FOUND)
    }
}

/// Tries a target in a process of its own, which may loop for ever or die; whether nothing broke.
fn try_apart(target: &Target, seed: u64, seconds: u64) -> io::Result<bool> {
    let folder = tempfile::tempdir()?;
    let noted = folder.path().join("tried");
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--target", target.name])
        .args(["--seconds", &seconds.to_string()])
        .args(["--seed", &seed.to_string()])
        .arg("--noted")
        .arg(&noted)
        .spawn()?;
    match watch(&mut child, &noted, HANGS)? {
        Watched::Ended(status) if status.success() => Ok(true),
        Watched::Ended(status) if status.code() == Some(FOUND.into()) => Ok(false),
        Watched::Ended(status) => Err(io::Error::other(format!("its process ended: {status}"))),
        Watched::Broken(found) => {
            tell(target, &found);
            Ok(false)
        }
    }
}

fn try_here(target: &Target, seed: u64, seconds: u64, noted: &Path) -> io::Result<bool> {
    // Nobody is left to end this process if the one that watches is gone.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut tried = Tried::create(noted)?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let ran = run_target(target, seed, Some(&mut tried), |_| Instant::now() < end)?;
    match &ran.broken {
        None => println!(
            "{:12} {:>9} inputs, slowest {:?} of CPU",
            target.name, ran.inputs, ran.slowest
        ),
        Some(found) => tell(target, found),
    }
    Ok(ran.broken.is_none())
}

/// Keeps what broke something, and says where.
fn tell(target: &Target, found: &Broken) {
    let kept = keep(target.name, &found.input);
    let path = kept.map_or_else(|error| error.to_string(), |path| path.display().to_string());
    println!(
        "{:12} BROKEN: {}\n             {path}",
        target.name, found.why
    );
}
