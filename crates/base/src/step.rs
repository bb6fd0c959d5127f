//! What a thread is about to do with the disk, by name, so that a test can cut the power in the middle of each
//! step and knows that it did. Whatever is not named costs nothing; a name costs two writes to the thread's own memory.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static NAME: Cell<&'static str> = const { Cell::new("") };
}

/// For as long as it lives, its thread is at a step.
#[derive(Debug)]
#[must_use = "the step ends when this is dropped"]
pub struct Step {
    before: &'static str,
    /// It belongs to its thread.
    on_thread: PhantomData<*const ()>,
}

impl Step {
    /// This thread is at the step of this name from now on.
    pub fn begin(name: &'static str) -> Self {
        Self {
            before: NAME.replace(name),
            on_thread: PhantomData,
        }
    }

    /// The step that this thread is at; empty between steps.
    pub fn current() -> &'static str {
        NAME.get()
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        NAME.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_within_another_ends_before_it() {
        assert_eq!(Step::current(), "");
        let outer = Step::begin("fold");
        {
            let _inner = Step::begin("split");
            assert_eq!(Step::current(), "split");
            std::thread::spawn(|| assert_eq!(Step::current(), ""))
                .join()
                .unwrap();
        }
        assert_eq!(Step::current(), "fold");
        drop(outer);
        assert_eq!(Step::current(), "");
    }
}
