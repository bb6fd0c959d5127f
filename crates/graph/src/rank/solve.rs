//! Gauss and Seidel's sweeps over edges by target.

use super::edges::Edges;
use super::{Progress, RankOptions, Watch};
use crate::GraphError;

/// Nodes between two looks at whether to go on.
const LOOK: u32 = 1 << 20;

/// Where surfers begin.
#[derive(Debug, Clone)]
pub(crate) enum Start {
    /// Anywhere.
    Uniform,
    /// At these nodes, sorted, with weights that sum to 1.
    Some(Vec<(u32, f64)>),
}

/// What each node passes on along each of its links, once that has settled.
#[derive(Debug)]
pub(crate) struct Solution {
    edges: Edges,
    start: Start,
    shares: Vec<f64>,
    pub(crate) sweeps: u32,
    pub(crate) error: f64,
}

impl Solution {
    pub(crate) fn solve(
        edges: Edges,
        start: Start,
        options: &RankOptions,
        watch: &mut Watch<'_>,
    ) -> Result<Self, GraphError> {
        let mut solution = Self {
            shares: vec![0.0; edges.degrees.len()],
            edges,
            start,
            sweeps: 0,
            error: f64::INFINITY,
        };
        // Ranks are the settled numbers divided by their sum, which at most doubles the error.
        let spread = 2.0 * options.damping / (1.0 - options.damping);
        while solution.sweeps < options.max_sweeps && solution.error > options.tolerance {
            let (change, sum) = solution.sweep(options.damping, watch)?;
            solution.sweeps += 1;
            solution.error = if sum > 0.0 {
                change * spread / sum
            } else {
                0.0
            };
            let progress = Progress::Swept(solution.sweeps, solution.error);
            if watch(progress).is_break() {
                return Err(GraphError::Stopped);
            }
        }
        Ok(solution)
    }

    /// One pass; gives the change over all nodes that pass anything on, and the sum over all.
    fn sweep(&mut self, damping: f64, watch: &mut Watch<'_>) -> Result<(f64, f64), GraphError> {
        let mut beginning = Beginning::new(&self.start, self.edges.nodes());
        let mut sources = self.edges.walk();
        let (mut change, mut sum) = (0.0, 0.0);
        for node in 0..self.edges.nodes() {
            let mut value = beginning.at(node);
            let mut links_itself = false;
            let shares = &self.shares;
            sources.each(node, |source| {
                if source == node {
                    links_itself = true;
                } else {
                    value += shares.get(source as usize).copied().unwrap_or(0.0);
                }
            })?;
            let degree = self.edges.degrees[node as usize];
            if degree > 0 {
                let rate = damping / f64::from(degree);
                if links_itself {
                    // What it passes to itself comes back: solved at once, not sweep by sweep.
                    value /= 1.0 - rate;
                }
                let share = &mut self.shares[node as usize];
                change += (value - *share / rate).abs();
                *share = value * rate;
            }
            sum += value;
            if node % LOOK == LOOK - 1 && watch(Progress::Swept(self.sweeps, self.error)).is_break()
            {
                return Err(GraphError::Stopped);
            }
        }
        Ok((change, sum))
    }

    /// Every node's rank, not yet divided by their sum, and its in-links; gives the sum.
    pub(crate) fn each(
        &self,
        mut f: impl FnMut(f64, u32) -> Result<(), GraphError>,
    ) -> Result<f64, GraphError> {
        let mut beginning = Beginning::new(&self.start, self.edges.nodes());
        let mut sources = self.edges.walk();
        let mut sum = 0.0;
        for node in 0..self.edges.nodes() {
            let (mut value, mut in_links) = (beginning.at(node), 0);
            sources.each(node, |source| {
                value += self.shares.get(source as usize).copied().unwrap_or(0.0);
                in_links += 1;
            })?;
            sum += value;
            f(value, in_links)?;
        }
        Ok(sum)
    }

    pub(crate) fn links(&self) -> u64 {
        self.edges.links
    }
}

/// Weights of nodes that come in order.
#[derive(Debug)]
struct Beginning<'a> {
    uniform: f64,
    left: &'a [(u32, f64)],
}

impl<'a> Beginning<'a> {
    fn new(start: &'a Start, nodes: u32) -> Self {
        match start {
            Start::Uniform => Self {
                uniform: 1.0 / f64::from(nodes.max(1)),
                left: &[],
            },
            Start::Some(weights) => Self {
                uniform: 0.0,
                left: weights,
            },
        }
    }

    #[inline]
    fn at(&mut self, node: u32) -> f64 {
        match self.left.split_first() {
            Some(((next, weight), rest)) if *next == node => {
                self.left = rest;
                *weight
            }
            _ => self.uniform,
        }
    }
}
