//! Which addresses may be visited: public ones, and those that somebody allowed by hand.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, PoisonError, RwLock};

use crate::port;

/// Where this process itself listens.
static OWN: RwLock<Vec<SocketAddr>> = RwLock::new(Vec::new());

/// Tells every fetcher of this process that a service of its own listens there, for as long as the value
/// lives: no name and no link leads the crawler to itself, whatever else is allowed.
#[must_use]
pub fn refuse_own(service: SocketAddr) -> OwnService {
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    own.push(service);
    OwnService(service)
}

/// A service of this process, which no fetcher of it visits.
#[derive(Debug)]
pub struct OwnService(SocketAddr);

impl Drop for OwnService {
    fn drop(&mut self) {
        let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = own.iter().position(|service| *service == self.0) {
            own.swap_remove(at);
        }
    }
}

fn is_own(address: &SocketAddr) -> bool {
    let own = OWN.read().unwrap_or_else(PoisonError::into_inner);
    // One address has several spellings, and who asks for none of them is sent to this machine.
    let asked = address.ip().to_canonical();
    own.iter().any(|service| {
        let listens = service.ip().to_canonical();
        let is_there = listens == asked
            || asked.is_unspecified()
            || (listens.is_unspecified() && is_of_this_machine(asked));
        service.port() == address.port() && is_there
    })
}

/// Only an address of this machine can be bound.
fn is_of_this_machine(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// Names with their ports.
type Hosts = HashSet<(Box<str>, u16)>;

/// Decides about addresses; the one place that does.
#[derive(Debug, Default)]
pub(crate) struct AddressGate {
    allow_private: bool,
    addresses: Arc<RwLock<HashSet<(IpAddr, u16)>>>,
    hosts: Arc<RwLock<Hosts>>,
    /// Hosts that a person gave on a port that is not of the web.
    reserved: Arc<RwLock<Hosts>>,
}

impl AddressGate {
    pub(crate) fn new(allow_private: bool, allowed: &[(IpAddr, u16)]) -> Self {
        Self {
            allow_private,
            addresses: Arc::new(RwLock::new(allowed.iter().copied().collect())),
            hosts: Arc::default(),
            reserved: Arc::default(),
        }
    }

    /// A gate with the same list, which lets private addresses in or not.
    pub(crate) fn with_private(&self, allow_private: bool) -> Self {
        Self {
            allow_private,
            addresses: Arc::clone(&self.addresses),
            hosts: Arc::clone(&self.hosts),
            reserved: Arc::clone(&self.reserved),
        }
    }

    /// Allows one address and port.
    pub(crate) fn allow(&self, address: IpAddr, port: u16) {
        self.addresses
            .write()
            .expect("no holder panics")
            .insert((address, port));
    }

    /// Allows whatever this inner host (`localhost`, `intranet`, `wiki.local`) resolves to, on this
    /// port. A name of the public web must lead to a public address even where a person gave it:
    /// whoever owns the name decides where it leads, and may be another person.
    pub(crate) fn allow_host(&self, host: &str, port: u16) {
        if !is_inner_name(host) {
            return;
        }
        self.hosts
            .write()
            .expect("no holder panics")
            .insert((plain_name(host), port));
    }

    /// Allows this port of this host, of whatever kind its name is. Its addresses are judged as ever.
    pub(crate) fn allow_port(&self, host: &str, port: u16) {
        if port::is_reserved(port) {
            let mut reserved = self.reserved.write().expect("no holder panics");
            reserved.insert((plain_name(host), port));
        }
    }

    /// Whether this port may be visited of this host: one of the web, a high one, or one that a person named.
    pub(crate) fn allows_port(&self, host: &str, literal: Option<IpAddr>, port: u16) -> bool {
        if !port::is_reserved(port) {
            return true;
        }
        let reserved = self.reserved.read().expect("no holder panics");
        reserved.contains(&(plain_name(host), port))
            || literal.is_some_and(|address| self.is_listed(SocketAddr::new(address, port)))
    }

    /// Whether any address of this host is fine on this port.
    pub(crate) fn allows_host(&self, host: &str, port: u16) -> bool {
        if self.allow_private {
            return true;
        }
        let hosts = self.hosts.read().expect("no holder panics");
        !hosts.is_empty() && hosts.contains(&(host.trim_end_matches('.').into(), port))
    }

    /// Whether all of a host's addresses may be visited: one that may not condemns them all,
    /// so that a name cannot mix in an inner address as a fallback.
    pub(crate) fn allows(&self, host: &str, port: u16, addresses: &[SocketAddr]) -> bool {
        if addresses.iter().any(is_own) {
            return false;
        }
        self.allows_host(host, port)
            || addresses
                .iter()
                .all(|address| is_public(address.ip()) || self.is_listed(*address))
    }

    fn is_listed(&self, address: SocketAddr) -> bool {
        self.addresses
            .read()
            .expect("no holder panics")
            .contains(&(address.ip(), address.port()))
    }
}

/// A host name in the spelling by which it is compared.
fn plain_name(host: &str) -> Box<str> {
    host.trim_end_matches('.').to_ascii_lowercase().into()
}

/// Names that never lead to the public web (RFC 6761, RFC 6762, RFC 8375, and single labels).
pub(crate) fn is_inner_name(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    const SUFFIXES: [&str; 6] = [
        ".local",
        ".internal",
        ".home.arpa",
        ".onion",
        ".localhost",
        ".invalid",
    ];
    !host.contains('.') || SUFFIXES.iter().any(|suffix| host.ends_with(suffix))
}

/// Whether a URL names a host that is not of the public web: an address of a private network or of this
/// machine, or a name that only leads to such. Where a public name leads is known when it is asked for.
pub fn leads_inside(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => !is_public_v4(address),
        Some(url::Host::Ipv6(address)) => !is_public_v6(address),
        Some(url::Host::Domain(name)) => is_inner_name(&name.to_ascii_lowercase()),
        None => true,
    }
}

