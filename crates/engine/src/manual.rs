//! The manual of collection files: every setting with its default and its meaning.

use crate::collection::CollectionConfig;
use crate::logins::LoginConfig;
use crate::sense::sensible;
use crate::sites::{MATCH, SiteConfig};
use crate::unset::place_of;

/// A section of a collection file: its name, and the struct whose fields are its settings. The doc
/// comments of the fields, as they stand in the source, are the one manual there is.
struct Section {
    name: &'static str,
    structure: &'static str,
    source: &'static str,
}

const SECTIONS: [Section; 16] = [
    Section {
        name: "",
        structure: "CollectionConfig",
        source: include_str!("collection.rs"),
    },
    Section {
        name: "schedule",
        structure: "ScheduleConfig",
        source: include_str!("schedule.rs"),
    },
    Section {
        name: "run",
        structure: "RunConfig",
        source: include_str!("collection.rs"),
    },
    Section {
        name: "filter",
        structure: "FilterConfig",
        source: include_str!("../../base/src/filter/config.rs"),
    },
    Section {
        name: "traps",
        structure: "TrapsConfig",
        source: include_str!("traps/config.rs"),
    },
    Section {
        name: "politeness",
        structure: "Politeness",
        source: include_str!("../../frontier/src/politeness.rs"),
    },
    Section {
        name: "fetch",
        structure: "FetchConfig",
        source: include_str!("../../fetch/src/config.rs"),
    },
    Section {
        name: "robots",
        structure: "Config",
        source: include_str!("../../fetch/src/robots/standing.rs"),
    },
    Section {
        name: "extract",
        structure: "Limits",
        source: include_str!("../../extract/src/limits.rs"),
    },
    Section {
        name: "archive",
        structure: "ArchiveSection",
        source: include_str!("collection.rs"),
    },
    Section {
        name: "archive.warc",
        structure: "ArchiveConfig",
        source: include_str!("../../archive/src/config.rs"),
    },
    Section {
        name: "index",
        structure: "IndexSection",
        source: include_str!("followers/config.rs"),
    },
    Section {
        name: "links",
        structure: "LinksSection",
        source: include_str!("followers/config.rs"),
    },
    Section {
        name: "catalog",
        structure: "CatalogSection",
        source: include_str!("followers/config.rs"),
    },
    Section {
        name: "webhook",
        structure: "WebhookConfig",
        source: include_str!("webhook/config.rs"),
    },
    Section {
        name: "normal-form",
        structure: "NormalForm",
        source: include_str!("../../base/src/canonical.rs"),
    },
];

/// One setting, as its struct has it.
#[derive(Debug, PartialEq)]
struct Setting {
    key: String,
    meaning: Vec<String>,
    is_optional: bool,
}

impl Section {
    /// The fields of the struct, in their order.
    fn settings(&self) -> Vec<Setting> {
        let opening = format!("pub struct {} {{", self.structure);
        let mut settings = Vec::new();
        let mut meaning = Vec::new();
        let body = self.source.lines().skip_while(|line| *line != opening);
        for line in body.skip(1).take_while(|line| *line != "}") {
            let line = line.trim();
            if let Some(text) = line.strip_prefix("///") {
                meaning.push(text.trim().to_owned());
            } else if line.starts_with("pub site:") || line.starts_with("pub login:") {
                // Whole sections, several of each, which are told of at the end.
                meaning.clear();
            } else if let Some((field, kind)) = line
                .strip_prefix("pub ")
                .and_then(|rest| rest.split_once(':'))
            {
                settings.push(Setting {
                    key: field.replace('_', "-"),
                    meaning: std::mem::take(&mut meaning),
                    is_optional: kind.trim_start().starts_with("Option<"),
                });
            }
        }
        settings
    }

    /// What the section above it says of it.
    fn meaning(&self) -> Vec<String> {
        let (above, key) = self.name.rsplit_once('.').unwrap_or(("", self.name));
        SECTIONS
            .iter()
            .filter(|section| section.name == above)
            .flat_map(Self::settings)
            .filter(|setting| setting.key == key)
            .flat_map(|setting| setting.meaning)
            .collect()
    }

    /// The section's table in the defaults.
    fn table<'a>(&self, defaults: &'a toml::Table) -> Option<&'a toml::Table> {
        self.name
            .split('.')
            .filter(|name| !name.is_empty())
            .try_fold(defaults, |table, name| table.get(name)?.as_table())
    }
}

/// A collection file with every setting, its default, and its meaning as a comment.
pub fn manual() -> String {
    let head = "# Every setting of a collection with its default; put the ones you change into FILE.toml\n# and run `teia crawl --config FILE.toml`, or edit collections/NAME.toml in the data directory.\n\n";
    format!("{head}{}", annotated(&CollectionConfig::default()))
}

