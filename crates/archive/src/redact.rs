//! Secrets out of a request before it is archived.

use std::borrow::Cow;

const SECRET_FIELDS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];
const MARK: &[u8] = b" [not archived]\r\n";

/// The head of a request with the values of `Authorization`, `Proxy-Authorization` and `Cookie`
/// replaced by a fixed mark.
pub(crate) fn redacted(head: &[u8]) -> Cow<'_, [u8]> {
    if !head.split(|&byte| byte == b'\n').any(is_secret) {
        return Cow::Borrowed(head);
    }
    let mut clean = Vec::with_capacity(head.len());
    let mut in_secret = false;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        // A folded line belongs to the field above it.
        let is_folded = line.starts_with(b" ") || line.starts_with(b"\t");
        if is_folded && in_secret {
            continue;
        }
        in_secret = is_secret(line);
        if in_secret {
            let name = line
                .iter()
                .position(|&byte| byte == b':')
                .map_or(0, |colon| colon + 1);
            clean.extend_from_slice(&line[..name]);
            clean.extend_from_slice(MARK);
        } else {
            clean.extend_from_slice(line);
        }
    }
    Cow::Owned(clean)
}

fn is_secret(line: &[u8]) -> bool {
    let Some(colon) = line.iter().position(|&byte| byte == b':') else {
        return false;
    };
    let name = line[..colon].trim_ascii();
    SECRET_FIELDS
        .iter()
        .any(|secret| name.eq_ignore_ascii_case(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_become_a_mark() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\nAUTHORIZATION: Basic eA==\r\n folded\r\nCookie: a=b\r\nX: y\r\n\r\n";
        let clean = redacted(head);
        assert_eq!(
            clean.as_ref(),
            b"GET / HTTP/1.1\r\nHost: a\r\nAUTHORIZATION: [not archived]\r\nCookie: [not archived]\r\nX: y\r\n\r\n"
        );
        assert!(matches!(
            redacted(b"GET / HTTP/1.1\r\n\r\n"),
            Cow::Borrowed(_)
        ));
    }
}
