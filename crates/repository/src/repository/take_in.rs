//! How the store is told what was committed: by the journal's entries, live and at a start alike.

use std::time::Duration;

use teia_base::journal::{
    Attempt, Commit, Entry, Exclusion, Folded, LinkRecord, LinkVerdict, Next, Record, SeedRecord,
    UrlChange,
};
use teia_base::{CanonicalUrl, FoundUrl, LinkKind, Outcome, Timestamp};

use super::Repository;
use super::disk::{moment, seconds};
use crate::blocks::{Answer, Decided, Link, Settlement, Standing, Stands};
use crate::host::Stored;
use crate::row::State;

/// A URL whose next visit is nearer than this stays in memory until then: a fold may take as long.
const SOON: Duration = Duration::from_secs(120);

impl Repository {
    /// Takes an entry in that was committed.
    pub(super) fn take_in(&mut self, entry: &Entry) {
        if let Some(disk) = &mut self.disk {
            disk.store.set_time(seconds(entry.wall));
        }
        match &entry.record {
            Record::RunStarted(run) => {
                for seed in &run.seeds {
                    self.take_seed(seed);
                }
            }
            Record::Commit(commit) => {
                for attempt in &commit.attempts {
                    self.take_attempt(attempt);
                }
                for change in &commit.changes {
                    self.take_change(change);
                }
                self.apply_hosts(commit);
                if let Some(disk) = &mut self.disk {
                    disk.open_commits = disk.open_commits.saturating_sub(1);
                }
            }
            Record::Added(added) => {
                for (url, verdict) in &added.urls {
                    let link = Link::new(url.normal().as_str(), 0);
                    self.take_link(url, link, verdict);
                }
            }
            Record::Recovered(recovered) => {
                for found in &recovered.urls {
                    let link = Link {
                        requisite: found.requisite,
                        seed: found.seed,
                        ..Link::new(found.url.normal().as_str(), found.depth)
                    };
                    self.take_link(&found.url, link, &found.verdict);
                }
            }
            Record::Prioritised(urls) => self.prioritise(urls),
            Record::Folded(folded) => self.take_folded(folded),
            _ => {}
        }
        self.position = entry.sequence;
    }

    /// News of a fold is in the journal. What is there of it without its end is not told again after a start.
    fn take_folded(&mut self, folded: &Folded) {
        let replaying = self.replaying;
        let Some(disk) = &mut self.disk else { return };
        if disk.remade && replaying {
            // What earlier blocks, or these before the last start, have found out.
            disk.store.number_folds_after(folded.fold);
            for change in &folded.changes {
                disk.store.told(change.url.as_str());
            }
            return;
        }
        if folded.is_last {
            disk.store.acknowledge(folded.fold);
        } else if replaying {
            let (fold, told) = &mut disk.half_told;
            if *fold != folded.fold {
                (*fold, *told) = (folded.fold, 0);
            }
            *told += folded.changes.len();
        }
    }

    /// Takes from an entry that the store has what it does not keep: what is known of hosts.
    pub(super) fn take_in_hosts(&mut self, entry: &Entry) {
        match &entry.record {
            Record::Commit(commit) => {
                for attempt in &commit.attempts {
                    let host = self.intern_host(attempt.url.normal().host_str());
                    self.settle_host(host, attempt);
                }
                let kept = Commit {
                    hosts: commit.hosts.clone(),
                    ..Commit::default()
                };
                self.apply_host_records(&kept);
            }
            // What is remade has it in its rows.
            Record::Folded(folded) if !self.disk.as_ref().is_some_and(|disk| disk.remade) => {
                self.take_folded(folded);
            }
            _ => {}
        }
    }

    fn take_seed(&mut self, seed: &SeedRecord) {
        let link = Link {
            seed: Some(seed.fallback_http),
            ..Link::new(seed.url.normal().as_str(), 0)
        };
        self.take_link(&seed.url, link, &seed.verdict);
    }

