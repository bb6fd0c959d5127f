//! Names to addresses.
//!
//! ```text
//! name ──> overrides ──> localhost ──> cache ──> one flight for each name ──> name servers
//! ```
//!
//! The addresses that come out are judged once and connected to; a name is never looked up again
//! between the judgement and the connection.

mod lookup;
mod overrides;
mod resolver;
mod turns;

pub(crate) use lookup::NameServers;
pub(crate) use overrides::Overrides;
pub(crate) use resolver::Resolver;
