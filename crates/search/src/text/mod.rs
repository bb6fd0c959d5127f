//! Text to words, words to the forms that are compared.
//!
//! ```text
//! text ──> words (runs of letters and digits; pairs where a script has no spaces)
//!            │
//!            ├──> folded form   lower case, no accents        "são"      -> sao
//!            └──> stem          of the document's language    "licitações" -> pt licit
//! ```
//!
//! A document is stemmed by its own language and a query by all of them, each stem marked with its
//! language; so nobody has to know the language of three words in a query box.

mod fold;
mod stems;
mod words;

pub use fold::fold;
pub(crate) use fold::{fold_into, fold_word};
pub(crate) use stems::{stem_term, without_mark};
pub(crate) use words::{Word, words};
