//! What the ring says while it runs: typed events, and who listens.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_base::{CanonicalUrl, Outcome, Times};

use crate::report::EndReason;

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For those who want to watch.
    Info,
    /// Somebody may want to do something.
    Warning,
    /// Somebody has to.
    Error,
}

/// Something that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// An attempt has ended and was accepted (it is not yet committed).
    Attempted {
        /// At what.
        url: CanonicalUrl,
        /// What became of it.
        outcome: Outcome,
        /// Whether it brought a page as runs count them: an answer for good, with whatever status, and not of robots.txt.
        is_page: bool,
        /// Bytes that came.
        bytes: u64,
        /// How long its parts took.
        times: Times,
    },
    /// A commit is on disk.
    Committed {
        /// Its number.
        sequence: u64,
        /// Attempts in it.
        attempts: usize,
    },
    /// Where the run stands; about five times a second.
    Progress(Progress),
    /// The run is written down as begun.
    Begun {
        /// Its number.
        run: u32,
        /// An earlier process began it.
        goes_on: bool,
    },
    /// The run is over, and all of it is on disk; or it failed, and this is why.
    Ended(Result<EndReason, String>),
    /// A person let the run rest, and that is on disk.
    Paused,
    /// A person let it go on, and that is on disk.
    Resumed,
    /// A kind of URL is left out as a trap from here on, and that is on disk.
    Quarantined {
        /// Of this host.
        host: String,
        /// As settings name it.
        pattern: String,
    },
    /// An earlier process was paused, and nobody has said that it may go on: the run rests.
    StillPaused,
    /// Something to know, in a sentence.
    Notice {
        /// How much it matters.
        level: Level,
        /// The sentence.
        text: String,
    },
}

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Progress {
    /// Documents answered in this run.
    pub fetched: u64,
    /// Bytes received in this run.
    pub bytes: u64,
    /// URLs that wait.
    pub queue: u64,
    /// URLs ever met.
    pub known: u64,
    /// Hosts being asked.
    pub hosts_active: usize,
    /// Hosts that rest or wait for their turn.
    pub hosts_waiting: usize,
    /// Hosts that may be asked at once now.
    pub hosts_limit: usize,
    /// Attempts of this run that brought no answer, or an error status.
    pub errors: u64,
    /// Since the start.
    pub elapsed: Duration,
    /// Documents a second over the last few seconds.
    pub pages_per_second: f64,
    /// Bytes a second over the last few seconds.
    pub bytes_per_second: f64,
    /// Time left, where a limit makes it computable.
    pub left: Option<Duration>,
    /// How much of the nearest limit is used up, from 0 to 1, where there is one.
    pub share: Option<f64>,
    /// Why nothing is fetched at the moment: `paused`, or `waiting for disk space`.
    pub rest: Option<&'static str>,
    /// What is being asked for now: of many, those that take longest.
    pub asking: Vec<Asked>,
}

/// A request that is under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Whom, and for what.
    pub url: String,
    /// For how long, in seconds.
    pub seconds: f64,
}

/// Listens to a run. Called from the ring's own loop, and by the thread of the Analyzers: must be quick
/// and must not block.
///
/// [`Silence`] is the null implementation; the command line's progress bar is another.
pub trait Feedback: Send + Sync + fmt::Debug + 'static {
    /// Something happened.
    fn hear(&self, event: &Event);

    /// Whether `Attempted` events are wanted; they are many.
    fn wants_attempts(&self) -> bool {
        false
    }
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence;

impl Feedback for Silence {
    fn hear(&self, _event: &Event) {}
}
