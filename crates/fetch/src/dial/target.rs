//! Whom a URL wants to talk to.

use std::net::IpAddr;

use teia_base::Outcome;
use url::{Host, Url};

use crate::fault::Fault;
use crate::pool::PoolKey;
use crate::port;

/// Host, port and whether TLS is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) tls: bool,
    /// The host as the URL has it, brackets apart.
    pub(crate) host: Box<str>,
    /// The address, where the URL has no name.
    pub(crate) literal: Option<IpAddr>,
    pub(crate) port: u16,
}

impl Target {
    /// Reads the target of a URL; other schemes and services are refused here.
    pub(crate) fn of(url: &Url) -> Result<Self, Fault> {
        let tls = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(Outcome::SCHEME_BLOCKED.into()),
        };
        let (host, literal) = match url.host() {
            Some(Host::Domain(name)) => (name.into(), None),
            Some(Host::Ipv4(address)) => (address.to_string().into(), Some(address.into())),
            Some(Host::Ipv6(address)) => (address.to_string().into(), Some(address.into())),
            None => return Err(Outcome::URL_INVALID.into()),
        };
        let port = url.port().unwrap_or(if tls { 443 } else { 80 });
        if port::is_bad(port) {
            return Err(Outcome::PORT_BLOCKED.into());
        }
        let target = Self {
            tls,
            host,
            literal,
            port,
        };
        if literal.is_none() && !is_host_name(&target.host) {
            return Err(Fault::new(Outcome::URL_INVALID, "host_name"));
        }
        Ok(target)
    }

    /// The key of its idle connections.
    pub(crate) fn key(&self) -> PoolKey {
        PoolKey {
            tls: self.tls,
            host: self.host.clone(),
            port: self.port,
            manner: 0,
        }
    }

    /// Host and port as a proxy wants them.
    pub(crate) fn authority(&self) -> String {
        match self.literal {
            Some(IpAddr::V6(address)) => format!("[{address}]:{}", self.port),
            _ => format!("{}:{}", self.host, self.port),
        }
    }
}

/// Whether DNS could hold such a name; underscores are common and accepted.
fn is_host_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let good = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    name.len() <= 253 && name.split('.').all(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(url: &str, outcome: Outcome) {
        assert_eq!(
            Target::of(&url.parse().unwrap()).unwrap_err().outcome,
            outcome,
            "{url}"
        );
    }

    #[test]
    fn only_the_web_is_visited() {
        refused("ftp://a.example/", Outcome::SCHEME_BLOCKED);
        refused("file:///etc/passwd", Outcome::SCHEME_BLOCKED);
        refused("http://a.example:25/", Outcome::PORT_BLOCKED);
        refused(
            &format!("http://{}.example/", "a".repeat(64)),
            Outcome::URL_INVALID,
        );
        refused("http://a..example/", Outcome::URL_INVALID);
        refused("http://-a.example/", Outcome::URL_INVALID);
        let target = Target::of(&"https://[::1]/".parse().unwrap()).unwrap();
        assert_eq!(
            (target.port, target.authority().as_str()),
            (443, "[::1]:443")
        );
        assert!(Target::of(&"http://a_b.example:8080/".parse().unwrap()).is_ok());
    }

    #[test]
    fn odd_spellings_of_addresses_are_addresses() {
        for url in ["http://0x7f.1/", "http://2130706433/", "http://127.0.0.1./"] {
            let target = Target::of(&url.parse().unwrap()).unwrap();
            assert_eq!(target.literal, Some(IpAddr::from([127, 0, 0, 1])), "{url}");
        }
    }
}
