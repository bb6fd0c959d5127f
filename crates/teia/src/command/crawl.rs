//! `teia crawl`, `teia resume`, `teia demo`.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::show::{lines, outln};
use anyhow::{Context, Result};
use teia_base::Seed;
use teia_engine::{
    CollectionConfig, Control, ControlSocket, Crawl, Directory, DirectoryLock, EndReason,
    EngineError, EventLog, Executor, Layout, Parts, Reading, Report, Run, RunChanges, ThisMachine,
    Watch, ask, run_of,
};

use super::Usage;
use super::options::CrawlOptions;
use super::place::{Place, program, quoted};
use super::search;
use super::signals;
use super::status::{self, Order};
use crate::demo::DemoWeb;
use crate::show::{ProgressBar, counted, print_summary};

/// Collects, beginning at the seeds.
pub(crate) fn crawl(place: &Place, seeds: &[String], options: &CrawlOptions) -> Result<ExitCode> {
    Layout::new(place.name())?;
    if let Some(empty) = seeds.iter().find(|seed| seed.trim().is_empty()) {
        return Err(Usage(format!(
            "`{empty}` is no seed; write a URL or a host name, for example example.org"
        ))
        .into());
    }
    let mut given: Vec<String> = seeds.to_vec();
    let lines = options.seed_lines()?;
    let parsed = parse_seeds(&given, &lines)?;
    given.extend(
        lines
            .into_iter()
            .filter(|line| matches!(Seed::parse(line), Ok(Some(_)))),
    );
    for seed in &mut given {
        if let Some(bare) = without_login(seed) {
            eprintln!(
                "teia: the user name and password before {} are neither used nor stored: logins are not taken from URLs",
                bare.split("://").last().unwrap_or(&bare)
            );
            *seed = bare;
        }
    }
    let directory = Directory::create(&place.data)?;
    let lock = directory.lock()?;
    let done = crawl_in(place, &directory, lock.clone(), options, parsed, given);
    // A refused command leaves nothing behind.
    if done.as_ref().is_err_and(|error| super::code_of(error) == 2) {
        directory.take_back(lock);
    }
    done
}

fn crawl_in(
    place: &Place,
    directory: &Directory,
    lock: DirectoryLock,
    options: &CrawlOptions,
    parsed: Vec<Seed>,
    given: Vec<String>,
) -> Result<ExitCode> {
    let layout = Layout::new(place.name())?;
    let files = directory.files();
    let stored = CollectionConfig::load(&*files, directory.root(), &layout)?;
    let mut config = options.base(stored.unwrap_or_default())?;
    options.apply(&mut config)?;
    options.check_secrets(&config)?;
    let mut all = parsed;
    if options.config.is_some() || all.is_empty() {
        all.extend(parse_seeds(&config.seeds, &[])?);
    }
    if all.is_empty() && config.seeds_file.is_none() {
        return Err(EngineError::NoSeeds.into());
    }
    for seed in given {
        if !config.seeds.contains(&seed) {
            config.seeds.push(seed);
        }
    }
    let report = run(
        place,
        directory,
        lock,
        (config, Save::Yes),
        all,
        Control::default(),
        options.report.as_deref(),
    )?;
    Ok(exit_code(&report))
}

/// Goes on with a collection.
pub(crate) fn resume(place: &Place, options: &CrawlOptions) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let reading = Reading::open(&directory, place.name())?;
    let stored = CollectionConfig::load(&*reading.files(), reading.root(), reading.layout())?
        .ok_or_else(|| directory.no_collection(place.name()))?;
    let lock = match directory.lock() {
        Ok(lock) => lock,
        // A process that runs and is paused goes on.
        Err(EngineError::InUse { path, holder }) => {
            return resume_running(place, options, path, &holder);
        }
        Err(error) => return Err(error.into()),
    };
    let mut config = options.base(with_run_changes(&reading, stored)?)?;
    options.apply(&mut config)?;
    // A pause, also one that a process before this one was told of, ends here.
    let control = Control::default();
    control.resume();
    let lines = options.seed_lines()?;
    let mut seeds = parse_seeds(&config.seeds, &[])?;
    seeds.extend(parse_seeds(&[], &lines)?);
    let report = run(
        place,
        &directory,
        lock,
        (config, Save::No),
        seeds,
        control,
        options.report.as_deref(),
    )?;
    Ok(exit_code(&report))
}

