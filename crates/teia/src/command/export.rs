//! `teia export`: what was collected, in the forms that other tools read.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::show::{counted, outln};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use teia_archive::{Captures, CdxEntry, export as archive_export};
use teia_base::{CanonicalUrl, Clock, DiskFiles, SystemClock};
use teia_engine::{CollectionConfig, Directory, Reading, Removals};
use teia_graph::Snapshot;

use super::Usage;
use super::place::Place;
use super::rows::{self, Form};
use super::tables;

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// All captures as one .warc.gz
    Warc,
    /// Captures with index and list of pages, as one .wacz for viewers
    Wacz,
    /// The sorted index of captures
    Cdxj,
    /// Every URL with its state, tab-separated
    Urls,
    /// Every document with what the catalog knows of it; with --table one table of `teia stats`
    Csv,
    /// The same as JSON, one object a line
    Json,
    /// The same as Apache Parquet, for tools that calculate
    Parquet,
    /// Every link: from, to, kind, rel and anchor text, tab-separated
    Links,
    /// One file for each page, into a directory
    Files,
}

/// What was asked for.
#[derive(Debug, Args)]
pub(crate) struct ExportOptions {
    /// What to write
    #[arg(value_enum)]
    what: What,
    /// Into this file, or this directory for `files`; - or nothing for standard output
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Replace the file, or write into a directory that is not empty
    #[arg(long)]
    force: bool,
    /// Only URLs that begin so
    #[arg(long, value_name = "URL")]
    prefix: Option<String>,
    /// With `csv`, `json` and `parquet`: this table of `teia stats` instead of the documents
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// With `files`: what came with an error or a redirect too, not only what was found (2xx)
    #[arg(long)]
    any_status: bool,
}

/// Writes it.
pub(crate) fn export(place: &Place, options: &ExportOptions) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let output = options
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    if options.what == What::Files {
        return export_files(place, &reading, output, options);
    }
    let form = match options.what {
        What::Csv => Some(Form::Csv),
        What::Json => Some(Form::Json),
        What::Parquet => Some(Form::Parquet),
        _ => None,
    };
    if options.table.is_some() && form.is_none() {
        return Err(Usage("--table goes with `csv`, `json` and `parquet` only".to_owned()).into());
    }
    // Asked for before anything is written: a name may be wrong.
    let table = match &options.table {
        Some(name) => {
            let tables = teia_engine::tables(&directory, &reading, &reading.overview()?)?;
            Some(tables::named(tables, name)?)
        }
        None => None,
    };
    let mut sink = Sink::open(output, options.force)?;
    let (count, damaged) = match options.what {
        What::Urls => {
            let count = write_urls(&reading, options.prefix.as_deref(), &mut sink)?;
            (counted(count, "URL"), 0)
        }
        What::Csv | What::Json | What::Parquet => {
            let form = form.unwrap_or(Form::Csv);
            match &table {
                Some(table) => (
                    counted(rows::write_table(table, form, &mut sink)?, "row"),
                    0,
                ),
                None => {
                    let (removals, prefix) = (removals(&reading)?, options.prefix.as_deref());
                    let count = rows::write_documents(
                        &directory, &reading, &removals, prefix, form, &mut sink,
                    )?;
                    (counted(count, "document"), 0)
                }
            }
        }
        What::Links => {
            let count = write_links(place, &reading, options.prefix.as_deref(), &mut sink)?;
            (counted(count, "link"), 0)
        }
        what => {
            let captures = Captures::open(reading.files(), &reading.layout().archive())?;
            let removals = removals(&reading)?;
            let filter = |entry: &CdxEntry| options.takes(entry, &removals);
            let exported = match what {
                What::Warc => archive_export::warc(&captures, &filter, &mut sink)?,
                What::Wacz => {
                    let made = (place.name(), SystemClock.wall());
                    archive_export::wacz(&captures, &filter, made, &mut sink)?
                }
                _ => archive_export::cdxj(&captures, &filter, &mut sink)?,
            };
            (counted(exported.captures, "capture"), exported.damaged)
        }
    };
    sink.finish()?;
    if let Some(output) = output {
        outln!("{count} written to {}", output.display())?;
    }
    tell_damaged(damaged);
    Ok(ExitCode::SUCCESS)
}

