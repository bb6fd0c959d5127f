//! Spread: what follows for URLs that were met before, a few at a time.
//!
//! ```text
//! a shorter way to a page ──> its links are nearer ─┐
//! a run begins            ──> what was left out ────┼─> Backlog ──> a step ──> window ──> commit
//!                         └─> what waits, or was kept ┘
//! ```
//!
//! Each may concern millions of URLs. They are done in steps, so that a commit holds a bounded number
//! of them and the loop hears its messages in between. What a kill or an end leaves undone is found
//! again at the next start: both are looked at anew.

use std::collections::{HashSet, VecDeque};

use teia_base::filter::Candidate;
use teia_base::journal::{Entry, LinkVerdict, Record, UrlChange};
use teia_base::{CanonicalUrl, LinkKind};
use teia_repository::{Admission, Offer, State, UrlRef, UrlState};

use crate::collection::Mode;
use crate::feedback::{Event, Level};
use crate::judge::Judge;
use crate::ring::Ring;
use crate::traps::farms::Farms;

/// URLs that are looked at in one turn of the loop.
pub(crate) const STEP: usize = 1000;
/// Pages of URLs on disk that are judged again in one turn: each holds some hundreds.
pub(crate) const PAGES: usize = 4;
/// Changes that one commit holds.
pub(crate) const MOST_CHANGES: usize = 5000;

/// What is still to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Pages to which a shorter way was found, and how many of their links have been looked at.
    nearer: VecDeque<(UrlRef, usize)>,
    queued: HashSet<UrlRef>,
    /// URLs that a rule of an earlier run left out, and that the rules of this one let in.
    let_in: VecDeque<UrlState>,
    /// There are more of them; the first of those that were found last.
    more: Option<CanonicalUrl>,
    /// The first of those that were swept last.
    swept: Option<CanonicalUrl>,
    /// URLs that wait, and pages that were kept, by rules of before, and that those of now leave out.
    let_out: VecDeque<UrlState>,
    /// More of those that wait are to leave.
    more_waiting: bool,
    /// Whether any left since they were looked at: nobody is to try for ever.
    has_left: bool,
    /// URLs that were being asked for when they were to leave.
    asked: Vec<CanonicalUrl>,
    /// Links of before that are decided with this entry of the journal or a later one: then URLs on disk are looked at.
    decided_with: Option<Decided>,
    /// URLs on disk that are let in and left out by the survey that is under way.
    surveyed: [usize; 2],
    /// There are more of them; the first of those that were found last.
    more_out: Option<CanonicalUrl>,
    /// What was kept has been looked at, at the end of a run that visits everything.
    kept_is_judged: bool,
}

/// When links of before the rules changed are decided.
#[derive(Debug)]
struct Decided {
    sequence: u64,
    /// They are still in the window: it is a commit that decides them.
    in_window: bool,
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
        self.nearer.is_empty()
            && self.let_in.is_empty()
            && self.let_out.is_empty()
            && self.more.is_none()
            && self.more_out.is_none()
            && !self.more_waiting
            && self.asked.is_empty()
            && self.decided_with.is_none()
    }
}

impl Ring {
    /// The rules have changed under the run, or since the last one. URLs on disk may be hundreds of millions: they are judged a few
    /// at a time, after links that were met before are decided. (Nothing is asked for meanwhile that the rules leave out.)
    pub(crate) fn look_again(&mut self) {
        if !self.repository.is_on_disk() {
            self.look_at_all();
            return;
        }
        let in_window = !self.window.is_empty();
        if in_window || self.committing > 0 {
            let sequence = self.next_sequence - u64::from(!in_window);
            self.backlog.decided_with = Some(Decided {
                sequence,
                in_window,
            });
        } else {
            self.begin_survey();
        }
    }

    /// Everything is in memory, and is judged at once. The last process may have ended before every link of a page was
    /// brought nearer.
    fn look_at_all(&mut self) {
        self.look_at_excluded();
        self.look_at_kept();
        self.backlog.has_left = true;
        self.look_at_waiting();
        // (On disk the journal has the links of pages: see `shortcut`.)
        if self.config.limits_depth() {
            let fetched = self.repository.urls().filter(|url| url.fetched.is_some());
            let pages: Vec<UrlRef> = fetched.map(|url| url.reference).collect();
            for page in pages {
                self.backlog.bring_nearer(page);
            }
        }
    }

