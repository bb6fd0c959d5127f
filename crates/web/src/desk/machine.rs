//! What is decided on the machine alone: over the network no setting names a place on it, sends its secrets
//! away, or opens the network in which it stands.
//!
//! ```text
//! settings before ──┐
//!                   ├─> keep_to_the_machine ──> a refusal, with what to type there
//! settings wanted ──┘        keep_to_operators: of a run under way, only how much and how gently
//! ```
//!
//! What the machine has allowed already stays as it is; only a difference is refused.

use std::collections::BTreeMap;

use teia_base::Seed;
use teia_engine::{CollectionConfig, EngineError, SiteConfig, WrongSetting};
use teia_fetch::leads_inside;

use super::DeskError;

/// Settings, or whole sections, that only a person on the machine changes; of sites too.
const OF_THE_MACHINE: [&str; 13] = [
    "archive.warc.spool-dir",
    "catalog.url",
    "fetch.ca-file",
    "fetch.name-servers",
    "fetch.proxy",
    "fetch.spool-dir",
    "login",
    "run.ignore-robots",
    "seeds-file",
    "webhook.allow-private",
    "webhook.hosts",
    "webhook.secret-file",
    "webhook.secret-variable",
];

/// The same, unless the one who started the server has opened the network around it.
const OF_ITS_NETWORK: [&str; 3] = ["fetch.allow-private", "fetch.allowed", "fetch.resolve"];

/// What an operator may change under a run: how much, what of it, how gently, and when.
const OF_OPERATORS: [&str; 24] = [
    "extract",
    "fetch.bandwidth",
    "fetch.body-decoded-bytes",
    "fetch.body-wire-bytes",
    "fetch.connect-timeout",
    "fetch.document-decoded-bytes",
    "fetch.document-timeout",
    "fetch.document-wire-bytes",
    "fetch.first-byte-timeout",
    "fetch.min-rate",
    "fetch.timeout",
    "filter",
    "match",
    "politeness",
    "robots",
    "run.cpu-share",
    "run.hosts-at-once",
    "run.max-redirects",
    "run.max-time",
    "run.retries",
    "run.revisit",
    "run.sitemap-files",
    "schedule",
    "traps",
];

/// Who may name what lies in the network of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Whoever works on the machine.
    #[default]
    OfTheMachine,
    /// Admins over the network too: the server was started so.
    OfAdmins,
}

/// Whether only a person on the machine changes a setting, of everything or of a site.
pub(super) fn is_of_the_machine(key: &str, inside: Inside) -> bool {
    let (key, is_open) = (without_site(key), inside == Inside::OfAdmins);
    is_in(&OF_THE_MACHINE, key) || (!is_open && is_in(&OF_ITS_NETWORK, key))
}

/// A setting by its name alone: `site.2.politeness.delay` is a delay too.
fn without_site(key: &str) -> &str {
    let of_site = key.strip_prefix("site.");
    let of_site = of_site.and_then(|rest| rest.split_once('.'));
    of_site.map_or(key, |(_, key)| key)
}

