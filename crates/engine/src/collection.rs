//! A collection: what to collect, how, and how gently. `collections/NAME.toml` is these structs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_archive::ArchiveConfig;
use teia_base::filter::FilterConfig;
use teia_base::{Files, FoundUrl, NormalForm, Seed, SeedError, measure};
use teia_catalog::StoreUrl;
use teia_extract::Limits;
use teia_fetch::{FetchConfig, ProxyUrl};
use teia_frontier::{OrderName, Politeness};

use crate::EngineError;
use crate::collection_file::CollectionFile;
use crate::cpu_share::CpuShare;
use crate::directory::Layout;
use crate::followers::{CatalogSection, IndexSection, LinksSection};
use crate::logins::LoginConfig;
use crate::mistakes::{as_text, explain};
use crate::schedule::ScheduleConfig;
use crate::sites::SiteConfig;
use crate::traps::TrapsConfig;
use crate::turn::Turn;
use crate::webhook::WebhookConfig;
use crate::wrong_setting::{Mistake, What};

/// What a collection is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CollectionConfig {
    /// `once`: URLs already fetched are not fetched again. `periodic`: every run visits everything in scope again,
    /// finds its own way from the seeds, and has its own count of pages and bytes. `incremental`: a run does not end by
    /// itself; pages are visited again at an interval (`run.revisit`), beside new ones.
    pub mode: Mode,
    /// Where to begin; one URL each, with or without scheme.
    pub seeds: Vec<String>,
    /// And in this file, one URL a line, `#` before a comment; a path without `/` before it begins at the directory of
    /// the collection's file. It is read at each start of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds_file: Option<PathBuf>,
    /// When runs begin by themselves, where `teia serve` runs, and in which hours they make requests.
    pub schedule: ScheduleConfig,
    /// How a run goes.
    pub run: RunConfig,
    /// What to collect.
    pub filter: FilterConfig,
    /// When pages of a kind are taken for a trap.
    pub traps: TrapsConfig,
    /// How gently.
    pub politeness: Politeness,
    /// How to fetch.
    pub fetch: FetchConfig,
    /// How robots.txt is read.
    pub robots: teia_fetch::robots::Config,
    /// How much of a page is read.
    pub extract: Limits,
    /// What is kept.
    pub archive: ArchiveSection,
    /// How it is made searchable.
    pub index: IndexSection,
    /// How links between pages are kept.
    pub links: LinksSection,
    /// How it is made askable in SQL.
    pub catalog: CatalogSection,
    /// Who is told of runs, over HTTP.
    pub webhook: WebhookConfig,
    /// Which spellings are one URL; fixed when the collection is created.
    pub normal_form: NormalForm,
    /// Where to log in, how, as whom, and where the secret lies: in a variable of the environment or a file, never here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub login: Vec<LoginConfig>,
    /// Other settings for some hosts. `match` names hosts (`www.example.org`, `*.example.pt` for it and all below
    /// it) or ranges of addresses (`10.0.0.0/8`), and below it stands what is different there, in the sections of
    /// this file. Where several match, each is laid over those before it: the last one that says something counts.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::sites::read_sites"
    )]
    pub site: Vec<SiteConfig>,
}

/// When URLs are visited again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String")]
pub enum Mode {
    /// Never: what was fetched is not fetched again.
    #[default]
    Once,
    /// In each run: everything in scope, from the seeds on.
    Periodic,
    /// At an interval, for as long as the run goes on.
    Incremental,
}

impl Mode {
    /// The mode in the journalled options of a run, and its interval; the defaults where they cannot be
    /// read.
    pub(crate) fn of_options(options: &str) -> (Self, Duration) {
        let table = options.parse::<toml::Table>().unwrap_or_default();
        let mode = table.get("mode").and_then(toml::Value::as_str);
        let mode = mode.and_then(|text| Self::try_from(text.to_owned()).ok());
        let revisit = table.get("run").and_then(|run| run.get("revisit"));
        let revisit = revisit.and_then(toml::Value::as_str);
        let revisit = revisit.and_then(|text| measure::parse_duration(text).ok());
        let usual = RunConfig::default().revisit;
        (mode.unwrap_or_default(), revisit.unwrap_or(usual))
    }
}

