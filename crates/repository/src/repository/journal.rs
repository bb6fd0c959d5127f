//! What the journal tells the Repository: outcomes as they are committed, and everything at a start.

use std::cmp::Reverse;

use teia_base::journal::{
    Attempt, Commit, Entry, Exclusion, LinkRecord, LinkVerdict, Next, Record, RecoveredUrl,
    SeedRecord,
};
use teia_base::{CanonicalUrl, FoundUrl, Outcome, Retry, Timestamp};

use super::{Admission, Offer, Repository};
use crate::row::{Fetched, State, UrlRef, has_changed};

/// What is known of a fetched URL costs, about.
const FETCHED_WEIGHT: u64 = 200;

impl Repository {
    /// Takes the outcomes of a commit that was just synced. Its links are here since they were
    /// offered.
    pub fn apply(&mut self, entry: &Entry) {
        if self.disk.is_some() {
            self.take_in(entry);
            return;
        }
        self.position = entry.sequence;
        if let Record::Commit(commit) = &entry.record {
            for attempt in &commit.attempts {
                self.settle(attempt);
            }
            self.apply_hosts(commit);
        }
        if let Record::Prioritised(urls) = &entry.record {
            self.prioritise(urls);
        }
    }

    pub(super) fn prioritise(&mut self, urls: &[(CanonicalUrl, i32)]) {
        for (url, priority) in urls {
            self.set_priority(url, *priority);
        }
    }

    /// What will be replayed is of another collection, and news of it is news here.
    pub fn tell_first(&mut self) {
        self.tells_first = true;
    }

    /// Takes an entry of an earlier process: links, outcomes and all.
    pub fn replay(&mut self, entry: &Entry) {
        self.replaying = true;
        self.replayed += entry.record.told();
        self.hosts_known = entry.sequence <= self.hosts_position;
        self.replay_entry(entry);
        self.hosts_known = false;
    }

    fn replay_entry(&mut self, entry: &Entry) {
        if self.disk.is_some() {
            if entry.sequence > self.position {
                self.take_in(entry);
                self.keep_up();
            } else {
                self.take_in_hosts(entry);
            }
            return;
        }
        if entry.record.has_undecided() && self.move_at_once() {
            self.replay_entry(entry);
            return;
        }
        match &entry.record {
            Record::RunStarted(run) => {
                for seed in &run.seeds {
                    self.replay_seed(seed, entry.wall);
                }
            }
            Record::Commit(commit) => {
                for attempt in &commit.attempts {
                    self.replay_attempt(attempt, entry.wall);
                }
                for change in &commit.changes {
                    self.replay_change(&change.url, change.depth, &change.verdict);
                }
                self.apply_hosts(commit);
            }
            Record::Added(added) => {
                for (url, verdict) in &added.urls {
                    self.replay_added(url, verdict, entry.wall);
                }
            }
            Record::Recovered(recovered) => {
                for url in &recovered.urls {
                    self.replay_recovered(url, entry.wall);
                }
            }
            Record::Prioritised(urls) => self.prioritise(urls),
            _ => {}
        }
        self.position = entry.sequence;
        self.keep_up();
    }

    fn replay_seed(&mut self, seed: &SeedRecord, wall: Timestamp) {
        let known = self.table.find(seed.url.normal().as_str());
        if let (LinkVerdict::Known, Some(at)) = (&seed.verdict, known) {
            self.meet_again(at, 0, false, Some(seed.fallback_http));
            return;
        }
        let admission = match &seed.verdict {
            LinkVerdict::Excluded(exclusion) => Admission::Exclude(exclusion.clone()),
            _ => Admission::Admit,
        };
        let offer = Offer {
            url: &seed.url,
            depth: 0,
            referrer: None,
            requisite: false,
            chain: None,
            last_modified: None,
            seed: Some(seed.fallback_http),
            admission,
        };
        self.offer(&offer, wall);
    }

    fn replay_added(&mut self, url: &FoundUrl, verdict: &LinkVerdict, wall: Timestamp) {
        let known = self.table.find(url.normal().as_str());
        match (verdict, known) {
            // Known then means known now, and excluded if it was; but the way to it is as short as then.
            (LinkVerdict::Known, Some(at)) => {
                self.meet_again(at, 0, false, None);
            }
            (LinkVerdict::Known, None) => {}
            _ => {
                self.offer(&Offer::added(url), wall);
            }
        }
    }

    fn replay_recovered(&mut self, found: &RecoveredUrl, wall: Timestamp) {
        let admission = match &found.verdict {
            LinkVerdict::Excluded(exclusion) => Admission::Exclude(exclusion.clone()),
            _ => Admission::Admit,
        };
        let offer = Offer {
            depth: found.depth,
            requisite: found.requisite,
            seed: found.seed,
            admission,
            ..Offer::added(&found.url)
        };
        self.offer(&offer, wall);
    }