/// A run that goes on has what was changed for it alone, as far as that goes together with its file.
fn with_run_changes(reading: &Reading, stored: CollectionConfig) -> Result<CollectionConfig> {
    let changes = RunChanges::read(&reading.files(), reading.layout())?.that_hold(&stored);
    if changes.is_empty() {
        return Ok(stored);
    }
    let names = changes.names().join(", ");
    Ok(match changes.over(&stored) {
        Ok(changed) => {
            eprintln!("note: the run goes on with what was changed for it alone: {names}");
            changed
        }
        Err(why) => {
            eprintln!(
                "teia: the run goes by its file, and not by what was changed for it alone ({names}): {why}"
            );
            stored
        }
    })
}

/// Tells the process that has the directory to go on, if it collects this collection.
fn resume_running(
    place: &Place,
    options: &CrawlOptions,
    path: PathBuf,
    holder: &str,
) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let name = place.name();
    let socket = directory.control_socket();
    let Some(reply) = ask(&socket, "status")? else {
        return Err(in_use(path, holder.to_owned()));
    };
    let place = Place::new(&place.data, name);
    if run_of(&reply, name).is_none() {
        // It would begin with the settings of its file, and go on so until it heard of others.
        if !options.is_empty() && reply["minds"] == true {
            let edit = place.command_of("collection edit", "--set KEY=VALUE");
            return Err(Usage(format!(
                "process {holder} would begin `{name}` with the settings of its file, not with the options given here: `{edit}` changes the file; or `{}` without options, and with them when it runs",
                place.steering("resume")
            ))
            .into());
        }
        // A process that minds several collections begins this one too.
        let started = ask(&socket, &format!("start {name}"))?.unwrap_or_default();
        if started["error"].is_string() {
            let others = status::collected(&reply);
            return Err(in_use(path, format!("{holder}, which collects {others}")));
        }
        outln!("process {holder} goes on with {name}")?;
        return Ok(ExitCode::SUCCESS);
    }
    if !options.is_empty() {
        change_running(&place, options, &socket)?;
    }
    status::tell(&place, Order::Resume)
}

/// Options that are given for a run in another process count for it from now on.
fn change_running(place: &Place, options: &CrawlOptions, socket: &std::path::Path) -> Result<()> {
    let name = place.name();
    let told = |line: String| -> Result<serde_json::Value> {
        let reply = ask(socket, &line)?.unwrap_or_default();
        match reply["error"].as_str() {
            Some(error) => anyhow::bail!("the run of `{name}` was not changed: {error}"),
            None => Ok(reply),
        }
    };
    let settings = told(format!("settings {name}"))?;
    let settings = settings["settings"].as_str().unwrap_or_default();
    let stored = CollectionConfig::parse(settings).map_err(anyhow::Error::msg)?;
    let mut config = options.base(stored)?;
    options.apply(&mut config)?;
    for line in options.seed_lines()? {
        if matches!(Seed::parse(&line), Ok(Some(_))) && !config.seeds.contains(&line) {
            config.seeds.push(line);
        }
    }
    let text = serde_json::Value::from(config.without_secrets().to_toml());
    let reply = told(format!("change {name} {text}"))?;
    outln!("{name}: {}", reply["answer"].as_str().unwrap_or("changed"))?;
    Ok(())
}

fn in_use(path: PathBuf, holder: String) -> anyhow::Error {
    EngineError::InUse { path, holder }.into()
}

