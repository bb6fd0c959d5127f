//! What every origin's robots.txt says: parsed copies of the recent ones, stored ones of the rest.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use teia_base::Timestamp;
use teia_fetch::robots::{Access, Config, Rules, Spelling, Standing};

/// The copies at hand. Parsed rules are kept for a bounded number of origins; the durable copy lies
/// in the host's record.
#[derive(Debug)]
pub(crate) struct RobotsBook {
    token: String,
    /// Copies of before are fetched anew.
    since: Timestamp,
    /// A run that begins then has not yet tried to reach those that earlier ones could not reach.
    run_began: Timestamp,
    open: HashMap<String, Page>,
    /// Bytes that the open ones take.
    bytes: usize,
    pending: HashSet<String>,
    /// What it did since it was last asked for that, in bytes of paths compared.
    work: usize,
    again: Allowance,
}

/// How much may be read again now. Rules are read where everything is decided: whoever has many of them waits, and
/// nobody waits for those who have many.
#[derive(Debug)]
struct Allowance {
    /// Below zero for what was read in advance, so that long copies get their turn as well as short ones.
    bytes: i64,
    at: Timestamp,
}

impl Allowance {
    /// Some hundredths of a processor.
    const PER_SECOND: i64 = 4 << 20;

    fn take(&mut self, bytes: usize, now: Timestamp) -> bool {
        let passed = now.since(self.at).min(Duration::from_mins(1)).as_micros();
        let gained = i64::try_from(passed).unwrap_or(0) * Self::PER_SECOND / 1_000_000;
        self.at = now;
        self.bytes = (self.bytes + gained).min(Self::PER_SECOND);
        if self.bytes <= 0 {
            return false;
        }
        self.bytes -= i64::try_from(bytes).unwrap_or(i64::MAX / 2);
        true
    }
}

#[derive(Debug)]
struct Page {
    standing: Standing,
    access: Access,
    bytes: usize,
}

/// How a host's robots.txt is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner<'a> {
    /// The word by which it knows us, where we give the host another name.
    pub(crate) token: Option<&'a str>,
    pub(crate) spelling: Spelling,
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
    /// Nobody knows since then, and nobody waits for it any more.
    GivenUp(Timestamp),
    /// The copy is missing or too old: fetch it first.
    Unknown,
    /// It is being fetched.
    Pending,
    /// The copy is long, and so much was read again lately that it waits: ask again a little later.
    Later,
}

impl RobotsBook {
    const OPEN_PAGES: usize = 8192;
    /// Bytes of open pages. A host may write half a MiB of rules, which take six times as much when parsed.
    const OPEN_BYTES: usize = 64 << 20;
    /// Reading a byte of rules takes as long as comparing so many.
    const READ_WORK: usize = 8;
    /// Copies up to this length are read again whenever they are needed: that takes no longer than a page does.
    const SHORT: usize = 16 << 10;
    /// The rest of a host whose robots.txt was asked for as often as a run may: longer than a run waits for anyone, so
    /// that it ends, and its URLs wait for the next one.
    const LEFT_ALONE: Duration = Duration::from_secs(600);

    pub(crate) fn new(token: &str, since: Timestamp, run_began: Timestamp) -> Self {
        Self {
            token: token.to_owned(),
            since,
            run_began,
            open: HashMap::new(),
            bytes: 0,
            pending: HashSet::new(),
            work: 0,
            again: Allowance {
                bytes: Allowance::PER_SECOND,
                at: Timestamp::default(),
            },
        }
    }

    /// What verdicts took since the last call, and reading rules: about one for each byte of a path that was compared.
    pub(crate) fn take_work(&mut self) -> usize {
        std::mem::take(&mut self.work)
    }

    /// What may be done with a path of an origin; `stored` is the durable copy, if there is one.
    pub(crate) fn read(
        &mut self,
        origin: &str,
        path: &str,
        stored: Option<&[u8]>,
        now: Timestamp,
        manner: Manner<'_>,
    ) -> Reading {
        if self.pending.contains(origin) {
            return Reading::Pending;
        }
        if !self.open.contains_key(origin)
            && let Some(stored) = stored
        {
            let is_long = stored.len() > Self::SHORT;
            if is_long && !self.again.take(stored.len(), now) {
                return Reading::Later;
            }
            match postcard::from_bytes::<Standing>(stored) {
                Ok(standing) if self.holds(&standing, now) => self.put(origin, standing, manner),
                _ => return Reading::Unknown,
            }
        }
        let Some(page) = self.open.get(origin) else {
            return Reading::Unknown;
        };
        if !self.holds(&page.standing, now) {
            return Reading::Unknown;
        }
        match &page.access {
            Access::Ruled(rules) => {
                let verdict = rules.verdict(path);
                self.work += verdict.work;
                if verdict.allowed {
                    return Reading::Allowed;
                }
                let more = if verdict.is_coarse { MORE } else { "" };
                Reading::Disallowed(verdict.rule.map_or_else(String::new, |rule| {
                    format!(
                        "robots.txt line {}: {}{more}",
                        rule.number,
                        shown(&rule.text)
                    )
                }))
            }
            Access::Refused => Reading::Disallowed("robots.txt itself is refused".to_owned()),
            Access::Unreachable { until } => Reading::Unreachable(*until),
            Access::GivenUp { since } => Reading::GivenUp(*since),
        }
    }

