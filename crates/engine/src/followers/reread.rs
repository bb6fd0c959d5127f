//! A committed document, read again from the archive as it was read the first time.

use std::path::Path;
use std::sync::Arc;

use teia_archive::{ArchiveError, Captures};
use teia_base::journal::Attempt;
use teia_base::{Document, Files, MediaType};
use teia_extract::{Extractors, Source};
use teia_fetch::DecodeLimits;
use url::Url;

use crate::collection::CollectionConfig;
use crate::crawl::robot_token;

/// Reads documents again. Shared by threads.
#[derive(Debug)]
pub(crate) struct Rereader {
    extractors: Extractors,
    robot_token: String,
    decode: DecodeLimits,
    captures: Captures,
}

impl Rereader {
    /// Over the archive as it is now.
    pub(crate) fn open(
        files: Arc<dyn Files>,
        archive: &Path,
        config: &CollectionConfig,
    ) -> Result<Self, ArchiveError> {
        Ok(Self {
            extractors: Extractors::new(config.extract.clone()),
            robot_token: robot_token(&config.fetch.user_agent),
            decode: config.decode_limits(),
            captures: Captures::open(files, archive)?,
        })
    }

    /// The document of an attempt; `None` where the archive has no copy that can be read.
    pub(crate) fn document(&self, attempt: &Attempt) -> Option<Document> {
        let request = attempt.url.request();
        let url = Url::parse(request).ok()?;
        let entry = match attempt.capture {
            Some(capture) => {
                let versions = self.captures.versions(request).ok()?;
                versions
                    .into_iter()
                    .find(|entry| entry.id == Some(capture))?
            }
            None => return None,
        };
        let stored = match self.captures.read(&entry) {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(%url, %error, "an archived copy cannot be read");
                return None;
            }
        };
        let response = stored.response;
        let decoded = teia_fetch::decode(&response, &self.decode);
        let declared = response.media_type();
        let head = &response.head;
        let (refresh, content_language) = (head.text("refresh"), head.text("content-language"));
        let source = Source {
            url: &url,
            media_type: declared.as_ref(),
            body: &decoded.bytes,
            link_headers: &head.texts("link"),
            robots_headers: &head.texts("x-robots-tag"),
            refresh_header: refresh.as_deref(),
            content_language: content_language.as_deref(),
            robot_token: &self.robot_token,
            status: response.status,
        };
        let extracted = self.extractors.extract(&source);
        Some(Document {
            url: attempt.url.normal().clone(),
            requested: attempt.url.spelling().map(str::to_owned),
            outcome: attempt.outcome,
            flags: attempt.flags,
            fetched: attempt.started,
            capture: attempt.capture,
            media_type: extracted
                .media_type
                .or_else(|| attempt.media_type.as_deref().and_then(MediaType::parse)),
            depth: attempt.depth,
            title: extracted.title,
            description: extracted.description,
            headings: extracted.headings,
            text: extracted.text,
            language: extracted.language,
            links: extracted.links,
            robots: extracted.robots,
        })
    }
}
