//! Requests: the few things in a request's head that matter to the answer.

use httparse::{EMPTY_HEADER, Status};

const MAX_HEADERS: usize = 96;

/// A request's head, borrowed from the bytes read.
#[derive(Debug, Default)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// The authority of an absolute request target, else the `Host` header.
    pub(crate) authority: &'a str,
    pub(crate) path: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) minor_version: u8,
    pub(crate) keep_alive: bool,
    pub(crate) gzip: bool,
    pub(crate) if_none_match: Option<&'a str>,
    pub(crate) if_modified_since: Option<&'a str>,
    /// Whether a body follows, which this server does not take.
    pub(crate) has_body: bool,
    /// Bytes of the head.
    pub(crate) bytes: usize,
}

/// What the bytes read so far are.
#[derive(Debug)]
pub(crate) enum Parsed<'a> {
    Whole(Request<'a>),
    Partial,
    Bad,
}

/// Reads the first request in the bytes.
pub(crate) fn parse(bytes: &[u8]) -> Parsed<'_> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Parsed::Partial,
        Err(_) => return Parsed::Bad,
    };
    let (Some(method), Some(target), Some(minor_version)) = (head.method, head.path, head.version)
    else {
        return Parsed::Bad;
    };
    let mut request = Request {
        method,
        path: target,
        minor_version,
        keep_alive: minor_version == 1,
        bytes: length,
        ..Request::default()
    };
    for header in head.headers.iter() {
        let Ok(value) = std::str::from_utf8(header.value) else {
            continue;
        };
        let named = |name: &str| header.name.eq_ignore_ascii_case(name);
        // The length of the name tells nearly all headers apart before they are compared.
        match header.name.len() {
            4 if named("host") => request.authority = value,
            10 if named("user-agent") => request.agent = value,
            10 if named("connection") => {
                request.keep_alive = match () {
                    () if value.eq_ignore_ascii_case("close") => false,
                    () if value.eq_ignore_ascii_case("keep-alive") => true,
                    () => request.keep_alive,
                }
            }
            13 if named("if-none-match") => request.if_none_match = Some(value),
            14 if named("content-length") => request.has_body = value != "0",
            15 if named("accept-encoding") => request.gzip = value.contains("gzip"),
            17 if named("if-modified-since") => request.if_modified_since = Some(value),
            17 if named("transfer-encoding") => request.has_body = true,
            _ => {}
        }
    }
    if let Some(rest) = target.strip_prefix("http://") {
        let slash = rest.find('/').unwrap_or(rest.len());
        request.authority = &rest[..slash];
        request.path = if slash < rest.len() {
            &rest[slash..]
        } else {
            "/"
        };
    }
    Parsed::Whole(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_two_requests_is_read_and_its_length_told() {
        let bytes = b"GET /a HTTP/1.1\r\nhost: h0.web.test\r\nAccept-Encoding: br, gzip\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
        let Parsed::Whole(request) = parse(bytes) else {
            panic!()
        };
        assert_eq!(
            (request.method, request.path, request.authority),
            ("GET", "/a", "h0.web.test")
        );
        assert!(request.gzip && request.keep_alive);
        assert!(bytes[request.bytes..].starts_with(b"GET /b"));
    }

    #[test]
    fn a_proxy_request_names_its_host_in_the_target() {
        let Parsed::Whole(request) = parse(b"GET http://h1.web.test/x HTTP/1.0\r\nHost: p\r\n\r\n")
        else {
            panic!()
        };
        assert_eq!(
            (request.path, request.authority, request.keep_alive),
            ("/x", "h1.web.test", false)
        );
    }

    #[test]
    fn half_a_head_and_nonsense_are_told_apart() {
        assert!(matches!(parse(b"GET / HTTP/1.1\r\nHo"), Parsed::Partial));
        assert!(matches!(parse(b"\x16\x03\x01 tls"), Parsed::Bad));
    }
}
