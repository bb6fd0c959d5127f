//! An answer becomes a document: the same one when it has just come and when it is read again from
//! the archive.

use std::sync::{Arc, PoisonError, RwLock};

use teia_base::journal::Attempt;
use teia_base::{Document, MediaType, Response};
use teia_extract::{Extracted, Extractor, Extractors, Limits, Source};
use teia_fetch::DecodeLimits;
use url::Url;

use crate::collection::CollectionConfig;
use crate::crawl::robot_token;
use crate::sites::{Settings, Sites};

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

/// Reads answers, each as the settings of its host say. Shared by threads.
#[derive(Debug)]
pub(crate) struct Answers {
    usual: Reader,
    /// How far bodies of hosts in no site are unpacked.
    usual_limits: RwLock<DecodeLimits>,
    sites: RwLock<Arc<Sites>>,
    /// A program's own extractor, which reads for all hosts alike.
    own: Option<Arc<dyn Extractor>>,
}

/// Reads the answers of hosts with the same settings.
#[derive(Debug)]
pub(crate) struct Reader {
    extractors: Extractors,
    pub(crate) robot_token: String,
    decode: DecodeLimits,
}

impl Reader {
    pub(crate) fn new(config: &CollectionConfig) -> Self {
        Self {
            extractors: Extractors::new(config.extract.clone()),
            robot_token: robot_token(&config.fetch.user_agent),
            decode: config.decode_limits(),
        }
    }

    /// What the extractors make of an answer, whose body was decoded.
    fn extract(&self, url: &Url, response: &Response, body: &[u8]) -> Extracted {
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
}

impl Answers {
    pub(crate) fn new(config: &CollectionConfig) -> Self {
        Self::of(config, Arc::new(Sites::new(config)))
    }

    pub(crate) fn of(config: &CollectionConfig, sites: Arc<Sites>) -> Self {
        Self {
            usual: Reader::new(config),
            usual_limits: RwLock::new(config.decode_limits()),
            sites: RwLock::new(sites),
            own: None,
        }
    }

    /// The same with a program's own extractor before the others.
    pub(crate) fn with(mut self, own: Option<&Arc<dyn Extractor>>) -> Self {
        if let Some(own) = own {
            self.usual.extractors = self.usual.extractors.with(Own(Arc::clone(own)));
            self.own = Some(Arc::clone(own));
        }
        self
    }

    /// Goes by other sites from now on.
    pub(crate) fn change_sites(&self, sites: Arc<Sites>) {
        *self.sites.write().unwrap_or_else(PoisonError::into_inner) = sites;
    }

    /// Unpacks as far as other settings say from now on.
    pub(crate) fn change_limits(&self, config: &CollectionConfig) {
        let mut limits = self
            .usual_limits
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *limits = config.decode_limits();
    }

    /// What is different for a host.
    pub(crate) fn own(&self, host: &str) -> Option<Arc<Settings>> {
        let sites = self.sites.read().unwrap_or_else(PoisonError::into_inner);
        sites.by_name(host)
    }

    /// How far a body of this host is unpacked.
    pub(crate) fn decode_limits(&self, host: &str) -> DecodeLimits {
        if let Some(own) = self.own(host) {
            return own.reader.decode.clone();
        }
        let limits = self.usual_limits.read();
        limits.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the extractors make of an answer, whose body was decoded.
    pub(crate) fn extract(&self, url: &Url, response: &Response, body: &[u8]) -> Extracted {
        let is_own = self.own.as_ref().is_some_and(|own| {
            let declared = response.media_type();
            declared.is_some_and(|declared| own.accepts(&declared))
        });
        let site = self.own(url.host_str().unwrap_or_default());
        let site = site.as_ref().filter(|_| !is_own);
        let reader = site.map_or(&self.usual, |site| &site.reader);
        reader.extract(url, response, body)
    }

    /// The document of a committed attempt, from its answer as the archive has it.
    pub(crate) fn document_again(
        &self,
        attempt: &Attempt,
        response: &Response,
    ) -> Option<Document> {
        let url = Url::parse(attempt.url.request()).ok()?;
        let limits = self.decode_limits(attempt.url.normal().host_str());
        let decoded = teia_fetch::decode(response, &limits);
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
