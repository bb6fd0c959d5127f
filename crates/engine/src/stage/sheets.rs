//! Style sheets that import others: three steps, and no further.
//!
//! Each sheet may name another one that nobody has seen, for ever, and none of them has a text by which it could be
//! told that nothing new comes. What is left out is kept in mind like a link that is not followed.

use std::collections::HashMap;

use teia_base::LinkKind;
use teia_base::journal::{Attempt, LinkVerdict};
use xxhash_rust::xxh3::xxh3_64;

use super::extract::Judged;
use crate::ring::Ring;

/// Imports on the way from a page to a style sheet.
const STEPS: u8 = 3;
/// Sheets that are remembered; then it is counted anew.
const MOST_SHEETS: usize = 65_536;

/// How many imports led to a style sheet, by a hash of its URL. Those that a page names are in none.
#[derive(Debug, Default)]
pub(crate) struct Sheets(HashMap<u64, u8>);

impl Sheets {
    fn steps_to(&self, url: &str) -> u8 {
        self.0.get(&xxh3_64(url.as_bytes())).copied().unwrap_or(0)
    }

    fn note(&mut self, url: &str, steps: u8) {
        if self.0.len() >= MOST_SHEETS {
            self.0.clear();
        }
        self.0.entry(xxh3_64(url.as_bytes())).or_insert(steps);
    }
}

impl Ring {
    /// The links of a page; of a style sheet at the end of its way without its imports.
    pub(crate) fn links_of_sheet(
        &mut self,
        attempt: &Attempt,
        mut links: Vec<Judged>,
    ) -> Vec<Judged> {
        if attempt.media_type.as_deref() != Some("text/css") {
            return links;
        }
        let steps = self.sheets.steps_to(attempt.url.normal().as_str());
        for link in &mut links {
            if link.record.kind != LinkKind::Style {
                continue;
            }
            if steps >= STEPS {
                link.record.verdict = LinkVerdict::NotFollowed;
            } else {
                self.sheets
                    .note(link.record.url.normal().as_str(), steps + 1);
            }
        }
        links
    }
}
