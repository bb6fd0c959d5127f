//! `teia serve`: the search page, the pages about pages, and archived copies.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use teia_web::{Library, WebConfig};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::Usage;
use super::minding::Minding;
use crate::show::outln;

/// Where people look first.
pub(crate) const USUAL: &str = "127.0.0.1:7070";

/// Whether runs are begun when they are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collect {
    /// As the collections say.
    WhenDue,
    /// Nothing is begun.
    Never,
}

/// Serves a data directory until Ctrl-C, and begins runs when they are due. A crawl may go on in another
/// process, or begin later.
pub(crate) fn serve(
    data: &Path,
    listen: &str,
    hosts: &[String],
    collect: Collect,
) -> Result<ExitCode> {
    let address = parse(listen)?;
    let library = Library::open(data).map_err(flatten)?;
    let config = WebConfig {
        hosts: hosts.to_vec(),
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
        outln!("Teia serves {} at http://{address}/ (Ctrl-C ends it)", data.display())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let minding = (collect == Collect::WhenDue).then(|| Minding::begin(data)).transpose()?;
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
        teia_web::serve(listener, library, config, shutdown).await?;
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
    serve(data, listen, &[], Collect::Never)
}

/// A foreign data directory is a mistake in what was typed; `code_of` knows it by its own type.
fn flatten(error: teia_web::WebError) -> anyhow::Error {
    match error {
        teia_web::WebError::Collection(error) => error.into(),
        error => error.into(),
    }
}

/// Only this machine may ask: there is no login yet, and what was collected may be private.
fn parse(listen: &str) -> Result<SocketAddr> {
    let wrong = || {
        Usage(format!(
            "`{listen}` is no address to listen on; write 127.0.0.1:7070, or a port: 7070"
        ))
    };
    let address = match listen.parse::<u16>() {
        Ok(port) => SocketAddr::from(([127, 0, 0, 1], port)),
        Err(_) => listen
            .replace("localhost", "127.0.0.1")
            .parse()
            .map_err(|_| wrong())?,
    };
    if !address.ip().is_loopback() {
        let sentence = format!(
            "{address} can be reached from other machines, and there is no login: listen on 127.0.0.1 and put a web server with a login before it (name it with --host)"
        );
        return Err(Usage(sentence).into());
    }
    Ok(address)
}
