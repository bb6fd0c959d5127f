//! The Repository beside a plain map, over a long random life; and its journal replayed.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod support;

use std::collections::HashMap;
use std::time::Duration;

use support::{Draw, at, exclusion, found, repository};
use teia_base::journal::{
    Attempt, Commit, Entry, Exclusion, HostUpdate, LinkRecord, LinkVerdict, Next, Record,
    RunStarted, SeedRecord, UrlChange,
};
use teia_base::{CaptureId, HostId, LinkKind, Outcome, Rel, Retry, Timestamp};
use teia_repository::{Admission, Offer, Repository, State, UrlRef, UrlState};

const HOSTS: u64 = 24;
const PATIENCE: Duration = Duration::from_secs(60);

fn url(draw: &mut Draw) -> String {
    let host = draw.below(HOSTS);
    // Some paths are met again and again, most are not.
    let paths = if draw.below(3) == 0 { 20 } else { 2000 };
    format!("http://h{host}.model.test/p/{}", draw.below(paths))
}

#[derive(Clone, Debug)]
struct Known {
    sequence: usize,
    host: String,
    state: State,
    depth: u16,
    leased: bool,
    due: Option<Timestamp>,
    requisite: bool,
    seed: bool,
    exclusion: Option<Exclusion>,
    tries: u8,
    last: Option<(Timestamp, Outcome)>,
    visits: u32,
}

/// The map, and what it takes to write the journal as the engine does.
struct Life {
    live: Repository,
    known: HashMap<String, Known>,
    by_host: HashMap<String, Vec<String>>,
    leases: Vec<(UrlRef, String)>,
    pending: Commit,
    journal: Vec<Entry>,
    now: Timestamp,
    run: u32,
    draw: Draw,
}

impl Life {
    fn offer(
        &mut self,
        text: &str,
        depth: u16,
        requisite: bool,
        seed: Option<bool>,
        admission: &Admission,
    ) -> LinkVerdict {
        let found = found(text);
        let offered = self.live.offer(
            &Offer {
                url: &found,
                depth,
                referrer: None,
                requisite,
                chain: None,
                last_modified: None,
                seed,
                admission: admission.clone(),
            },
            self.now,
        );
        let sequence = self.known.len();
        let excluded = match admission {
            Admission::Exclude(exclusion) => Some(exclusion.clone()),
            Admission::Admit => None,
        };
        let (verdict, lowered) = match self.known.get_mut(text) {
            None => {
                let host = found.normal().host_str().to_owned();
                self.by_host
                    .entry(host.clone())
                    .or_default()
                    .push(text.to_owned());
                let state = if excluded.is_some() {
                    State::Excluded
                } else {
                    State::Waiting
                };
                self.known.insert(
                    text.to_owned(),
                    Known {
                        sequence,
                        host,
                        state,
                        depth,
                        leased: false,
                        due: None,
                        requisite,
                        seed: seed.is_some(),
                        exclusion: excluded.clone(),
                        tries: 0,
                        last: None,
                        visits: 0,
                    },
                );
                (
                    excluded.map_or(LinkVerdict::New, LinkVerdict::Excluded),
                    false,
                )
            }
            Some(known) => {
                let lowered = depth < known.depth;
                known.depth = known.depth.min(depth);
                known.seed |= seed.is_some();
                known.requisite = (known.requisite || requisite) && !known.seed;
                if known.state == State::Excluded && excluded.is_none() {
                    known.state = State::Waiting;
                    known.exclusion = None;
                    (LinkVerdict::Readmitted, lowered)
                } else {
                    (LinkVerdict::Known, lowered)
                }
            }
        };
        assert_eq!(
            (&offered.verdict, offered.lowered),
            (&verdict, lowered),
            "{text}"
        );
        assert_eq!(self.live.host_name(offered.host), found.normal().host_str());
        verdict
    }

    fn random_admission(&mut self) -> Admission {
        if self.draw.below(4) == 0 {
            Admission::Exclude(exclusion(&format!("rule {}", self.draw.below(5))))
        } else {
            Admission::Admit
        }
    }

    fn texts(&self, host: &str) -> &[String] {
        self.by_host.get(host).map_or(&[], Vec::as_slice)
    }

