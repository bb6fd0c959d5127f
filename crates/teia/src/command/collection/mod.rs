//! `teia collection …`: the files that say what to collect, how, and how gently.
//!
//! ```text
//! new ──> collections/NAME.toml <── edit, or any editor
//!                 │ check: in words, and URL by URL
//!                 v
//!         teia crawl --collection NAME ──> NAME/   <── remove
//! ```

mod remove;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::json;
use teia_base::{Clock, Files, Seed, SystemClock, Timestamp};
use teia_engine::{
    CollectionConfig, CollectionFile, Directory, EngineError, LastRun, Layout, Schedule, TakenUp,
    Tester, Turn, annotated, hand_over, in_words, next_run_in_words, seeds_file_in_words,
};

use super::Usage;
use super::options::CrawlOptions;
use super::place::Place;
use crate::show::{counted, outln};

/// What can be done with collections.
#[derive(Debug, Subcommand)]
pub(crate) enum Do {
    /// Write the file of a new collection, with every setting and what it means
    #[command(allow_negative_numbers = true)]
    New {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// Where it begins: URLs, with or without scheme
        #[arg(value_name = "SEED")]
        seeds: Vec<String>,
        #[command(flatten)]
        options: Box<CrawlOptions>,
        #[command(flatten)]
        place: Place,
    },
    /// Say in words what a collection would do, and of URLs whether they are in it and by which rule
    Check {
        /// The collection [default: default]
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// A file instead of a collection
        #[arg(long, value_name = "FILE.toml", conflicts_with = "name")]
        file: Option<PathBuf>,
        /// URLs to try
        #[arg(value_name = "URL")]
        tried: Vec<String>,
        /// A URL to try (repeatable)
        #[arg(long = "url", value_name = "URL")]
        urls: Vec<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// The file of a collection
    Show {
        /// The collection [default: default]
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Every setting, those that the file leaves out too, as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// The collections of a data directory
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Change settings in the file and keep its comments; without --set and --unset in your editor
    Edit {
        /// The collection [default: default]
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// A setting and its value: politeness.delay=2s, or delay=2s where only one section has it (repeatable)
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// A setting that is to have its default again (repeatable)
        #[arg(long, value_name = "KEY")]
        unset: Vec<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Delete a collection: its file, and everything that was collected
    Remove {
        /// The collection
        #[arg(value_name = "NAME")]
        name: String,
        /// Without asking
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        place: Place,
    },
}

impl Do {
    /// Where it works.
    pub(crate) fn place(&self) -> Place {
        let (place, name) = match self {
            Self::New { place, name, .. } | Self::Remove { place, name, .. } => {
                (place, Some(name.clone()))
            }
            Self::Check { place, name, .. }
            | Self::Show { place, name, .. }
            | Self::Edit { place, name, .. } => (place, name.clone()),
            Self::List { place, .. } => (place, None),
        };
        place.clone().named(name).unwrap_or_else(|_| place.clone())
    }
}

/// Does it.
pub(crate) fn collection(what: Do) -> Result<ExitCode> {
    match what {
        Do::New {
            name,
            seeds,
            options,
            place,
        } => new(&place.named(Some(name))?, &seeds, &options),
        Do::Check {
            name,
            file,
            tried,
            mut urls,
            json,
            place,
        } => {
            urls.extend(tried);
            check(&place.named(name)?, file.as_deref(), &urls, json)
        }
        Do::Show { name, json, place } => show(&place.named(name)?, json),
        Do::List { json, place } => list(&place, json),
        Do::Edit {
            name,
            set,
            unset,
            place,
        } => edit(&place.named(name)?, &set, &unset),
        Do::Remove { name, yes, place } => remove::remove(&place.named(Some(name))?, yes),
    }
}

fn new(place: &Place, seeds: &[String], options: &CrawlOptions) -> Result<ExitCode> {
    let layout = Layout::new(place.name())?;
    let mut config = options.base(CollectionConfig::default())?;
    for seed in seeds.iter().cloned().chain(options.seed_lines()?) {
        let parsed = Seed::parse(&seed).map_err(|error| Usage(error.to_string()))?;
        if parsed.is_some() && !config.seeds.contains(&seed) {
            config.seeds.push(seed);
        }
    }
    options.apply(&mut config)?;
    let directory = Directory::create(&place.data)?;
    let files = directory.files();
    let turn = Turn::take(&*files)?;
    if files.exists(&layout.config()) || files.exists(&layout.journal()) {
        return Err(Usage(format!(
            "there is a collection `{}` already; `{}` changes it",
            place.name(),
            place.command_of("collection edit", "--set KEY=VALUE")
        ))
        .into());
    }
    let text = annotated(&config.without_secrets());
    let file = CollectionFile::new(directory.root(), &layout, text)?;
    file.save(&*files)?;
    drop(turn);
    outln!("{} was written.", file.path().display())?;
    outln!(
        "  what it would do:  {}",
        place.command_of("collection check", "")
    )?;
    outln!("  to collect it:     {}", place.command(&["crawl"]))?;
    Ok(ExitCode::SUCCESS)
}

/// How often runs begin by themselves, and when the next one does; nothing where nobody said so.
fn when(
    config: &CollectionConfig,
    files: &Arc<dyn Files>,
    layout: &Layout,
) -> (Option<String>, Option<String>) {
    let Ok(schedule) = Schedule::parse(&config.schedule) else {
        return (None, None);
    };
    if !config.schedule.is_set() {
        return (None, None);
    }
    let next = schedule.next_run(last_began(files, layout), SystemClock.wall());
    (
        Some(config.schedule.beat()),
        next.map(|next| next.to_string()),
    )
}

/// When the last run began, as the journal knows it.
fn last_began(files: &Arc<dyn Files>, layout: &Layout) -> Option<Timestamp> {
    let last = LastRun::read(files, layout).ok().flatten();
    last.map(|last| last.began)
}

/// The collection's file, which must be there.
fn file_of(place: &Place) -> Result<(Directory, Layout, CollectionFile)> {
    let directory = Directory::open_to_read(&place.data)?;
    let layout = Layout::new(place.name())?;
    let file = CollectionFile::read(&*directory.files(), directory.root(), &layout)?
        .ok_or_else(|| directory.no_collection(place.name()))?;
    Ok((directory, layout, file))
}

fn check(
    place: &Place,
    file: Option<&std::path::Path>,
    urls: &[String],
    as_json: bool,
) -> Result<ExitCode> {
    let (name, config, written, began) = match file {
        Some(path) => {
            let bytes = std::fs::read(path)
                .map_err(|error| Usage(format!("cannot read {}: {error}", path.display())))?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let config = CollectionConfig::parse_bytes(bytes)
                .map_err(|message| Usage(format!("{}: {message}", path.display())))?;
            let written = (path.to_owned(), text);
            (path.display().to_string(), config, written, None)
        }
        None => {
            let (home, layout, file) = file_of(place)?;
            let written = (file.path().to_owned(), file.text().to_owned());
            let began = last_began(&home.files(), &layout);
            let config = file.config().clone();
            (place.name().to_owned(), config, written, began)
        }
    };
    let (path, content) = written;
    let directory = path.parent().map(PathBuf::from).unwrap_or_default();
    let in_file = |error| match error {
        EngineError::Senseless(senseless) => senseless.in_file(&path, &content),
        error => error,
    };
    let checked = config.check_files().map_err(EngineError::from);
    checked.map_err(in_file)?;
    let seeds = config.seeds_in_file(&directory).map_err(in_file)?;
    let mut words = in_words(&name, &config);
    words.extend(seeds_file_in_words(&config, &directory)?);
    let now = SystemClock.wall();
    words.extend(next_run_in_words(&config.schedule, began, now));
    let tester = match urls {
        [] => None,
        _ => Some(Tester::new(&config, &seeds)?),
    };
    let answers: Vec<_> = urls
        .iter()
        .filter_map(|url| Some((url, json!(tester.as_ref()?.answer(url)))))
        .collect();
    if as_json {
        let answers: Vec<_> = answers.into_iter().map(|(_, answer)| answer).collect();
        outln!(
            "{}",
            json!({ "name": name, "words": words, "urls": answers })
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    for sentence in &words {
        outln!("{sentence}")?;
    }
    if !answers.is_empty() {
        outln!()?;
    }
    for (url, answer) in answers {
        let told = match (&answer["error"], answer["in_scope"].as_bool()) {
            (serde_json::Value::String(error), _) => format!("no URL: {error}"),
            (_, Some(true)) if answer["keep"] == false => {
                format!("in, for its links only: {}", text(&answer["rule"]))
            }
            (_, Some(true)) => format!("in: {}", text(&answer["rule"])),
            _ => format!("out: {}", text(&answer["rule"])),
        };
        outln!("{url}\n  {told}")?;
        for site in answer["sites"].as_array().into_iter().flatten() {
            let list = |key: &str| -> String {
                let entries = site[key].as_array().into_iter().flatten();
                entries.map(text).collect::<Vec<_>>().join(", ")
            };
            outln!(
                "  site {} ({}): {}",
                site["site"],
                list("match"),
                list("changes")
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn text(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn show(place: &Place, as_json: bool) -> Result<ExitCode> {
    let (_, _, file) = file_of(place)?;
    if as_json {
        let settings = toml::Table::try_from(file.config()).context("settings as JSON")?;
        outln!("{}", json!(settings))?;
    } else {
        outln!("{}", file.text().trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(place: &Place, as_json: bool) -> Result<ExitCode> {
    let directory = Directory::open_to_read(&place.data)?;
    let files = directory.files();
    let mut rows = Vec::new();
    for name in directory.collections() {
        let layout = Layout::new(&name)?;
        let is_begun = files.exists(&layout.journal());
        let read = CollectionFile::read(&*files, directory.root(), &layout);
        rows.push(match read {
            Ok(Some(file)) => {
                let config = file.config();
                let (schedule, next) = when(config, &files, &layout);
                json!({
                    "name": name, "seeds": config.seeds.len(), "scope": config.filter.scope.to_string(),
                    "mode": config.mode, "begun": is_begun, "schedule": schedule, "next_run": next, "error": null,
                })
            }
            Ok(None) => continue,
            Err(error) => {
                json!({
                    "name": name, "seeds": null, "scope": null, "mode": null, "begun": is_begun,
                    "schedule": null, "next_run": null, "error": error.to_string(),
                })
            }
        });
    }
    if as_json {
        outln!("{}", json!({ "collections": rows }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        outln!("There is no collection in {}.", place.data.display())?;
    }
    for row in rows {
        let name = text(&row["name"]);
        match row["error"].as_str() {
            Some(error) => outln!("{name:<20} its file has a mistake: {error}")?,
            None => outln!(
                "{name:<20} {}, scope {}, {}{}{}",
                counted(row["seeds"].as_u64().unwrap_or(0), "seed"),
                text(&row["scope"]),
                text(&row["mode"]),
                if row["begun"] == true {
                    ""
                } else {
                    ", not begun"
                },
                match (row["schedule"].as_str(), row["next_run"].as_str()) {
                    (None, _) => String::new(),
                    (Some(beat), None) => format!(", {beat}, no run to come"),
                    (Some(beat), Some(next)) => format!(", {beat}, next run {next}"),
                }
            )?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn edit(place: &Place, set: &[String], unset: &[String]) -> Result<ExitCode> {
    let directory = Directory::open(&place.data)?;
    let layout = Layout::new(place.name())?;
    let files = directory.files();
    if set.is_empty() && unset.is_empty() {
        return edit_by_hand(place, &directory, &layout);
    }
    let turn = Turn::take(&*files)?;
    let (_, _, before) = file_of(place)?;
    let mut changes: Vec<(&str, Option<&str>)> = unset.iter().map(|key| (&**key, None)).collect();
    for setting in set {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(Usage(format!(
                "`{setting}` sets nothing; write KEY=VALUE, for example politeness.delay=2s"
            ))
            .into());
        };
        changes.push((key.trim(), Some(value.trim())));
    }
    let file = before.clone().with_changes(changes)?;
    before.replace_by(&file, &*files, &layout)?;
    drop(turn);
    let changed = differences(before.text(), file.text());
    if changed.is_empty() {
        outln!("Nothing has changed.")?;
    }
    for line in changed {
        outln!("{line}")?;
    }
    tell_when(&directory, place.name(), file.config())
}

/// Lets a person edit a copy, and takes it only when it is good.
fn edit_by_hand(place: &Place, directory: &Directory, layout: &Layout) -> Result<ExitCode> {
    let path = directory.root().join(layout.config());
    let Ok(text) = std::fs::read_to_string(&path) else {
        return Err(directory.no_collection(place.name()).into());
    };
    let editor = std::env::var("VISUAL").or_else(|_| std::env::var("EDITOR"));
    let editor = match editor {
        Ok(editor) if !editor.trim().is_empty() => editor,
        _ => {
            return Err(Usage(format!(
                "say what to set (`{}`), or name your editor in the variable EDITOR; {} can also be edited as it is",
                place.command_of("collection edit", "--set politeness.delay=2s"),
                path.display()
            ))
            .into());
        }
    };
    let copy = path.with_extension(format!("toml.{}.edit", std::process::id()));
    std::fs::write(&copy, &text).with_context(|| format!("cannot write {}", copy.display()))?;
    // As git does: the shell takes it apart, so that options can stand in it.
    let status = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(&copy)
        .status()
        .with_context(|| format!("cannot start {editor}"))?;
    let edited = std::fs::read_to_string(&copy)
        .with_context(|| format!("cannot read {}", copy.display()))?;
    if !status.success() {
        let _ = std::fs::remove_file(&copy);
        anyhow::bail!("{editor} ended with {status}; nothing has changed");
    }
    let turn = Turn::take(&*directory.files())?;
    let is_as_it_was = std::fs::read_to_string(&path).is_ok_and(|now| now == text);
    anyhow::ensure!(
        is_as_it_was,
        "somebody else changed {} meanwhile, and nothing has changed by you; what you wrote is in {}",
        path.display(),
        copy.display()
    );
    // What is there may be what has the mistake.
    let before = CollectionFile::read(&*directory.files(), directory.root(), layout);
    let written = CollectionFile::new(directory.root(), layout, edited)
        .map_err(anyhow::Error::from)
        .and_then(|file| {
            match before {
                Ok(Some(before)) => before.replace_by(&file, &*directory.files(), layout)?,
                _ => file.save(&*directory.files())?,
            }
            Ok(file)
        });
    drop(turn);
    let file = written.map_err(|error| {
        error.context(format!(
            "nothing has changed; what you wrote is in {}",
            copy.display()
        ))
    })?;
    let _ = std::fs::remove_file(&copy);
    tell_when(directory, place.name(), file.config())
}

/// Lets a run under way know, and says what it makes of it.
fn tell_when(directory: &Directory, name: &str, config: &CollectionConfig) -> Result<ExitCode> {
    match hand_over(&directory.control_socket(), name, config)? {
        TakenUp::NoRun => {}
        TakenUp::Minded => eprintln!(
            "teia: a process collects there now: a run of this collection takes up what can change under it, and the rest at its next start"
        ),
        TakenUp::Answered(answer) => eprintln!("teia: {answer}"),
        TakenUp::Refused(why) => {
            eprintln!(
                "teia: the run under way goes on as before, and the next start has it: {why}"
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Lines that are gone and lines that have come.
fn differences(before: &str, after: &str) -> Vec<String> {
    let only = |text: &str, other: &str, mark: char| -> Vec<String> {
        let lines: Vec<&str> = other.lines().collect();
        text.lines()
            .filter(|line| !lines.contains(line))
            .map(|line| format!("{mark} {line}"))
            .collect()
    };
    let mut lines = only(before, after, '-');
    lines.extend(only(after, before, '+'));
    lines
}

/// Whether a person can be asked.
fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}
