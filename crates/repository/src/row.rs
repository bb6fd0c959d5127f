//! What is known of one URL, kept small: most URLs were never fetched.

use teia_base::journal::{Chain, Exclusion};
use teia_base::{CaptureId, FoundUrl, HostId, Outcome, Timestamp};

/// A URL's place in the table; valid while the process runs, or while the URL is leased where the
/// disk holds the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UrlRef {
    pub(crate) at: u32,
    /// Tells it from the rows that were in this place before.
    pub(crate) generation: u32,
}

impl UrlRef {
    /// A URL that is on disk only.
    pub(crate) const ELSEWHERE: Self = Self {
        at: u32::MAX,
        generation: u32::MAX,
    };
}

/// Where a URL stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Met, and waiting for its turn (or its next try).
    Waiting,
    /// An answer was taken.
    Fetched,
    /// No answer, and the tries are used up; or refused for good.
    Failed,
    /// Left out by a rule.
    Excluded,
    /// Was there, and is gone (404 or 410).
    Gone,
}

impl State {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::Waiting,
        Self::Fetched,
        Self::Gone,
        Self::Failed,
        Self::Excluded,
    ];

    /// The name in JSON and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Fetched => "fetched",
            Self::Failed => "failed",
            Self::Excluded => "excluded",
            Self::Gone => "gone",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) text: Box<str>,
    pub(crate) rare: Option<Box<Rare>>,
    pub(crate) fetched: Option<Box<Fetched>>,
    pub(crate) host: u32,
    /// Plus one; 0 means a seed or unknown.
    pub(crate) referrer: u32,
    /// Seconds since 1970, enough until 2106.
    pub(crate) first_seen: u32,
    /// Index of the rule that left it out, plus one.
    pub(crate) rule: u32,
    pub(crate) depth: u16,
    pub(crate) tries: u8,
    pub(crate) state: State,
    pub(crate) leased: bool,
    pub(crate) requisite: bool,
}

/// What few URLs have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    pub(crate) spelling: Option<Box<str>>,
    pub(crate) chain: Option<Chain>,
    pub(crate) due: Option<Timestamp>,
    pub(crate) fallback_http: bool,
    pub(crate) last_modified: Option<Timestamp>,
    pub(crate) priority: i32,
    pub(crate) seed: bool,
}

impl Rare {
    /// Whether anything is in it.
    pub(crate) fn is_needed(&self) -> bool {
        self.spelling.is_some()
            || self.chain.is_some()
            || self.due.is_some()
            || self.fallback_http
            || self.last_modified.is_some()
            || self.priority != 0
            || self.seed
    }
}

/// What is known after a visit.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The last attempt.
    pub last_attempt: Timestamp,
    /// What became of it.
    pub outcome: Outcome,
    /// Visits so far.
    pub visits: u32,
    /// Visits that found the text changed.
    pub changes: u32,
    /// When the text was last found changed.
    pub last_change: Option<Timestamp>,
    /// Seconds between two visits with a page, summed where its text had not changed.
    pub quiet_seconds: u64,
    /// Seconds between two visits with a page, summed where its text had changed.
    pub changed_seconds: u64,
    /// Media type of the last answer that had one.
    pub media_type: Option<Box<str>>,
    /// Digest of the visible text.
    pub text_digest: Option<u128>,
    /// The newest capture.
    pub capture: Option<CaptureId>,
    /// Validator.
    pub etag: Option<Box<str>>,
    /// Validator.
    pub last_modified: Option<Box<str>>,
}

/// Where the next try of a URL stands among those of its host. One more is made in its place by the order, as soon as it
/// is due; only those after that wait for what was not tried yet, so that pages in trouble hold nobody up.
pub(crate) fn rank_of_try(tries: u8) -> u8 {
    tries.saturating_sub(1)
}

/// What a visit says of the time since the visit before: whether the text has changed, for an estimator of
/// change. Nothing where one of the two brought no page, or nobody can tell.
pub(crate) fn has_changed(before: (i16, Option<u128>), now: (i16, Option<u128>)) -> Option<bool> {
    let has_page = |outcome: i16| (200..300).contains(&outcome) || outcome == 304;
    match (before.1, now.1) {
        _ if !has_page(before.0) || !has_page(now.0) => None,
        _ if now.0 == 304 => Some(false),
        (Some(before), Some(now)) => Some(before != now),
        _ => None,
    }
}

/// A URL, as the Repository tells of it.
#[derive(Clone, Debug)]
pub struct UrlState {
    /// Its place.
    pub reference: UrlRef,
    /// The URL.
    pub url: FoundUrl,
    /// Its host.
    pub host: HostId,
    /// Where it stands.
    pub state: State,
    /// The rule that left it out.
    pub exclusion: Option<Exclusion>,
    /// The page on which it was first found.
    pub referrer: Option<String>,
    /// Least known hops from a seed.
    pub depth: u16,
    /// When it was first met.
    pub first_seen: Timestamp,
    /// Tries of the present visit so far.
    pub tries: u8,
    /// Not before then.
    pub due: Option<Timestamp>,
    /// Needed by a kept page.
    pub requisite: bool,
    /// Given by a person.
    pub seed: bool,
    /// Given without scheme: to be tried as http if https cannot be reached.
    pub fallback_http: bool,
    /// The chain of redirects that led to it.
    pub chain: Option<Chain>,
    /// `lastmod` of a sitemap or feed.
    pub last_modified: Option<Timestamp>,
    /// What an Analyzer thinks of it.
    pub priority: i32,
    /// Being fetched, or fetched and not yet committed.
    pub leased: bool,
    /// What the visits brought.
    pub fetched: Option<Fetched>,
}

impl UrlState {
    /// Which visit the next one is: 1 for the first.
    pub fn next_visit(&self) -> u32 {
        let visits = self.fetched.as_ref().map_or(0, |fetched| fetched.visits);
        visits.saturating_add(1)
    }
}
