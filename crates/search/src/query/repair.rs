//! What was changed in a query, in words for its author.

use std::fmt;

/// One thing that was changed to understand a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// The query was longer than is read.
    TooLong,
    /// It had more words or conditions than are taken.
    TooManyClauses,
    /// Its parentheses were nested deeper than is followed.
    TooDeep,
    /// A quotation mark had no partner.
    UnclosedQuote,
    /// A parenthesis had no partner.
    UnmatchedParenthesis,
    /// `OR`, `AND`, `NOT`, `+` or `-` stood without a word.
    DanglingOperator(String),
    /// `before:` or `after:` without a date.
    BadDate(String),
    /// `name:` with nothing after it.
    EmptyField(String),
    /// `name:` that is not a field: taken as words.
    UnknownField(String),
    /// A prefix stands for more words than are taken.
    BroadPrefix(String),
    /// Nothing to look for.
    Empty,
    /// The time for a query was over: what was found by then is shown.
    TimeOver,
    /// Pages beyond the last one that can be shown.
    TooFar {
        /// Results that can be paged through.
        most: usize,
    },
}

impl Repair {
    /// Its name, for those who say it in another language, and what their sentence is filled with.
    pub fn name(&self) -> (&'static str, String) {
        let plain = |name| (name, String::new());
        match self {
            Self::TooLong => plain("long"),
            Self::TooManyClauses => plain("clauses"),
            Self::TooDeep => plain("deep"),
            Self::UnclosedQuote => plain("quote"),
            Self::UnmatchedParenthesis => plain("parenthesis"),
            Self::DanglingOperator(sign) => ("operator", sign.clone()),
            Self::BadDate(text) => ("date", text.clone()),
            Self::EmptyField(name) => ("empty-field", name.clone()),
            Self::UnknownField(name) => ("unknown-field", name.clone()),
            Self::BroadPrefix(prefix) => ("prefix", prefix.clone()),
            Self::Empty => plain("empty"),
            Self::TimeOver => plain("time"),
            Self::TooFar { most } => ("far", most.to_string()),
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(formatter, "the query was too long: its beginning was used"),
            Self::TooManyClauses => write!(
                formatter,
                "the query had too many words: the first ones were used"
            ),
            Self::TooDeep => write!(
                formatter,
                "parentheses were nested too deep: the innermost were left out"
            ),
            Self::UnclosedQuote => write!(
                formatter,
                "a quotation mark was not closed: the phrase goes to the end"
            ),
            Self::UnmatchedParenthesis => {
                write!(formatter, "a parenthesis had no partner and was left out")
            }
            Self::DanglingOperator(sign) => {
                write!(formatter, "{sign} stood without a word and was left out")
            }
            Self::BadDate(text) => write!(
                formatter,
                "{text} is not a date (write 2026-11-15 or 2026): left out"
            ),
            Self::EmptyField(name) => {
                write!(formatter, "{name}: had nothing after it and was left out")
            }
            Self::UnknownField(name) => write!(
                formatter,
                "there is no field {name}: it was searched as a word"
            ),
            Self::BroadPrefix(prefix) => write!(
                formatter,
                "{prefix}* stands for many words: the most frequent were used"
            ),
            Self::Empty => write!(formatter, "the query has no words"),
            Self::TimeOver => write!(
                formatter,
                "the time for this query was over: the results are not complete"
            ),
            Self::TooFar { most } => {
                write!(
                    formatter,
                    "only the first {most} results can be shown: please make the query narrower"
                )
            }
        }
    }
}
