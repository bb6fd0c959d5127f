//! One run over a web of a few written answers.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::sync::Arc;
use std::time::Duration;

use teia_base::journal::Attempt;
use teia_base::{Files, SimulatedDisk};
use teia_engine::{CollectionConfig, Control, Parts, Report};

use crate::script::Script;
use crate::support::{attempts, crawl_on};

pub(crate) const SEED: &str = "http://a.test/";

pub(crate) fn config() -> CollectionConfig {
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::ZERO;
    config.politeness.retry_wait = Duration::from_millis(5);
    config.robots.first_retry = Duration::from_millis(5);
    config.run.commit_every = Duration::from_millis(20);
    // Chains of pages that say nothing are what these tests are made of.
    config.traps.enabled = false;
    config
}

/// Runs to the end over this script; returns the report and every attempt of the journal.
pub(crate) fn run(script: &Script, config: &CollectionConfig) -> (Report, Vec<Attempt>) {
    run_with(script, config, Parts::default())
}

pub(crate) fn run_with(
    script: &Script,
    config: &CollectionConfig,
    parts: Parts,
) -> (Report, Vec<Attempt>) {
    run_on(&SimulatedDisk::new(), script, config, parts)
}

pub(crate) fn run_on(
    disk: &SimulatedDisk,
    script: &Script,
    config: &CollectionConfig,
    parts: Parts,
) -> (Report, Vec<Attempt>) {
    let parts = Parts {
        fetcher: Some(Arc::new(script.clone())),
        ..parts
    };
    let files: Arc<dyn Files> = Arc::new(disk.clone());
    let seeds = [SEED.to_owned()];
    let report = crawl_on(files, config, &seeds, parts, &Control::default()).unwrap();
    (report, attempts(disk))
}

pub(crate) fn of<'a>(attempts: &'a [Attempt], url: &str) -> Vec<&'a Attempt> {
    attempts
        .iter()
        .filter(|attempt| attempt.url.normal().as_str() == url && !attempt.is_robots())
        .collect()
}

pub(crate) fn links(urls: &[&str]) -> String {
    let link = |url: &&str| format!("<a href=\"{url}\">to {url}</a> ");
    urls.iter().map(link).collect()
}

/// Pages that each link to the next.
pub(crate) fn chain(length: usize, text: &str) -> Script {
    let mut script = Script::default().html(SEED, &format!("{text} {}", links(&["/1"])));
    for n in 1..length {
        let next = if n + 1 < length {
            links(&[&format!("/{}", n + 1)])
        } else {
            String::new()
        };
        script = script.html(&format!("http://a.test/{n}"), &format!("{n} {text} {next}"));
        if length > 1000 && n > 2000 {
            break;
        }
    }
    script
}
