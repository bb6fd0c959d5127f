//! What a page asks of robots: `<meta name=robots>` and `X-Robots-Tag`.

use serde::{Deserialize, Serialize};

use crate::{Flags, Timestamp};

/// Wishes of a page about its own copy. Several sources add up: the strictest wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directives {
    /// Keep it out of the index.
    pub noindex: bool,
    /// Keep its links out of the frontier.
    pub nofollow: bool,
    /// Keep it out of replay.
    pub noarchive: bool,
    /// Keep it out of the index from then on.
    pub unavailable_after: Option<Timestamp>,
}

impl Directives {
    /// Adds the `content` of a `<meta>` whose `name` is `robots` or our own token, in any case;
    /// metas for other robots say nothing to us.
    pub fn add_meta(&mut self, name: &str, content: &str, token: &str) {
        let name = name.trim();
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(token) {
            self.add_words(content);
        }
    }

    /// Adds one value of an `X-Robots-Tag` header: `noindex, nofollow`, or with the name of a
    /// robot before it, `otherbot: noindex`, which then holds for that robot up to the next name.
    pub fn add_header(&mut self, value: &str, token: &str) {
        let mut ours = true;
        for part in value.split(',') {
            let part = part.trim();
            let mut words = part;
            if let Some((name, rest)) = part.split_once(':') {
                let name = name.trim();
                // `unavailable_after: date` and `max-snippet: 20` have a colon too.
                let is_directive = name.eq_ignore_ascii_case("unavailable_after")
                    || name.to_ascii_lowercase().starts_with("max-");
                if !is_directive && !name.contains(char::is_whitespace) {
                    ours = name.eq_ignore_ascii_case(token) || name.eq_ignore_ascii_case("robots");
                    words = rest;
                }
            }
            if ours {
                self.add_words(words);
            }
        }
    }

    fn add_words(&mut self, content: &str) {
        let lower = content.to_ascii_lowercase();
        if let Some(at) = lower.find("unavailable_after") {
            let rest = content[at + "unavailable_after".len()..].trim_start_matches([':', ' ']);
            let moment = Timestamp::parse(rest).or_else(|| Timestamp::parse_http_date(rest));
            self.unavailable_after = match (self.unavailable_after, moment) {
                (Some(old), Some(new)) => Some(old.min(new)),
                (old, new) => old.or(new),
            };
        }
        for word in lower.split(|c: char| c == ',' || c == ';' || c.is_whitespace()) {
            match word {
                "noindex" => self.noindex = true,
                "nofollow" => self.nofollow = true,
                "noarchive" | "nocache" => self.noarchive = true,
                "none" => {
                    self.noindex = true;
                    self.nofollow = true;
                }
                _ => {}
            }
        }
    }

    /// The strictest of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            noindex: self.noindex || other.noindex,
            nofollow: self.nofollow || other.nofollow,
            noarchive: self.noarchive || other.noarchive,
            unavailable_after: match (self.unavailable_after, other.unavailable_after) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }

    /// As flags of an attempt at this moment.
    pub fn flags(&self, now: Timestamp) -> Flags {
        let mut flags = Flags::default();
        if self.noindex || self.unavailable_after.is_some_and(|moment| moment <= now) {
            flags.add(Flags::NOINDEX);
        }
        if self.nofollow {
            flags.add(Flags::NOFOLLOW);
        }
        if self.noarchive {
            flags.add(Flags::NOARCHIVE);
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn header(value: &str) -> Directives {
        let mut directives = Directives::default();
        directives.add_header(value, "Teia");
        directives
    }

    #[test]
    fn any_case_commas_or_spaces() {
        let mut directives = Directives::default();
        directives.add_meta("ROBOTS", "NoIndex NOFOLLOW,noarchive", "Teia");
        assert!(directives.noindex && directives.nofollow && directives.noarchive);
        let mut none = Directives::default();
        none.add_meta("teia", "none", "Teia");
        assert!(none.noindex && none.nofollow && !none.noarchive);
    }

    #[test]
    fn metas_and_headers_for_other_robots_say_nothing() {
        let mut directives = Directives::default();
        directives.add_meta("googlebot", "noindex", "Teia");
        assert_eq!(directives, Directives::default());
        assert_eq!(
            header("googlebot: noindex, nofollow"),
            Directives::default()
        );
        assert!(header("googlebot: noindex, teia: nofollow").nofollow);
        assert!(!header("googlebot: noindex, teia: nofollow").noindex);
    }

    #[test]
    fn unavailable_after_is_a_date() {
        let directives = header("unavailable_after: 2020-01-01");
        assert_eq!(directives.unavailable_after, Timestamp::parse("2020-01-01"));
        assert!(
            directives
                .flags(Timestamp::parse("2026").unwrap())
                .has(Flags::NOINDEX)
        );
        assert!(
            !directives
                .flags(Timestamp::parse("2019").unwrap())
                .has(Flags::NOINDEX)
        );
    }
}
