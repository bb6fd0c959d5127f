//! What each host's robots.txt says, and which URLs it keeps a crawler from.

use std::time::Duration;

use crate::place::{HONEYPOTS, Place, push};
use crate::web::Web;

/// What a host answers to `/robots.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Robots {
    /// 200: the honeypots are disallowed.
    Served,
    /// 404: everything is allowed.
    Missing,
    /// 503: everything is disallowed (RFC 9309, section 2.3.1.4).
    Failing,
}

impl Web {
    /// What a host answers to `/robots.txt`. An alias answers as its original does.
    pub fn robots(&self, host: u32) -> Robots {
        let config = &self.config;
        // Counted down from the last host that is no alias.
        let back = config.hosts - config.alias_hosts - 1 - self.original(host);
        if back < config.robots_failing_hosts {
            Robots::Failing
        } else if back < config.robots_failing_hosts + config.robots_missing_hosts {
            Robots::Missing
        } else {
            Robots::Served
        }
    }

    /// Whether robots.txt lets a crawler ask for this place; `/robots.txt` itself always.
    pub fn allows(&self, host: u32, place: Place) -> bool {
        match (self.robots(host), place) {
            (_, Place::Robots) | (Robots::Missing, _) => true,
            (Robots::Failing, _) | (Robots::Served, Place::Honeypot(_)) => false,
            (Robots::Served, _) => true,
        }
    }

    pub(crate) fn write_robots(&self, host: u32, out: &mut Vec<u8>) {
        push(out, &["# ", "Regras para robôs.\nUser-agent: *\n"]);
        let disallow = if self.config.honeypots > 0 {
            HONEYPOTS
        } else {
            ""
        };
        push(out, &["Disallow: ", disallow, "\n"]);
        if let Some(delay) = self.config.crawl_delay {
            push(out, &["Crawl-delay: ", &seconds(delay), "\n"]);
        }
        if self.config.sitemap {
            push(out, &["\nSitemap: "]);
            self.naming.write_origin(host, out);
            push(out, &["/sitemap.xml\n"]);
        }
    }
}

fn seconds(delay: Duration) -> String {
    format!("{}", delay.as_secs_f64())
}
