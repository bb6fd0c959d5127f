//! The nouns of Teia, and the two seams through which every room touches the machine.
//!
//! ```text
//!  words of the web      CanonicalUrl  FoundUrl  Host  Link  MediaType  Directives
//!  one fetch             Request -> Exchange (Outcome, Response, Times)
//!  one page              Document
//!  what to collect       Seed, scope::Scope, filter::Filter (keep? follow?)
//!  seams                 Clock (time)   Files (disk)
//!  the record            journal::Entry, framed and checksummed
//! ```
//!
//! `base` knows nobody: every other crate stands on it, and nothing here reads a clock,
//! opens a socket or touches a disk except through [`Clock`] and [`Files`].

mod body;
mod canonical;
mod charset;
mod chunks;
mod clock;
mod document;
mod exchange;
pub mod files;
pub mod filter;
mod host;
pub mod journal;
mod language;
mod link;
pub mod measure;
mod media_type;
mod order;
mod outcome;
pub mod plain_url;
mod robots;
pub mod scope;
mod seed;
mod step;
mod timestamp;

pub use body::{Body, PayloadReader};
pub use canonical::{
    CanonicalUrl, FoundUrl, NORMAL_FORM_VERSION, NormalForm, OLDEST_NORMAL_FORM, UrlError, UrlId,
};
pub use charset::{Charset, CharsetSource};
pub use chunks::{ChunkFault, ChunkReader, Chunks};
pub use clock::{Clock, ManualClock, SteadyClock, SystemClock};
pub use document::{CaptureId, Document, Margin, MarginKind};
pub use exchange::{
    Beyond, Certificate, Exchange, Flags, Head, LoginStep, Protocol, Request, Response, Times,
    TypeGate,
};
pub use files::{AppendFile, DiskFiles, Files, Overlay, PowerCut, ReadFile, SimulatedDisk};
pub use host::{Host, HostId, site_of};
pub use language::check_language;
pub use link::{Link, LinkKind, Rel};
pub use media_type::{MediaPattern, MediaType};
pub use order::{HostFacts, Order, UrlFacts};
pub use outcome::{Outcome, Retry};
pub use robots::Directives;
pub use seed::{Seed, SeedError};
pub use step::Step;
pub use timestamp::Timestamp;
