//! What a person can type, and what becomes of it.
//!
//! Exit codes: 0 done or a limit reached; 1 the run failed; 2 wrong usage, configuration or seed;
//! 130 after SIGINT or SIGTERM and a clean commit.

mod catalog;
mod check;
mod collection;
mod config;
mod crawl;
mod export;
mod get;
mod index;
mod minding;
mod options;
mod page;
mod place;
mod rank_for;
mod remove;
mod rows;
mod search;
mod serve;
mod signals;
mod stats;
mod status;
mod tables;
mod token;
mod url_lines;
mod urls;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use teia_base::measure::parse_duration;
use teia_engine::{EngineError, Level};

use options::CrawlOptions;
use place::Place;
use status::Order;

use crate::show::lines;

/// Collects a part of the web, politely, and keeps it.
#[derive(Debug, Parser)]
#[command(
    name = "teia",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = AFTER_HELP
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What somebody who sees the program for the first time would like to know.
const AFTER_HELP: &str = "\
Begin with:
  teia demo                               see it work, without a network
  teia crawl example.org --max-pages 100  collect into ./teia-data (--data DIR for another place)
  teia status                             where it stands; Ctrl-C stops, `teia resume` goes on

Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 130 stopped by a signal.";

/// What holds for the options of a crawl.
const AFTER_CRAWL: &str = "\
The options stay with the collection. With `teia crawl` and no seed, those of before are gone on with.
`teia config` lists settings that have no option.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Crawl a small web that this program serves on loopback, index it and show it: nothing to configure
    Demo {
        /// Keep the data here instead of in a temporary directory
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// End after the summary; otherwise what was collected is served until Ctrl-C
        #[arg(long)]
        no_serve: bool,
    },
    /// Collect, beginning at the seeds
    #[command(allow_negative_numbers = true, after_help = AFTER_CRAWL)]
    Crawl {
        /// Where to begin: URLs, with or without scheme
        #[arg(value_name = "SEED")]
        seeds: Vec<String>,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        options: Box<CrawlOptions>,
    },
    /// Go on with a collection; options given here override the stored ones, for this run
    #[command(allow_negative_numbers = true, mut_arg("collection", also_name))]
    Resume {
        /// The collection [default: default]
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        options: Box<CrawlOptions>,
    },
    /// Let a running collection rest: no new requests until `teia resume`
    #[command(mut_arg("collection", also_name))]
    Pause {
        /// The collection; the one that runs if not given
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// End a running collection; everything fetched is committed first
    #[command(mut_arg("collection", also_name))]
    Stop {
        /// The collection; the one that runs if not given
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// How long to wait for its end
        #[arg(long, value_name = "DUR", default_value = "30s", value_parser = parse_duration)]
        wait: Duration,
        #[command(flatten)]
        place: Place,
    },
    /// Where collections stand
    #[command(mut_arg("collection", also_name))]
    Status {
        /// The collection; all of them if not given
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Find what was collected, also while it is being collected
    Search(search::SearchOptions),
    /// The files that say what to collect: new, check, show, list, edit, remove
    Collection {
        #[command(subcommand)]
        what: collection::Do,
    },
    /// The search index
    Index {
        #[command(subcommand)]
        work: index::Work,
    },
    /// What was collected, in SQL: docs/catalog.md says what can be asked
    Catalog {
        #[command(subcommand)]
        work: catalog::Work,
    },
    /// Rank pages and hosts by the links between them, and give the ranks to the index
    Rank {
        /// The best ones to show
        #[arg(long, value_name = "N", default_value_t = 10)]
        top: usize,
        /// Rank as seen from this URL or host (repeatable), and only show it
        #[arg(long = "for", value_name = "URL")]
        seen_from: Vec<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// What is known of a URL: where found, every decision, every attempt, its links and its rank
    Page {
        /// The URL
        #[arg(value_name = "URL")]
        url: String,
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Links to show in each direction
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
        /// Links to pass over in each direction
        #[arg(long, value_name = "N", default_value_t = 0)]
        offset: u64,
        #[command(flatten)]
        place: Place,
    },
    /// The archived body of a URL, on standard output
    Get {
        /// The URL
        #[arg(value_name = "URL")]
        url: String,
        /// The copy of that time or the last one before it: 2026-11-15, 20261115200000
        #[arg(long, value_name = "TIME")]
        at: Option<String>,
        /// With the head of the answer
        #[arg(long)]
        head: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Outcomes, types, languages, hosts, sizes and growth of a collection
    Stats {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// The tables of Tarântula, Retriever, Fischer and VEUNI as well
        #[arg(long, conflicts_with = "table")]
        tables: bool,
        /// One of these tables alone: outcomes, hosts, concentration, growth, kinds, failures, extensions,
        /// types, disk, summary, languages, depths
        #[arg(long, value_name = "NAME")]
        table: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Try one part on given input
    Check {
        #[command(subcommand)]
        part: check::Part,
    },
    /// Write out what was collected
    Export {
        #[command(flatten)]
        options: export::ExportOptions,
        #[command(flatten)]
        place: Place,
    },
    /// The list of URLs itself: list, count, export, verify; while nobody crawls, add, repair and rekey
    Urls {
        #[command(subcommand)]
        what: urls::Do,
        #[command(flatten)]
        place: Place,
    },
    /// Read every byte of a collection again, and name what is damaged and what helps
    Verify {
        #[command(flatten)]
        place: Place,
    },
    /// Search page, pages about pages, archived copies, and management: in a browser and for programs
    Serve {
        /// Where to listen: an address of this machine and a port
        #[arg(long, value_name = "ADDRESS", default_value = serve::USUAL)]
        listen: String,
        /// A name by which a proxy in front calls this server (repeatable)
        #[arg(long, value_name = "NAME")]
        host: Vec<String>,
        /// Only show what is there: begin no run that a collection's schedule asks for
        #[arg(long)]
        no_collect: bool,
        /// Searching and reading copies needs a login too
        #[arg(long)]
        no_public_search: bool,
        /// Let admins name seeds in the network of this machine (localhost, 10.0.0.1, intranet) over the network too
        #[arg(long)]
        allow_private: bool,
        /// MiB of the search indexes that are read when it starts and after commits, so that nobody waits for the disk
        /// (0: none)
        #[arg(long, value_name = "MIB", default_value_t = serve::USUAL_READ_AHEAD)]
        read_ahead: u32,
        /// How the log on standard error is written
        #[arg(
            long,
            value_name = "FORMAT",
            default_value = "text",
            env = "TEIA_LOG_FORMAT"
        )]
        log_format: LogFormat,
        /// What is logged, also for each room alone: info, or warn,teia_web=info,teia_fetch=debug
        #[arg(long, value_name = "LEVELS", env = "TEIA_LOG")]
        log: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Who may manage through `serve`: new, list, remove
    Token {
        #[command(subcommand)]
        what: token::Do,
    },
    /// Hide a URL or a whole host from search and archived copies, and fetch it no more; the archive keeps its records, unless --erase
    Remove {
        /// The URL
        #[arg(value_name = "URL", required_unless_present_any = ["host", "list"])]
        url: Option<String>,
        /// Everything on this host
        #[arg(long, value_name = "NAME")]
        host: Option<String>,
        /// Show it again
        #[arg(long)]
        restore: bool,
        /// Rewrite the archive files without it, and take what it said out of journal, catalog, link graph and index
        #[arg(long, conflicts_with = "restore")]
        erase: bool,
        /// What is hidden
        #[arg(long)]
        list: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Every setting with its default and its meaning
    Config,
}

/// Where a command takes the name by itself.
fn also_name(collection: clap::Arg) -> clap::Arg {
    collection.help("Another way to say NAME")
}

/// Runs what was typed, and writes what is still to be said.
pub(crate) fn main() -> ExitCode {
    let code = start();
    lines::finish();
    code
}

fn start() -> ExitCode {
    let cli = match Cli::try_parse_from(search::with_words_to_leave_out(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no mistakes.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    if let Err(error) = cli.command.start_log() {
        eprintln!("teia: {error}");
        return ExitCode::from(2);
    }
    let place = cli.command.place();
    match cli.command.run() {
        Ok(code) => code,
        Err(error) => {
            if is_closed_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            lines::finish();
            let sentence = format!("teia: {}", in_one_sentence(&error, place.as_ref()));
            lines::write_now(Level::Error, &sentence);
            if let Some(place) = place.filter(|_| is_full_disk(&error)) {
                let hint = format!(
                    "Free some space, then `{}` goes on; nothing that was committed is lost.",
                    place.steering("resume")
                );
                lines::write_now(Level::Error, &hint);
            }
            ExitCode::from(code_of(&error))
        }
    }
}

impl Command {
    /// Where it works, for what it may have to say.
    fn place(&self) -> Option<Place> {
        match self {
            Self::Resume { place, name, .. }
            | Self::Pause { place, name }
            | Self::Stop { place, name, .. }
            | Self::Status { place, name, .. } => place.clone().named(name.clone()).ok(),
            Self::Crawl { place, .. }
            | Self::Page { place, .. }
            | Self::Get { place, .. }
            | Self::Stats { place, .. }
            | Self::Rank { place, .. }
            | Self::Urls { place, .. }
            | Self::Verify { place }
            | Self::Serve { place, .. }
            | Self::Remove { place, .. }
            | Self::Export { place, .. } => Some(place.clone()),
            Self::Check { part } => part.place(),
            Self::Demo { data, .. } => data.as_deref().map(|data| Place::new(data, "demo")),
            Self::Search(options) => Some(options.place()),
            Self::Index { work } => Some(work.place()),
            Self::Catalog { work } => Some(work.place()),
            Self::Collection { what } => Some(what.place()),
            Self::Token { what } => Some(what.place()),
            Self::Config => None,
        }
    }

    fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Demo { data, no_serve } => crawl::demo(data, no_serve),
            Self::Crawl {
                seeds,
                place,
                options,
            } => crawl::crawl(&place, &seeds, &options),
            Self::Resume {
                name,
                place,
                options,
            } => crawl::resume(&place.named(name)?, &options),
            Self::Pause { name, place } => status::tell(&place.named(name)?, Order::Pause),
            Self::Stop { name, wait, place } => {
                status::tell(&place.named(name)?, Order::Stop { wait })
            }
            Self::Status { name, json, place } => status::status(&place.named(name)?, json),
            Self::Search(options) => search::search(&options),
            Self::Index { work } => index::index(&work),
            Self::Catalog { work } => catalog::catalog(&work),
            Self::Collection { what } => collection::collection(what),
            Self::Token { what } => token::token(&what),
            Self::Rank {
                top,
                seen_from,
                json,
                place,
            } => index::rank(&place, &seen_from, top, json),
            Self::Page {
                url,
                json,
                limit,
                offset,
                place,
            } => page::page(&place, &url, json, page::Part { offset, limit }),
            Self::Get {
                url,
                at,
                head,
                place,
            } => get::get(&place, &url, at.as_deref(), head),
            Self::Stats {
                json,
                tables,
                table,
                place,
            } => {
                let which = match table {
                    Some(name) => stats::Which::One(name),
                    None if tables => stats::Which::All,
                    None => stats::Which::None,
                };
                stats::stats(&place, json, &which)
            }
            Self::Check { part } => check::check(part),
            Self::Urls { what, place } => urls::urls(&place.data, place.name(), &what),
            Self::Verify { place } => verify::verify(&place),
            Self::Export { options, place } => export::export(&place, &options),
            Self::Serve {
                listen,
                host,
                no_collect,
                no_public_search,
                allow_private,
                read_ahead,
                place,
                ..
            } => {
                let collect = if no_collect {
                    serve::Collect::Never
                } else {
                    serve::Collect::WhenDue
                };
                let serving = serve::Serving {
                    listen,
                    hosts: host,
                    collect,
                    public_search: !no_public_search,
                    allow_private,
                    read_ahead,
                };
                serve::serve(&place, &serving)
            }
            Self::Remove {
                url,
                host,
                restore,
                erase,
                list,
                place,
            } => {
                let how = remove::How {
                    restore,
                    erase,
                    list,
                };
                remove::remove(&place, url.as_deref(), host.as_deref(), how)
            }
            Self::Config => config::config(),
        }
    }
}

/// A mistake in what was typed, with what to type instead.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error and its causes, each said once, and what to do about it.
fn in_one_sentence(error: &anyhow::Error, place: Option<&Place>) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let part = cause.to_string();
        if !text.contains(&part) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&part);
        }
    }
    let advice = place
        .zip(error.downcast_ref())
        .and_then(|(place, error)| place.advice(error));
    if let Some(advice) = advice {
        text.push_str("; ");
        text.push_str(&advice);
    }
    text
}

