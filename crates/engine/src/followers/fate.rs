//! What an attempt means to those who follow.

use teia_base::journal::{Attempt, Commit, LinkVerdict, Next};
use teia_base::{CanonicalUrl, Flags, Outcome, Retry};

/// What became of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It has a new version, which is kept.
    Kept,
    /// It was read for its links, or sends on to another: it has links and no text of its own.
    OnlyLinks,
    /// It is gone, or the collection does not want it.
    Gone,
    /// As it was: not changed, to be tried again, or no page at all.
    AsBefore,
}

impl Fate {
    pub(super) fn of(attempt: &Attempt) -> Self {
        let is_decision = matches!(attempt.next, Next::Waiting | Next::RetryAt(_));
        if attempt.is_robots() || is_decision {
            return Self::AsBefore;
        }
        let outcome = attempt.outcome;
        match outcome.number() {
            // A part that nobody asked for is no page (HTTP-31): a whole one from before stays.
            206 | 304 => Self::AsBefore,
            200..=299 if attempt.flags.has(Flags::NOT_KEPT) => Self::OnlyLinks,
            200..=299 => Self::Kept,
            _ if outcome.is_redirect() => Self::OnlyLinks,
            // A server that fails today has not taken its pages away.
            _ if outcome.retry() != Retry::Final => Self::AsBefore,
            _ => Self::Gone,
        }
    }
}

/// URLs that a commit leaves out: one that was kept leaves with all that it said.
pub(super) fn left_out(commit: &Commit) -> impl Iterator<Item = (&CanonicalUrl, Outcome)> {
    let changes = commit.changes.iter();
    changes.filter_map(|change| match &change.verdict {
        LinkVerdict::Excluded(exclusion) => Some((&change.url, exclusion.outcome)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::{NormalForm, Timestamp};

    #[track_caller]
    fn check(outcome: Outcome, flags: Flags, fate: Fate) {
        let url = NormalForm::default().parse("http://a.example/").unwrap();
        let mut attempt = Attempt::new(url, Timestamp::default(), outcome);
        attempt.flags = flags;
        assert_eq!(Fate::of(&attempt), fate, "{outcome}");
    }

    #[test]
    fn only_what_will_not_come_back_is_gone() {
        let none = Flags::default();
        check(Outcome::http(200), none, Fate::Kept);
        check(Outcome::http(200), Flags::NOT_KEPT, Fate::OnlyLinks);
        check(Outcome::http(301), none, Fate::OnlyLinks);
        check(Outcome::http(304), none, Fate::AsBefore);
        check(Outcome::http(206), none, Fate::AsBefore);
        check(Outcome::http(404), none, Fate::Gone);
        check(Outcome::http(410), none, Fate::Gone);
        check(Outcome::http(503), none, Fate::AsBefore);
        check(Outcome::CONNECT_REFUSED, none, Fate::AsBefore);
        check(Outcome::ROBOTS_DISALLOWED, none, Fate::Gone);
        check(Outcome::REMOVED, none, Fate::Gone);
        check(Outcome::LANGUAGE_REFUSED, none, Fate::Gone);
    }
}
