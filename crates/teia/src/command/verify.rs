//! `teia verify`: every byte of a collection read again, and what is damaged named with what helps.

mod catalog;

use std::process::ExitCode;

use anyhow::{Error, Result};
use serde_json::{Value, json};
use teia_archive::{Captures, Scrubbed};
use teia_base::Files;
use teia_engine::{
    CollectionConfig, Directory, EngineError, Layout, Reading, Removals, begun_damage,
    damaged_events, deliveries_damage,
};
use teia_graph::{GraphConfig, RankFile, Snapshot};
use teia_web::{Tokens, damaged_audit};

use super::place::Place;
use crate::show::outln;

/// Restoring is all that helps: nothing else has it.
const FROM_A_COPY: &str = "restore it from a copy";

/// What was found so far.
struct Report<'a> {
    place: &'a Place,
    problems: Vec<Value>,
    is_journal_whole: bool,
}

impl Report<'_> {
    /// Something is wrong, and this helps.
    fn add(&mut self, part: &str, what: impl Into<Error>, help: &str) {
        self.add_text(part, &format!("{:#}", what.into()), help);
    }

    fn add_text(&mut self, part: &str, what: &str, help: &str) {
        self.problems
            .push(json!({ "part": part, "what": what, "help": help }));
    }

    /// A command that helps.
    fn command(&self, words: &[&str]) -> String {
        format!("`{}`", self.place.command(words))
    }
}