fn export_files(
    place: &Place,
    reading: &Reading,
    output: Option<&Path>,
    options: &ExportOptions,
) -> Result<ExitCode> {
    let Some(output) = output else {
        return Err(Usage(format!(
            "name the directory to write the files into: `{}`",
            place.command(&["export", "files", "--output", "DIR"])
        ))
        .into());
    };
    let is_used = std::fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some());
    if is_used && !options.force {
        return Err(Usage(format!(
            "the directory {} is not empty; name another, or add --force to write into it",
            output.display()
        ))
        .into());
    }
    let limits = CollectionConfig::load(&*reading.files(), reading.root(), reading.layout())?
        .unwrap_or_default()
        .decode_limits();
    let captures = Captures::open(reading.files(), &reading.layout().archive())?;
    let target =
        DiskFiles::new(output).with_context(|| format!("cannot make {}", output.display()))?;
    let (mut cut, mut left_out) = (0, 0);
    let removals = removals(reading)?;
    let filter = |entry: &CdxEntry| options.takes(entry, &removals);
    let exported = archive_export::files(&captures, &filter, &target, &mut |capture| {
        if !options.any_status && !(200..300).contains(&capture.response.status) {
            left_out += 1;
            return Ok(None);
        }
        let decoded = teia_fetch::decode(&capture.response, &limits);
        cut += u64::from(decoded.truncated);
        Ok(Some(decoded.bytes.to_vec()))
    })?;
    outln!(
        "{} written to {}",
        counted(exported.captures, "capture"),
        output.display()
    )?;
    if left_out > 0 {
        eprintln!(
            "teia: {} left out because the server did not answer with success (2xx); --any-status takes them too",
            counted(left_out, "capture")
        );
    }
    if cut > 0 {
        eprintln!(
            "teia: {cut} of them cut off, because their bodies are longer than the collection's limits let them unpack"
        );
    }
    tell_damaged(exported.damaged);
    Ok(ExitCode::SUCCESS)
}

impl ExportOptions {
    /// What asks for no copies, or was removed on request, is kept in the archive, and goes nowhere
    /// from there.
    fn takes(&self, entry: &CdxEntry, removals: &Removals) -> bool {
        let prefix = self.prefix.as_deref().unwrap_or("");
        let is_hidden = || CanonicalUrl::parse(&entry.url).is_ok_and(|url| removals.hides(&url));
        !entry.noarchive && entry.url.starts_with(prefix) && !is_hidden()
    }
}

fn removals(reading: &Reading) -> Result<Removals> {
    let read = Removals::read_all_with(&*reading.files(), reading.layout());
    read.context("cannot read the lists of removals")
}

fn tell_damaged(damaged: u64) {
    if damaged > 0 {
        eprintln!(
            "teia: {} left out because the record is damaged",
            counted(damaged, "capture")
        );
    }
}

/// Standard output, or a file that appears when it is whole.
pub(crate) struct Sink {
    out: Box<dyn Write>,
    /// Where it is written, and where it goes.
    aside: Option<(PathBuf, PathBuf)>,
}

