//! Which values of a setting make sense: what would let nothing through, never end or eat all memory
//! is refused at the start, with what to write instead.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::path::Path;

use teia_base::filter::{FilterError, Rules};
use teia_base::measure::{parse_duration, parse_size};
use teia_base::{NormalForm, Seed};
use teia_catalog::{PASSWORD_VARIABLE, StoreUrl};
use teia_fetch::FetchError;
use toml::de::DeTable;

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::hours::Hours;
use crate::schedule::{Schedule, blamed};

/// A setting whose value makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Senseless {
    /// Its section; empty above the first.
    pub section: Cow<'static, str>,
    /// Its name.
    pub key: Cow<'static, str>,
    /// What is wrong, and what to write.
    pub message: String,
    /// The `[[site]]` or `[[login]]` in which it stands, from 0.
    pub entry: Option<(&'static str, usize)>,
    /// There is no such setting; then the message names it.
    pub is_unknown: bool,
}

impl fmt::Display for Senseless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.entry.map_or("", |(list, _)| list);
        let site = self
            .entry
            .map(|(_, number)| format!("{list} {}", number + 1));
        match (&*self.section, site) {
            (_, None) if self.is_unknown => f.write_str(&self.message),
            (_, Some(site)) if self.is_unknown => write!(f, "{site}: {}", self.message),
            ("", None) => write!(f, "`{}`: {}", self.key, self.message),
            (section, None) => write!(f, "`{}` in [{section}]: {}", self.key, self.message),
            ("", Some(site)) => write!(f, "{site}, `{}`: {}", self.key, self.message),
            (section, Some(site)) => {
                write!(
                    f,
                    "{site}, `{}` in [{list}.{section}]: {}",
                    self.key, self.message
                )
            }
        }
    }
}

impl std::error::Error for Senseless {}

impl Senseless {
    pub(crate) fn new(
        section: impl Into<Cow<'static, str>>,
        key: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            section: section.into(),
            key: key.into(),
            message: message.into(),
            entry: None,
            is_unknown: false,
        }
    }

    /// The same in an entry of a list of sections.
    pub(crate) fn of(self, list: &'static str, number: usize) -> Self {
        let entry = Some((list, number));
        Self { entry, ..self }
    }

    /// The same for a setting that there is not.
    pub(crate) fn called_unknown(self) -> Self {
        Self {
            is_unknown: true,
            ..self
        }
    }

    /// The name of the setting with all that it stands in: `site.2.politeness.delay`.
    pub(crate) fn path(&self) -> String {
        let entry = self
            .entry
            .map(|(list, number)| format!("{list}.{}", number + 1));
        let parts = [entry.as_deref().unwrap_or(""), &self.section, &self.key];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(".")
    }

    /// The same as a mistake in the text of this file.
    pub fn in_file(self, path: &Path, text: &str) -> EngineError {
        match self.line_in(text) {
            Some(line) => EngineError::Config {
                path: path.to_owned(),
                message: format!("line {line}: {self}"),
            },
            None => self.into(),
        }
    }

    /// The line of a collection file in which the setting stands.
    pub fn line_in(&self, text: &str) -> Option<usize> {
        let table = DeTable::parse(text).ok()?;
        let mut table = table.get_ref();
        let line_of = |at: usize| Some(text.get(..at)?.matches('\n').count() + 1);
        let mut home = None;
        if let Some((list, number)) = self.entry {
            let (_, sites) = table.iter().find(|(key, _)| key.get_ref() == list)?;
            let site = sites.get_ref().as_array()?.get(number)?;
            home = line_of(site.span().start);
            table = site.get_ref().as_table()?;
        }
        for name in self.section.split('.').filter(|name| !name.is_empty()) {
            let (_, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
            table = value.get_ref().as_table()?;
        }
        // What a site lacks is told where the site begins.
        let Some((key, _)) = table.iter().find(|(key, _)| *key.get_ref() == self.key) else {
            return home;
        };
        line_of(key.span().start)
    }
}

