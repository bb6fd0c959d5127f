//! What a person can type, and what becomes of it.
//!
//! Exit codes: 0 done or a limit reached; 1 the run failed; 2 wrong usage, configuration or seed;
//! 130 after SIGINT or SIGTERM and a clean commit.

mod check;
mod config;
mod crawl;
mod export;
mod get;
mod options;
mod page;
mod remove;
mod serve;
mod socket;
mod stats;
mod status;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use teia_engine::EngineError;

use options::CrawlOptions;

/// Collects a part of the web, politely, and keeps it.
#[derive(Debug, Parser)]
#[command(name = "teia", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Where the data is.
#[derive(Clone, Debug, Args)]
struct Place {
    /// The data directory
    #[arg(
        long,
        value_name = "DIR",
        default_value = "teia-data",
        env = "TEIA_DATA",
        global = true
    )]
    data: PathBuf,
    /// The collection
    #[arg(long, value_name = "NAME", default_value = "default", global = true)]
    collection: String,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Crawl a small web that this program serves on loopback: nothing to configure
    Demo {
        /// Keep the data here instead of in a temporary directory
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// End after the summary
        #[arg(long)]
        no_serve: bool,
    },
    /// Collect, beginning at the seeds
    Crawl {
        /// Where to begin: URLs, with or without scheme
        #[arg(value_name = "SEED")]
        seeds: Vec<String>,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        options: Box<CrawlOptions>,
    },
    /// Go on with a collection; options given here override the stored ones
    Resume {
        /// The collection
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        options: Box<CrawlOptions>,
    },
    /// Let a running collection rest: no new requests until `teia resume`
    Pause {
        /// The collection
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// End a running collection; everything fetched is committed first
    Stop {
        /// The collection
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Where collections stand
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
    /// What is known of a URL: where found, every decision, every attempt
    Page {
        /// The URL
        #[arg(value_name = "URL")]
        url: String,
        /// As JSON
        #[arg(long)]
        json: bool,
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
    /// Outcomes, types, hosts and sizes of a collection
    Stats {
        /// As JSON
        #[arg(long)]
        json: bool,
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
        /// What to write
        #[arg(value_enum)]
        what: export::What,
        /// Into this file or directory; standard output if not given
        #[arg(long, short, value_name = "PATH")]
        output: Option<PathBuf>,
        /// Only URLs that begin so
        #[arg(long, value_name = "URL")]
        prefix: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Search page, pages about pages, archived copies: in a browser
    Serve {
        /// Where to listen: an address of this machine and a port
        #[arg(long, value_name = "ADDRESS", default_value = serve::USUAL)]
        listen: String,
        /// A name by which a proxy in front calls this server (repeatable)
        #[arg(long, value_name = "NAME")]
        host: Vec<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Hide a URL or a whole host from search and archived copies; the archive keeps its records
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
        /// What is hidden
        #[arg(long)]
        list: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Every setting with its default and its meaning
    Config,
}

/// Runs what was typed.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no mistakes.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    start_log();
    let result = match cli.command {
        Command::Demo { data, no_serve } => crawl::demo(data, no_serve),
        Command::Crawl {
            seeds,
            place,
            options,
        } => crawl::crawl(&place.data, &place.collection, &seeds, &options),
        Command::Resume {
            name,
            place,
            options,
        } => crawl::resume(
            &place.data,
            name.as_deref().unwrap_or(&place.collection),
            &options,
        ),
        Command::Pause { name, place } => status::tell(
            &place.data,
            name.as_deref().unwrap_or(&place.collection),
            "pause",
        ),
        Command::Stop { name, place } => status::tell(
            &place.data,
            name.as_deref().unwrap_or(&place.collection),
            "stop",
        ),
        Command::Status { name, json, place } => status::status(&place.data, name.as_deref(), json),
        Command::Page { url, json, place } => {
            page::page(&place.data, &place.collection, &url, json)
        }
        Command::Get {
            url,
            at,
            head,
            place,
        } => get::get(&place.data, &place.collection, &url, at.as_deref(), head),
        Command::Stats { json, place } => stats::stats(&place.data, &place.collection, json),
        Command::Check { part } => check::check(part),
        Command::Export {
            what,
            output,
            prefix,
            place,
        } => export::export(
            &place.data,
            &place.collection,
            what,
            output.as_deref(),
            prefix.as_deref(),
        ),
        Command::Serve {
            listen,
            host,
            place,
        } => serve::serve(&place.data, &listen, &host),
        Command::Remove {
            url,
            host,
            restore,
            list,
            place,
        } => remove::remove(
            &place.data,
            &place.collection,
            url.as_deref(),
            host.as_deref(),
            (restore, list),
        ),
        Command::Config => config::config(),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            if is_closed_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            eprintln!("teia: {}", in_one_sentence(&error));
            if is_full_disk(&error) {
                eprintln!(
                    "Free some space, then `teia resume` goes on; nothing that was committed is lost."
                );
            }
            ExitCode::from(code_of(&error))
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

/// An error and its causes, each said once.
fn in_one_sentence(error: &anyhow::Error) -> String {
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

fn start_log() {
    let filter =
        tracing_subscriber::EnvFilter::try_from_env("TEIA_LOG").unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}
