//! What one robots.txt says to one agent, and the verdict on a path.

use std::cmp::Reverse;
use std::time::Duration;

use super::line::{Directive, MAX_BYTES, Spelling, lines, readable};
use super::pattern::{
    Fuel, append_literal, append_pattern, literal_len, path_and_query, special_matches,
    without_fragment,
};

/// Sitemap lines kept of one file; further ones are dropped.
const MAX_SITEMAPS: usize = 1_000;

/// The rules of one robots.txt that concern one agent. The default has none and allows everything.
///
/// Memory stays within a small multiple of the bytes read: under 8 MiB for the most hostile 512 KiB.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Sorted by literal beginning, then by rank, the highest first; so the rules whose literal beginning is a
    /// given text stand together, and after them those whose beginning goes on from there.
    rules: Vec<Rule>,
    /// The canonical patterns, one after the other.
    patterns: Vec<u8>,
    /// The lines as written, one after the other.
    lines: String,
    crawl_delay: Option<Duration>,
    sitemaps: Vec<String>,
    pub(super) is_cut: bool,
    looks_like_html: bool,
}

/// Whether a path may be fetched, and by which rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether fetching is allowed.
    pub allowed: bool,
    /// The most specific rule that matches; none where no rule does, which allows.
    pub rule: Option<RuleLine>,
    /// Whether the wildcards were more than are tried for one path. Of the rules left over, those that disallow count by
    /// what comes before their first star, and those that allow do not count.
    pub is_coarse: bool,
    /// What it took, about one for each byte that was compared. Bounded, whatever the rules and the path.
    pub work: usize,
}

/// A line of a robots.txt as its author wrote it, without comment and outer blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLine {
    /// The line's number, from 1.
    pub number: u32,
    /// Such as `Disallow: /private/`.
    pub text: String,
}

impl Rules {
    /// Reads the first [`MAX_BYTES`] for an agent, named by its product token (`Teia`; in `Teia/1.0` the version is ignored).
    ///
    /// Every input is a robots.txt; one that makes no sense has no rules.
    pub fn parse(bytes: &[u8], agent_token: &str) -> Self {
        Self::parse_within(bytes, agent_token, MAX_BYTES)
    }

    /// As [`Rules::parse`], reading the whole lines within `max_bytes`.
    pub fn parse_within(bytes: &[u8], agent_token: &str, max_bytes: usize) -> Self {
        Self::parse_spelt(bytes, agent_token, max_bytes, Spelling::default())
    }

    /// As [`Rules::parse_within`], taking these spellings.
    pub fn parse_spelt(
        bytes: &[u8],
        agent_token: &str,
        max_bytes: usize,
        spelling: Spelling,
    ) -> Self {
        let readable = readable(bytes, max_bytes);
        let mut rules = Self {
            is_cut: readable.cut,
            looks_like_html: looks_like_html(&readable.text),
            ..Self::default()
        };
        let group = rules.read(&readable.text, agent_token, spelling);
        rules.crawl_delay = group.crawl_delay;
        for written in group.rules {
            rules.add(&written);
        }
        rules.sort();
        rules
    }

    /// The verdict on a path with its query, as in `/search?q=x`; a fragment is ignored.
    ///
    /// The rule with the longest matching pattern decides; between equally long ones `Allow` does.
    pub fn verdict(&self, path_and_query: &str) -> Verdict {
        let path = without_fragment(path_and_query);
        let mut canonical = Vec::with_capacity(path.len() + 16);
        if !path.starts_with('/') {
            canonical.push(b'/');
        }
        append_literal(&mut canonical, path.as_bytes());
        let mut fuel = Fuel::full();
        // RFC 9309 §2.2.2: the file itself is always allowed.
        let rule = match canonical.as_slice() {
            b"/robots.txt" => None,
            path => self.deciding(path, &mut fuel),
        };
        Verdict {
            allowed: rule.is_none_or(|rule| rule.allows),
            rule: rule.map(|rule| self.line(rule)),
            is_coarse: fuel.is_empty(),
            work: canonical.len() + fuel.spent(),
        }
    }

    /// The verdict on a whole URL. Whether the rules are those of the URL's host is for the caller to know.
    pub fn verdict_for_url(&self, url: &str) -> Verdict {
        self.verdict(path_and_query(url))
    }

