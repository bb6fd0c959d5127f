//! Runs: where they stand, and what they are told. They may be in this process or in another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use teia_base::{Clock, SystemClock};
use teia_engine::{
    Asked, Attempted, CollectionConfig, CollectionFile, Counts, Delivery, Happened, Point, Watch,
    ask, deliveries, events, run_of,
};

use super::files::with_settings;
use super::machine::{keep_to_operators, keep_to_the_machine};
use super::{Desk, DeskError};

/// How long a run that was asked for may take to appear.
const APPEARS: Duration = Duration::from_secs(4);

/// What a run can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// To begin, or to go on.
    Start,
    /// To make no new requests.
    Pause,
    /// To make requests again.
    Resume,
    /// To commit what it has, and end.
    Stop,
}

impl Order {
    fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Stop => "stop",
        }
    }
}

/// A run under way.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Standing {
    /// The collection.
    pub(crate) name: String,
    /// `running`, `paused`, `resting`, `stopping`, or `starting`.
    pub(crate) state: &'static str,
    /// Why it rests.
    pub(crate) reason: Option<String>,
    /// The process in which it is.
    pub(crate) process: Option<u64>,
    /// Whether a pause or its end is on disk, and outlives a kill.
    pub(crate) noted: bool,
    /// Its figures.
    pub(crate) rates: Option<Rates>,
    /// What was counted since its process began with the collection.
    #[serde(skip)]
    pub(crate) counts: Counts,
}

/// The figures of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Rates {
    /// Documents answered in this run.
    pub(crate) fetched: u64,
    /// Bytes received in this run.
    pub(crate) bytes: u64,
    /// Attempts without an answer, or with an error.
    pub(crate) errors: u64,
    /// URLs that wait.
    pub(crate) queue: u64,
    /// URLs ever met.
    pub(crate) known: u64,
    /// Hosts being asked.
    pub(crate) hosts_active: u64,
    /// Hosts that rest or wait for their turn.
    pub(crate) hosts_waiting: u64,
    /// Hosts that may be asked at once.
    pub(crate) hosts_limit: u64,
    /// Since the start.
    pub(crate) elapsed_seconds: f64,
    /// Over the last few seconds.
    pub(crate) pages_per_second: f64,
    /// Over the last few seconds.
    pub(crate) bytes_per_second: f64,
    /// Time left, where a limit makes it computable.
    pub(crate) left_seconds: Option<f64>,
    /// How much of the nearest limit is used up, from 0 to 1.
    pub(crate) share: Option<f64>,
    /// What is being asked for; of many, what takes longest.
    pub(crate) asking: Vec<Asked>,
}

/// A moment of a collection, for those who watch.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Live {
    /// When.
    pub(crate) at: String,
    /// The collection.
    pub(crate) name: String,
    /// As in a card; `idle` where nothing runs.
    pub(crate) state: &'static str,
    /// Why it rests.
    pub(crate) reason: Option<String>,
    /// Its figures.
    pub(crate) rates: Option<Rates>,
    /// What was attempted lately, newest first.
    pub(crate) attempts: Vec<Attempted>,
    /// What was said lately, oldest first.
    pub(crate) events: Vec<Happened>,
    /// How the run came to where it stands; for curves.
    #[serde(skip)]
    pub(crate) points: Vec<Point>,
}

/// What was heard of the runs of a collection.
#[derive(Debug, Default)]
struct Heard {
    events: Vec<Happened>,
    attempts: Vec<Attempted>,
    points: Vec<Point>,
}

/// Whether a level is this one or worse: who wants to see warnings wants to see errors. Every level is as bad as none.
pub(crate) fn is_as_bad(level: &str, least: &str) -> bool {
    let weight = |level: &str| LEVELS.iter().position(|known| *known == level);
    weight(level) >= weight(least)
}

/// Levels of events, from the lightest on.
pub(crate) const LEVELS: [&str; 3] = ["info", "warning", "error"];

