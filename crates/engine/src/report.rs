//! What a run comes to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::stats::Stats;

/// A run, ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// The collection.
    pub collection: String,
    /// Why it ended.
    pub reason: EndReason,
    /// What was counted in this run.
    pub stats: Stats,
    /// How long this process worked on it.
    pub elapsed: Duration,
    /// Documents that this process fetched: a run may go on over several.
    pub fetched_here: u64,
    /// Blocks of URLs on disk could not be read; the next start makes them again from the journal.
    pub blocks_damaged: bool,
    /// Links that this process met and that name nothing to fetch, by scheme: `mailto`, `javascript`, `data`…
    pub schemes: BTreeMap<&'static str, u64>,
    /// URLs ever met.
    pub known_urls: u64,
    /// URLs that still wait.
    pub waiting: u64,
    /// Hosts ever met.
    pub hosts: usize,
    /// Documents answered in this run.
    pub fetched: u64,
    /// URLs by state, over the whole collection.
    pub states: BTreeMap<&'static str, u64>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Nothing is left that is due within a minute.
    Done,
    /// `--max-pages`.
    MaxPages,
    /// `--max-bytes`.
    MaxBytes,
    /// `--max-time`.
    MaxTime,
    /// `schedule.deadline`.
    Deadline,
    /// SIGINT or SIGTERM.
    Interrupted,
    /// `teia stop`.
    Stopped,
}

impl EndReason {
    /// The word in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::MaxPages => "max-pages",
            Self::Deadline => "deadline",
            Self::MaxBytes => "max-bytes",
            Self::MaxTime => "max-time",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
        }
    }

    /// For people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Done => "nothing is left to fetch",
            Self::MaxPages => "the limit of pages is reached",
            Self::MaxBytes => "the limit of bytes is reached",
            Self::MaxTime => "the time is up",
            Self::Deadline => "its deadline has come",
            Self::Interrupted => "interrupted; everything fetched is safe",
            Self::Stopped => "stopped; everything fetched is safe",
        }
    }
}

impl Report {
    /// The object of `--report json`.
    pub fn to_json(&self) -> serde_json::Value {
        let seconds = self.elapsed.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = if seconds > 0.0 {
            self.fetched_here as f64 / seconds
        } else {
            0.0
        };
        serde_json::json!({
            "collection": self.collection,
            "reason": self.reason.name(),
            "fetched": self.fetched,
            "bytes": self.stats.bytes,
            "seconds": seconds,
            "pages_per_second": rate,
            "known_urls": self.known_urls,
            "waiting": self.waiting,
            "hosts": self.hosts,
            "codes": self.stats.codes.iter().map(|(code, count)| (code.to_string(), *count)).collect::<BTreeMap<_, _>>(),
            "types": self.stats.types,
            "duplicates": self.stats.duplicates,
            "states": self.states,
            "schemes": self.schemes,
        })
    }
}
