//! An answer becomes a document: the same one when it has just come and when it is read again from
//! the archive.

use std::sync::Arc;

use teia_base::journal::Attempt;
use teia_base::{Document, MediaType, Response};
use teia_extract::{Extracted, Extractor, Extractors, Limits, Source};
use teia_fetch::DecodeLimits;
use url::Url;

use crate::collection::CollectionConfig;
use crate::crawl::robot_token;

/// A program's own extractor.
#[derive(Debug)]
struct Own(Arc<dyn Extractor>);

impl Extractor for Own {
    fn accepts(&self, media_type: &MediaType) -> bool {
        self.0.accepts(media_type)
    }

    fn extract(&self, source: &Source<'_>, limits: &Limits) -> Extracted {
        self.0.extract(source, limits)
    }
}

/// Reads answers. Shared by threads.
#[derive(Debug)]
pub(crate) struct Answers {
    extractors: Extractors,
    robot_token: String,
    pub(crate) decode: DecodeLimits,
}

impl Answers {
    pub(crate) fn new(config: &CollectionConfig) -> Self {
        Self {
            extractors: Extractors::new(config.extract.clone()),
            robot_token: robot_token(&config.fetch.user_agent),
            decode: config.decode_limits(),
        }
    }

    /// The same with a program's own extractor before the others.
    pub(crate) fn with(mut self, own: Option<&Arc<dyn Extractor>>) -> Self {
        if let Some(own) = own {
            self.extractors = self.extractors.with(Own(Arc::clone(own)));
        }
        self
    }

    /// What the extractors make of an answer, whose body was decoded.
    pub(crate) fn extract(&self, url: &Url, response: &Response, body: &[u8]) -> Extracted {
        let head = &response.head;
        let declared = response.media_type();
        let (refresh, content_language) = (head.text("refresh"), head.text("content-language"));
        self.extractors.extract(&Source {
            url,
            media_type: declared.as_ref(),
            body,
            link_headers: &head.texts("link"),
            robots_headers: &head.texts("x-robots-tag"),
            refresh_header: refresh.as_deref(),
            content_language: content_language.as_deref(),
            robot_token: &self.robot_token,
            status: response.status,
        })
    }

    /// The document of a committed attempt, from its answer as the archive has it.
    pub(crate) fn document_again(
        &self,
        attempt: &Attempt,
        response: &Response,
    ) -> Option<Document> {
        let url = Url::parse(attempt.url.request()).ok()?;
        let decoded = teia_fetch::decode(response, &self.decode);
        let mut extracted = self.extract(&url, response, &decoded.bytes);
        let title = std::mem::take(&mut extracted.title);
        let mut document = document(attempt, title, extracted);
        document.capture = attempt.capture;
        Some(document)
    }
}

/// Depth, capture and flags are settled when the page is admitted.
pub(crate) fn document(attempt: &Attempt, title: String, extracted: Extracted) -> Document {
    Document {
        url: attempt.url.normal().clone(),
        requested: attempt.url.spelling().map(str::to_owned),
        outcome: attempt.outcome,
        flags: attempt.flags,
        fetched: attempt.started,
        capture: None,
        media_type: extracted.media_type,
        depth: attempt.depth,
        title,
        description: extracted.description,
        headings: extracted.headings,
        text: extracted.text,
        language: extracted.language,
        links: extracted.links,
        robots: extracted.robots,
    }
}
