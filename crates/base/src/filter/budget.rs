//! What a run may spend: documents, documents of one host, bytes.

use super::{FilterConfig, RuleKind, Verdict};
use crate::Outcome;

/// What has been spent so far, as the caller counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Documents answered in this run.
    pub documents: u64,
    /// Documents answered in this run by the host in question.
    pub host_documents: u64,
    /// Bytes received in this run.
    pub bytes: u64,
}

/// The limits of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    documents: Option<u64>,
    host_documents: Option<u64>,
    bytes: Option<u64>,
}

impl Budget {
    pub(super) fn new(config: &FilterConfig) -> Self {
        Self {
            documents: config.max_pages,
            host_documents: config.max_pages_per_host,
            bytes: config.max_bytes,
        }
    }

    /// The refusal of one more document, if a limit is reached.
    pub(super) fn refusal(&self, spent: &Spent) -> Option<Verdict> {
        let limits = [
            ("max-pages", self.documents, spent.documents),
            (
                "max-pages-per-host",
                self.host_documents,
                spent.host_documents,
            ),
            ("max-bytes", self.bytes, spent.bytes),
        ];
        limits.into_iter().find_map(|(setting, limit, spent)| {
            let limit = limit.filter(|&limit| spent >= limit)?;
            Some(Verdict::refuse(
                RuleKind::Budget,
                format!("{setting} {limit}"),
                Outcome::BUDGET_EXHAUSTED,
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_is_refused_exactly_at_the_limit() {
        let config = FilterConfig {
            max_pages: Some(10),
            max_pages_per_host: Some(3),
            max_bytes: Some(1000),
            ..FilterConfig::default()
        };
        let budget = Budget::new(&config);
        let spent = Spent {
            documents: 9,
            host_documents: 2,
            bytes: 999,
        };
        assert_eq!(budget.refusal(&spent), None);
        for (spent, rule) in [
            (
                Spent {
                    documents: 10,
                    ..spent
                },
                "max-pages 10",
            ),
            (
                Spent {
                    host_documents: 3,
                    ..spent
                },
                "max-pages-per-host 3",
            ),
            (
                Spent {
                    bytes: 1000,
                    ..spent
                },
                "max-bytes 1000",
            ),
        ] {
            let verdict = budget.refusal(&spent).unwrap();
            assert_eq!(verdict.rule, rule);
            assert_eq!(verdict.outcome, Some(Outcome::BUDGET_EXHAUSTED));
            assert_eq!(verdict.kind, RuleKind::Budget);
        }
        assert_eq!(
            Budget::new(&FilterConfig::default()).refusal(&Spent {
                documents: u64::MAX,
                ..spent
            }),
            None
        );
    }
}
