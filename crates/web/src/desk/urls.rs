//! URLs and hosts: lists of them, and the life of one.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_base::journal::Attempt;
use teia_base::{HostId, Timestamp};
use teia_engine::{CollectionConfig, EngineError, Explanation, Happening, InLink, tell_attempt};
use teia_repository::{Repository, State, UrlState};

use super::{Desk, DeskError, Page, Window, as_count};

/// Links to a page that are shown.
const IN_LINKS: usize = 100;
/// Attempts of a host that are shown.
const ATTEMPTS: usize = 200;

/// Which URLs.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct UrlsAsked {
    /// In this state: `waiting`, `fetched`, `gone`, `failed`, `excluded`.
    pub(crate) state: Option<String>,
    /// On this host.
    pub(crate) host: Option<String>,
    /// With this text in them.
    pub(crate) contains: Option<String>,
}

/// A URL.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UrlRow {
    /// Its normal form.
    pub(crate) url: String,
    /// Where it stands.
    pub(crate) state: &'static str,
    /// Hops from a seed; nothing where no way leads to it.
    pub(crate) depth: Option<u16>,
    /// When it was first met.
    pub(crate) first_seen: String,
    /// The page on which it was first found.
    pub(crate) referrer: Option<String>,
    /// Tries of the present visit.
    pub(crate) tries: u8,
    /// Not before then.
    pub(crate) due: Option<String>,
    /// Being fetched.
    pub(crate) leased: bool,
    /// Given by a person.
    pub(crate) seed: bool,
    /// Needed by a kept page.
    pub(crate) requisite: bool,
    /// The rule that left it out.
    pub(crate) rule: Option<String>,
    /// The last visit.
    pub(crate) last_attempt: Option<String>,
    /// What came of it: a number.
    pub(crate) outcome: Option<i16>,
    /// And its name.
    pub(crate) outcome_name: Option<String>,
    /// Visits so far.
    pub(crate) visits: u32,
    /// Visits that found the text changed.
    pub(crate) changes: u32,
}

/// An attempt.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AttemptRow {
    /// At what.
    pub(crate) url: String,
    /// When it began.
    pub(crate) started: String,
    /// How long it took.
    pub(crate) seconds: f64,
    /// The rest before it, from the end of the request before; nothing for the first that is known, and for what was
    /// decided without a request. Less than nothing where it began before that one had ended.
    pub(crate) gap_seconds: Option<f64>,
    /// What came of it: a number.
    pub(crate) outcome: i16,
    /// Its name.
    pub(crate) outcome_name: String,
    /// Bytes that came.
    pub(crate) bytes: u64,
    /// What its text was decoded from.
    pub(crate) charset: Option<String>,
    /// Who said so: `bom`, `http`, `meta` or `detected`.
    pub(crate) charset_source: Option<&'static str>,
    /// The first of what came where no head could be read, everything but plain ASCII escaped.
    pub(crate) junk: Option<String>,
    /// In a sentence.
    pub(crate) sentence: String,
}

/// The life of a URL.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UrlLife {
    /// Where it stands.
    pub(crate) url: UrlRow,
    /// What happened to it, sentence by sentence.
    pub(crate) life: Vec<Happening>,
    /// Its attempts.
    pub(crate) attempts: Vec<AttemptRow>,
    /// Pages that link to it, some of them.
    pub(crate) in_links: Vec<InLink>,
    /// How many there are.
    pub(crate) in_link_count: u64,
    /// Whether some collection hides it, so that no run fetches it and nobody is shown it.
    pub(crate) hidden: bool,
    /// The time for reading the journal was over before its end.
    pub(crate) partial: bool,
}

/// How hosts are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HostOrder {
    /// By name.
    Name,
    /// Most URLs first.
    #[default]
    Known,
    /// Most waiting URLs first.
    Waiting,
    /// Most documents first.
    Fetched,
    /// Most failures in a row first.
    Failures,
    /// Slowest first.
    Latency,
}

