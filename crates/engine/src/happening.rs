//! One moment in the life of a URL, and how it is told: in English here, and in other languages by whoever
//! has words for the same sentences.

use std::time::Duration;

use serde::Serialize;
use teia_base::journal::{Attempt, Exclusion, LinkRecord, LinkVerdict, Next};
use teia_base::{CharsetSource, Outcome, Timestamp};

use crate::reading::as_text;

/// One moment in the life of a URL.
#[derive(Clone, Debug, Serialize)]
pub struct Happening {
    /// When.
    #[serde(serialize_with = "as_text")]
    pub at: Timestamp,
    /// What, in a sentence.
    pub what: String,
    /// The same, to be told in another language.
    #[serde(skip)]
    event: LifeEvent,
}

/// What can happen to a URL.
#[derive(Clone, Debug)]
pub(crate) enum LifeEvent {
    /// A person gave it.
    Seed {
        run: u32,
        fallback_http: bool,
    },
    /// It was tried: the place among the attempts of the explanation.
    Tried(usize),
    /// A page has a link to it.
    Found {
        page: String,
        link: Box<LinkRecord>,
    },
    /// The rules of a later moment leave it out.
    LeftOut(Exclusion),
    Readmitted {
        depth: u16,
    },
    Nearer {
        depth: u16,
    },
    Added,
    Recovered,
    Decided {
        was_left_out: bool,
    },
    Due,
    /// Its robots.txt cannot be read until then.
    Closed {
        until: Timestamp,
    },
}

impl Happening {
    pub(crate) fn new(at: Timestamp, event: LifeEvent, attempts: &[Attempt]) -> Self {
        Self {
            at,
            what: told(&event, attempts, &English),
            event,
        }
    }

    /// What happened, with each of our own sentences as `say` has it: it is given them in English, with `{}`
    /// where something is filled in. `attempts` are those of the explanation.
    pub fn told(&self, attempts: &[Attempt], say: impl Fn(&str) -> String) -> String {
        told(&self.event, attempts, &say)
    }
}

/// The words of a language.
trait Say {
    fn say(&self, english: &str) -> String;

    /// The sentence with these parts filled in.
    fn fill(&self, english: &str, parts: &[&str]) -> String {
        let mut text = String::new();
        let said = self.say(english);
        let mut pieces = said.split("{}");
        text.push_str(pieces.next().unwrap_or_default());
        let mut parts = parts.iter();
        for piece in pieces {
            text.push_str(parts.next().unwrap_or(&""));
            text.push_str(piece);
        }
        text
    }
}

struct English;

impl Say for English {
    fn say(&self, english: &str) -> String {
        english.to_owned()
    }
}

impl<F: Fn(&str) -> String> Say for F {
    fn say(&self, english: &str) -> String {
        self(english)
    }
}

fn told(event: &LifeEvent, attempts: &[Attempt], words: &impl Say) -> String {
    match event {
        LifeEvent::Seed { run, fallback_http } => {
            let sentence = if *fallback_http {
                "given as a seed (run {}, without scheme: https is tried first)"
            } else {
                "given as a seed (run {})"
            };
            words.fill(sentence, &[&run.to_string()])
        }
        LifeEvent::Tried(at) => attempts
            .get(*at)
            .map_or_else(String::new, |attempt| told_attempt(attempt, words)),
        LifeEvent::Found { page, link } => told_link(page, link, words),
        LifeEvent::LeftOut(exclusion) => left_out(exclusion, words),
        LifeEvent::Readmitted { depth: u16::MAX } => words.say("the rules let it in"),
        LifeEvent::Readmitted { depth } => words.fill(
            "the rules or a shorter way let it in: admitted at depth {}",
            &[&depth.to_string()],
        ),
        LifeEvent::Nearer { depth } => {
            words.fill("a shorter way was found: depth {}", &[&depth.to_string()])
        }
        LifeEvent::Added => words.say("added by a person (`teia urls add`)"),
        LifeEvent::Recovered => {
            words.say("found again by `teia urls repair`: what was written of it before is lost")
        }
        LifeEvent::Decided { was_left_out: true } => words.say("decided: admitted now"),
        LifeEvent::Decided {
            was_left_out: false,
        } => words.say("decided: new"),
        LifeEvent::Due => words.say("due for its next try"),
        LifeEvent::Closed { until } => words.fill(
            "waiting: {}; robots.txt is asked for again at {}",
            &[
                &words.say(Outcome::ROBOTS_UNREACHABLE.sentence()),
                &until.to_string(),
            ],
        ),
    }
}

/// So much is told of what came where no head could be read; `--json` tells all that is kept.
const TOLD_JUNK: usize = 100;

/// An attempt in a sentence.
pub fn tell_attempt(attempt: &Attempt) -> String {
    told_attempt(attempt, &English)
}

