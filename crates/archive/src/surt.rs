//! The sort key of a URL, as the usual tools (pywb, cdxj-indexer, the Wayback Machine) make it.
//!
//! `http://www.Example.org:80/A/?b=2&a=1#x` becomes `org,example)/a?a=1&b=2`: scheme, user name,
//! default port, `www.`, fragment, trailing slash and session ids are dropped, escapes are undone
//! and made again, small letters throughout, parameters sorted, host names reversed. Several URLs
//! share a key, so a key finds candidates and the URL in the index line decides.

/// The sort key of a URL. Never fails: what cannot be read is its own key, spaces escaped.
pub fn surt(url: &str) -> String {
    match parse(url) {
        _ if url.is_empty() => "-".to_owned(),
        _ if url.starts_with("filedesc") => url.to_owned(),
        Some(parts) => parts.key(),
        None => escape(url.trim().as_bytes()),
    }
}

struct Parts {
    scheme: String,
    host: Vec<u8>,
    port: Option<u32>,
    path: Vec<u8>,
    query: Vec<u8>,
}

fn parse(url: &str) -> Option<Parts> {
    let mut text: String = url
        .trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}')
        .to_owned();
    text.retain(|c| !matches!(c, '\n' | '\r' | '\t'));
    if scheme_len(&text).is_none() {
        text.insert_str(0, "http://");
    }
    // `http://https://a.example/` was meant as its last scheme.
    while let Some(inner) = strip_http(&text).filter(|rest| strip_http(rest).is_some()) {
        text = inner.to_owned();
    }
    let colon = scheme_len(&text)?;
    let scheme = text[..colon].to_owned();
    let rest = text[colon + 1..].split('#').next().unwrap_or("");
    let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, mut path) = match before_query.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", before_query),
    };
    let (mut host, port) = host_and_port(authority.trim_end_matches(':'))?;
    let moved;
    if scheme.starts_with("http") && host.is_empty() && !path.is_empty() {
        // `http:////a.example/b` has its host in the path.
        let trimmed = path.trim_start_matches('/');
        let (first, after) = trimmed.split_once('/').unwrap_or((trimmed, ""));
        host = first.to_ascii_lowercase();
        moved = format!("/{after}");
        path = &moved;
    }
    Some(Parts {
        scheme,
        host: host.into_bytes(),
        port,
        path: path.as_bytes().to_vec(),
        query: query.as_bytes().to_vec(),
    })
}

impl Parts {
    fn key(self) -> String {
        let default_port = match self.scheme.to_ascii_lowercase().as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        let mut path = unescape_repeatedly(self.path);
        let mut key = String::with_capacity(path.len() + self.query.len() + self.host.len() + 8);
        if self.host.is_empty() {
            key.push_str(&self.scheme);
            key.push(':');
        } else {
            let mut host = normal_host(self.host);
            if self.scheme != "dns" {
                host = without_www(&host).to_owned();
            }
            for (at, part) in host.split('.').rev().enumerate() {
                if at > 0 {
                    key.push(',');
                }
                key.push_str(part);
            }
            if let Some(port) = self.port.filter(|port| Some(*port) != default_port) {
                key.push_str(&format!(":{port}"));
            }
            key.push(')');
            path = normal_path(&path);
        }
        let mut path = without_path_session(escape(&path).to_ascii_lowercase());
        if path.len() > 1 && path.ends_with('/') {
            path.pop();
        }
        let query = normal_query(self.query);
        if path.is_empty() && !query.is_empty() {
            path.push('/');
        }
        key.push_str(&path);
        if !query.is_empty() {
            key.push('?');
            key.push_str(&query);
        }
        key
    }
}

fn scheme_len(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))?;
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic());
    (starts_well && text[end..].starts_with(':')).then_some(end)
}

fn strip_http(text: &str) -> Option<&str> {
    text.strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"))
}

/// Host in small letters without brackets, and port; `None` where the port is no number.
fn host_and_port(authority: &str) -> Option<(String, Option<u32>)> {
    let after_user = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (host, port) = match after_user.split_once('[') {
        Some((_, bracketed)) => {
            let (host, after) = bracketed.split_once(']').unwrap_or((bracketed, ""));
            (host, after.split_once(':').map_or("", |(_, port)| port))
        }
        None => after_user.split_once(':').unwrap_or((after_user, "")),
    };
    let port = match port {
        "" => None,
        digits => Some(digits.parse::<u16>().ok()?)
            .filter(|port| *port != 0)
            .map(u32::from),
    };
    Some((host.to_lowercase(), port))
}

