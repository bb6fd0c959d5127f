//! What a person typed, understood: never refused, repaired where it must be, and bounded.
//!
//! ```text
//! text ──> tokens ──> group of clauses (must, should, not) ──> plan (in `search`)
//!             └──────────────┴──> repairs: what was changed, for the person to read
//! ```
//!
//! | written | meaning |
//! |---|---|
//! | `a b` | any of them, better with more, all first |
//! | `+a`, `a AND b` | must be there |
//! | `-a`, `NOT a` | must not |
//! | `"a b"` | these words in this order, somewhere |
//! | `a OR b`, `a \| b` | either; binds closer than a space |
//! | `(a b)` | a group |
//! | `a*` | words that begin so |
//! | `title:a`, `inurl:a` | in the title, in the address |
//! | `site:b.pt`, `site:b.pt/docs`, `lang:pt`, `type:pdf` | only there, only so |
//! | `after:2024-05-01`, `before:2024` | by the day of the last visit |

mod parser;
mod repair;
mod tokens;

pub(crate) use parser::parse;
pub use repair::Repair;
pub(crate) use tokens::is_field;

use teia_base::Timestamp;

/// Bytes of a query that are read.
pub(crate) const MAX_BYTES: usize = 1_024;
/// Clauses that are taken: conditions, phrases, beginnings of words, and words with a sign or an operator.
pub(crate) const MAX_CLAUSES: usize = 32;
/// Plain words that are taken beside them: a question of a person may have more than thirty.
pub(crate) const MAX_WORDS: usize = 64;
/// Parentheses within parentheses.
pub(crate) const MAX_DEPTH: usize = 16;

/// A query, and what was changed to understand it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) group: Group,
    pub(crate) repairs: Vec<Repair>,
}

/// Clauses side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Group {
    pub(crate) clauses: Vec<(Occur, Node)>,
}

/// How a clause takes part in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occur {
    Must,
    Should,
    Not,
}

/// Where words are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Anywhere,
    Title,
    Address,
}

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// One word, as typed.
    Word(String, Place),
    /// Words that begin so.
    Prefix(String, Place),
    /// Words in this order.
    Phrase(String, Place),
    Site(String),
    Language(String),
    Type(String),
    /// Visited at or after.
    After(Timestamp),
    /// Visited before.
    Before(Timestamp),
    Either(Vec<Self>),
    Group(Group),
}