    fn take_attempt(&mut self, attempt: &Attempt) {
        let page = self.table.find(attempt.url.normal().as_str());
        let referrer = page.map_or(0, |at| self.table.sequence(at));
        for record in &attempt.links {
            let link = link_of(record, referrer);
            self.take_link(&record.url, link, &record.verdict);
        }
        self.settle_on_disk(attempt);
    }

    fn take_change(&mut self, change: &UrlChange) {
        if let LinkVerdict::Excluded(exclusion) = &change.verdict {
            self.take_exclusion(&change.url, exclusion);
            return;
        }
        let mut link = Link::new(change.url.as_str(), change.depth);
        if !matches!(
            change.verdict,
            LinkVerdict::New | LinkVerdict::Readmitted | LinkVerdict::Pending
        ) {
            // Only nearer, and as far outside as before.
            link.rule = self.intern_rule(&not_followed());
        }
        self.take_in_link(change.url.host_str(), &link, Decided::Known);
    }

    /// A URL that waited, or that was kept, is left out.
    pub(super) fn take_exclusion(&mut self, url: &CanonicalUrl, exclusion: &Exclusion) {
        let rule = self.intern_rule(exclusion);
        let row = self.table.find(url.as_str());
        let was = match row {
            Some(_) => Some(State::Waiting),
            None => self.state_on_disk(url).map(|known| known.state),
        };
        let Some(disk) = &mut self.disk else { return };
        let stands = Stands {
            state: Standing::Excluded(rule),
            ..Stands::default()
        };
        disk.store.release(url.as_str());
        disk.store.stand(url.as_str(), stands);
        if let Some(was) = was {
            disk.expect(was, -1);
            disk.expect(State::Excluded, 1);
        }
        match row {
            // In memory it was left out when that was decided.
            Some(at) if self.table.row(at).state == State::Excluded => self.let_go(at),
            row => {
                if let Some(at) = row {
                    self.let_go(at);
                }
                if was == Some(State::Waiting) {
                    let host = self.intern_host(url.host_str());
                    let host = &mut self.hosts[host as usize];
                    host.waiting = host.waiting.saturating_sub(1);
                }
            }
        }
    }