    /// How long the site asks us to wait between two requests: the longest of the delays it names for us, unclamped.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The first thousand sitemaps the file names, for whomever; as written, so perhaps relative.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// About how many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        let sitemap = |url: &String| url.capacity() + size_of::<String>();
        self.rules.capacity() * size_of::<Rule>()
            + self.patterns.capacity()
            + self.lines.capacity()
            + self.sitemaps.iter().map(sitemap).sum::<usize>()
    }

    /// How many patterns concern us.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are no rules, so that everything is allowed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether the file was longer than what was read of it.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether the file starts with a tag: a page served in the place of a robots.txt. Lines in it that are rules count.
    pub fn looks_like_html(&self) -> bool {
        self.looks_like_html
    }

    /// Reads all lines, keeping what concerns the agent; the sitemaps concern everyone.
    fn read<'a>(&mut self, text: &'a [u8], agent_token: &str, spelling: Spelling) -> Group<'a> {
        let agent = agent_token.split('/').next().unwrap_or_default();
        let mut own = Group::default();
        let mut everyone = Group::default();
        let mut own_exists = false;
        // Whom a rule is for, and whom a delay is for. A delay names the agents right above it, and must not
        // end the row for the rules (RFC 9309 §2.2.4: other lines do not part a group).
        let mut ruled = Row::default();
        let mut delayed = Row::default();
        for (number, line) in lines(text) {
            let (allows, pattern) = match Directive::read(line, spelling) {
                Some(Directive::UserAgent(name)) => {
                    let is_own = names_agent(name, agent);
                    own_exists |= is_own;
                    ruled.name(is_own, names_everyone(name));
                    delayed.name(is_own, names_everyone(name));
                    continue;
                }
                Some(Directive::CrawlDelay(value)) => {
                    delayed.ended = true;
                    let delay = seconds(value);
                    if delayed.own {
                        own.crawl_delay = own.crawl_delay.max(delay);
                    }
                    if delayed.everyone {
                        everyone.crawl_delay = everyone.crawl_delay.max(delay);
                    }
                    continue;
                }
                Some(Directive::Sitemap(url)) => {
                    if !url.is_empty() && self.sitemaps.len() < MAX_SITEMAPS {
                        self.sitemaps
                            .push(String::from_utf8_lossy(url).into_owned());
                    }
                    continue;
                }
                Some(Directive::Allow(pattern)) => (true, pattern),
                Some(Directive::Disallow(pattern)) => (false, pattern),
                None => continue,
            };
            ruled.ended = true;
            delayed.ended = true;
            // An empty pattern matches nothing, and so allows by default.
            if pattern.is_empty() {
                continue;
            }
            let rule = Written {
                number,
                line,
                allows,
                pattern,
            };
            if ruled.own {
                own.rules.push(rule);
            }
            if ruled.everyone && !own_exists {
                everyone.rules.push(rule);
            }
        }
        if own_exists { own } else { everyone }
    }

    fn add(&mut self, written: &Written<'_>) {
        let line_start = position(self.lines.len());
        self.lines.push_str(&String::from_utf8_lossy(written.line));
        let line_end = position(self.lines.len());

        let start = self.patterns.len();
        append_pattern(&mut self.patterns, written.pattern);
        let end = self.patterns.len();
        let rule = |patterns: &[u8], start: usize| Rule {
            start: position(start),
            literal_len: position(literal_len(&patterns[start..])),
            end: position(patterns.len()),
            line_start,
            line_end,
            number: written.number,
            allows: written.allows,
        };
        self.rules.push(rule(&self.patterns, start));

        // As Google: allowing a directory's index page allows the directory.
        let slash = self.patterns[start..]
            .iter()
            .rposition(|byte| *byte == b'/');
        if written.allows
            && let Some(slash) = slash
            && self.patterns[start + slash..].starts_with(b"/index.htm")
        {
            self.patterns.extend_from_within(start..=start + slash);
            self.patterns.push(b'$');
            self.rules.push(rule(&self.patterns, end));
        }
    }

    fn sort(&mut self) {
        let patterns = &self.patterns;
        let key = |rule: &Rule| {
            let pattern = rule.pattern(patterns);
            let literal = &pattern[..rule.literal_len as usize];
            (literal, Reverse(rule.rank()), pattern, rule.number)
        };
        self.rules.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        self.rules.dedup_by(|later, first| {
            later.allows == first.allows && later.pattern(patterns) == first.pattern(patterns)
        });
        self.rules.shrink_to_fit();
        self.patterns.shrink_to_fit();
        self.lines.shrink_to_fit();
    }

    /// Walks down the path a byte at a time, with the slice of rules whose literal beginning agrees so far.
    fn deciding(&self, path: &[u8], fuel: &mut Fuel) -> Option<&Rule> {
        let mut deciding: Option<&Rule> = None;
        let mut rules = self.rules.as_slice();
        for depth in 0..=path.len() {
            let ends_here = |rule: &Rule| rule.literal_len as usize == depth;
            let ending = match rules.first() {
                Some(first) if ends_here(first) => rules.partition_point(ends_here),
                _ => 0,
            };
            let (here, deeper) = rules.split_at(ending);
            for rule in here {
                if deciding.is_some_and(|best| best.rank() >= rule.rank()) {
                    break;
                }
                let special = &rule.pattern(&self.patterns)[depth..];
                // Rather too polite than not polite enough.
                if special_matches(special, &path[depth..], fuel).unwrap_or(!rule.allows) {
                    deciding = Some(rule);
                    break;
                }
            }
            let (Some(byte), Some(first), Some(last)) =
                (path.get(depth), deeper.first(), deeper.last())
            else {
                break;
            };
            let at_depth = |rule: &Rule| self.patterns[rule.start as usize + depth];
            // Mostly all of them agree on the next byte.
            rules = if at_depth(first) == *byte && at_depth(last) == *byte {
                deeper
            } else {
                let from = deeper.partition_point(|rule| at_depth(rule) < *byte);
                let len = deeper[from..].partition_point(|rule| at_depth(rule) == *byte);
                &deeper[from..from + len]
            };
            if rules.is_empty() {
                break;
            }
        }
        deciding
    }

    fn line(&self, rule: &Rule) -> RuleLine {
        let text = &self.lines[rule.line_start as usize..rule.line_end as usize];
        RuleLine {
            number: rule.number,
            text: text.to_owned(),
        }
    }
}

