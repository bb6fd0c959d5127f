//! Seeds in a file of their own: one a line, `#` before a comment, read at each start of a run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use teia_base::Seed;

use crate::EngineError;
use crate::collection::CollectionConfig;
use crate::sense::Senseless;

/// Bytes and seeds of a file, at most; one with more is refused.
const MOST_BYTES: u64 = 128 << 20;
const MOST_SEEDS: usize = 1_000_000;

impl CollectionConfig {
    pub(crate) fn check_seeds_file(&self) -> Result<(), Senseless> {
        let is_named = |path: &PathBuf| path.file_name().is_some();
        if self.seeds_file.as_ref().is_none_or(is_named) {
            return Ok(());
        }
        let message = "write the path of a file, for example \"list.txt\"";
        Err(Senseless::new("", "seeds-file", message))
    }

    /// The seeds in `seeds-file`, as written; none where there is no such file in the settings. The directory is
    /// that of the collection's file. What is wrong in it is told with it and its line; that it cannot be read, of the
    /// setting.
    pub fn seeds_in_file(&self, directory: &Path) -> Result<Vec<String>, EngineError> {
        let Some(file) = &self.seeds_file else {
            return Ok(Vec::new());
        };
        let path = directory.join(file);
        let wrong = |message: String| EngineError::Config {
            path: path.clone(),
            message,
        };
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| {
                let message = format!("{} cannot be read: {error}", path.display());
                Senseless::new("", "seeds-file", message)
            })?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(wrong(format!(
                "more than {} of seeds; write several collections",
                teia_base::measure::format_size(MOST_BYTES)
            )));
        }
        let mut seeds = Vec::new();
        for (at, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            let line = line.trim_start_matches('\u{feff}').trim();
            match Seed::parse(line) {
                Ok(None) => continue,
                Ok(Some(_)) => seeds.push(line.to_owned()),
                Err(error) => return Err(wrong(format!("line {}: {error}", at + 1))),
            }
            if seeds.len() > MOST_SEEDS {
                let message = format!("line {}: more than {MOST_SEEDS} seeds", at + 1);
                return Err(wrong(message));
            }
        }
        Ok(seeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Vec<String>, String> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("list.txt"), text).unwrap();
        let config = CollectionConfig::parse("seeds-file = \"list.txt\"\n").unwrap();
        let seeds = config.seeds_in_file(directory.path());
        seeds.map_err(|error| error.to_string())
    }

    #[test]
    fn a_line_is_a_seed_and_comments_are_none() {
        let text = "\u{feff}# birds\r\na.example\r\n\n  https://b.example/x  \n#c.example\n";
        let seeds = read(text.as_bytes()).unwrap();
        assert_eq!(seeds, ["a.example", "https://b.example/x"]);
        assert_eq!(read(b"").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_mistake_is_told_with_file_and_line() {
        let message = read(b"a.example\nhttp://\n").unwrap_err();
        assert!(
            message.contains("list.txt") && message.contains("line 2"),
            "{message}"
        );
        let config = CollectionConfig::parse("seeds-file = \"none.txt\"\n").unwrap();
        let message = config.seeds_in_file(Path::new("/no/such")).unwrap_err();
        assert!(message.to_string().contains("none.txt"), "{message}");
        // That it is not there is a matter of the line that names it.
        let EngineError::Senseless(senseless) = message else {
            panic!("{message}");
        };
        let told = senseless.in_file(
            Path::new("birds.toml"),
            "mode = \"once\"\nseeds-file = \"none.txt\"\n",
        );
        assert!(
            told.to_string().contains("birds.toml") && told.to_string().contains("line 2: "),
            "{told}"
        );
        assert!(CollectionConfig::parse("seeds-file = \"..\"\n").is_err());
    }
}