fn code_of(error: &anyhow::Error) -> u8 {
    let is_usage = error.is::<Usage>()
        || error
            .downcast_ref::<EngineError>()
            .is_some_and(EngineError::is_usage);
    if is_usage { 2 } else { 1 }
}

/// `teia page … | head` ends the pipe early; that is no error of ours.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn is_full_disk(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::StorageFull)
}

/// How a log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum LogFormat {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object on a line.
    Json,
}

impl Command {
    /// Begins the log: warnings, or what TEIA_LOG says.
    fn start_log(&self) -> Result<(), String> {
        use std::io::IsTerminal as _;
        use tracing_subscriber::EnvFilter;
        let (format, levels) = match self {
            Self::Serve {
                log_format, log, ..
            } => (*log_format, log.clone()),
            _ => (LogFormat::Text, None),
        };
        let filter = match levels {
            Some(levels) => EnvFilter::try_new(&levels).map_err(|error| {
                format!("`{levels}` says not what to log ({error}); write info, or warn,teia_web=info,teia_fetch=debug")
            })?,
            None => EnvFilter::try_from_env("TEIA_LOG").unwrap_or_else(|_| "warn".into()),
        };
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(|| lines::Log)
            .log_internal_errors(false);
        match format {
            LogFormat::Json => {
                log.json().init();
                lines::write_json();
            }
            LogFormat::Text => {
                let colours =
                    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
                log.with_ansi(colours).init();
            }
        }
        lines::hear_panics();
        Ok(())
    }
}