    fn waiting(&self, host: &str) -> Vec<&String> {
        let mut waiting: Vec<&String> = self
            .texts(host)
            .iter()
            .filter(|text| {
                let known = &self.known[*text];
                known.state == State::Waiting
                    && !known.leased
                    && known.due.is_none_or(|due| due <= self.now)
            })
            .collect();
        // One other try has its place; those after it never hold up what was not tried yet.
        waiting.sort_by_key(|text| {
            let known = &self.known[*text];
            (known.tries.saturating_sub(1), known.depth, known.sequence)
        });
        waiting
    }

    fn window(&mut self) {
        let name = format!("h{}.model.test", self.draw.below(HOSTS));
        let Some(host) = self.live.host(&name) else {
            return;
        };
        self.check_due(&name, host);
        let n = usize::try_from(self.draw.below(4)).unwrap();
        let want: Vec<String> = self.waiting(&name).into_iter().take(n).cloned().collect();
        let got = self.live.window(host, n, self.now);
        let texts: Vec<String> = got
            .iter()
            .map(|state| state.url.normal().to_string())
            .collect();
        assert_eq!(texts, want, "the window of {name}");
        for state in got {
            let known = self.known.get_mut(state.url.normal().as_str()).unwrap();
            known.leased = true;
            assert_eq!((state.depth, state.tries), (known.depth, known.tries));
            self.leases
                .push((state.reference, state.url.normal().to_string()));
        }
    }

    fn check_due(&mut self, name: &str, host: HostId) {
        let want = if self.waiting(name).is_empty() {
            self.texts(name)
                .iter()
                .map(|text| &self.known[text])
                .filter(|known| known.state == State::Waiting && !known.leased)
                .filter_map(|known| known.due)
                .min()
        } else {
            Some(self.now)
        };
        assert_eq!(self.live.next_due(host, self.now), want, "{name}");
    }

    fn lease(&mut self) -> Option<(UrlRef, String)> {
        if self.leases.is_empty() {
            return None;
        }
        let pick = usize::try_from(self.draw.below(self.leases.len() as u64)).unwrap();
        Some(self.leases.swap_remove(pick))
    }

    fn release(&mut self) {
        if let Some((reference, text)) = self.lease() {
            self.live.release(reference);
            self.known.get_mut(&text).unwrap().leased = false;
        }
    }

    /// A fetch that ends: links are offered at once, the outcome counts with the commit.
    fn visit(&mut self) {
        let Some((_, text)) = self.lease() else {
            return;
        };
        let outcome = [
            Outcome::http(200),
            Outcome::http(200),
            Outcome::http(404),
            Outcome::http(503),
            Outcome::CONNECT_REFUSED,
            Outcome::TIME_EXCEEDED,
            Outcome::ROBOTS_DISALLOWED,
        ][usize::try_from(self.draw.below(7)).unwrap()];
        let mut attempt = Attempt::new(found(&text), self.now, outcome);
        let known = &self.known[&text];
        attempt.depth = known.depth;
        attempt.try_number = known.tries + 1;
        attempt.next = match outcome.retry() {
            Retry::Final => Next::Done,
            _ if known.tries >= 2 => Next::Failed,
            _ => Next::RetryAt(self.now.plus(Duration::from_secs(self.draw.below(90)))),
        };
        if self.draw.below(40) == 0 {
            attempt.next = Next::Waiting;
        }
        if outcome.is_ok() {
            attempt.capture = Some(CaptureId(self.draw.below(1 << 40)));
            attempt.text_digest = Some(u128::from(self.draw.below(3)));
            for _ in 0..self.draw.below(6) {
                attempt.links.push(self.link());
            }
        }
        self.pending.attempts.push(attempt);
        if self.draw.below(10) == 0 {
            self.spread();
        }
    }

    fn link(&mut self) -> LinkRecord {
        let text = url(&mut self.draw);
        let depth = u16::try_from(self.draw.below(12)).unwrap();
        let admission = self.random_admission();
        let requisite = matches!(admission, Admission::Admit) && self.draw.below(6) == 0;
        let not_followed = self.draw.below(20) == 0;
        let verdict = if not_followed {
            self.meet_barred(&text);
            LinkVerdict::NotFollowed
        } else {
            self.offer(&text, depth, requisite, None, &admission)
        };
        LinkRecord {
            url: found(&text),
            kind: LinkKind::Anchor,
            rel: Rel::default(),
            anchor: String::new(),
            last_modified: None,
            depth,
            requisite,
            chain: None,
            verdict,
        }
    }

