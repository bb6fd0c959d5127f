//! The memory that large bodies may take, all together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A budget of bytes. Where it is used up, nobody waits: bodies go to files instead.
#[derive(Clone, Debug)]
pub(crate) struct BodyMemory(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl BodyMemory {
    pub(crate) fn new(limit: u64) -> Self {
        Self(Arc::new(Budget {
            limit,
            used: AtomicU64::new(0),
        }))
    }

    /// Nothing yet, of this budget.
    pub(crate) fn grant(&self) -> Grant {
        Grant {
            budget: self.clone(),
            bytes: 0,
        }
    }

    #[cfg(test)]
    fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }
}

/// A part of the budget, given back when dropped.
#[derive(Debug)]
pub(crate) struct Grant {
    budget: BodyMemory,
    bytes: u64,
}

impl Grant {
    /// Whether the grant could be raised to `bytes` (or was that large already).
    pub(crate) fn raise(&mut self, bytes: u64) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let budget = &self.budget.0;
        let fits = |used: u64| used.checked_add(more).filter(|&sum| sum <= budget.limit);
        let raised = budget
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .is_ok();
        if raised {
            self.bytes += more;
        }
        raised
    }

    /// Whether nothing was granted.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.budget.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_overdrawn_and_comes_back() {
        let memory = BodyMemory::new(100);
        let (mut a, mut b) = (memory.grant(), memory.grant());
        assert!(a.raise(60) && a.raise(40), "a lower wish changes nothing");
        assert!(!b.raise(50) && b.raise(40));
        assert_eq!(memory.used(), 100);
        drop(a);
        assert_eq!(memory.used(), 40);
        assert!(b.raise(100));
    }
}
