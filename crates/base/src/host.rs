//! Hosts, and the sites that they belong to.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// The name of a host in its normal spelling, without port: the key of politeness.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Host(Box<str>);

impl Host {
    /// Takes a host that a [`crate::CanonicalUrl`] has given.
    pub(crate) fn from_normal(text: &str) -> Self {
        Self(text.into())
    }

    /// Reads a host as a person writes it: any case, IDN, a trailing dot.
    pub fn parse(text: &str) -> Option<Self> {
        let parsed = url::Host::parse(text.trim().trim_end_matches('.')).ok()?;
        let text = parsed.to_string();
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The registrable domain by the public suffix list, or the host itself where there is none
    /// (an address, a single label, a public suffix).
    pub fn site(&self) -> &str {
        site_of(&self.0)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for Host {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A host's number while the process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// The site of a host name; see [`Host::site`].
pub fn site_of(host: &str) -> &str {
    if host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok() || host.parse::<Ipv6Addr>().is_ok()
    {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_is_the_registrable_domain() {
        for (host, site) in [
            ("www.example.com", "example.com"),
            ("a.b.example.co.uk", "example.co.uk"),
            ("www.camara.gov.br", "camara.gov.br"),
            ("foo.github.io", "foo.github.io"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("localhost", "localhost"),
            ("com.br", "com.br"),
        ] {
            assert_eq!(Host::parse(host).unwrap().site(), site, "{host}");
        }
    }
}
