//! `teia urls`: the list of URLs itself, without a crawl: add, list, count, export, verify, repair, rekey.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use teia_base::{CanonicalUrl, NormalForm, SystemClock};
use teia_engine::{
    CollectionConfig, Directory, EngineError, INVALID_TOLD, Layout, Reading, UrlList, WithoutEnd,
    forget_urls, go_on_without_end,
};
use teia_graph::Snapshot;
use teia_repository::blocks::StoreError;
use teia_repository::{Repository, State, UrlState};

use super::Usage;
use super::export::Sink;
use super::place::Place;
use super::url_lines::Lines;
use crate::show::{cut, group, harmless, outln};

/// URLs in one commit, about.
const BATCH: usize = 20_000;
/// What was read is committed after this time, however little it is.
const PATIENCE: Duration = Duration::from_millis(500);

/// What to do with the URLs of a collection.
#[derive(Debug, Subcommand)]
pub(crate) enum Do {
    /// Add URLs, one a line, and say how many are new
    Add {
        /// From this file; `-` or nothing for standard input
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Memory for URLs; beyond it they go on disk
        #[arg(long, value_name = "SIZE", value_parser = size)]
        memory: Option<u64>,
    },
    /// Show URLs with their state
    List {
        #[command(flatten)]
        which: Which,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u64,
        /// With the number of pages that link to each, from the link graph
        #[arg(long)]
        in_links: bool,
    },
    /// Count URLs, in each state
    Count {
        #[command(flatten)]
        which: Which,
    },
    /// Write URLs out, tab-separated
    Export {
        #[command(flatten)]
        which: Which,
        /// Into this file; standard output if not given
        #[arg(long, short, value_name = "PATH")]
        output: Option<PathBuf>,
        /// Replace the file
        #[arg(long)]
        force: bool,
        /// With the number of pages that link to each, from the link graph
        #[arg(long)]
        in_links: bool,
    },
    /// Check every byte of the URLs on disk
    Verify,
    /// Go on with all that can still be read of a journal that is damaged, or of which a file is gone; where only the
    /// URLs on disk are damaged, make them again from the journal
    Repair,
    /// Move to the normal form that the collection's file says now (`[normal-form]`)
    Rekey,
}

/// Which URLs.
#[derive(Clone, Debug, Args)]
pub(crate) struct Which {
    /// Of this host
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// In this state: waiting, fetched, gone, failed, excluded
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<State>,
    /// That begin so
    #[arg(long, value_name = "URL")]
    prefix: Option<String>,
}

/// How many pages link to a URL, each once, as they were when they were last fetched.
struct InLinks(Option<Snapshot>);

impl InLinks {
    /// The link graph knows, if it is asked for.
    fn open(data: &Path, collection: &str, wanted: bool) -> Result<Self> {
        if !wanted {
            return Ok(Self(None));
        }
        let directory = Directory::open(data)?;
        let reading = Reading::open(&directory, collection)?;
        let (files, layout) = (reading.files(), reading.layout());
        let config = CollectionConfig::load(&*files, directory.root(), layout)?.unwrap_or_default();
        let snapshot = Snapshot::open(&*files, &layout.links(), &config.links.graph())?;
        if snapshot.position() == 0 {
            let rebuild = Place::new(data, collection).command(&["index", "rebuild", "--links"]);
            let text = format!("there is no link graph to ask for in-links; `{rebuild}` makes it");
            return Err(Usage(text).into());
        }
        Ok(Self(Some(snapshot)))
    }

    /// As one more cell of a line.
    fn cell(&self, url: &UrlState) -> std::io::Result<String> {
        let Some(snapshot) = &self.0 else {
            return Ok(String::new());
        };
        let counts = snapshot.counts(url.url.normal());
        let counts = counts.map_err(std::io::Error::other)?;
        Ok(format!("\t{}", counts.map_or(0, |counts| counts.in_links)))
    }
}

