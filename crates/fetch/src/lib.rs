//! One URL in, one outcome out: DNS, robots, TLS, HTTP, limits, logins.
//!
//! ```text
//! Request ──> target ──> pool ──────────────────> exchange ──> Exchange ──> (engine)
//!            (scheme,      └─> dial: DNS, address,   (HTTP/1.1,                 │
//!             port)            proxy, TLS             HTTP/2)         decode <──┘ in a parse worker
//! ```
//!
//! ```
//! use std::sync::Arc;
//! use teia_base::{Request, SystemClock};
//! use teia_fetch::{FetchConfig, Fetcher, HttpFetcher};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let fetcher = HttpFetcher::new(FetchConfig::default(), Arc::new(SystemClock))?;
//! let exchange = fetcher.fetch(Request::get("https://example.org/".parse()?)).await;
//! println!("{}", exchange.outcome.sentence());
//! # Ok(())
//! # }
//! ```
//!
//! A failing page is an [`Outcome`](teia_base::Outcome), never an error. Bytes are kept as they
//! came; [`decode`] undoes content coding later. Redirects are not followed here. Every wait,
//! buffer, cache and list has a bound, and [`FetchConfig`] names the ones that can be set.

mod address;
mod answer;
mod bandwidth;
mod body_memory;
mod config;
mod connection;
mod cookies;
mod decode;
mod dial;
mod dns;
mod document_type;
mod error;
mod fault;
mod fetcher;
mod h1;
mod h2;
mod http_fetcher;
mod intake;
mod login;
mod patience;
mod pool;
mod port;
mod poster;
mod request_head;
pub mod robots;
mod stream;
mod tls;

pub use address::{OwnService, leads_inside, refuse_own};
pub use config::{Certificates, FetchConfig, ProxyUrl};
pub use decode::{DecodeLimits, Decoded, Extent, Measured, decode, measure};
pub use error::FetchError;
pub use fetcher::{Fetcher, Fetching, NullFetcher, ScriptedFetcher};
pub use http_fetcher::HttpFetcher;
pub use login::{
    Authenticator, BasicLogin, BearerLogin, Credential, FormLogin, FormSettings, LoginField,
    LoginFieldName, Logins, NoLogin, PasswordWay, SavedCookies, Sign,
};
pub use poster::{Poster, Unanswered};
