//! What a collection would do, in words.

use std::path::Path;

use teia_base::measure::{format_duration, format_size};
use teia_base::scope::Scope;

use crate::EngineError;
use crate::collection::{CollectionConfig, Mode};
use crate::limits::hosts_at_once;
use crate::sites::SiteConfig;

/// Seeds that are named one by one.
const NAMED: usize = 5;

/// One sentence for each decision.
pub fn in_words(name: &str, config: &CollectionConfig) -> Vec<String> {
    let mut words = vec![seeds(name, config)];
    words.extend(place(config));
    words.extend(documents(config));
    words.extend(manners(config));
    words.extend(ends(config));
    words.push(keeps(config));
    words.extend(crate::logins::in_words(config));
    words.extend(sites(config));
    words.extend(config.webhook.in_words());
    words
}

/// How many seeds there are in the file that the settings name; the directory is that of the collection's file.
pub fn seeds_file_in_words(
    config: &CollectionConfig,
    directory: &Path,
) -> Result<Option<String>, EngineError> {
    let Some(file) = &config.seeds_file else {
        return Ok(None);
    };
    let count = config.seeds_in_file(directory)?.len() as u64;
    let file = file.display();
    Ok(Some(format!(
        "In {file} there {} now; it is read again at each start (seeds-file).",
        match count {
            1 => "is 1 seed".to_owned(),
            count => format!("are {}", counted(count, "seed")),
        }
    )))
}

/// What is different for some hosts.
fn sites(config: &CollectionConfig) -> Vec<String> {
    let tell = |site: &SiteConfig| {
        let changes = match site.in_words().join(", ") {
            none if none.is_empty() => "nothing is different".to_owned(),
            some => some,
        };
        format!("For {}: {changes}.", site.hosts().join(", "))
    };
    let mut words: Vec<String> = config.site.iter().map(tell).collect();
    if words.len() > 1 {
        words.push("A host for which several of these are goes by each setting as the last of them has it.".to_owned());
    }
    words
}

fn seeds(name: &str, config: &CollectionConfig) -> String {
    let seeds = &config.seeds;
    let file = config.seeds_file.as_ref().map(|file| file.display());
    if seeds.is_empty() {
        return match file {
            Some(file) => format!("{name} begins at the seeds in {file}."),
            None => format!("{name} has no seeds: `teia crawl` must name some."),
        };
    }
    let named: Vec<&str> = seeds.iter().take(NAMED).map(String::as_str).collect();
    let more = match seeds.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let file = file.map_or_else(String::new, |file| format!(", and at the seeds in {file}"));
    format!(
        "{name} begins at {}: {}{more}{file}.",
        counted(seeds.len() as u64, "seed"),
        named.join(", ")
    )
}

fn place(config: &CollectionConfig) -> Vec<String> {
    let filter = &config.filter;
    let around = match &filter.scope {
        Scope::Host => "It stays on the hosts of the seeds".to_owned(),
        Scope::Domain => "It stays on the sites of the seeds, with all hosts below them".to_owned(),
        Scope::Prefix => "It stays below the directories of the seeds".to_owned(),
        Scope::Any => "It goes wherever links lead".to_owned(),
        scope => format!("It stays on hosts whose name ends so: {scope}"),
    };
    let hosts = match filter.hosts.as_slice() {
        [] => String::new(),
        hosts => format!(", and on {}", hosts.join(", ")),
    };
    let mut words = vec![format!("{around}{hosts} (filter.scope, filter.hosts).")];
    for (list, what) in [
        (&filter.directories, "Only URLs in these directories enter"),
        (
            &filter.include,
            "Only URLs enter in which one of these matches",
        ),
        (
            &filter.exclude,
            "URLs are left out in which one of these matches",
        ),
    ] {
        if !list.is_empty() {
            words.push(format!("{what}: {}.", list.join("  ")));
        }
    }
    if let Some(depth) = filter.max_depth {
        words.push(format!(
            "It follows links {} far from a seed.",
            counted(depth.into(), "hop")
        ));
    }
    if let Some(depth) = filter.max_path_depth {
        words.push(format!(
            "URLs with more than {} are left out.",
            counted(depth as u64, "path segment")
        ));
    }
    words.push(if config.run.ignore_robots {
        "It fetches also what robots.txt asks robots not to: only right on hosts of your own."
            .to_owned()
    } else {
        "It reads each host's robots.txt first, and keeps to it.".to_owned()
    });
    words
}

fn documents(config: &CollectionConfig) -> Vec<String> {
    let filter = &config.filter;
    let types: Vec<String> = filter.types.iter().map(ToString::to_string).collect();
    let mut kept = match types.as_slice() {
        [] => "Documents of every type are kept".to_owned(),
        types => format!("Documents of these types are kept: {}", types.join(", ")),
    };
    if !filter.languages.is_empty() {
        kept.push_str(&format!(", in {}", filter.languages.join(", ")));
    }
    kept.push_str(&format!(", up to {} each.", format_size(filter.max_size)));
    let mut words = vec![kept];
    if !filter.or_languages.is_empty() {
        words.push(format!(
            "Pages outside that are in {} are kept too.",
            filter.or_languages.join(", ")
        ));
    }
    if !filter.words.is_empty()
        || !filter.text_include.is_empty()
        || !filter.text_exclude.is_empty()
    {
        words.push(
            "Their text decides as well (filter.words, filter.text-include, filter.text-exclude)."
                .to_owned(),
        );
    }
    if filter.requisites && config.archive.enabled {
        words.push(
            "Images, styles and scripts of kept pages are fetched wherever they are.".to_owned(),
        );
    }
    words
}

