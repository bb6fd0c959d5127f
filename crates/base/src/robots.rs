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
    /// Characters of it that a result may show; 0 is `nosnippet`.
    pub max_snippet: Option<u32>,
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
        for part in parts(value) {
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
                self.add_part(words);
            }
        }
    }

    fn add_words(&mut self, content: &str) {
        parts(content).for_each(|part| self.add_part(part));
    }

    /// Adds what stands between two commas.
    fn add_part(&mut self, part: &str) {
        let lower = part.to_ascii_lowercase();
        if let Some(at) = lower.find("unavailable_after") {
            let rest = part[at + "unavailable_after".len()..].trim_start_matches([':', ' ']);
            self.unavailable_after = least(self.unavailable_after, moment(rest));
        }
        if let Some(at) = lower.find("max-snippet") {
            let rest = lower[at + "max-snippet".len()..].trim_start_matches([':', ' ']);
            // `-1` is no limit; what is no number says nothing.
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let most = (digits > 0).then(|| rest[..digits].parse().unwrap_or(u32::MAX));
            self.max_snippet = least(self.max_snippet, most);
        }
        for word in lower.split(|c: char| c == ';' || c.is_whitespace()) {
            match word {
                "noindex" => self.noindex = true,
                "nofollow" => self.nofollow = true,
                "noarchive" | "nocache" => self.noarchive = true,
                "nosnippet" => self.max_snippet = Some(0),
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
            unavailable_after: least(self.unavailable_after, other.unavailable_after),
            max_snippet: least(self.max_snippet, other.max_snippet),
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

/// What stands between commas; a comma after the name of a day belongs to a date.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let all = rest?;
        let mut commas = all.match_indices(',').map(|(at, _)| at);
        let end = commas.find(|&at| !ends_with_day(&all[..at]));
        rest = end.map(|at| &all[at + 1..]);
        Some(all[..end.unwrap_or(all.len())].trim())
    })
}

fn ends_with_day(text: &str) -> bool {
    let other = text.char_indices().rfind(|(_, c)| !c.is_ascii_alphabetic());
    let start = other.map_or(0, |(at, c)| at + c.len_utf8());
    let word = text[start..].to_ascii_lowercase();
    const DAYS: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    word.len() >= 3 && DAYS.iter().any(|day| *day == word || day[..3] == word)
}

/// A date as authors write it here: ISO, or one of HTTP's three forms; a zone by name counts as GMT where it is
/// not known.
fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    // `Wednesday, 25-Jun-25 15:00:00 PST` is `25 Jun 25 15:00:00 PST`.
    let bare = match text.split_once(',') {
        Some((day, rest)) if ends_with_day(day) => rest.trim(),
        _ => text,
    };
    Timestamp::parse(bare)
        .or_else(|| Timestamp::parse_http_date(bare))
        .or_else(|| {
            let mut words: Vec<String> = bare.split([' ', '-']).map(str::to_owned).collect();
            if words.len() == 3 {
                words.push("00:00:00".to_owned());
            }
            let year = words.get_mut(2)?;
            if year.len() == 2 {
                year.insert_str(0, "20");
            }
            words.truncate(4);
            Timestamp::parse_http_date(&format!("{} GMT", words.join(" ")))
        })
}

/// The lesser of two bounds, of which either may be missing.
fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
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

    #[test]
    fn dates_are_read_as_authors_write_them() {
        let expected = Timestamp::parse("2025-06-25T15:00:00Z");
        for date in [
            "2025-06-25T15:00:00Z",
            "Wed, 25 Jun 2025 15:00:00 GMT",
            "25 Jun 2025 15:00:00 GMT",
            "Wednesday, 25-Jun-25 15:00:00 GMT",
            "25-Jun-2025 15:00:00 XYZ",
        ] {
            let directives = header(&format!("unavailable_after: {date}, noarchive"));
            assert_eq!(directives.unavailable_after, expected, "{date}");
            assert!(directives.noarchive, "{date}");
            let mut meta = Directives::default();
            meta.add_meta(
                "robots",
                &format!("nofollow,unavailable_after: {date}"),
                "Teia",
            );
            assert_eq!(meta.unavailable_after, expected, "{date}");
        }
        assert_eq!(
            header("unavailable_after: 25 Jun 2025").unavailable_after,
            Timestamp::parse("2025-06-25")
        );
        assert_eq!(header("unavailable_after: soon").unavailable_after, None);
    }

    #[test]
    fn the_strictest_bound_of_a_snippet_wins() {
        assert_eq!(
            header("max-snippet: 20, max-snippet:50").max_snippet,
            Some(20)
        );
        assert_eq!(header("max-snippet:-1").max_snippet, None);
        assert_eq!(header("max-snippet:50, NOSNIPPET").max_snippet, Some(0));
        assert_eq!(header("nosnippet, max-snippet:50").max_snippet, Some(0));
        assert_eq!(header("otherbot: nosnippet").max_snippet, None);
        let mut meta = Directives::default();
        meta.add_meta("robots", "max-image-preview:large, max-snippet:160", "Teia");
        assert_eq!(meta.and(header("max-snippet:90")).max_snippet, Some(90));
    }
}