/// Refuses other values of what is decided on the machine, and seeds in its network.
pub(super) fn keep_to_the_machine(
    before: &CollectionConfig,
    after: &CollectionConfig,
    inside: Inside,
) -> Result<(), DeskError> {
    let is_kept = |key: &str| is_of_the_machine(key, inside);
    if let Some(key) = first_difference(&leaves(before), &leaves(after), is_kept) {
        let message = told(&key);
        return Err(EngineError::Settings(vec![WrongSetting { key, message }]).into());
    }
    // What such a site says must also go on to say it of the same hosts.
    let of_sites = |config: &CollectionConfig| -> Vec<(Vec<String>, String, toml::Value)> {
        let of_site = |site: &SiteConfig| {
            let hosts: Vec<String> = site.hosts().into_iter().map(str::to_owned).collect();
            let settings = site.settings().into_iter();
            settings
                .filter(|(key, _)| is_kept(key))
                .map(move |(key, value)| (hosts.clone(), key, value))
                .collect::<Vec<_>>()
        };
        config.site.iter().flat_map(of_site).collect()
    };
    let (old, new) = (of_sites(before), of_sites(after));
    if old != new {
        let other = new.iter().find(|one| !old.contains(one));
        let gone = old.iter().find(|one| !new.contains(one));
        let key = other.or(gone).or(new.first()).map_or("site", |one| &one.1);
        return Err(DeskError::Wrong(told(&format!("site.N.{key}"))));
    }
    if inside == Inside::OfAdmins || before.fetch.allow_private {
        return Ok(());
    }
    let new = after.seeds.iter();
    for seed in new.filter(|seed| !before.seeds.contains(seed)) {
        if let Ok(Some(parsed)) = Seed::parse(seed)
            && leads_inside(&parsed.url)
        {
            return Err(DeskError::Wrong(format!(
                "`{seed}` leads into the network of this machine, and such seeds are given there only: with `teia collection edit`, in the file itself, or to everybody who manages with `teia serve --allow-private`"
            )));
        }
    }
    Ok(())
}

/// Refuses what is no matter of limits, scope, filters, politeness or hours.
pub(super) fn keep_to_operators(
    before: &CollectionConfig,
    after: &CollectionConfig,
) -> Result<(), DeskError> {
    let is_kept = |key: &str| !is_in(&OF_OPERATORS, without_site(key));
    let with_sites = |config: &CollectionConfig| {
        let mut all = leaves(config);
        for (number, site) in config.site.iter().enumerate() {
            for (key, value) in site.settings() {
                all.insert(format!("site.{}.{key}", number + 1), value);
            }
        }
        all
    };
    match first_difference(&with_sites(before), &with_sites(after), is_kept) {
        None => Ok(()),
        Some(key) => {
            let message = format!(
                "`{key}` does not change under a run from here: limits, scope, filters, politeness and hours do; an admin changes the rest in the collection itself"
            );
            Err(EngineError::Settings(vec![WrongSetting { key, message }]).into())
        }
    }
}

fn told(key: &str) -> String {
    format!(
        "`{key}` is decided on the machine, and is changed there only: with `teia collection edit`, or in the file itself"
    )
}

