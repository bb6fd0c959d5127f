//! What one journal entry says.

use std::net::SocketAddr;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    CanonicalUrl, CaptureId, Charset, Exchange, Flags, FoundUrl, LinkKind, Outcome, Protocol, Rel,
    Times, Timestamp,
};

/// One entry: its place, its moment, and what happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// 1, 2, 3… without gaps over all segments.
    pub sequence: u64,
    /// When it was closed.
    pub wall: Timestamp,
    /// The run that wrote it.
    pub run: u32,
    /// What happened.
    pub record: Record,
}

/// What an entry can say. New variants go at the end: old journals must stay readable.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Record {
    /// A run begins: before any fetch.
    RunStarted(RunStarted),
    /// A commit window was closed.
    Commit(Commit),
    /// A run is over.
    RunEnded(RunEnded),
    /// A person let the collection rest: nothing is fetched, also after a restart, until `Resumed`.
    Paused,
    /// A person let it go on.
    Resumed,
    /// What a fold of the Repository found out of links that were to be decided.
    Folded(Folded),
    /// A person added URLs, without a crawl.
    Added(Added),
    /// Pages of a host were taken for a trap.
    Quarantined(Quarantined),
    /// A repair found URLs whose own entries cannot be read any more.
    Recovered(Recovered),
    /// How the URLs of a list that nobody has crawled yet are spelt: `[normal-form]` of its settings, as TOML.
    Spelled(String),
    /// What Analyzers think of URLs, as far as it was not told before.
    Prioritised(Vec<(CanonicalUrl, i32)>),
    /// In what the settings of the run differ from the collection's file from here on, until a person ends it or it
    /// comes to its end; as JSON, empty for nothing.
    Changed(String),
    /// What was taken for a trap is none after all: what was left out for it is let in again.
    Lifted(Quarantined),
}

impl Record {
    /// Whether it belongs to no run, whichever number it bears: what a person adds, what a repair finds again, and a
    /// commit that only says where the archive goes on, as an erasure does. A run writes no such commit.
    #[must_use]
    pub fn is_of_no_run(&self) -> bool {
        match self {
            Self::Added(_) | Self::Recovered(_) => true,
            Self::Commit(commit) => {
                commit.attempts.is_empty() && commit.hosts.is_empty() && commit.changes.is_empty()
            }
            _ => false,
        }
    }

    /// How much it tells: attempts, links, and URLs that were given or changed.
    #[must_use]
    pub fn told(&self) -> u64 {
        let told = match self {
            Self::RunStarted(run) => run.seeds.len(),
            Self::Commit(commit) => {
                let attempts = commit.attempts.iter();
                commit.changes.len() + attempts.map(|it| 1 + it.links.len()).sum::<usize>()
            }
            Self::Folded(folded) => folded.changes.len(),
            Self::Added(added) => added.urls.len(),
            Self::Recovered(recovered) => recovered.urls.len(),
            Self::Prioritised(urls) => urls.len(),
            Self::RunEnded(_)
            | Self::Paused
            | Self::Resumed
            | Self::Spelled(_)
            | Self::Changed(_) => 0,
            Self::Quarantined(_) | Self::Lifted(_) => 1,
        };
        told as u64
    }

    /// Whether it leaves something to be decided: a later entry says what was.
    #[must_use]
    pub fn has_undecided(&self) -> bool {
        let mut verdicts: Box<dyn Iterator<Item = &LinkVerdict>> = match self {
            Self::RunStarted(run) => Box::new(run.seeds.iter().map(|seed| &seed.verdict)),
            Self::Commit(commit) => {
                let links = commit.attempts.iter().flat_map(|attempt| &attempt.links);
                Box::new(links.map(|link| &link.verdict))
            }
            Self::Added(added) => Box::new(added.urls.iter().map(|(_, verdict)| verdict)),
            Self::Recovered(recovered) => Box::new(recovered.urls.iter().map(|url| &url.verdict)),
            _ => return false,
        };
        verdicts.any(|verdict| *verdict == LinkVerdict::Pending)
    }

    /// Whether the collection rests after this, if it did or did not before. An end lifts a pause,
    /// but for a signal's: a machine that is restarted must not lift what a person wished.
    #[must_use]
    pub fn is_paused_after(&self, before: bool) -> bool {
        match self {
            Self::Paused => true,
            Self::Resumed => false,
            Self::RunEnded(end) => before && end.reason == "interrupted",
            _ => before,
        }
    }
}

/// The first entry of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunStarted {
    /// The effective options, as the TOML of a collection.
    pub options: String,
    /// Seeds with the verdict that each got.
    pub seeds: Vec<SeedRecord>,
    /// The program's version.
    pub version: String,
}

