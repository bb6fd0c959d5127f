//! A deterministic web on loopback with its own request log, for tests and benchmarks.
//!
//! ```text
//! WebConfig ──> Web ──> answer(host, path)      what the server sends
//!                │ └──> reachable(seeds, rules)  what a right crawl finds (the truth)
//!                v
//!             Server ──> log(), counters()       what a crawl really asked for
//! ```
//!
//! Everything follows from the config: two webs of equal configs are equal to the byte.
//! Pages are written from the very links from which the truth is computed.
//!
//! ```
//! use teia_testweb::{Listen, Rules, Server, WebConfig};
//!
//! let server = Server::start(WebConfig::default(), Listen::Names { port: 0 })?;
//! let web = server.web();
//! let truth = web.reachable(&[web.front(0)], &Rules::default());
//! assert_eq!(truth.depths.len(), 4 * 25);
//! // … crawl from http://h0.web.test/, every name mapped to server.addr() …
//! let log = server.log();
//! assert!(log.entries.iter().all(|entry| !web.is_honeypot(&entry.url)));
//! assert!(log.hosts_without_robots_first().is_empty());
//! # Ok::<(), teia_testweb::ServeError>(())
//! ```

mod answer;
mod config;
mod connection;
mod draw;
mod error;
mod feed;
mod links;
mod log;
mod naming;
mod page;
mod place;
mod prose;
mod record;
mod request;
mod requisite;
mod robots;
mod server;
mod truth;
mod web;
mod words;

pub use answer::{Answer, Asked};
pub use config::{Failure, WebConfig};
pub use error::ServeError;
pub use links::{Form, Kind, Link, Site};
pub use log::{Entry, RequestLog};
pub use naming::Naming;
pub use place::{Gate, Place};
pub use prose::Language;
pub use record::{Counters, Logging};
pub use robots::Robots;
pub use server::{Listen, Server, ServerConfig};
pub use truth::{Rules, Scope, Truth};
pub use web::Web;