impl TryFrom<String> for Mode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "once" => Ok(Self::Once),
            "periodic" => Ok(Self::Periodic),
            "incremental" => Ok(Self::Incremental),
            _ => Err(format!(
                "there is no mode `{text}`; write `once`, `periodic` or `incremental`"
            )),
        }
    }
}

/// What the next requests to a host are for, where it has new pages and due ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String")]
pub enum Refill {
    /// Both, as their share says.
    #[default]
    Share,
    /// New ones first.
    Expand,
    /// Due ones first.
    Refresh,
}

impl TryFrom<String> for Refill {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "share" => Ok(Self::Share),
            "expand" => Ok(Self::Expand),
            "refresh" => Ok(Self::Refresh),
            _ => Err(format!(
                "there is no refill `{text}`; write `share`, `expand` or `refresh`"
            )),
        }
    }
}

/// What goes first on a host of which nothing was seen yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String")]
pub enum NewHosts {
    /// What the order says.
    #[default]
    Order,
    /// The shortest path.
    ShortestPath,
}

impl TryFrom<String> for NewHosts {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "order" => Ok(Self::Order),
            "shortest-path" => Ok(Self::ShortestPath),
            _ => Err(format!(
                "new hosts cannot go by `{text}`; write `order` or `shortest-path`"
            )),
        }
    }
}

/// How a run goes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunConfig {
    /// Hosts asked at once; without it, as many as cores, memory and descriptors allow, at most 256, and
    /// beside them those that have let us wait for more than two seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts_at_once: Option<usize>,
    /// Of all cores of this machine, so much is used, averaged over time: `50%`. In `teia crawl` all that the process computes
    /// counts; in `teia serve`, where runs share a process, reading what was fetched (unpacking, parsing, hashing, packing), for which
    /// fetching waits. Without it there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<CpuShare>,
    /// Memory of the whole process, files that it has mapped apart. Close to it, one page at a time is fetched and read until there
    /// is more. Large bodies get a quarter of it at most, URLs another, index, links, catalog and commits smaller parts, and a page is read to
    /// an eighth of it, whatever their own settings say; so 256 MiB are what reads every page as with more, and 128 MiB the least. Without it: three quarters of what the machine has, or the box in which it runs.
    #[serde(
        with = "measure::optional_size",
        skip_serializing_if = "Option::is_none"
    )]
    pub memory: Option<u64>,
    /// Which URL goes first: `breadth`, `depth`, `random`, `longest-wait`, `priority` (what Analyzers think most
    /// of); `backlinks` and `pagerank` go by the ranks of what was collected so far, and keep links.
    pub order: OrderName,
    /// Tries after the first, for errors that may pass. The first of them is made when it is due, in its place by `order`; those
    /// after it let go before them what the host has untried.
    pub retries: u8,
    /// The run ends after this long; without it there is no limit.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
    /// Fetch what robots.txt asks us not to. Only for hosts of your own.
    pub ignore_robots: bool,
    /// The run rests while less than this is free on the disk, and goes on by itself when there is
    /// more; `0` fills it to the end. Without it: 5 GiB or a twentieth of the disk, whichever is
    /// more, but at most half of what is free at the start; 64 MiB (an eighth of a smaller disk) at least.
    #[serde(
        with = "measure::optional_size",
        skip_serializing_if = "Option::is_none"
    )]
    pub disk_reserve: Option<u64>,
    /// A commit window is closed after this long.
    #[serde(with = "measure::duration")]
    pub commit_every: Duration,
    /// Or when so much archive is in it.
    #[serde(with = "measure::size")]
    pub commit_bytes: u64,
    /// A journal segment is closed at this size.
    #[serde(with = "measure::size")]
    pub journal_segment_bytes: u64,
    /// Closed segments beyond so many bytes are packed into `history/`, which keeps every attempt.
    #[serde(with = "measure::size")]
    pub journal_bytes: u64,
    /// Payloads remembered, to store equal ones once.
    pub digests_remembered: usize,
    /// Redirects in a row that are followed; a page that sends on by itself (`Refresh`) counts as one.
    pub max_redirects: u8,
    /// Follow redirects from https to http, which much of the older web has. Logins and cookies stay behind in any case.
    pub insecure_redirects: bool,
    /// Read sitemaps that robots.txt names.
    pub sitemaps: bool,
    /// Sitemaps of one host that are read in one day (UTC), counted by each process; the URLs in later ones are left out.
    pub sitemap_files: u32,
    /// Where no host at all can be reached any more, or every certificate seems to have expired, the network, the name
    /// server or the clock of this machine is to blame: fetching rests, no URL fails for it, and the run goes on by itself
    /// when one host answers; or after this long, as if the hosts were to blame. `0s` turns it off.
    #[serde(with = "measure::duration")]
    pub outage_patience: Duration,
    /// Memory for URLs. When they need more, they go on disk, and a crawl may have as many as fit
    /// there. Each host takes about 500 bytes beside it.
    #[serde(with = "measure::size")]
    pub repository_memory: u64,
    /// And then so many URLs of a host are brought from disk at once, in the order of visits; more of them when fewer
    /// than ten are left.
    pub window: usize,
    /// Where the mode is `incremental`: a page is visited again this long after its last visit.
    #[serde(with = "measure::duration")]
    pub revisit: Duration,
    /// And of a hundred requests to a host that has new pages and due ones, so many are for the due ones.
    pub revisit_share: u8,
    /// What a host's next requests are for: `share` as `revisit-share` says, `expand` new pages for as long as there
    /// are any, `refresh` due ones for as long as there are any.
    pub refill: Refill,
    /// What goes first on a host of which nothing was seen yet: `order` as `order` says, `shortest-path` the
    /// shortest path, because pages near the root of a site lead to most others.
    pub new_hosts: NewHosts,
    /// Bits of memory for each known URL, beside `repository-memory`, once URLs are on disk: with them most new URLs are
    /// known to be new at once and not only at the next look at their part of the disk. 0 saves that memory.
    pub filter_bits: u32,
    /// Equal pages on two hosts before one is taken for an alias of the other; 0 turns it off.
    pub alias_pages: u32,
}