    fn replay_attempt(&mut self, attempt: &Attempt, wall: Timestamp) {
        let referrer = self
            .table
            .find(attempt.url.normal().as_str())
            .map(|at| self.table.reference(at));
        let mut targets = Vec::new();
        for link in &attempt.links {
            if let Some(target) = self.replay_link(link, referrer, wall) {
                targets.push(target);
            }
        }
        if let Some(referrer) = referrer.filter(|_| !attempt.is_robots()) {
            match targets.as_slice() {
                [target] if attempt.outcome.is_redirect() => self.set_redirect(referrer, *target),
                _ => self.set_links(referrer, &targets),
            }
        }
        self.settle(attempt);
    }

    fn replay_link(
        &mut self,
        link: &LinkRecord,
        referrer: Option<UrlRef>,
        wall: Timestamp,
    ) -> Option<UrlRef> {
        let seed = (link.kind == teia_base::LinkKind::Seed).then_some(false);
        let admission = match &link.verdict {
            LinkVerdict::NotFollowed => {
                self.meet_barred(&link.url, referrer, wall);
                return None;
            }
            LinkVerdict::Excluded(exclusion) => Admission::Exclude(exclusion.clone()),
            LinkVerdict::New | LinkVerdict::Readmitted | LinkVerdict::Pending => Admission::Admit,
            LinkVerdict::Known => {
                // Known then means known now, and excluded if it was.
                let at = self.table.find(link.url.normal().as_str())?;
                self.meet_again(at, link.depth, link.requisite, seed);
                return Some(self.table.reference(at));
            }
        };
        let offer = Offer {
            url: &link.url,
            depth: link.depth,
            referrer,
            requisite: link.requisite,
            chain: link.chain,
            last_modified: link.last_modified,
            seed,
            admission,
        };
        Some(self.offer(&offer, wall).reference)
    }

    /// Leaves a URL out as an entry of the journal would that nobody has written yet: for those who only look.
    pub fn overlay_exclusion(&mut self, url: &CanonicalUrl, exclusion: &Exclusion) {
        if self.disk.is_some() {
            self.take_exclusion(url, exclusion);
        } else if let Some(at) = self.table.find(url.as_str()) {
            self.exclude_row(at, exclusion);
        }
    }

    fn replay_change(&mut self, url: &CanonicalUrl, depth: u16, verdict: &LinkVerdict) {
        let Some(at) = self.table.find(url.as_str()) else {
            return;
        };
        if let LinkVerdict::Excluded(exclusion) = verdict {
            self.exclude_row(at, exclusion);
            return;
        }
        self.lower(at, depth);
        if *verdict == LinkVerdict::Readmitted && self.table.row(at).state == State::Excluded {
            self.table.row_mut(at).rule = 0;
            self.set_state(at, State::Waiting);
            self.enqueue(at);
        }
    }

    pub(super) fn apply_hosts(&mut self, commit: &Commit) {
        for host in self.apply_host_records(commit) {
            self.forgive(host, Outcome::ALIAS_HOST);
        }
    }

    /// Keeps what is told of hosts. Returns those that are no aliases any more.
    pub(super) fn apply_host_records(&mut self, commit: &Commit) -> Vec<u32> {
        let mut forgiven = Vec::new();
        for update in &commit.hosts {
            let host = self.intern_host(&update.host);
            if self.hosts_known {
                // Its URLs may still have to hear of it.
                if update.alias_of.as_deref() == Some("") {
                    forgiven.push(host);
                }
                continue;
            }
            self.note_changed(host);
            if let Some((origin, stored)) = &update.robots {
                self.keep_robots(host, origin, stored);
            }
            let record = self.hosts[host as usize].record_mut();
            if let Some(until) = update.back_off_until {
                record.back_off_until = Some(until);
            }
            match update.alias_of.as_deref() {
                None => {}
                Some("") => {
                    record.alias_of = None;
                    forgiven.push(host);
                }
                Some(alias) => record.alias_of = Some(alias.to_owned()),
            }
        }
        forgiven
    }

    /// URLs of a host that ended so wait again.
    fn forgive(&mut self, host: u32, outcome: Outcome) {
        if self.disk.is_some() {
            let name = self.hosts[host as usize].name.clone();
            self.reopen_on_disk(Some(&name), |ended, _| ended == outcome);
            return;
        }
        for at in 0..self.table.places() {
            let row = self.table.row_mut(at);
            let ended_so = row.host == host
                && row.state != State::Waiting
                && row.fetched.as_ref().is_some_and(|it| it.outcome == outcome);
            if ended_so {
                row.tries = 0;
                self.set_state(at, State::Waiting);
                self.enqueue(at);
            }
        }
    }

    fn settle(&mut self, attempt: &Attempt) {
        let host = match self.table.find(attempt.url.normal().as_str()) {
            Some(at) if !attempt.is_robots() => {
                self.settle_url(at, attempt);
                self.table.row(at).host
            }
            _ if attempt.remote.is_none() && !attempt.is_robots() => return,
            _ => self.intern_host(attempt.url.normal().host_str()),
        };
        self.settle_host(host, attempt);
    }