    /// Whether a copy need not be fetched anew. A wait that was a guess of ours ends with the run; one that the host asked
    /// for does not.
    fn holds(&self, standing: &Standing, now: Timestamp) -> bool {
        let is_guess = standing.unreachable_since().is_some() && !standing.is_asked_for();
        let asked_at = standing.asked_at();
        standing.is_fresh(now) && asked_at >= self.since && !(is_guess && asked_at < self.run_began)
    }

    /// Marks a copy as being fetched.
    pub(crate) fn begin(&mut self, origin: &str) {
        self.pending.insert(origin.to_owned());
    }

    /// It could not be asked for after all; what was known stays.
    pub(crate) fn give_up(&mut self, origin: &str) {
        self.pending.remove(origin);
    }

    /// Takes the answer; returns the durable copy. After more than so many failures in a row (`retries`) the host is left
    /// alone for a while.
    pub(crate) fn finish(
        &mut self,
        origin: &str,
        stored: Option<&[u8]>,
        answer: teia_fetch::robots::Answer<'_>,
        now: Timestamp,
        (config, retries, token): (&Config, u8, Option<&str>),
    ) -> Vec<u8> {
        self.pending.remove(origin);
        let previous = self
            .close(origin)
            .map(|page| page.standing)
            .or_else(|| stored.and_then(|bytes| postcard::from_bytes(bytes).ok()));
        let mut standing = Standing::from_answer(previous.as_ref(), answer, now, config);
        if standing.failures() > u32::from(retries) {
            standing.rest(Self::LEFT_ALONE);
        }
        let bytes = postcard::to_stdvec(&standing).expect("a standing is plain data");
        let spelling = config.spelling;
        self.put(origin, standing, Manner { token, spelling });
        bytes
    }

    /// Takes back that it could not be reached since then: it was our own fault. The durable copy, if anything changed.
    pub(crate) fn forgive(
        &mut self,
        origin: &str,
        stored: Option<&[u8]>,
        since: Timestamp,
        manner: Manner<'_>,
    ) -> Option<Vec<u8>> {
        let known = self.close(origin).map(|page| page.standing);
        let before: Standing =
            known.or_else(|| stored.and_then(|bytes| postcard::from_bytes(bytes).ok()))?;
        let mut standing = before.clone();
        standing.forgive(since);
        let is_changed = standing != before;
        let bytes = postcard::to_stdvec(&standing).expect("a standing is plain data");
        self.put(origin, standing, manner);
        is_changed.then_some(bytes)
    }

    /// Takes a copy that another run has, if it holds still; says whether. With `all`, only one that
    /// names no sitemaps.
    pub(crate) fn adopt(
        &mut self,
        origin: &str,
        stored: &[u8],
        now: Timestamp,
        all: bool,
        manner: Manner<'_>,
    ) -> bool {
        let Ok(standing) = postcard::from_bytes::<Standing>(stored) else {
            return false;
        };
        let holds = self.holds(&standing, now);
        let token = manner.token.unwrap_or(&self.token);
        let names_sitemaps = match standing.access(token, manner.spelling) {
            Access::Ruled(rules) => !rules.sitemaps().is_empty(),
            // Whether it can be reached is for each to find out.
            Access::Refused | Access::Unreachable { .. } | Access::GivenUp { .. } => true,
        };
        if !holds || self.pending.contains(origin) || (all && names_sitemaps) {
            return false;
        }
        self.put(origin, standing, manner);
        true
    }

    /// Rules of an origin whose copy is open.
    pub(crate) fn rules(&self, origin: &str) -> Option<&Rules> {
        match &self.open.get(origin)?.access {
            Access::Ruled(rules) => Some(rules),
            _ => None,
        }
    }

