//! What every origin's robots.txt says: parsed copies of the recent ones, stored ones of the rest.

use std::collections::{HashMap, HashSet};

use teia_base::Timestamp;
use teia_fetch::robots::{Access, Config, Rules, Standing};

/// The copies at hand. Parsed rules are kept for a bounded number of origins; the durable copy lies
/// in the host's record.
#[derive(Debug)]
pub(crate) struct RobotsBook {
    token: String,
    /// Copies of before are fetched anew.
    since: Timestamp,
    open: HashMap<String, Page>,
    /// Bytes that the open ones take.
    bytes: usize,
    pending: HashSet<String>,
}

#[derive(Debug)]
struct Page {
    standing: Standing,
    access: Access,
    bytes: usize,
}

/// What the book says about a path.
#[derive(Debug, PartialEq)]
pub(crate) enum Reading {
    /// Go ahead.
    Allowed,
    /// Keep out, because of this line.
    Disallowed(String),
    /// Nobody knows; ask again at that moment.
    Unreachable(Timestamp),
    /// The copy is missing or too old: fetch it first.
    Unknown,
    /// It is being fetched.
    Pending,
}

impl RobotsBook {
    const OPEN_PAGES: usize = 8192;
    /// Bytes of open pages. A host may write half a MiB of rules, which take six times as much when parsed.
    const OPEN_BYTES: usize = 64 << 20;

    pub(crate) fn new(token: &str, since: Timestamp) -> Self {
        Self {
            token: token.to_owned(),
            since,
            open: HashMap::new(),
            bytes: 0,
            pending: HashSet::new(),
        }
    }

    /// What may be done with a path of an origin; `stored` is the durable copy, if there is one. A host to
    /// which we give another name has the word by which its robots.txt knows us (`token`).
    pub(crate) fn read(
        &mut self,
        origin: &str,
        path: &str,
        stored: Option<&[u8]>,
        now: Timestamp,
        token: Option<&str>,
    ) -> Reading {
        if self.pending.contains(origin) {
            return Reading::Pending;
        }
        if !self.open.contains_key(origin)
            && let Some(standing) =
                stored.and_then(|bytes| postcard::from_bytes::<Standing>(bytes).ok())
        {
            self.put(origin, standing, token);
        }
        let Some(page) = self.open.get(origin) else {
            return Reading::Unknown;
        };
        if !page.standing.is_fresh(now) || page.standing.asked_at() < self.since {
            return Reading::Unknown;
        }
        match &page.access {
            Access::Ruled(rules) => {
                let verdict = rules.verdict(path);
                if verdict.allowed {
                    return Reading::Allowed;
                }
                Reading::Disallowed(verdict.rule.map_or_else(String::new, |rule| {
                    format!("robots.txt line {}: {}", rule.number, shown(&rule.text))
                }))
            }
            Access::Refused => Reading::Disallowed("robots.txt itself is refused".to_owned()),
            Access::Unreachable { until } => Reading::Unreachable(*until),
        }
    }

    /// Marks a copy as being fetched.
    pub(crate) fn begin(&mut self, origin: &str) {
        self.pending.insert(origin.to_owned());
    }

    /// It could not be asked for after all; what was known stays.
    pub(crate) fn give_up(&mut self, origin: &str) {
        self.pending.remove(origin);
    }

    /// Takes the answer; returns the durable copy.
    pub(crate) fn finish(
        &mut self,
        origin: &str,
        stored: Option<&[u8]>,
        answer: teia_fetch::robots::Answer<'_>,
        now: Timestamp,
        (config, token): (&Config, Option<&str>),
    ) -> Vec<u8> {
        self.pending.remove(origin);
        let previous = self
            .close(origin)
            .map(|page| page.standing)
            .or_else(|| stored.and_then(|bytes| postcard::from_bytes(bytes).ok()));
        let standing = Standing::from_answer(previous.as_ref(), answer, now, config);
        let bytes = postcard::to_stdvec(&standing).expect("a standing is plain data");
        self.put(origin, standing, token);
        bytes
    }

    /// Takes a copy that another run has, if it holds still; says whether. With `all`, only one that
    /// names no sitemaps.
    pub(crate) fn adopt(
        &mut self,
        origin: &str,
        stored: &[u8],
        now: Timestamp,
        all: bool,
        token: Option<&str>,
    ) -> bool {
        let Ok(standing) = postcard::from_bytes::<Standing>(stored) else {
            return false;
        };
        let holds = standing.is_fresh(now) && standing.asked_at() >= self.since;
        let names_sitemaps = match standing.access(token.unwrap_or(&self.token)) {
            Access::Ruled(rules) => !rules.sitemaps().is_empty(),
            // Whether it can be reached is for each to find out.
            Access::Refused | Access::Unreachable { .. } => true,
        };
        if !holds || self.pending.contains(origin) || (all && names_sitemaps) {
            return false;
        }
        self.put(origin, standing, token);
        true
    }

