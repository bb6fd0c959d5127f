//! `./dev soak fuzz`: broken input for as long as told.
#![allow(clippy::print_stdout, reason = "this is what it is for")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use teia_base::{Clock as _, SystemClock, Timestamp};
use teia_fuzz::{TARGETS, keep, run_target};

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
    println!("seed {seed}");
    let mut broken = 0;
    for target in TARGETS {
        if !options.target.is_empty() && !options.target.iter().any(|name| name == target.name) {
            continue;
        }
        let end = Instant::now() + Duration::from_secs(options.seconds);
        let ran = run_target(target, seed, |_| Instant::now() < end);
        match ran.broken {
            None => println!(
                "{:12} {:>9} inputs, slowest {:?} of CPU",
                target.name, ran.inputs, ran.slowest
            ),
            Some(found) => {
                broken += 1;
                let kept = keep(target.name, &found.input);
                let path =
                    kept.map_or_else(|error| error.to_string(), |path| path.display().to_string());
                println!(
                    "{:12} BROKEN after {}: {}\n             {path}",
                    target.name, ran.inputs, found.why
                );
            }
        }
    }
    if broken == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
