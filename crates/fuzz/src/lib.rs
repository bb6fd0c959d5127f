//! Broken input for everything that reads what others wrote.
//!
//! ```text
//! examples (code, crates/fuzz/corpus) ──> Mutator: flip, cut, repeat, splice, words of the format
//!                                             │
//!                                             v
//!                  Tried: noted in a file, where whoever watches finds it after a hang or an abort
//!                                             │
//!                                             v
//!                               Target: reads it, checks what must hold
//! ```
//!
//! `./dev test` runs a few thousand inputs for each target, always the same ones; `./dev soak fuzz`
//! runs others for as long as it is told. An input that breaks something is written to
//! `crates/fuzz/corpus/TARGET/`, and is tried in every test from then on.

mod corpus;
mod mutator;
mod run;
mod targets;
mod tried;

pub use corpus::{corpus_of, keep};
pub use mutator::Mutator;
pub use run::{Broken, Ran, run_target};
pub use targets::{TARGETS, Target};
pub use tried::{Tried, Watched, watch};