    fn meet_barred(&mut self, text: &str) {
        if self.known.contains_key(text) {
            self.live.meet_barred(&found(text), None, self.now);
            return;
        }
        let out = Admission::Exclude(exclusion("nofollow"));
        self.offer(text, u16::MAX, false, None, &out);
    }

    /// A shorter way to a URL that was met before, which no link of this commit tells of.
    fn spread(&mut self) {
        let text = url(&mut self.draw);
        let Some(known) = self.known.get(&text) else {
            return;
        };
        let (depth, requisite) = (known.depth / 2, known.requisite);
        let admission = self.random_admission();
        let verdict = self.offer(&text, depth, requisite, None, &admission);
        self.pending.changes.push(UrlChange {
            url: found(&text).into_normal(),
            depth,
            verdict,
        });
    }

    fn commit(&mut self) {
        let mut commit = std::mem::take(&mut self.pending);
        if self.draw.below(20) == 0 {
            commit.hosts.push(HostUpdate {
                host: format!("h{}.model.test", self.draw.below(HOSTS)),
                robots: Some(("http://x".to_owned(), vec![1, 2, 3])),
                back_off_until: Some(self.now),
                alias_of: None,
            });
        }
        for attempt in &commit.attempts {
            let known = self.known.get_mut(attempt.url.normal().as_str()).unwrap();
            known.leased = false;
            if attempt.next == Next::Waiting {
                continue;
            }
            known.tries = attempt.try_number;
            known.last = Some((attempt.started, attempt.outcome));
            known.due = None;
            match attempt.next {
                Next::RetryAt(due) => known.due = Some(due),
                Next::Failed => known.state = State::Failed,
                _ => {
                    known.tries = 0;
                    known.visits += u32::from(attempt.outcome.number() > 0);
                    known.state = match attempt.outcome.number() {
                        404 => State::Gone,
                        number if number > 0 => State::Fetched,
                        _ => State::Failed,
                    };
                }
            }
        }
        let entry = self.entry(Record::Commit(commit));
        self.live.apply(&entry);
        assert_eq!(self.live.position(), entry.sequence);
        self.journal.push(entry);
    }

    fn entry(&self, record: Record) -> Entry {
        Entry {
            sequence: self.journal.len() as u64 + 1,
            wall: self.now,
            run: self.run,
            record,
        }
    }

    fn new_run(&mut self) {
        while !self.leases.is_empty() {
            self.release();
        }
        self.commit();
        self.run += 1;
        self.live.begin_run(self.now, PATIENCE);
        for known in self.known.values_mut() {
            if let (State::Failed, Some((moment, outcome))) = (known.state, known.last)
                && outcome.retry() != Retry::Final
                && self.now.since(moment) >= PATIENCE
            {
                known.state = State::Waiting;
                known.tries = 0;
                known.due = None;
            }
        }
        let mut seeds = Vec::new();
        for _ in 0..20 {
            let text = url(&mut self.draw);
            let fallback_http = self.draw.below(2) == 0;
            let admission = self.random_admission();
            let verdict = match self.offer(&text, 0, false, Some(fallback_http), &admission) {
                LinkVerdict::Readmitted => LinkVerdict::New,
                verdict => verdict,
            };
            seeds.push(SeedRecord {
                url: found(&text),
                fallback_http,
                verdict,
            });
        }
        let entry = self.entry(Record::RunStarted(RunStarted {
            options: String::new(),
            seeds,
            version: String::new(),
        }));
        self.live.apply(&entry);
        self.journal.push(entry);
    }

