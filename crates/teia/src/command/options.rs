//! The options of `crawl`, `resume` and `check scope`, and how they change a collection's settings.

use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use teia_base::measure::{parse_duration, parse_size};
use teia_base::scope::Scope;
use teia_base::{Clock, MediaPattern, SystemClock, check_language};
use teia_catalog::StoreUrl;
use teia_engine::{CollectionConfig, EngineError};
use teia_fetch::{Certificates, ProxyUrl};
use teia_frontier::OrderName;

use super::Usage;

/// What a run can be told on the command line.
///
/// Everything here stays with the collection, so everything can be taken back: a limit with `none`,
/// a list with `all` or an empty text, a switch with its opposite.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct CrawlOptions {
    /// How far to go: host, domain, prefix, any, or suffix:.pt,.br [default: host]
    #[arg(long, value_name = "SCOPE", value_parser = |text: &str| text.parse::<Scope>().map_err(|error| error.to_string()))]
    pub(crate) scope: Option<Scope>,
    /// Only URLs that match this regular expression (repeatable; '' for all)
    #[arg(long, value_name = "RE")]
    pub(crate) include: Vec<String>,
    /// No URLs that match this regular expression (repeatable; '' leaves none out)
    #[arg(long, value_name = "RE")]
    pub(crate) exclude: Vec<String>,
    /// Hops from the seeds; none for no limit [default: none]
    #[arg(long, value_name = "N", value_parser = number::<u16>)]
    pub(crate) max_depth: Option<Given<u16>>,
    /// Path segments of a URL; none for no limit [default: none]
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    pub(crate) max_path_depth: Option<Given<usize>>,
    /// Documents in this run; none for no limit [default: none]
    #[arg(long, value_name = "N", value_parser = |text: &str| positive(number::<u64>(text)))]
    pub(crate) max_pages: Option<Given<u64>>,
    /// Documents of one host in this run; none for no limit [default: none]
    #[arg(long, value_name = "N", value_parser = |text: &str| positive(number::<u64>(text)))]
    pub(crate) max_pages_per_host: Option<Given<u64>>,
    /// Bytes in this run; none for no limit [default: none]
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| positive(given(text, "none", parse_size)))]
    pub(crate) max_bytes: Option<Given<u64>>,
    /// End after this long; none for no limit [default: none]
    #[arg(long, value_name = "DUR", value_parser = |text: &str| positive(given(text, "none", parse_duration)))]
    pub(crate) max_time: Option<Given<Duration>>,
    /// The largest document [default: 16MB]
    #[arg(long, value_name = "SIZE", value_parser = parse_largest)]
    pub(crate) max_size: Option<u64>,
    /// Rest while less than this is free on the disk; none fills it, auto takes what suits the disk [default: auto]
    #[arg(long, value_name = "SIZE", value_parser = parse_reserve)]
    pub(crate) disk_reserve: Option<Given<u64>>,
    /// Media types to keep, separated by commas: text/html,image/*; or all [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = |text: &str| given(text, "all", str::parse::<MediaPattern>))]
    pub(crate) types: Vec<Given<MediaPattern>>,
    /// Languages to keep, separated by commas: pt,en; or all [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = |text: &str| given(text, "all", parse_language))]
    pub(crate) lang: Vec<Given<String>>,
    /// Languages that let pages outside the scope in, separated by commas; or none [default: none]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = |text: &str| given(text, "none", |text| Ok(text.to_owned())))]
    pub(crate) or_lang: Vec<Given<String>>,
    /// Rest between two requests to a host [default: 1s]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub(crate) delay: Option<Duration>,
    /// Hosts asked at once; auto for as many as this machine can, at most 256 [default: auto]
    #[arg(long, value_name = "N", value_parser = parse_hosts)]
    pub(crate) hosts: Option<Given<usize>>,
    /// The longest that one document may take [default: 2m]
    #[arg(long, value_name = "DUR", value_parser = parse_timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Tries after the first, at most 100 [default: 4]
    #[arg(long, value_name = "N", value_parser = parse_retries)]
    pub(crate) retries: Option<u8>,
    /// Which URL goes first: breadth, depth, random, longest-wait, priority, backlinks, pagerank [default: breadth]
    #[arg(long, value_name = "ORDER", value_parser = |text: &str| text.parse::<OrderName>())]
    pub(crate) order: Option<OrderName>,
    /// Bytes a second over all hosts: 2MB/s; none for no limit [default: none]
    #[arg(long, value_name = "SIZE/s", value_parser = |text: &str| given(text, "none", parse_rate))]
    pub(crate) bandwidth: Option<Given<u64>>,
    /// Fetch images, styles and scripts of kept pages wherever they are [default: on with archive]
    #[arg(long, overrides_with = "no_requisites")]
    pub(crate) requisites: bool,
    /// Leave them where the scope leaves them
    #[arg(long, overrides_with = "requisites")]
    pub(crate) no_requisites: bool,
    /// Who we say we are; its first word is what robots.txt calls us
    #[arg(long, value_name = "STR")]
    pub(crate) user_agent: Option<String>,
    /// A page or address where people can ask about this crawl
    #[arg(long, value_name = "URL")]
    pub(crate) contact: Option<String>,
    /// http://[user@]host:port or socks5://…, its password in TEIA_PROXY_PASSWORD; none to go without
    #[arg(long, value_name = "URL", value_parser = |text: &str| given(text, "none", |text| Ok(text.to_owned())))]
    pub(crate) proxy: Option<Given<String>>,
    /// A fixed address for a host: example.org=192.0.2.1:8080, *.example.org=… (repeatable; '' for none)
    #[arg(long, value_name = "HOST=IP[:PORT]")]
    pub(crate) resolve: Vec<String>,
    /// Settings from a file, as `teia config` prints them
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Seeds from a file, one a line; - for standard input
    #[arg(long = "seeds", value_name = "FILE|-")]
    pub(crate) seed_file: Option<String>,
    /// Fetch what robots.txt asks us not to; only for hosts of your own
    #[arg(long, overrides_with = "respect_robots")]
    pub(crate) ignore_robots: bool,
    /// Obey robots.txt again
    #[arg(long, overrides_with = "ignore_robots")]
    pub(crate) respect_robots: bool,
    /// Visit private and loopback addresses as well
    #[arg(long, overrides_with = "refuse_private")]
    pub(crate) allow_private: bool,
    /// Refuse private and loopback addresses again
    #[arg(long, overrides_with = "allow_private")]
    pub(crate) refuse_private: bool,
    /// Take hosts whose certificate is not good; every record says so
    #[arg(long, overrides_with = "check_certificates")]
    pub(crate) accept_certificates: bool,
    /// Refuse hosts whose certificate is not good again
    #[arg(long, overrides_with = "accept_certificates")]
    pub(crate) check_certificates: bool,
    /// Keep cookies while the run lasts
    #[arg(long, overrides_with = "no_cookies")]
    pub(crate) cookies: bool,
    /// Keep no cookies
    #[arg(long, overrides_with = "cookies")]
    pub(crate) no_cookies: bool,
    /// Keep no archive: only links and outcomes
    #[arg(long, overrides_with = "archive")]
    pub(crate) no_archive: bool,
    /// Keep an archive again
    #[arg(long, overrides_with = "no_archive")]
    pub(crate) archive: bool,
    /// Build no search index and no link graph: collect and keep, nothing else
    #[arg(long, overrides_with = "index")]
    pub(crate) no_index: bool,
    /// Build both again; what was collected without them is added from archive and journal
    #[arg(long, overrides_with = "no_index")]
    pub(crate) index: bool,
    /// Keep no catalog: nothing to ask in SQL
    #[arg(long, overrides_with = "catalog")]
    pub(crate) no_catalog: bool,
    /// Keep one in SQLite (sqlite: DATA/teia.db) or in PostgreSQL (postgres://USER@HOST/DATABASE,
    /// its password in TEIA_CATALOG_PASSWORD) [default: sqlite]
    #[arg(long, value_name = "WHERE", overrides_with = "no_catalog", value_parser = |text: &str| given(text, "sqlite", parse_store))]
    pub(crate) catalog: Option<Given<StoreUrl>>,
    /// What to print at the end: text or json
    #[arg(long, value_name = "FORM", value_parser = ["text", "json"])]
    pub(crate) report: Option<String>,
}

