//! A TCP connection to the first of several addresses that answers (RFC 8305, without its refinements).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout_at};

use crate::fault::is_ours;

/// How long an address has before the next one is tried beside it.
const HEAD_START: Duration = Duration::from_millis(250);

/// The rest before another try where this machine has no descriptor or no port left.
const LACKING: Duration = Duration::from_millis(100);

/// Connects to one of the addresses by the deadline; the error is the first one met.
pub(crate) async fn connect(addresses: &[SocketAddr], deadline: Instant) -> io::Result<TcpStream> {
    let race = async {
        loop {
            let connected = match addresses {
                [only] => TcpStream::connect(only).await,
                _ => race(addresses).await,
            };
            match connected {
                // What this machine lacks now it may have in a while: fetching is slower then, and no server is to blame.
                Err(error) if is_ours(&error) && Instant::now() + LACKING < deadline => {
                    sleep(LACKING).await;
                }
                connected => return connected,
            }
        }
    };
    let stream = timeout_at(deadline, race)
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let peer = stream.peer_addr()?;
    if !addresses
        .iter()
        .any(|address| address.ip().to_canonical() == peer.ip().to_canonical())
    {
        return Err(io::Error::other(
            "connected to another address than asked for",
        ));
    }
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn race(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut left = addresses.iter();
    let mut tries = FuturesUnordered::new();
    let mut first_error = None;
    loop {
        if let Some(address) = left.next() {
            tries.push(TcpStream::connect(*address));
        } else if tries.is_empty() {
            return Err(first_error.unwrap_or_else(|| io::Error::other("no address")));
        }
        let head_start = async {
            if left.len() == 0 {
                std::future::pending::<()>().await;
            } else {
                sleep(HEAD_START).await;
            }
        };
        tokio::select! {
            Some(result) = tries.next() => match result {
                Ok(stream) => return Ok(stream),
                Err(error) => { first_error.get_or_insert(error); }
            },
            () = head_start => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_dead_address_does_not_hide_a_living_one() {
        let dead = TcpListener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .local_addr()
            .unwrap();
        let alive = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let stream = connect(&[dead, alive.local_addr().unwrap()], deadline)
            .await
            .unwrap();
        assert_eq!(stream.peer_addr().unwrap(), alive.local_addr().unwrap());
        let error = connect(&[dead, dead], deadline).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