fn told_attempt(attempt: &Attempt, words: &impl Say) -> String {
    let outcome = attempt.outcome;
    let detail = attempt
        .detail
        .as_deref()
        .map(|detail| format!(" ({})", words.say(detail)))
        .unwrap_or_default();
    let sentence = words.say(outcome.sentence()) + &detail;
    let try_number = attempt.try_number.to_string();
    let mut text = match outcome {
        Outcome::ROBOTS_DISALLOWED => words.fill("not fetched: {}", &[&sentence]),
        _ => words.fill(
            "try {}: {}: {}",
            &[&try_number, &outcome.to_string(), &sentence],
        ),
    };
    let was_asked = attempt.remote.is_some() || outcome.is_answered();
    if was_asked && outcome != Outcome::ROBOTS_DISALLOWED {
        let remote = attempt.remote.map(|remote| remote.to_string());
        let remote = remote.unwrap_or_else(|| words.say("the proxy"));
        let times = &attempt.times;
        let took = [
            times.dns,
            times.connect,
            times.tls,
            times.first_byte,
            times.body,
        ];
        let took = took.map(for_people);
        let mut parts = vec![attempt.wire_bytes.to_string(), remote];
        parts.extend(took);
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        text.push_str("; ");
        text.push_str(&words.fill(
            "{} bytes from {} (dns {}, connect {}, tls {}, first byte {}, body {})",
            &parts,
        ));
    }
    let flags: Vec<String> = attempt
        .flags
        .names()
        .into_iter()
        .map(|flag| words.say(flag))
        .collect();
    let mut add = |part: &str| {
        text.push_str("; ");
        text.push_str(part);
    };
    if !flags.is_empty() {
        add(&flags.join(", "));
    }
    if let Some(charset) = &attempt.charset {
        let who = words.say(told_source(charset.source));
        add(&words.fill("charset {}, {}", &[&charset.name, &who]));
    }
    if !attempt.junk.is_empty() {
        let start = &attempt.junk[..attempt.junk.len().min(TOLD_JUNK)];
        let start = start.escape_ascii().to_string();
        add(&words.fill("what came begins with `{}`", &[&start]));
    }
    if let Some(revisit) = &attempt.revisit {
        let of = [revisit.url.to_string(), revisit.date.to_string()];
        add(&words.fill("the same content as {} of {}", &[&of[0], &of[1]]));
    }
    match attempt.next {
        Next::RetryAt(due) => add(&words.fill("to be tried again at {}", &[&due.to_string()])),
        Next::Again(due) => add(&words.fill("to be visited again at {}", &[&due.to_string()])),
        Next::Failed => add(&words.say("the tries of this run are used up")),
        _ => {}
    }
    text
}

fn told_source(source: CharsetSource) -> &'static str {
    match source {
        CharsetSource::Bom => "by its byte order mark",
        CharsetSource::Http => "by the head of the answer",
        CharsetSource::Meta => "by the document itself",
        CharsetSource::Detected => "by its bytes",
    }
}

fn told_link(page: &str, link: &LinkRecord, words: &impl Say) -> String {
    let mut kind = words.say(link.kind.name());
    if !link.anchor.is_empty() {
        kind.push_str(&format!(" “{}”", link.anchor));
    }
    let found = match link.depth {
        u16::MAX => words.fill("found on {} ({})", &[page, &kind]),
        depth => words.fill(
            "found on {} ({}), depth {}",
            &[page, &kind, &depth.to_string()],
        ),
    };
    let verdict = match &link.verdict {
        LinkVerdict::New if link.requisite => words.say("new, needed by that page"),
        LinkVerdict::New => words.say("new"),
        LinkVerdict::Readmitted => words.say("admitted now"),
        LinkVerdict::Excluded(exclusion) => left_out(exclusion, words),
        LinkVerdict::NotFollowed => words.say("not followed, the page says nofollow"),
        LinkVerdict::Known => words.say("known"),
        LinkVerdict::Pending => words.say("to be decided"),
    };
    format!("{found}: {verdict}")
}

fn left_out(exclusion: &Exclusion, words: &impl Say) -> String {
    let why = words.say(exclusion.outcome.sentence());
    words.fill("left out, {} ({})", &[&why, &words.say(&exclusion.rule)])
}

/// A time in a unit of which there are a few: `48ms`.
fn for_people(time: Duration) -> String {
    let (seconds, millis, micros) = (time.as_secs_f64(), time.as_millis(), time.as_micros());
    match millis {
        0 if micros == 0 => "0".to_owned(),
        0 => format!("{micros}µs"),
        1..10_000 => format!("{millis}ms"),
        _ => format!("{seconds:.1}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_in_other_words_too() {
        let event = LifeEvent::Nearer { depth: 3 };
        let moment = Happening::new(Timestamp::default(), event, &[]);
        assert_eq!(moment.what, "a shorter way was found: depth 3");
        let loud = moment.told(&[], |english| english.to_uppercase());
        assert_eq!(loud, "A SHORTER WAY WAS FOUND: DEPTH 3");
    }

    #[test]
    fn a_depth_that_is_none_is_not_told() {
        let event = LifeEvent::Readmitted { depth: u16::MAX };
        let moment = Happening::new(Timestamp::default(), event, &[]);
        assert!(!moment.what.contains("65535"), "{}", moment.what);
    }

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        assert_eq!(English.fill("{} and {}", &["a {}", "b", "c"]), "a {} and b");
    }
}