    /// The rest that a stored copy asks for, if it holds still. The copy is not opened, and waits for no turn: at a start each is
    /// looked at once.
    pub(crate) fn crawl_delay(
        &self,
        stored: &[u8],
        now: Timestamp,
        manner: Manner<'_>,
    ) -> Option<Duration> {
        let standing: Standing = postcard::from_bytes(stored).ok()?;
        if !self.holds(&standing, now) {
            return None;
        }
        let token = manner.token.unwrap_or(&self.token);
        match standing.access(token, manner.spelling) {
            Access::Ruled(rules) => rules.crawl_delay(),
            _ => None,
        }
    }

    fn put(&mut self, origin: &str, standing: Standing, manner: Manner<'_>) {
        let token = manner.token.unwrap_or(&self.token);
        let access = standing.access(token, manner.spelling);
        self.work += Self::READ_WORK * standing.copy().map_or(0, <[u8]>::len);
        let parsed = match &access {
            Access::Ruled(rules) => rules.bytes(),
            Access::Refused | Access::Unreachable { .. } | Access::GivenUp { .. } => 0,
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

/// Characters of a rule that people are shown. It is kept with every URL that it forbids.
const SHOWN: usize = 200;
/// What is told beside the rule where its file has more wildcards than are tried for one path.
const MORE: &str = " (more wildcards than are tried)";

/// The text of a rule as people are shown it: its beginning, in which nothing steers a terminal or turns the line around.
fn shown(rule: &str) -> String {
    let is_harmless = |c: char| !c.is_control() && !is_direction(c);
    let end = rule.char_indices().nth(SHOWN).map(|(at, _)| at);
    let (beginning, rest) = end.map_or((rule, ""), |end| (&rule[..end], "…"));
    beginning
        .chars()
        .map(|c| if is_harmless(c) { c } else { '\u{fffd}' })
        .chain(rest.chars())
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
        let mut book = RobotsBook::new("teia", Timestamp::default(), Timestamp::default());
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
            (&Config::default(), 4, None),
        );
        for path in ["/a", "/a%1B[2J", "/a%1B]0;x%07%C2%9B2J%E2%80%AE"] {
            let Reading::Disallowed(told) =
                book.read("http://a.test", path, None, now, Manner::default())
            else {
                panic!("{path} is allowed");
            };
            let is_clean = !told.chars().any(|c| c.is_control() || is_direction(c));
            assert!(is_clean && told.starts_with("robots.txt line "), "{told:?}");
        }
    }

    /// A line may have 16 KiB, and a page thousands of links that it forbids.
    #[test]
    fn a_long_rule_is_told_by_its_beginning() {
        let text = format!("User-agent: *\nDisallow: /é{}", "*".repeat(16_000));
        let mut book = RobotsBook::new("teia", Timestamp::default(), Timestamp::default());
        let answer = teia_fetch::robots::Answer::Answered {
            status: 200,
            body: text.as_bytes(),
            retry_after: None,
        };
        let (origin, now) = ("http://a.test", Timestamp::default());
        book.finish(origin, None, answer, now, (&Config::default(), 4, None));
        let read = book.read(origin, "/%C3%A9", None, now, Manner::default());
        let Reading::Disallowed(told) = read else {
            panic!("{read:?}");
        };
        assert!(told.starts_with("robots.txt line 2: Disallow: /é***"));
        assert!(told.ends_with("*…") && told.len() < 300, "{told}");
        assert_eq!(shown("Disallow: /a"), "Disallow: /a");
    }

    /// Whoever asks for a rest gets it, however many runs begin meanwhile; what we guess is tried anew by each.
    #[test]
    fn a_run_tries_again_what_an_earlier_one_could_not_reach() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
        for (status, expected) in [
            (500, Reading::Unknown),
            (503, Reading::Unreachable(at(1600))),
        ] {
            let mut first = RobotsBook::new("teia", Timestamp::default(), at(900));
            let answer = teia_fetch::robots::Answer::Answered {
                status,
                body: b"",
                retry_after: None,
            };
            let manner = (&Config::default(), 0, None);
            let stored = first.finish("http://a.test", None, answer, at(1000), manner);
            let read = |book: &mut RobotsBook| {
                let manner = Manner::default();
                book.read("http://a.test", "/", Some(&stored), at(1100), manner)
            };
            assert_eq!(read(&mut first), Reading::Unreachable(at(1600)));
            let mut second = RobotsBook::new("teia", Timestamp::default(), at(1050));
            assert_eq!(read(&mut second), expected, "{status}");
        }
    }