/// What the demo proposes to search for.
const DEMO_QUERIES: [&str; 2] = ["kingfisher river", "museu"];

/// Crawls the program's own little web.
pub(crate) fn demo(data: Option<PathBuf>, no_serve: bool) -> Result<ExitCode> {
    let web = DemoWeb::start()?;
    let is_temporary = data.is_none();
    let temporary = std::env::temp_dir().join(format!("teia-demo-{}", std::process::id()));
    let data = data.unwrap_or(temporary);
    let directory = Directory::create(&data)?;
    let lock = directory.lock()?;
    let place = Place::new(&data, "demo");
    let mut config = CollectionConfig::default();
    config.politeness.delay = Duration::from_millis(20);
    config.politeness.retry_wait = Duration::from_millis(100);
    config.robots.first_retry = Duration::from_millis(100);
    config.run.retries = 1;
    config.fetch.resolve = web.resolve();
    config.run.disk_reserve = Some(0);
    config.seeds = web.seeds();
    outln!(
        "A small web of {} runs on {}; collecting it.",
        counted(web.hosts().len() as u64, "host"),
        web.addr()
    )?;
    let seeds = parse_seeds(&config.seeds, &[])?;
    let settings = (config, Save::Yes);
    let control = Control::default();
    let report = run(&place, &directory, lock, settings, seeds, control, None)?;
    let first = web.seeds().first().cloned().unwrap_or_default();
    outln!()?;
    outln!("What to try next:")?;
    let found = search::first_that_finds(&place.data, place.name(), &DEMO_QUERIES);
    let query = found.map_or(DEMO_QUERIES[0], |(query, _)| query);
    let search = match found {
        Some((_, total)) => format!("a search ({})", counted(total, "result")),
        None => "a search".to_owned(),
    };
    for (meaning, command) in [
        ("the life of one URL", place.command(&["page", &first])),
        (
            "the page as it was fetched",
            place.command(&["get", &first]),
        ),
        ("the collection in numbers", place.command(&["stats"])),
        (
            "a site of your own",
            format!("{} crawl YOUR-SITE.example --max-pages 100", program()),
        ),
        (&search, place.command(&["search", query])),
    ] {
        outln!("  {meaning}:\n    {command}")?;
    }
    if is_temporary {
        let shown = quoted(&data.to_string_lossy());
        outln!("\nThe collection lies in {shown}; when you have seen enough: rm -r {shown}")?;
    }
    if !no_serve && report.reason != EndReason::Interrupted {
        outln!()?;
        // Any port will do when the usual one is taken.
        return super::serve::serve_anywhere(&data);
    }
    Ok(exit_code(&report))
}

fn exit_code(report: &Report) -> ExitCode {
    match report.reason {
        EndReason::Interrupted => ExitCode::from(130),
        _ => ExitCode::SUCCESS,
    }
}

fn parse_seeds(given: &[String], lines: &[String]) -> Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    for text in given {
        seeds.extend(parse_seed(text).map_err(Usage)?);
    }
    for (at, line) in lines.iter().enumerate() {
        let seed = parse_seed(line);
        seeds
            .extend(seed.map_err(|error| Usage(format!("line {} of the seeds: {error}", at + 1)))?);
    }
    Ok(seeds)
}

fn parse_seed(text: &str) -> Result<Option<Seed>, String> {
    match Seed::parse(text) {
        Ok(Some(seed)) if !matches!(seed.url.scheme(), "http" | "https") => Err(format!(
            "`{text}` cannot be collected: {} is not built yet, so far there are http and https",
            seed.url.scheme()
        )),
        Ok(seed) => Ok(seed),
        Err(error) => Err(error.to_string()),
    }
}

/// The seed without user name and password, if it has them: settings are no place for secrets.
fn without_login(seed: &str) -> Option<String> {
    let start = seed.find("://").map_or(0, |at| at + 3);
    let rest = &seed[start..];
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let at = rest[..end].rfind('@')?;
    Some(format!("{}{}", &seed[..start], &rest[at + 1..]))
}

