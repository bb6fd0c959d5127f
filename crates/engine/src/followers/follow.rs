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

/// Whose panic over what was just built anew was noted; a later program may do better.
const VERSION: &str = env!("CARGO_PKG_VERSION");

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
            let (trouble, has_panicked) = match went {
                Ok(Ok(())) => {
                    self.forget_panic();
                    return Some(self.follower);
                }
                Ok(Err(trouble)) => (trouble, false),
                Err(panic) => (Trouble::of_panic(&*panic), true),
            };
            if self.queue.is_stopped() {
                return None;
            }
            // What panics over what was just built anew is not damaged: something that was collected makes it panic. The next
            // run is not to build everything anew for the same end.
            if has_panicked && was_rebuilt {
                self.note_panic();
            }
            was_rebuilt |= has_panicked && self.is_panic_known();
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

    /// Where it is noted that what was built anew made this follower panic.
    fn panic_note(&self) -> PathBuf {
        self.layout.crashes().join(F::NAME.replace(' ', "-"))
    }

    fn is_panic_known(&self) -> bool {
        let noted = self.files.read(&self.panic_note());
        noted.is_ok_and(|version| version == VERSION.as_bytes())
    }

    /// Where it cannot be noted, the next run tries once more.
    fn note_panic(&self) {
        let written = self.files.create_dir(&self.layout.crashes());
        let written =
            written.and_then(|()| self.files.replace(&self.panic_note(), VERSION.as_bytes()));
        if let Err(error) = written {
            tracing::warn!(%error, "a panic of the {} could not be noted", F::NAME);
        }
    }

    fn forget_panic(&self) {
        let note = self.panic_note();
        if self.files.exists(&note)
            && let Err(error) = self.files.remove(&note)
        {
            tracing::warn!(%error, "the note of a panic of the {} stays", F::NAME);
        }
    }

    fn say(&self, level: Level, text: String) {
        self.feedback.hear(&Event::Notice { level, text });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::queue::Full;
    use super::*;
    use teia_base::SimulatedDisk;

    /// Panics over what it has, or not, and counts how often that was built anew.
    struct Frail {
        panics: bool,
        rebuilt: Arc<AtomicUsize>,
    }

    impl Follower for Frail {
        const NAME: &'static str = "frail one";
        const SOURCE: &'static str = "journal";

        fn open(&mut self, anew: bool) -> Result<u64, Trouble> {
            self.rebuilt.fetch_add(usize::from(anew), Ordering::SeqCst);
            match self.panics {
                true => std::panic::resume_unwind(Box::new("it is frail")),
                false => Ok(0),
            }
        }

        fn apply(&mut self, _: &Entry, _: Documents<'_>) -> Result<(), Trouble> {
            Ok(())
        }

        fn commit(&mut self, _: u64) -> Result<(), Trouble> {
            Ok(())
        }
    }

    #[derive(Debug, Default)]
    struct Notices(Mutex<Vec<String>>);

    impl Feedback for Notices {
        fn hear(&self, event: &Event) {
            if let Event::Notice { text, .. } = event {
                self.0.lock().unwrap().push(text.clone());
            }
        }
    }

    /// A run: how often it was built anew, and what was said last.
    fn follow(files: &Arc<dyn Files>, panics: bool) -> (usize, String) {
        let rebuilt: Arc<AtomicUsize> = Arc::default();
        let queue = Arc::new(Queue::new(1 << 20, Full::Drops, 0));
        queue.close();
        let notices = Arc::new(Notices::default());
        Follow {
            follower: Frail {
                panics,
                rebuilt: Arc::clone(&rebuilt),
            },
            queue,
            commit_every: Duration::from_secs(1),
            files: Arc::clone(files),
            layout: Layout::new("default").unwrap(),
            config: Arc::default(),
            feedback: notices.clone(),
        }
        .run();
        let said = notices.0.lock().unwrap().last().cloned();
        (rebuilt.load(Ordering::SeqCst), said.unwrap_or_default())
    }

    #[test]
    fn what_panics_when_it_was_built_anew_is_not_built_anew_at_each_run() {
        let files: Arc<dyn Files> = Arc::new(SimulatedDisk::new());
        files.create_dir("default".as_ref()).unwrap();
        let (rebuilt, said) = follow(&files, true);
        assert_eq!(rebuilt, 1, "it may have been damaged");
        assert!(
            said.contains("stays where it is (it panicked: it is frail)"),
            "{said}"
        );
        for _ in 0..2 {
            let (rebuilt, said) = follow(&files, true);
            assert_eq!(rebuilt, 0, "it was tried");
            assert!(said.contains("stays where it is"), "{said}");
        }
        // What went well is tried anew when it panics again.
        assert_eq!(follow(&files, false), (0, String::new()));
        assert_eq!(follow(&files, true).0, 1);
    }
}
