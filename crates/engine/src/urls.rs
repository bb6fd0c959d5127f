//! What the ring does for the Repository beside commits: it looks after folds, and writes down what
//! they find out.

use teia_base::journal::{Folded, Record};

use crate::EngineError;
use crate::ring::Ring;

/// Late verdicts in one entry, at most.
const MOST_CHANGES: usize = 10_000;

impl Ring {
    /// Lets the Repository go on with its folds, wakes hosts for which there is news, and writes the
    /// news down.
    pub(crate) fn look_after_urls(&mut self) -> Result<(), EngineError> {
        let quiet = self.window.is_empty() && self.committing == 0;
        self.repository.maintain(self.clock.wall(), quiet)?;
        let saved = self.saver.look(&mut self.ledger, &mut self.repository);
        self.tell_unsaved(saved);
        for damage in self.repository.take_damage() {
            if damage.is_mended() {
                self.warn(format!(
                    "{damage}; what was there was found again, and is written anew"
                ));
                continue;
            }
            self.blocks_damaged = true;
            self.warn(format!(
                "{damage}; URLs there wait, and the next start makes them again from the journal"
            ));
        }
        for news in self.repository.take_news() {
            let mut changes = news.changes;
            loop {
                let rest = changes.split_off(changes.len().min(MOST_CHANGES));
                let is_all = rest.is_empty();
                self.late_news.push_back(Folded {
                    fold: news.fold,
                    changes,
                    is_last: is_all && news.is_last,
                });
                if is_all {
                    break;
                }
                changes = rest;
            }
        }
        for host in self.repository.take_woken() {
            self.wake(host);
        }
        if self.committing == 0
            && let Some(folded) = self.late_news.pop_front()
        {
            self.order(Record::Folded(folded), Vec::new(), Vec::new());
        }
        if self.committing == 0 && !self.priorities.is_empty() {
            let priorities = self.some_priorities();
            self.order(priorities, Vec::new(), Vec::new());
        }
        Ok(())
    }

    /// As many of the Analyzers' priorities as one entry takes.
    pub(crate) fn some_priorities(&mut self) -> Record {
        let some = self.priorities.len().min(MOST_CHANGES);
        Record::Prioritised(self.priorities.drain(..some).collect())
    }

    /// A start only takes longer without a checkpoint: that ends no run.
    pub(crate) fn tell_unsaved(&self, saved: std::io::Result<()>) {
        if let Err(error) = saved {
            self.warn(format!(
                "the state could not be saved ({error}); the next start reads more of the journal"
            ));
        }
    }

    /// When there is nothing else to do, what is still to be decided is. Says whether anything was.
    pub(crate) fn decide_rest(&mut self) -> Result<bool, EngineError> {
        if !self.late_news.is_empty() || !self.priorities.is_empty() {
            return Ok(true);
        }
        let decided = self.repository.decide_beside()?;
        if decided {
            self.look_after_urls()?;
        }
        Ok(decided)
    }
}
