//! Logins: who may enter where, and what to say to be let in.
//!
//! ```text
//! request ──> fields(url, no challenge) ──> sent; a 401 ──> fields(url, challenges) ──> sent once more
//! ```
//!
//! A login belongs to one origin and is never shown to another. [`Logins`] is the usual
//! Authenticator; [`digest`] is the arithmetic of RFC 7616, [`challenge`] the reading of what
//! servers ask for.

mod authenticator;
mod challenge;
mod digest;
mod logins;

pub use authenticator::{
    Authenticator, BasicLogin, BearerLogin, LoginField, LoginFieldName, NoLogin,
};
pub use logins::Logins;
