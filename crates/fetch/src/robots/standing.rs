//! What the last request for a host's robots.txt means, kept between requests and between runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_base::{Timestamp, measure};

use super::line::{MAX_BYTES, Spelling, readable};
use super::rules::Rules;

/// No wait for a host's robots.txt is longer, whatever the server asks for.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// How a request for robots.txt ended, after at most five redirects (which the caller follows).
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The server answered.
    Answered {
        /// The status of the last hop.
        status: u16,
        /// The body, decoded, or as much of it as the caller cares to read.
        body: &'a [u8],
        /// The wait the server asks for, if it does.
        retry_after: Option<Duration>,
    },
    /// A sixth redirect, or a loop of them.
    RedirectedTooOften,
    /// No answer: DNS, connection, TLS, timeout, or a redirect to where we do not go.
    Unreachable,
}

/// How a robots.txt is read, and how long what it said is believed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// Bytes read of a robots.txt; what comes after the last line end within them is ignored.
    #[serde(with = "measure::size")]
    pub max_bytes: u64,
    /// How long an answer holds. RFC 9309 §2.4 asks for at most 24 hours.
    #[serde(with = "measure::duration")]
    pub fresh_for: Duration,
    /// How long a host whose robots.txt is unreachable stays closed (RFC 9309 §2.3.1.4).
    #[serde(with = "measure::duration")]
    pub patience: Duration,
    /// The wait after the first failure; each further one waits five times longer, up to a day.
    #[serde(with = "measure::duration")]
    pub first_retry: Duration,
    /// What 401 and 403 mean.
    pub refusal: Refusal,
    /// What holds when `patience` is over and robots.txt is unreachable still: `copy`, the last one that was read, and a
    /// host of which none was ever read is given up; or `allows`, everything, as where there is no robots.txt.
    pub after_patience: AfterPatience,
    /// Which spellings count: `strict`, the right ones, with or without a colon; `tolerant`, also the frequent typos that
    /// Google's parser takes, such as `Dissallow` and `User agent`.
    pub spelling: Spelling,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_bytes: MAX_BYTES as u64,
            fresh_for: Duration::from_hours(24),
            patience: Duration::from_hours(24 * 30),
            first_retry: Duration::from_secs(1),
            refusal: Refusal::Allows,
            after_patience: AfterPatience::Copy,
            spelling: Spelling::Strict,
        }
    }
}

/// What it means that robots.txt itself is refused, with 401 or 403.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// There are no rules, as RFC 9309 §2.3.1.3 has it.
    Allows,
    /// The whole host is off limits.
    Disallows,
}

/// What holds for a host whose robots.txt has been unreachable for longer than we are patient (RFC 9309 §2.3.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterPatience {
    /// The last copy; without one nothing is allowed, and nobody waits for it any more.
    Copy,
    /// There are no rules.
    Allows,
}

/// What is known of a host's robots.txt: a record to keep with the host, for one scheme, host and port.
///
/// It holds the text and not the rules: what the text means is read again by [`Standing::access`],
/// so that a kept record follows the agent's name and a better parser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    meaning: Meaning,
    /// The status of the last answer, if there was one.
    status: Option<u16>,
    asked_at: Timestamp,
    until: Timestamp,
    copy: Option<Kept>,
    unreachable_since: Option<Timestamp>,
    /// Requests in a row that found it unreachable.
    failures: u32,
}

/// The last text the host gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    text: Vec<u8>,
    /// Whether there was more than this.
    is_cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Meaning {
    /// The copy holds the rules.
    Ruled,
    /// There is no robots.txt: everything is allowed.
    Open,
    /// The host refuses even that: nothing is allowed.
    Refused,
    /// Nobody knows: nothing is allowed for now.
    Unreachable,
    /// Nobody knows, and it was waited for long enough.
    GivenUp,
}

/// What a host lets one agent do.
#[derive(Clone, Debug)]
pub enum Access {
    /// As the rules say; a host without robots.txt has none, which allows everything.
    Ruled(Rules),
    /// Nothing, for good: robots.txt is refused, and [`Refusal::Disallows`] is set.
    Refused,
    /// Nothing before this moment, when robots.txt is to be asked for again. The URLs wait; they have not failed.
    Unreachable {
        /// The moment.
        until: Timestamp,
    },
    /// Nothing: robots.txt was unreachable for longer than anyone waits, and there is no copy of it.
    GivenUp {
        /// Since this moment.
        since: Timestamp,
    },
}

