//! A setting that cannot be as somebody wants it, told by its name: whoever changes one setting from afar never sees the
//! text in which a line could be counted.

use std::fmt;

use crate::sense::Senseless;

/// A setting, and what is wrong with what was said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongSetting {
    /// Its name, as it was called: `politeness.delay`.
    pub key: String,
    /// What is wrong, and what to write.
    pub message: String,
}

impl WrongSetting {
    pub(crate) fn new(key: &str, message: impl Into<String>) -> Self {
        Self {
            key: key.to_owned(),
            message: message.into(),
        }
    }
}

impl fmt::Display for WrongSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.key.rsplit('.').next().unwrap_or_default();
        // What names the setting itself needs no name before it.
        let is_named = |name: &str| self.message.contains(&format!("`{name}`"));
        if is_named(name) || is_named(&self.key) {
            return f.write_str(&self.message);
        }
        write!(f, "`{}`: {}", self.key, self.message)
    }
}

/// All of them in one sentence.
pub(crate) fn told(wrong: &[WrongSetting]) -> String {
    let all: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// A mistake in the text of a collection file.
#[derive(Clone, Debug)]
pub(crate) struct Mistake {
    /// The line, from 1, where it is known.
    pub(crate) line: Option<usize>,
    pub(crate) what: What,
}

/// What is wrong.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The text, or what a setting is written as.
    Text(String),
    /// A value.
    Senseless(Senseless),
}

impl Mistake {
    /// The same without a line, for who has called a setting by this name; `path` is all of it.
    pub(crate) fn of(&self, key: &str, path: &str) -> WrongSetting {
        let message = match &self.what {
            What::Text(message) => message.clone(),
            What::Senseless(senseless) if senseless.path() == path => senseless.message.clone(),
            What::Senseless(senseless) => senseless.to_string(),
        };
        WrongSetting::new(key, message)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match &self.what {
            What::Text(message) => f.write_str(message),
            What::Senseless(senseless) => write!(f, "{senseless}"),
        }
    }
}