/// A collection file with every setting and what it means.
pub fn annotated(config: &CollectionConfig) -> String {
    let mut out = String::new();
    let defaults: toml::Table = config.to_toml().parse().unwrap_or_default();
    for section in &SECTIONS {
        let Some(table) = section.table(&defaults) else {
            continue;
        };
        if !section.name.is_empty() {
            for text in section.meaning() {
                out.push_str(&format!("# {text}\n"));
            }
            out.push_str(&format!("[{}]\n\n", section.name));
        }
        for setting in section.settings() {
            let key = &setting.key;
            let line = match table.get(key) {
                // Its own section comes later.
                Some(toml::Value::Table(_)) => continue,
                Some(value) => format!("{key} = {value}"),
                None => place_of(key),
            };
            for text in &setting.meaning {
                out.push_str(&format!("# {text}\n"));
            }
            if let Some(range) = sensible(section.name, key) {
                out.push_str(&format!("# ({range})\n"));
            }
            out.push_str(&format!("{line}\n\n"));
        }
    }
    out.push_str(LOGINS);
    match config.login.as_slice() {
        [] => out.push_str(LOGIN_EXAMPLE),
        logins => {
            let table = [("login", logins)];
            let table: std::collections::BTreeMap<_, _> = table.into_iter().collect();
            out.push_str(&toml::to_string(&table).unwrap_or_default());
        }
    }
    out.push('\n');
    out.push_str(SITES);
    match config.site.as_slice() {
        [] => out.push_str(SITE_EXAMPLE),
        sites => {
            let table = toml::Table::from_iter([("site".to_owned(), sites_as_toml(sites))]);
            out.push_str(&toml::to_string(&table).unwrap_or_default());
        }
    }
    out
}

/// What the manual says of logins.
const LOGINS: &str = "\
# Logins: as many of these as you like. `match` names hosts (`www.example.org`, or `*.example.pt` for it and all below
# it); `https://` before it keeps the secret off http, `:8443` after it is a port other than the usual one, and a path
# (`/private/`) keeps it to that path and below. `kind` is `basic` or `digest` (a user and a password, said when the server asks),
# `bearer` (a token), `cookie` (cookies that a browser has saved, as a cookies.txt) or `form` (a user and a password in the
# form at `form-url`, see docs/logins.md). The secret lies in a variable of the environment (`secret-variable`) or in a file (`secret-file`, with its whole path), never here. Redirects to other
# hosts do not get it. Where several match a URL, the last counts.
";
const LOGIN_EXAMPLE: &str = "\
# [[login]]
# match = \"https://www.example.org/private/\"
# kind = \"basic\"
# user = \"ann\"
# secret-variable = \"TEIA_EXAMPLE_PASSWORD\"
";

/// What the manual says of sites.
const SITES: &str = "\
# Other settings for some hosts: as many of these as you like. `match` names hosts (`www.example.org`,
# or `*.example.pt` for it and all below it) or ranges of addresses (`10.0.0.0/8`). Below it stands what is
# different there, in the sections above. Where several match a host, each is laid over those before it: of
# two that say something of the same setting, the last counts. What is for the whole run cannot differ, and
# addresses are known only once a host was looked up: they can decide [politeness], [robots], the limits
# of [fetch], `retries`, `ignore-robots`, `max-redirects`, `insecure-redirects`, `sitemaps`,
# `sitemap-files`, `revisit`, `max-pages-per-host` and `urls-per-host-day`.
";
const SITE_EXAMPLE: &str = "\
# [[site]]
# match = [\"*.example.pt\", \"www.example.org\"]
# [site.politeness]
# delay = \"10s\"
# [site.filter]
# max-size = \"1MB\"
";

fn sites_as_toml(sites: &[SiteConfig]) -> toml::Value {
    let values = sites.iter().map(toml::Value::try_from);
    toml::Value::Array(values.filter_map(Result::ok).collect())
}

/// A setting as a form shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// Where it stands: `politeness.delay`.
    pub key: String,
    /// What it means, and what it may be.
    pub meaning: String,
    /// Its value; null where it is not set.
    pub value: serde_json::Value,
    /// Whether it is a list.
    pub is_list: bool,
}

/// Every setting of a collection, in the order of the manual.
pub fn described(config: &CollectionConfig) -> Vec<Described> {
    let table: toml::Table = config.to_toml().parse().unwrap_or_default();
    let mut all = Vec::new();
    for section in &SECTIONS {
        let Some(table) = section.table(&table) else {
            continue;
        };
        for setting in section.settings() {
            let value = table.get(&setting.key);
            if matches!(value, Some(toml::Value::Table(_))) {
                continue;
            }
            let mut meaning = setting.meaning.join(" ");
            if let Some(range) = sensible(section.name, &setting.key) {
                meaning.push_str(&format!(" ({range})"));
            }
            let value = value.and_then(|value| serde_json::to_value(value).ok());
            all.push(Described {
                key: [section.name, &setting.key]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join("."),
                meaning,
                is_list: matches!(value, Some(serde_json::Value::Array(_))),
                value: value.unwrap_or_default(),
            });
        }
    }
    for number in 0..=config.login.len() {
        // One more can be begun.
        all.extend(of_login(number, config.login.get(number)));
    }
    for (number, site) in config.site.iter().enumerate() {
        let prefix = format!("site.{}", number + 1);
        all.push(of_hosts(&prefix, &site.hosts()));
        for (key, value) in site.settings() {
            let value = serde_json::to_value(value).unwrap_or_default();
            let like = all.iter().find(|known| known.key == key);
            let meaning = like.map_or_else(String::new, |like| like.meaning.clone());
            all.push(Described {
                meaning,
                key: format!("{prefix}.{key}"),
                is_list: value.is_array(),
                value,
            });
        }
    }
    // One more can be begun.
    all.push(of_hosts(&format!("site.{}", config.site.len() + 1), &[]));
    all
}

