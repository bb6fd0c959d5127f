//! The ring's part: a page is noted, a trap is written down, and then left out.

use std::sync::{Arc, PoisonError};

use teia_base::journal::{Attempt, Exclusion, LinkRecord, LinkVerdict, Next, Quarantined, Record};
use teia_base::{Flags, HostId, LinkKind, Outcome, Retry};
use teia_repository::{Admission, State, UrlState};
use url::Url;

use super::farms::{Closed, NamedBy, as_told};
use super::pattern::{patterns, rule, wild};
use super::quarantine::Quarantine;
use super::sketch::Sketch;
use super::soft::{Standing, made_up};
use super::watch::{Brought, WHOLE_HOST};
use crate::feedback::{Event, Level};
use crate::ring::Ring;
use crate::robots_book::Reading;
use crate::stage::extract::{Judged, Page};
use crate::stage::fetch::Errand;

/// Patterns of one host that are left out.
const MOST_OF_HOST: usize = 200;
/// So many of them that differ in their first directory only, which are two thirds of those directories or more and lead to one
/// another: all are left out, as one pattern.
const ALIKE: u32 = 20;

/// What is said of a page that stands for none.
const SHOWN_FOR_ANY: &str = "the page that this host shows for any URL";

impl Ring {
    /// Looks at a page and at what it led to.
    pub(crate) fn notice_trap(&mut self, host: HostId, attempt: &Attempt, sketch: Option<&Sketch>) {
        if !self.settings(host).traps.enabled {
            return;
        }
        if is_nothing(attempt) {
            self.traps.note_nothing(attempt.url.normal());
        }
        let Some(sketch) = sketch else {
            let is_new = attempt.outcome.is_ok() && !attempt.flags.has(Flags::DUPLICATE);
            self.traps.note_requisite(attempt.url.normal(), is_new);
            if is_new || attempt.links.iter().any(leads_on) {
                self.traps.note_something(attempt.url.normal());
            }
            return;
        };
        // Not what stands for "not found", nor what may do so: were it counted, honest pages beside it would be left out.
        let url = attempt.url.normal();
        let is_missing = self.soft.is_missing(host, sketch.digest);
        if self.soft.holds_back(host, sketch.digest) {
            if is_missing {
                self.traps.note_nothing(url);
            }
            return;
        }
        let name = url.host_str();
        // Pages that were on their way when their pattern was found out tell nothing more.
        let own = patterns(url);
        let is_known = |one: &Quarantined| one.host == name && own.contains(&one.pattern);
        if self.trapped.iter().any(is_known)
            || self.workshop.judge().quarantine.holds(url).is_some()
        {
            return;
        }
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
            if link.kind.is_requisite() {
                else_new |= self.traps.may_be_new(link.url.normal());
            } else {
                new.push(link.url.normal());
            }
        }
        let brought = Brought {
            new: &new,
            else_new,
            bytes: attempt.wire_bytes,
        };
        let traps = &self.settings(host).traps.clone();
        let Some(found) = self.traps.note(traps, host, url, sketch, brought) else {
            return;
        };
        let Some(one) = self.one_more(host, name, found.pattern) else {
            return;
        };
        let is_told = self.ledger.head.quarantined.contains(&one) || self.trapped.contains(&one);
        let is_full = Quarantine::is_full(&self.ledger.head.quarantined);
        let traps = &self.settings(host).traps;
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
        self.soft.blame(host, sketch.digest, one.clone());
        self.trapped.push(one);
    }

    /// What is to be left out for a pattern that was found. Where most directories are the same trap, all of them; none where
    /// a host has had as many patterns as one may have: what it may cost is bounded by the budget of a day, and its honest
    /// pages are not lost.
    fn one_more(&mut self, host: HostId, name: &str, pattern: String) -> Option<Quarantined> {
        let told = self.ledger.head.quarantined.iter().chain(&self.trapped);
        let of_host = told.filter(|one| one.host == name);
        let wider = wild(&pattern);
        let (mut all, mut alike) = (0, 1);
        for one in of_host {
            all += 1;
            alike += u32::from(wider.is_some() && wild(&one.pattern) == wider);
        }
        if all >= MOST_OF_HOST {
            if self.traps.note_full(host) {
                self.warn(format!(
                    "{name} has {all} patterns that look like traps: more of them are not left out by themselves. To leave out \
                     all of it, add '{}' to `exclude` in [filter]; `urls-per-host-day` there says how much of it is collected a day",
                    rule(name, WHOLE_HOST),
                ));
            }
            return None;
        }
        let wider = wider.filter(|wider| {
            let (directories, crossings) = self.traps.directories(host, wider);
            alike >= ALIKE && alike * 3 >= directories * 2 && crossings * 2 >= alike
        });
        Some(Quarantined {
            host: name.to_owned(),
            pattern: wider.unwrap_or(pattern),
        })
    }

    /// Writes down what was found, and goes by it from there on: no URL is left out for a pattern that
    /// the journal does not have.
    pub(crate) fn quarantine_if_found(&mut self) {
        if self.committing == 0 {
            for one in self.soft.take_lifted() {
                self.lift(one);
            }
        }
        while self.committing == 0
            && let Some(one) = self.trapped.pop()
        {
            // A person may have allowed it meanwhile.
            let host = self.repository.host(&one.host);
            let traps = host.map_or(&self.config, |host| self.settings(host));
            let traps = &traps.traps;
            if !traps.enabled || traps.allows(&one.host, &one.pattern) {
                self.farms.open(&one.host);
                continue;
            }
            self.change_quarantine(|quarantine| quarantine.add(&one));
            // What waits is judged again when its turn comes.
            self.rules_changed = true;
            self.order(Record::Quarantined(one), Vec::new(), Vec::new());
        }
    }

    /// Lets in again what was left out for a pattern that is no trap: its pages stood for "not found", and those have
    /// their own way out.
    fn lift(&mut self, one: Quarantined) {
        let found = self.trapped.len();
        self.trapped.retain(|trapped| *trapped != one);
        if self.trapped.len() < found {
            return;
        }
        self.change_quarantine(|quarantine| quarantine.remove(&one));
        let place = format!("{}{}", one.host, one.pattern);
        self.feedback.hear(&Event::Notice {
            level: Level::Info,
            text: format!(
                "{place} is no trap: its host shows one page for any URL, and what is another is let in again"
            ),
        });
        self.rules_changed = true;
        self.order(Record::Lifted(one), Vec::new(), Vec::new());
        self.look_again();
    }

    fn change_quarantine(&self, change: impl FnOnce(&mut Quarantine)) {
        let mut judge = (*self.workshop.judge()).clone();
        let mut quarantine = (*judge.quarantine).clone();
        change(&mut quarantine);
        judge.quarantine = Arc::new(quarantine);
        *self
            .workshop
            .judge
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(judge);
    }

    /// Leaves a new host out whose domain, or whoever names it, has had enough of them.
    pub(crate) fn hold_back(
        &self,
        record: &LinkRecord,
        admission: Admission,
        page: &Attempt,
    ) -> Admission {
        let is_free = !self.config.traps.enabled || record.kind == LinkKind::Seed;
        if is_free || !matches!(admission, Admission::Admit) {
            return admission;
        }
        let name = record.url.normal().host_str();
        let known = self.repository.host(name);
        match self.farms.refusal(name, known, self.named_by(page)) {
            Some(exclusion) => Admission::Exclude(exclusion),
            None => admission,
        }
    }

    /// A URL was let in: its host may be a new one.
    pub(crate) fn count_host(&mut self, host: HostId, record: &LinkRecord, page: &Attempt) {
        let name = record.url.normal().host_str();
        if !self.config.traps.enabled {
            return;
        }
        if record.kind == LinkKind::Seed {
            self.farms.meet(host, name);
            return;
        }
        let by = self.named_by(page);
        let closed = self.farms.enter(&self.config.traps, host, name, by);
        self.tell_farm(closed);
    }

    /// Looks where a page came from, and whether other hosts of its domain show the same.
    pub(crate) fn notice_farm(&mut self, host: HostId, attempt: &Attempt, sketch: Option<&Sketch>) {
        if !self.config.traps.enabled {
            return;
        }
        let traps = &self.config.traps;
        let address = self.named_by(attempt).address;
        let closed = address.and_then(|address| self.farms.locate(traps, host, address));
        self.tell_farm(closed);
        if let Some(sketch) = sketch {
            let name = attempt.url.normal().host_str();
            let traps = &self.config.traps;
            let closed = self.farms.note_page(traps, host, name, sketch.digest);
            self.tell_farm(closed);
        }
    }

    fn named_by<'a>(&self, page: &'a Attempt) -> NamedBy<'a> {
        // Through a proxy every page comes from the proxy.
        let remote = page.remote.filter(|_| self.config.fetch.proxy.is_none());
        NamedBy {
            host: page.url.normal().host_str(),
            address: remote.map(|remote| remote.ip()),
        }
    }

    fn tell_farm(&mut self, closed: Option<Closed>) {
        let Some(Closed { key, why, setting }) = closed else {
            return;
        };
        let one = as_told(&key);
        let is_full = Quarantine::is_full(&self.ledger.head.quarantined);
        if is_full || self.config.traps.allows(&one.host, &one.pattern) {
            self.farms.open(&key);
            return;
        }
        let rule = rule(&key, "");
        let never = match rule.as_str() {
            "" => String::new(),
            rule => format!(
                "; to leave all of it out in every run, add '{rule}' to `exclude` in [filter]"
            ),
        };
        self.warn(format!(
            "{why}: that is taken for a farm of hosts, and new ones are left out from now on. To collect them, add \"{key}\" to `allow` in [traps], or raise `{setting}` there before the next collection{never}"
        ));
        self.trapped.push(one);
    }

    /// The links of a page; none where the page is what its host shows for any URL. A host that shows a
    /// page again and again is asked for a URL that does not exist.
    pub(crate) fn links_of_found(
        &mut self,
        state: &UrlState,
        links: Vec<Judged>,
        attempt: &mut Attempt,
        sketch: Option<&Sketch>,
    ) -> Vec<Judged> {
        let is_on = self.config.traps.enabled && self.config.traps.probe;
        let Some(sketch) = sketch.filter(|_| is_on) else {
            return links;
        };
        let standing = Standing::of(state.url.normal(), state.seed);
        if self.soft.is_missing(state.host, sketch.digest) {
            let (host, url) = (state.host, state.url.normal());
            if self.soft.spares(host, sketch.digest, url, standing) {
                return links;
            }
            attempt.flags.add(Flags::NOINDEX);
            attempt.detail = Some(SHOWN_FOR_ANY.to_owned());
            return Vec::new();
        }
        if self
            .soft
            .note(state.host, state.url.normal(), standing, sketch.digest)
        {
            self.probe(state, sketch.digest);
        }
        links
    }

    /// Pages that were taken in before their host was asked leave again, as soon as they are committed.
    pub(crate) fn leave_missing_out(&mut self) {
        for url in self.soft.take_leaving() {
            match self.repository.state(&url) {
                Some(now) if now.state == State::Fetched && !now.leased => {
                    let exclusion = Exclusion {
                        outcome: Outcome::TRAP_SUSPECTED,
                        rule: SHOWN_FOR_ANY.to_owned(),
                    };
                    self.leave_out(now, exclusion);
                }
                Some(now) if now.leased => self.soft.leave_later(url),
                _ => {}
            }
        }
    }

    fn probe(&mut self, state: &UrlState, page: u64) {
        let made_up = made_up(state.url.normal(), self.key);
        let Ok(url) = Url::parse(&made_up) else {
            return;
        };
        let normal = state.url.normal();
        let origin = format!("{}://{}", normal.scheme(), normal.authority());
        let host = self.repository.host_record(state.host);
        let stored = host.and_then(|record| record.robots.get(&origin)).cloned();
        let wall = self.clock.wall();
        let token = self.token_of(state.host);
        let manner = self.manner_of(state.host, token.as_deref());
        let stored = stored.as_deref();
        let reading = self.robots.read(&origin, url.path(), stored, wall, manner);
        if reading == Reading::Allowed || self.settings(state.host).run.ignore_robots {
            let errands = self.errands.entry(state.host).or_default();
            errands.push(Errand::Probe { url, page });
            self.soft.note_asked(state.host, page);
            self.wake_now(state.host);
        }
    }

    /// Takes the answer for a URL that does not exist.
    pub(crate) fn admit_probe(&mut self, page: Page) {
        let Page {
            errand,
            mut attempt,
            sketch,
            ..
        } = page;
        let Errand::Probe { page, .. } = errand else {
            return;
        };
        let name = attempt.url.normal().host_str().to_owned();
        let host = self.repository.ensure_host(&name);
        self.soft.note_answer(host, page);
        if sketch.is_some_and(|sketch| sketch.digest == page) {
            self.soft.learn(host, page);
            self.feedback.hear(&Event::Notice {
                level: Level::Warning,
                text: format!(
                    "{name} shows one and the same page for URLs that do not exist: such pages are neither indexed nor followed (`probe` in [traps])"
                ),
            });
        }
        // No URL of the collection, as robots.txt is none.
        attempt.next = Next::Robots;
        attempt.detail =
            Some("asked for a URL that does not exist, to see what it looks like".to_owned());
        self.record(attempt);
        self.wake(host);
    }
}

/// Whether there is no page at a URL for good, and what it leads to is known.
fn is_nothing(attempt: &Attempt) -> bool {
    let outcome = attempt.outcome;
    let is_none = outcome.is_redirect() || (400..500).contains(&outcome.number());
    let is_final = outcome.retry() == Retry::Final && matches!(attempt.next, Next::Done);
    is_none && is_final && !attempt.links.iter().any(leads_on)
}

fn leads_on(link: &LinkRecord) -> bool {
    matches!(link.verdict, LinkVerdict::New)
}
