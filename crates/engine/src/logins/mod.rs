//! Logins of a collection: `[[login]]` in its file says where, how and as whom, and where the secret lies.
//!
//! ```text
//! [[login]] ──> check (what makes no sense is refused, with its line)
//!     │
//!     └── at each start: the secret from its variable or file ──> Logins (teia-fetch) ──> requests there, nowhere else
//! ```
//!
//! The settings name the place of a secret and never hold one, so they may be shown and journalled as they are.

mod config;
mod place;

pub(crate) use config::in_words;
pub use config::{LoginConfig, LoginKind};
