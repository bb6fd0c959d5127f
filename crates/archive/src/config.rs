//! How the archive is written.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How captures are written to archive files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArchiveConfig {
    /// A file that reaches this size is sealed and the next one begun.
    #[serde(with = "teia_base::measure::size")]
    pub max_file_bytes: u64,
    /// Compression from 1 (fast) to 12 (small).
    pub level: u8,
    /// First part of each file name; letters, digits, `-` and `_`, others become `_`.
    pub prefix: String,
    /// Writes the request beside each answer, its secrets replaced by a mark.
    pub request_records: bool,
    /// Writes the links found beside each answer.
    pub metadata_records: bool,
    /// Writes a block digest also where a payload digest stands already.
    pub block_digests: bool,
    /// Who runs the crawl, for the first record of each file.
    pub operator: String,
    /// What the crawl is for, for the first record of each file.
    pub description: String,
    /// Where large records lie while they are packed; the system's temporary directory unless given.
    /// Set by the program, not by people.
    #[serde(skip)]
    pub spool_dir: Option<PathBuf>,
}

impl Default for ArchiveConfig {
    fn default() -> Self {
        Self {
            max_file_bytes: 1 << 30,
            level: 1,
            prefix: "teia".to_owned(),
            request_records: true,
            metadata_records: false,
            block_digests: false,
            operator: String::new(),
            description: String::new(),
            spool_dir: None,
        }
    }
}

impl ArchiveConfig {
    /// The level as the compressors take it.
    pub(crate) fn level(&self) -> u8 {
        self.level.clamp(1, 12)
    }
}
