//! URLs that the parser would leave as they are, told without parsing.
//!
//! Most URLs of real pages are plain, and a page has a hundred: to see it costs a tenth of parsing.
//! What is not surely plain is left to the parser; property tests compare both ways.

/// Whether this absolute URL is its own normal form under the safe rules.
pub(crate) fn is_normal(text: &str) -> bool {
    let (rest, default_port) = if let Some(rest) = text.strip_prefix("https://") {
        (rest, "443")
    } else if let Some(rest) = text.strip_prefix("http://") {
        (rest, "80")
    } else {
        return false;
    };
    let Some(slash) = rest.find('/') else {
        return false;
    };
    let (authority, path) = rest.split_at(slash);
    is_plain_authority(authority, default_port) && is_plain_path(path) && !path.contains('%')
}

/// Whether the URL parser would leave this host, and port where there is one, as they are.
pub fn is_plain_authority(authority: &str, default_port: &str) -> bool {
    match authority.split_once(':') {
        None => is_plain_host(authority),
        Some((host, port)) => {
            let is_port = matches!(port.len(), 1..=5)
                && port.bytes().all(|byte| byte.is_ascii_digit())
                && !port.starts_with('0')
                && port.parse::<u16>().is_ok();
            is_port && port != default_port && is_plain_host(host)
        }
    }
}

/// Small letters, a last label that is no number, no punycode, no empty label; or an address as
/// it is usually written.
fn is_plain_host(host: &str) -> bool {
    let bytes = host.as_bytes();
    let Some(dot) = host.rfind('.') else {
        return false;
    };
    let last = &bytes[dot + 1..];
    if last.first().is_some_and(u8::is_ascii_digit) {
        return is_plain_address(host);
    }
    bytes.len() <= 253
        && bytes[0].is_ascii_alphanumeric()
        && last.len() >= 2
        && last.iter().all(u8::is_ascii_lowercase)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(byte))
        && bytes
            .windows(2)
            .all(|pair| pair.iter().any(u8::is_ascii_alphanumeric))
}

/// Four numbers without leading zeros.
fn is_plain_address(host: &str) -> bool {
    let mut parts = 0;
    host.split('.').all(|part| {
        parts += 1;
        matches!(part.len(), 1..=3)
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part.len() == 1 || !part.starts_with('0'))
            && part.parse::<u8>().is_ok()
    }) && parts == 4
}

/// Whether the URL parser would leave this path and query as they are: nothing to encode,
/// no segment of dots, no host at its beginning.
pub fn is_plain_path(path: &str) -> bool {
    let bytes = path.as_bytes();
    let mut previous = b'/';
    let mut query = false;
    for (at, &byte) in bytes.iter().enumerate() {
        let plain = match byte {
            b'.' => query || previous != b'/',
            b'%' => {
                let escape = bytes.get(at + 1..at + 3);
                query || !escape.is_some_and(|escape| escape.eq_ignore_ascii_case(b"2e"))
            }
            b'?' => {
                query = true;
                true
            }
            _ => PLAIN[usize::from(byte)],
        };
        if !plain {
            return false;
        }
        previous = byte;
    }
    // Two slashes at the front would begin a host.
    !path.starts_with("//")
}

/// Bytes that stand for themselves in a path and in a query.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        plain[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'-' | b'_' | b'~' | b'!' | b'$' | b'&' | b'(' | b')' | b'*' | b'+'
            )
            || matches!(byte, b',' | b';' | b'=' | b':' | b'@' | b'/');
        byte += 1;
    }
    plain
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;
    use crate::NormalForm;

    #[test]
    fn usual_urls_are_plain() {
        for url in [
            "https://example.org/",
            "http://www.a-b.example.co.uk/a/b.html?c=d&e=f",
            "http://127.0.0.1:8080/a",
            "http://10.1.2.3/",
        ] {
            assert!(is_normal(url), "{url}");
        }
        for url in [
            "http://example.org",
            "http://example.org:80/",
            "https://example.org:443/",
            "http://example.org:08080/",
            "http://example.org:65536/",
            "http://127.0.0.01/",
            "http://127.1/",
            "http://256.0.0.1/",
            "http://1.2.3.4.5/",
            "http://a.example/%41",
            "http://a.example/b/../c",
            "http://a.example./",
            "http://u@a.example/",
        ] {
            assert!(!is_normal(url), "{url}");
        }
    }

    proptest! {
        #[test]
        fn what_is_seen_to_be_normal_is_so(
            text in "https?://([a-z0-9-]{1,4}\\.){0,3}(xn--)?[a-z0-9]{1,3}\\.?(:[0-9]{0,6})?(/[a-zA-Z0-9%.:~'|^_@-]{0,4}){0,3}(\\?[a-z=&./%]{0,5})?(#x)?",
        ) {
            if is_normal(&text) {
                let parsed = NormalForm::default().normalise(&Url::parse(&text).unwrap()).unwrap();
                prop_assert_eq!(parsed.normal().as_str(), &text);
                prop_assert_eq!(parsed.spelling(), None);
            }
        }

        #[test]
        fn addresses_and_ports_too(
            text in "https?://([0-9]{1,3}\\.){2,4}[0-9]{1,4}(:(80|443|0?[0-9]{1,5}))?/",
        ) {
            if is_normal(&text) {
                let parsed = NormalForm::default().normalise(&Url::parse(&text).unwrap()).unwrap();
                prop_assert_eq!(parsed.normal().as_str(), &text);
            }
        }
    }
}