impl Standing {
    /// What an answer means that came at `now`, to a host of whom `previous` was known.
    pub fn from_answer(
        previous: Option<&Self>,
        answer: Answer<'_>,
        now: Timestamp,
        config: &Config,
    ) -> Self {
        let settled = |meaning, status, copy| Self {
            meaning,
            status,
            asked_at: now,
            until: now.plus(config.fresh_for),
            copy,
            unreachable_since: None,
            failures: 0,
        };
        match answer {
            Answer::Answered {
                status: status @ 200..=299,
                body,
                ..
            } => {
                let max_bytes = usize::try_from(config.max_bytes).unwrap_or(usize::MAX);
                let readable = readable(body, max_bytes);
                let copy = Kept {
                    text: readable.text.into_owned(),
                    is_cut: readable.cut,
                };
                settled(Meaning::Ruled, Some(status), Some(copy))
            }
            // Only a request that named a copy is answered so.
            Answer::Answered { status: 304, .. }
                if let Some(copy) = previous.and_then(|previous| previous.copy.clone()) =>
            {
                settled(Meaning::Ruled, Some(304), Some(copy))
            }
            // RFC 9309 would let us take 429 for "no rules"; a host that is asked too much is not asked more.
            Answer::Answered {
                status: status @ (429 | 500..),
                retry_after,
                ..
            } => Self::unreachable(previous, Some(status), retry_after, now, config),
            Answer::Answered {
                status: status @ (401 | 403),
                ..
            } if config.refusal == Refusal::Disallows => {
                settled(Meaning::Refused, Some(status), None)
            }
            Answer::Answered { status, .. } => settled(Meaning::Open, Some(status), None),
            Answer::RedirectedTooOften => settled(Meaning::Open, None, None),
            Answer::Unreachable => Self::unreachable(previous, None, None, now, config),
        }
    }

    /// Closed at first; when patience has run out the last copy counts again, and a host without one is given up.
    fn unreachable(
        previous: Option<&Self>,
        status: Option<u16>,
        retry_after: Option<Duration>,
        now: Timestamp,
        config: &Config,
    ) -> Self {
        let copy = previous.and_then(|previous| previous.copy.clone());
        let since = previous
            .and_then(|previous| previous.unreachable_since)
            .unwrap_or(now);
        let failures = previous.map_or(0, |previous| previous.failures);
        let patient = now.since(since) < config.patience;
        let wait = config
            .first_retry
            .saturating_mul(5_u32.saturating_pow(failures))
            .max(retry_after.unwrap_or_default())
            .min(LONGEST_WAIT);
        Self {
            meaning: match (config.after_patience, &copy) {
                _ if patient => Meaning::Unreachable,
                (AfterPatience::Allows, _) => Meaning::Open,
                (AfterPatience::Copy, Some(_)) => Meaning::Ruled,
                (AfterPatience::Copy, None) => Meaning::GivenUp,
            },
            status,
            asked_at: now,
            until: now.plus(wait),
            copy,
            unreachable_since: Some(since),
            failures: failures.saturating_add(1),
        }
    }

    /// Reads what the record means for an agent. Worth keeping: reading a long file takes milliseconds.
    pub fn access(&self, agent_token: &str, spelling: Spelling) -> Access {
        match (self.meaning, &self.copy) {
            (Meaning::Ruled, Some(copy)) => {
                let mut rules = Rules::parse_spelt(&copy.text, agent_token, usize::MAX, spelling);
                rules.is_cut = copy.is_cut;
                Access::Ruled(rules)
            }
            (Meaning::Ruled | Meaning::Open, _) => Access::Ruled(Rules::default()),
            (Meaning::Refused, _) => Access::Refused,
            (Meaning::Unreachable, _) => Access::Unreachable { until: self.until },
            (Meaning::GivenUp, _) => Access::GivenUp {
                since: self.unreachable_since.unwrap_or(self.asked_at),
            },
        }
    }

    /// Asks again no sooner than this long after the answer.
    pub fn rest(&mut self, at_least: Duration) {
        self.until = self.until.max(self.asked_at.plus(at_least));
    }

    /// Takes back the failures since that moment, which were not the host's: it is to be asked again at once.
    pub fn forgive(&mut self, since: Timestamp) {
        if self.unreachable_since.is_none() || self.asked_at < since {
            return;
        }
        self.until = self.asked_at;
        self.failures = 0;
        self.unreachable_since = self.unreachable_since.filter(|began| *began < since);
    }

    /// Requests in a row that found it unreachable.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether the host itself asked for the wait. Any other is a guess of ours.
    pub fn is_asked_for(&self) -> bool {
        matches!(self.status, Some(429 | 503))
    }