impl RunConfig {
    /// Of a hundred requests to a host that has both, so many are for pages that were visited before.
    pub(crate) fn share_of_revisits(&self) -> u8 {
        match self.refill {
            Refill::Share => self.revisit_share,
            Refill::Expand => 0,
            Refill::Refresh => 100,
        }
    }
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            hosts_at_once: None,
            cpu_share: None,
            memory: None,
            order: OrderName::Breadth,
            retries: 4,
            max_time: None,
            ignore_robots: false,
            disk_reserve: None,
            commit_every: Duration::from_millis(250),
            commit_bytes: 16 << 20,
            journal_segment_bytes: 64 << 20,
            journal_bytes: 256 << 20,
            digests_remembered: 65_536,
            max_redirects: 10,
            insecure_redirects: true,
            sitemaps: true,
            sitemap_files: 1000,
            outage_patience: Duration::from_secs(12 * 3600),
            repository_memory: 512 << 20,
            window: 1000,
            revisit: Duration::from_secs(7 * 86_400),
            revisit_share: 50,
            refill: Refill::Share,
            new_hosts: NewHosts::Order,
            filter_bits: 10,
            alias_pages: 16,
        }
    }
}

/// What is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArchiveSection {
    /// Keep what was fetched, as WARC.
    pub enabled: bool,
    /// How.
    pub warc: ArchiveConfig,
}

impl Default for ArchiveSection {
    fn default() -> Self {
        Self {
            enabled: true,
            warc: ArchiveConfig::default(),
        }
    }
}