/// What a setting may be, both ends included.
#[derive(Clone, Copy, Debug)]
enum Range {
    Count(i64, i64),
    Time(&'static str, &'static str),
    Size(&'static str, &'static str),
}
use Range::{Count, Size, Time};

/// Every setting that is a number, a duration or a size. A test holds the table to be complete.
const RANGES: &[(&str, &str, Range)] = &[
    ("schedule", "deadline", Time("1s", "3650d")),
    ("schedule", "weight", Count(1, 1000)),
    ("run", "hosts-at-once", Count(1, 100_000)),
    ("run", "memory", Size("128MiB", "1000TB")),
    ("run", "retries", Count(0, 100)),
    ("run", "max-time", Time("1ms", "36500d")),
    ("run", "disk-reserve", Size("0", "1000000TB")),
    ("run", "commit-every", Time("1ms", "10m")),
    ("run", "commit-bytes", Size("4KiB", "4GiB")),
    ("run", "journal-segment-bytes", Size("4KiB", "4GiB")),
    ("run", "journal-bytes", Size("0", "1000TB")),
    ("run", "digests-remembered", Count(0, 100_000_000)),
    ("run", "max-redirects", Count(0, 100)),
    ("run", "sitemap-files", Count(0, 1_000_000)),
    ("run", "outage-patience", Time("0s", "365d")),
    ("run", "alias-pages", Count(0, 1_000_000)),
    ("run", "revisit", Time("1ms", "3650d")),
    ("run", "revisit-share", Count(1, 99)),
    ("run", "filter-bits", Count(0, 32)),
    ("run", "window", Count(1, 1_000_000)),
    ("run", "repository-memory", Size("4KiB", "1TB")),
    ("index", "commit-every", Time("100ms", "1h")),
    ("index", "max-lag", Time("0s", "365d")),
    ("index", "queue-bytes", Size("64KiB", "1TB")),
    ("index", "memory-bytes", Size("15MiB", "64GiB")),
    ("index", "threads", Count(1, 64)),
    ("index", "max-text-bytes", Size("1KiB", "1GiB")),
    ("index", "max-anchors", Count(0, 100_000)),
    ("links", "commit-every", Time("100ms", "1h")),
    ("links", "queue-bytes", Size("64KiB", "1TB")),
    ("links", "memory-bytes", Size("1MiB", "64GiB")),
    ("links", "cache-bytes", Size("1MiB", "64GiB")),
    ("links", "rank-every", Time("100ms", "365d")),
    ("catalog", "commit-every", Time("100ms", "1h")),
    ("catalog", "queue-bytes", Size("64KiB", "1TB")),
    // The largest number stands for "no way leads there".
    ("filter", "max-depth", Count(0, 65_534)),
    ("filter", "max-path-depth", Count(0, 1_000_000)),
    ("filter", "max-size", Size("1", "1TB")),
    ("filter", "max-pages", Count(1, i64::MAX)),
    ("filter", "max-pages-per-host", Count(1, i64::MAX)),
    ("filter", "urls-per-host-day", Count(0, i64::MAX)),
    ("filter", "max-bytes", Size("1", "1000000TB")),
    ("filter", "max-url-bytes", Count(64, 65_536)),
    ("filter", "max-query-params", Count(0, 10_000)),
    ("filter", "max-path-segments", Count(1, 10_000)),
    ("filter", "max-segment-repeat", Count(1, 10_000)),
    ("webhook", "retries", Count(0, 10)),
    ("webhook", "timeout", Time("100ms", "1m")),
    ("traps", "repeats", Count(2, 1_000_000)),
    ("traps", "pages", Count(2, 1_000_000)),
    ("traps", "maze-pages", Count(2, 1_000_000)),
    ("traps", "hosts-per-domain", Count(1, 1_000_000_000)),
    ("traps", "new-hosts", Count(1, 1_000_000_000)),
    ("traps", "hosts-per-block", Count(1, 1_000_000_000)),
    ("politeness", "delay", Time("0s", "7d")),
    ("politeness", "latency-factor", Count(0, 1000)),
    ("politeness", "max-crawl-delay", Time("0s", "30d")),
    ("politeness", "max-retry-after", Time("0s", "365d")),
    ("politeness", "retry-wait", Time("0s", "1d")),
    ("fetch", "dns-timeout", Time("1ms", "1h")),
    ("fetch", "cname-max", Count(0, 100)),
    ("fetch", "connect-timeout", Time("1ms", "1h")),
    ("fetch", "tls-timeout", Time("1ms", "1h")),
    ("fetch", "first-byte-timeout", Time("1ms", "7d")),
    ("fetch", "min-rate", Count(0, 1_000_000_000)),
    ("fetch", "min-rate-window", Time("1ms", "7d")),
    ("fetch", "timeout", Time("1ms", "7d")),
    ("fetch", "document-timeout", Time("1ms", "7d")),
    ("fetch", "body-wire-bytes", Size("1", "1TB")),
    ("fetch", "document-wire-bytes", Size("1", "1TB")),
    ("fetch", "body-decoded-bytes", Size("1", "1TB")),
    ("fetch", "document-decoded-bytes", Size("1", "1TB")),
    ("fetch", "ratio-max", Count(1, 1_000_000)),
    ("fetch", "decode-layers", Count(0, 16)),
    ("fetch", "headers-bytes", Size("256", "16MiB")),
    ("fetch", "headers-count", Count(1, 100_000)),
    ("fetch", "interim-max", Count(0, 1000)),
    ("fetch", "spool-bytes", Size("0", "1TB")),
    ("fetch", "body-memory", Size("0", "1TB")),
    ("fetch", "bandwidth", Size("1", "1TB")),
    ("fetch", "max-idle-connections", Count(0, 1_000_000)),
    ("fetch", "idle-per-host", Count(0, 1000)),
    ("fetch", "idle-timeout", Time("0s", "1d")),
    // RFC 9309 §2.5 asks for 500 KiB at least.
    ("robots", "max-bytes", Size("500KiB", "64MiB")),
    // An answer that holds for no time would be asked for again before anything else, for ever.
    ("robots", "fresh-for", Time("1s", "7d")),
    ("robots", "patience", Time("0s", "365d")),
    ("robots", "first-retry", Time("0s", "1d")),
    ("extract", "links-per-page", Count(1, 10_000_000)),
    ("extract", "text-bytes", Size("1KiB", "1GiB")),
    ("extract", "attr-bytes", Size("64", "64MiB")),
    ("extract", "attrs-per-tag", Count(1, 1_000_000)),
    ("extract", "depth", Count(1, 1_000_000)),
    ("extract", "cpu", Time("1ms", "1h")),
    ("extract", "sitemap-urls", Count(1, 10_000_000)),
    ("extract", "sitemap-bytes", Size("1KiB", "4GiB")),
    ("extract", "gzip-ratio", Count(1, 1_000_000)),
    ("extract", "feed-items", Count(1, 1_000_000)),
    ("extract", "title-bytes", Size("1", "1MiB")),
    ("extract", "headings", Count(0, 1_000_000)),
    ("extract", "anchor-bytes", Size("0", "1MiB")),
    ("archive.warc", "max-file-bytes", Size("1MiB", "1TiB")),
    ("archive.warc", "level", Count(1, 12)),
];