fn normal_host(host: Vec<u8>) -> String {
    let host = unescape_repeatedly(host);
    let mut host = if host.is_ascii() {
        host
    } else {
        let text = String::from_utf8_lossy(&host);
        url::Host::parse(&text)
            .map(|host| host.to_string().into_bytes())
            .unwrap_or(host)
    };
    host.make_ascii_lowercase();
    let text = escape(&host).replace("..", ".");
    let text = text.trim_matches('.');
    ip_address(text).unwrap_or_else(|| text.to_owned())
}

/// Addresses in the odd spellings that browsers take: one number, two, three or four; octal.
fn ip_address(host: &str) -> Option<String> {
    if !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only the low 32 bits count, however long the number is.
        let low = host.bytes().fold(0_u32, |low, digit| {
            low.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'))
        });
        return Some(std::net::Ipv4Addr::from(low).to_string());
    }
    let parts: Vec<&str> = host.split('.').collect();
    if parts.len() > 4
        || !parts
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    {
        return None;
    }
    let mut address = 0_u32;
    for (at, part) in parts.iter().enumerate() {
        let number = match part.strip_prefix('0') {
            Some(octal) if !octal.is_empty() => u32::from_str_radix(octal, 8).ok()?,
            _ => part.parse().ok()?,
        };
        if at + 1 < parts.len() {
            let byte = u8::try_from(number).ok()?;
            address |= u32::from(byte) << (24 - 8 * at);
        } else {
            // The last number fills all bytes that are left.
            let bits = 32 - 8 * at;
            if u64::from(number) >= 1_u64 << bits {
                return None;
            }
            address |= number;
        }
    }
    Some(std::net::Ipv4Addr::from(address).to_string())
}

fn without_www(host: &str) -> &str {
    let Some(rest) = host.strip_prefix("www") else {
        return host;
    };
    rest.trim_start_matches(|c: char| c.is_ascii_digit())
        .strip_prefix('.')
        .unwrap_or(host)
}

/// Dot segments resolved and empty segments dropped; a trailing slash stays.
fn normal_path(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/').skip(1) {
        match segment {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let mut normal = b"/".to_vec();
    if let Some((last, before)) = kept.split_last() {
        for segment in before.iter().filter(|segment| !segment.is_empty()) {
            normal.extend_from_slice(segment);
            normal.push(b'/');
        }
        normal.extend_from_slice(last);
    }
    normal
}

fn normal_query(query: Vec<u8>) -> String {
    let query = without_query_sessions(escape(&unescape_repeatedly(query))).to_ascii_lowercase();
    if query.len() <= 1 {
        return query;
    }
    let mut parameters: Vec<(&str, Option<&str>)> = query
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (parameter, None),
        })
        .collect();
    parameters.sort_unstable();
    let mut sorted = String::with_capacity(query.len());
    for (at, (name, value)) in parameters.into_iter().enumerate() {
        if at > 0 {
            sorted.push('&');
        }
        sorted.push_str(name);
        if let Some(value) = value {
            sorted.push('=');
            sorted.push_str(value);
        }
    }
    sorted
}

/// Undoes percent-escapes until none is left.
fn unescape_repeatedly(mut bytes: Vec<u8>) -> Vec<u8> {
    while let Some(first) = bytes.iter().position(|&byte| byte == b'%') {
        let mut plain = bytes[..first].to_vec();
        let mut at = first;
        let hex = |at: usize| {
            bytes
                .get(at)
                .and_then(|&byte| char::from(byte).to_digit(16))
        };
        while at < bytes.len() {
            match (bytes[at], hex(at + 1), hex(at + 2)) {
                (b'%', Some(high), Some(low)) => {
                    plain.push(u8::try_from(high * 16 + low).expect("two hex digits"));
                    at += 3;
                }
                (byte, ..) => {
                    plain.push(byte);
                    at += 1;
                }
            }
        }
        if plain.len() == bytes.len() {
            break;
        }
        bytes = plain;
    }
    bytes
}

