//! Where the data is, and commands that lead there again: what a message tells people to type can be
//! copied and run as it stands.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use teia_archive::ArchiveError;
use teia_base::journal::JournalError;
use teia_engine::EngineError;

use super::Usage;

/// The data directory where nobody says another.
const USUAL_DATA: &str = "teia-data";
/// The variable that says another.
const DATA_VARIABLE: &str = "TEIA_DATA";
/// The collection where nobody names one.
pub(crate) const USUAL_COLLECTION: &str = "default";

/// Where the data is.
#[derive(Clone, Debug, Args)]
pub(crate) struct Place {
    /// The data directory
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        default_value = USUAL_DATA,
        env = DATA_VARIABLE
    )]
    pub(crate) data: PathBuf,
    /// The collection [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    collection: Option<String>,
}

impl Place {
    /// A place that was chosen by the program.
    pub(crate) fn new(data: &Path, collection: &str) -> Self {
        Self {
            data: data.to_owned(),
            collection: Some(collection.to_owned()),
        }
    }

    /// The collection that is meant.
    pub(crate) fn name(&self) -> &str {
        self.collection.as_deref().unwrap_or(USUAL_COLLECTION)
    }

    /// The collection, if one was named.
    pub(crate) fn chosen(&self) -> Option<&str> {
        self.collection.as_deref()
    }

    /// With the name that a command takes beside its options; it may be said twice, not in two ways.
    pub(crate) fn named(mut self, name: Option<String>) -> Result<Self> {
        match (name, &self.collection) {
            (Some(name), Some(other)) if name != *other => Err(Usage(format!(
                "two collections are named, `{name}` and `{other}` (--collection); name one of them"
            ))
            .into()),
            (None, _) => Ok(self),
            (name, _) => {
                self.collection = name;
                Ok(self)
            }
        }
    }

    /// A command about something in this place: `page URL` becomes `teia page URL --data DIR
    /// --collection NAME`, without what is usual.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let mut line = self.begun(words);
        if self.name() != USUAL_COLLECTION {
            line.push_str(" --collection ");
            line.push_str(&quoted(self.name()));
        }
        line
    }

    /// A command that takes the collection by name: `teia resume NAME --data DIR`.
    pub(crate) fn steering(&self, word: &str) -> String {
        self.begun(&[word, self.name()])
    }

    /// A command of several words about the collection by name: `teia collection edit NAME --data DIR`,
    /// and what follows.
    pub(crate) fn command_of(&self, words: &str, rest: &str) -> String {
        let words: Vec<&str> = words.split(' ').chain([self.name()]).collect();
        let line = self.begun(&words);
        match rest {
            "" => line,
            rest => format!("{line} {rest}"),
        }
    }

    fn begun(&self, words: &[&str]) -> String {
        let mut line = program();
        for word in words {
            line.push(' ');
            line.push_str(&quoted(word));
        }
        // Where the variable says it, it says it to the next command as well.
        let usual = std::env::var_os(DATA_VARIABLE).unwrap_or_else(|| USUAL_DATA.into());
        if self.data != Path::new(&usual) {
            line.push_str(" --data ");
            line.push_str(&quoted(&self.data.to_string_lossy()));
        }
        line
    }

    /// What to do about an error; the engine's own messages say what happened and know no commands.
    pub(crate) fn advice(&self, error: &EngineError) -> Option<String> {
        Some(match error {
            EngineError::InUse { .. } => format!(
                "stop it first (`{}`), or name another directory with --data",
                self.begun(&["stop"])
            ),
            EngineError::NoDirectory { .. } => {
                format!(
                    "`{}` makes one, --data names another",
                    self.command(&["crawl", "example.org"])
                )
            }
            EngineError::NoSeeds => format!(
                "name a seed, for example `{}`, or a file of seeds with --seeds",
                self.command(&["crawl", "example.org"])
            ),
            EngineError::Fixed { .. } => format!(
                "or move it to the new normal form: `{}`",
                self.command(&["urls", "rekey"])
            ),
            EngineError::Urls(error) if error.is_loss() => format!(
                "`{}` makes the URLs on disk again from the journal",
                self.command(&["urls", "repair"])
            ),
            EngineError::UrlsForgotten(_) => {
                "call it again: the next start makes them, and takes a little longer".to_owned()
            }
            EngineError::JournalLost { .. }
            | EngineError::Journal(JournalError::Damaged { .. } | JournalError::Missing { .. }) => {
                format!(
                    "or let `{}` keep all that can still be read",
                    self.command(&["urls", "repair"])
                )
            }
            EngineError::Archive(ArchiveError::Missing { .. }) => format!(
                "restore it from a copy, or let `{}` go on without what is lost",
                self.command(&["urls", "repair"])
            ),
            EngineError::WorkerLost => {
                format!("`{}` goes on", self.steering("resume"))
            }
            _ => return None,
        })
    }
}

/// How this program was called.
pub(crate) fn program() -> String {
    let called = std::env::args_os().next();
    let called = called.map(|name| name.to_string_lossy().into_owned());
    quoted(
        called
            .filter(|name| !name.is_empty())
            .as_deref()
            .unwrap_or("teia"),
    )
}

/// A word as a shell takes it literally.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_every_word_as_it_was() {
        for word in [
            "plain",
            "",
            "two words",
            "it's",
            "http://a.example/?a=1&b=$x;(y)*",
            "~/x",
            "a\nb",
            "página",
        ] {
            let script = format!("printf %s {}", quoted(word));
            let said = std::process::Command::new("sh")
                .args(["-c", &script])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word, "{script}");
        }
    }
}