/// Settings that a person should not forget, because they stay with the collection.
fn warn_of_risky_settings(config: &CollectionConfig) {
    let risky = [
        (
            config.run.ignore_robots,
            "robots.txt is ignored (run.ignore-robots; --respect-robots takes it back)",
        ),
        (
            config.fetch.allow_private,
            "private addresses are visited (fetch.allow-private; --refuse-private takes it back)",
        ),
        (
            config.fetch.certificates == teia_fetch::Certificates::Accept,
            "bad certificates are accepted (fetch.certificates; --check-certificates takes it back)",
        ),
    ];
    for (_, what) in risky.iter().filter(|(is, _)| *is) {
        eprintln!("note: {what}");
    }
}

/// The variable with the proxy's password: it is in no file, and in no list of processes.
const PROXY_PASSWORD: &str = "TEIA_PROXY_PASSWORD";

/// The settings with the proxy's password, from the environment; one that was typed counts for this
/// run.
pub(crate) fn with_proxy_password(mut config: CollectionConfig) -> CollectionConfig {
    let Some(proxy) = &config.fetch.proxy else {
        return config;
    };
    if proxy.has_password() {
        lines::say(&format!(
            "note: the proxy's password is used for this run and not stored; {PROXY_PASSWORD} gives it to the next ones"
        ));
    } else if let Some(password) = std::env::var(PROXY_PASSWORD)
        .ok()
        .filter(|_| proxy.wants_password())
    {
        config.fetch.proxy = Some(proxy.with_password(&password));
    }
    config
}

/// Whether the settings become those of the collection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Save {
    Yes,
    No,
}

/// Runs a crawl with progress, signals and the control socket, and prints its summary.
fn run(
    place: &Place,
    directory: &Directory,
    lock: DirectoryLock,
    (config, save): (CollectionConfig, Save),
    seeds: Vec<Seed>,
    control: Control,
    report_form: Option<&str>,
) -> Result<Report> {
    let json = report_form == Some("json");
    let resume = place.steering("resume");
    let progress = Arc::new(ProgressBar::new(
        place.name(),
        &resume,
        std::io::stderr().is_terminal(),
    ));
    warn_of_risky_settings(&config);
    let config = with_proxy_password(config);
    let _signals = signals::listen(control.clone()).context("cannot listen for signals")?;
    let runtime = runtime()?;
    let layout = Layout::new(place.name())?;
    let watch = Watch::new(Arc::clone(&progress) as Arc<dyn teia_engine::Feedback>);
    let watch = Arc::new(watch.writing(EventLog::of(directory.files(), layout.clone())));
    let parts = Parts {
        feedback: Arc::clone(&watch) as Arc<dyn teia_engine::Feedback>,
        ..Parts::default()
    };
    let crawl = Crawl {
        files: directory.files(),
        root: directory.root().to_owned(),
        key: directory.key(),
        layout,
        config,
        save: save == Save::Yes,
        seeds,
        parts,
        control: control.clone(),
    };
    let report = runtime.block_on(async {
        let run = Run {
            name: place.name().to_owned(),
            control,
            watch,
        };
        let _socket = ControlSocket::open(&directory.control_socket(), Arc::new(run))?;
        Ok::<_, anyhow::Error>(ThisMachine.run(crawl).await?)
    });
    progress.finish();
    drop(lock);
    let report = report?;
    if json {
        outln!("{}", report.to_json())?;
    } else {
        print_summary(&report, &resume, std::io::stdout().is_terminal())?;
    }
    Ok(report)
}

/// On few cores one thread does all the waiting: fetching and the ring's loop then wake each other
/// for nothing, where threads would pay a fifth of the processor time for it.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = if cores < 4 {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    builder.enable_all().build()
}
