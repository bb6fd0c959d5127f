//! The ring's part: a page is noted, a trap is written down, and then left out.

use std::sync::{Arc, PoisonError};

use teia_base::journal::{Attempt, LinkVerdict, Quarantined, Record};
use teia_base::{HostId, LinkKind};

use super::pattern::rule;
use super::quarantine::Quarantine;
use super::sketch::Sketch;
use super::watch::Brought;
use crate::ring::Ring;

impl Ring {
    /// Looks at a page and at what it led to.
    pub(crate) fn notice_trap(&mut self, host: HostId, attempt: &Attempt, sketch: Option<&Sketch>) {
        let Some(sketch) = sketch.filter(|_| self.settings(host).traps.enabled) else {
            return;
        };
        let url = attempt.url.normal();
        let name = url.host_str();
        let mut new = Vec::new();
        let mut else_new = false;
        for link in &attempt.links {
            // What is still to be decided was met before, nearly always.
            let is_new = matches!(link.verdict, LinkVerdict::New | LinkVerdict::Readmitted);
            let is_look = matches!(
                link.kind,
                LinkKind::Style | LinkKind::Script | LinkKind::Icon
            );
            if !is_new || is_look {
                continue;
            }
            if link.kind.is_requisite() || link.url.normal().host_str() != name {
                else_new = true;
            } else {
                new.push(link.url.normal());
            }
        }
        let brought = Brought {
            new: &new,
            else_new,
        };
        let traps = &self.settings(host).traps.clone();
        let Some(found) = self.traps.note(traps, host, url, sketch, brought) else {
            return;
        };
        let one = Quarantined {
            host: name.to_owned(),
            pattern: found.pattern,
        };
        let is_told = self.ledger.head.quarantined.contains(&one) || self.trapped.contains(&one);
        let is_full = Quarantine::is_full(&self.ledger.head.quarantined);
        if is_told || is_full || traps.allows(name, &one.pattern) {
            return;
        }
        self.warn(format!(
            "{}{} looks like a trap: {} pages in a row {} and lead only to more of their kind; the others are left out. \
             To collect them, add \"{}{}\" to `allow` in [traps]; to leave them out in every run, add '{}' to `exclude` in [filter]",
            one.host,
            one.pattern,
            found.pages,
            found.why,
            one.host,
            one.pattern,
            rule(&one.host, &one.pattern),
        ));
        self.trapped.push(one);
    }

    /// Writes down what was found, and goes by it from there on: no URL is left out for a pattern that
    /// the journal does not have.
    pub(crate) fn quarantine_if_found(&mut self) {
        while self.committing == 0
            && let Some(one) = self.trapped.pop()
        {
            // A person may have allowed it meanwhile.
            let host = self.repository.host(&one.host);
            let traps = host.map_or(&self.config, |host| self.settings(host));
            let traps = &traps.traps;
            if !traps.enabled || traps.allows(&one.host, &one.pattern) {
                continue;
            }
            let mut judge = (*self.workshop.judge()).clone();
            let mut quarantine = (*judge.quarantine).clone();
            quarantine.add(&one);
            judge.quarantine = Arc::new(quarantine);
            *self
                .workshop
                .judge
                .write()
                .unwrap_or_else(PoisonError::into_inner) = Arc::new(judge);
            // What waits is judged again when its turn comes.
            self.rules_changed = true;
            self.order(Record::Quarantined(one), Vec::new(), Vec::new());
        }
    }
}
