//! The extension point: a program's own rules for what is fetched, kept and followed.

use super::Verdict;
use crate::{CanonicalUrl, LinkKind, MediaType};

/// Decides what enters a collection.
///
/// `before` is called once for each link found (and again when a URL turns out to be nearer to the
/// seeds), `after` once for each document fetched and read; both from many threads, so they must be
/// quick and must not block. [`super::Rules`] is the usual one; [`KeepAll`] has no rules.
pub trait Filter: Send + Sync {
    /// What to do with a URL that was found.
    fn before(&self, link: &Candidate<'_>) -> Verdict;

    /// What to do with a document that was fetched and read.
    fn after(&self, _resource: &Fetched<'_>) -> Verdict {
        Verdict::KEEP_AND_FOLLOW
    }
}

/// A URL that was found, before anything is known of what it leads to.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The URL.
    pub url: &'a CanonicalUrl,
    /// Hops from the nearest seed; 0 for a seed.
    pub depth: u16,
    /// Where it stood.
    pub kind: LinkKind,
    /// The page on which it was found is in scope and kept.
    pub from_kept_in_scope: bool,
    /// The page on which it was found; `None` for a seed.
    pub from: Option<&'a CanonicalUrl>,
}

impl<'a> Candidate<'a> {
    /// A seed.
    pub fn seed(url: &'a CanonicalUrl) -> Self {
        Self {
            url,
            depth: 0,
            kind: LinkKind::Seed,
            from_kept_in_scope: false,
            from: None,
        }
    }
}

/// A document that was fetched and read.
#[derive(Clone, Copy, Debug)]
pub struct Fetched<'a> {
    /// Its URL.
    pub url: &'a CanonicalUrl,
    /// Hops from the nearest seed.
    pub depth: u16,
    /// What it is, by its head or by its bytes; `None` where nobody can tell.
    pub media_type: Option<&'a MediaType>,
    /// Bytes of its body.
    pub body_bytes: u64,
    /// Its visible text; empty where it has none.
    pub text: &'a str,
    /// Its title; empty where it has none.
    pub title: &'a str,
    /// Its language (`pt`, `pt-BR`); `None` where it is not known.
    pub language: Option<&'a str>,
    /// It was fetched only because a kept page needs it.
    pub requisite: bool,
}

/// The filter without rules: everything is kept and followed.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeepAll;

impl Filter for KeepAll {
    fn before(&self, _link: &Candidate<'_>) -> Verdict {
        Verdict::KEEP_AND_FOLLOW
    }
}
