//! Exchanges to WARC and back, and the index of captures.
//!
//! ```text
//! Exchange ──> capture_records ──> Records ──> Writer ──> X.warc.gz + X.cdxj
//!               (worker threads)                │               │
//!                             Committed <── sync┘               v
//!                          (for the journal)      Captures: find, versions, read, scrub, export
//! ```
//!
//! Files are WARC 1.1, one gzip member per record; the index is CDXJ as pywb has it. Both are
//! checked against the usual tools in `tests/independent_readers.rs`.
//!
//! ```
//! use std::path::Path;
//! use std::sync::Arc;
//! use teia_archive::{ArchiveConfig, Captures, RecordNames, Writer};
//! use teia_base::files::SimulatedDisk;
//!
//! # fn main() -> Result<(), teia_archive::ArchiveError> {
//! let disk = Arc::new(SimulatedDisk::new());
//! let names = RecordNames::new(42);
//! let mut writer = Writer::open(disk.clone(), Path::new("archive"), ArchiveConfig::default(), names, None)?;
//! assert_eq!(writer.sync()?, None, "nothing was archived yet");
//! let captures = Captures::open(disk, Path::new("archive"))?;
//! assert!(captures.find("http://example.org/", None)?.is_none());
//! # Ok(())
//! # }
//! ```

mod capture;
mod capture_set;
mod captures;
mod cdx;
mod config;
mod digest;
mod erase;
mod error;
pub mod export;
mod header;
mod index;
mod member;
mod mend;
mod reader;
mod record_names;
mod redact;
mod scrub;
mod stored;
mod surt;
mod tiny;
mod upkeep;
mod whole;
mod writer;

pub use capture::{
    Capture, Member, RecordKind, Records, RevisitOf, RevisitProfile, Truncated, capture_records,
};
pub use capture_set::CaptureSet;
pub use captures::{All, Captures};
pub use cdx::CdxEntry;
pub use config::ArchiveConfig;
pub use digest::payload_digest;
pub use erase::{Erased, erase};
pub use error::ArchiveError;
pub use index::index_warc;
pub use mend::Mending;
pub use reader::{Damage, Found, Proof, ReadLimits, Record, RecordHeader, WarcReader};
pub use record_names::{RecordName, RecordNames};
pub use scrub::{Scrubbed, Wound};
pub use stored::StoredCapture;
pub use surt::surt;
pub use upkeep::Upkeep;
pub use whole::whole_end;
pub use writer::{Committed, Writer};