/// Which hosts.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostsAsked {
    pub(crate) order: HostOrder,
    /// With this text in their names.
    pub(crate) contains: Option<String>,
    /// With URLs that wait.
    pub(crate) waiting: bool,
}

/// A host.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HostRow {
    /// Its name.
    pub(crate) host: String,
    /// URLs known.
    pub(crate) known: u32,
    /// URLs that wait.
    pub(crate) waiting: u32,
    /// URLs answered.
    pub(crate) fetched: u32,
    /// Attempts made.
    pub(crate) attempts: u32,
    /// Mean time to the first byte.
    pub(crate) latency_seconds: f64,
    /// Attempts in a row that failed for the whole host.
    pub(crate) failures: u32,
    /// Not asked before then.
    pub(crate) back_off_until: Option<String>,
    /// The last attempt.
    pub(crate) last_attempt: Option<String>,
    /// Addresses that answered.
    pub(crate) addresses: Vec<String>,
    /// Serves the same pages as this host.
    pub(crate) alias_of: Option<String>,
}

/// A host with what was asked of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HostView {
    /// The host.
    #[serde(flatten)]
    pub(crate) row: HostRow,
    /// Its origins of which robots.txt is known.
    pub(crate) robots: Vec<String>,
    /// Whether some collection hides it, so that no run fetches anything of it and nobody is shown it.
    pub(crate) hidden: bool,
    /// Attempts lately, oldest first, robots.txt among them: the rest between them is the proof of manners.
    pub(crate) recent: Vec<AttemptRow>,
}

impl Desk {
    /// URLs of a collection.
    pub(crate) fn urls(
        &self,
        name: &str,
        asked: &UrlsAsked,
        window: Window,
    ) -> Result<Page<UrlRow>, DeskError> {
        let wanted = match asked.state.as_deref() {
            None | Some("") => None,
            Some(text) => Some(state_named(text)?),
        };
        let host = asked.host.as_deref().filter(|host| !host.is_empty());
        let contains = asked.contains.as_deref().unwrap_or("");
        let last = window.offset.saturating_add(window.limit);
        self.with_overview(name, |overview| {
            let (mut items, mut total) = (Vec::new(), 0_u64);
            let repository = &mut overview.repository;
            let is_wanted = |state| wanted.is_none_or(|wanted| wanted == state);
            repository
                .for_each(host, is_wanted, |url| {
                    if !url.url.normal().as_str().contains(contains) {
                        return;
                    }
                    if (window.offset..last).contains(&total) {
                        items.push(UrlRow::of(&url));
                    }
                    total += 1;
                })
                .map_err(EngineError::from)?;
            Ok(Page {
                items,
                total,
                offset: window.offset,
                limit: window.limit,
            })
        })
    }

    /// Everything that is known of a URL.
    pub(crate) fn explain(
        &self,
        name: &str,
        url: &str,
        patience: Duration,
    ) -> Result<UrlLife, DeskError> {
        let known = self.life_as_spelled(name, url, patience)?;
        let in_links = known.in_links.iter().take(IN_LINKS).cloned().collect();
        Ok(UrlLife {
            url: UrlRow::of(&known.state),
            life: known.life.clone(),
            partial: known.is_partial,
            attempts: rows(&known.attempts),
            in_links,
            in_link_count: known.in_link_count,
            hidden: self.is_hidden(|removals| removals.hides(known.state.url.normal()))?,
        })
    }

    /// The life of a URL as a person writes it, who may leave out the scheme.
    pub(crate) fn life_as_spelled(
        &self,
        name: &str,
        url: &str,
        patience: Duration,
    ) -> Result<Arc<Explanation>, DeskError> {
        let (_, reading) = self.reading(name)?;
        let config = CollectionConfig::load(&*reading.files(), reading.root(), reading.layout());
        let config = config.ok().flatten().unwrap_or_default();
        let spellings = config.spellings(url).map_err(EngineError::from)?;
        for spelling in &spellings {
            if let Some(known) = self.life(name, spelling.normal(), patience)? {
                return Ok(known);
            }
        }
        Err(DeskError::Missing(format!(
            "`{url}` was never met in `{name}`"
        )))
    }