    /// What an attempt tells of its host.
    pub(super) fn settle_host(&mut self, host: u32, attempt: &Attempt) {
        if self.hosts_known {
            return;
        }
        self.note_changed(host);
        let row = &mut self.hosts[host as usize];
        // Another visit of a page makes no other page.
        if attempt.outcome.is_answered()
            && attempt.visit == 1
            && !attempt.is_robots()
            && !matches!(attempt.next, Next::RetryAt(_))
        {
            row.fetched += 1;
            if row.fetched == 1 {
                self.host_was_seen(host);
            }
        }
        let row = &mut self.hosts[host as usize];
        if attempt.outcome == Outcome::ROBOTS_DISALLOWED {
            return;
        }
        let record = row.record_mut();
        record.attempts += 1;
        record.last_attempt = Some(attempt.started);
        record.failures = match attempt.outcome.retry() {
            Retry::Host => record.failures.saturating_add(1),
            _ => 0,
        };
        if let Some(remote) = attempt.remote {
            let latency = u32::try_from(attempt.times.first_byte.as_micros()).unwrap_or(u32::MAX);
            record.latency_micros = if record.latency_micros == 0 {
                latency
            } else {
                record.latency_micros / 8 * 7 + latency / 8
            };
            if record.addresses.first() != Some(&remote.ip()) {
                record.addresses.retain(|address| *address != remote.ip());
                record.addresses.insert(0, remote.ip());
                record.addresses.truncate(4);
            }
        }
    }

    /// It waits, and not before then.
    pub(super) fn visit_later(&mut self, at: u32, due: Timestamp) {
        let row = self.table.row_mut(at);
        row.rare.get_or_insert_default().due = Some(due);
        let host = row.host;
        self.set_state(at, State::Waiting);
        let reference = self.table.reference(at);
        self.hosts[host as usize]
            .later
            .push(Reverse((due, reference)));
    }

    pub(super) fn settle_url(&mut self, at: u32, attempt: &Attempt) {
        let row = self.table.row_mut(at);
        row.leased = false;
        if attempt.next == Next::Waiting {
            self.enqueue(at);
            return;
        }
        // It was asked, so it was admitted; the entry may tell of that only after this.
        row.rule = 0;
        row.tries = attempt.try_number;
        let digest_changed = row.fetched.as_ref().is_some_and(|fetched| {
            fetched.text_digest.is_some()
                && attempt.text_digest.is_some()
                && fetched.text_digest != attempt.text_digest
        });
        // One that was given up is no visit.
        let done = match attempt.next {
            Next::Done => attempt.outcome.number() > 0,
            next => matches!(next, Next::Again(_)),
        };
        match &mut row.fetched {
            Some(fetched) => {
                if done {
                    fetched.visits += 1;
                    let before = (fetched.outcome.number(), fetched.text_digest);
                    let now = (attempt.outcome.number(), attempt.text_digest);
                    // Whole seconds, as on disk.
                    let seconds = attempt.started.as_seconds() - fetched.last_attempt.as_seconds();
                    let seconds = u64::try_from(seconds).unwrap_or(0);
                    match has_changed(before, now) {
                        Some(true) => fetched.changed_seconds += seconds,
                        Some(false) => fetched.quiet_seconds += seconds,
                        None => {}
                    }
                    if digest_changed {
                        fetched.changes += 1;
                        fetched.last_change = Some(attempt.started);
                    }
                }
                fetched.last_attempt = attempt.started;
                fetched.outcome = attempt.outcome;
                if let Some(media_type) = &attempt.media_type {
                    fetched.media_type = Some(media_type.as_str().into());
                }
                fetched.text_digest = attempt.text_digest.or(fetched.text_digest);
                // Of a page that is as it was, the copy is the older one.
                if attempt.outcome != Outcome::NOT_MODIFIED {
                    fetched.capture = attempt.capture.or(fetched.capture);
                }
                if attempt.outcome.is_ok() || attempt.outcome == Outcome::NOT_MODIFIED {
                    fetched.etag = attempt.etag.as_deref().map(Into::into);
                    fetched.last_modified = attempt.last_modified.as_deref().map(Into::into);
                }
            }
            empty => {
                self.weight += FETCHED_WEIGHT;
                *empty = Some(Box::new(Fetched {
                    last_attempt: attempt.started,
                    outcome: attempt.outcome,
                    visits: u32::from(done),
                    changes: 0,
                    last_change: None,
                    quiet_seconds: 0,
                    changed_seconds: 0,
                    media_type: attempt.media_type.as_deref().map(Into::into),
                    text_digest: attempt.text_digest,
                    capture: attempt.capture,
                    etag: attempt.etag.as_deref().map(Into::into),
                    last_modified: attempt.last_modified.as_deref().map(Into::into),
                }));
            }
        }
        match attempt.next {
            Next::RetryAt(due) => self.visit_later(at, due),
            Next::Done => {
                row.tries = 0;
                if let Some(rare) = &mut row.rare {
                    rare.due = None;
                }
                let state = match attempt.outcome.number() {
                    404 | 410 => State::Gone,
                    number if number > 0 => State::Fetched,
                    _ => State::Failed,
                };
                self.set_state(at, state);
            }
            Next::Again(due) => {
                row.tries = 0;
                self.visit_later(at, due);
            }
            Next::Failed => self.set_state(at, State::Failed),
            Next::Robots | Next::Waiting => {}
        }
    }
}
