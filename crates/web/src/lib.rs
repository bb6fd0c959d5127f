//! The web side of Teia: the search page, the page about a page, archived copies.
//!
//! ```text
//! browser ──> server (bounds, Host) ──> guard (headers) ──> pages/* ──> Library ──> index, graph,
//!                                                              │         (read-only)  archive, journal
//!                                                              └──> replay (rewritten, sandboxed)
//! ```
//!
//! Everything that was collected is hostile: it reaches a browser as escaped text, or inside a
//! sandbox without script and with an origin of its own. Nothing here writes to the data directory.

mod access;
mod address;
mod api;
mod chart;
mod config;
mod desk;
mod difference;
mod error;
mod guard;
mod host_map;
mod library;
mod memento;
mod neighbourhood;
mod pages;
mod replay;
mod server;
mod visitors;
mod words;

pub use access::{NewToken, Role, Token, Tokens, damaged_audit};
pub use config::WebConfig;
pub use error::WebError;
pub use library::Library;
pub use server::{Site, serve};