impl Desk {
    /// All runs under way.
    pub(super) fn standings(&self) -> Result<Vec<Standing>, DeskError> {
        let Some(reply) = self.say("status")? else {
            return Ok(Vec::new());
        };
        let runs = reply["runs"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(runs.iter().filter_map(Standing::of).collect())
    }

    /// The run of a collection, if it runs.
    pub(crate) fn standing(&self, name: &str) -> Result<Option<Standing>, DeskError> {
        let reply = self.say("status")?;
        Ok(reply
            .as_ref()
            .and_then(|reply| run_of(reply, name))
            .and_then(Standing::of))
    }

    /// Tells the run of a collection what to do, and says where it stands then.
    pub(crate) fn tell(&self, name: &str, order: Order) -> Result<Standing, DeskError> {
        let (_, reading) = self.reading(name)?;
        let name = reading.layout().name();
        let reply = self.say(&format!("{} {name}", order.word()))?;
        match reply {
            Some(reply) if !reply["error"].is_string() => {
                if order == Order::Start {
                    return self.appears(name);
                }
                let run = run_of(&reply, name).and_then(Standing::of);
                run.ok_or_else(|| DeskError::Conflict(format!("`{name}` does not run")))
            }
            Some(reply) => {
                let why = reply["error"].as_str().unwrap_or_default();
                Err(DeskError::Conflict(format!("`{name}` does not run: {why}")))
            }
            None if order == Order::Start => self.begin(name),
            None => Err(DeskError::Conflict(format!("`{name}` does not run"))),
        }
    }

    /// Lets a run go on; one that was paused in a process that is gone is begun first.
    pub(crate) fn resume(&self, name: &str) -> Result<Standing, DeskError> {
        let told = self.tell(name, Order::Resume);
        if !matches!(told, Err(DeskError::Conflict(_))) {
            return told;
        }
        let is_paused = self.with_overview(name, |overview| {
            Ok(overview.runs.last().is_some_and(|run| run.paused))
        })?;
        if !is_paused {
            return told;
        }
        self.tell(name, Order::Start)?;
        self.tell(name, Order::Resume)
    }

    /// Begins a run in this process, where nobody collects in the directory.
    fn begin(&self, name: &str) -> Result<Standing, DeskError> {
        let begun = self.runs.as_ref().is_some_and(|runs| runs.start(name));
        if !begun {
            let sentence = "this server only shows what is there (--no-collect), and nobody collects in the directory: start it without, or use `teia crawl`";
            return Err(DeskError::Conflict(sentence.to_owned()));
        }
        self.appears(name)
    }

    /// Waits a little for a run that was asked for, and says where one stands that could not begin.
    fn appears(&self, name: &str) -> Result<Standing, DeskError> {
        let until = Instant::now() + APPEARS;
        loop {
            let standing = self.standing(name)?;
            let is_late = Instant::now() >= until;
            match standing {
                Some(standing) if standing.state != "starting" || is_late => return Ok(standing),
                _ => {}
            }
            if let Some(why) = self.failure(name)? {
                return Err(DeskError::Conflict(why));
            }
            if is_late {
                return Ok(Standing {
                    name: name.to_owned(),
                    state: "starting",
                    reason: None,
                    process: None,
                    noted: false,
                    rates: None,
                    counts: Counts::default(),
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Why the last run of a collection could not begin or go on, where it could not; also in another process.
    pub(super) fn failure(&self, name: &str) -> Result<Option<String>, DeskError> {
        if let Some(why) = self.runs.as_ref().and_then(|runs| runs.failure(name)) {
            return Ok(Some(why));
        }
        let reply = self.say(&format!("failure {name}"))?;
        Ok(reply.and_then(|reply| reply["failure"].as_str().map(str::to_owned)))
    }

    /// Other settings for the run under way alone; the file stays as it is. Says what came of it.
    pub(crate) fn change_run(
        &self,
        name: &str,
        settings: &BTreeMap<String, Value>,
    ) -> Result<String, DeskError> {
        let (directory, reading) = self.reading(name)?;
        let (name, layout) = (reading.layout().name(), reading.layout());
        let told = |line: &str| -> Result<Value, DeskError> {
            let reply = self.say(line)?;
            let reply =
                reply.ok_or_else(|| DeskError::Conflict(format!("`{name}` does not run")))?;
            match reply["error"].as_str() {
                Some(why) => Err(DeskError::Conflict(format!("`{name}`: {why}"))),
                None => Ok(reply),
            }
        };
        let now = told(&format!("settings {name}"))?;
        let now = now["settings"].as_str().unwrap_or_default().to_owned();
        let file = CollectionFile::new(directory.root(), layout, now)?;
        let before = file.config().clone();
        let wanted: &CollectionConfig = &with_settings(file, settings)?.config().clone();
        keep_to_the_machine(&before, wanted, self.inside)?;
        keep_to_operators(&before, wanted)?;
        let text = Value::from(wanted.without_secrets().to_toml());
        let reply = told(&format!("change {name} {text}"))?;
        Ok(reply["answer"].as_str().unwrap_or("changed").to_owned())
    }

    /// What was said of the runs of a collection lately, oldest first.
    pub(crate) fn events(&self, name: &str) -> Result<Vec<Happened>, DeskError> {
        let (_, reading) = self.reading(name)?;
        Ok(self.heard(reading.layout().name())?.events)
    }

    /// The same, of this level and worse.
    pub(crate) fn events_from(&self, name: &str, least: &str) -> Result<Vec<Happened>, DeskError> {
        let mut events = self.events(name)?;
        events.retain(|event| is_as_bad(&event.level, least));
        Ok(events)
    }

    /// What its webhooks were told lately, newest first; also by runs in other processes.
    pub(crate) fn deliveries(&self, name: &str) -> Result<Vec<Delivery>, DeskError> {
        let (directory, reading) = self.reading(name)?;
        Ok(deliveries(&*directory.files(), reading.layout()))
    }

    /// This moment of a collection.
    pub(crate) fn live(&self, name: &str) -> Result<Live, DeskError> {
        let (_, reading) = self.reading(name)?;
        let name = reading.layout().name();
        let standing = self.standing(name)?;
        let Heard {
            events,
            attempts,
            points,
        } = self.heard(name)?;
        Ok(Live {
            at: SystemClock.wall().to_string(),
            name: name.to_owned(),
            state: standing.as_ref().map_or("idle", |standing| standing.state),
            reason: standing
                .as_ref()
                .and_then(|standing| standing.reason.clone()),
            rates: standing.and_then(|standing| standing.rates),
            attempts,
            events,
            points,
        })
    }

    /// What was counted, by collection: in this process since its start, in another while it runs.
    pub(crate) fn counts(&self) -> BTreeMap<String, Counts> {
        let mut counts = BTreeMap::new();
        for standing in self.standings().unwrap_or_default() {
            counts.insert(standing.name, standing.counts);
        }
        for (name, watch) in self.watches() {
            counts.insert(name, watch.counts());
        }
        counts
    }

    /// Runs under way, for metrics.
    pub(crate) fn under_way(&self) -> Vec<Standing> {
        self.standings().unwrap_or_default()
    }

    fn heard(&self, name: &str) -> Result<Heard, DeskError> {
        let own = self.watches().into_iter().find(|(known, _)| known == name);
        if let Some((_, watch)) = own {
            return Ok(Heard {
                events: watch.events(),
                attempts: watch.attempts(),
                points: watch.points(),
            });
        }
        let (directory, reading) = self.reading(name)?;
        let written = || events(&*directory.files(), reading.layout());
        let Some(reply) = self.say(&format!("events {name}"))? else {
            return Ok(Heard {
                events: written(),
                ..Heard::default()
            });
        };
        let events = serde_json::from_value(reply["events"].clone()).unwrap_or_else(|_| written());
        let attempts = serde_json::from_value(reply["attempts"].clone()).unwrap_or_default();
        let points = serde_json::from_value(reply["points"].clone()).unwrap_or_default();
        Ok(Heard {
            events,
            attempts,
            points,
        })
    }

    fn watches(&self) -> Vec<(String, Arc<Watch>)> {
        self.runs
            .as_ref()
            .map_or_else(Vec::new, |runs| runs.watches())
    }

    /// Says a line to the process that collects in the directory; nothing where there is none.
    fn say(&self, line: &str) -> Result<Option<Value>, DeskError> {
        Ok(ask(&self.root.join("control.sock"), line)?)
    }
}

impl Standing {
    /// As the process in which it runs tells of it.
    fn of(run: &Value) -> Option<Self> {
        let name = run["collection"].as_str()?.to_owned();
        let told = run["state"].as_str().unwrap_or("running");
        let (state, reason) = match told {
            "running" => ("running", None),
            "paused" => ("paused", None),
            "stopping" => ("stopping", None),
            "starting" => ("starting", None),
            // Why it makes no requests.
            other => ("resting", Some(other.to_owned())),
        };
        Some(Self {
            name,
            state,
            reason,
            process: run["process"].as_u64(),
            noted: run["noted"].as_bool().unwrap_or(true),
            rates: Rates::of(&run["progress"]),
            counts: serde_json::from_value(run["counts"].clone()).unwrap_or_default(),
        })
    }
}

impl Rates {
    fn of(progress: &Value) -> Option<Self> {
        progress.as_object()?;
        let count = |key: &str| progress[key].as_u64().unwrap_or(0);
        let number = |key: &str| progress[key].as_f64().unwrap_or(0.0);
        let seconds = |key: &str| {
            let time = progress[key].as_object()?;
            let (whole, part) = (time.get("secs")?.as_u64()?, time.get("nanos")?.as_u64()?);
            let part = u32::try_from(part).ok()?;
            Some(Duration::new(whole, part).as_secs_f64())
        };
        Some(Self {
            fetched: count("fetched"),
            bytes: count("bytes"),
            errors: count("errors"),
            queue: count("queue"),
            known: count("known"),
            hosts_active: count("hosts_active"),
            hosts_waiting: count("hosts_waiting"),
            hosts_limit: count("hosts_limit"),
            elapsed_seconds: seconds("elapsed").unwrap_or(0.0),
            pages_per_second: number("pages_per_second"),
            bytes_per_second: number("bytes_per_second"),
            left_seconds: seconds("left"),
            share: progress["share"].as_f64(),
            asking: serde_json::from_value(progress["asking"].clone()).unwrap_or_default(),
        })
    }
}
