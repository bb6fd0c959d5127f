//! Who decides what is kept and followed: the collection's rules, or a program's own filter.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use teia_base::filter::{Candidate, Fetched, Filter, RuleKind, Rules, Verdict};
use teia_base::journal::Exclusion;
use teia_base::{CanonicalUrl, LinkKind, Outcome};
use teia_repository::{Admission, UrlState};

use crate::removals::Removals;
use crate::sites::{Held, SiteRules};
use crate::traps::Quarantine;

/// The rules, and the filter that takes their place if a program brought one.
#[derive(Clone)]
pub(crate) struct Judge {
    pub(crate) rules: Rules,
    /// Those of hosts in sites.
    pub(crate) sites: SiteRules,
    pub(crate) own: Option<Arc<dyn Filter>>,
    /// What people asked to have removed.
    pub(crate) removals: Arc<Removals>,
    /// What was taken for a trap, whoever let it in.
    pub(crate) quarantine: Arc<Quarantine>,
}

impl Judge {
    /// The rules that hold for a URL.
    pub(crate) fn rules_of(&self, url: &CanonicalUrl) -> Held<'_> {
        self.sites.of(url, &self.rules)
    }

    pub(crate) fn before(&self, link: &Candidate<'_>) -> Verdict {
        if self.removals.hides(link.url) {
            let Exclusion { rule, outcome } = Removals::exclusion();
            return Verdict::refuse(RuleKind::Custom, rule, outcome);
        }
        let verdict = match &self.own {
            Some(filter) => filter.before(link),
            None => self.rules_of(link.url).before(link),
        };
        if !verdict.is_admitted() || verdict.requisite || link.kind == LinkKind::Seed {
            return verdict;
        }
        self.trap(link.url).unwrap_or(verdict)
    }

    /// The rule of the collection by which a page that was kept would not be fetched now. Traps, removals and depth
    /// are no such rules: what was kept of a trap is kept, what is removed is hidden, and how far away a page is
    /// differs from run to run.
    pub(crate) fn outside(&self, url: &UrlState) -> Option<Exclusion> {
        let was_kept = url.fetched.is_some() && (url.exclusion.is_none() || url.waits_for_sweep());
        // What a page needs is kept for the page's sake. A program's own filter may go by the page on which a link stood,
        // which nobody knows any more.
        if !was_kept || url.requisite || self.own.is_some() {
            return None;
        }
        let link = Candidate {
            url: url.url.normal(),
            depth: 0,
            kind: if url.seed {
                LinkKind::Seed
            } else {
                LinkKind::Anchor
            },
            from_kept_in_scope: false,
            from: None,
        };
        match admission(self.rules_of(link.url).before(&link)) {
            Admission::Admit => None,
            Admission::Exclude(exclusion) => Some(exclusion),
        }
    }

    /// The rule that leaves a URL out which was let in before: people asked for it, or other rules hold by now.
    pub(crate) fn refusal(&self, url: &UrlState, rules_changed: bool) -> Option<Exclusion> {
        if let Some(exclusion) = self.removal(url.url.normal()) {
            return Some(exclusion);
        }
        // What a page needs is let in for the page's sake.
        if !rules_changed || url.requisite {
            return None;
        }
        if let Some(trap) = self.trap(url.url.normal()).filter(|_| !url.seed) {
            return match admission(trap) {
                Admission::Admit => None,
                Admission::Exclude(exclusion) => Some(exclusion),
            };
        }
        // A program's own filter may go by the page on which a link stood, which nobody knows any more.
        if self.own.is_some() {
            return None;
        }
        let candidate = Candidate {
            url: url.url.normal(),
            depth: if url.depth == u16::MAX { 0 } else { url.depth },
            kind: if url.seed {
                LinkKind::Seed
            } else {
                LinkKind::Anchor
            },
            from_kept_in_scope: false,
            from: None,
        };
        match admission(self.before_or_refuse(&candidate)) {
            Admission::Admit => None,
            Admission::Exclude(exclusion) => Some(exclusion),
        }
    }

    /// Why a URL is left out that people asked to have removed.
    pub(crate) fn removal(&self, url: &CanonicalUrl) -> Option<Exclusion> {
        self.removals.hides(url).then(Removals::exclusion)
    }

    /// The refusal of a URL whose pattern is in quarantine.
    pub(crate) fn trap(&self, url: &CanonicalUrl) -> Option<Verdict> {
        let pattern = self.quarantine.holds(url)?;
        let rule = format!("trap {pattern}");
        Some(Verdict::refuse(
            RuleKind::Trap,
            rule,
            Outcome::TRAP_SUSPECTED,
        ))
    }

    /// The same on the ring's own thread: there a panic would end the run, so a filter that panics has
    /// refused. (On a worker's it costs the page.)
    pub(crate) fn before_or_refuse(&self, link: &Candidate<'_>) -> Verdict {
        catch_unwind(AssertUnwindSafe(|| self.before(link))).unwrap_or_else(|_| {
            let (why, outcome) = ("the filter panicked", Outcome::SYSTEM_ERROR);
            Verdict::refuse(RuleKind::Custom, why, outcome)
        })
    }

    pub(crate) fn after(&self, resource: &Fetched<'_>) -> Verdict {
        match &self.own {
            Some(filter) => filter.after(resource),
            None => self.rules_of(resource.url).after(resource),
        }
    }

    /// The same, with one seed more.
    pub(crate) fn with_seed(&self, seed: &CanonicalUrl) -> Self {
        Self {
            rules: self.rules.clone().with_seed(seed),
            sites: self.sites.with_seed(seed),
            own: self.own.clone(),
            removals: Arc::clone(&self.removals),
            quarantine: Arc::clone(&self.quarantine),
        }
    }
}

/// A verdict, as the Repository is told of it.
pub(crate) fn admission(verdict: Verdict) -> Admission {
    if verdict.is_admitted() {
        return Admission::Admit;
    }
    Admission::Exclude(Exclusion {
        outcome: verdict.outcome.unwrap_or(Outcome::OUT_OF_SCOPE),
        rule: verdict.rule.into_owned(),
    })
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge")
            .field("rules", &self.rules)
            .field("own", &self.own.is_some())
            .finish()
    }
}
