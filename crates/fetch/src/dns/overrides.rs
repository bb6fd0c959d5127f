//! Addresses given by hand: `HOST=IP[:PORT]` and `*.SUFFIX=IP[:PORT]`.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use crate::error::FetchError;

/// Fixed addresses of hosts.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    hosts: HashMap<Box<str>, Vec<Fixed>>,
    /// By suffix with its dot; the longest that fits wins.
    suffixes: Vec<(Box<str>, Fixed)>,
}

#[derive(Clone, Copy, Debug)]
struct Fixed {
    address: IpAddr,
    port: Option<u16>,
}

impl Overrides {
    /// Reads all entries. One host may have several addresses.
    pub(crate) fn parse(entries: &[String]) -> Result<Self, FetchError> {
        let mut overrides = Self::default();
        for entry in entries {
            let (host, fixed) =
                parse_entry(entry).ok_or_else(|| FetchError::Resolve(entry.clone()))?;
            if let Some(suffix) = host.strip_prefix('*') {
                overrides.suffixes.push((suffix.into(), fixed));
            } else {
                overrides.hosts.entry(host.into()).or_default().push(fixed);
            }
        }
        overrides
            .suffixes
            .sort_by_key(|(suffix, _)| std::cmp::Reverse(suffix.len()));
        Ok(overrides)
    }

    /// The fixed addresses of a host, with the port to connect to.
    pub(crate) fn find(&self, host: &str, port: u16) -> Option<Vec<SocketAddr>> {
        if self.hosts.is_empty() && self.suffixes.is_empty() {
            return None;
        }
        let host = host.trim_end_matches('.');
        let at = |fixed: &Fixed| SocketAddr::new(fixed.address, fixed.port.unwrap_or(port));
        if let Some(fixed) = self.hosts.get(host) {
            return Some(fixed.iter().map(at).collect());
        }
        let (_, fixed) = self
            .suffixes
            .iter()
            .find(|(suffix, _)| host.ends_with(&**suffix))?;
        Some(vec![at(fixed)])
    }
}

fn parse_entry(entry: &str) -> Option<(String, Fixed)> {
    let (host, address) = entry.trim().split_once('=')?;
    let host = host.trim().trim_end_matches('.').to_ascii_lowercase();
    let name = host.strip_prefix("*.").unwrap_or(&host);
    if name.is_empty() || name.contains(['*', '/', ' ']) {
        return None;
    }
    let address = address.trim();
    let fixed = if let Ok(address) = address.parse::<SocketAddr>() {
        Fixed {
            address: address.ip(),
            port: Some(address.port()),
        }
    } else {
        let bare = address
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(address);
        Fixed {
            address: bare.parse().ok()?,
            port: None,
        }
    };
    Some((host, fixed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overrides(entries: &[&str]) -> Result<Overrides, FetchError> {
        Overrides::parse(&entries.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn hosts_and_suffixes_are_found() {
        let overrides = overrides(&[
            "a.example=127.0.0.1:8000",
            "*.test=::1",
            "*.b.test=[::1]:9",
            "a.example=127.0.0.2",
        ])
        .unwrap();
        let find = |host| {
            overrides
                .find(host, 80)
                .map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(
            find("a.example").unwrap(),
            ["127.0.0.1:8000", "127.0.0.2:80"]
        );
        assert_eq!(find("x.y.test.").unwrap(), ["[::1]:80"]);
        assert_eq!(find("x.b.test").unwrap(), ["[::1]:9"]);
        assert_eq!(find("test"), None);
        assert_eq!(find("b.example"), None);
    }

    #[test]
    fn other_texts_are_refused() {
        for entry in [
            "",
            "a.example",
            "a.example=",
            "=127.0.0.1",
            "a.example=b.example",
            "a.*=127.0.0.1",
            "*=1.2.3.4",
        ] {
            assert!(overrides(&[entry]).is_err(), "{entry}");
        }
    }
}