/// Verifies one collection.
pub(crate) fn verify(place: &Place) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let mut report = Report {
        place,
        problems: Vec::new(),
        is_journal_whole: true,
    };
    let layout = reading.layout().clone();
    let files = reading.files();
    if let Err(error) = CollectionConfig::load(&*files, reading.root(), &layout) {
        report.add("settings", error, "mend the file, it is text");
    }
    let resume = report.command(&["resume"]);
    for (error, has_copy) in Removals::damage(&*files, &layout) {
        let error = EngineError::disk("read", "the removals")(error);
        let help = if has_copy {
            format!("its copy is whole and counts: {resume} writes it again")
        } else {
            FROM_A_COPY.to_owned()
        };
        report.add("removals", error, &help);
    }
    notes(&mut report, &directory, &*files, &layout);
    let urls = journal_and_urls(&mut report, &reading)?;
    let records = archive(&mut report, &reading);
    index(&mut report, &directory, &layout);
    links(&mut report, &reading);
    let rows = catalog::catalog(&mut report, &directory, &reading);
    let is_whole = report.problems.is_empty();
    outln!(
        "{}",
        json!({
            "collection": layout.name(),
            "urls": urls,
            "records": records,
            "catalog_rows": rows,
            "problems": report.problems,
        })
    )?;
    Ok(if is_whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What lies beside the collected: who may manage, who changed what, what was said, and what waits to be told.
fn notes(report: &mut Report<'_>, directory: &Directory, files: &dyn Files, layout: &Layout) {
    if let Err(error) = Tokens::of(directory.root()).list() {
        report.add("tokens", error, FROM_A_COPY);
    }
    let lines = "nothing else depends on it: read the line, then restore the file from a copy or take the line out";
    for what in damaged_audit(directory.root()) {
        report.add_text("audit log", &what, lines);
    }
    for what in damaged_events(files, layout) {
        report.add_text("events", &what, lines);
    }
    if let Some(what) = begun_damage(files) {
        let help = "remove the file, and begin the runs again that were to go on after a restart";
        report.add_text("begun runs", &what, help);
    }
    if let Some(what) = deliveries_damage(files, layout) {
        let help = "restore it from a copy while nothing runs; the next run that tells somebody goes on with what is good of it, and sets it aside";
        report.add_text("messages to webhooks", &what, help);
    }
}

/// The journal with its history, what was saved of it on the way, and the blocks of URLs.
fn journal_and_urls(report: &mut Report<'_>, reading: &Reading) -> Result<Value> {
    let mut is_whole = true;
    for damage in reading.verify_journal()? {
        is_whole = false;
        report.add("journal", damage, FROM_A_COPY);
    }
    report.is_journal_whole = is_whole;
    let resume = report.command(&["resume"]);
    let help = if is_whole {
        format!("nothing is lost, the journal has it: {resume} makes it anew")
    } else {
        "the journal is damaged too: restore that first".to_owned()
    };
    if let Err(error) = reading.verify_state() {
        report.add("state", error, &help);
    }
    match reading.repository() {
        Ok(repository) => {
            for problem in repository.verify().unwrap_or_default().problems {
                report.add_text("urls", &problem.to_string(), &help);
            }
            Ok(json!(repository.len()))
        }
        Err(error) if !is_whole || matches!(error, EngineError::Urls(_)) => {
            report.add("urls", error, &help);
            Ok(Value::Null)
        }
        Err(error) => Err(error.into()),
    }
}

/// Every record of the archive with its digests, its index, and whether it has what the journal names.
fn archive(report: &mut Report<'_>, reading: &Reading) -> u64 {
    let (files, folder) = (reading.files(), reading.layout().archive());
    let scrubbed = Captures::open(files, &folder).and_then(|captures| captures.scrub());
    let scrubbed = match scrubbed {
        Ok(scrubbed) => scrubbed,
        Err(error) => {
            report.add("archive", error, FROM_A_COPY);
            return 0;
        }
    };
    let resume = report.command(&["resume"]);
    let index_help =
        format!("nothing is lost, the records have it: {resume} writes the index anew");
    for wound in &scrubbed.wounds {
        let (file, offset) = (wound.file.display(), wound.offset);
        let url = wound.url.as_deref().unwrap_or("an unknown URL");
        let what = format!("{file} at byte {offset}, {url}: {}", wound.what);
        if wound.is_of_index {
            report.add_text("archive index", &what, &index_help);
        } else {
            report.add_text("archive", &what, FROM_A_COPY);
        }
    }
    missing_files(report, reading, &scrubbed);
    scrubbed.records
}

/// Files that are gone. The journal knows them; where it is damaged, or of another time, the index may.
fn missing_files(report: &mut Report<'_>, reading: &Reading, scrubbed: &Scrubbed) {
    let folder = reading.layout().archive();
    let mut missing = scrubbed.missing.clone();
    // A journal that cannot be read is told of already.
    for lost in reading
        .lost_captures(&scrubbed.captures)
        .unwrap_or_default()
    {
        if lost.file_exists {
            let path = folder.join(&lost.file);
            let (path, count, url) = (path.display(), lost.count, lost.url);
            let what = format!(
                "{path} and the files before it lack {count} captures that the journal names, the first of them of {url}"
            );
            report.add_text("archive", &what, FROM_A_COPY);
        } else {
            let count = missing.entry(lost.file).or_default();
            *count = lost.count.max(*count);
        }
    }
    for (file, count) in missing {
        let path = folder.join(file);
        let what = format!(
            "{} is missing, and with it {count} captures",
            path.display()
        );
        report.add_text("archive", &what, FROM_A_COPY);
    }
}

fn index(report: &mut Report<'_>, directory: &Directory, layout: &Layout) {
    let path = directory.root().join(layout.index());
    if !path.is_dir() {
        return;
    }
    let help = report.command(&["index", "rebuild"]);
    match teia_search::verify(&path) {
        Ok(damaged) => {
            for file in damaged {
                let what = format!("{} is damaged: its check sum differs", file.display());
                report.add_text("index", &what, &help);
            }
        }
        Err(error) => report.add("index", error, &help),
    }
}

fn links(report: &mut Report<'_>, reading: &Reading) {
    let (files, prefix) = (reading.files(), reading.layout().links());
    let config = GraphConfig::default();
    let graph = Snapshot::open(&*files, &prefix, &config).and_then(|graph| graph.verify());
    if let Err(error) = graph {
        let help = report.command(&["index", "rebuild", "--links"]);
        report.add("links", error, &help);
    }
    let ranks = RankFile::open(&*files, &prefix, &config);
    let ranks = ranks.and_then(|ranks| ranks.map_or(Ok(()), |ranks| ranks.verify()));
    if let Err(error) = ranks {
        let help = report.command(&["rank"]);
        report.add("ranks", error, &help);
    }
}
