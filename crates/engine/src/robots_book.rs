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
    pending: HashSet<String>,
}

#[derive(Debug)]
struct Page {
    standing: Standing,
    access: Access,
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

    pub(crate) fn new(token: &str, since: Timestamp) -> Self {
        Self {
            token: token.to_owned(),
            since,
            open: HashMap::new(),
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
                    format!("robots.txt line {}: {}", rule.number, rule.text)
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
            .open
            .remove(origin)
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
        if self.open.len() >= Self::OPEN_PAGES {
            // Any page will do: the durable copy is a look-up away.
            let some: Vec<String> = self
                .open
                .keys()
                .take(Self::OPEN_PAGES / 4)
                .cloned()
                .collect();
            for origin in some {
                self.open.remove(&origin);
            }
        }
        let access = standing.access(token.unwrap_or(&self.token));
        self.open
            .insert(origin.to_owned(), Page { standing, access });
    }
}
