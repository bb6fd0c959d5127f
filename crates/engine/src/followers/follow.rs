//! Following the journal: the loop that all followers share.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use teia_base::journal::{Entry, EntryStream, JournalError};
use teia_base::{Document, Files};

use super::queue::{Queue, Task};
use super::reread::Rereader;
use crate::collection::CollectionConfig;
use crate::directory::Layout;
use crate::feedback::{Event, Feedback, Level};

/// The rest after an error of the disk.
const REST: Duration = Duration::from_secs(5);

/// Where the documents of an entry come from.
#[derive(Clone, Copy)]
pub(super) enum Documents<'a> {
    /// The engine handed them over.
    Handed(&'a [Document]),
    /// They are read again from the archive.
    Archived(&'a Rereader),
}

/// What went wrong.
#[derive(Debug)]
pub(super) struct Trouble {
    /// What lies on disk cannot be used: it is built anew.
    pub(super) is_damage: bool,
    pub(super) text: String,
}

impl Trouble {
    pub(super) fn of(error: &dyn std::error::Error, is_damage: bool) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            text.push_str(&format!(": {inner}"));
            cause = inner.source();
        }
        Self { is_damage, text }
    }

    fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Self {
            is_damage: true,
            text: format!("it panicked: {}", text.unwrap_or("without a word")),
        }
    }
}

impl From<JournalError> for Trouble {
    fn from(error: JournalError) -> Self {
        Self::of(&error, false)
    }
}

/// One that follows the journal, and can always be built anew from it and the archive.
pub(super) trait Follower: Send {
    /// What it is called, and where it comes from when it is built anew.
    const NAME: &'static str;
    const SOURCE: &'static str;
    /// Errors in a row after which it waits for the next run.
    const MOST_FAILURES: u32 = 5;

    /// What is done where it cannot be used.
    fn remedy(&self) -> String {
        format!("it is built anew from the {}", Self::SOURCE)
    }

    /// Opens what is on disk, or begins anew; its position, which is the last entry that it has.
    fn open(&mut self, anew: bool) -> Result<u64, Trouble>;

    /// Takes in an entry.
    fn apply(&mut self, entry: &Entry, documents: Documents<'_>) -> Result<(), Trouble>;

    /// Makes everything up to this entry durable and visible.
    fn commit(&mut self, position: u64) -> Result<(), Trouble>;

    /// A piece of what can wait; whether there was any.
    fn spare(&mut self) -> Result<bool, Trouble> {
        Ok(false)
    }
}

/// A follower and all that its thread needs.
pub(super) struct Follow<F> {
    pub(super) follower: F,
    pub(super) queue: Arc<Queue>,
    pub(super) commit_every: Duration,
    pub(super) files: Arc<dyn Files>,
    pub(super) layout: Layout,
    pub(super) config: Arc<CollectionConfig>,
    pub(super) feedback: Arc<dyn Feedback>,
}

/// How far it is.
struct Place {
    /// Taken in.
    applied: u64,
    /// On disk.
    committed: u64,
    at: Instant,
}

impl<F: Follower> Follow<F> {
    /// Follows until the queue ends; gives the follower back, unless it could not go on.
    pub(super) fn run(mut self) -> Option<F> {
        let mut was_rebuilt = false;
        let mut failures = 0;
        let mut anew = false;
        loop {
            let began = self.queue.committed();
            let went = catch_unwind(AssertUnwindSafe(|| self.go(anew)));
            let trouble = match went {
                Ok(Ok(())) => return Some(self.follower),
                Ok(Err(trouble)) => trouble,
                Err(panic) => Trouble::of_panic(&*panic),
            };
            if self.queue.is_stopped() {
                return None;
            }
            let (name, collection) = (F::NAME, self.layout.name());
            if trouble.is_damage && !was_rebuilt {
                self.say(
                    Level::Warning,
                    format!(
                        "the {name} of {collection} cannot be used ({}): {}",
                        trouble.text,
                        self.follower.remedy()
                    ),
                );
                (was_rebuilt, anew) = (true, true);
                continue;
            }
            // Failures count only in a row.
            failures = if self.queue.committed() > began + 1000 {
                1
            } else {
                failures + 1
            };
            // At the end of a run nobody waits for a disk to recover.
            if failures >= F::MOST_FAILURES || trouble.is_damage || self.queue.is_over() {
                self.say(
                    Level::Error,
                    format!(
                        "the {name} of {collection} stays where it is ({}); collecting goes on, and the next run goes on with it",
                        trouble.text
                    ),
                );
                self.queue.stop();
                return None;
            }
            if failures == 1 {
                self.say(
                    Level::Warning,
                    format!(
                        "the {name} of {collection} cannot go on for now ({}); it is tried again",
                        trouble.text
                    ),
                );
            }
            anew = false;
            if !self.queue.rest(REST) {
                return None;
            }
        }
    }

    fn go(&mut self, anew: bool) -> Result<(), Trouble> {
        let mut position = self.follower.open(anew)?;
        if position > self.queue.committed() {
            return Err(Trouble {
                is_damage: true,
                text: format!(
                    "it has entry {position}, and the journal ends with {}",
                    self.queue.committed()
                ),
            });
        }
        if anew {
            position = 0;
        }
        self.queue.note_begin(position);
        let mut place = Place {
            applied: position,
            committed: position,
            at: Instant::now(),
        };
        loop {
            let patience = self.commit_every.saturating_sub(place.at.elapsed());
            match self.queue.next(place.applied, patience) {
                Task::Apply(handed) => {
                    let documents = Documents::Handed(&handed.documents);
                    self.follower.apply(&handed.entry, documents)?;
                    place.applied = handed.entry.sequence;
                }
                Task::CatchUp(until) => self.catch_up(&mut place, until)?,
                Task::Nothing => {}
                Task::End => break,
            }
            self.commit_if_due(&mut place)?;
        }
        if place.applied > place.committed {
            self.follower.commit(place.applied)?;
        }
        let left = self.queue.committed().saturating_sub(place.applied);
        if left > 0 {
            let (what, whose) = (F::NAME, self.layout.name());
            let commits = if left == 1 { "commit" } else { "commits" };
            self.say(
                Level::Info,
                format!("the {what} of {whose} lacks the last {left} {commits}; the next run goes on with it"),
            );
        }
        Ok(())
    }

    /// Reads what it lacks from the journal, and the texts from the archive.
    fn catch_up(&mut self, place: &mut Place, until: u64) -> Result<(), Trouble> {
        let archive = self.layout.archive();
        let rereader = Rereader::open(Arc::clone(&self.files), &archive, &self.config)
            .map_err(|error| Trouble::of(&error, false))?;
        let journal: PathBuf = self.layout.journal();
        let files = Arc::clone(&self.files);
        for entry in EntryStream::open(files, &journal, place.applied + 1, until)? {
            let entry = entry?;
            self.follower
                .apply(&entry, Documents::Archived(&rereader))?;
            place.applied = entry.sequence;
            self.commit_if_due(place)?;
            if self.queue.is_stopped() {
                break;
            }
        }
        Ok(())
    }

    fn commit_if_due(&mut self, place: &mut Place) -> Result<(), Trouble> {
        if place.at.elapsed() < self.commit_every {
            return Ok(());
        }
        let has_more = self.follower.spare()?;
        if place.applied > place.committed || has_more {
            self.follower.commit(place.applied)?;
            place.committed = place.applied;
            self.queue.note_visible(place.committed);
        }
        place.at = Instant::now();
        Ok(())
    }

    fn say(&self, level: Level, text: String) {
        self.feedback.hear(&Event::Notice { level, text });
    }
}
