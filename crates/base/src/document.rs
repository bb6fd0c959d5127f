//! A fetched page, understood: what followers and Analyzers receive after the commit.

use serde::{Deserialize, Serialize};

use crate::{CanonicalUrl, Directives, Flags, Link, MediaType, Outcome, Timestamp};

/// Names one capture in the archive of a collection. Only the capture index knows where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CaptureId(pub u64);

/// One committed document.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its identity.
    pub url: CanonicalUrl,
    /// The URL as requested, where its spelling differs.
    pub requested: Option<String>,
    /// What became of the attempt.
    pub outcome: Outcome,
    /// Notes beside the outcome.
    pub flags: Flags,
    /// When it was fetched.
    pub fetched: Timestamp,
    /// Its place in the archive, if there is one.
    pub capture: Option<CaptureId>,
    /// The declared or detected media type.
    pub media_type: Option<MediaType>,
    /// Least known number of hops from a seed.
    pub depth: u16,
    /// Title, white space folded.
    pub title: String,
    /// The author's description.
    pub description: String,
    /// Headings, in order.
    pub headings: Vec<String>,
    /// Visible text; headings, paragraphs, items and cells on lines of their own.
    pub text: String,
    /// Parts of the text that are beside the point, in order, apart.
    pub margins: Vec<Margin>,
    /// Declared language.
    pub language: Option<String>,
    /// Links, in order.
    pub links: Vec<Link>,
    /// What it asks of robots.
    pub robots: Directives,
}

/// A part of a text that tells little of what a page is about, or that is not to be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Margin {
    /// Its first byte.
    pub from: u32,
    /// The byte after its last.
    pub to: u32,
    /// What it is.
    pub kind: MarginKind,
}

/// What stands beside the main text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarginKind {
    /// Menus, heads and feet of pages, lists of links.
    Navigation,
    /// Its author wants it quoted nowhere (`data-nosnippet`).
    Unquoted,
}
