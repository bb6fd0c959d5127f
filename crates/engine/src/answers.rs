//! An answer becomes a document: the same one when it has just come and when it is read again from
//! the archive.

use std::io::Read;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use teia_base::journal::Attempt;
use teia_base::{Document, MediaType, Outcome, Response};
use teia_extract::{Extracted, Extractor, Extractors, Limits, Source};
use teia_fetch::{DecodeLimits, Extent};
use url::Url;

use crate::collection::CollectionConfig;
use crate::crawl::robot_token;
use crate::sites::{Settings, Sites};

/// So much of a body tells what it is, and whether anybody reads it.
const START: usize = 64 << 10;

/// How gzip begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// So much comes out of any body before its ratio counts.
const UNPACKED_FREELY: u64 = 1 << 20;

/// The body of an answer, its coding undone.
#[derive(Debug)]
pub(crate) struct Opened {
    /// All of it, or the beginning of what nobody reads.
    pub(crate) bytes: Bytes,
    /// How many bytes there are.
    pub(crate) len: u64,
    /// What went wrong, and a name that says more.
    pub(crate) fault: Option<(Outcome, &'static str)>,
    /// More would have come.
    pub(crate) truncated: bool,
}

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
    /// How far bodies of hosts in no site are unpacked, and how often their pages are tried again.
    usual_limits: RwLock<(DecodeLimits, u8)>,
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
            usual_limits: RwLock::new((config.decode_limits(), config.run.retries)),
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
        *limits = (config.decode_limits(), config.run.retries);
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
        limits.unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// How often a page of this host is tried after the first time.
    pub(crate) fn retries(&self, host: &str) -> u8 {
        if let Some(own) = self.own(host) {
            return own.config.run.retries;
        }
        let limits = self.usual_limits.read();
        limits.unwrap_or_else(PoisonError::into_inner).1
    }

    /// What the extractors make of an answer, whose body was decoded.
    pub(crate) fn extract(&self, url: &Url, response: &Response, body: &[u8]) -> Extracted {
        let site = self.site_reader(url.host_str().unwrap_or_default(), response);
        let reader = site.as_ref().map_or(&self.usual, |site| &site.reader);
        reader.extract(url, response, body)
    }

    /// The settings of the site whose reader reads an answer; none where the usual one does.
    fn site_reader(&self, host: &str, response: &Response) -> Option<Arc<Settings>> {
        let is_own = self.own.as_ref().is_some_and(|own| {
            let declared = response.media_type();
            declared.is_some_and(|declared| own.accepts(&declared))
        });
        self.own(host).filter(|_| !is_own)
    }

    /// Unpacks all of an answer.
    pub(crate) fn open_all(&self, host: &str, response: &Response) -> Opened {
        let decoded = teia_fetch::decode(response, &self.decode_limits(host));
        Opened {
            len: decoded.bytes.len() as u64,
            bytes: decoded.bytes,
            fault: decoded.fault,
            truncated: decoded.truncated,
        }
    }

    /// Unpacks an answer: all of it where somebody reads it, and otherwise (pictures, books, archives) only its
    /// beginning, in as little memory.
    pub(crate) fn open(&self, host: &str, response: &Response) -> Opened {
        let limits = self.decode_limits(host);
        let declared = response.media_type();
        let site = self.site_reader(host, response);
        let reader = site.as_ref().map_or(&self.usual, |site| &site.reader);
        let extractors = &reader.extractors;
        let reads = |declared: Option<&MediaType>| {
            let look = teia_fetch::measure(response, &limits, START, Extent::Start);
            extractors.reads(declared, &look.start)
        };
        let is_read = declared.as_ref().is_some_and(|it| extractors.accepts(it));
        if is_read || reads(declared.as_ref()) {
            let mut opened = self.open_all(host, response);
            // What nobody could unpack is kept as it came, and is no page (BODY-05, BODY-10).
            if matches!(opened.fault, Some((_, "unknown_coding" | "layers"))) {
                opened.bytes = Bytes::new();
            }
            return opened;
        }
        let measured = teia_fetch::measure(response, &limits, START, Extent::Whole);
        Opened {
            bytes: measured.start,
            len: measured.len,
            fault: measured.fault,
            truncated: measured.truncated,
        }
    }

    /// How large the body of an answer may be once it is unpacked.
    pub(crate) fn most_bytes(&self, host: &str, response: &Response) -> u64 {
        let limits = self.decode_limits(host);
        let bytes = response.body.len();
        let is_labelled = response.head.all("content-encoding").next().is_some();
        // One that is not labelled is unpacked all the same.
        let is_gzip = || {
            let mut magic = [0; GZIP.len()];
            let read = response.payload_reader().read_exact(&mut magic);
            read.is_ok() && magic == GZIP
        };
        let unpacked = if is_labelled || is_gzip() {
            bytes.saturating_mul(limits.ratio).max(UNPACKED_FREELY)
        } else {
            bytes
        };
        unpacked.min(limits.decoded_bytes)
    }

    /// The document of a committed attempt, from its answer as the archive has it.
    pub(crate) fn document_again(
        &self,
        attempt: &Attempt,
        response: &Response,
    ) -> Option<Document> {
        let url = Url::parse(attempt.url.request()).ok()?;
        let opened = self.open(attempt.url.normal().host_str(), response);
        let mut extracted = self.extract(&url, response, &opened.bytes);
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
        margins: extracted.margins,
        language: extracted.language,
        links: extracted.links,
        robots: extracted.robots,
    }
}
