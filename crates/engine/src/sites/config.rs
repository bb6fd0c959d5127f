//! What a `[[site]]` of a collection file may say.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::collection::CollectionConfig;
use crate::mistakes::{for_people, nearest, nearest_setting, sections};
use crate::sense::{Senseless, sensible};
use crate::sites::pattern::HostPattern;

/// The word under which the hosts of a site stand.
pub(crate) const MATCH: &str = "match";
/// More are no settings by hand any more, and each costs a little at a start.
const MOST_SITES: usize = 10_000;

/// Settings for some hosts: which, and everything that is different there. Always a good one where it
/// was checked with its collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SiteConfig(toml::Table);

/// How soon a setting must be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It can follow the address of a host, which is known before its first request.
    Address,
    /// It counts before that, or where nobody knows addresses: only names decide.
    Name,
}

/// One setting of a site.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// Its section, as outside: `politeness`; empty for what belongs to none.
    pub(crate) section: String,
    pub(crate) key: String,
    pub(crate) value: toml::Value,
}

impl SiteConfig {
    /// A site from its table.
    pub fn new(table: toml::Table) -> Self {
        Self(table)
    }

    /// The hosts and addresses that it is for, as written.
    pub fn hosts(&self) -> Vec<&str> {
        match self.0.get(MATCH) {
            Some(toml::Value::String(one)) => vec![one],
            Some(toml::Value::Array(several)) => {
                several.iter().filter_map(toml::Value::as_str).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Every setting that is different there, as `politeness.delay` and its value.
    pub fn settings(&self) -> Vec<(String, toml::Value)> {
        let leaves = leaves(&self.0, "").into_iter();
        leaves
            .map(|leaf| {
                let path = [leaf.section.as_str(), leaf.key.as_str()];
                let path: Vec<&str> = path.into_iter().filter(|part| !part.is_empty()).collect();
                (path.join("."), leaf.value)
            })
            .collect()
    }

    /// What is different there, a setting each.
    pub fn in_words(&self) -> Vec<String> {
        let settings = self.settings().into_iter();
        settings
            .map(|(key, value)| format!("{key} = {value}"))
            .collect()
    }

    /// The table of a collection file with what this site says in the place of what it said.
    pub(crate) fn over(&self, table: &mut toml::Table) {
        lay_over(table, &self.0);
        table.remove(MATCH);
    }

    /// Whether it says anything of this setting.
    pub(crate) fn has(&self, section: &str, key: &str) -> bool {
        let leaves = leaves(&self.0, "");
        leaves
            .iter()
            .any(|leaf| leaf.section == section && leaf.key == key)
    }

    pub(crate) fn patterns(&self) -> Result<Vec<HostPattern>, String> {
        self.hosts().into_iter().map(HostPattern::parse).collect()
    }
}

/// Whether a setting may differ from host to host, and how; why not, where it may not.
pub(crate) fn reach(section: &str, key: &str) -> Result<Reach, &'static str> {
    use Reach::{Address, Name};
    match (section, key) {
        ("politeness", "key") => {
            Err("whether names on one machine share a gap is decided for all hosts at once")
        }
        ("politeness" | "robots", _) | ("filter", "max-pages-per-host" | "urls-per-host-day") => {
            Ok(Address)
        }
        (
            "run",
            "retries" | "ignore-robots" | "max-redirects" | "insecure-redirects" | "sitemaps"
            | "sitemap-files" | "revisit",
        ) => Ok(Address),
        ("run", _) => Err("it is for the run as a whole"),
        ("filter", "hosts") => {
            Err("`match` names the hosts here; `scope = \"any\"` lets all of their URLs in")
        }
        ("filter", "max-pages" | "max-bytes") => {
            Err("it counts what a run gets of all hosts; `max-pages-per-host` counts one host")
        }
        ("filter" | "traps" | "extract", _) | ("archive" | "index", "enabled") => Ok(Name),
        (
            "fetch",
            "bandwidth"
            | "body-memory"
            | "spool-bytes"
            | "spool-dir"
            | "max-idle-connections"
            | "idle-per-host"
            | "idle-timeout",
        ) => Err("all hosts share it"),
        ("fetch", "dns-timeout" | "cname-max" | "name-servers" | "resolve" | "allowed") => {
            Err("the names of all hosts are resolved in the same way")
        }
        (
            "fetch",
            "user-agent"
            | "proxy"
            | "body-decoded-bytes"
            | "document-decoded-bytes"
            | "ratio-max"
            | "decode-layers",
        ) => Ok(Name),
        ("fetch", _) => Ok(Address),
        ("archive" | "archive.warc", _) => Err("all hosts share the files of the archive"),
        ("index", _) => Err("there is one index for all hosts"),
        ("links", _) => Err("links lead from host to host, so there is one graph of them"),
        ("catalog", _) => Err("there is one catalog for all hosts"),
        ("normal-form", _) => {
            Err("which spellings are one URL is decided for all hosts, when the collection begins")
        }
        ("schedule", _) => Err("a run begins, rests and ends for all hosts at once"),
        _ => Err("it is for the collection as a whole"),
    }
}

/// Every setting of a table, with the section in which it stands.
fn leaves(table: &toml::Table, section: &str) -> Vec<Leaf> {
    let mut all = Vec::new();
    for (key, value) in table {
        if section.is_empty() && key == MATCH {
            continue;
        }
        match value {
            toml::Value::Table(inner) => {
                let inside = [section, key].join(".");
                all.extend(leaves(inner, inside.trim_start_matches('.')));
            }
            value => all.push(Leaf {
                section: section.to_owned(),
                key: key.clone(),
                value: value.clone(),
            }),
        }
    }
    all
}

fn lay_over(table: &mut toml::Table, other: &toml::Table) {
    for (key, value) in other {
        match (table.get_mut(key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => lay_over(below, above),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

impl CollectionConfig {
    /// Refuses sites that make no sense, each with the setting that does not.
    pub(crate) fn check_sites(&self) -> Result<(), Senseless> {
        if self.site.is_empty() {
            return Ok(());
        }
        if self.site.len() > MOST_SITES {
            let message = format!("{} are too many; at most {MOST_SITES}", self.site.len());
            return Err(Senseless::new("", "site", message));
        }
        let base = self.without_sites();
        for (number, site) in self.site.iter().enumerate() {
            let checked = check_site(&base, site);
            checked.map_err(|senseless| senseless.of("site", number))?;
        }
        Ok(())
    }

    /// The settings of hosts that are in no site, without seeds.
    pub(crate) fn without_sites(&self) -> Self {
        Self {
            seeds: Vec::new(),
            seeds_file: None,
            login: Vec::new(),
            site: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether some host has a limit of hops.
    pub(crate) fn limits_depth(&self) -> bool {
        self.filter.max_depth.is_some() || self.site.iter().any(|it| it.has("filter", "max-depth"))
    }

    /// Whether the pages of some host are archived.
    pub(crate) fn archives_some(&self) -> bool {
        self.archive.enabled || self.some_site_says("archive", true)
    }

    /// Whether those of every host are.
    pub(crate) fn archives_all(&self) -> bool {
        self.archive.enabled && !self.some_site_says("archive", false)
    }

    /// Whether the pages of some host are searchable.
    pub(crate) fn indexes_some(&self) -> bool {
        self.index.enabled || self.some_site_says("index", true)
    }

    fn some_site_says(&self, section: &str, enabled: bool) -> bool {
        let says = |site: &SiteConfig| {
            let said = site.0.get(section).and_then(|table| table.get("enabled"));
            said.and_then(toml::Value::as_bool) == Some(enabled)
        };
        self.site.iter().any(says)
    }
}

fn check_site(base: &CollectionConfig, site: &SiteConfig) -> Result<(), Senseless> {
    let of_match = |message: String| Senseless::new("", MATCH, message);
    let example = "write `match = [\"www.example.org\", \"*.example.pt\", \"10.0.0.0/8\"]`";
    let is_list = match site.0.get(MATCH) {
        None => {
            // A word that is almost the right one is told where it stands.
            let mut words = site.0.iter().filter(|(_, value)| !value.is_table());
            if let Some((word, _)) = words.find(|(word, _)| nearest(word, &[MATCH]).is_some()) {
                let message = format!("there is no setting `{word}` here; did you mean `{MATCH}`?");
                return Err(Senseless::new("", word.clone(), message).called_unknown());
            }
            return Err(of_match(format!(
                "it is missing, and nobody knows for which hosts this is; {example}"
            )));
        }
        Some(toml::Value::Array(several)) => several.iter().all(toml::Value::is_str),
        Some(one) => one.is_str(),
    };
    if !is_list || site.hosts().is_empty() {
        return Err(of_match(format!("it names no hosts; {example}")));
    }
    let patterns = site.patterns().map_err(of_match)?;
    let range = patterns.iter().find(|pattern| pattern.is_range());
    if let Some(range) = range
        && base.fetch.proxy.is_some()
    {
        return Err(of_match(format!(
            "`{range}` is a range of addresses, and with `proxy` in [fetch] only the proxy knows the addresses of hosts; name the hosts"
        )));
    }
    for leaf in leaves(&site.0, "") {
        check_leaf(&leaf, range)?;
    }
    let mut table = toml::Table::try_from(base).unwrap_or_default();
    site.over(&mut table);
    let merged: CollectionConfig = table
        .try_into()
        .map_err(|error: toml::de::Error| of_match(error.message().to_owned()))?;
    let checked = merged.check().and_then(|()| merged.check_secrets());
    checked.map_err(|senseless| {
        if site.has(&senseless.section, &senseless.key) {
            senseless
        } else {
            of_match(senseless.to_string())
        }
    })
}

fn check_leaf(leaf: &Leaf, range: Option<&HostPattern>) -> Result<(), Senseless> {
    let Leaf {
        section,
        key,
        value,
    } = leaf;
    let wrong = |message: String| Err(Senseless::new(section.clone(), key.clone(), message));
    if section.is_empty() && key == "login" {
        return wrong(
            "a login has a `match` of its own; write [[login]] beside the sites".to_owned(),
        );
    }
    let known = sections();
    let own = known.iter().find(|(name, _)| name == section);
    let Some((_, keys)) = own else {
        // The section itself is what is misspelt.
        let (above, name) = section.rsplit_once('.').unwrap_or(("", section.as_str()));
        let names = known.iter().map(|(name, _)| *name);
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        let meant = match nearest(section, &names) {
            Some(near) => format!("did you mean [site.{near}]?"),
            None => "`teia config` lists them all".to_owned(),
        };
        let told = format!("there is no section [site.{section}]; {meant}");
        let place = Senseless::new(above.to_owned(), name.to_owned(), told);
        return Err(place.called_unknown());
    };
    if !keys.contains(key) {
        let near = if section.is_empty() && key.contains("match") {
            format!("there is no setting `{key}` here; did you mean `{MATCH}`?")
        } else {
            nearest_setting(key, section)
        };
        return Err(Senseless::new(section.clone(), key.clone(), near).called_unknown());
    }
    let path = [section.as_str(), key.as_str()].join(".");
    if known
        .iter()
        .any(|(name, _)| *name == path.trim_start_matches('.'))
    {
        let name = path.trim_start_matches('.');
        return wrong(format!("it is a section; write [site.{name}]"));
    }
    match reach(section, key) {
        Err(why) => {
            return wrong(format!("it cannot differ from host to host: {why}"));
        }
        Ok(Reach::Name) => {
            if let Some(range) = range {
                return wrong(format!(
                    "it cannot follow an address (`{range}`), which is known only once a host was looked up: name the hosts, or put it into a [[site]] of its own; what can is [politeness], [robots], the limits of [fetch], `retries` and the like"
                ));
            }
        }
        Ok(Reach::Address) => {}
    }
    // Each alone, so that the message is that of the right line.
    let mut table = toml::Table::new();
    let mut inner = &mut table;
    for name in section.split('.').filter(|name| !name.is_empty()) {
        let below = inner
            .entry(name)
            .or_insert_with(|| toml::Table::new().into());
        let toml::Value::Table(below) = below else {
            return Ok(());
        };
        inner = below;
    }
    inner.insert(key.clone(), value.clone());
    match table.try_into::<CollectionConfig>() {
        Ok(_) => Ok(()),
        Err(error) => {
            let range = sensible(section, key);
            wrong(for_people(error.message(), key, "", range))
        }
    }
}

/// Sites as a file has them; `[site]` is a slip that deserves a better word than "a list".
pub(crate) fn read_sites<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<SiteConfig>, D::Error> {
    let toml::Value::Array(several) = toml::Value::deserialize(deserializer)? else {
        return Err(D::Error::custom(
            "a site is written with two brackets, because there may be several: [[site]]",
        ));
    };
    let site = |value: toml::Value| match value {
        toml::Value::Table(table) => Ok(SiteConfig(table)),
        other => Err(D::Error::custom(format!(
            "`{other}` is no site; write [[site]], and below it `match` and what is different there"
        ))),
    };
    several.into_iter().map(site).collect()
}
