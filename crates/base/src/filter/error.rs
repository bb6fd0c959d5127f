//! Why a filter cannot be made from its configuration.

/// What is wrong with a [`super::FilterConfig`] or with a seed under it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// Reading a regular expression.
    #[error(
        "{setting} `{pattern}` is not a regular expression: {reason} (at character {position})"
    )]
    Pattern {
        /// The setting that holds it: `include`, `text-exclude`…
        setting: &'static str,
        /// The pattern.
        pattern: String,
        /// What is wrong.
        reason: String,
        /// Where, counted from 1.
        position: usize,
    },
    /// Compiling a regular expression.
    #[error(
        "{setting} `{pattern}` is too large a regular expression; write a simpler one, with smaller repetitions"
    )]
    PatternSize {
        /// The setting that holds it.
        setting: &'static str,
        /// The pattern.
        pattern: String,
    },
    /// Reading a host pattern.
    #[error("hosts `{0}` is not a host; write `example.org` or `*.example.org`")]
    Host(String),
    /// Reading a directory.
    #[error("directories `{0}` is not a directory; write `/docs/`")]
    Directory(String),
    /// Reading a language.
    #[error("{0}")]
    Language(String),
    /// Checking a seed.
    #[error(
        "the seed {url} is left out by the rule `{rule}`; change that rule or leave out the seed"
    )]
    Seed {
        /// The seed.
        url: String,
        /// The rule that refuses it.
        rule: String,
    },
}