impl CollectionConfig {
    /// Reads the TOML of a collection; the message names the line, and the nearest right key or what
    /// values make sense.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::read(text).map_err(|mistake| mistake.to_string())
    }

    /// The same, with what is known of the mistake.
    pub(crate) fn read(text: &str) -> Result<Self, Mistake> {
        let config: Self = toml::from_str(text).map_err(|error| explain(text, &error))?;
        let checked = config.check().and_then(|()| config.check_secrets());
        checked.map_err(|senseless| Mistake {
            line: senseless.line_in(text),
            what: What::Senseless(senseless),
        })?;
        Ok(config)
    }

    /// What follows from what a person said.
    pub(crate) fn settle(&mut self) {
        if !self.archive.enabled {
            self.filter.requisites = false;
        }
        // The safety limit gives way to the size that a person asked for.
        if self.filter.has_own_max_size() {
            self.fetch.body_wire_bytes = self.fetch.body_wire_bytes.max(self.filter.max_size);
        }
        crate::memory::share_out(self);
    }

    /// Writes it as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("plain structs and strings become TOML")
    }

    /// The URLs that a person may have meant: with a scheme one, without https or http; none where
    /// nothing was written.
    pub fn spellings(&self, text: &str) -> Result<Vec<FoundUrl>, SeedError> {
        let Some(seed) = Seed::parse(text)? else {
            return Ok(Vec::new());
        };
        let mut urls = vec![seed.url.clone()];
        urls.extend(seed.http());
        Ok(urls
            .iter()
            .filter_map(|url| self.normal_form.normalise(url).ok())
            .collect())
    }

    /// How far bodies are unpacked: as much as may be fetched.
    pub fn decode_limits(&self) -> teia_fetch::DecodeLimits {
        let mut limits = self.fetch.decode_limits();
        limits.decoded_bytes = limits.decoded_bytes.max(self.filter.max_size);
        limits
    }

    /// The settings without the passwords of proxy and catalog: what may be written down.
    pub fn without_secrets(&self) -> Self {
        let mut config = self.clone();
        let proxy = config.fetch.proxy.as_ref();
        config.fetch.proxy = proxy.map(ProxyUrl::without_password);
        let catalog = config.catalog.url.as_ref();
        config.catalog.url = catalog.map(StoreUrl::without_password);
        config
    }

    /// The settings in the bytes of a file; a mistake is told with its line.
    pub fn parse_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        as_text(bytes).and_then(|text| Self::parse(&text))
    }

    /// Reads `collections/NAME.toml`, if it is there.
    pub fn load(
        files: &dyn Files,
        root: &Path,
        layout: &Layout,
    ) -> Result<Option<Self>, EngineError> {
        let path = layout.config();
        if !files.exists(&path) {
            return Ok(None);
        }
        let full = root.join(&path);
        let bytes = files
            .read(&path)
            .map_err(EngineError::disk("read", &full))?;
        let config = Self::parse_bytes(bytes);
        let wrong = |message| EngineError::Config {
            path: full,
            message,
        };
        config.map(Some).map_err(wrong)
    }

    /// Writes `collections/NAME.toml`, atomically and without secrets. What people wrote there stays
    /// where it says the same: their comments, their order, and what they left out. `before` is what was read of it when
    /// these settings were made, if it was there: what somebody else has changed since stays changed, and where both
    /// have changed one setting nothing is written.
    pub fn save(
        &self,
        before: Option<&Self>,
        files: &dyn Files,
        root: &Path,
        layout: &Layout,
    ) -> Result<(), EngineError> {
        let plain = self.without_secrets();
        let _turn = Turn::take(files)?;
        let file = match CollectionFile::read(files, root, layout) {
            Ok(Some(file)) => file.with_changes_since(before, &plain)?,
            // What cannot be read was not what these settings came from.
            Ok(None) | Err(EngineError::Config { .. }) => {
                CollectionFile::new(root, layout, plain.to_toml())?
            }
            Err(error) => return Err(error),
        };
        file.save(files)
    }
}

pub(crate) mod optional_duration {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};
    use teia_base::measure;

    #[derive(Deserialize)]
    struct Text(#[serde(with = "measure::duration")] Duration);

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Text>::deserialize(deserializer)?.map(|text| text.0))
    }

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => serializer.serialize_str(&measure::format_duration(*duration)),
            None => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_survive_the_round_trip() {
        let config = CollectionConfig::default();
        let again = CollectionConfig::parse(&config.to_toml()).unwrap();
        assert_eq!(again.to_toml(), config.to_toml());
    }
}