impl CrawlOptions {
    /// Whether anything was given at all.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The settings in `--config`, or the ones given.
    pub(crate) fn base(&self, stored: CollectionConfig) -> Result<CollectionConfig> {
        let Some(path) = &self.config else {
            return Ok(stored);
        };
        let bytes = std::fs::read(path).map_err(|error| {
            Usage(format!(
                "cannot read the settings in {}: {error}",
                path.display()
            ))
        })?;
        let mut config = CollectionConfig::parse_bytes(bytes)
            .map_err(|message| Usage(format!("{}: {message}", path.display())))?;
        // The settings will stand in another directory, and mean the same file there.
        if let Some(seeds) = &config.seeds_file {
            let beside = path.parent().unwrap_or(Path::new("")).join(seeds);
            let whole = std::path::absolute(&beside)
                .with_context(|| format!("where {} lies", beside.display()))?;
            config.seeds_file = Some(whole);
        }
        Ok(config)
    }

    /// Refuses logins whose secrets are not there, with the line of the file that was given.
    pub(crate) fn check_secrets(&self, config: &CollectionConfig) -> Result<()> {
        let Some(path) = &self.config else {
            return Ok(());
        };
        let Err(wrong) = config.logins(SystemClock.wall()) else {
            return Ok(());
        };
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = wrong.line_in(&text);
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        Err(Usage(format!("{}: {line}{wrong}", path.display())).into())
    }