/// Whether a text is a well-formed product token, `[A-Za-z_-]+`: no robots.txt can name an agent that has none.
pub fn is_agent_token(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(is_token_byte)
}

/// One rule: where its pattern and its line are kept.
#[derive(Clone, Debug)]
struct Rule {
    start: u32,
    end: u32,
    literal_len: u32,
    line_start: u32,
    line_end: u32,
    number: u32,
    allows: bool,
}

impl Rule {
    fn pattern<'a>(&self, patterns: &'a [u8]) -> &'a [u8] {
        &patterns[self.start as usize..self.end as usize]
    }

    /// Of the rules that match, the one of the highest rank decides.
    fn rank(&self) -> (u32, bool) {
        (self.end - self.start, self.allows)
    }
}

/// What a file says to one kind of agent, gathered from all over it.
#[derive(Default)]
struct Group<'a> {
    rules: Vec<Written<'a>>,
    crawl_delay: Option<Duration>,
}

/// The `User-agent` lines in a row, which together say whom the next lines are for.
#[derive(Default)]
struct Row {
    own: bool,
    everyone: bool,
    /// Whether other lines came since: the next `User-agent` line begins a new row.
    ended: bool,
}

impl Row {
    fn name(&mut self, own: bool, everyone: bool) {
        if self.ended {
            *self = Self::default();
        }
        self.own |= own;
        self.everyone |= everyone;
    }
}

/// A rule as it stands in the file.
#[derive(Clone, Copy)]
struct Written<'a> {
    number: u32,
    line: &'a [u8],
    allows: bool,
    pattern: &'a [u8],
}

/// As Google: a star may be followed by a remark.
fn names_everyone(name: &[u8]) -> bool {
    match name {
        [b'*'] => true,
        [b'*', next, ..] => next.is_ascii_whitespace(),
        _ => false,
    }
}

/// The whole token counts, not a part of it; what follows the token (a version, a comment) does not.
fn names_agent(name: &[u8], agent: &str) -> bool {
    let len = name.iter().take_while(|byte| is_token_byte(**byte)).count();
    len > 0 && name[..len].eq_ignore_ascii_case(agent.as_bytes())
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'-' || byte == b'_'
}

/// A number of seconds, whole or not, with perhaps a unit after it (`10`, `0.5`, `10s`); None for what is no delay.
fn seconds(value: &[u8]) -> Option<Duration> {
    let text = str::from_utf8(value).ok()?;
    let digits = text
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
        .count();
    let seconds = text
        .parse::<f64>()
        .or_else(|_| text[..digits].parse())
        .ok()?;
    if seconds.is_finite() && seconds >= 0.0 {
        Some(Duration::from_secs_f64(seconds.min(f64::from(u32::MAX))))
    } else {
        None
    }
}

fn looks_like_html(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.trim_ascii_start().starts_with(b"<")
}

