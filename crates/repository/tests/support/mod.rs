//! What the Repository's tests share.
#![allow(dead_code, reason = "each test file uses its own part of the support")]

use std::sync::Arc;

use teia_base::journal::Exclusion;
use teia_base::{FoundUrl, NormalForm, Order, Outcome, Timestamp, UrlFacts};
use teia_repository::{Admission, Offer, Offered, Repository, RepositoryConfig};

/// By depth, then by arrival: what the frontier calls breadth.
#[derive(Debug)]
pub(crate) struct ByDepth;

impl Order for ByDepth {
    fn url_key(&self, url: &UrlFacts) -> u64 {
        (u64::from(url.depth) << 48) | url.sequence
    }
}

pub(crate) fn repository() -> Repository {
    Repository::new(RepositoryConfig {
        key: 99,
        order: Arc::new(ByDepth),
        keep_links: true,
        revisit_share: None,
        new_hosts: teia_repository::NewHosts::default(),
    })
}

pub(crate) fn found(text: &str) -> FoundUrl {
    NormalForm::default().parse(text).unwrap()
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

pub(crate) fn exclusion(rule: &str) -> Exclusion {
    Exclusion {
        outcome: Outcome::OUT_OF_SCOPE,
        rule: rule.to_owned(),
    }
}

/// Offers a plain link at this depth.
pub(crate) fn offer(repository: &mut Repository, url: &FoundUrl, depth: u16) -> Offered {
    offer_as(repository, url, depth, Admission::Admit)
}

pub(crate) fn offer_as(
    repository: &mut Repository,
    url: &FoundUrl,
    depth: u16,
    admission: Admission,
) -> Offered {
    repository.offer(
        &Offer {
            url,
            depth,
            referrer: None,
            requisite: false,
            chain: None,
            last_modified: None,
            seed: None,
            admission,
        },
        at(1_800_000_000),
    )
}

/// A small generator of numbers, the same for the same seed.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}
