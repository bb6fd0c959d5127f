//! TLS spoken badly: certificates, alerts, silence, and things that are not TLS at all.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use rustls::ServerConfig;
use rustls::server::{ProducesTickets, WebPkiClientVerifier};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::LazyConfigAcceptor;

use crate::certificates::{Authority, Blemish};
use crate::corner::Site;
use crate::door::Seen;
use crate::step::Step;
use crate::street::{be_honest, be_site};

/// What a corner of TLS does.
#[derive(Clone, Debug)]
pub enum TlsTrick {
    /// Shows a certificate that is not good.
    Certificate(Blemish),
    /// Waits for the client's hello and answers with these bytes and pauses.
    Bytes(Vec<Step>),
    /// Lets nobody in who does not name the host.
    RequiresName,
    /// Asks for the client's certificate, and lets in who has none.
    AsksForCertificate,
    /// Asks for the client's certificate, and lets nobody in without.
    DemandsCertificate,
    /// Staples something to its certificate that is no OCSP answer.
    BadStaple,
    /// Hands out session tickets of nearly 64 KiB.
    LargeTicket,
    /// Would take a request with the first packet of a connection that goes on with an old session (0-RTT).
    EarlyData,
    /// Nothing wrong with its TLS: a whole site behind it.
    Site(Site),
}

/// Starts to serve; after so many tricks the corner is honest.
pub(crate) fn serve(
    listener: TcpListener,
    trick: &TlsTrick,
    times: usize,
    authority: &Authority,
    seen: Arc<Seen>,
) -> Result<()> {
    let good = authority.server(Blemish::None, &[])?;
    let tricky = tricky(trick, authority)?;
    let trick = trick.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let n = seen.connections.fetch_add(1, Ordering::SeqCst);
            let seen = Arc::clone(&seen);
            let (trick, config) = if n < times {
                (Some(trick.clone()), Arc::clone(&tricky))
            } else {
                (None, Arc::clone(&good))
            };
            tokio::spawn(async move {
                // A handshake that the client breaks off is what is wanted here.
                let _ = Box::pin(converse(stream, trick, config, &seen)).await;
                seen.closed.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    Ok(())
}

async fn converse(
    mut stream: TcpStream,
    trick: Option<TlsTrick>,
    config: Arc<ServerConfig>,
    seen: &Seen,
) -> io::Result<()> {
    if let Some(TlsTrick::Bytes(steps)) = &trick {
        // So that what went out is about what was taken.
        socket2::SockRef::from(&stream).set_send_buffer_size(64 << 10)?;
        let _ = stream.read(&mut [0; 16 << 10]).await?;
        for step in steps {
            step.perform(&mut stream, &seen.sent).await?;
        }
        return Ok(());
    }
    let start = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream).await?;
    let name = start.client_hello().server_name().map(str::to_owned);
    seen.request(format!("SNI {}", name.as_deref().unwrap_or("none")));
    if matches!(trick, Some(TlsTrick::RequiresName)) && name.is_none() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut tls = start.into_stream(config).await?;
    if matches!(trick, Some(TlsTrick::EarlyData)) {
        let session = tls.get_mut().1;
        let is_resumed = session.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
        let is_early = session.early_data().is_some();
        seen.request(format!("RESUMED {is_resumed} EARLY {is_early}"));
    }
    if let Some(TlsTrick::Site(site)) = &trick {
        return be_site(&mut tls, site, seen).await;
    }
    be_honest(&mut tls, seen).await
}

fn tricky(trick: &TlsTrick, authority: &Authority) -> Result<Arc<ServerConfig>> {
    let blemish = match trick {
        TlsTrick::Certificate(blemish) => *blemish,
        _ => Blemish::None,
    };
    Ok(match trick {
        TlsTrick::BadStaple => authority.stapled(vec![0x30, 0x82, 0xff, 0xff, 7, 7, 7])?,
        TlsTrick::AsksForCertificate | TlsTrick::DemandsCertificate => {
            let roots = Arc::new(authority.roots()?);
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            let builder = WebPkiClientVerifier::builder_with_provider(roots, provider);
            let verifier = match trick {
                TlsTrick::AsksForCertificate => builder.allow_unauthenticated().build()?,
                _ => builder.build()?,
            };
            authority.asking(verifier)?
        }
        TlsTrick::LargeTicket => {
            let mut config = ServerConfig::clone(&*authority.server(blemish, &[])?);
            config.ticketer = Arc::new(LargeTickets);
            Arc::new(config)
        }
        TlsTrick::EarlyData => {
            let mut config = ServerConfig::clone(&*authority.server(blemish, &[])?);
            config.max_early_data_size = 16 << 10;
            Arc::new(config)
        }
        _ => authority.server(blemish, &[])?,
    })
}

/// Tickets that are as large as tickets can be.
#[derive(Debug)]
struct LargeTickets;

impl ProducesTickets for LargeTickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(Duration::from_secs(3600).as_secs()).unwrap_or(0)
    }

    fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        Some(vec![7; 65_000])
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}
