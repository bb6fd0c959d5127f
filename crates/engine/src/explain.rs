//! Everything that is known of one URL: what the Repository has, and what the journal tells.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use teia_base::journal::{Attempt, Entry, EntryStream, LinkVerdict, Record};
use teia_base::{CanonicalUrl, Timestamp};
use teia_fetch::robots::{Access, Spelling, Standing};
use teia_repository::{Repository, State, UrlState};

use crate::EngineError;
use crate::happening::{Happening, LifeEvent};
use crate::reading::{Overview, Reading};

/// What is known of one URL.
#[derive(Debug)]
pub struct Explanation {
    /// As the Repository has it.
    pub state: UrlState,
    /// What happened to it, by moment: a link when the page that has it was answered, a try when it
    /// was begun, a decision when it was committed.
    pub life: Vec<Happening>,
    /// Attempts, in order.
    pub attempts: Vec<Attempt>,
    /// Pages that link to it, each once, at most a thousand.
    pub in_links: Vec<InLink>,
    /// Pages that link to it, in all.
    pub in_link_count: u64,
    /// The time for reading the journal was over before its end.
    pub is_partial: bool,
}

/// A link to a page.
#[derive(Clone, Debug, Serialize)]
pub struct InLink {
    /// From where.
    pub url: String,
    /// Where it stood.
    pub kind: &'static str,
    /// Its text.
    pub anchor: String,
}

/// A URL that was met, as the Repository has it, before the journal is read for its life.
#[derive(Debug)]
pub struct Met {
    url: CanonicalUrl,
    state: UrlState,
    /// Until when its host's robots.txt cannot be read, and when that was found.
    closed: Option<(Timestamp, Timestamp)>,
    /// How far the journal had come.
    position: u64,
}

/// Links to a page that are kept.
const MOST_IN_LINKS: usize = 1000;

impl Met {
    fn find(
        repository: &mut Repository,
        position: u64,
        url: &CanonicalUrl,
    ) -> Result<Option<Self>, EngineError> {
        let state = repository.try_state(url)?;
        // What cannot be read is not unknown.
        repository.check()?;
        Ok(state.map(|state| Self {
            closed: (state.state == State::Waiting)
                .then(|| closed_door(repository, url))
                .flatten(),
            url: url.clone(),
            state,
            position,
        }))
    }
}

impl Overview {
    /// Whether a URL was met; its life is then told by [`Reading::life_of`].
    pub fn meet(&mut self, url: &CanonicalUrl) -> Result<Option<Met>, EngineError> {
        Met::find(&mut self.repository, self.position, url)
    }
}

impl Reading {
    /// Everything that is known of a URL; `None` if it was never met.
    pub fn explain(&self, url: &CanonicalUrl) -> Result<Option<Explanation>, EngineError> {
        let met = self.meet(url)?;
        met.map(|met| self.life_of(met, None)).transpose()
    }

    /// Whether a URL was met, without its life.
    pub fn meet(&self, url: &CanonicalUrl) -> Result<Option<Met>, EngineError> {
        let (mut repository, position) = self.repository_and_position()?;
        Met::find(&mut repository, position, url)
    }

    /// The life of a URL that was met. The journal is read until `deadline`, if there is one; what was not
    /// read then is missing, and the explanation says so.
    pub fn life_of(&self, met: Met, deadline: Option<Instant>) -> Result<Explanation, EngineError> {
        let files = self.files();
        let journal = self.layout().journal();
        let entries = EntryStream::open(Arc::clone(&files), &journal, 1, met.position)?;
        let mut entries = entries.with_text(met.url.as_str()).until(deadline);
        let mut life = Life::default();
        for entry in entries.by_ref() {
            life.take(&met.url, &entry?);
        }
        Ok(life.told(met, entries.is_cut_off()))
    }
}

/// What the journal has told so far.
#[derive(Default)]
struct Life {
    happenings: Vec<Happening>,
    attempts: Vec<Attempt>,
    in_links: Vec<InLink>,
    linking: HashSet<CanonicalUrl>,
}

impl Life {
    fn add(&mut self, at: Timestamp, event: LifeEvent) {
        let happening = Happening::new(at, event, &self.attempts);
        self.happenings.push(happening);
    }

