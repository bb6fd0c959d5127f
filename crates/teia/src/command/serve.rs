//! `teia serve`: the search page, the pages about pages, and archived copies.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use teia_engine::{Directory, Level};
use teia_search::SearchConfig;
use teia_web::{Library, Site, Tokens, WebConfig};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::Usage;
use super::minding::Minding;
use super::place::Place;
use crate::show::{lines, outln};

/// Where people look first.
pub(crate) const USUAL: &str = "127.0.0.1:7070";

/// MiB of search indexes that are read ahead, as in `SearchConfig`.
pub(crate) const USUAL_READ_AHEAD: u32 = 1_024;

/// Whether runs are begun when they are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collect {
    /// As the collections say.
    WhenDue,
    /// Nothing is begun.
    Never,
}

/// What to serve, and to whom.
#[derive(Clone, Debug)]
pub(crate) struct Serving {
    /// Where to listen.
    pub(crate) listen: String,
    /// Names by which proxies call this server.
    pub(crate) hosts: Vec<String>,
    /// Whether runs are begun.
    pub(crate) collect: Collect,
    /// Whether everybody may search.
    pub(crate) public_search: bool,
    /// Whether admins may name what lies in the network of this machine.
    pub(crate) allow_private: bool,
    /// MiB of the search indexes that are read before they are asked.
    pub(crate) read_ahead: u32,
}

/// Serves a data directory until Ctrl-C, and begins runs when they are due. A crawl may go on in another
/// process, or begin later.
pub(crate) fn serve(place: &Place, serving: &Serving) -> Result<ExitCode> {
    let data = place.data.as_path();
    let address = parse(&serving.listen)?;
    let search = SearchConfig {
        read_ahead_bytes: u64::from(serving.read_ahead) << 20,
        ..SearchConfig::default()
    };
    let library = Library::open_with(data, search).map_err(flatten)?;
    let tokens = Tokens::of(data);
    let has_token = !tokens.list()?.is_empty();
    if !address.ip().is_loopback() && !has_token {
        return Err(open_without_login(place, address).into());
    }
    let config = WebConfig {
        hosts: serving.hosts.clone(),
        public_search: serving.public_search,
        // Where others can reach it, these numbers are not for everybody.
        public_metrics: address.ip().is_loopback() && serving.hosts.is_empty(),
        allow_private: serving.allow_private,
        ..WebConfig::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address}; if another program has it, choose another with --listen 127.0.0.1:PORT")
        })?;
        let address = listener.local_addr().context("cannot listen")?;
        // Before anybody knows that it serves: whoever does may end it.
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        outln!("Teia serves {} at http://{address}/ (Ctrl-C ends it)", data.display())?;
        greet(place, &tokens, address)?;
        let minding = (serving.collect == Collect::WhenDue).then(|| Minding::begin(data)).transpose()?;
        let shutdown = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            // A second signal ends everything at once; what was committed is safe.
            tokio::spawn(async move {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                std::process::exit(130);
            });
            if let Some(minding) = &minding {
                minding.end();
            }
        };
        let site = Site {
            runs: minding.as_ref().map(Minding::runs),
            ..Site::new(library, config)
        };
        teia_web::serve(listener, site, shutdown).await?;
        if let Some(minding) = minding {
            minding.finish().await;
        }
        Ok(ExitCode::from(130))
    })
}

/// The same at the usual address, or where it is taken at another.
pub(crate) fn serve_anywhere(data: &Path) -> Result<ExitCode> {
    let usual = std::net::TcpListener::bind(USUAL);
    let listen = if usual.is_ok() { USUAL } else { "127.0.0.1:0" };
    drop(usual);
    let serving = Serving {
        listen: listen.to_owned(),
        hosts: Vec::new(),
        collect: Collect::Never,
        public_search: true,
        allow_private: false,
        read_ahead: USUAL_READ_AHEAD,
    };
    serve(&Place::new(data, "demo"), &serving)
}

/// Makes the first token, where there is none, and shows it this once.
fn greet(place: &Place, tokens: &Tokens, address: SocketAddr) -> Result<()> {
    if !address.ip().is_loopback() {
        let line = format!(
            "teia: {address} can be reached from other machines, and what is said there is not encrypted: put a proxy with TLS before it, and name it with --host"
        );
        lines::say_at(Level::Warning, &line);
    }
    let made = Directory::create(&place.data)
        .map_err(anyhow::Error::from)
        .and_then(|_| Ok(tokens.first()?));
    match made {
        Ok(Some(first)) => {
            outln!("The first token, with the role admin, is shown this once:")?;
            outln!("  {}", first.secret)?;
            outln!("Log in with it at http://{address}/login, or send it with requests:")?;
            outln!(
                "  curl -H 'Authorization: Bearer {}' http://{address}/api/collections",
                first.secret
            )?;
            outln!(
                "`{}` makes others.",
                place.command(&["token", "new", "NAME", "--role", "viewer"])
            )?;
        }
        Ok(None) => {}
        // What cannot be written can still be read.
        Err(error) => {
            let line = format!(
                "teia: nobody can log in, because no token could be made: {}",
                super::in_one_sentence(&error, Some(place))
            );
            lines::say_at(Level::Warning, &line);
        }
    }
    Ok(())
}

/// Other machines could ask, and nobody could log in.
fn open_without_login(place: &Place, address: SocketAddr) -> Usage {
    Usage(format!(
        "{address} can be reached from other machines, and there is no login yet: make a token first (`{}`), or listen on 127.0.0.1",
        place.command(&["token", "new", "NAME", "--role", "admin"])
    ))
}

/// A foreign data directory is a mistake in what was typed; `code_of` knows it by its own type.
fn flatten(error: teia_web::WebError) -> anyhow::Error {
    match error {
        teia_web::WebError::Collection(error) => error.into(),
        error => error.into(),
    }
}

/// An address, or a port of this machine.
fn parse(listen: &str) -> Result<SocketAddr> {
    let wrong = || {
        Usage(format!(
            "`{listen}` is no address to listen on; write 127.0.0.1:7070, or a port: 7070"
        ))
    };
    Ok(match listen.parse::<u16>() {
        Ok(port) => SocketAddr::from(([127, 0, 0, 1], port)),
        Err(_) => listen
            .replace("localhost", "127.0.0.1")
            .parse()
            .map_err(|_| wrong())?,
    })
}
