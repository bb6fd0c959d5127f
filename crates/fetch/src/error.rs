//! What keeps a fetcher from starting; a page that fails is an outcome instead.

use std::io;
use std::path::PathBuf;

/// Why a fetcher could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Reading an entry of `resolve`.
    #[error("`{0}` is not an address rule; write `HOST=IP`, `HOST=IP:PORT` or `*.SUFFIX=IP`")]
    Resolve(String),
    /// Reading the proxy's address.
    #[error("`{0}` is not a proxy; write `http://HOST:PORT` or `socks5://HOST:PORT`")]
    Proxy(String),
    /// Reading a value that goes into a header field.
    #[error("the {0} setting holds a line break or another control character")]
    Header(&'static str),
    /// Reading more certificate authorities.
    #[error("cannot read certificates from {}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Choosing protocols and ciphers.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
    /// Making the directory for spooled bodies.
    #[error("cannot use {} for spooled bodies", path.display())]
    SpoolDir {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