/// What a setting may be, in words, where it is a number, a duration or a size.
pub fn sensible(section: &str, key: &str) -> Option<String> {
    let (_, _, range) = RANGES
        .iter()
        .find(|(of, name, _)| *of == section && *name == key)?;
    Some(range.to_string())
}

impl CollectionConfig {
    /// Refuses values that make no sense, before anything is written or fetched.
    pub fn check(&self) -> Result<(), Senseless> {
        let settings = toml::Table::try_from(self).map_err(|error| {
            senseless("", "settings", format!("cannot be written down: {error}"))
        })?;
        for (section, key, range) in RANGES {
            if let Some(value) = value_in(&settings, section, key) {
                range
                    .check(value)
                    .map_err(|message| senseless(section, key, message))?;
            }
        }
        self.check_seeds()?;
        self.check_seeds_file()?;
        self.check_filter()?;
        self.check_fetch()?;
        self.check_catalog()?;
        self.check_webhook()?;
        self.check_logins()?;
        self.check_order()?;
        self.check_schedule()?;
        self.check_archive()?;
        self.check_sites()
    }

    fn check_schedule(&self) -> Result<(), Senseless> {
        let schedule = &self.schedule;
        let wrong = |message| senseless("schedule", blamed(schedule), message);
        Schedule::check_moments(schedule).map_err(wrong)?;
        if let Some(window) = &schedule.window {
            Hours::parse(window, &schedule.time_zone)
                .map_err(|message| senseless("schedule", "window", message))?;
        }
        if !schedule.is_set() {
            // Without a beginning the rest would wait for ever.
            let key = if schedule.end.is_some() { "end" } else { "" };
            return if key.is_empty() {
                Ok(())
            } else {
                let message = "says when runs are over, and nothing says when they begin; write `start`, `every` or `cron`";
                Err(senseless("schedule", key, message))
            };
        }
        Schedule::parse(schedule).map(drop).map_err(wrong)
    }