fn state(text: &str) -> Result<State, String> {
    let found = State::ALL.into_iter().find(|state| state.name() == text);
    found.ok_or_else(|| "use waiting, fetched, gone, failed or excluded".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let size = teia_base::measure::parse_size(text).map_err(|error| error.to_string())?;
    // What a collection file may say.
    let mut config = CollectionConfig::default();
    config.run.repository_memory = size;
    config
        .check()
        .map(|()| size)
        .map_err(|error| error.to_string())
}

/// Does it.
pub(crate) fn urls(data: &Path, collection: &str, what: &Do) -> Result<ExitCode> {
    match what {
        Do::Add { file, memory } => add(data, collection, file.as_deref(), *memory),
        Do::List {
            which,
            limit,
            in_links,
        } => {
            let in_links = InLinks::open(data, collection, *in_links)?;
            let mut left = *limit;
            let mut out = std::io::stdout().lock();
            each(data, collection, which, &mut |url| {
                if left == 0 {
                    return Ok(ControlFlow::Break(()));
                }
                left -= 1;
                let cell = in_links.cell(url)?;
                writeln!(out, "{}\t{}{cell}", url.state.name(), url.url.normal())?;
                Ok(ControlFlow::Continue(()))
            })
        }
        Do::Count { which } => {
            let mut counts = [0_u64; 5];
            let counted = each(data, collection, which, &mut |url| {
                counts[url.state as usize] += 1;
                Ok(ControlFlow::Continue(()))
            });
            // Where a page cannot be read, the others are counted.
            if counted.is_err() && counts == [0; 5] {
                return counted;
            }
            let states: serde_json::Map<String, serde_json::Value> = State::ALL
                .iter()
                .map(|state| (state.name().to_owned(), counts[*state as usize].into()))
                .collect();
            outln!(
                "{}",
                json!({ "urls": counts.iter().sum::<u64>(), "states": states })
            )?;
            counted
        }
        Do::Export {
            which,
            output,
            force,
            in_links,
        } => {
            let in_links = InLinks::open(data, collection, *in_links)?;
            let output = output.as_deref().filter(|path| *path != Path::new("-"));
            let mut out = Sink::open(output, *force)?;
            let title = in_links.0.as_ref().map_or("", |_| "\tin_links");
            writeln!(out, "url\tstate\tdepth\tfirst_seen{title}")?;
            let told = each(data, collection, which, &mut |url| {
                let (normal, state) = (url.url.normal(), url.state.name());
                let cell = in_links.cell(url)?;
                let (depth, first_seen) = (url.depth, url.first_seen);
                writeln!(out, "{normal}\t{state}\t{depth}\t{first_seen}{cell}")?;
                Ok(ControlFlow::Continue(()))
            });
            out.finish()?;
            told
        }
        Do::Verify => verify(data, collection),
        Do::Repair => repair(data, collection),
        Do::Rekey => rekey(data, collection),
    }
}

fn open(directory: &Directory, layout: &Layout, memory: Option<u64>) -> Result<UrlList> {
    let lock = directory.lock()?;
    let files = directory.files();
    let mut config = CollectionConfig::load(&*files, directory.root(), layout)?.unwrap_or_default();
    if let Some(memory) = memory {
        config.run.repository_memory = memory;
    }
    let clock = Arc::new(SystemClock);
    Ok(UrlList::open(
        &files,
        directory.root(),
        directory.key(),
        layout,
        &config,
        clock,
        lock,
    )?)
}

/// What was wrong with blocks that were given up, whose URLs the journal has.
fn damage_in(done: Result<(), EngineError>) -> Result<Option<StoreError>> {
    match done {
        Err(EngineError::UrlsForgotten(damage)) => Ok(Some(damage)),
        done => Ok(done.map(|()| None)?),
    }
}

fn go_on(list: UrlList, damage: &StoreError) -> Result<UrlList> {
    eprintln!("teia: {damage}; all URLs are made again from the journal, which is whole");
    Ok(list.reopened()?)
}

fn add(
    data: &Path,
    collection: &str,
    file: Option<&Path>,
    memory: Option<u64>,
) -> Result<ExitCode> {
    let began = Instant::now();
    let input = Lines::read(file)?;
    let directory = Directory::create(data)?;
    let layout = Layout::new(collection)?;
    let mut list = open(&directory, &layout, memory)?;
    // With its file it is a collection, which can be crawled.
    let files = directory.files();
    if CollectionConfig::load(&*files, directory.root(), &layout)?.is_none() {
        CollectionConfig::default().save(None, &*files, directory.root(), &layout)?;
    }
    let stop = stop_on_signal()?;
    let is_terminal = std::io::stderr().is_terminal();
    let mut told = began;
    let mut is_end = false;
    while !is_end && !stop.load(Ordering::Relaxed) {
        let batch = input.next(BATCH, PATIENCE)?;
        is_end = batch.is_end;
        let lines = || batch.lines.iter().map(String::as_str);
        if let Some(damage) = damage_in(list.add(lines()))? {
            list = go_on(list, &damage)?;
        }
        warn(&mut list);
        if is_terminal && told.elapsed() >= Duration::from_millis(250) {
            told = Instant::now();
            let report = list.report();
            eprint!(
                "\r{}{} URLs read, {} new\x1b[K",
                bar(input.share(), began.elapsed()),
                group(report.read),
                group(report.new)
            );
        }
    }
    if is_terminal {
        eprint!("\rdeciding which of them are new\x1b[K");
    }
    if let Some(damage) = damage_in(list.decide().map(drop))? {
        list = go_on(list, &damage)?;
    }
    let report = list.decide()?;
    if is_terminal {
        eprint!("\r\x1b[K");
    }
    warn(&mut list);
    outln!(
        "{}",
        json!({
            "read": report.read,
            "new": report.new,
            "known": report.known(),
            "invalid": report.invalid,
            "seconds": began.elapsed().as_secs_f64(),
        })
    )?;
    let untold = report.invalid.saturating_sub(INVALID_TOLD);
    if untold > 0 {
        eprintln!("teia: {} more lines are no URLs", group(untold));
    }
    if !is_end {
        eprintln!(
            "teia: stopped; what was read is there, and adding the file again adds the rest (known URLs are passed over)"
        );
        return Ok(ExitCode::from(130));
    }
    Ok(ExitCode::SUCCESS)
}

/// How far the file was read, as people see it, and how long the rest takes at that speed.
fn bar(share: Option<f64>, elapsed: Duration) -> String {
    const WIDTH: usize = 24;
    let Some(share) = share else {
        return String::new();
    };
    let filled = (0..WIDTH).take_while(|cell| (*cell as f64) < share * WIDTH as f64);
    let filled = filled.count();
    let left = match share {
        0.01.. => {
            let left = elapsed.mul_f64((1.0 - share) / share).as_secs();
            match left {
                0..60 => format!(" {left} s left,"),
                _ => format!(" {} min left,", left.div_ceil(60)),
            }
        }
        _ => String::new(),
    };
    format!(
        "[{}{}] {:.0} %,{left} ",
        "#".repeat(filled),
        ".".repeat(WIDTH - filled),
        share * 100.0
    )
}

fn warn(list: &mut UrlList) {
    for warning in list.take_warnings() {
        // A line of a list may be anything, and as long as it likes.
        eprintln!("teia: {}", cut(&harmless(&warning), 300));
    }
}

/// A flag that SIGINT and SIGTERM set: the commit under way is finished.
fn stop_on_signal() -> Result<Arc<AtomicBool>> {
    use tokio::signal::unix::{SignalKind, signal};
    let flag = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        )
    };
    let raised = Arc::clone(&flag);
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        raised.store(true, Ordering::Relaxed);
    });
    Ok(flag)
}