    /// Changes the settings as the options say, and looks whether they make sense.
    pub(crate) fn apply(&self, config: &mut CollectionConfig) -> Result<()> {
        self.change(config)?;
        config.check().map_err(EngineError::from)?;
        Ok(())
    }

    fn change(&self, config: &mut CollectionConfig) -> Result<()> {
        let filter = &mut config.filter;
        if let Some(scope) = &self.scope {
            filter.scope = scope.clone();
        }
        replace(&mut filter.include, &self.include);
        replace(&mut filter.exclude, &self.exclude);
        replace_kept(&mut filter.types, &self.types);
        replace_kept(&mut filter.languages, &self.lang);
        replace_kept(&mut filter.or_languages, &self.or_lang);
        set(&mut filter.max_depth, self.max_depth.as_ref());
        set(&mut filter.max_path_depth, self.max_path_depth.as_ref());
        set(&mut filter.max_pages, self.max_pages.as_ref());
        let per_host = self.max_pages_per_host.as_ref();
        set(&mut filter.max_pages_per_host, per_host);
        set(&mut filter.max_bytes, self.max_bytes.as_ref());
        filter.max_size = self.max_size.unwrap_or(filter.max_size);
        switch(&mut filter.requisites, self.requisites, self.no_requisites);
        let run = &mut config.run;
        set(&mut run.max_time, self.max_time.as_ref());
        run.retries = self.retries.unwrap_or(run.retries);
        run.order = self.order.unwrap_or(run.order);
        set(&mut run.hosts_at_once, self.hosts.as_ref());
        set(&mut run.disk_reserve, self.disk_reserve.as_ref());
        switch(
            &mut run.ignore_robots,
            self.ignore_robots,
            self.respect_robots,
        );
        config.politeness.delay = self.delay.unwrap_or(config.politeness.delay);
        switch(&mut config.archive.enabled, self.archive, self.no_archive);
        switch(&mut config.index.enabled, self.index, self.no_index);
        switch(&mut config.links.enabled, self.index, self.no_index);
        set(&mut config.catalog.url, self.catalog.as_ref());
        let enabled = &mut config.catalog.enabled;
        switch(enabled, self.catalog.is_some(), self.no_catalog);
        self.apply_fetch(config)
    }

    fn apply_fetch(&self, config: &mut CollectionConfig) -> Result<()> {
        let fetch = &mut config.fetch;
        if let Some(timeout) = self.timeout {
            // First byte and rate follow the whole, in the proportion of the defaults.
            (fetch.timeout, fetch.document_timeout) = (timeout, timeout);
            fetch.first_byte_timeout = timeout / 4;
            fetch.min_rate_window = timeout / 4;
        }
        set(&mut fetch.bandwidth, self.bandwidth.as_ref());
        switch(
            &mut fetch.allow_private,
            self.allow_private,
            self.refuse_private,
        );
        switch(&mut fetch.cookies, self.cookies, self.no_cookies);
        replace(&mut fetch.resolve, &self.resolve);
        if self.accept_certificates {
            fetch.certificates = Certificates::Accept;
        } else if self.check_certificates {
            fetch.certificates = Certificates::Check;
        }
        match &self.proxy {
            Some(Given::This(proxy)) => fetch.proxy = Some(ProxyUrl::from(proxy.as_str())),
            Some(Given::Nothing) => fetch.proxy = None,
            None => {}
        }
        if let Some(contact) = &self.contact {
            let has_form = contact.contains(['@', '.']) && !contact.contains(char::is_whitespace);
            if !has_form || !contact.is_ascii() || contact.contains(['(', ')']) {
                return Err(Usage(format!(
                    "`{contact}` cannot be a contact; write a URL or a mail address, for example `https://example.org/crawl`"
                ))
                .into());
            }
            fetch.user_agent = format!("Teia/{} (+{contact})", env!("CARGO_PKG_VERSION"));
            if contact.contains('@') {
                fetch.from = Some(contact.clone());
            }
        }
        if let Some(user_agent) = &self.user_agent {
            if user_agent.is_empty()
                || user_agent.contains(|c: char| c.is_control() || !c.is_ascii())
            {
                return Err(Usage("a user agent is plain ASCII text, for example `MyBot/1.0 (+https://example.org/bot)`".to_owned()).into());
            }
            fetch.user_agent.clone_from(user_agent);
        }
        Ok(())
    }

