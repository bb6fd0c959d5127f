//! The settings of this room.

use serde::{Deserialize, Serialize};

/// When pages of a kind are taken for a trap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrapsConfig {
    /// Look for traps. Without it nothing is quarantined, and what was waits again.
    pub enabled: bool,
    /// The same page so often in a row, under other URLs of its own pattern, and the pattern is a trap.
    pub repeats: u32,
    /// Pages of a pattern in a row that say nothing which others of it did not say, and lead to nothing
    /// new but more of it.
    pub pages: u32,
    /// Pages of a directory in a row without one new word, each with links to more of its kind: text
    /// made up by a machine.
    pub maze_pages: u32,
    /// Hosts of one domain that are collected; the others of it are left out. (Domains of public hosters,
    /// such as `github.io`, count for each of their customers alone.)
    pub hosts_per_domain: u32,
    /// Hosts of other domains that a domain may be the first to name, by links and redirects; for each of
    /// its pages a twentieth of it more. What is left out is collected as soon as another domain names it.
    pub new_hosts: u32,
    /// Hosts of other domains that lie in a block of addresses (256 of IPv4) and were named only from there.
    pub hosts_per_block: u32,
    /// Where a host shows the same page under several URLs, ask it once for one that does not exist: if
    /// the answer is that page again, it stands for "not found", and is neither indexed nor followed.
    pub probe: bool,
    /// Patterns that are no traps, as the warning spells them: `/calendar/{n}/{n}`, or with its host
    /// `www.example.org/calendar/{n}/{n}`; and farms of hosts that are none: `*.example.org`,
    /// `from *.example.org`, `from 192.0.2.0/24`. What was left out for them is collected.
    pub allow: Vec<String>,
}

impl Default for TrapsConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            repeats: 5,
            pages: 60,
            maze_pages: 200,
            hosts_per_domain: 1000,
            new_hosts: 2000,
            hosts_per_block: 1000,
            probe: true,
            allow: Vec::new(),
        }
    }
}

impl TrapsConfig {
    /// Whether a person has said that the pattern is none.
    pub fn allows(&self, host: &str, pattern: &str) -> bool {
        self.allow.iter().any(|allowed| {
            allowed == pattern
                || allowed
                    .strip_prefix(host)
                    .is_some_and(|rest| rest == pattern)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_allowed_everywhere_or_on_one_host() {
        let config = TrapsConfig {
            allow: vec!["/a/{n}".to_owned(), "x.test/b/{n}".to_owned()],
            ..TrapsConfig::default()
        };
        assert!(config.allows("x.test", "/a/{n}") && config.allows("y.test", "/a/{n}"));
        assert!(config.allows("x.test", "/b/{n}") && !config.allows("y.test", "/b/{n}"));
        assert!(!config.allows("x.test", "/b"));
    }
}