    /// Hosts of a collection.
    pub(crate) fn hosts(
        &self,
        name: &str,
        asked: &HostsAsked,
        window: Window,
    ) -> Result<Page<HostRow>, DeskError> {
        let contains = asked.contains.as_deref().unwrap_or("").to_lowercase();
        self.with_overview(name, |overview| {
            let repository = &overview.repository;
            let hosts = repository.hosts();
            let mut ids: Vec<(HostId, &str)> =
                hosts.filter(|(_, host)| host.contains(&contains)).collect();
            if asked.waiting {
                ids.retain(|(id, _)| repository.host_counts(*id).1 > 0);
            }
            // The order needs a number only; the rest is made of those that are shown.
            let weight = |host: HostId| {
                let (known, waiting, fetched) = repository.host_counts(host);
                let record = repository.host_record(host);
                match asked.order {
                    HostOrder::Name => 0,
                    HostOrder::Known => known,
                    HostOrder::Waiting => waiting,
                    HostOrder::Fetched => fetched,
                    HostOrder::Failures => record.map_or(0, |record| record.failures),
                    HostOrder::Latency => record.map_or(0, |record| record.latency_micros),
                }
            };
            ids.sort_by(|a, b| weight(b.0).cmp(&weight(a.0)).then_with(|| a.1.cmp(b.1)));
            let part = ids
                .iter()
                .skip(as_count(window.offset))
                .take(as_count(window.limit));
            Ok(Page {
                items: part.map(|(id, _)| HostRow::of(repository, *id)).collect(),
                total: ids.len() as u64,
                offset: window.offset,
                limit: window.limit,
            })
        })
    }

    /// One host.
    pub(crate) fn host(&self, name: &str, host: &str) -> Result<HostView, DeskError> {
        let (_, reading) = self.reading(name)?;
        let (row, robots) = self.host_row(name, host)?;
        let attempts = reading.attempts_on(&row.host, ATTEMPTS)?;
        let hidden = self.is_hidden(|removals| removals.hides_host(&row.host))?;
        Ok(HostView {
            recent: rows(&attempts),
            row,
            robots,
            hidden,
        })
    }
}

impl Desk {
    /// Where a host stands, and its origins of which robots.txt is known, without what was asked of it.
    pub(crate) fn host_row(
        &self,
        name: &str,
        host: &str,
    ) -> Result<(HostRow, Vec<String>), DeskError> {
        let host = host.to_lowercase();
        self.with_overview(name, |overview| {
            let repository = &overview.repository;
            let id = repository.host(&host).ok_or_else(|| {
                DeskError::Missing(format!("the host `{host}` was never met in `{name}`"))
            })?;
            let record = repository.host_record(id);
            let robots = record.map_or_else(Vec::new, |record| {
                record.robots.keys().cloned().collect::<Vec<String>>()
            });
            Ok((HostRow::of(repository, id), robots))
        })
    }
}

fn state_named(text: &str) -> Result<State, DeskError> {
    let state = State::ALL.into_iter().find(|state| state.name() == text);
    state.ok_or_else(|| {
        let names: Vec<&str> = State::ALL.iter().map(|state| state.name()).collect();
        DeskError::Wrong(format!(
            "there is no state `{text}`; there are {}",
            names.join(", ")
        ))
    })
}

impl UrlRow {
    fn of(url: &UrlState) -> Self {
        let fetched = url.fetched.as_ref();
        let outcome = fetched.map(|fetched| fetched.outcome);
        Self {
            url: url.url.normal().to_string(),
            state: if url.waits_for_sweep() {
                "unreached"
            } else {
                url.state.name()
            },
            depth: (url.depth != u16::MAX).then_some(url.depth),
            first_seen: url.first_seen.to_string(),
            referrer: url.referrer.clone(),
            tries: url.tries,
            due: url.due.map(|due| due.to_string()),
            leased: url.leased,
            seed: url.seed,
            requisite: url.requisite,
            rule: url.exclusion.as_ref().map(|it| it.rule.to_string()),
            last_attempt: fetched.map(|fetched| fetched.last_attempt.to_string()),
            outcome: outcome.map(teia_base::Outcome::number),
            outcome_name: outcome.map(|outcome| outcome.name().into_owned()),
            visits: fetched.map_or(0, |fetched| fetched.visits),
            changes: fetched.map_or(0, |fetched| fetched.changes),
        }
    }
}

