//! How much the web side takes, and from whom.

use std::time::Duration;

/// Bounds of the server. The defaults suit one machine.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// Names beside IP addresses and `localhost` by which browsers may call us: a page that lets its own
    /// name point here (DNS rebinding) is refused.
    pub hosts: Vec<String>,
    /// Connections at once; the next one waits to be accepted.
    pub connections: usize,
    /// How long the head of a request may take, and an idle connection may stay.
    pub head_timeout: Duration,
    /// How long a client may take no byte of its answer.
    pub stall_timeout: Duration,
    /// Searches and look-ups at once.
    pub lookups: usize,
    /// How long a look-up waits for its turn before the client is asked to come back.
    pub patience: Duration,
    /// Bytes of a query.
    pub max_query_bytes: usize,
    /// Words and signs of a query.
    pub max_query_words: usize,
    /// Parentheses within parentheses.
    pub max_query_depth: usize,
    /// Stars in a query.
    pub max_query_stars: usize,
    /// Results that can be paged through.
    pub max_results: usize,
}

impl Default for WebConfig {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            hosts: Vec::new(),
            connections: 512,
            head_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(30),
            lookups: cores * 2,
            patience: Duration::from_secs(2),
            max_query_bytes: 2_048,
            max_query_words: 256,
            max_query_depth: 32,
            max_query_stars: 16,
            max_results: 1_000,
        }
    }
}
