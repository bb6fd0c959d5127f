//! Access: who asks, what they may do, and that it was really they who asked.
//!
//! ```text
//! Authorization: Bearer teia_… ──> tokens.toml (hashes) ──┐
//! cookie ──> sessions (memory) ──> the token behind it ───┴──> Caller ──> role enough? ──> answer
//!                                   and for changes: own origin, and the session's CSRF token
//! ```
//!
//! A token is 256 random bits; only its hash is kept. A session lives in memory and stands for a token: a
//! token that is removed takes its sessions along. Whoever is not named in the table of routes gets nothing.

mod audit;
mod caller;
mod door;
mod replays;
mod sessions;
mod tokens;
mod tries;

pub use audit::damaged_audit;
pub use tokens::{NewToken, Role, Token, Tokens};

pub(crate) use audit::Audit;
pub(crate) use caller::{Caller, Identity, Peer, identify, source_of};
pub(crate) use door::{for_people, for_programs, is_same_origin, open_to, read_form};
pub(crate) use replays::Replays;
pub(crate) use sessions::{Sessions, cookie, forgotten, is_https, set_cookie};
pub(crate) use tries::Tries;