    fn take_link<'a>(&mut self, url: &'a FoundUrl, mut link: Link<'a>, verdict: &LinkVerdict) {
        let decided = match verdict {
            LinkVerdict::New => Decided::New,
            LinkVerdict::Readmitted => Decided::Known,
            LinkVerdict::Known => {
                // Known, and left out if it was: a link that lets it in has another verdict.
                link.rule = self.intern_rule(&not_followed());
                Decided::Known
            }
            LinkVerdict::Pending => Decided::Pending,
            LinkVerdict::Excluded(exclusion) => {
                link.rule = self.intern_rule(exclusion);
                Decided::Pending
            }
            LinkVerdict::NotFollowed => {
                link.depth = u16::MAX;
                link.rule = self.intern_rule(&not_followed());
                Decided::Pending
            }
        };
        link.spelling = url.spelling();
        self.take_in_link(url.normal().host_str(), &link, decided);
    }

    fn take_in_link(&mut self, host: &str, link: &Link<'_>, decided: Decided) {
        let Some(disk) = &mut self.disk else { return };
        match disk.store.replay(link, decided) {
            Answer::New(sequence) => {
                disk.expect(State::Waiting, 1);
                self.landed(host, link.url, sequence);
            }
            Answer::Readmitted => {
                disk.expect(State::Excluded, -1);
                disk.expect(State::Waiting, 1);
                let host = self.intern_host(host);
                self.hosts[host as usize].waiting += 1;
                self.wake_for_store(host);
            }
            Answer::Known | Answer::Pending => {}
        }
    }

    /// A new URL has reached the store. Its row in memory goes, unless it is in use.
    fn landed(&mut self, host: &str, url: &str, sequence: u64) {
        match self.table.find(url) {
            Some(at) => {
                self.table.set_sequence(at, sequence);
                let row = self.table.row(at);
                let is_later = row.rare.as_ref().is_some_and(|rare| rare.due.is_some());
                if row.leased || is_later {
                    if let Some(disk) = &mut self.disk {
                        disk.store.hold(url);
                    }
                } else {
                    self.let_go(at);
                }
            }
            None => {
                let host = self.intern_host(host);
                let row = &mut self.hosts[host as usize];
                row.known += 1;
                row.waiting += 1;
                row.stored = Stored::Perhaps;
            }
        }
    }

    fn settle_on_disk(&mut self, attempt: &Attempt) {
        let host = self.intern_host(attempt.url.normal().host_str());
        if !attempt.is_robots() {
            self.settle_url_on_disk(host, attempt);
        }
        self.settle_host(host, attempt);
    }

    fn settle_url_on_disk(&mut self, host: u32, attempt: &Attempt) {
        let url = attempt.url.normal().as_str();
        let row = self.table.find(url);
        if let Some(at) = row {
            self.settle_url(at, attempt);
        }
        let (state, standing) = match attempt.next {
            Next::Waiting | Next::Robots => return,
            Next::RetryAt(_) | Next::Again(_) => (State::Waiting, Standing::Waiting),
            Next::Failed => (State::Failed, Standing::Failed),
            Next::Done => match attempt.outcome.number() {
                404 | 410 => (State::Gone, Standing::Gone),
                number if number > 0 => (State::Fetched, Standing::Fetched),
                _ => (State::Failed, Standing::Failed),
            },
        };
        let due = match attempt.next {
            // Whole seconds: not before it is due.
            Next::RetryAt(due) | Next::Again(due) => seconds(due).saturating_add(1),
            _ => 0,
        };
        let Some(disk) = &mut self.disk else { return };
        disk.store.settle(
            url,
            Settlement {
                at: seconds(attempt.started),
                outcome: attempt.outcome.number(),
                state: standing,
                tries: if matches!(attempt.next, Next::RetryAt(_) | Next::Failed) {
                    attempt.try_number
                } else {
                    0
                },
                due,
                media_type: attempt.media_type.as_deref().map(Into::into),
                text_digest: attempt.text_digest,
                // Of a page that is as it was, the copy is the older one.
                capture: attempt
                    .capture
                    .filter(|_| attempt.outcome != Outcome::NOT_MODIFIED)
                    .map(|capture| capture.0),
                etag: attempt.etag.as_deref().map(Into::into),
                last_modified: attempt.last_modified.as_deref().map(Into::into),
            },
        );
        disk.expect(State::Waiting, -1);
        disk.expect(state, 1);
        // A page whose next visit is far ahead waits on disk.
        let is_soon = match attempt.next {
            Next::Again(due) => due.since(attempt.started) <= SOON,
            _ => true,
        };
        match row {
            Some(at) if state == State::Waiting && !is_soon => {
                self.let_go(at);
                self.rest_until(host, moment(due));
            }
            // It waits in memory for its next try.
            Some(_) if state == State::Waiting => disk.store.hold(url),
            Some(at) => self.let_go(at),
            None if state == State::Waiting => self.rest_until(host, moment(due)),
            None => {
                let row = &mut self.hosts[host as usize];
                row.waiting = row.waiting.saturating_sub(1);
            }
        }
    }
}

impl Repository {
    /// Something of the host is due on disk then, if nothing is before.
    pub(super) fn rest_until(&mut self, host: u32, due: Timestamp) {
        let row = &mut self.hosts[host as usize];
        row.stored.not_after(due);
        if self.config.revisit_share.is_some() {
            row.stored_again.not_after(due);
        }
    }
}

fn link_of<'a>(record: &'a LinkRecord, referrer: u64) -> Link<'a> {
    Link {
        referrer,
        requisite: record.requisite,
        seed: (record.kind == LinkKind::Seed).then_some(false),
        chain: record.chain,
        last_modified: record.last_modified.map(seconds),
        ..Link::new(record.url.normal().as_str(), record.depth)
    }
}

/// The rule that leaves out what only links lead to that are not to be followed.
pub(super) fn not_followed() -> Exclusion {
    Exclusion {
        outcome: Outcome::OUT_OF_SCOPE,
        rule: "nofollow".to_owned(),
    }
}
