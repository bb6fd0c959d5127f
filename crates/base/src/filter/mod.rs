//! What to fetch, what to keep, what to follow.
//!
//! ```text
//!  link ──> before(Candidate) ──> refused, with the rule that said so
//!                  │
//!                  v
//!   Rules::spent (budgets) ──> fetch, through Rules::type_gate and max_size
//!                  │
//!                  v
//!           after(Fetched) ──> keep? follow?
//! ```
//!
//! [`Rules`] is what a [`FilterConfig`] means for given seeds; [`Filter`] is the trait through
//! which a program puts its own rules in their place, and [`KeepAll`] has none.
//!
//! Everything here is a pure decision: counters are handed in, nothing is remembered. The order of
//! the rules before a fetch is fixed, and hops come last, so that a URL refused for its depth
//! passes every other rule and a shorter way to it is all that it needs.

mod budget;
mod config;
mod decide;
mod error;
mod extension;
mod patterns;
mod rules;
mod territory;
mod trap;
mod verdict;

pub use budget::Spent;
pub use config::FilterConfig;
pub use decide::{Candidate, Fetched, Filter, KeepAll};
pub use error::FilterError;
pub use rules::Rules;
pub use verdict::{RuleKind, Verdict};
