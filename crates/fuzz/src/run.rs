//! Gives inputs to a target and says what broke.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::{Mutator, Target, Tried, corpus_of};

/// No input of 64 KiB may take longer: ten times what the slowest takes on a busy machine.
const MAX_CPU: Duration = Duration::from_secs(5);

/// How a run went.
#[derive(Debug)]
pub struct Ran {
    /// Inputs tried.
    pub inputs: u64,
    /// The most CPU time that one took.
    pub slowest: Duration,
    /// The first input that broke something; the run ended with it.
    pub broken: Option<Broken>,
}

/// An input that broke something.
#[derive(Debug)]
pub struct Broken {
    /// The input.
    pub input: Vec<u8>,
    /// What went wrong.
    pub why: String,
}

/// Tries the kept inputs of a target, its examples, and then changed ones while `goes_on` says so; each is noted before.
pub fn run_target(
    target: &Target,
    seed: u64,
    mut tried: Option<&mut Tried>,
    mut goes_on: impl FnMut(u64) -> bool,
) -> io::Result<Ran> {
    let kept = corpus_of(target.name)?.into_iter();
    let mut bases: Vec<Vec<u8>> = kept.map(|(_, input)| input).collect();
    bases.extend((target.examples)());
    let mut known = bases.clone();
    let mut mutator = Mutator::new(seed);
    let mut ran = Ran {
        inputs: 0,
        slowest: Duration::ZERO,
        broken: None,
    };
    while !known.is_empty() || goes_on(ran.inputs) {
        let input = known
            .pop()
            .unwrap_or_else(|| mutator.make(&bases, target.words));
        ran.inputs += 1;
        if let Some(tried) = &mut tried {
            tried.note(&input)?;
        }
        let began = cpu_time();
        let result = catch_unwind(AssertUnwindSafe(|| (target.read)(&input)));
        let took = cpu_time().saturating_sub(began);
        ran.slowest = ran.slowest.max(took);
        let why = match result {
            Err(panic) => Some(panic_text(&*panic)),
            Ok(Err(why)) => Some(why),
            Ok(Ok(())) if took > MAX_CPU => Some(format!("took {took:?} of CPU")),
            Ok(Ok(())) => None,
        };
        if let Some(why) = why {
            ran.broken = Some(Broken { input, why });
            return Ok(ran);
        }
    }
    Ok(ran)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without a text"))
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanoseconds)
}
