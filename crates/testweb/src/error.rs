//! What stops the server itself.

use std::io;
use std::net::SocketAddr;

/// What stops the server itself, not merely one connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Opening a listener.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Starting the server's thread and its runtime.
    #[error("cannot start the server's runtime")]
    Runtime(#[source] io::Error),
    /// Listening on more addresses than literal naming has.
    #[error("{hosts} hosts are more than one listener each allows")]
    TooManyHosts {
        /// Hosts asked for.
        hosts: u32,
    },
}
