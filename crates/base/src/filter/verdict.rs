//! What a filter says of a URL or of a document, and which rule said it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Outcome;

/// What is to be done with a URL before its fetch, or with a document after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The document belongs to the collection. Before the fetch: as far as its URL can tell.
    pub keep: bool,
    /// Its links are candidates in turn.
    pub follow: bool,
    /// It is wanted because a kept page needs it to be shown, whatever its host, depth and type.
    pub requisite: bool,
    /// Which kind of rule decided.
    pub kind: RuleKind,
    /// The rule that decided, for people: `exclude /private/`, `scope host`, `max-depth 3`.
    pub rule: Cow<'static, str>,
    /// The outcome of a URL that is neither kept nor followed; `None` wherever one of the two holds.
    pub outcome: Option<Outcome>,
}

impl Verdict {
    /// No rule objects.
    pub const KEEP_AND_FOLLOW: Self = Self {
        keep: true,
        follow: true,
        requisite: false,
        kind: RuleKind::None,
        rule: Cow::Borrowed(""),
        outcome: None,
    };

    /// Kept and followed, because of this rule.
    pub fn admit(kind: RuleKind, rule: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            rule: rule.into(),
            ..Self::KEEP_AND_FOLLOW
        }
    }

    /// Read for its links, and not kept.
    pub fn follow_only(kind: RuleKind, rule: impl Into<Cow<'static, str>>) -> Self {
        Self {
            keep: false,
            ..Self::admit(kind, rule)
        }
    }

    /// Kept, and its links left alone.
    pub fn keep_only(kind: RuleKind, rule: impl Into<Cow<'static, str>>) -> Self {
        Self {
            follow: false,
            ..Self::admit(kind, rule)
        }
    }

    /// Neither kept nor followed: it ends here, with this outcome.
    pub fn refuse(kind: RuleKind, rule: impl Into<Cow<'static, str>>, outcome: Outcome) -> Self {
        Self {
            keep: false,
            follow: false,
            outcome: Some(outcome),
            ..Self::admit(kind, rule)
        }
    }

    /// Whether it is worth a fetch, or was: it is kept, or followed, or both.
    pub fn is_admitted(&self) -> bool {
        self.keep || self.follow
    }
}

/// The kind of rule behind a [`Verdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RuleKind {
    /// No rule had anything to say.
    None,
    /// The scope around the seeds.
    Scope,
    /// A host allowed by name.
    Host,
    /// A directory that the path must lie in.
    Directory,
    /// A pattern that the URL must match.
    Include,
    /// A pattern that the URL must not match.
    Exclude,
    /// Hops from the seeds. What is refused for it is admitted when a shorter way is found.
    Depth,
    /// Path segments.
    PathDepth,
    /// Media types.
    Type,
    /// Bytes of one document.
    Size,
    /// Documents or bytes of the whole run or of a host.
    Budget,
    /// The scheme.
    Scheme,
    /// The length of the URL.
    Length,
    /// The URL looks like one of an endless series.
    Trap,
    /// Words or patterns in the text.
    Text,
    /// The language.
    Language,
    /// A kept page needs it to be shown.
    Requisite,
    /// Given by the person who started the crawl.
    Seed,
    /// A rule of a program's own [`super::Filter`].
    Custom,
}
