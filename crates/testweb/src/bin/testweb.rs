//! `testweb`: serves a deterministic web on loopback until its input closes or it is told to end.

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use serde_json::json;
use teia_testweb::{Listen, Logging, Naming, Rules, Server, ServerConfig, Web, WebConfig};
use tokio::signal::unix::{SignalKind, signal};

type Failure = Box<dyn std::error::Error>;

/// Serves a deterministic web on loopback, for benchmarks.
#[derive(Debug, Parser)]
struct Options {
    /// Hosts in all.
    #[arg(long, default_value_t = 200)]
    hosts: u32,
    /// Pages in all, spread evenly over the hosts (rounded up).
    #[arg(long, default_value_t = 50_000)]
    pages: u32,
    /// Bytes of each page.
    #[arg(long, default_value_t = 24 * 1024)]
    page_bytes: usize,
    /// Links of each page.
    #[arg(long, default_value_t = 20)]
    links: u32,
    /// Disallowed but linked pages of each host; none unless said, 3 with --everything.
    #[arg(long)]
    honeypots: Option<u32>,
    /// The seed from which the web is computed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A loopback address for each host, instead of names such as h0.web.test.
    #[arg(long)]
    literal: bool,
    /// The port to listen on; 0 is any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Time each answer takes, such as 50ms or 1s.
    #[arg(long, default_value = "0ms", value_parser = duration)]
    latency: Duration,
    /// Every odd feature as well: redirects, flaky pages, aliases, traps.
    #[arg(long)]
    everything: bool,
    /// Name every host's front page as a seed, not only that of host 0.
    #[arg(long)]
    all_seeds: bool,
    /// Threads that serve.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Log each request, and write the log to this file at the end, one JSON object a line.
    #[arg(long)]
    log: Option<PathBuf>,
    /// Print every URL a polite crawl by plain links reaches, and end. Literal naming needs a port.
    #[arg(long)]
    print_urls: bool,
}

fn main() -> Result<(), Failure> {
    let options = Options::parse();
    if options.print_urls {
        return print_urls(&options);
    }
    let listen = if options.literal {
        Listen::Literal { port: options.port }
    } else {
        Listen::Names { port: options.port }
    };
    let logging = if options.log.is_some() {
        Logging::Full
    } else {
        Logging::Counters
    };
    let mut server = Server::start_with(
        config(&options),
        listen,
        ServerConfig {
            logging,
            threads: options.threads,
        },
    )?;
    announce(&server, &options)?;
    wait()?;
    summarize(&server)?;
    if let Some(path) = &options.log {
        write_log(&server, path)?;
    }
    server.stop();
    Ok(())
}

fn config(options: &Options) -> WebConfig {
    let plain = WebConfig::bench(options.hosts, options.pages);
    let base = if options.everything {
        WebConfig::everything(options.seed)
    } else {
        plain.clone()
    };
    WebConfig {
        seed: options.seed,
        hosts: plain.hosts,
        pages_per_host: plain.pages_per_host,
        links_per_page: options.links,
        page_bytes: options.page_bytes,
        honeypots: options.honeypots.unwrap_or(base.honeypots),
        latency: options.latency,
        ..base
    }
}

fn announce(server: &Server, options: &Options) -> io::Result<()> {
    let (web, config) = (server.web(), server.web().config());
    let fronts = if options.all_seeds { config.hosts } else { 1 };
    let seeds: Vec<String> = (0..fronts).map(|host| web.front(host)).collect();
    print(&json!({
        "ready": true,
        "seeds": seeds,
        "address": server.addr().to_string(),
        "hosts": config.hosts,
        "pages": u64::from(config.hosts) * u64::from(config.pages_per_host),
        "page_bytes": config.page_bytes,
        "seed": config.seed,
    }))
}

fn summarize(server: &Server) -> io::Result<()> {
    let counters = server.counters();
    print(&json!({
        "requests": counters.requests,
        "distinct_urls": counters.distinct_urls,
        "distinct_pages": counters.distinct_pages,
        "bytes": counters.bytes,
        "connections": counters.connections,
        "max_connections": counters.max_open,
        "max_connections_per_host": counters.max_open_per_host,
        "cpu_seconds": cpu_seconds(),
    }))
}

fn print_urls(options: &Options) -> Result<(), Failure> {
    let naming = if options.literal {
        Naming::Literal { port: options.port }
    } else {
        Naming::Names
    };
    let web = Web::new(config(options), naming);
    let mut out = io::BufWriter::new(io::stdout().lock());
    for url in web
        .reachable(&[web.front(0)], &Rules::default())
        .depths
        .keys()
    {
        writeln!(out, "{url}")?;
    }
    Ok(out.flush()?)
}

fn write_log(server: &Server, path: &std::path::Path) -> io::Result<()> {
    let mut out = io::BufWriter::new(std::fs::File::create(path)?);
    for entry in server.log().entries {
        let line = json!({
            "sequence": entry.sequence,
            "start": entry.start.as_secs_f64(),
            "end": entry.end.map(|end| end.as_secs_f64()),
            "host": entry.host,
            "method": entry.method,
            "url": entry.url,
            "connection": entry.connection,
            "status": entry.status,
            "agent": entry.agent,
            "bytes": entry.bytes,
        });
        writeln!(out, "{line}")?;
    }
    out.flush()
}

/// Returns when the input closes, or at SIGTERM or SIGINT.
fn wait() -> Result<(), Failure> {
    let (closed, closes) = tokio::sync::oneshot::channel::<()>();
    // Reading cannot be interrupted, so the thread is left to the end of the process.
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while matches!(input.read(&mut [0; 256]), Ok(1..)) {}
        // The receiver is gone when a signal came first.
        let _ = closed.send(());
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (mut terminate, mut interrupt) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        tokio::select! {
            _ = closes => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    })
}

fn print(value: &serde_json::Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}")?;
    out.flush()
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).map_or(0.0, |time| time.as_secs_f64())
}

/// Reads `50ms`, `1s` or `0.5s`.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s').ok_or("write it as 50ms or 1s")?, 1.0),
    };
    let number: f64 = number.parse().map_err(|_| "write it as 50ms or 1s")?;
    Duration::try_from_secs_f64(number * unit).map_err(|error| error.to_string())
}