    /// Ranks come from links.
    fn check_order(&self) -> Result<(), Senseless> {
        if self.run.order.needs_ranks() && !self.links.enabled {
            let message = "goes by ranks, which come from links: write `enabled = true` in [links], or another order";
            return Err(senseless("run", "order", message));
        }
        Ok(())
    }

    /// A file is no place for a password.
    pub(crate) fn check_secrets(&self) -> Result<(), Senseless> {
        if let Some(url) = self.catalog.url.as_ref().filter(|url| url.has_password()) {
            let message = format!(
                "a password does not belong in a file; write \"{url}\" and set the variable {PASSWORD_VARIABLE}"
            );
            return Err(senseless("catalog", "url", message));
        }
        match &self.fetch.proxy {
            Some(proxy) if proxy.has_password() => {
                let message = format!(
                    "a password does not belong in a file; write \"{}\" and set the variable TEIA_PROXY_PASSWORD",
                    proxy.without_password().as_str()
                );
                Err(senseless("fetch", "proxy", message))
            }
            _ => Ok(()),
        }
    }

    fn check_seeds(&self) -> Result<(), Senseless> {
        for text in &self.seeds {
            if text.trim().is_empty() {
                let message = "one of them is empty; take it out";
                return Err(senseless("", "seeds", message));
            }
            let seed =
                Seed::parse(text).map_err(|error| senseless("", "seeds", error.to_string()))?;
            let Some(seed) = seed else { continue };
            let scheme = seed.url.scheme();
            // A program that brings a fetcher for others says so in the schemes.
            let is_fetched = matches!(scheme, "http" | "https");
            if !is_fetched && !self.filter.schemes.iter().any(|known| known == scheme) {
                let message = format!(
                    "`{text}` cannot be collected: {scheme} is not built yet, so far there are http and https; write for example `https://example.org/`"
                );
                return Err(senseless("", "seeds", message));
            }
        }
        Ok(())
    }