    /// Whether the record still holds. Else robots.txt is asked for again before anything else of the host.
    ///
    /// A record from the future does not hold: the clock was set back, and nobody knows how old it is.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.asked_at <= now && now < self.until
    }

    /// The moment from which robots.txt is to be asked for again.
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// The moment of the answer.
    pub fn asked_at(&self) -> Timestamp {
        self.asked_at
    }

    /// The status of the answer; none where none came.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// Since when robots.txt is unreachable, if it is.
    pub fn unreachable_since(&self) -> Option<Timestamp> {
        self.unreachable_since
    }

    /// The last text the host gave, cut to size and decoded.
    pub fn copy(&self) -> Option<&[u8]> {
        self.copy.as_ref().map(|copy| copy.text.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISALLOW: &[u8] = b"User-agent: *\nDisallow: /\n";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros((1_800_000_000 + seconds) * 1_000_000)
    }

    fn answered(status: u16, body: &[u8]) -> Answer<'_> {
        Answer::Answered {
            status,
            body,
            retry_after: None,
        }
    }

    fn standing(answer: Answer<'_>) -> Standing {
        Standing::from_answer(None, answer, at(0), &Config::default())
    }

    /// `allowed`, `disallowed`, or how many seconds after the answer it is time to ask again.
    #[track_caller]
    fn check(standing: &Standing, expected: &str) {
        let found = match standing.access("Teia", Spelling::Strict) {
            Access::Ruled(rules) if rules.verdict("/x").allowed => "allowed".to_owned(),
            Access::Ruled(_) | Access::Refused => "disallowed".to_owned(),
            Access::GivenUp { .. } => "given up".to_owned(),
            Access::Unreachable { until } => until.since(standing.asked_at()).as_secs().to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn an_answer_has_rules_and_a_missing_file_has_none() {
        check(&standing(answered(200, DISALLOW)), "disallowed");
        check(&standing(answered(206, DISALLOW)), "disallowed");
        for status in [301, 304, 400, 401, 403, 404, 410, 451] {
            check(&standing(answered(status, DISALLOW)), "allowed");
        }
        check(&standing(Answer::RedirectedTooOften), "allowed");
    }

    #[test]
    fn an_unreachable_file_closes_the_host_for_now() {
        for status in [429, 500, 503, 599, 999] {
            check(&standing(answered(status, b"")), "1");
        }
        check(&standing(Answer::Unreachable), "1");
    }

    #[test]
    fn the_wait_grows_and_retry_after_only_lengthens_it() {
        let config = Config::default();
        let mut standing = standing(Answer::Unreachable);
        for wait in ["5", "25", "125"] {
            standing = Standing::from_answer(Some(&standing), Answer::Unreachable, at(1), &config);
            check(&standing, wait);
        }
        for (asked, wait) in [
            (1, "625"),
            (1_000, "3125"),
            (20_000, "20000"),
            (1_000_000, "86400"),
        ] {
            let retry_after = Some(Duration::from_secs(asked));
            let answer = Answer::Answered {
                status: 503,
                body: b"",
                retry_after,
            };
            standing = Standing::from_answer(Some(&standing), answer, at(1), &config);
            check(&standing, wait);
        }
    }

    #[test]
    fn after_thirty_days_the_old_copy_counts_or_the_host_is_given_up() {
        let day = 24 * 3600;
        for (first, after_patience, end) in [
            (answered(200, DISALLOW), AfterPatience::Copy, "disallowed"),
            (answered(404, b""), AfterPatience::Copy, "given up"),
            (answered(200, DISALLOW), AfterPatience::Allows, "allowed"),
            (answered(404, b""), AfterPatience::Allows, "allowed"),
        ] {
            let config = Config {
                after_patience,
                ..Config::default()
            };
            let mut standing = standing(first);
            for days in 1..=30 {
                standing = Standing::from_answer(
                    Some(&standing),
                    Answer::Unreachable,
                    at(days * day),
                    &config,
                );
                assert!(matches!(
                    standing.access("Teia", Spelling::Strict),
                    Access::Unreachable { .. }
                ));
            }
            standing =
                Standing::from_answer(Some(&standing), Answer::Unreachable, at(31 * day), &config);
            check(&standing, end);
            assert_eq!(standing.unreachable_since(), Some(at(day)));
        }
    }

    #[test]
    fn a_rest_only_lengthens_the_wait() {
        let mut standing = standing(answered(500, b""));
        standing.rest(Duration::from_millis(1));
        check(&standing, "1");
        standing.rest(Duration::from_secs(60));
        check(&standing, "60");
        assert_eq!((standing.failures(), standing.is_asked_for()), (1, false));
    }

    #[test]
    fn an_answer_ends_the_waiting() {
        let config = Config::default();
        let standing = standing(Answer::Unreachable);
        let standing = Standing::from_answer(Some(&standing), answered(200, b""), at(60), &config);
        check(&standing, "allowed");
        assert_eq!(standing.unreachable_since(), None);
    }

    #[test]
    fn what_is_forgiven_is_asked_for_at_once_and_waits_no_longer_than_the_first_time() {
        let config = Config::default();
        let mut standing = standing(Answer::Unreachable);
        for seconds in 1..4 {
            let now = at(seconds);
            standing = Standing::from_answer(Some(&standing), Answer::Unreachable, now, &config);
        }
        let before = standing.clone();
        standing.forgive(at(4));
        assert_eq!(standing, before, "it failed before");
        standing.forgive(at(2));
        assert!(!standing.is_fresh(at(3)));
        assert_eq!(standing.unreachable_since(), Some(at(0)), "it had failed");
        standing.forgive(at(0));
        assert_eq!(standing.unreachable_since(), None);
        let again = Standing::from_answer(Some(&standing), Answer::Unreachable, at(5), &config);
        check(&again, "1");
        let mut ruled = Standing::from_answer(None, answered(200, DISALLOW), at(0), &config);
        ruled.forgive(at(0));
        assert!(ruled.is_fresh(at(1)));
    }

    #[test]
    fn not_modified_renews_the_copy() {
        let first = standing(answered(200, DISALLOW));
        let later =
            Standing::from_answer(Some(&first), answered(304, b""), at(9), &Config::default());
        check(&later, "disallowed");
        assert_eq!(later.until().since(first.until()).as_secs(), 9);
    }

    #[test]
    fn a_refusal_can_be_taken_at_its_word() {
        let config = Config {
            refusal: Refusal::Disallows,
            ..Config::default()
        };
        for status in [401, 403] {
            check(
                &Standing::from_answer(None, answered(status, b""), at(0), &config),
                "disallowed",
            );
        }
    }

    #[test]
    fn an_answer_holds_for_a_day_and_not_before_it_came() {
        let standing = standing(answered(200, b""));
        assert!(standing.is_fresh(at(0)));
        assert!(standing.is_fresh(at(24 * 3600 - 1)));
        assert!(!standing.is_fresh(at(24 * 3600)));
        assert!(!standing.is_fresh(at(-1)));
    }

    #[test]
    fn a_kept_record_means_the_same() {
        let config = Config {
            max_bytes: 30,
            ..Config::default()
        };
        let long = [DISALLOW, b"Allow: /x\n"].concat();
        let standing = Standing::from_answer(None, answered(200, &long), at(0), &config);
        assert_eq!(standing.copy(), Some(DISALLOW));
        let bytes = postcard::to_stdvec(&standing).unwrap();
        assert!(bytes.len() < DISALLOW.len() + 40);
        let kept: Standing = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(kept, standing);
        assert!(
            matches!(kept.access("Teia", Spelling::Strict), Access::Ruled(rules) if rules.is_cut())
        );
        check(&kept, "disallowed");
        let text = serde_json::to_string(&standing).unwrap();
        assert_eq!(serde_json::from_str::<Standing>(&text).unwrap(), standing);
    }

    #[test]
    fn the_config_is_written_as_people_write_it() {
        let text = r#"{"max-bytes": "600KB", "fresh-for": "12h", "refusal": "disallows"}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        let expected = Config {
            max_bytes: 600_000,
            fresh_for: Duration::from_hours(12),
            refusal: Refusal::Disallows,
            ..Config::default()
        };
        assert_eq!(config, expected);
        assert!(serde_json::from_str::<Config>(r#"{"fresh": "12h"}"#).is_err());
    }

    #[test]
    fn time_that_runs_out_is_no_panic() {
        let config = Config {
            fresh_for: Duration::MAX,
            patience: Duration::MAX,
            ..Config::default()
        };
        let standing = Standing::from_answer(
            None,
            answered(200, b""),
            Timestamp::from_micros(i64::MAX),
            &config,
        );
        assert_eq!(standing.until(), Timestamp::from_micros(i64::MAX));
        let standing = Standing::from_answer(
            Some(&standing),
            Answer::Unreachable,
            Timestamp::from_micros(i64::MIN),
            &config,
        );
        assert_eq!(standing.status(), None);
    }
}
