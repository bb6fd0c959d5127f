//! Regular expressions of a collection, with limits on what they may cost.

use regex::{Regex, RegexBuilder};

use super::FilterError;

/// Memory that one compiled expression may take.
const MAX_COMPILED_BYTES: usize = 2 << 20;

/// Expressions of one setting.
#[derive(Clone, Debug)]
pub(super) struct Patterns {
    expressions: Vec<Regex>,
}

impl Patterns {
    /// Compiles the patterns of the setting with this name.
    pub(super) fn compile(setting: &'static str, patterns: &[String]) -> Result<Self, FilterError> {
        let expressions = patterns
            .iter()
            .map(|pattern| compile(setting, pattern))
            .collect::<Result<_, _>>()?;
        Ok(Self { expressions })
    }

    /// Whole words, whatever their capitals.
    pub(super) fn words(setting: &'static str, words: &[String]) -> Result<Self, FilterError> {
        let expressions = words
            .iter()
            .map(|word| {
                word.split_whitespace()
                    .map(regex::escape)
                    .collect::<Vec<_>>()
                    .join(r"\s+")
            })
            .filter(|word| !word.is_empty())
            // `\b` asks for a border of a word on one side; `C++` has none, so the ends ask for
            // "no letter beyond" instead.
            .map(|word| compile(setting, &format!(r"(?i)(?:^|\W){word}(?:$|\W)")))
            .collect::<Result<_, _>>()?;
        Ok(Self { expressions })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.expressions.is_empty()
    }

    /// The source of the first expression that matches somewhere in the text.
    pub(super) fn find(&self, text: &str) -> Option<&str> {
        self.expressions
            .iter()
            .find(|expression| expression.is_match(text))
            .map(Regex::as_str)
    }
}

fn compile(setting: &'static str, pattern: &str) -> Result<Regex, FilterError> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .nest_limit(100)
        .build()
        .map_err(|error| match error {
            regex::Error::Syntax(message) => {
                let (reason, position) = read_complaint(&message);
                FilterError::Pattern {
                    setting,
                    pattern: pattern.to_owned(),
                    reason,
                    position,
                }
            }
            _ => FilterError::PatternSize {
                setting,
                pattern: pattern.to_owned(),
            },
        })
}

/// What is wrong and where, out of the several lines in which the compiler says so:
/// the pattern, indented by four, a `^` below the place, and a line that begins with `error:`.
fn read_complaint(message: &str) -> (String, usize) {
    let reason = message
        .lines()
        .find_map(|line| line.strip_prefix("error: "))
        .unwrap_or(message);
    let position = message
        .lines()
        .filter(|line| line.trim_start().starts_with('^'))
        .find_map(|line| line.find('^'))
        .map_or(1, |column| column.saturating_sub(3));
    (reason.to_owned(), position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_bad_pattern_is_named_with_its_place() {
        let error = Patterns::compile("include", &patterns(&["ok", "/a(b"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "include `/a(b` is not a regular expression: unclosed group (at character 3)"
        );
        let error = Patterns::compile("exclude", &patterns(&["*"])).unwrap_err();
        assert!(error.to_string().contains("(at character 1)"), "{error}");
    }

    #[test]
    fn a_pattern_that_would_need_much_memory_is_refused() {
        let error = Patterns::compile("exclude", &patterns(&[r"(\w{1000}){1000}"])).unwrap_err();
        assert!(
            matches!(
                error,
                FilterError::PatternSize {
                    setting: "exclude",
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn words_are_whole_and_without_case() {
        let words =
            Patterns::words("words", &patterns(&["Coração", "C++", "two  words", ""])).unwrap();
        for text in ["o CORAÇÃO.", "in C++, yes", "c++", "these Two\nwords"] {
            assert!(words.find(text).is_some(), "{text}");
        }
        for text in ["corações", "", "C", "two other words"] {
            assert!(words.find(text).is_none(), "{text}");
        }
        assert!(!words.is_empty());
    }
}