/// The name of a host as its URLs have it: small letters, and others than ASCII in their encoded form. Of a URL it is the host.
fn host_as_kept(name: &str) -> String {
    let name = name.split_once("://").map_or(name, |(_, rest)| rest);
    let name = name.split('/').next().unwrap_or(name);
    let url = NormalForm::default().parse(&format!("http://{name}/"));
    url.map_or_else(
        |_| name.to_lowercase(),
        |url| url.normal().host_str().to_owned(),
    )
}

/// The beginning of URLs, with scheme and host as they have them; the rest is what it is.
fn prefix_as_kept(prefix: &str) -> String {
    let Some((scheme, rest)) = prefix.split_once("://") else {
        return prefix.to_lowercase();
    };
    let host = rest.find(['/', '?', '#', ':']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(host);
    // Without a path it may be a part of a name.
    let host = if path.is_empty() {
        host.to_lowercase()
    } else {
        host_as_kept(host)
    };
    format!("{}://{host}{path}", scheme.to_lowercase())
}

/// Whether URLs may begin so: with a scheme, or a part of one.
fn begins_a_url(prefix: &str) -> bool {
    let schemes = ["http://", "https://", "ftp://", "file://", "smb://"];
    prefix.contains("://") || schemes.iter().any(|it| it.starts_with(prefix))
}

/// The host of URLs that begin so, where the whole of its name is there.
fn host_of(prefix: &str) -> Option<String> {
    let (_, rest) = prefix.split_once("://")?;
    let end = rest.find(['/', '?', ':'])?;
    Some(rest[..end].to_owned())
}

/// Goes through the URLs that are asked for, until one has heard enough.
fn each(
    data: &Path,
    collection: &str,
    which: &Which,
    tell: &mut dyn FnMut(&UrlState) -> std::io::Result<ControlFlow<()>>,
) -> Result<ExitCode> {
    let directory = Directory::open(data)?;
    let reading = Reading::open(&directory, collection)?;
    let mut result = Ok(());
    // As URLs are kept, however a person writes them.
    let host = which.host.as_deref().map(host_as_kept);
    let prefix = which.prefix.as_deref().map(prefix_as_kept);
    if let Some(prefix) = prefix.as_deref().filter(|it| !begins_a_url(it)) {
        let what = format!("no URL begins with `{prefix}`; write --prefix https://{prefix}");
        return Err(Usage(what).into());
    }
    let host = host.or_else(|| prefix.as_deref().and_then(host_of));
    let gone_through = reading.repository()?.for_each_until(
        host.as_deref(),
        |state| which.state.is_none_or(|wanted| wanted == state),
        |url| {
            let text = url.url.normal().as_str();
            if !prefix.as_deref().is_none_or(|it| text.starts_with(it)) {
                return ControlFlow::Continue(());
            }
            match tell(&url) {
                Ok(flow) => flow,
                Err(error) => {
                    result = Err(error);
                    ControlFlow::Break(())
                }
            }
        },
    );
    result?;
    gone_through.map_err(EngineError::from)?;
    Ok(ExitCode::SUCCESS)
}

/// URLs that become one in the new normal form are one afterwards; what was fetched stays fetched.
fn rekey(data: &Path, collection: &str) -> Result<ExitCode> {
    let began = Instant::now();
    let directory = Directory::open(data)?;
    let reading = Reading::open(&directory, collection)?;
    let (files, layout) = (reading.files(), reading.layout());
    let lock = directory.lock()?;
    let config = CollectionConfig::load(&*files, directory.root(), layout)?.unwrap_or_default();
    let is_terminal = std::io::stderr().is_terminal();
    let mut told = began;
    let watch = |done, of| {
        if is_terminal && told.elapsed() >= Duration::from_millis(250) {
            told = Instant::now();
            eprint!("\rentry {done} of {of} \x1b[K");
        }
    };
    let rekeyed = teia_engine::rekey(&directory, &lock, layout, &config, &SystemClock, watch)?;
    if is_terminal {
        eprint!("\r\x1b[K");
    }
    outln!(
        "{}",
        json!({
            "before": rekeyed.before,
            "after": rekeyed.after,
            "seconds": began.elapsed().as_secs_f64(),
        })
    )?;
    tell_what_follows(&reading, data, collection);
    Ok(ExitCode::SUCCESS)
}

/// Index and links went with the old journal; a list that was never crawled has none.
fn tell_what_follows(reading: &Reading, data: &Path, collection: &str) {
    if reading.files().exists(&reading.layout().archive()) {
        let resume = Place::new(data, collection).steering("resume");
        eprintln!("teia: index and links are made again by the next run: `{resume}`");
    }
}

/// What is whole is left as it is; otherwise the collection is made anew of what can be read.
fn repair(data: &Path, collection: &str) -> Result<ExitCode> {
    let began = Instant::now();
    let directory = Directory::open(data)?;
    let reading = Reading::open(&directory, collection)?;
    let (files, layout) = (reading.files(), reading.layout());
    let lock = directory.lock()?;
    let config = CollectionConfig::load(&*files, directory.root(), layout)?.unwrap_or_default();
    if reading.verify_journal()?.is_empty() {
        let damaged = match reading.repository() {
            Ok(repository) => repository
                .verify()
                .map_or(0, |report| report.problems.len()),
            Err(EngineError::Urls(_)) => 1,
            Err(error) => return Err(error.into()),
        };
        let clock = SystemClock;
        let without_end = go_on_without_end(&directory, &lock, layout, &config, &clock)?;
        if let Some(it) = &without_end {
            tell_of_lost_end(it)?;
        }
        if damaged == 0 && without_end.is_some() {
            return Ok(ExitCode::SUCCESS);
        }
        if damaged == 0 {
            eprintln!(
                "teia: journal and URLs of '{collection}' are whole: there is nothing to repair"
            );
            return Ok(ExitCode::SUCCESS);
        }
        if !forget_urls(&files, layout, &lock)? {
            let verify = Place::new(data, collection).command(&["urls", "verify"]);
            anyhow::bail!(
                "the URLs on disk are damaged, and the journal cannot be read to its end; nothing was changed (`{verify}` says where)"
            );
        }
        let (root, key) = (directory.root(), directory.key());
        let clock = Arc::new(SystemClock);
        let mut list = UrlList::open(&files, root, key, layout, &config, clock, lock)?;
        list.decide()?;
        warn(&mut list);
        outln!(
            "{}",
            json!({
                "lost_entries": 0,
                "urls": list.repository().len(),
                "recovered": 0,
                "recovered_visits": 0,
                "seconds": began.elapsed().as_secs_f64(),
            })
        )?;
        eprintln!("teia: the journal is whole, and the URLs on disk were made again from it");
        return Ok(ExitCode::SUCCESS);
    }
    let is_terminal = std::io::stderr().is_terminal();
    let mut told = began;
    let watch = |done| {
        if is_terminal && told.elapsed() >= Duration::from_millis(250) {
            told = Instant::now();
            eprint!("\rentry {done} \x1b[K");
        }
    };
    let repaired = teia_engine::repair(&directory, &lock, layout, &config, &SystemClock, watch)?;
    if is_terminal {
        eprint!("\r\x1b[K");
    }
    let lost = repaired.lost.iter().map(|it| it.entries.clone().count());
    outln!(
        "{}",
        json!({
            "lost_entries": lost.sum::<usize>(),
            "urls": repaired.urls,
            "recovered": repaired.recovered,
            "recovered_visits": repaired.visited,
            "seconds": began.elapsed().as_secs_f64(),
        })
    )?;
    for lost in &repaired.lost {
        let (first, last) = (lost.entries.start(), lost.entries.end());
        let file = lost.before.display();
        eprintln!("teia: entries {first} to {last} of the journal are lost, before {file}");
    }
    tell_what_follows(&reading, data, collection);
    Ok(ExitCode::SUCCESS)
}

/// What is lost with the end of an archive, and how it goes on.
fn tell_of_lost_end(it: &WithoutEnd) -> Result<()> {
    let lost: Vec<&str> = it.lost.iter().map(CanonicalUrl::as_str).collect();
    outln!(
        "{}",
        json!({
            "archive_file": it.file,
            "committed_bytes": it.committed,
            "found_bytes": it.found,
            "begun": it.begun,
            "lost_captures": lost.len(),
            "lost_urls": lost,
        })
    )?;
    eprintln!(
        "teia: of {} {} of {} bytes are there: whole records stay, {} copies are lost (`lost_urls`), and the next run goes on in {}",
        it.file,
        it.found,
        it.committed,
        lost.len(),
        it.begun
    );
    Ok(())
}

fn verify(data: &Path, collection: &str) -> Result<ExitCode> {
    let directory = Directory::open(data)?;
    let reading = Reading::open(&directory, collection)?;
    // Each frame of the journal with its checksum; then the blocks.
    let damage = reading.verify_journal()?;
    let mut problems: Vec<String> = damage.iter().map(ToString::to_string).collect();
    let manifests = reading.verify_manifests();
    problems.extend(manifests.iter().map(ToString::to_string));
    let state = reading.verify_state().err();
    let is_state_whole = state.is_none();
    problems.extend(state.map(|error| format!("{:#}", anyhow::Error::from(error))));
    let repository = match reading.repository() {
        Ok(repository) => Some(repository),
        Err(error) if !problems.is_empty() || matches!(error, EngineError::Urls(_)) => {
            problems.push(format!("{:#}", anyhow::Error::from(error)));
            // Without the journal the blocks can be looked at all the same.
            reading.blocks().ok().flatten()
        }
        Err(error) => return Err(error.into()),
    };
    let report = repository.as_ref().and_then(|it| it.verify());
    let report = report.unwrap_or_default();
    problems.extend(report.problems.iter().map(ToString::to_string));
    problems.dedup();
    let is_whole = problems.is_empty();
    outln!(
        "{}",
        json!({
            "urls": repository.as_ref().map(Repository::len),
            "files": report.files,
            "pages": report.pages,
            "rows": report.rows,
            "problems": problems,
        })
    )?;
    if problems.len() > usize::from(!is_state_whole) {
        let repair = Place::new(data, collection).command(&["urls", "repair"]);
        eprintln!("teia: `{repair}` keeps all that can still be read");
    } else if !is_state_whole {
        eprintln!(
            "teia: nothing is lost: the next run reads the journal instead, and saves it again"
        );
    }
    Ok(if is_whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