/// Whether the address belongs to the public internet, also where it hides another one.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let s = address.segments();
    if let Some(inner) = isatap(s)
        && !is_public_v4(inner)
    {
        return false;
    }
    // Global unicast is 2000::/3; mapped, compatible, NAT64, unique local, link local, site local,
    // discard and multicast addresses all lie outside it.
    let global = s[0] & 0xe000 == 0x2000;
    let special = match s[0] {
        0x2001 => s[1] < 0x0200 || s[1] == 0x0db8, // Teredo among others; documentation
        0x2002 => true,                            // 6to4
        0x3fff => s[1] < 0x1000,                   // documentation
        _ => false,
    };
    global && !special
}

/// The IPv4 address in an ISATAP interface id (RFC 5214).
fn isatap(s: [u16; 8]) -> Option<Ipv4Addr> {
    let [a, b, c, d] =
        [s[6] >> 8, s[6] & 0xff, s[7] >> 8, s[7] & 0xff].map(|part| part.to_be_bytes()[1]);
    (s[4] & 0xfdff == 0 && s[5] == 0x5efe).then(|| Ipv4Addr::new(a, b, c, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public_in_any_disguise() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.31.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.19.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2a00::5efe:7f00:1",
            "2a00::200:5efe:a00:1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "8.8.8.8",
            "93.184.216.34",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn one_inner_address_condemns_the_host() {
        let gate = AddressGate::default();
        let public: SocketAddr = "8.8.8.8:80".parse().unwrap();
        let inner: SocketAddr = "10.0.0.1:80".parse().unwrap();
        assert!(gate.allows("a.example", 80, &[public]));
        assert!(!gate.allows("a.example", 80, &[public, inner]));
        gate.allow(inner.ip(), 80);
        assert!(gate.allows("a.example", 80, &[public, inner]));
        assert!(!gate.allows("a.example", 81, &["10.0.0.1:81".parse().unwrap()]));
    }

    #[test]
    fn an_allowed_host_is_allowed_on_its_port_only() {
        let gate = AddressGate::default();
        let inner = |port| SocketAddr::from(([127, 0, 0, 1], port));
        gate.allow_host("Intranet", 8000);
        assert!(gate.allows("intranet", 8000, &[inner(8000)]));
        assert!(!gate.allows("intranet", 8001, &[inner(8001)]));
        assert!(!gate.allows("other", 8000, &[inner(8000)]));
    }
}