/// Escapes control bytes, space, `#`, `%` and everything outside ASCII.
fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && byte != b'#' && byte != b'%' {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Drops `(S(…24…))/` and `(…24…)/` before an `.aspx` page.
fn without_path_session(path: String) -> String {
    let mut path = path;
    for measure in [
        nested_session_len as fn(&[u8]) -> Option<usize>,
        plain_session_len,
    ] {
        let found = path
            .rmatch_indices('/')
            .map(|(at, _)| at + 1)
            .find_map(|start| {
                let len = measure(&path.as_bytes()[start..])?;
                let rest = &path[start + len..];
                let page = rest.find(".aspx")?;
                (page > 0 && !rest[..page].contains('?')).then_some(start..start + len)
            });
        if let Some(session) = found {
            path.replace_range(session, "");
        }
    }
    path
}

fn plain_session_len(text: &[u8]) -> Option<usize> {
    let is_session = text.len() >= 27
        && text[0] == b'('
        && text[1..25].iter().all(u8::is_ascii_alphanumeric)
        && &text[25..27] == b")/";
    is_session.then_some(27)
}

fn nested_session_len(text: &[u8]) -> Option<usize> {
    let mut at = usize::from(text.first() == Some(&b'('));
    let mut groups = 0;
    while let Some(group) = text.get(at..at + 27).filter(|_| at > 0) {
        let fits = group[0].is_ascii_alphabetic()
            && group[1] == b'('
            && group[2..26].iter().all(u8::is_ascii_alphanumeric)
            && group[26] == b')';
        if !fits {
            break;
        }
        groups += 1;
        at += 27;
    }
    (groups > 0 && text.get(at..at + 2) == Some(b")/")).then_some(at + 2)
}

fn without_query_sessions(mut query: String) -> String {
    let measures: [fn(&str) -> Option<usize>; 5] = [
        |text| named_session_len(text, "jsessionid="),
        |text| named_session_len(text, "phpsessid="),
        |text| named_session_len(text, "sid="),
        asp_session_len,
        cold_fusion_session_len,
    ];
    for measure in measures {
        // The last place that fits, as a greedy pattern would find it.
        let found = (0..query.len()).rev().find_map(|start| {
            let end = start + measure(&query[start..])?;
            matches!(query.as_bytes().get(end), None | Some(b'&')).then_some((start, end))
        });
        if let Some((start, end)) = found {
            let after = (end + 1).min(query.len());
            query.replace_range(start..after, "");
        }
    }
    query
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn named_session_len(text: &str, name: &str) -> Option<usize> {
    let value =
        starts_with(text, name).then(|| text.as_bytes().get(name.len()..name.len() + 32))??;
    value
        .iter()
        .all(u8::is_ascii_alphanumeric)
        .then_some(name.len() + 32)
}

fn asp_session_len(text: &str) -> Option<usize> {
    let bytes = starts_with(text, "aspsessionid").then(|| text.as_bytes().get(12..45))??;
    let fits = bytes[..8].iter().all(u8::is_ascii_alphabetic)
        && bytes[8] == b'='
        && bytes[9..].iter().all(u8::is_ascii_alphabetic);
    fits.then_some(45)
}

fn cold_fusion_session_len(text: &str) -> Option<usize> {
    let value_len = |text: &str| text.find('&').unwrap_or(text.len());
    let rest = starts_with(text, "cfid=").then(|| &text[5..])?;
    let id = value_len(rest);
    let token = starts_with(&rest[id..], "&cftoken=").then(|| &rest[id + 9..])?;
    let token = value_len(token);
    (id > 0 && token > 0).then_some(5 + id + 9 + token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, key: &str) {
        assert_eq!(surt(url), key, "{url}");
    }

    /// Each pair is what the Python package `surt` 0.3.1 says.
    #[test]
    fn keys_are_those_of_the_usual_tools() {
        check(
            "http://www.Example.org:80/A/?b=2&a=1#x",
            "org,example)/a?a=1&b=2",
        );
        check("http://example.com?example=1", "com,example)/?example=1");
        check(
            "https://user:pass@example.com:8443/a//b/../c/",
            "com,example:8443)/a/c",
        );
        check("urn:some:id", "urn:some:id");
        check("http://127.0.0.1:8080/", "1,0,0,127:8080)/");
        check("example.com", "com,example)/");
        check(
            "http://www2.example.com/%7Euser/%2520x",
            "com,example)/~user/%20x",
        );
        check("http://a.example/?", "example,a)/");
        check(
            "metadata://gnu.org/software/wget/warc/MANIFEST.txt",
            "org,gnu)/software/wget/warc/manifest.txt",
        );
        check("filedesc://x.arc", "filedesc://x.arc");
        check("", "-");
    }
}