    /// Goes through all URLs on disk by the rules of now.
    fn begin_survey(&mut self) {
        self.backlog.surveyed = [0; 2];
        self.repository.begin_survey();
    }

    fn survey_some(&mut self) {
        let judge = self.workshop.judge();
        let (rules_changed, farms) = (self.rules_changed, &self.farms);
        let (mut let_in, mut let_out) = (VecDeque::new(), VecDeque::new());
        let is_wanted = |state| matches!(state, State::Waiting | State::Fetched | State::Excluded);
        let gone_on = self.repository.survey_some(PAGES, is_wanted, |url| {
            let is_outside = match url.state {
                State::Waiting => judge.refusal(&url, rules_changed).is_some(),
                _ => judge.outside(&url).is_some(),
            };
            if is_outside {
                let_out.push_back(url);
            } else if url.state == State::Excluded && is_let_in(&judge, farms, &url) {
                let_in.push_back(url);
            }
        });
        if let Err(error) = gone_on {
            self.warn(format!(
                "some URLs could not be judged by the rules of now: {error}"
            ));
        }
        self.backlog.surveyed[0] += let_in.len();
        self.backlog.surveyed[1] += let_out.len();
        self.backlog.let_in.extend(let_in);
        self.backlog.let_out.extend(let_out);
        if self.repository.is_surveying() {
            return;
        }
        let [let_in, let_out] = std::mem::take(&mut self.backlog.surveyed);
        let told = [
            (
                let_in,
                format!("the rules let {let_in} URLs in that were left out before"),
            ),
            (
                let_out,
                format!("the rules leave {let_out} URLs out that waited or were kept"),
            ),
        ];
        for (_, text) in told.into_iter().filter(|(count, _)| *count > 0) {
            let level = Level::Info;
            self.feedback.hear(&Event::Notice { level, text });
        }
    }

    fn look_at_excluded(&mut self) {
        let most = self.most_let_in();
        let judge = self.workshop.judge();
        let mut found = 0;
        let farms = &self.farms;
        let let_in = self.repository.excluded(|state| {
            let is_wanted = is_let_in(&judge, farms, state);
            found += usize::from(is_wanted);
            is_wanted && found <= most
        });
        let first = let_in.first().map(|state| state.url.normal().clone());
        // The same one again was let in and stays out: nobody is to try for ever.
        let is_new = first != self.backlog.more;
        self.backlog.more = first.filter(|_| is_new && found > most);
        if is_new {
            self.backlog.let_in = let_in.into();
        }
        if found > 0 && is_new {
            self.feedback.hear(&Event::Notice {
                level: Level::Info,
                text: format!("the rules let {found} URLs in that were left out before"),
            });
        }
    }

    /// What was kept and is outside of the rules by now leaves: whoever follows the journal lets go of it. (It is
    /// `excluded` from then on, and comes back with rules that let it in.)
    fn look_at_kept(&mut self) {
        let most = self.most_let_in();
        let judge = self.workshop.judge();
        let mut found = VecDeque::new();
        let is_wanted = |state| matches!(state, State::Fetched | State::Excluded);
        let looked = self.repository.for_each(None, is_wanted, |url| {
            if found.len() <= most && judge.outside(&url).is_some() {
                found.push_back(url);
            }
        });
        if let Err(error) = looked {
            self.warn(format!(
                "what was kept could not be judged by the rules of now: {error}"
            ));
        }
        let first = found.front().map(|url| url.url.normal().clone());
        // The same one again was left out and stays in: nobody is to try for ever.
        let is_new = first != self.backlog.more_out;
        self.backlog.more_out = first.filter(|_| is_new && found.len() > most);
        if is_new {
            self.backlog.let_out.extend(found);
        }
    }

    /// What waits and is outside of the rules by now leaves at once: whoever counts what waits counts what will be asked
    /// for.
    fn look_at_waiting(&mut self) {
        let most = self.most_let_in();
        let judge = self.workshop.judge();
        let rules_changed = self.rules_changed;
        let mut found = VecDeque::new();
        let is_waiting = |state| state == State::Waiting;
        let looked = self.repository.for_each(None, is_waiting, |url| {
            if found.len() <= most && judge.refusal(&url, rules_changed).is_some() {
                found.push_back(url);
            }
        });
        if let Err(error) = looked {
            self.warn(format!(
                "what waits could not be judged by the rules of now: {error}"
            ));
        }
        if !found.is_empty() {
            let count = found.len();
            self.feedback.hear(&Event::Notice {
                level: Level::Info,
                text: format!("the rules leave {count} URLs out that waited"),
            });
        }
        let has_left = std::mem::take(&mut self.backlog.has_left);
        self.backlog.more_waiting = has_left && found.len() > most;
        self.backlog.let_out.extend(found);
    }