impl Sink {
    pub(crate) fn open(output: Option<&Path>, force: bool) -> Result<Self> {
        let Some(path) = output else {
            let out = Box::new(BufWriter::new(std::io::stdout().lock()));
            return Ok(Self { out, aside: None });
        };
        let named = path;
        let create = |path: &Path| {
            let file = File::create(path);
            file.with_context(|| format!("cannot write {}", named.display()))
        };
        let (path, aside) = match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return Err(Usage(format!(
                    "{} is a directory; name a file in it",
                    path.display()
                ))
                .into());
            }
            Ok(found) if found.is_file() && !force => {
                return Err(Usage(format!(
                    "{} exists already; name another file, or add --force to replace it",
                    path.display()
                ))
                .into());
            }
            // A link stays one, and what it leads to is replaced.
            Ok(found) if found.is_file() => (path.canonicalize()?, true),
            // A pipe or a device has nothing to lose.
            Ok(_) => (path.to_owned(), false),
            Err(_) => (path.to_owned(), true),
        };
        if !aside {
            let out = Box::new(BufWriter::new(create(&path)?));
            return Ok(Self { out, aside: None });
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let out = Box::new(BufWriter::new(create(&part)?));
        Ok(Self {
            out,
            aside: Some((part, path)),
        })
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.out.flush()?;
        if let Some((part, path)) = self.aside.take() {
            let moved = File::open(&part)
                .and_then(|file| file.sync_all())
                .and_then(|()| std::fs::rename(&part, &path));
            moved.with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// What was begun and not finished does not stay.
impl Drop for Sink {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.aside {
            let _ = std::fs::remove_file(part);
        }
    }
}

/// One line for each link of each page, as the graph has them now.
fn write_links(
    place: &Place,
    reading: &Reading,
    prefix: Option<&str>,
    out: &mut dyn Write,
) -> Result<u64> {
    let mut count = 0;
    let (files, layout) = (reading.files(), reading.layout());
    let config = CollectionConfig::load(&*files, reading.root(), layout)?.unwrap_or_default();
    let snapshot = Snapshot::open(&*files, &layout.links(), &config.links.graph())?;
    if snapshot.stats().pages == 0 {
        eprintln!(
            "teia: {} has no link graph yet; `{}` makes one from the journal",
            layout.name(),
            place.command(&["index", "rebuild", "--links"])
        );
    }
    let removals = removals(reading)?;
    writeln!(out, "from\tto\tkind\trel\tanchor")?;
    for page in snapshot.pages() {
        let page = page?;
        if prefix.is_some_and(|prefix| !page.starts_with(prefix)) {
            continue;
        }
        let url = CanonicalUrl::from_stored(&page);
        if removals.hides(&url) {
            continue;
        }
        let links = snapshot.out_links(&url, 0, usize::MAX)?;
        for link in links.map_or_else(Vec::new, |links| links.items) {
            if removals.hides(&CanonicalUrl::from_stored(&link.url)) {
                continue;
            }
            for label in &link.labels {
                let rel = match (label.rel.nofollow, label.rel.foreign) {
                    (true, _) => "nofollow",
                    (false, true) => "foreign",
                    (false, false) => "",
                };
                // A tab or a line break in an anchor would begin another column or line.
                let anchor = label.anchor.replace(|c: char| c.is_control(), " ");
                let (to, kind) = (&link.url, label.kind.name());
                writeln!(out, "{page}\t{to}\t{kind}\t{rel}\t{anchor}")?;
                count += 1;
            }
        }
    }
    out.flush()?;
    Ok(count)
}

fn write_urls(reading: &Reading, prefix: Option<&str>, out: &mut dyn Write) -> Result<u64> {
    let mut count = 0;
    let mut repository = reading.repository()?;
    writeln!(
        out,
        "url\tstate\toutcome\tdepth\tfirst_seen\tlast_attempt\trule"
    )?;
    let removals = removals(reading)?;
    let mut written = Ok(());
    let all = |_| true;
    repository.for_each(None, all, |url| {
        let text = url.url.normal().as_str();
        if written.is_err()
            || prefix.is_some_and(|prefix| !text.starts_with(prefix))
            || removals.hides(url.url.normal())
        {
            return;
        }
        count += 1;
        written = writeln!(
            out,
            "{text}\t{}\t{}\t{}\t{}\t{}\t{}",
            url.state.name(),
            url.fetched
                .as_ref()
                .map(|fetched| fetched.outcome.number().to_string())
                .unwrap_or_default(),
            url.depth,
            url.first_seen,
            url.fetched
                .as_ref()
                .map(|fetched| fetched.last_attempt.to_string())
                .unwrap_or_default(),
            url.exclusion
                .as_ref()
                .map(|exclusion| exclusion.rule.as_str())
                .unwrap_or_default(),
        );
    })?;
    written?;
    out.flush()?;
    Ok(count)
}