fn position(at: usize) -> u32 {
    u32::try_from(at).expect("at most 64 MiB are read, and spelling them out at most triples them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(robots: &str, path: &str, rule: &str) {
        let verdict = Rules::parse(robots.as_bytes(), "Teia").verdict(path);
        let found = match &verdict.rule {
            Some(line) => format!("{} {}", line.number, line.text),
            None => String::new(),
        };
        assert_eq!(found, rule);
        assert_eq!(verdict.allowed, !rule.contains("Disallow"));
    }

    #[test]
    fn the_longest_match_decides_and_allow_wins_ties() {
        let robots =
            "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*/b\nDisallow: /a/b/c # so\n";
        check(robots, "/a/x", "2 Disallow: /a");
        check(robots, "/a/b", "3 Allow: /a/b");
        check(robots, "/x/b", "4 Disallow: /*/b");
        check(robots, "/a/b/c?d", "5 Disallow: /a/b/c");
        check(robots, "/", "");
    }

    #[test]
    fn groups_of_one_agent_are_joined_and_the_star_is_for_strangers() {
        let robots = "User-agent: other\nUser-agent: TEIA/2.0 (old)\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n\
                      User-agent: teia\nDisallow: /c\nUser-agent: NotTeia\nDisallow: /d\n";
        check(robots, "/a", "3 Disallow: /a");
        check(robots, "/b", "");
        check(robots, "/c", "8 Disallow: /c");
        check(robots, "/d", "");
    }

    #[test]
    fn other_lines_do_not_part_a_group() {
        let robots = "User-agent: teia\nCrawl-delay: 5\n\nSitemap: /map.xml\nUser-agent: other\nDisallow: /a\n";
        check(robots, "/a", "6 Disallow: /a");
    }

    #[test]
    fn rules_before_any_agent_and_empty_rules_say_nothing() {
        check("Disallow: /a\nUser-agent: *\nDisallow:\nAllow:\n", "/a", "");
    }

    #[test]
    fn robots_txt_itself_is_always_allowed() {
        check("User-agent: *\nDisallow: /\n", "/robots.txt", "");
        check(
            "User-agent: *\nDisallow: /\n",
            "/robots.txt.bak",
            "2 Disallow: /",
        );
    }

    #[test]
    fn a_page_in_its_place_has_no_rules() {
        let page = b"\n<!DOCTYPE html>\n<html><body>\nUser-agent: * <p>Disallow: /\n</body></html>";
        let rules = Rules::parse(page, "Teia");
        assert!(rules.looks_like_html());
        assert!(rules.is_empty());
    }

    #[track_caller]
    fn check_delay(robots: &str, seconds: Option<f64>) {
        let rules = Rules::parse(robots.as_bytes(), "Teia");
        assert_eq!(
            rules.crawl_delay().map(|delay| delay.as_secs_f64()),
            seconds
        );
    }

    #[test]
    fn the_longest_delay_named_for_us_counts() {
        check_delay("User-agent: *\nCrawl-delay: 0.5\n", Some(0.5));
        check_delay(
            "User-agent: *\ncrawl-DELAY: 10s\nCrawl-delay: 3",
            Some(10.0),
        );
        check_delay(
            "User-agent: *\nCrawl-delay: 5\nUser-agent: teia\nDisallow: /\n",
            None,
        );
        check_delay(
            "User-agent: teia\nCrawl-delay: 5\nUser-agent: a\nCrawl-delay: 9\n",
            Some(5.0),
        );
        check_delay(
            "User-agent: teia\nUser-agent: a\nCrawl-delay: 5\n",
            Some(5.0),
        );
        check_delay("Crawl-delay: 5\n", None);
    }

    #[test]
    fn a_delay_that_is_none_is_ignored() {
        for value in ["-1", "abc", "", "nan", "inf", ".", "1.2.3"] {
            check_delay(&format!("User-agent: *\nCrawl-delay: {value}\n"), None);
        }
        check_delay("User-agent: *\nCrawl-delay: 0\n", Some(0.0));
        check_delay("User-agent: *\nCrawl-delay: 1e9\n", Some(1e9));
        check_delay(
            "User-agent: *\nCrawl-delay: 1e99\n",
            Some(f64::from(u32::MAX)),
        );
    }

    #[test]
    fn sitemaps_are_kept_raw_and_counted() {
        let text = b"Sitemap: /map.xml\nsite-map:http://a/b.gz#x\nSitemap:\n";
        let strict = Rules::parse(text, "Teia");
        assert_eq!(strict.sitemaps(), ["/map.xml"]);
        let tolerant = Rules::parse_spelt(text, "Teia", MAX_BYTES, Spelling::Tolerant);
        assert_eq!(tolerant.sitemaps(), ["/map.xml", "http://a/b.gz"]);
        let many = "Sitemap: /a\n".repeat(MAX_SITEMAPS + 1);
        assert_eq!(
            Rules::parse(many.as_bytes(), "Teia").sitemaps().len(),
            MAX_SITEMAPS
        );
    }
}