    /// Rules of an origin whose copy is open.
    pub(crate) fn rules(&self, origin: &str) -> Option<&Rules> {
        match &self.open.get(origin)?.access {
            Access::Ruled(rules) => Some(rules),
            _ => None,
        }
    }

    fn put(&mut self, origin: &str, standing: Standing, token: Option<&str>) {
        let access = standing.access(token.unwrap_or(&self.token));
        let parsed = match &access {
            Access::Ruled(rules) => rules.bytes(),
            Access::Refused | Access::Unreachable { .. } => 0,
        };
        let text = standing.copy().map_or(0, <[u8]>::len);
        let page = Page {
            bytes: parsed + text + 2 * origin.len() + size_of::<Page>(),
            standing,
            access,
        };
        self.close(origin);
        let is_full = self.open.len() >= Self::OPEN_PAGES;
        if is_full || self.bytes + page.bytes > Self::OPEN_BYTES {
            // Any page will do: the durable copy is a look-up away.
            let mut kept = 0;
            self.open.retain(|_, page| {
                kept += page.bytes;
                kept <= Self::OPEN_BYTES / 2
            });
            let surplus = self.open.len().saturating_sub(Self::OPEN_PAGES * 3 / 4);
            let some: Vec<String> = self.open.keys().take(surplus).cloned().collect();
            for origin in some {
                self.open.remove(&origin);
            }
            self.bytes = self.open.values().map(|page| page.bytes).sum();
        }
        self.bytes += page.bytes;
        self.open.insert(origin.to_owned(), page);
    }

    fn close(&mut self, origin: &str) -> Option<Page> {
        let page = self.open.remove(origin)?;
        self.bytes -= page.bytes;
        Some(page)
    }
}

/// The text of a rule as people are shown it: nothing in it steers a terminal or turns the line around.
fn shown(rule: &str) -> String {
    let is_harmless = |c: char| !c.is_control() && !is_direction(c);
    rule.chars()
        .map(|c| if is_harmless(c) { c } else { '\u{fffd}' })
        .collect()
}

/// Marks of the direction of writing (Unicode annex 9).
fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_is_told_steers_no_terminal() {
        let text = "User-agent: *\nDisallow: /a*\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\n";
        let text = format!("{text}Disallow: /a\u{1b}[2J\nDisallow: /a");
        let mut book = RobotsBook::new("teia", Timestamp::default());
        let answer = teia_fetch::robots::Answer::Answered {
            status: 200,
            body: text.as_bytes(),
            retry_after: None,
        };
        let now = Timestamp::default();
        book.finish(
            "http://a.test",
            None,
            answer,
            now,
            (&Config::default(), None),
        );
        for path in ["/a", "/a%1B[2J", "/a%1B]0;x%07%C2%9B2J%E2%80%AE"] {
            let Reading::Disallowed(told) = book.read("http://a.test", path, None, now, None)
            else {
                panic!("{path} is allowed");
            };
            let is_clean = !told.chars().any(|c| c.is_control() || is_direction(c));
            assert!(is_clean && told.starts_with("robots.txt line "), "{told:?}");
        }
    }

    /// Every host of a farm has as many rules as a host may have; every one is read, few are kept.
    #[test]
    fn a_farm_of_long_files_is_bounded_in_bytes() {
        let text: String = (0..30_000).map(|n| format!("Disallow:/{n}a\n")).collect();
        let text = format!("User-agent: *\n{text}");
        let mut book = RobotsBook::new("teia", Timestamp::default());
        let now = Timestamp::default();
        for host in 0..60 {
            let origin = format!("http://h{host}.test");
            let answer = teia_fetch::robots::Answer::Answered {
                status: 200,
                body: text.as_bytes(),
                retry_after: None,
            };
            let stored = book.finish(&origin, None, answer, now, (&Config::default(), None));
            let read = book.read(&origin, "/29999a", Some(&stored), now, None);
            assert!(matches!(read, Reading::Disallowed(_)), "{read:?}");
            assert!(book.bytes <= RobotsBook::OPEN_BYTES, "{}", book.bytes);
            // A copy that was put aside is read from the record when it is asked for.
            let read = book.read("http://h0.test", "/29999a", Some(&stored), now, None);
            assert!(matches!(read, Reading::Disallowed(_)), "{read:?}");
        }
        assert!(book.open.len() < 60);
        let sum: usize = book.open.values().map(|page| page.bytes).sum();
        assert_eq!(book.bytes, sum);
        assert!(
            sum > 1 << 20,
            "{sum}: the rules are counted, not only the text"
        );
    }
}
