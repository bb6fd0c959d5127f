//! Logins: who may enter where, and what to say to be let in.
//!
//! ```text
//! request ──> fields(url, no challenge) ──> sent; a 401 ──> fields(url, challenges) ──> asked
//!    ^                                                                                 │
//!    └──────────── the caller, after the host's gap: the same request again <──────────┘
//! ```
//!
//! One request, one exchange: nothing is sent a second time behind the caller's back. What a door has
//! refused is not tried at it again ([`Doors`]). A form ([`FormLogin`]) is the exception: its own two or three requests
//! go before the first page behind it, with the gap that it was given between them.
//!
//! A login belongs to one origin, or to a place that looks at the whole of it, and is never shown to another. [`Logins`] is the usual
//! Authenticator; [`digest`] is the arithmetic of RFC 7616, [`challenge`] the reading of what
//! servers ask for.

mod authenticator;
mod challenge;
mod digest;
mod doors;
pub(crate) mod form_login;
pub(crate) mod form_page;
mod logins;
mod saved_cookies;

pub use authenticator::{
    Authenticator, BasicLogin, BearerLogin, LoginField, LoginFieldName, NoLogin,
};
pub(crate) use doors::{Doors, Opening};
pub use form_login::{FormLogin, FormSettings, Sign};
pub use logins::{Credential, Logins, PasswordWay};
pub use saved_cookies::SavedCookies;