    /// Seeds in `--seeds`, one a line.
    pub(crate) fn seed_lines(&self) -> Result<Vec<String>> {
        let Some(source) = &self.seed_file else {
            return Ok(Vec::new());
        };
        let text = if source == "-" {
            std::io::read_to_string(std::io::stdin())
                .context("cannot read seeds from standard input")?
        } else {
            std::fs::read_to_string(source)
                .map_err(|error| Usage(format!("cannot read the seeds in {source}: {error}")))?
        };
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// What was given for a setting that can also be taken back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given<T> {
    /// This value.
    This(T),
    /// `none`, `all` or `auto`: as if it had never been set.
    Nothing,
}

fn given<T>(
    text: &str,
    nothing: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Given<T>, String> {
    if text == nothing {
        return Ok(Given::Nothing);
    }
    parse(text)
        .map(Given::This)
        .map_err(|error| format!("{error}; or `{nothing}`"))
}

fn number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<Given<T>, String> {
    given(text, "none", |text| {
        // Settings are written down as TOML, whose numbers end at 2^63.
        let number = text.parse::<i64>().and_then(|_| text.parse());
        number.map_err(|_| "write a whole number, for example 1000".to_owned())
    })
}

/// A limit that lets nothing through would stay with the collection, and be forgotten.
fn positive<T: Default + PartialEq>(limit: Result<Given<T>, String>) -> Result<Given<T>, String> {
    match limit {
        Ok(Given::This(value)) if value == T::default() => {
            Err("a limit of nothing lets nothing through; write more, or `none`".to_owned())
        }
        limit => limit,
    }
}

fn parse_store(text: &str) -> Result<StoreUrl, String> {
    StoreUrl::parse(text).map_err(|error| error.to_string())
}

fn parse_language(text: &str) -> Result<String, String> {
    check_language(text)?;
    Ok(text.trim().to_owned())
}

fn parse_largest(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        0 => Err("no document is so small; write 200KB or 16MB".to_owned()),
        size => Ok(size),
    }
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("no server answers in no time; write 30s or 2m".to_owned()),
        timeout => Ok(timeout),
    }
}

fn set<T: Clone>(setting: &mut Option<T>, given: Option<&Given<T>>) {
    match given {
        Some(Given::This(value)) => *setting = Some(value.clone()),
        Some(Given::Nothing) => *setting = None,
        None => {}
    }
}

fn switch(setting: &mut bool, on: bool, off: bool) {
    if on || off {
        *setting = on;
    }
}

/// The texts given take the place of the stored ones; an empty one stands for nothing.
fn replace(setting: &mut Vec<String>, given: &[String]) {
    if !given.is_empty() {
        *setting = given
            .iter()
            .filter(|text| !text.is_empty())
            .cloned()
            .collect();
    }
}

/// The same for what is kept; `all` stands for no choice.
fn replace_kept<T: Clone>(setting: &mut Vec<T>, given: &[Given<T>]) {
    if given.is_empty() {
        return;
    }
    setting.clear();
    for one in given {
        match one {
            Given::This(value) => setting.push(value.clone()),
            Given::Nothing => {
                setting.clear();
                return;
            }
        }
    }
}

fn parse_retries(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(retries @ 0..=100) => Ok(retries),
        _ => Err("write a number from 0 to 100".to_owned()),
    }
}

fn parse_hosts(text: &str) -> Result<Given<usize>, String> {
    given(text, "auto", |text| match text.parse() {
        Ok(hosts @ 1..=100_000) => Ok(hosts),
        _ => Err("write a number from 1 to 100000".to_owned()),
    })
}

fn parse_reserve(text: &str) -> Result<Given<u64>, String> {
    given(text, "auto", |text| match text {
        "none" => Ok(0),
        _ => parse_size(text),
    })
}

fn parse_rate(text: &str) -> Result<u64, String> {
    let rate = parse_size(text.trim_end_matches("/s"))?;
    if rate == 0 {
        Err("a bandwidth of 0 would fetch nothing; write for example `2MB/s`".to_owned())
    } else {
        Ok(rate)
    }
}
