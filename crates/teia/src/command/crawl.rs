//! `teia crawl`, `teia resume`, `teia demo`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::show::outln;
use anyhow::Result;
use teia_base::Seed;
use teia_engine::{
    CollectionConfig, Control, Crawl, Directory, DirectoryLock, EndReason, EngineError, Executor,
    Layout, Parts, Report, ThisMachine,
};

use super::options::CrawlOptions;
use super::socket::{ControlSocket, ask};
use super::{Usage, status};
use crate::demo::DemoWeb;
use crate::show::{ProgressBar, counted, print_summary};

/// Collects, beginning at the seeds.
pub(crate) fn crawl(
    data: &Path,
    name: &str,
    seeds: &[String],
    options: &CrawlOptions,
) -> Result<ExitCode> {
    let layout = Layout::new(name)?;
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
    let fresh = FreshDirectory::before(data);
    let directory = Directory::create(data)?;
    let lock = directory.lock()?;
    let done = crawl_in(&directory, lock, layout, options, parsed, given);
    if done.as_ref().is_err_and(|error| super::code_of(error) == 2) {
        fresh.remove();
    }
    done
}

fn crawl_in(
    directory: &Directory,
    lock: DirectoryLock,
    layout: Layout,
    options: &CrawlOptions,
    parsed: Vec<Seed>,
    given: Vec<String>,
) -> Result<ExitCode> {
    let files = directory.files();
    let stored = CollectionConfig::load(&*files, directory.root(), &layout)?;
    let mut config = options.base(stored.unwrap_or_default())?;
    options.apply(&mut config)?;
    let mut all = parsed;
    if options.config.is_some() || all.is_empty() {
        all.extend(parse_seeds(&config.seeds, &[])?);
    }
    if all.is_empty() {
        return Err(EngineError::NoSeeds.into());
    }
    for seed in given {
        if !config.seeds.contains(&seed) {
            config.seeds.push(seed);
        }
    }
    let report = run(
        directory,
        lock,
        layout,
        (config, Save::Yes),
        all,
        Control::default(),
        options.report.as_deref(),
    )?;
    Ok(exit_code(&report))
}

/// What was not there before a command, and must not be there after it was refused.
struct FreshDirectory {
    missing: Vec<PathBuf>,
}

impl FreshDirectory {
    fn before(data: &Path) -> Self {
        let missing = data
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        Self {
            missing: missing.map(Path::to_owned).collect(),
        }
    }

    fn remove(self) {
        let mut missing = self.missing.iter();
        let Some(data) = missing.next() else { return };
        let _ = std::fs::remove_dir_all(data);
        // The directories above it, as far as they are empty again.
        for above in missing {
            let _ = std::fs::remove_dir(above);
        }
    }
}

/// Goes on with a collection.
pub(crate) fn resume(data: &Path, name: &str, options: &CrawlOptions) -> Result<ExitCode> {
    let directory = Directory::open(data)?;
    let layout = Layout::new(name)?;
    let files = directory.files();
    let Some(stored) = CollectionConfig::load(&*files, directory.root(), &layout)? else {
        let names = directory.collections();
        return Err(EngineError::NoCollection {
            name: name.to_owned(),
            path: data.to_owned(),
            existing: if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            },
        }
        .into());
    };
    let lock = match directory.lock() {
        Ok(lock) => lock,
        // A process that runs and is paused goes on.
        Err(EngineError::InUse { path, holder }) => {
            return resume_running(data, name, options, path, &holder);
        }
        Err(error) => return Err(error.into()),
    };
    let mut config = options.base(stored)?;
    options.apply(&mut config)?;
    // A pause, also one that a process before this one was told of, ends here.
    let control = Control::default();
    control.resume();
    let lines = options.seed_lines()?;
    let mut seeds = parse_seeds(&config.seeds, &[])?;
    seeds.extend(parse_seeds(&[], &lines)?);
    let report = run(
        &directory,
        lock,
        layout,
        (config, Save::No),
        seeds,
        control,
        options.report.as_deref(),
    )?;
    Ok(exit_code(&report))
}

