//! The life of a URL, one file per step: `seed`, `schedule`, `fetch`, `extract`, `admit`; then
//! `commit`, after which it has happened. `spread` is what follows for URLs that were met before.

mod admit;
pub(crate) mod commit;
pub(crate) mod extract;
pub(crate) mod fetch;
mod schedule;
mod seed;
pub(crate) mod sheets;
pub(crate) mod shortcut;
pub(crate) mod sitemaps;
pub(crate) mod spread;