    fn check_filter(&self) -> Result<(), Senseless> {
        if self.filter.schemes.is_empty() {
            let message = "without a scheme nothing is fetched; write [\"http\", \"https\"]";
            return Err(senseless("filter", "schemes", message));
        }
        // A program may bring a fetcher for others; of these only the form is looked at.
        let is_scheme = |scheme: &String| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        };
        if let Some(scheme) = self.filter.schemes.iter().find(|scheme| !is_scheme(scheme)) {
            let message = format!("`{scheme}` is not a scheme; write `http` or `https`");
            return Err(senseless("filter", "schemes", message));
        }
        let mut types = self.filter.types.iter().map(ToString::to_string);
        let is_partly = |text: &String| text.split('/').any(|it| it.len() > 1 && it.contains('*'));
        if let Some(text) = types.find(is_partly) {
            let message = format!(
                "`{text}` keeps nothing: a `*` stands for all of a name and not for a part of it; write `application/pdf` or `image/*`"
            );
            return Err(senseless("filter", "types", message));
        }
        let Err(error) = Rules::compile(&self.filter, &[]) else {
            return Ok(());
        };
        let key = match &error {
            FilterError::Pattern { setting, .. } | FilterError::PatternSize { setting, .. } => {
                setting
            }
            FilterError::Host(_) => "hosts",
            FilterError::Directory(_) => "directories",
            FilterError::Language(_) => "languages",
            _ => "scope",
        };
        Err(senseless("filter", key, error.to_string()))
    }

    fn check_fetch(&self) -> Result<(), Senseless> {
        if self.fetch.user_agent.trim().is_empty() || !self.fetch.user_agent.is_ascii() {
            let message =
                "write plain ASCII text, for example \"MyBot/1.0 (+https://example.org/bot)\"";
            return Err(senseless("fetch", "user-agent", message));
        }
        let Err(error) = self.fetch.check() else {
            return Ok(());
        };
        let key = match &error {
            FetchError::Resolve(_) => "resolve",
            FetchError::Proxy(_) => "proxy",
            FetchError::Header(name) => name,
            _ => "ca-file",
        };
        Err(senseless("fetch", key, error.to_string()))
    }

    /// Refuses settings that name a file of this machine which cannot be read. What a start would find out, whoever asks
    /// before it learns too.
    pub fn check_files(&self) -> Result<(), Senseless> {
        let Some(path) = &self.fetch.ca_file else {
            return Ok(());
        };
        File::open(path).map(drop).map_err(|error| {
            let message = format!("{} cannot be read: {error}", path.display());
            senseless("fetch", "ca-file", message)
        })
    }

    fn check_catalog(&self) -> Result<(), Senseless> {
        let url = self.catalog.url.as_ref();
        let parsed = url.map_or(Ok(()), |url| StoreUrl::parse(url.as_str()).map(|_| ()));
        parsed.map_err(|error| senseless("catalog", "url", error.to_string()))
    }

    fn check_webhook(&self) -> Result<(), Senseless> {
        let checked = self.webhook.check();
        checked.map_err(|(key, message)| senseless("webhook", key, message))
    }

    fn check_archive(&self) -> Result<(), Senseless> {
        let warc = &self.archive.warc;
        if warc.prefix.is_empty() || warc.prefix.len() > 64 {
            let message = "write 1 to 64 letters, digits, `-` and `_`";
            return Err(senseless("archive.warc", "prefix", message));
        }
        for (key, text) in [
            ("operator", &warc.operator),
            ("description", &warc.description),
        ] {
            if text.chars().any(char::is_control) {
                return Err(senseless("archive.warc", key, "write one line of text"));
            }
        }
        Ok(())
    }
}

/// Settings that decide what a URL is cannot change under the URLs that are there. Of what was
/// journalled nothing else is read: other settings may have other names by now.
pub(crate) fn check_fixed(
    config: &CollectionConfig,
    last: Option<&str>,
) -> Result<(), EngineError> {
    let Some(last) = last else { return Ok(()) };
    let stored = stored_normal_form(last).map_err(|error| EngineError::StoredOptions {
        message: error.message().to_owned(),
    })?;
    if stored == config.normal_form {
        Ok(())
    } else {
        Err(EngineError::Fixed {
            setting: "normal-form",
        })
    }
}

/// A normal form as settings have it: what [`check_fixed`] compares with where nobody has crawled yet.
pub(crate) fn spelled(form: &NormalForm) -> String {
    let mut settings = toml::Table::new();
    if let Ok(form) = toml::Value::try_from(form) {
        settings.insert("normal-form".to_owned(), form);
    }
    settings.to_string()
}

fn stored_normal_form(text: &str) -> Result<NormalForm, toml::de::Error> {
    match text.parse::<toml::Table>()?.remove("normal-form") {
        Some(stored) => stored.try_into(),
        None => Ok(NormalForm::default()),
    }
}

fn senseless(section: &'static str, key: &'static str, message: impl Into<String>) -> Senseless {
    Senseless::new(section, key, message)
}