/// Whether a list names a setting, or its section.
fn is_in(list: &[&str], key: &str) -> bool {
    list.iter().any(|known| {
        let rest = key.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The first setting that differs and is meant.
fn first_difference(
    before: &BTreeMap<String, toml::Value>,
    after: &BTreeMap<String, toml::Value>,
    is_meant: impl Fn(&str) -> bool,
) -> Option<String> {
    let keys = before.keys().chain(after.keys());
    let mut differ = keys.filter(|key| is_meant(key) && before.get(*key) != after.get(*key));
    differ.next().cloned()
}

/// Every setting with its way, those of sites apart.
fn leaves(config: &CollectionConfig) -> BTreeMap<String, toml::Value> {
    let mut found = BTreeMap::new();
    let mut table = toml::Table::try_from(config.without_secrets()).unwrap_or_default();
    table.remove("site");
    let mut waiting = vec![(String::new(), table)];
    while let Some((way, table)) = waiting.pop() {
        for (key, value) in table {
            let key = if way.is_empty() {
                key
            } else {
                format!("{way}.{key}")
            };
            match value {
                toml::Value::Table(inner) => waiting.push((key, inner)),
                value => drop(found.insert(key, value)),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> CollectionConfig {
        CollectionConfig::parse(text).unwrap()
    }

    #[track_caller]
    fn refused(before: &str, after: &str, word: &str) {
        let (before, after) = (config(before), config(after));
        let error = keep_to_the_machine(&before, &after, Inside::OfTheMachine).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }

    #[test]
    fn what_opens_the_machine_is_refused_of_sites_too_and_what_is_there_stays() {
        for (key, text) in [
            (
                "fetch.proxy",
                "[fetch]\nproxy = \"http://ann@x.example:1\"\n",
            ),
            ("fetch.allow-private", "[fetch]\nallow-private = true\n"),
            ("fetch.resolve", "[fetch]\nresolve = [\"a=127.0.0.1:1\"]\n"),
            (
                "fetch.allowed",
                "[fetch]\nallowed = [[\"127.0.0.1\", 80]]\n",
            ),
            (
                "fetch.name-servers",
                "[fetch]\nname-servers = [\"127.0.0.1:53\"]\n",
            ),
            ("run.ignore-robots", "[run]\nignore-robots = true\n"),
        ] {
            refused("", text, key);
            refused(text, "", key);
            let both = config(text);
            keep_to_the_machine(&both, &both, Inside::OfTheMachine).unwrap();
            if text.contains("resolve") || text.contains("allowed") || text.contains("servers") {
                continue;
            }
            let of_site = text.replace('[', "[site.").replace("[site.\"", "[\"");
            let of_site = format!("[[site]]\nmatch = \"a.example\"\n{of_site}");
            refused("", &of_site, key);
            // Nor may such a site be of other hosts.
            refused(&of_site, &of_site.replace("a.example", "*.example"), key);
            let more =
                format!("{of_site}\n[[site]]\nmatch = \"b.example\"\n[site.run]\nretries = 1\n");
            keep_to_the_machine(&config(&of_site), &config(&more), Inside::OfTheMachine).unwrap();
        }
    }

    #[test]
    fn ui_13_seeds_in_the_network_of_the_machine_are_given_there_only() {
        for seed in [
            "http://127.0.0.9:18099/x",
            "localhost:8080",
            "http://10.1.2.3/",
            "http://169.254.169.254/latest/meta-data/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://intranet/",
            "http://wiki.local/",
            "http://metadata.google.internal/",
        ] {
            let with = format!("seeds = [\"a.example\", \"{seed}\"]\n");
            refused("seeds = [\"a.example\"]\n", &with, seed);
            let (before, after) = (config("seeds = [\"a.example\"]\n"), config(&with));
            keep_to_the_machine(&before, &after, Inside::OfAdmins).unwrap();
            keep_to_the_machine(&after, &after, Inside::OfTheMachine).unwrap();
            let open = config("[fetch]\nallow-private = true\n");
            let more = config(&format!("{with}[fetch]\nallow-private = true\n"));
            keep_to_the_machine(&open, &more, Inside::OfTheMachine).unwrap();
        }
    }

    #[test]
    fn operators_change_how_much_and_how_gently_and_nothing_else() {
        let before = config("seeds = [\"a.example\"]\n");
        for good in [
            "[filter]\nmax-pages = 3\n",
            "[politeness]\ndelay = \"9s\"\n",
            "[schedule]\nwindow = \"01:00-06:00\"\n",
            "[run]\nhosts-at-once = 2\n",
            "[[site]]\nmatch = \"b.example\"\n[site.politeness]\ndelay = \"9s\"\n",
        ] {
            let after = config(&format!("seeds = [\"a.example\"]\n{good}"));
            keep_to_operators(&before, &after).unwrap();
        }
        for bad in [
            "seeds = [\"a.example\", \"b.example\"]\n",
            "seeds = [\"a.example\"]\n[fetch]\nuser-agent = \"Somebody/1.0\"\n",
            "seeds = [\"a.example\"]\n[webhook]\nurls = [\"https://b.example/\"]\n",
            "seeds = [\"a.example\"]\n[[site]]\nmatch = \"a.example\"\n[site.fetch]\nuser-agent = \"Somebody/1.0\"\n",
        ] {
            keep_to_operators(&before, &config(bad)).unwrap_err();
        }
    }
}