    /// Links that were met before the rules changed are decided with their commit: they may wait now.
    pub(crate) fn look_at_decided(&mut self, entry: &Entry) {
        let is_commit = matches!(entry.record, Record::Commit(_));
        let is_it = |decided: &mut Decided| {
            entry.sequence >= decided.sequence && (is_commit || !decided.in_window)
        };
        if self.backlog.decided_with.take_if(is_it).is_some() {
            self.begin_survey();
        }
    }

    /// A URL that waited, or a page that was kept, is left out, unless it is on its way. The rules may have changed again since it
    /// was found.
    fn let_out(&mut self, url: UrlState) {
        let Some(now) = self.repository.state(url.url.normal()) else {
            return;
        };
        match (url.state, now.state) {
            (State::Waiting, State::Waiting)
                if now.leased && self.repository.is_in_memory(url.url.normal()) =>
            {
                self.backlog.asked.push(url.url.into_normal());
            }
            (State::Waiting, State::Waiting) if !now.leased => {
                if let Some(exclusion) = self.refusal(&now) {
                    self.backlog.has_left = true;
                    self.leave_out(now, exclusion);
                }
            }
            (State::Fetched | State::Excluded, State::Fetched | State::Excluded) if !now.leased => {
                if let Some(exclusion) = self.workshop.judge().outside(&now) {
                    self.leave_out(url, exclusion);
                }
            }
            // On its way, or on its way out.
            _ => {}
        }
    }

    /// What was being asked for and waits again, for another try or for its robots.txt, leaves now.
    pub(crate) fn let_asked_out(&mut self) {
        for url in std::mem::take(&mut self.backlog.asked) {
            let Some(now) = self.repository.state(&url) else {
                continue;
            };
            match now.state {
                State::Waiting if now.leased => self.backlog.asked.push(url),
                State::Waiting => {
                    if let Some(exclusion) = self.refusal(&now) {
                        self.leave_out(now, exclusion);
                    }
                }
                _ => {}
            }
        }
    }

    /// Tells who waits for it that nothing waits any more of what was removed.
    pub(crate) fn tell_heeded(&mut self) {
        let backlog = &self.backlog;
        let is_done = backlog.let_out.is_empty()
            && backlog.let_in.is_empty()
            && backlog.more.is_none()
            && !backlog.more_waiting
            && backlog.decided_with.is_none()
            && !self.repository.is_surveying()
            && self.window.changes.is_empty()
            && self.committing == 0;
        if is_done && self.control.note_heeded() {
            self.feedback.hear(&Event::Progress(self.progress()));
        }
    }

    /// What no link of this run has led to is visited last: only so is it known to be gone, or still
    /// there. Says whether there is anything.
    pub(crate) fn begin_sweep(&mut self) -> bool {
        if self.config.mode != Mode::Periodic {
            return false;
        }
        let most = self.most_let_in();
        let judge = self.workshop.judge();
        let mut found = 0;
        let farms = &self.farms;
        let left = self.repository.excluded(|state| {
            // What a link led to is in only if the rules let it in; of the rest no depth is known.
            let is_left = state.depth == u16::MAX
                && state.waits_for_sweep()
                && !is_of_farm(farms, state)
                && judge.before_or_refuse(&candidate(state, 0)).is_admitted();
            found += usize::from(is_left);
            is_left && found <= most
        });
        let first = left.first().map(|state| state.url.normal().clone());
        // The same one again was let in and stays out: nobody is to try for ever.
        if first.is_none() || first == self.backlog.swept {
            // Now everything that links lead to is known.
            if !std::mem::replace(&mut self.backlog.kept_is_judged, true) {
                self.look_at_kept();
            }
            return !self.backlog.is_empty();
        }
        self.backlog.swept = first;
        self.backlog.let_in = left.into();
        true
    }

    /// So many are held at once; then the others are looked for.
    fn most_let_in(&self) -> usize {
        let memory = self.config.run.repository_memory;
        usize::try_from(memory / 1024).map_or(100_000, |most| most.clamp(1000, 100_000))
    }