    /// At a start every host's copy is looked at once, and none waits for its turn.
    #[test]
    fn what_long_copies_ask_for_is_known_at_a_start_however_many_there_are() {
        let rules: String = (0..20_000).map(|n| format!("Disallow:/{n}a\n")).collect();
        let text = format!("User-agent: *\n{rules}Crawl-delay: 7\n");
        let epoch = Timestamp::default();
        let mut book = RobotsBook::new("teia", epoch, epoch);
        let answer = teia_fetch::robots::Answer::Answered {
            status: 200,
            body: text.as_bytes(),
            retry_after: None,
        };
        let (origin, manner) = ("http://a.test", Manner::default());
        let stored = book.finish(origin, None, answer, epoch, (&Config::default(), 4, None));
        let mut next = RobotsBook::new("teia", epoch, epoch);
        for _ in 0..40 {
            let asked = next.crawl_delay(&stored, epoch, manner);
            assert_eq!(asked, Some(Duration::from_secs(7)));
        }
        let read = next.read(origin, "/1a", Some(&stored), epoch, manner);
        assert!(matches!(read, Reading::Disallowed(_)), "{read:?}");
        let old = epoch.plus(Duration::from_hours(48));
        assert_eq!(next.crawl_delay(&stored, old, manner), None);
    }

    /// More than can be kept, each as long as it may be: a long queue of them is read in a while, and not for each URL.
    #[test]
    fn a_farm_of_long_files_is_read_again_no_more_than_is_allowed() {
        const HOSTS: usize = 200;
        const SECONDS: usize = 40;
        let text: String = (0..31_000).map(|n| format!("Disallow:/{n}a\n")).collect();
        let text = format!("User-agent: *\n{text}");
        let mut book = RobotsBook::new("teia", Timestamp::default(), Timestamp::default());
        let mut finish = |origin: &str, body: &str| {
            let answer = teia_fetch::robots::Answer::Answered {
                status: 200,
                body: body.as_bytes(),
                retry_after: None,
            };
            let manner = (&Config::default(), 4, None);
            book.finish(origin, None, answer, Timestamp::default(), manner)
        };
        let hosts: Vec<(String, Vec<u8>)> = (0..HOSTS)
            .map(|host| format!("http://h{host}.test"))
            .map(|origin| (origin.clone(), finish(&origin, &text)))
            .collect();
        let honest = finish("http://honest.test", "User-agent: *\nDisallow: /no\n");
        book.take_work();
        let mut answered = HashSet::new();
        for second in 0..SECONDS {
            let now = Timestamp::default().plus(Duration::from_secs(second as u64));
            for turn in 0..HOSTS {
                let (origin, stored) = &hosts[(turn + second * 8) % HOSTS];
                match book.read(origin, "/29999a", Some(stored), now, Manner::default()) {
                    Reading::Disallowed(_) => drop(answered.insert(origin)),
                    read => assert_eq!(read, Reading::Later),
                }
            }
            let (origin, stored) = ("http://honest.test", Some(&*honest));
            let read = book.read(origin, "/yes", stored, now, Manner::default());
            assert_eq!(read, Reading::Allowed);
        }
        let read = book.take_work() / RobotsBook::READ_WORK / text.len();
        // Eight or nine in a second, and some more at first: for 8,000 URLs that were asked about.
        assert!(
            (SECONDS..SECONDS * 10 + 20).contains(&read),
            "{read} files were read"
        );
        assert!(answered.len() > HOSTS * 9 / 10, "{} hosts", answered.len());
    }

    /// Every host of a farm has as many rules as a host may have; every one is read, few are kept.
    #[test]
    fn a_farm_of_long_files_is_bounded_in_bytes() {
        let text: String = (0..30_000).map(|n| format!("Disallow:/{n}a\n")).collect();
        let text = format!("User-agent: *\n{text}");
        let mut book = RobotsBook::new("teia", Timestamp::default(), Timestamp::default());
        let now = Timestamp::default();
        for host in 0..60 {
            let now = now.plus(Duration::from_secs(host));
            let origin = format!("http://h{host}.test");
            let answer = teia_fetch::robots::Answer::Answered {
                status: 200,
                body: text.as_bytes(),
                retry_after: None,
            };
            let stored = book.finish(&origin, None, answer, now, (&Config::default(), 4, None));
            let read = book.read(&origin, "/29999a", Some(&stored), now, Manner::default());
            assert!(matches!(read, Reading::Disallowed(_)), "{read:?}");
            assert!(book.bytes <= RobotsBook::OPEN_BYTES, "{}", book.bytes);
            // A copy that was put aside is read from the record when it is asked for.
            let read = book.read(
                "http://h0.test",
                "/29999a",
                Some(&stored),
                now,
                Manner::default(),
            );
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
