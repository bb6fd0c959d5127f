//! Spread: what follows for URLs that were met before, a few at a time.
//!
//! ```text
//! a shorter way to a page ──> its links are nearer ─┐
//! a run begins            ──> what was left out ────┴─> Backlog ──> a step ──> window ──> commit
//! ```
//!
//! Either may concern millions of URLs. They are done in steps, so that a commit holds a bounded number
//! of them and the loop hears its messages in between. What a kill or an end leaves undone is found
//! again at the next start: both are looked at anew.

use std::collections::{HashSet, VecDeque};

use teia_base::LinkKind;
use teia_base::filter::Candidate;
use teia_base::journal::{LinkVerdict, UrlChange};
use teia_repository::{Admission, Offer, UrlRef, UrlState};

use crate::ring::Ring;

/// URLs that are looked at in one turn of the loop.
pub(crate) const STEP: usize = 1000;
/// Changes that one commit holds.
pub(crate) const MOST_CHANGES: usize = 5000;

/// What is still to be looked at: a number for each URL, at most.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Pages to which a shorter way was found, and how many of their links have been looked at.
    nearer: VecDeque<(UrlRef, usize)>,
    queued: HashSet<UrlRef>,
    /// URLs that a rule of an earlier run left out, and that the rules of this one let in.
    let_in: VecDeque<UrlState>,
}

impl Backlog {
    /// A shorter way to a page was found: its own links are nearer as well.
    pub(crate) fn bring_nearer(&mut self, page: UrlRef) {
        if self.queued.insert(page) {
            self.nearer.push_back((page, 0));
        }
    }

    /// Whether nothing is left to be looked at.
    pub(crate) fn is_empty(&self) -> bool {
        self.nearer.is_empty() && self.let_in.is_empty()
    }
}

impl Ring {
    /// A run begins, perhaps with wider rules: what was left out is judged again. The last process may
    /// have ended before every link of a page was brought nearer.
    pub(crate) fn look_again(&mut self) {
        let judge = self.workshop.judge();
        let let_in = self.repository.excluded(|state| {
            // Met only through links that are not to be followed, a URL has no depth: no way leads
            // there.
            let is_reached = state.depth != u16::MAX;
            is_reached
                && judge
                    .before_or_refuse(&candidate(state, state.depth))
                    .is_admitted()
        });
        self.backlog.let_in = let_in.into();
        if self.config.filter.max_depth.is_some() {
            let fetched = self.repository.urls().filter(|url| url.fetched.is_some());
            let pages: Vec<UrlRef> = fetched.map(|url| url.reference).collect();
            for page in pages {
                self.backlog.bring_nearer(page);
            }
        }
    }

    /// Does one step of what waits, if the window has room for it.
    pub(crate) fn work_off(&mut self) {
        let mut left = STEP;
        while left > 0 && !self.window_is_due() {
            if let Some((page, done)) = self.backlog.nearer.pop_front() {
                // From here on a still shorter way begins anew with its first link.
                self.backlog.queued.remove(&page);
                left = left.saturating_sub(self.spread_depth(page, done, left).max(1));
            } else if let Some(state) = self.backlog.let_in.pop_front() {
                self.let_in(state);
                left -= 1;
            } else {
                return;
            }
        }
    }

    /// Whether a step can be done now.
    pub(crate) fn has_step(&self) -> bool {
        !self.backlog.is_empty() && !self.window_is_due()
    }

    /// Brings links of a page nearer, at most so many; returns how many were looked at.
    fn spread_depth(&mut self, page: UrlRef, done: usize, most: usize) -> usize {
        let own = self.repository.depth_of(page);
        let links = self.repository.links_of(page);
        let redirect = self.repository.redirect_of(page);
        let mut targets: Vec<(UrlRef, u16)> = links
            .iter()
            .skip(done)
            .take(most)
            .map(|target| (*target, own.saturating_add(1)))
            .collect();
        let looked = targets.len();
        if done + looked < links.len() {
            self.backlog.nearer.push_front((page, done + looked));
        } else {
            targets.extend(redirect.map(|target| (target, own)));
        }
        for (target, depth) in targets {
            if self.repository.depth_of(target) > depth {
                self.bring_nearer(page, target, depth);
            }
        }
        looked
    }

    fn bring_nearer(&mut self, page: UrlRef, target: UrlRef, depth: u16) {
        let state = self.repository.view_of(target);
        let verdict = self
            .workshop
            .judge()
            .before_or_refuse(&candidate(&state, depth));
        let admission = match (&state.exclusion, verdict.is_admitted()) {
            (Some(exclusion), false) => Admission::Exclude(exclusion.clone()),
            _ => Admission::Admit,
        };
        let offer = Offer {
            url: &state.url,
            depth,
            referrer: Some(page),
            requisite: state.requisite,
            chain: state.chain,
            last_modified: None,
            seed: None,
            admission,
        };
        let offered = self.repository.offer(&offer, self.clock.wall());
        if offered.verdict == LinkVerdict::Readmitted {
            self.wake(offered.host);
        }
        self.change(state, depth, offered.verdict);
        self.backlog.bring_nearer(target);
    }

    fn let_in(&mut self, state: UrlState) {
        // Another page may have let it in meanwhile.
        let now = self.repository.state(state.url.normal());
        if now.is_none_or(|now| now.exclusion.is_none()) {
            return;
        }
        let depth = state.depth;
        let offer = Offer {
            url: &state.url,
            depth,
            referrer: None,
            requisite: false,
            chain: state.chain,
            last_modified: None,
            seed: None,
            admission: Admission::Admit,
        };
        let offered = self.repository.offer(&offer, self.clock.wall());
        self.wake(offered.host);
        self.change(state, depth, offered.verdict);
    }

    /// Puts a change into the window.
    fn change(&mut self, state: UrlState, depth: u16, verdict: LinkVerdict) {
        let change = UrlChange {
            url: state.url.into_normal(),
            depth,
            verdict,
        };
        self.window.opened.get_or_insert_with(|| self.clock.now());
        self.window.bytes += 64 + change.url.as_str().len() as u64;
        self.window.changes.push(change);
    }
}

fn candidate(state: &UrlState, depth: u16) -> Candidate<'_> {
    Candidate {
        url: state.url.normal(),
        depth,
        kind: LinkKind::Anchor,
        from_kept_in_scope: false,
        from: None,
    }
}
