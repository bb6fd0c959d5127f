//! What the web is like: everything else follows from these values.

use std::time::Duration;

/// The description from which every host, page, link and fault is computed.
///
/// A count of 0 switches its feature off. Counts are per host unless their name says otherwise.
/// The default is a plain web: pages and a robots.txt with a few honeypots.
#[derive(Clone, Debug, PartialEq)]
pub struct WebConfig {
    /// Webs of different seeds have different paths, links and texts.
    pub seed: u64,
    /// Hosts in all, aliases included.
    pub hosts: u32,
    /// Ordinary pages of each host, its front page `/` included; every one reachable from `/`.
    pub pages_per_host: u32,
    /// Links a page has, about: never fewer than it needs to keep every page reachable.
    pub links_per_page: u32,
    /// Exact size of an ordinary page's body, as long as its links fit in it.
    pub page_bytes: usize,

    /// Linked pages that robots.txt disallows.
    pub honeypots: u32,
    /// `Crawl-delay` in each robots.txt.
    pub crawl_delay: Option<Duration>,
    /// Hosts (in all) whose robots.txt is 404: everything on them is allowed.
    pub robots_missing_hosts: u32,
    /// Hosts (in all) whose robots.txt is 503: everything on them is disallowed.
    pub robots_failing_hosts: u32,

    /// Redirect chains of 1, 2 or 3 hops, to the same or another host.
    pub redirects: u32,
    /// A linked circle of three redirects on each host.
    pub redirect_loop: bool,
    /// Links to pages that are 404.
    pub missing: u32,
    /// Pages that fail at first; behind each is a page linked from nowhere else.
    pub flaky: u32,
    /// How many times a flaky page fails before it answers.
    pub flaky_failures: u32,
    /// How a flaky page fails.
    pub flaky_manner: Failure,
    /// Time every answer takes.
    pub latency: Duration,
    /// Pages that take `slow_latency` instead.
    pub slow: u32,
    /// Time the slow pages take.
    pub slow_latency: Duration,

    /// Pages served byte for byte at a second URL as well.
    pub copies: u32,
    /// Hosts (in all) that serve exactly what another host serves; at most half of the hosts.
    pub alias_hosts: u32,
    /// Links to hosts that are no part of this web.
    pub outside_links: u32,
    /// A style sheet, a script and images on each page, one image from another host.
    pub requisites: bool,
    /// A `sitemap.xml` on each host, named in robots.txt.
    pub sitemap: bool,
    /// Pages linked from nowhere but the sitemap.
    pub orphans: u32,
    /// An RSS feed of each host's first pages, named by its front page.
    pub feed: bool,
    /// Links marked `rel=nofollow`, each to a page linked from nowhere else.
    pub nofollow_links: u32,
    /// Pages with robots metas: in turn noindex, nofollow, none, and none as `X-Robots-Tag`.
    pub meta_robots: u32,
    /// A quarter of the pages have a query string, written with `&amp;` in links.
    pub queries: bool,
    /// One page in this many is compressed for clients that accept gzip; 0 is never.
    pub gzip_every: u32,
    /// One page in this many is sent in chunks; 0 is never.
    pub chunked_every: u32,
    /// `ETag` and `Last-Modified` on pages, and 304 to conditional requests.
    pub conditional: bool,
    /// One page in this many differs from epoch to epoch (`Server::set_epoch`); 0 is never.
    pub changing_every: u32,
    /// An endless calendar with endlessly deep paths on each host.
    pub calendar: bool,
    /// Pages linked with a different session id from each page of the host.
    pub sessions: u32,
}

/// How a flaky page fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Status 503, with `Retry-After` in seconds if given.
    Unavailable(Option<u32>),
    /// The connection is closed without an answer.
    Close,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            hosts: 4,
            pages_per_host: 25,
            links_per_page: 12,
            page_bytes: 4096,
            honeypots: 3,
            crawl_delay: None,
            robots_missing_hosts: 0,
            robots_failing_hosts: 0,
            redirects: 0,
            redirect_loop: false,
            missing: 0,
            flaky: 0,
            flaky_failures: 1,
            flaky_manner: Failure::Unavailable(None),
            latency: Duration::ZERO,
            slow: 0,
            slow_latency: Duration::from_millis(500),
            copies: 0,
            alias_hosts: 0,
            outside_links: 0,
            requisites: false,
            sitemap: false,
            orphans: 0,
            feed: false,
            nofollow_links: 0,
            meta_robots: 0,
            queries: false,
            gzip_every: 0,
            chunked_every: 0,
            conditional: false,
            changing_every: 0,
            calendar: false,
            sessions: 0,
        }
    }
}

impl WebConfig {
    /// A web for measuring speed: at least `pages` pages of 24 KiB over the hosts, and nothing odd.
    pub fn bench(hosts: u32, pages: u32) -> Self {
        Self {
            hosts,
            pages_per_host: pages.div_ceil(hosts.max(1)),
            links_per_page: 20,
            page_bytes: 24 * 1024,
            honeypots: 0,
            ..Self::default()
        }
    }

    /// Every feature at once, in small numbers, without waiting.
    pub fn everything(seed: u64) -> Self {
        Self {
            seed,
            hosts: 8,
            robots_missing_hosts: 1,
            robots_failing_hosts: 1,
            redirects: 3,
            redirect_loop: true,
            missing: 2,
            flaky: 2,
            slow: 1,
            slow_latency: Duration::from_millis(50),
            copies: 2,
            alias_hosts: 1,
            outside_links: 2,
            requisites: true,
            sitemap: true,
            orphans: 2,
            feed: true,
            nofollow_links: 2,
            meta_robots: 4,
            queries: true,
            gzip_every: 3,
            chunked_every: 4,
            conditional: true,
            changing_every: 5,
            calendar: true,
            sessions: 2,
            ..Self::default()
        }
    }

    /// The same values brought into the ranges in which they make a web.
    pub(crate) fn settled(mut self) -> Self {
        self.hosts = self.hosts.clamp(1, 1_000_000);
        self.pages_per_host = self.pages_per_host.clamp(1, 10_000_000);
        self.alias_hosts = self.alias_hosts.min(self.hosts / 2);
        // Such hosts must be leaves of the tree of hosts, or others could be reached only through them.
        let leaves = self.hosts / 2 - self.alias_hosts;
        self.robots_failing_hosts = self.robots_failing_hosts.min(leaves);
        self.robots_missing_hosts = self
            .robots_missing_hosts
            .min(leaves - self.robots_failing_hosts);
        self.copies = self.copies.min(self.pages_per_host - 1);
        self
    }
}