    fn take(&mut self, url: &CanonicalUrl, entry: &Entry) {
        match &entry.record {
            Record::RunStarted(run) => {
                if let Some(seed) = run.seeds.iter().find(|seed| seed.url.normal() == url) {
                    let event = LifeEvent::Seed {
                        run: entry.run,
                        fallback_http: seed.fallback_http,
                    };
                    self.add(entry.wall, event);
                }
            }
            Record::Commit(commit) => {
                for attempt in &commit.attempts {
                    self.take_attempt(url, attempt);
                }
                for change in commit.changes.iter().filter(|change| change.url == *url) {
                    let depth = change.depth;
                    let event = match &change.verdict {
                        LinkVerdict::Excluded(exclusion) => LifeEvent::LeftOut(exclusion.clone()),
                        LinkVerdict::Readmitted => LifeEvent::Readmitted { depth },
                        _ => LifeEvent::Nearer { depth },
                    };
                    self.add(entry.wall, event);
                }
            }
            Record::Added(added) if added.urls.iter().any(|(added, _)| added.normal() == url) => {
                self.add(entry.wall, LifeEvent::Added);
            }
            Record::Recovered(recovered)
                if recovered.urls.iter().any(|it| it.url.normal() == url) =>
            {
                self.add(entry.wall, LifeEvent::Recovered);
            }
            Record::Folded(folded) => {
                for change in folded.changes.iter().filter(|change| change.url == *url) {
                    let was_left_out = matches!(change.verdict, LinkVerdict::Readmitted);
                    self.add(entry.wall, LifeEvent::Decided { was_left_out });
                }
            }
            _ => {}
        }
    }

    fn take_attempt(&mut self, url: &CanonicalUrl, attempt: &Attempt) {
        // What a page says is known from its last byte on.
        let answered = attempt.started.plus(attempt.times.total());
        if attempt.url.normal() == url {
            self.attempts.push(attempt.clone());
            let place = self.attempts.len() - 1;
            self.add(attempt.started, LifeEvent::Tried(place));
        }
        for link in attempt.links.iter().filter(|link| link.url.normal() == url) {
            let page = attempt.url.normal();
            // Links that wait for a verdict are many, and one of them is the first.
            let is_news = match link.verdict {
                LinkVerdict::Known => false,
                LinkVerdict::Pending => self.linking.is_empty(),
                _ => true,
            };
            if is_news {
                let event = LifeEvent::Found {
                    page: page.to_string(),
                    link: Box::new(link.clone()),
                };
                self.add(answered, event);
            }
            if self.linking.insert(page.clone()) && self.in_links.len() < MOST_IN_LINKS {
                self.in_links.push(InLink {
                    url: page.to_string(),
                    kind: link.kind.name(),
                    anchor: link.anchor.clone(),
                });
            }
        }
    }

    fn told(mut self, met: Met, is_partial: bool) -> Explanation {
        let mut state = met.state;
        // On disk a page that links is but a number.
        if state.referrer.is_none() && !state.seed {
            state.referrer = self.in_links.first().map(|link| link.url.clone());
        }
        if let Some(due) = state.due.filter(|_| state.state == State::Waiting) {
            self.add(due, LifeEvent::Due);
        }
        if let Some((asked_at, until)) = met.closed {
            self.add(asked_at, LifeEvent::Closed { until });
        }
        let mut life = self.happenings;
        // The journal has them by commit; people want them by moment.
        life.sort_by_key(|happening| happening.at);
        Explanation {
            state,
            life,
            attempts: self.attempts,
            in_links: self.in_links,
            in_link_count: self.linking.len() as u64,
            is_partial,
        }
    }
}

/// When the robots.txt of a URL's host was asked for that cannot be read, and when it is asked for again.
fn closed_door(repository: &Repository, url: &CanonicalUrl) -> Option<(Timestamp, Timestamp)> {
    let host = repository.host(url.host_str())?;
    let origin = format!("{}://{}", url.scheme(), url.authority());
    let stored = repository.host_record(host)?.robots.get(&origin)?;
    let standing: Standing = postcard::from_bytes(stored).ok()?;
    let Access::Unreachable { until } = standing.access("", Spelling::default()) else {
        return None;
    };
    Some((standing.asked_at(), until))
}
