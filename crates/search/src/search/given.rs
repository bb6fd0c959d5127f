//! Documents in order, each with a frequency: what is left when lists are read and added up.

use std::sync::Arc;

use tantivy::{DocId, TERMINATED};

/// Walks over such documents, upwards.
#[derive(Clone, Debug)]
pub(super) struct Given {
    found: Arc<[(DocId, f32)]>,
    at: usize,
}

impl Given {
    /// `found` is in order.
    pub(super) fn new(found: Arc<[(DocId, f32)]>) -> Self {
        Self { found, at: 0 }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// All of them.
    pub(super) fn all(&self) -> &[(DocId, f32)] {
        &self.found
    }

    pub(super) fn doc(&self) -> DocId {
        self.found.get(self.at).map_or(TERMINATED, |(doc, _)| *doc)
    }

    pub(super) fn seek(&mut self, target: DocId) -> DocId {
        self.at += passed(&self.found[self.at..], |(doc, _)| *doc < target);
        self.doc()
    }

    /// Of the document where it stands.
    pub(super) fn frequency(&self) -> f32 {
        self.found.get(self.at).map_or(0.0, |(_, count)| *count)
    }
}

/// How many of the first are passed by: doubling steps, then halves, because near targets are near.
pub(super) fn passed<T>(ordered: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    let mut end = 1;
    while end < ordered.len() && is_before(&ordered[end - 1]) {
        end *= 2;
    }
    let (start, end) = (end / 2, end.min(ordered.len()));
    start + ordered[start..end].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::passed;

    #[test]
    fn steps_and_halves_find_what_a_search_finds() {
        for length in 0..40_usize {
            let ordered: Vec<usize> = (0..length).map(|number| number * 2).collect();
            for target in 0..90 {
                let found = passed(&ordered, |number| *number < target);
                assert_eq!(
                    found,
                    target.div_ceil(2).min(length),
                    "{target} of {length}"
                );
            }
        }
    }
}
