//! WARC files in: tolerant, bounded, never in need of trust.
//!
//! ```text
//! ReadFile ──> Input ──> [gzip member] ──> Layer ──> header, head, body ──> Found::Record
//!                 ^                                        │ does not read
//!                 └──── next place that proves itself <────┴──────────────> Found::Damage
//! ```
//!
//! Reads WARC 1.0 and 1.1, compressed by record, compressed as a whole, or plain. Records are
//! framed by length alone, so a body may contain whole WARC files. After damage, a record found by
//! searching is taken only when its digest proves it.

mod block;
mod header;
mod http;
mod input;
mod records;
mod verify;

pub use header::RecordHeader;
pub use records::{Damage, Found, ReadLimits, Record, WarcReader};
pub use verify::Proof;

pub(crate) use http::{chunks_of, parse_head};
pub(crate) use input::Input;
pub(crate) use verify::digest_of;