/// One seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeedRecord {
    /// The URL.
    pub url: FoundUrl,
    /// Given without scheme: to be tried as http if https cannot be reached.
    pub fallback_http: bool,
    /// Whether it was met before.
    pub verdict: LinkVerdict,
}

/// The last entry of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunEnded {
    /// Why, in a word: `done`, `max-pages`, `max-bytes`, `max-time`, `interrupted`, `stopped`.
    pub reason: String,
}

/// Everything that one commit window holds.
///
/// On disk the junk and the charsets of its attempts stand after everything else: journals from before there were any end
/// where these begin, and programs from then read no further.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "StoredCommit")]
pub struct Commit {
    /// Attempts, in the order in which they were accepted.
    pub attempts: Vec<Attempt>,
    /// News about hosts.
    pub hosts: Vec<HostUpdate>,
    /// How far the archive is committed; everything beyond is cut off at the next start.
    pub archive: Option<ArchivePosition>,
    /// Changes to URLs that come from no link of this commit: a verdict that came late, or a
    /// shorter way found to a page whose own links were met before.
    pub changes: Vec<UrlChange>,
}

impl Serialize for Commit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let attempts = self.attempts.iter().enumerate();
        let asides: Vec<Aside> = attempts
            .filter(|(_, attempt)| attempt.charset.is_some() || !attempt.junk.is_empty())
            .map(|(place, attempt)| Aside {
                place: place as u64,
                junk: attempt.junk.clone(),
                charset: attempt.charset.clone(),
            })
            .collect();
        let mut commit = serializer.serialize_struct("Commit", 5)?;
        commit.serialize_field("attempts", &self.attempts)?;
        commit.serialize_field("hosts", &self.hosts)?;
        commit.serialize_field("archive", &self.archive)?;
        commit.serialize_field("changes", &self.changes)?;
        commit.serialize_field("asides", &asides)?;
        commit.end()
    }
}

/// A commit as it lies on disk.
#[derive(Deserialize)]
struct StoredCommit {
    attempts: Vec<Attempt>,
    hosts: Vec<HostUpdate>,
    archive: Option<ArchivePosition>,
    changes: Vec<UrlChange>,
    #[serde(deserialize_with = "if_there")]
    asides: Vec<Aside>,
}

/// What is told of an attempt beside it.
#[derive(Serialize, Deserialize)]
struct Aside {
    /// Which attempt of the commit.
    place: u64,
    junk: Vec<u8>,
    charset: Option<Charset>,
}

/// The last thing in an entry: one of an earlier version ends before it. (Damage is found by the frame's checksum.)
fn if_there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Aside>, D::Error> {
    Ok(Vec::deserialize(deserializer).unwrap_or_default())
}

impl From<StoredCommit> for Commit {
    fn from(stored: StoredCommit) -> Self {
        let mut attempts = stored.attempts;
        for aside in stored.asides {
            let place = usize::try_from(aside.place).unwrap_or(usize::MAX);
            if let Some(attempt) = attempts.get_mut(place) {
                attempt.junk = aside.junk;
                attempt.charset = aside.charset;
            }
        }
        Self {
            attempts,
            hosts: stored.hosts,
            archive: stored.archive,
            changes: stored.changes,
        }
    }
}

/// URLs that a person added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// Each with what the Repository said.
    pub urls: Vec<(FoundUrl, LinkVerdict)>,
}

/// URLs of which only the Repository, or a link of a page, still tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// Each of them.
    pub urls: Vec<RecoveredUrl>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredUrl {
    /// The URL.
    pub url: FoundUrl,
    /// Least known hops from a seed.
    pub depth: u16,
    /// Needed by a kept page.
    pub requisite: bool,
    /// Given by a person; and whether without scheme.
    pub seed: Option<bool>,
    /// Let in, left out, or to be decided.
    pub verdict: LinkVerdict,
}

/// A pattern of URLs whose pages brought nothing new for so long that the rest of them is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    /// Of this host.
    pub host: String,
    /// As people read it and settings name it: `/calendar/{n}/{n}`.
    pub pattern: String,
}

/// Late verdicts: what a fold found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folded {
    /// Number of the fold: the same number tells the same news.
    pub fold: u64,
    /// URLs that are new, or admitted again.
    pub changes: Vec<UrlChange>,
    /// Whether nothing more is told of this fold: then it is never told again.
    pub is_last: bool,
}

/// A change to a URL apart from its links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UrlChange {
    /// Which.
    pub url: CanonicalUrl,
    /// Least known hops from a seed, now.
    pub depth: u16,
    /// What it is now.
    pub verdict: LinkVerdict,
}

/// The committed end of the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivePosition {
    /// The newest file.
    pub file: String,
    /// Its committed length. Older files are whole.
    pub len: u64,
}

