//! The options of `crawl`, `resume` and `check scope`, and how they change a collection's settings.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use teia_base::MediaPattern;
use teia_base::measure::{parse_duration, parse_size};
use teia_base::scope::Scope;
use teia_engine::CollectionConfig;
use teia_fetch::ProxyUrl;
use teia_frontier::OrderName;

use super::Usage;

/// What a run can be told on the command line.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CrawlOptions {
    /// How far to go: host, domain, prefix, any, or suffix:.pt,.br [default: host]
    #[arg(long, value_name = "SCOPE", value_parser = |text: &str| text.parse::<Scope>().map_err(|error| error.to_string()))]
    pub(crate) scope: Option<Scope>,
    /// Only URLs that match this regular expression (repeatable)
    #[arg(long, value_name = "RE")]
    pub(crate) include: Vec<String>,
    /// No URLs that match this regular expression (repeatable)
    #[arg(long, value_name = "RE")]
    pub(crate) exclude: Vec<String>,
    /// Hops from the seeds [default: unlimited]
    #[arg(long, value_name = "N")]
    pub(crate) max_depth: Option<u16>,
    /// Path segments of a URL [default: unlimited]
    #[arg(long, value_name = "N")]
    pub(crate) max_path_depth: Option<usize>,
    /// Documents in this run [default: unlimited]
    #[arg(long, value_name = "N")]
    pub(crate) max_pages: Option<u64>,
    /// Documents of one host in this run [default: unlimited]
    #[arg(long, value_name = "N")]
    pub(crate) max_pages_per_host: Option<u64>,
    /// Bytes in this run [default: unlimited]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_bytes: Option<u64>,
    /// End after this long [default: unlimited]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub(crate) max_time: Option<Duration>,
    /// The largest document [default: 16MB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_size: Option<u64>,
    /// Media types to keep, separated by commas: text/html,image/* [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) types: Vec<MediaPattern>,
    /// Languages to keep, separated by commas: pt,en [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) lang: Vec<String>,
    /// Rest between two requests to a host [default: 1s]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub(crate) delay: Option<Duration>,
    /// Hosts asked at once [default: as many as this machine can, at most 256]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) hosts: Option<u32>,
    /// The longest that one document may take [default: 2m]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Tries after the first [default: 4]
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u8>,
    /// Which URL goes first: breadth, depth, random, longest-wait [default: breadth]
    #[arg(long, value_name = "ORDER", value_parser = |text: &str| text.parse::<OrderName>())]
    pub(crate) order: Option<OrderName>,
    /// Bytes a second over all hosts: 2MB/s [default: unlimited]
    #[arg(long, value_name = "SIZE/s", value_parser = parse_rate)]
    pub(crate) bandwidth: Option<u64>,
    /// Fetch images, styles and scripts of kept pages wherever they are [default: on with archive]
    #[arg(long, overrides_with = "no_requisites")]
    pub(crate) requisites: bool,
    /// Leave them where the scope leaves them
    #[arg(long)]
    pub(crate) no_requisites: bool,
    /// Who we say we are; its first word is what robots.txt calls us
    #[arg(long, value_name = "STR")]
    pub(crate) user_agent: Option<String>,
    /// A page or address where people can ask about this crawl
    #[arg(long, value_name = "URL")]
    pub(crate) contact: Option<String>,
    /// http://[user:password@]host:port or socks5://…
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// A fixed address for a host: example.org=192.0.2.1:8080, *.example.org=… (repeatable)
    #[arg(long, value_name = "HOST=IP[:PORT]")]
    pub(crate) resolve: Vec<String>,
    /// Settings from a file, as `teia config` prints them
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
    /// Seeds from a file, one a line; - for standard input
    #[arg(long = "seeds", value_name = "FILE|-")]
    pub(crate) seed_file: Option<String>,
    /// Fetch what robots.txt asks us not to; only for hosts of your own
    #[arg(long)]
    pub(crate) ignore_robots: bool,
    /// Visit private and loopback addresses as well
    #[arg(long)]
    pub(crate) allow_private: bool,
    /// Take hosts whose certificate is not good; every record says so
    #[arg(long)]
    pub(crate) accept_certificates: bool,
    /// Keep cookies while the run lasts
    #[arg(long)]
    pub(crate) cookies: bool,
    /// Keep no archive: only links and outcomes
    #[arg(long)]
    pub(crate) no_archive: bool,
    /// Build no search index (there is none yet; accepted for scripts)
    #[arg(long)]
    pub(crate) no_index: bool,
    /// What to print at the end: text or json
    #[arg(long, value_name = "FORM", value_parser = ["text", "json"])]
    pub(crate) report: Option<String>,
}