impl HostRow {
    fn of(repository: &Repository, id: HostId) -> Self {
        let (known, waiting, fetched) = repository.host_counts(id);
        let record = repository.host_record(id).cloned().unwrap_or_default();
        Self {
            host: repository.host_name(id).to_owned(),
            known,
            waiting,
            fetched,
            attempts: record.attempts,
            latency_seconds: f64::from(record.latency_micros) / 1e6,
            failures: record.failures,
            back_off_until: record.back_off_until.map(|until| until.to_string()),
            last_attempt: record.last_attempt.map(|at| at.to_string()),
            addresses: record.addresses.iter().map(ToString::to_string).collect(),
            alias_of: record.alias_of,
        }
    }
}

/// Attempts with the rests between those that were requests, which alone a server sees.
fn rows(attempts: &[Attempt]) -> Vec<AttemptRow> {
    let mut rows = Vec::new();
    let mut ended: Option<Timestamp> = None;
    for attempt in attempts {
        let took = attempt.times.total();
        let mut gap = None;
        if attempt.is_request() {
            gap = ended.map(|ended| seconds_between(ended, attempt.started));
            ended = Some(attempt.started.plus(took));
        }
        rows.push(AttemptRow {
            url: attempt.url.normal().to_string(),
            started: attempt.started.to_rfc3339_micros(),
            seconds: took.as_secs_f64(),
            gap_seconds: gap,
            outcome: attempt.outcome.number(),
            outcome_name: attempt.outcome.name().into_owned(),
            bytes: attempt.wire_bytes,
            charset: attempt.charset.as_ref().map(|it| it.name.clone()),
            charset_source: attempt.charset.as_ref().map(|it| it.source.name()),
            junk: (!attempt.junk.is_empty()).then(|| attempt.junk.escape_ascii().to_string()),
            sentence: tell_attempt(attempt),
        });
    }
    rows
}

/// Less than nothing where the second is the earlier one.
fn seconds_between(first: Timestamp, second: Timestamp) -> f64 {
    second.since(first).as_secs_f64() - first.since(second).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::journal::Next;
    use teia_base::{NormalForm, Outcome};

    fn attempt(millis: i64, took: u64, outcome: Outcome, next: Next) -> Attempt {
        let url = NormalForm::default().parse("http://a.example/").unwrap();
        let started = Timestamp::from_micros(1_000_000_000 + millis * 1_000);
        let mut attempt = Attempt::new(url, started, outcome);
        attempt.answered = outcome.is_answered();
        attempt.times.first_byte = Duration::from_millis(took);
        attempt.next = next;
        attempt
    }

    #[test]
    fn a_rest_is_between_requests_and_no_decision_shortens_it() {
        let ok = Outcome::http(200);
        let attempts = [
            attempt(0, 50, ok, Next::Robots),
            attempt(150, 50, ok, Next::Done),
            // Nobody was asked for these, a moment before the next request.
            attempt(299, 0, Outcome::ROBOTS_DISALLOWED, Next::Done),
            attempt(299, 0, Outcome::ROBOTS_UNREACHABLE, Next::Waiting),
            attempt(300, 50, ok, Next::Done),
            attempt(340, 5, ok, Next::Done),
        ];
        let gaps: Vec<_> = rows(&attempts).iter().map(|row| row.gap_seconds).collect();
        let millis = |gap: &Option<f64>| gap.map(|gap| (gap * 1e3).round());
        let gaps: Vec<_> = gaps.iter().map(millis).collect();
        let rests = [None, Some(100.0), None, None, Some(100.0), Some(-10.0)];
        assert_eq!(gaps, rests);
    }
}