/// One attempt at one URL, or one decision not to make it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// The URL.
    pub url: FoundUrl,
    /// Which visit of this URL: 1 for the first. Retries belong to the same visit.
    pub visit: u32,
    /// Which try of that visit: 1 for the first.
    pub try_number: u8,
    /// When it began.
    pub started: Timestamp,
    /// What became of it.
    pub outcome: Outcome,
    /// More about the outcome; or the rule that decided.
    pub detail: Option<String>,
    /// Notes beside the outcome.
    pub flags: Flags,
    /// A head came back, whatever became of it then.
    pub answered: bool,
    /// Where the time went.
    pub times: Times,
    /// Who answered.
    pub remote: Option<SocketAddr>,
    /// What was spoken.
    pub protocol: Protocol,
    /// Declared or detected media type, without parameters.
    pub media_type: Option<String>,
    /// Head and body as received.
    pub wire_bytes: u64,
    /// Body with all codings undone.
    pub body_bytes: u64,
    /// Least known hops from a seed, at that moment.
    pub depth: u16,
    /// SHA-1 of the payload as received.
    pub payload_sha1: Option<[u8; 20]>,
    /// Digest of the visible text; it alone decides "changed".
    pub text_digest: Option<u128>,
    /// Near-duplicate signature of the text; 0 where there is too little text.
    pub similarity: u64,
    /// The capture in the archive.
    pub capture: Option<CaptureId>,
    /// The capture that this one repeats.
    pub revisit: Option<Revisit>,
    /// Validator for the next conditional request.
    pub etag: Option<String>,
    /// Validator for the next conditional request.
    pub last_modified: Option<String>,
    /// Title of the page.
    pub title: String,
    /// Declared language.
    pub language: Option<String>,
    /// What is to be done with the URL now.
    pub next: Next,
    /// Links found, each with the verdict that it got.
    pub links: Vec<LinkRecord>,
    /// Up to 1 KiB of what came where no head could be read. (The commit writes it, after everything else.)
    #[serde(skip)]
    pub junk: Vec<u8>,
    /// What its text was decoded from, and who said so. (The commit writes it, after everything else.)
    #[serde(skip)]
    pub charset: Option<Charset>,
}

impl Attempt {
    /// An attempt about which nothing is known but its outcome.
    pub fn new(url: FoundUrl, started: Timestamp, outcome: Outcome) -> Self {
        Self {
            url,
            visit: 1,
            try_number: 1,
            started,
            outcome,
            detail: None,
            flags: Flags::default(),
            answered: false,
            times: Times::default(),
            remote: None,
            protocol: Protocol::None,
            media_type: None,
            wire_bytes: 0,
            body_bytes: 0,
            depth: 0,
            payload_sha1: None,
            text_digest: None,
            similarity: 0,
            capture: None,
            revisit: None,
            etag: None,
            last_modified: None,
            title: String::new(),
            language: None,
            next: Next::Done,
            links: Vec::new(),
            junk: Vec::new(),
            charset: None,
        }
    }

    /// Whether this was a request for robots.txt, which is no document of the collection.
    pub fn is_robots(&self) -> bool {
        matches!(self.next, Next::Robots)
    }

    /// Whether a server was asked, or was to be and could not be reached. What was decided without asking is no
    /// request; nor is the failure of robots.txt that was passed on to the URL which waited for it: that request
    /// is counted by itself.
    pub fn is_request(&self) -> bool {
        if self.next == Next::Waiting {
            return false;
        }
        let was_reached = self.answered || self.remote.is_some() || self.outcome.is_answered();
        was_reached || (self.outcome.is_failure_on_the_way() && !self.is_failure_of_robots())
    }

    /// Whether it is counted as an error: what failed, but for robots.txt itself.
    pub fn is_error(&self) -> bool {
        let is_no_failure = self.detail.as_deref() == Some(Exchange::KEPT_CONNECTION_ENDED);
        self.next != Next::Waiting && !self.is_robots() && !is_no_failure && self.outcome.is_error()
    }

    /// Whether nobody was asked for this URL, because its host's robots.txt could not be had.
    fn is_failure_of_robots(&self) -> bool {
        let detail = self.detail.as_deref();
        !self.is_robots() && detail.is_some_and(|detail| detail.starts_with(OF_ROBOTS))
    }
}

/// So begins what is told of a URL that failed because its host's robots.txt did.
pub const OF_ROBOTS: &str = "robots.txt: ";

/// An earlier capture with the same payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revisit {
    /// Whose.
    pub url: String,
    /// Which.
    pub capture: CaptureId,
    /// When it was made.
    pub date: Timestamp,
}