fn manners(config: &CollectionConfig) -> Vec<String> {
    let politeness = &config.politeness;
    let mut rest = format!(
        "It asks a host one thing at a time and then rests {}",
        format_duration(politeness.delay)
    );
    if politeness.latency_factor > 0 && !politeness.delay.is_zero() {
        rest.push_str(&format!(
            ", longer where the host is slow ({} times its answer, at most {})",
            politeness.latency_factor,
            format_duration(politeness.delay * 10)
        ));
    }
    rest.push_str(&format!(
        " or its robots.txt asks for it (at most {}).",
        format_duration(politeness.max_crawl_delay)
    ));
    let beside = match config.schedule.weight {
        1 => None,
        weight => Some(format!(
            "While collections that run at once want to ask more than {} together, or to read more pages than the machine can, it gets {weight} times as much as one with a weight of 1; else its weight changes nothing.",
            counted(hosts_at_once(None) as u64, "host")
        )),
    };
    let hosts = match config.run.hosts_at_once {
        Some(hosts) => counted(hosts as u64, "host"),
        None => format!(
            "{} on this machine",
            counted(hosts_at_once(None) as u64, "host")
        ),
    };
    let mut words = vec![
        rest,
        format!(
            "It asks at most {hosts} at once, and gives up on a document after {}.",
            format_duration(config.fetch.timeout)
        ),
        match config.run.retries {
            0 => "A failure is not tried again.".to_owned(),
            retries => format!(
                "A failure that may pass is tried {} more, after {} and then ever longer.",
                counted(retries.into(), "time"),
                format_duration(politeness.retry_wait)
            ),
        },
        format!("It says that it is {}.", config.fetch.user_agent),
    ];
    words.extend(beside);
    if let Some(bandwidth) = config.fetch.bandwidth {
        words.push(format!(
            "It receives at most {} a second.",
            format_size(bandwidth)
        ));
    }
    if let Some(share) = config.run.cpu_share {
        words.push(format!(
            "Of all cores `teia crawl` takes at most {share}, averaged over time; in `teia serve`, where runs share a process, reading its pages does (run.cpu-share)."
        ));
    }
    if let Some(proxy) = &config.fetch.proxy {
        words.push(format!(
            "It goes through the proxy {}.",
            proxy.without_password().as_str()
        ));
    }
    if config.fetch.allow_private {
        words.push("It visits private and loopback addresses as well.".to_owned());
    }
    words
}

fn ends(config: &CollectionConfig) -> Vec<String> {
    let filter = &config.filter;
    let mut limits = Vec::new();
    if let Some(pages) = filter.max_pages {
        limits.push(counted(pages, "document"));
    }
    if let Some(bytes) = filter.max_bytes {
        limits.push(format_size(bytes));
    }
    if let Some(time) = config.run.max_time {
        limits.push(format_duration(time));
    }
    if let Some(deadline) = config.schedule.deadline {
        limits.push(format!("{} since its beginning", format_duration(deadline)));
    }
    let is_endless = config.mode == Mode::Incremental;
    let mut words = vec![match limits.as_slice() {
        [] if is_endless => "A run goes on until it is stopped.".to_owned(),
        limits if is_endless => format!("A run ends after {}.", limits.join(" or ")),
        [] => "A run ends when nothing more is due within a minute.".to_owned(),
        limits => format!(
            "A run ends after {}, or when nothing more is due within a minute.",
            limits.join(" or ")
        ),
    }];
    if let Some(pages) = filter.max_pages_per_host {
        words.push(format!(
            "Of one host it takes {} in a run.",
            counted(pages, "document")
        ));
    }
    words.push(match config.mode {
        Mode::Periodic => {
            "Each run visits everything again, from the seeds on (mode periodic).".to_owned()
        }
        Mode::Incremental => format!(
            "A page is visited again {} after its last visit (mode incremental).",
            format_duration(config.run.revisit)
        ),
        Mode::Once => "A URL that was fetched is not fetched again (mode once).".to_owned(),
    });
    words.extend(begins(config));
    words
}

/// When runs begin by themselves.
fn begins(config: &CollectionConfig) -> Vec<String> {
    let schedule = &config.schedule;
    let mut words = Vec::new();
    if schedule.is_set() {
        let beat = schedule.beat();
        let start = schedule.start.as_ref();
        let start = start.map_or(String::new(), |start| format!(", from {start} on"));
        words.push(format!(
            "While `teia serve` runs, a run begins {beat}{start} ({}).",
            schedule.time_zone
        ));
        if let Some(end) = &schedule.end {
            words.push(format!(
                "No run begins after {end} ({}).",
                schedule.time_zone
            ));
        }
    }
    if let Some(window) = &schedule.window {
        words.push(format!(
            "It makes requests only at {window} ({}).",
            schedule.time_zone
        ));
    }
    words
}

fn keeps(config: &CollectionConfig) -> String {
    let parts = [
        (config.archive.enabled, "the pages themselves (WARC)"),
        (config.index.enabled, "a search index"),
        (config.links.enabled, "the links between pages"),
        (config.catalog.enabled, "a catalog in SQL"),
    ];
    let kept: Vec<&str> = parts
        .iter()
        .filter_map(|(is_kept, name)| is_kept.then_some(*name))
        .collect();
    match kept.as_slice() {
        [] => "It keeps outcomes and links only: no page, no index, no catalog.".to_owned(),
        kept => format!("It keeps {}.", kept.join(", ")),
    }
}

/// "1 host", "1 234 hosts".
fn counted(count: u64, one: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {one}{many}", group(count))
}

/// With a space after each three digits.
fn group(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
