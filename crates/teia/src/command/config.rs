//! `teia config`: every setting with its default and its meaning.

use std::process::ExitCode;

use crate::show::outln;
use anyhow::Result;
use teia_engine::CollectionConfig;

/// Prints a collection file with every setting, its default, and its meaning as a comment.
pub(crate) fn config() -> Result<ExitCode> {
    outln!(
        "{}",
        annotated(&CollectionConfig::default().to_toml()).trim_end()
    )?;
    Ok(ExitCode::SUCCESS)
}

/// The doc comments of the settings, as they stand in the source: the one manual there is.
const SOURCES: [&str; 7] = [
    include_str!("../../../engine/src/collection.rs"),
    include_str!("../../../base/src/filter/config.rs"),
    include_str!("../../../base/src/canonical.rs"),
    include_str!("../../../frontier/src/politeness.rs"),
    include_str!("../../../fetch/src/config.rs"),
    include_str!("../../../fetch/src/robots/standing.rs"),
    include_str!("../../../extract/src/limits.rs"),
];
const ARCHIVE: &str = include_str!("../../../archive/src/config.rs");

fn annotated(toml: &str) -> String {
    let mut out = String::from(
        "# Every setting of a collection with its default; put the ones you change into FILE.toml\n# and run `teia crawl --config FILE.toml`, or edit collections/NAME.toml in the data directory.\n\n",
    );
    for line in toml.lines() {
        let key = line.split_once(" = ").map(|(key, _)| key.trim_matches('"'));
        if let Some(meaning) = key.and_then(meaning_of) {
            for text in meaning {
                out.push_str(&format!("# {text}\n"));
            }
        }
        out.push_str(line);
        out.push('\n');
        if key.is_some() {
            out.push('\n');
        }
    }
    out
}

fn meaning_of(key: &str) -> Option<Vec<String>> {
    let field = format!("    pub {}:", key.replace('-', "_"));
    SOURCES
        .iter()
        .chain(std::iter::once(&ARCHIVE))
        .find_map(|source| {
            let lines: Vec<&str> = source.lines().collect();
            let at = lines.iter().position(|line| line.starts_with(&field))?;
            let mut docs: Vec<String> = Vec::new();
            for line in lines[..at].iter().rev() {
                let line = line.trim();
                if let Some(text) = line.strip_prefix("///") {
                    docs.push(text.trim().to_owned());
                } else if !line.starts_with("#[") {
                    break;
                }
            }
            docs.reverse();
            (!docs.is_empty()).then_some(docs)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_meaning() {
        let toml = CollectionConfig::default().to_toml();
        let bare: Vec<&str> = toml
            .lines()
            .filter_map(|line| line.split_once(" = ").map(|(key, _)| key))
            .filter(|key| meaning_of(key).is_none())
            .collect();
        assert!(bare.is_empty(), "{bare:?}");
    }

    #[test]
    fn what_is_printed_can_be_read_back() {
        let text = annotated(&CollectionConfig::default().to_toml());
        let again = CollectionConfig::parse(&text).unwrap();
        assert_eq!(again.to_toml(), CollectionConfig::default().to_toml());
    }
}
