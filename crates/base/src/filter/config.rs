//! The settings behind a filter.

use serde::{Deserialize, Serialize};

use crate::measure::{optional_size, size};
use crate::scope::Scope;
use crate::{Beyond, MediaPattern};

/// What to collect.
///
/// `scope`, `hosts`, `directories`, `include`, `max-depth` and `max-path-depth` say which URLs
/// enter. A seed is fetched even where these leave it out: its links are followed, and it is not
/// kept. `exclude`, `schemes` and `max-url-bytes` hold for seeds too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FilterConfig {
    /// How far to go from the seeds: `host`, `domain`, `prefix`, `any`, or `suffix:.pt,.br`.
    pub scope: Scope,
    /// Hosts that are in scope as well: `example.org`, or `*.example.org` for it and all below it.
    pub hosts: Vec<String>,
    /// If any are given, only URLs in one of these directories enter: `/docs/`.
    pub directories: Vec<String>,
    /// If any are given, only URLs in which one of these regular expressions matches enter.
    pub include: Vec<String>,
    /// URLs in which one of these regular expressions matches are left out, whatever else holds.
    pub exclude: Vec<String>,
    /// Hops from the seeds; without it there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u16>,
    /// Path segments of a URL (`/a/b` has 2); without it there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_path_depth: Option<usize>,
    /// Schemes that are fetched.
    pub schemes: Vec<String>,

    /// If any are given, only documents of these media types are kept: `text/html`, `image/*`.
    /// Others are still fetched for their links where they can have some.
    pub types: Vec<MediaPattern>,
    /// If any are given, only documents in these languages are kept: `pt` (with `pt-BR`), `en`.
    /// A document whose language cannot be told is kept.
    pub languages: Vec<String>,
    /// Pages outside the scope that are in one of these languages are kept and followed too: `pt`.
    /// Others that were fetched to find out are `language_refused`.
    pub or_languages: Vec<String>,
    /// If any are given, only documents with one of these words in title or text are kept.
    /// Capitals do not matter; several words in one string must stand together.
    pub words: Vec<String>,
    /// If any are given, only documents in whose text one of these regular expressions matches are kept.
    pub text_include: Vec<String>,
    /// Documents in whose text one of these regular expressions matches are not kept.
    pub text_exclude: Vec<String>,
    /// Images, styles and scripts of a kept page are fetched wherever they are, and kept.
    pub requisites: bool,

    /// The largest document: `16MB`. One that says beforehand that it is larger is refused (`size_exceeded`). One that
    /// does not say and grows larger is refused where another size than `16MB` is set here, and otherwise cut there,
    /// marked so, kept and followed as far as it came.
    #[serde(with = "size")]
    pub max_size: u64,
    /// Documents answered in one run; without it there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pages: Option<u64>,
    /// Documents answered by one host in one run; without it there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pages_per_host: Option<u64>,
    /// Requests for URLs of one host in one day (UTC), counted by each process; the others wait for the next day. 0
    /// turns it off.
    pub urls_per_host_day: u64,
    /// Bytes received in one run (`10GB`); without it there is no limit.
    #[serde(with = "optional_size", skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,

    /// The longest URL, in bytes.
    pub max_url_bytes: usize,
    /// Query parameters of a URL; one with more looks like a trap.
    pub max_query_params: usize,
    /// Path segments of a URL; one with more looks like a trap.
    pub max_path_segments: usize,
    /// How often a path may have the same segment. More often, or this often in a row, or this
    /// often the same two in a row, looks like a trap.
    pub max_segment_repeat: usize,
    /// Refuse URLs with a session id that the normal form has left in.
    pub refuse_session_ids: bool,
}

/// `max-size` where nobody says anything.
const DEFAULT_MAX_SIZE: u64 = 16_000_000;

impl FilterConfig {
    /// Whether a person said how large a document may be. What nobody said is a safety limit, which cuts; what somebody
    /// said is a wish, which refuses.
    pub fn has_own_max_size(&self) -> bool {
        self.max_size != DEFAULT_MAX_SIZE
    }

    /// What becomes of a body that grows beyond `max-size` without having said so.
    pub fn beyond_max_size(&self) -> Beyond {
        if self.has_own_max_size() {
            Beyond::Refused
        } else {
            Beyond::Truncated
        }
    }
}

impl Default for FilterConfig {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            hosts: Vec::new(),
            directories: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            max_depth: None,
            max_path_depth: None,
            schemes: vec!["http".to_owned(), "https".to_owned()],
            types: Vec::new(),
            languages: Vec::new(),
            or_languages: Vec::new(),
            words: Vec::new(),
            text_include: Vec::new(),
            text_exclude: Vec::new(),
            requisites: true,
            max_size: DEFAULT_MAX_SIZE,
            max_pages: None,
            max_pages_per_host: None,
            urls_per_host_day: 100_000,
            max_bytes: None,
            max_url_bytes: 2048,
            max_query_params: 32,
            max_path_segments: 32,
            max_segment_repeat: 3,
            refuse_session_ids: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kebab_case_and_unknown_ones_are_refused() {
        let config: FilterConfig = serde_json::from_str(
            r#"{"scope": "suffix:.pt", "max-depth": 3, "max-bytes": "2GB", "max-size": "1MB", "types": ["image/*"]}"#,
        )
        .unwrap();
        assert_eq!(config.max_depth, Some(3));
        assert_eq!(config.max_bytes, Some(2_000_000_000));
        assert_eq!(config.max_size, 1_000_000);
        assert_eq!(config.scope.to_string(), "suffix:.pt");
        let written = serde_json::to_string(&config).unwrap();
        assert_eq!(
            serde_json::from_str::<FilterConfig>(&written).unwrap(),
            config
        );
        assert!(serde_json::from_str::<FilterConfig>(r#"{"max_depth": 3}"#).is_err());
    }

    #[test]
    fn the_default_reads_back() {
        let written = serde_json::to_string(&FilterConfig::default()).unwrap();
        assert_eq!(
            serde_json::from_str::<FilterConfig>(&written).unwrap(),
            FilterConfig::default()
        );
        assert_eq!(
            serde_json::from_str::<FilterConfig>("{}").unwrap(),
            FilterConfig::default()
        );
    }
}
