//! How much of one document is read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bounds of extraction. What lies past one is left out and the page is flagged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limits {
    /// Different links of one page; the first ones are kept.
    pub links_per_page: usize,
    /// Bytes of visible text.
    #[serde(with = "size")]
    pub text_bytes: usize,
    /// Bytes of one attribute; longer URLs are left out, longer texts are cut.
    #[serde(with = "size")]
    pub attr_bytes: usize,
    /// Attributes of one tag; later ones are passed over.
    pub attrs_per_tag: usize,
    /// Open elements past which a page is flagged as too deep. (A scanner keeps no tree, so
    /// nothing is lost.)
    pub depth: usize,
    /// Processor time for one page.
    #[serde(with = "teia_base::measure::duration")]
    pub cpu: Duration,
    /// URLs of one sitemap.
    pub sitemap_urls: usize,
    /// Bytes of a sitemap after decompression.
    #[serde(with = "size")]
    pub sitemap_bytes: usize,
    /// How many times larger a gzip file may grow, after its first MiB.
    pub gzip_ratio: usize,
    /// Items of one feed.
    pub feed_items: usize,
    /// Bytes of a title, a heading or a description.
    #[serde(with = "size")]
    pub title_bytes: usize,
    /// Headings of one page.
    pub headings: usize,
    /// Bytes of a link's text.
    #[serde(with = "size")]
    pub anchor_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            links_per_page: 10_000,
            text_bytes: 2 << 20,
            attr_bytes: 64 << 10,
            attrs_per_tag: 256,
            depth: 512,
            cpu: Duration::from_secs(2),
            sitemap_urls: 50_000,
            sitemap_bytes: 50 << 20,
            gzip_ratio: 100,
            feed_items: 1000,
            title_bytes: 2048,
            headings: 256,
            anchor_bytes: 512,
        }
    }
}

/// Sizes in memory, written as people write them.
mod size {
    use serde::{Deserializer, Serializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<usize, D::Error> {
        let bytes = teia_base::measure::size::deserialize(deserializer)?;
        usize::try_from(bytes).map_err(serde::de::Error::custom)
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature serde asks for"
    )]
    pub(super) fn serialize<S: Serializer>(
        bytes: &usize,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        teia_base::measure::size::serialize(&(*bytes as u64), serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_settings_are_read_back() {
        let limits = Limits::default();
        let written = serde_json::to_string(&limits).unwrap();
        assert_eq!(serde_json::from_str::<Limits>(&written).unwrap(), limits);
        let some: Limits =
            serde_json::from_str(r#"{"text-bytes": "1MiB", "cpu": "500ms"}"#).unwrap();
        assert_eq!(some.text_bytes, 1 << 20);
        assert_eq!(some.cpu, Duration::from_millis(500));
        assert!(serde_json::from_str::<Limits>(r#"{"text_bytes": 1}"#).is_err());
    }
}
