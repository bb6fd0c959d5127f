//! The time of one query: one budget for planning, matching and ordering over all indexes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// When a query must be answered with what was found by then.
#[derive(Debug)]
pub(super) struct Deadline {
    end: Instant,
    was_over: AtomicBool,
    /// Looks after which it is over, whatever the clock says.
    #[cfg(test)]
    looks: Option<std::sync::atomic::AtomicU32>,
}

/// Steps of a walk between two looks at the clock.
pub(super) const STEPS: u32 = 1_024;

impl Deadline {
    pub(super) fn after(began: Instant, milliseconds: u64) -> Self {
        Self {
            end: began + Duration::from_millis(milliseconds),
            was_over: AtomicBool::new(false),
            #[cfg(test)]
            looks: None,
        }
    }

    /// One that is over when it was looked at so many times: tests count, and measure no time.
    #[cfg(test)]
    pub(super) fn after_looks(looks: u32) -> Self {
        Self {
            looks: Some(looks.into()),
            ..Self::after(Instant::now(), 3_600_000)
        }
    }

    /// Whether the time is over. Who hears so leaves something out.
    pub(super) fn is_over(&self) -> bool {
        if self.was_over() {
            return true;
        }
        let is_over = Instant::now() > self.end;
        #[cfg(test)]
        let is_over = match &self.looks {
            Some(left) => left.fetch_sub(1, Ordering::Relaxed) == 0,
            None => is_over,
        };
        if is_over {
            self.was_over.store(true, Ordering::Relaxed);
        }
        is_over
    }

    /// The same, looked at only now and then.
    pub(super) fn is_over_at(&self, step: &mut u32) -> bool {
        *step = step.wrapping_add(1);
        step.is_multiple_of(STEPS) && self.is_over()
    }

    /// Whether somebody heard that it was over: what there is, is not all.
    pub(super) fn was_over(&self) -> bool {
        self.was_over.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Deadline, STEPS};
    use crate::config::{IndexConfig, SearchConfig};
    use crate::page::Extras;
    use crate::search::{SearchRequest, Searcher};
    use crate::weights::Weights;
    use crate::writer::Writer;

    /// Tests count looks: one that comes in the middle of a walk leaves the rest out, for every kind of query.
    #[test]
    fn a_walk_over_many_pages_ends_with_the_time() {
        let all = u64::from(4 * STEPS);
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
        for number in 0..all {
            let url = format!("http://a.pt/{number}");
            let text = format!("zebra listrada {number} come erva");
            let document = crate::page::tests::document(&url, &text);
            writer.add(&document, &Extras::default()).unwrap();
        }
        writer.commit(1).unwrap();
        // Time itself is never over here.
        let config = SearchConfig {
            max_milliseconds: 3_600_000,
            ..SearchConfig::default()
        };
        let mut searcher = Searcher::new(config, Weights::default());
        searcher.open("a", folder.path()).unwrap();
        for query in [
            "zebra",
            "zebra erva",
            "zebra -cavalo",
            "\"zebra listrada\"",
            "zebra OR cavalo",
            "+zebra +listrada",
            "listr*",
            "(zebra OR cavalo) erva",
            "site:a.pt",
        ] {
            let request = SearchRequest::new(query);
            let mut totals = Vec::new();
            for looks in 0.. {
                // Which words there are is remembered then: the looks that follow are those of walks. (It is forgotten once, when
                // the commit is noticed.)
                assert_eq!(searcher.search(&request).unwrap().total, all, "{query}");
                let deadline = Deadline::after_looks(looks);
                let results = searcher.answer(&request, deadline).unwrap();
                totals.push(results.total);
                if !results.is_partial {
                    break;
                }
            }
            assert_eq!(totals.last(), Some(&all), "{query}");
            let within = totals.iter().any(|total| (1..all).contains(total));
            assert!(within, "{query}: {totals:?}");
        }
    }
}