    /// Does one step of what waits, if the window has room for it.
    pub(crate) fn work_off(&mut self) {
        let mut left = STEP;
        while left > 0 && !self.window_is_due() {
            if let Some((page, done)) = self.backlog.nearer.pop_front() {
                // From here on a still shorter way begins anew with its first link.
                self.backlog.queued.remove(&page);
                // One less for where the page may redirect to.
                let room = (MOST_CHANGES - 1).saturating_sub(self.window.changes.len());
                let most = left.min(room.max(1));
                left = left.saturating_sub(self.spread_depth(page, done, most).max(1));
            } else if let Some(state) = self.backlog.let_in.pop_front() {
                self.let_in(state);
                left -= 1;
            } else if let Some(url) = self.backlog.let_out.pop_front() {
                self.let_out(url);
                left -= 1;
            } else if self.repository.can_survey() {
                self.survey_some();
                left = left.saturating_sub(STEP / 4);
            } else if self.may_look_for_more() {
                if self.backlog.more.is_some() {
                    self.look_at_excluded();
                } else if self.backlog.more_waiting {
                    self.look_at_waiting();
                } else {
                    self.look_at_kept();
                }
                return;
            } else if self.shortcuts.is_under_way() {
                left = left.saturating_sub(self.follow_shortcuts(left));
            } else {
                return;
            }
        }
    }

    /// Those that were let in must be so on disk before others are looked for.
    fn may_look_for_more(&self) -> bool {
        let backlog = &self.backlog;
        let is_more = backlog.more.is_some() || backlog.more_out.is_some() || backlog.more_waiting;
        is_more && self.committing == 0 && self.window.is_empty()
    }

    /// Whether a step can be done now.
    pub(crate) fn has_step(&self) -> bool {
        let backlog = &self.backlog;
        let is_ready = !backlog.nearer.is_empty()
            || !backlog.let_in.is_empty()
            || !backlog.let_out.is_empty()
            || self.repository.can_survey()
            || self.may_look_for_more()
            || self.shortcuts.is_under_way();
        is_ready && !self.window_is_due()
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
                self.bring_nearer(Some(page), self.repository.view_of(target), depth);
            }
        }
        looked
    }

    /// A URL is nearer than it was known to be, and perhaps near enough now.
    pub(crate) fn bring_nearer(&mut self, page: Option<UrlRef>, state: UrlState, depth: u16) {
        let verdict = self
            .workshop
            .judge()
            .before_or_refuse(&candidate(&state, depth));
        let is_admitted = verdict.is_admitted() && !is_of_farm(&self.farms, &state);
        if self.repository.is_on_disk() && !self.repository.is_in_memory(state.url.normal()) {
            let verdict = match (&state.exclusion, is_admitted) {
                (Some(_), true) => LinkVerdict::Readmitted,
                _ => LinkVerdict::Known,
            };
            self.change(state, depth, verdict);
            return;
        }
        let admission = match (&state.exclusion, is_admitted) {
            (Some(exclusion), false) => Admission::Exclude(exclusion.clone()),
            _ => Admission::Admit,
        };
        let offer = Offer {
            url: &state.url,
            depth,
            referrer: page,
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
        self.backlog.bring_nearer(offered.reference);
    }

    /// A URL that was left out is let in, unless the rules have changed again since it was found.
    fn let_in(&mut self, state: UrlState) {
        let is_in =
            state.waits_for_sweep() || is_let_in(&self.workshop.judge(), &self.farms, &state);
        if !is_in {
            return;
        }
        if self.repository.is_on_disk() && !self.repository.is_in_memory(state.url.normal()) {
            // The store finds out with its commit whether it is still left out: no look at the disk
            // for each of them.
            let depth = state.depth;
            self.change(state, depth, LinkVerdict::Readmitted);
            return;
        }
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

/// Left out for a farm of hosts, about which links alone do not decide.
fn is_of_farm(farms: &Farms, state: &UrlState) -> bool {
    let exclusion = state.exclusion.as_ref();
    exclusion.is_some_and(|exclusion| farms.keeps_out(&exclusion.rule))
}

/// Whether the rules of now let in what was left out.
fn is_let_in(judge: &Judge, farms: &Farms, state: &UrlState) -> bool {
    // Met only through links that are not to be followed, a URL has no depth: no way leads there.
    state.depth != u16::MAX
        && !is_of_farm(farms, state)
        && judge
            .before_or_refuse(&candidate(state, state.depth))
            .is_admitted()
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
