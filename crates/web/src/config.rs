//! How much the web side takes, and from whom.

use std::time::Duration;

/// Bounds of the server. The defaults suit one machine.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// Names beside IP addresses and `localhost` by which browsers may call us: a page that lets its own
    /// name point here (DNS rebinding) is refused.
    pub hosts: Vec<String>,
    /// Everybody may search and read copies; without it that needs a login too.
    pub public_search: bool,
    /// Everybody may read `/metrics`; without it that needs a viewer's token, as where searching does.
    pub public_metrics: bool,
    /// Admins may name seeds and addresses in the network of this machine, not only people on it.
    pub allow_private: bool,
    /// Wrong tokens from one address within a minute; then it must wait.
    pub wrong_tokens: u32,
    /// Bytes of the body of a request.
    pub max_body_bytes: usize,
    /// How long the body of a request may take.
    pub body_timeout: Duration,
    /// Listeners to live streams at once.
    pub listeners: usize,
    /// How often a live stream tells something.
    pub live_every: Duration,
    /// Connections at once, where descriptors allow them; one more takes the place of one that has asked for nothing, or waits.
    pub connections: usize,
    /// How long the head of a request may take, and an idle connection may stay.
    pub head_timeout: Duration,
    /// How long a client may take no byte of its answer.
    pub stall_timeout: Duration,
    /// Searches and look-ups at once.
    pub lookups: usize,
    /// Lives of URLs that are read from the journal at once; they take long, and take no place of others.
    pub journal_readers: usize,
    /// How long reading one may take; what was not read then is missing.
    pub journal_time: Duration,
    /// How long a look-up waits for its turn before the client is asked to come back.
    pub patience: Duration,
    /// Bytes of a query.
    pub max_query_bytes: usize,
    /// Plain words of a query.
    pub max_query_words: usize,
    /// Its other clauses: conditions, phrases, and words with a sign or an operator.
    pub max_query_clauses: usize,
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
            public_search: true,
            public_metrics: true,
            allow_private: false,
            wrong_tokens: 10,
            max_body_bytes: 1 << 20,
            body_timeout: Duration::from_secs(30),
            listeners: 64,
            live_every: Duration::from_secs(1),
            connections: 512,
            head_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(30),
            lookups: cores * 2,
            journal_readers: cores,
            journal_time: Duration::from_secs(10),
            patience: Duration::from_secs(2),
            max_query_bytes: 1_024,
            max_query_words: 64,
            max_query_clauses: 32,
            max_query_depth: 16,
            max_query_stars: 16,
            max_results: 10_000,
        }
    }
}