/// What is to be done with a URL after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Next {
    /// Nothing more in this visit.
    Done,
    /// Another try, not before then.
    RetryAt(Timestamp),
    /// The tries are used up.
    Failed,
    /// A robots.txt: no URL of the collection.
    Robots,
    /// Stays as it was; only the decision is recorded.
    Waiting,
    /// This visit is over, and the next one is not before then.
    Again(Timestamp),
}

/// A link with the verdict that it got.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Where it leads.
    pub url: FoundUrl,
    /// Where it stood.
    pub kind: LinkKind,
    /// What its `rel` asks.
    pub rel: Rel,
    /// Its text.
    pub anchor: String,
    /// `lastmod` of a sitemap or feed.
    pub last_modified: Option<Timestamp>,
    /// Hops from a seed by way of this page.
    pub depth: u16,
    /// Needed by a kept page, and so fetched one step beyond the limits.
    pub requisite: bool,
    /// The chain of redirects that it belongs to.
    pub chain: Option<Chain>,
    /// What the Repository said.
    pub verdict: LinkVerdict,
}

impl LinkRecord {
    /// Whether it is where a seed leads, and so a seed itself.
    pub fn widens_the_scope(&self) -> bool {
        self.kind == LinkKind::Seed && !matches!(self.verdict, LinkVerdict::Excluded(_))
    }
}

/// A chain of redirects: the name of its first URL, and its length so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// Keyed name of the URL that began it.
    pub first: u64,
    /// Hops so far.
    pub length: u8,
}

/// What was decided about a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkVerdict {
    /// Met for the first time, and admitted.
    New,
    /// Met before.
    Known,
    /// To be decided; the verdict comes in a later entry.
    Pending,
    /// Met for the first time, and left out by this rule.
    Excluded(Exclusion),
    /// Met before as excluded, and admitted now.
    Readmitted,
    /// Not offered: `nofollow`.
    NotFollowed,
}

/// The rule that left a URL out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// As an outcome.
    pub outcome: Outcome,
    /// In words.
    pub rule: String,
}

/// News about a host, to be kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostUpdate {
    /// The host.
    pub host: String,
    /// A robots.txt was read or could not be: origin and stored form.
    pub robots: Option<(String, Vec<u8>)>,
    /// Not to be asked before then.
    pub back_off_until: Option<Timestamp>,
    /// Serves the same pages as this one; with an empty name, as none any more, and what was passed
    /// over for that waits again.
    pub alias_of: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CharsetSource, NormalForm};

    fn attempts() -> Vec<Attempt> {
        let attempt = |text: &str| {
            let url = NormalForm::default().parse(text).unwrap();
            Attempt::new(url, Timestamp::default(), Outcome::HTTP_INVALID)
        };
        vec![attempt("http://a.example/"), attempt("http://b.example/")]
    }

    fn read(bytes: &[u8]) -> Commit {
        let entry: Entry = postcard::from_bytes(bytes).unwrap();
        let Record::Commit(commit) = entry.record else {
            panic!("not a commit");
        };
        commit
    }

    #[test]
    fn junk_and_charset_read_back_at_their_attempt() {
        let mut attempts = attempts();
        attempts[1].junk = b"SSH-2.0\r\n\0".to_vec();
        attempts[1].charset = Some(Charset {
            name: "UTF-8".into(),
            source: CharsetSource::Meta,
        });
        let entry = Entry {
            sequence: 1,
            wall: Timestamp::default(),
            run: 1,
            record: Record::Commit(Commit {
                attempts: attempts.clone(),
                ..Commit::default()
            }),
        };
        let commit = read(&postcard::to_stdvec(&entry).unwrap());
        assert_eq!(commit.attempts.len(), 2);
        assert!(commit.attempts[0].junk.is_empty() && commit.attempts[0].charset.is_none());
        assert_eq!(commit.attempts[1].junk, attempts[1].junk);
        assert_eq!(commit.attempts[1].charset, attempts[1].charset);
    }

    #[test]
    fn an_entry_from_before_there_was_any_junk_is_read() {
        #[derive(Serialize)]
        struct OldCommit {
            attempts: Vec<Attempt>,
            hosts: Vec<HostUpdate>,
            archive: Option<ArchivePosition>,
            changes: Vec<UrlChange>,
        }
        // As an entry was: sequence, moment, run, the number of the variant, and the commit's four fields.
        let old = OldCommit {
            attempts: attempts(),
            hosts: Vec::new(),
            archive: None,
            changes: Vec::new(),
        };
        let bytes = postcard::to_stdvec(&(7_u64, Timestamp::default(), 3_u32, 1_u32, old)).unwrap();
        let commit = read(&bytes);
        assert_eq!(commit.attempts.len(), 2);
        assert!(commit.attempts.iter().all(|one| one.junk.is_empty()));
    }
}
