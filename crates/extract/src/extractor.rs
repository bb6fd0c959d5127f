//! The extension point: one extractor for each family of media types.

use std::fmt;

use teia_base::MediaType;

use crate::{Extracted, Limits, Source};

/// Turns a body of a media type it knows into text and links.
///
/// Called once per answered exchange by [`Extractors`](crate::Extractors), off the async
/// threads, after the media type was sniffed and a gzip file opened. Headers (`Link`,
/// `X-Robots-Tag`, `Refresh`) are read by the caller. [`Html`](crate::Html) is the usual one.
pub trait Extractor: Send + Sync + fmt::Debug {
    /// Whether bodies of this type are for this extractor.
    fn accepts(&self, media_type: &MediaType) -> bool;

    /// Reads what it can. What it gave up on is in the flags: odd content is no error.
    fn extract(&self, source: &Source<'_>, limits: &Limits) -> Extracted;
}
