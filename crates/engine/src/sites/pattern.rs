//! For whom a site is: names of hosts, and ranges of addresses.

use std::fmt;
use std::net::IpAddr;

use teia_base::Host;

/// One entry of `match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostPattern {
    /// This host.
    Name(Box<str>),
    /// This host, and every host below it.
    Below(Box<str>),
    /// Hosts with an address in it.
    Range(AddressRange),
}

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressRange {
    first: IpAddr,
    bits: u32,
}

impl HostPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.contains('/') {
            return AddressRange::parse(text).map(Self::Range);
        }
        if text == "*" {
            return Err(
                "`*` is every host; what is for all of them stands outside [[site]]".to_owned(),
            );
        }
        let below = text.strip_prefix("*.");
        let name = below.unwrap_or(text);
        // A literal IPv6 address stands in brackets in a URL.
        let in_brackets = format!("[{name}]");
        let is_bare_v6 = name.parse::<std::net::Ipv6Addr>().is_ok();
        let host = Host::parse(if is_bare_v6 { &in_brackets } else { name });
        let Some(host) =
            host.filter(|_| !name.contains(['*', ':']) || is_bare_v6 || name.starts_with('['))
        else {
            return Err(format!(
                "`{text}` is no host and no range of addresses; write `www.example.org`, `*.example.org` for it and all below it, or `10.0.0.0/8`"
            ));
        };
        Ok(match below {
            Some(_) => Self::Below(host.as_str().into()),
            None => Self::Name(host.as_str().into()),
        })
    }

    /// Whether a host of this name is meant; a range says nothing of names.
    pub(crate) fn is_of(&self, host: &str) -> bool {
        match self {
            Self::Name(name) => host == &**name,
            Self::Below(name) => {
                let above = host.strip_suffix(&**name);
                above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
            Self::Range(_) => false,
        }
    }

    pub(crate) fn is_range(&self) -> bool {
        matches!(self, Self::Range(_))
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Below(name) => write!(f, "*.{name}"),
            Self::Range(range) => write!(f, "{}/{}", range.first, range.bits),
        }
    }
}

impl AddressRange {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no range of addresses; write `10.0.0.0/8` or `2001:db8::/32`");
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address: IpAddr = address
            .trim_matches(['[', ']'])
            .parse()
            .map_err(|_| wrong())?;
        let bits: u32 = bits.parse().map_err(|_| wrong())?;
        let width = width(address);
        if bits > width {
            return Err(format!(
                "`{text}`: such an address has {width} bits, not {bits}; write for example `{address}/{width}`"
            ));
        }
        let first = from_number(address, number(address) & mask(width, bits));
        if first != address {
            return Err(format!(
                "`{text}` begins within the range; write `{first}/{bits}` for all of it, or `{address}/{width}` for this address alone"
            ));
        }
        Ok(Self { first, bits })
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        // An IPv4 address may come in the clothes of an IPv6 one.
        let address = address.to_canonical();
        let width = width(self.first);
        address.is_ipv4() == self.first.is_ipv4()
            && number(address) & mask(width, self.bits) == number(self.first)
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

fn from_number(like: IpAddr, number: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(u32::try_from(number).unwrap_or(u32::MAX).into()),
        IpAddr::V6(_) => IpAddr::V6(number.into()),
    }
}

/// The leading bits of a number that is so wide.
fn mask(width: u32, bits: u32) -> u128 {
    let below = width - bits;
    u128::MAX.checked_shl(below).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_range_whose_bits_it_begins_with() {
        let check = |range: &str, address: &str| {
            let range = AddressRange::parse(range).unwrap();
            range.contains(address.parse().unwrap())
        };
        assert!(check("10.0.0.0/8", "10.255.0.1"));
        assert!(!check("10.0.0.0/8", "11.0.0.0"));
        assert!(check("10.0.0.0/8", "::ffff:10.0.0.1"));
        assert!(check("127.0.0.2/32", "127.0.0.2") && !check("127.0.0.2/32", "127.0.0.3"));
        assert!(check("0.0.0.0/0", "1.2.3.4") && !check("0.0.0.0/0", "::1"));
        assert!(check("2001:db8::/32", "2001:db8:1::1"));
        assert!(check("::/0", "::1"));
        assert!(!check("2001:db8::/32", "2001:db9::1"));
    }

    #[test]
    fn what_names_nobody_is_refused_with_what_to_write() {
        for (text, words) in [
            ("10.0.0.1/8", "`10.0.0.0/8`"),
            ("10.0.0.0/33", "32 bits"),
            ("10.0.0/8", "`10.0.0.0/8`"),
            ("10.0.0.0/x", "`10.0.0.0/8`"),
            ("a*.example.org", "`*.example.org`"),
            ("*", "every host"),
            ("a.example:80", "`*.example.org`"),
            ("", "`*.example.org`"),
            ("http://a.example/", "range"),
        ] {
            let error = HostPattern::parse(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        for (text, shown) in [
            ("*.Example.ORG", "*.example.org"),
            ("www.example.org", "www.example.org"),
            ("10.0.0.7", "10.0.0.7"),
            ("::1", "[::1]"),
            ("10.0.0.0/8", "10.0.0.0/8"),
        ] {
            assert_eq!(HostPattern::parse(text).unwrap().to_string(), shown);
        }
    }
}
