//! Which language a text is in, and what its words come from.
//!
//! ```text
//! text ──> script ──> whichlang (16 languages) ──┐
//!            closed words, endings, letters ─────┴──> detect: language, confidence
//! word ──> stemmer of pt en es fr de it ──> stem
//! ```
//!
//! Languages are named by their two letters (ISO 639-1), `und` where nothing can be said.

mod closed_words;
mod detect;
mod endings;
mod letters;
mod names;
mod script;
mod stem;
mod stop_words;

pub use detect::{Detected, UNDETERMINED, detect};
pub(crate) use names::named;
pub(crate) use stem::Stemmer;
pub use stem::{STEMMED, stem};
pub(crate) use stop_words::{is_query_stop_word, is_stop_word};
