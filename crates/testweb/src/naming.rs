//! Naming: how a host of the web is written in URLs.

use std::net::Ipv4Addr;

use crate::place::{push, push_number};

const HOSTS_PER_NET: u32 = 250;

/// How hosts are named. Two webs that differ only in this have the same paths, links and texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// `http://h12.web.test`, without a port: the client maps every name to the one listener.
    Names,
    /// `http://127.0.0.13:PORT`, an address of loopback for each host.
    Literal {
        /// The port, the same on each address.
        port: u16,
    },
}

impl Naming {
    /// The loopback address of a host in literal naming: 127.0.0.1 for host 0, and so on.
    pub fn address(host: u32) -> Ipv4Addr {
        let (net, last) = (host / HOSTS_PER_NET, host % HOSTS_PER_NET + 1);
        Ipv4Addr::from_bits(0x7F00_0000 | (net << 8) | last)
    }

    /// Appends scheme and authority of a host, as in `http://h12.web.test`.
    pub(crate) fn write_origin(self, host: u32, out: &mut Vec<u8>) {
        match self {
            Self::Names => {
                push(out, &["http://h"]);
                push_number(out, u64::from(host));
                push(out, &[".web.test"]);
            }
            Self::Literal { port } => write_address(Self::address(host), port, out),
        }
    }

    /// Appends scheme and authority of a host that is no part of the web.
    pub(crate) fn write_outside(self, number: u32, out: &mut Vec<u8>) {
        match self {
            Self::Names => {
                push(out, &["http://fora"]);
                push_number(out, u64::from(number));
                push(out, &[".elsewhere.test"]);
            }
            Self::Literal { port } => {
                write_address(Ipv4Addr::from_bits(0x7FFE_0001 + number), port, out);
            }
        }
    }

    /// The host of an authority such as `h12.web.test`; ports count only in literal naming.
    pub(crate) fn host(self, authority: &str) -> Option<u32> {
        let (name, port) = match authority.split_once(':') {
            Some((name, port)) => (name, Some(port.parse::<u16>().ok()?)),
            None => (authority, None),
        };
        match self {
            Self::Names => {
                let digits = name.strip_prefix('h')?.strip_suffix(".web.test")?;
                let host = digits.parse().ok()?;
                (digits == "0" || !digits.starts_with(['0', '+'])).then_some(host)
            }
            Self::Literal { port: own } => {
                let bits = name.parse::<Ipv4Addr>().ok()?.to_bits();
                let host = ((bits >> 8) & 0xFFFF) * HOSTS_PER_NET + (bits & 0xFF).checked_sub(1)?;
                (port == Some(own) && Self::address(host).to_bits() == bits).then_some(host)
            }
        }
    }
}

fn write_address(address: Ipv4Addr, port: u16, out: &mut Vec<u8>) {
    push(out, &["http://"]);
    for (index, octet) in address.octets().into_iter().enumerate() {
        if index > 0 {
            out.push(b'.');
        }
        push_number(out, u64::from(octet));
    }
    out.push(b':');
    push_number(out, u64::from(port));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_by_the_name_it_is_given() {
        for naming in [Naming::Names, Naming::Literal { port: 81 }] {
            for host in [0, 1, 9, 10, 249, 250, 251, 1_999, 60_000] {
                let mut origin = Vec::new();
                naming.write_origin(host, &mut origin);
                let origin = String::from_utf8(origin).unwrap();
                assert_eq!(
                    naming.host(origin.strip_prefix("http://").unwrap()),
                    Some(host),
                    "{origin}"
                );
            }
            for other in [
                "h01.web.test",
                "h.web.test",
                "127.0.0.0:81",
                "127.0.0.1:82",
                "10.0.0.1:81",
                "x",
            ] {
                assert_eq!(naming.host(other), None, "{other}");
            }
        }
    }
}