impl CrawlOptions {
    /// The settings in `--config`, or the ones given.
    pub(crate) fn base(&self, stored: CollectionConfig) -> Result<CollectionConfig> {
        let Some(path) = &self.config else {
            return Ok(stored);
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            Usage(format!(
                "cannot read the settings in {}: {error}",
                path.display()
            ))
        })?;
        CollectionConfig::parse(&text)
            .map_err(|message| Usage(format!("{}: {message}", path.display())).into())
    }

    /// Changes the settings as the options say.
    pub(crate) fn apply(&self, config: &mut CollectionConfig) -> Result<()> {
        let filter = &mut config.filter;
        if let Some(scope) = &self.scope {
            filter.scope = scope.clone();
        }
        replace(&mut filter.include, &self.include);
        replace(&mut filter.exclude, &self.exclude);
        replace(&mut filter.types, &self.types);
        replace(&mut filter.languages, &self.lang);
        filter.max_depth = self.max_depth.or(filter.max_depth);
        filter.max_path_depth = self.max_path_depth.or(filter.max_path_depth);
        filter.max_pages = self.max_pages.or(filter.max_pages);
        filter.max_pages_per_host = self.max_pages_per_host.or(filter.max_pages_per_host);
        filter.max_bytes = self.max_bytes.or(filter.max_bytes);
        filter.max_size = self.max_size.unwrap_or(filter.max_size);
        if self.requisites || self.no_requisites {
            filter.requisites = self.requisites;
        }
        let run = &mut config.run;
        run.max_time = self.max_time.or(run.max_time);
        run.retries = self.retries.unwrap_or(run.retries);
        run.order = self.order.unwrap_or(run.order);
        run.hosts_at_once = self.hosts.map(|hosts| hosts as usize).or(run.hosts_at_once);
        run.ignore_robots |= self.ignore_robots;
        config.politeness.delay = self.delay.unwrap_or(config.politeness.delay);
        config.archive.enabled &= !self.no_archive;
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
        fetch.bandwidth = self.bandwidth.or(fetch.bandwidth);
        fetch.allow_private |= self.allow_private;
        fetch.cookies |= self.cookies;
        replace(&mut fetch.resolve, &self.resolve);
        if self.accept_certificates {
            fetch.certificates = teia_fetch::Certificates::Accept;
        }
        if let Some(proxy) = &self.proxy {
            fetch.proxy = Some(ProxyUrl::from(proxy.as_str()));
        }
        if let Some(contact) = &self.contact {
            if contact.contains(['\r', '\n', '(', ')']) {
                return Err(Usage(format!(
                    "`{contact}` cannot be a contact; write a URL or a mail address"
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

fn replace<T: Clone>(setting: &mut Vec<T>, given: &[T]) {
    if !given.is_empty() {
        setting.clear();
        setting.extend_from_slice(given);
    }
}

fn parse_rate(text: &str) -> Result<u64, String> {
    let rate = parse_size(text.trim_end_matches("/s"))?;
    if rate == 0 {
        Err("a bandwidth of 0 would fetch nothing; leave the option out for no limit".to_owned())
    } else {
        Ok(rate)
    }
}