    fn step(&mut self) {
        match self.draw.below(100) {
            0..40 => {
                let pass = Duration::from_millis(self.draw.below(400));
                self.now = self.now.plus(pass);
                self.window();
            }
            40..50 => self.release(),
            50..97 => self.visit(),
            97..99 => self.commit(),
            _ => {
                if self.draw.below(20) == 0 {
                    self.new_run();
                }
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.live.len(), self.known.len() as u64);
        let total: u64 = State::ALL.iter().map(|state| self.live.count(*state)).sum();
        assert_eq!(total, self.live.len());
        for state in State::ALL {
            let want = self.known.values().filter(|known| known.state == state);
            assert_eq!(self.live.count(state), want.count() as u64, "{state:?}");
        }
        for (text, known) in &self.known {
            let state = self.live.state(found(text).normal()).unwrap();
            assert_eq!(state.state, known.state, "{text}");
            assert_eq!(state.depth, known.depth, "{text}");
            assert_eq!(state.leased, known.leased, "{text}");
            assert_eq!(state.tries, known.tries, "{text}");
            assert_eq!(state.exclusion, known.exclusion, "{text}");
            assert_eq!(
                (state.requisite, state.seed),
                (known.requisite, known.seed),
                "{text}"
            );
            let visits = state.fetched.as_ref().map_or(0, |fetched| fetched.visits);
            assert_eq!(visits, known.visits, "{text}");
            let host = self.live.host_name(state.host);
            assert_eq!(host, known.host);
        }
        for (host, name) in self.live.hosts() {
            let (all, waiting, _) = self.live.host_counts(host);
            let texts = self.texts(name);
            let still = texts
                .iter()
                .filter(|text| self.known[*text].state == State::Waiting);
            assert_eq!(
                (all as usize, waiting as usize),
                (texts.len(), still.count()),
                "{name}"
            );
        }
    }
}

/// Everything that is told of a URL and that outlives the process.
fn durable(state: &UrlState) -> String {
    let UrlState {
        url,
        state: place,
        exclusion,
        depth,
        tries,
        due,
        requisite,
        seed,
        fallback_http,
        chain,
        fetched,
        ..
    } = state;
    format!(
        "{url:?} {place:?} {exclusion:?} {depth} {tries} {due:?} {requisite} {seed} {fallback_http} {chain:?} {fetched:?}"
    )
}

fn everything(repository: &mut Repository, now: Timestamp) -> Vec<String> {
    let hosts: Vec<HostId> = repository.hosts().map(|(host, _)| host).collect();
    for host in &hosts {
        repository.next_due(*host, now);
    }
    let mut all: Vec<String> = repository.urls().map(|state| durable(&state)).collect();
    all.extend(hosts.iter().map(|host| {
        format!(
            "{} {:?} {:?}",
            repository.host_name(*host),
            repository.host_counts(*host),
            repository.host_record(*host)
        )
    }));
    all.extend(
        State::ALL
            .iter()
            .map(|state| format!("{state:?} {}", repository.count(*state))),
    );
    // The queues, to their end, in their order.
    for host in hosts {
        let window = repository.window(host, usize::MAX, now);
        all.extend(window.iter().map(|state| state.url.normal().to_string()));
        window
            .iter()
            .for_each(|state| repository.release(state.reference));
    }
    all
}

fn live(seed: u64, steps: usize) {
    let mut life = Life {
        live: repository(),
        known: HashMap::new(),
        by_host: HashMap::new(),
        leases: Vec::new(),
        pending: Commit::default(),
        journal: Vec::new(),
        now: at(1_800_000_000),
        run: 0,
        draw: Draw::new(seed),
    };
    life.new_run();
    for step in 0..steps {
        life.step();
        if step % (steps / 8) == 0 {
            life.check();
        }
    }
    life.check();
    life.new_run();
    life.check();
    let mut replayed = repository();
    let mut run = 0;
    for entry in &life.journal {
        if entry.run != run {
            run = entry.run;
            replayed.begin_run(entry.wall, PATIENCE);
        }
        replayed.replay(entry);
    }
    assert_eq!(replayed.position(), life.live.position());
    let later = life.now.plus(Duration::from_secs(3600));
    let (was, is) = (
        everything(&mut life.live, later),
        everything(&mut replayed, later),
    );
    assert_eq!(was.len(), is.len());
    for (was, is) in was.iter().zip(&is) {
        assert_eq!(was, is, "seed {seed}: what was, and what the replay says");
    }
}

#[test]
fn a_long_life_is_as_the_map_says_and_its_replay_is_the_same() {
    live(1, 200_000);
}

#[test]
fn many_short_lives_are_as_the_map_says_and_their_replays_are_the_same() {
    for seed in 2..150 {
        live(seed, 600);
    }
}