fn value_in<'a>(settings: &'a toml::Table, section: &str, key: &str) -> Option<&'a toml::Value> {
    section
        .split('.')
        .try_fold(settings, |table, name| table.get(name)?.as_table())?
        .get(key)
}

impl Range {
    fn check(self, value: &toml::Value) -> Result<(), String> {
        let text = match value {
            toml::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let is_good = match self {
            Self::Count(least, most) => value
                .as_integer()
                .is_some_and(|number| (least..=most).contains(&number)),
            Self::Time(least, most) => within(&text, least, most, parse_duration),
            Self::Size(least, most) => within(&text, least, most, parse_size),
        };
        if is_good {
            Ok(())
        } else {
            Err(format!("{text} makes no sense; write {self}"))
        }
    }
}

fn within<T: PartialOrd>(
    text: &str,
    least: &str,
    most: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> bool {
    match (parse(text), parse(least), parse(most)) {
        (Ok(value), Ok(least), Ok(most)) => (least..=most).contains(&value),
        _ => false,
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(least, i64::MAX) => write!(f, "a number of {least} or more"),
            Self::Count(least, most) => write!(f, "a number from {least} to {most}"),
            Self::Time(least, most) => write!(f, "a duration from \"{least}\" to \"{most}\""),
            Self::Size(least, most) => write!(f, "a size from \"{least}\" to \"{most}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, words: &[&str]) {
        let message = CollectionConfig::parse(text).unwrap_err();
        for word in words {
            assert!(message.contains(word), "no {word:?} in {message}");
        }
    }

    #[test]
    fn what_is_fixed_is_compared_and_what_cannot_be_compared_is_refused() {
        let config = CollectionConfig::default();
        let check = |last: &str| check_fixed(&config, Some(last));
        assert!(check_fixed(&config, None).is_ok());
        assert!(check(&config.to_toml()).is_ok());
        // Settings of another time do not matter.
        assert!(check("old-setting = 1\n[run]\nretries = 255\n").is_ok());
        let other = "[normal-form]\nwww = true\n";
        assert!(matches!(check(other), Err(EngineError::Fixed { .. })));
        for unreadable in [
            "no toml",
            "normal-form = 1",
            "[normal-form]\nnewer = true\n",
        ] {
            let refused = check(unreadable).unwrap_err();
            assert!(
                matches!(refused, EngineError::StoredOptions { .. }) && refused.is_usage(),
                "{unreadable}: {refused}"
            );
        }
    }

    #[test]
    fn a_password_in_a_file_is_refused_and_not_repeated() {
        let text = "[fetch]\nproxy = \"http://ann:secret@p.example:1\"\n";
        let message = CollectionConfig::parse(text).unwrap_err();
        for word in ["line 2", "http://ann@p.example:1", "TEIA_PROXY_PASSWORD"] {
            assert!(message.contains(word), "{message}");
        }
        assert!(!message.contains("secret"), "{message}");
    }

    #[test]
    fn the_defaults_make_sense() {
        CollectionConfig::default().check().unwrap();
    }

    #[test]
    fn every_number_duration_and_size_has_a_range() {
        fn walk(prefix: &str, table: &toml::Table) {
            for (key, value) in table {
                let is_measure = match value {
                    toml::Value::Integer(_) => true,
                    toml::Value::String(text) => {
                        parse_duration(text).is_ok() || parse_size(text).is_ok()
                    }
                    _ => false,
                };
                let has = RANGES
                    .iter()
                    .any(|(section, name, _)| *section == prefix && name == key);
                assert!(has || !is_measure, "[{prefix}] {key} has no range");
                if let toml::Value::Table(inner) = value {
                    let name = [prefix, key].join(".");
                    walk(name.trim_start_matches('.'), inner);
                }
            }
        }
        let settings = toml::Table::try_from(CollectionConfig::default()).unwrap();
        walk("", &settings);
        for (section, key, range) in RANGES {
            if let Some(value) = value_in(&settings, section, key) {
                range.check(value).unwrap();
            }
            // Both ends are written as people write them.
            let ends = match range {
                Count(least, most) => least <= most,
                Time(least, most) => within(least, least, most, parse_duration),
                Size(least, most) => within(least, least, most, parse_size),
            };
            assert!(ends, "[{section}] {key} {range}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_line_and_what_to_write() {
        refused(
            "seeds = []\n\n[extract]\ncpu = \"0s\"\n",
            &["line 4", "`cpu`", "[extract]", "0s", "1ms"],
        );
        refused(
            "[extract]\ntext-bytes = \"1MB\"\nlinks-per-page = 0\n",
            &["line 3", "links-per-page", "from 1"],
        );
        refused("[archive.warc]\nlevel = 99\n", &["line 2", "1 to 12"]);
        refused("archive.warc.level = 0\n", &["line 1", "1 to 12"]);
        refused("run = { retries = 101 }\n", &["line 1", "retries", "100"]);
        refused("[filter]\nmax-pages = 0\n", &["line 2", "1 or more"]);
        refused("[filter]\nmax-size = 0\n", &["line 2", "max-size"]);
        refused(
            "[filter]\nlanguages = [\"pt\", \"p t\"]\n",
            &["line 2", "p t"],
        );
        refused(
            "[filter]\ninclude = [\"(\"]\n",
            &["line 2", "`(`", "unclosed"],
        );
        refused("[filter]\nschemes = [\"http:\"]\n", &["line 2", "`http:`"]);
        refused("[filter]\nschemes = []\n", &["line 2", "http"]);
        refused("[fetch]\ntimeout = \"0s\"\n", &["line 2", "timeout"]);
        refused("[fetch]\nuser-agent = \"\"\n", &["line 2", "MyBot"]);
        refused("[fetch]\nresolve = [\"x\"]\n", &["line 2", "`x`"]);
        refused("[fetch]\nproxy = \"gopher://x\"\n", &["line 2", "gopher"]);
        refused("[robots]\nmax-bytes = \"1KB\"\n", &["line 2", "500KiB"]);
        refused("seeds = [\"http://\"]\n", &["line 1", "seeds"]);
    }

    #[test]
    fn a_mistake_is_told_on_its_own_line_in_words_for_people() {
        let schedule = |lines: &str| format!("[schedule]\n{lines}\n");
        refused(
            &schedule("start = \"2026-13-01\"\nevery = \"1d\""),
            &["line 2", "`start`", "2026-11-15"],
        );
        refused(
            &schedule("every = \"1d\"\nstart = \"2026-11-01\"\ntime-zone = \"Lisbon\""),
            &["line 4", "`time-zone`", "Europe/Lisbon"],
        );
        refused(
            &schedule("time-zone = \"Lisbon\""),
            &["line 2", "time-zone"],
        );
        refused(&schedule("end = \"2026-13-01\""), &["line 2", "no moment"]);
        refused(
            &schedule("start = \"2026-11-02\"\nend = \"2026-11-01\""),
            &["line 3", "`end`", "before"],
        );
        refused(
            &schedule("start = 2026-11-01"),
            &["line 2", "between quotes", "\"2026-11-01\""],
        );
        refused("archive = true\n", &["line 1", "[archive]"]);
        refused(
            "[run]\nretries = \"x\"\n",
            &["line 2", "the text \"x\"", "0 to 100"],
        );
        refused("[run]\nretries = 2.5\n", &["line 2", "the number 2.5"]);
        refused("seeds = 5\n", &["line 1", "a list", "the number 5"]);
        refused(
            "seeds = []\n[[site]]\nmach = \"*.pt\"\npoliteness.delay = \"2s\"\n",
            &["line 3", "`mach`", "`match`"],
        );
        for text in [
            "archive = true",
            "[schedule]\nstart = 2026-11-01",
            "run = 5",
        ] {
            let message = CollectionConfig::parse(text).unwrap_err();
            for jargon in ["struct", "map", "sequence", "invalid type", "variant"] {
                assert!(!message.contains(jargon), "{message}");
            }
        }
    }
}
