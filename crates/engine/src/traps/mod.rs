//! Traps: patterns of URLs whose pages stop bringing anything new.
//!
//! ```text
//! page ──> Sketch (worker) ──> TrapWatch (ring) ──> pattern ──> journal ──> Quarantine
//!                                                                              │
//! link, waiting URL, URL that was left out ──────> Judge asks ────────────────┘
//! ```
//!
//! A pattern is quarantined only while it grows: its own pages lead to ever more of it. A set of
//! equal pages that has an end is never a trap, however dull. What is quarantined is left out with
//! the pattern as its rule, waits in the Repository, and is let in when a person allows the pattern.
//!
//! Beside patterns there are farms of hosts (`farms.rs`), and pages that stand for "not found" (`soft.rs`).

mod config;
pub(crate) mod farms;
mod notice;
mod pattern;
mod quarantine;
mod sketch;
pub(crate) mod soft;
mod watch;

pub use config::TrapsConfig;
pub use pattern::{patterns, rule};
pub(crate) use quarantine::Quarantine;
pub use sketch::Sketch;
pub use watch::{Brought, Suspicion, TrapWatch};
