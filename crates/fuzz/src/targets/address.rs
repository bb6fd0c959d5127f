//! Which addresses are of the public web: held against a table made from the registries.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use teia_fetch::leads_inside;
use url::{Host, Url};

use super::{Target, hold, texts};

pub(super) const ADDRESS: Target = Target {
    name: "address",
    words: &[
        "127.0.0.1",
        "0177.1",
        "0x7f.1",
        "2130706433",
        "10.",
        "192.168.",
        "169.254.169.254",
        "100.64.",
        "198.18.",
        "[::1]",
        "[::ffff:",
        "[64:ff9b::",
        "[2002:",
        "[2001:0:",
        "[fe80::",
        "[fc00::",
        "[::",
        "]",
        ":",
        ".",
        "%25",
        "localhost",
        "a.local",
        "\u{ff11}\u{ff12}\u{ff17}",
        "5efe:",
        "[3fff::",
        "[2001:db8::",
    ],
    inputs_in_tests: 20_000,
    examples: || {
        texts(&[
            "127.0.0.1",
            "8.8.8.8",
            "[2606:4700::1111]",
            "[::ffff:10.0.0.1]",
            "[64:ff9b::a00:1]",
            "[2002:a00:1::]",
            "[2606:4700::5efe:a00:1]",
            "a.example",
            "intranet",
        ])
    },
    read: |input| {
        // As bytes of an address, and as text of a URL.
        if let Ok(four) = <[u8; 4]>::try_from(input) {
            check(&format!("http://{}/", Ipv4Addr::from(four)))?;
        }
        if let Some(sixteen) = input.get(..16).and_then(|it| <[u8; 16]>::try_from(it).ok()) {
            check(&format!("http://[{}]/", Ipv6Addr::from(sixteen)))?;
        }
        check(&format!("http://{}/", String::from_utf8_lossy(input)))
    },
};

fn check(text: &str) -> Result<(), String> {
    let Ok(url) = Url::parse(text) else {
        return Ok(());
    };
    let inside = leads_inside(&url);
    let (must, must_not) = match url.host() {
        Some(Host::Ipv4(address)) => (is_special(address.into()), !is_special(address.into())),
        Some(Host::Ipv6(address)) => {
            let hidden = embedded(address).is_some_and(|four| is_special(four.into()));
            let is_special = is_special(address.into());
            // What lies outside of 2000::/3 is not given out.
            let is_given_out = address.segments()[0] >> 13 == 1;
            let is_isatap = embedded(address).is_some();
            (
                is_special || hidden,
                is_given_out && !is_special && !is_isatap,
            )
        }
        _ => return Ok(()),
    };
    hold(!must || inside, || format!("{url} is let out"))?;
    hold(!must_not || !inside, || format!("{url} is refused"))
}

/// The special ranges, as the registries have them.
fn is_special(address: IpAddr) -> bool {
    const FOUR: [(&str, u32); 15] = [
        ("0.0.0.0", 8),
        ("10.0.0.0", 8),
        ("100.64.0.0", 10),
        ("127.0.0.0", 8),
        ("169.254.0.0", 16),
        ("172.16.0.0", 12),
        ("192.0.0.0", 24),
        ("192.0.2.0", 24),
        ("192.88.99.0", 24),
        ("192.168.0.0", 16),
        ("198.18.0.0", 15),
        ("198.51.100.0", 24),
        ("203.0.113.0", 24),
        ("224.0.0.0", 4),
        ("240.0.0.0", 4),
    ];
    const SIX: [(&str, u32); 12] = [
        ("::", 127),
        ("64:ff9b:1::", 48),
        ("100::", 64),
        ("2001::", 23),
        ("2001:db8::", 32),
        ("3fff::", 20),
        ("5f00::", 16),
        ("fc00::", 7),
        ("fe80::", 10),
        ("fec0::", 10),
        ("ff00::", 8),
        ("2002::", 16),
    ];
    match address {
        IpAddr::V4(address) => FOUR.iter().any(|(start, bits)| {
            let start: Ipv4Addr = start.parse().expect("a table of addresses");
            (u32::from(start) ^ u32::from(address)) >> (32 - bits) == 0
        }),
        IpAddr::V6(address) => SIX.iter().any(|(start, bits)| {
            let start: Ipv6Addr = start.parse().expect("a table of addresses");
            (u128::from(start) ^ u128::from(address)) >> (128 - bits) == 0
        }),
    }
}

/// The IPv4 address inside: mapped, compatible, NAT64, or of an ISATAP interface.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let last = || {
        let [one, two] = g.to_be_bytes();
        let [three, four] = h.to_be_bytes();
        Ipv4Addr::new(one, two, three, four)
    };
    let is_mapped = [a, b, c, d, e] == [0; 5] && (f == 0xffff || f == 0);
    let is_nat = [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0];
    let is_isatap = f == 0x5efe && (e == 0 || e == 0x200);
    (is_mapped || is_nat || is_isatap).then(last)
}
