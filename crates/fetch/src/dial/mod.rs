//! From a URL to a connection that can be spoken on.
//!
//! ```text
//! target ──> addresses ──> judged ──> TCP, one after another ──> (proxy) ──> (TLS) ──> Dialed
//! ```
//!
//! The address that was judged is the address connected to, and it is compared with the peer's
//! once more after the connection.

mod connect;
mod dialer;
mod proxy;
mod socks5;
mod target;

pub(crate) use dialer::{Dialed, Dialer};
pub(crate) use proxy::Proxy;
pub(crate) use target::Target;