fn of_login(number: usize, login: Option<&LoginConfig>) -> Vec<Described> {
    const LOGIN: Section = Section {
        name: "login",
        structure: "LoginConfig",
        source: include_str!("logins/config.rs"),
    };
    let table = login.and_then(|login| toml::Table::try_from(login).ok());
    let table = table.unwrap_or_default();
    let settings = LOGIN.settings().into_iter();
    settings
        .map(|setting| {
            let is_list = matches!(setting.key.as_str(), "hosts" | "form-fields");
            let key = match setting.key.as_str() {
                "hosts" => MATCH,
                key => key,
            };
            let value = table.get(key).and_then(|it| serde_json::to_value(it).ok());
            Described {
                key: format!("login.{}.{key}", number + 1),
                meaning: setting.meaning.join(" "),
                value: value.unwrap_or_else(|| {
                    if is_list {
                        [""; 0].into()
                    } else {
                        serde_json::Value::Null
                    }
                }),
                is_list,
            }
        })
        .collect()
}

fn of_hosts(prefix: &str, hosts: &[&str]) -> Described {
    Described {
        key: format!("{prefix}.{MATCH}"),
        meaning: "Hosts with settings of their own: `www.example.org`, `*.example.pt` for it and all below it, \
                  or a range of addresses such as `10.0.0.0/8`. What is different there is written in the \
                  file, below `[[site]]`."
            .to_owned(),
        value: hosts.iter().copied().collect(),
        is_list: true,
    }
}

#[cfg(test)]
fn defaults() -> toml::Table {
    CollectionConfig::default()
        .to_toml()
        .parse()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_there_once_with_its_meaning() {
        let defaults = defaults();
        for section in &SECTIONS {
            let table = section.table(&defaults).expect(section.name);
            let has_meaning = section.name.is_empty() || !section.meaning().is_empty();
            assert!(has_meaning, "[{}]", section.name);
            let settings = section.settings();
            for setting in &settings {
                assert!(!setting.meaning.is_empty(), "{setting:?} has no meaning");
                let key = &setting.key;
                let is_set = table.contains_key(key);
                assert!(is_set || setting.is_optional, "[{}] {key}", section.name);
            }
            for key in table.keys() {
                let count = settings
                    .iter()
                    .filter(|setting| setting.key == *key)
                    .count();
                assert_eq!(count, 1, "[{}] {key}", section.name);
            }
        }
    }

    #[test]
    fn no_section_is_forgotten() {
        fn count(table: &toml::Table) -> usize {
            let tables = table.values().filter_map(toml::Value::as_table);
            1 + tables.map(count).sum::<usize>()
        }
        assert_eq!(count(&defaults()), SECTIONS.len());
    }

    #[test]
    fn what_a_setting_may_be_is_told() {
        let text = manual();
        assert!(
            text.contains("# (a number from 1 to 12)\nlevel = 1\n"),
            "{text}"
        );
        assert!(
            text.contains("# (a number of 1 or more)\n# max-pages = …"),
            "{text}"
        );
    }

    #[test]
    fn what_is_unset_is_shown_too() {
        let text = manual();
        for key in [
            "max-pages",
            "max-depth",
            "max-time",
            "hosts-at-once",
            "proxy",
            "bandwidth",
        ] {
            assert!(text.contains(&format!("# {key} = …    (unset)")), "{key}");
        }
    }

    #[test]
    fn sizes_and_durations_are_written_for_people() {
        let text = manual();
        for line in [
            "max-size = \"16MB\"",
            "timeout = \"2m\"",
            "max-file-bytes = \"1GiB\"",
            "commit-bytes = \"16MiB\"",
            "delay = \"1s\"",
        ] {
            assert!(text.contains(line), "no {line} in {text}");
        }
        // A number of a million or more is a size in disguise.
        let disguised = |line: &&str| {
            line.split_once(" = ")
                .and_then(|(_, value)| value.parse::<u64>().ok())
                .is_some_and(|number| number >= 1_000_000)
        };
        assert_eq!(text.lines().find(disguised), None);
    }

    #[test]
    fn what_is_printed_can_be_read_back() {
        let again = CollectionConfig::parse(&manual()).unwrap();
        assert_eq!(again.to_toml(), CollectionConfig::default().to_toml());
    }
}