/// Tells the process that has the directory to go on, if it collects this collection.
fn resume_running(
    data: &Path,
    name: &str,
    options: &CrawlOptions,
    path: PathBuf,
    holder: &str,
) -> Result<ExitCode> {
    let directory = Directory::open(data)?;
    let reply = ask(&directory.control_socket(), "status")?;
    let other = match &reply {
        None => return Err(in_use(path, holder.to_owned())),
        Some(reply) => reply["collection"].as_str().unwrap_or_default(),
    };
    if other != name {
        return Err(in_use(path, format!("{holder}, which collects `{other}`")));
    }
    if !options.is_empty() {
        anyhow::bail!(
            "process {holder} collects `{name}` already, and options count from a start only: `teia stop {name}` first, then `teia resume {name}` with the same options; without options it goes on"
        );
    }
    status::tell(data, name, "resume")
}

fn in_use(path: PathBuf, holder: String) -> anyhow::Error {
    EngineError::InUse { path, holder }.into()
}

/// Crawls the program's own little web.
pub(crate) fn demo(data: Option<PathBuf>, no_serve: bool) -> Result<ExitCode> {
    let web = DemoWeb::start()?;
    let is_temporary = data.is_none();
    let temporary = std::env::temp_dir().join(format!("teia-demo-{}", std::process::id()));
    let data = data.unwrap_or(temporary);
    let directory = Directory::create(&data)?;
    let lock = directory.lock()?;
    let layout = Layout::new("demo")?;
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
    let report = run(&directory, lock, layout, settings, seeds, control, None)?;
    let first = web.seeds().first().cloned().unwrap_or_default();
    let shown = data.display();
    let program = std::env::args().next().unwrap_or_else(|| "teia".to_owned());
    outln!()?;
    outln!("What to try next:")?;
    let place = format!("--data {shown} --collection demo");
    for (meaning, command) in [
        ("the life of one URL", format!("page {first} {place}")),
        ("the page as it was fetched", format!("get {first} {place}")),
        ("the collection in numbers", format!("stats {place}")),
        (
            "a site of your own",
            "crawl YOUR-SITE.example --max-pages 100".to_owned(),
        ),
    ] {
        outln!("  {meaning}:\n    {program} {command}")?;
    }
    if is_temporary {
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
        match Seed::parse(text) {
            Ok(seed) => seeds.extend(seed),
            Err(error) => return Err(Usage(error.to_string()).into()),
        }
    }
    for (at, line) in lines.iter().enumerate() {
        match Seed::parse(line) {
            Ok(seed) => seeds.extend(seed),
            Err(error) => {
                return Err(Usage(format!("line {} of the seeds: {error}", at + 1)).into());
            }
        }
    }
    Ok(seeds)
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

/// Whether the settings become those of the collection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Save {
    Yes,
    No,
}

/// Runs a crawl with progress, signals and the control socket, and prints its summary.
fn run(
    directory: &Directory,
    lock: DirectoryLock,
    layout: Layout,
    (config, save): (CollectionConfig, Save),
    seeds: Vec<Seed>,
    control: Control,
    report_form: Option<&str>,
) -> Result<Report> {
    let json = report_form == Some("json");
    let progress = Arc::new(ProgressBar::new(
        layout.name(),
        std::io::stderr().is_terminal(),
    ));
    warn_of_risky_settings(&config);
    let runtime = runtime()?;
    let parts = Parts {
        feedback: Arc::clone(&progress) as Arc<dyn teia_engine::Feedback>,
        ..Parts::default()
    };
    let name = layout.name().to_owned();
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
        tokio::spawn(listen_for_signals(control.clone()));
        let _socket = ControlSocket::open(
            &directory.control_socket(),
            &name,
            control,
            Arc::clone(&progress),
        )?;
        Ok::<_, anyhow::Error>(ThisMachine.run(crawl).await?)
    });
    progress.finish();
    drop(lock);
    let report = report?;
    if json {
        outln!("{}", report.to_json())?;
    } else {
        print_summary(&report, std::io::stdout().is_terminal())?;
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

/// The first signal commits and stops; the second stops at once, without loss of what was committed.
async fn listen_for_signals(control: Control) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return;
    };
    for count in 0.. {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if count > 0 {
            std::process::exit(130);
        }
        eprintln!(
            "stopping: what is under way is finished and committed (once more to stop at once)"
        );
        control.interrupt();
    }
}
