//! How long the body of an answer is, and whether its connection can serve again (RFC 9112, 6.3 and 9.3).

use super::head::ParsedHead;

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none.
    Empty,
    /// By `Content-Length`.
    Length(u64),
    /// By the last chunk.
    Chunked,
    /// By the end of the connection.
    Close,
}

/// What the head says about the body and the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) framing: Framing,
    /// Whether the connection may serve again if nothing else speaks against it.
    pub(crate) keep_alive: bool,
    /// The head contradicts itself, harmlessly.
    pub(crate) odd: bool,
}

/// Reads the plan from the head of an answer to `GET`.
pub(crate) fn plan(head: &ParsedHead, bytes: &[u8]) -> Result<Plan, &'static str> {
    let mut keep_alive = keeps_alive(head, bytes);
    let length = content_length(head, bytes);
    let coding = transfer_coding(head, bytes)?;
    let odd = coding == Coding::Chunked && (length != Ok(None) || head.minor == 0);
    let framing = match coding {
        _ if matches!(head.status, 204 | 304) => {
            // A body that follows all the same must not become the next answer.
            keep_alive &= coding == Coding::None
                && (head.status == 304 || matches!(length, Ok(None | Some(0))));
            Framing::Empty
        }
        Coding::Chunked => Framing::Chunked,
        Coding::Unknown => Framing::Close,
        Coding::None => length?.map_or(Framing::Close, Framing::Length),
    };
    keep_alive &= !odd && framing != Framing::Close;
    Ok(Plan {
        framing,
        keep_alive,
        odd,
    })
}

fn keeps_alive(head: &ParsedHead, bytes: &[u8]) -> bool {
    let mut keep = head.minor >= 1;
    for value in head.all(bytes, b"connection") {
        for token in tokens(value) {
            if token.eq_ignore_ascii_case(b"close") {
                return false;
            }
            keep |= token.eq_ignore_ascii_case(b"keep-alive");
        }
    }
    keep
}

/// The one value of all `Content-Length` fields; two that differ are refused.
fn content_length(head: &ParsedHead, bytes: &[u8]) -> Result<Option<u64>, &'static str> {
    const CONFLICT: &str = "http_framing_conflict";
    let mut length = None;
    for value in head.all(bytes, b"content-length") {
        for part in value.split(|&b| b == b',') {
            let digits = part.trim_ascii();
            if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
                return Err(CONFLICT);
            }
            let number = digits
                .iter()
                .fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
            if length.is_some_and(|known| known != number) {
                return Err(CONFLICT);
            }
            length = Some(number);
        }
    }
    Ok(length)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    None,
    Chunked,
    Unknown,
}

fn transfer_coding(head: &ParsedHead, bytes: &[u8]) -> Result<Coding, &'static str> {
    let mut coding = Coding::None;
    for token in head.all(bytes, b"transfer-encoding").flat_map(tokens) {
        coding = match coding {
            // Chunked comes last and once; anything after it would hide where the body ends.
            Coding::Chunked => return Err("http_framing_conflict"),
            _ if token.eq_ignore_ascii_case(b"chunked") => Coding::Chunked,
            other if token.is_empty() || token.eq_ignore_ascii_case(b"identity") => other,
            _ => Coding::Unknown,
        };
    }
    Ok(coding)
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::super::head::parse_whole_head;
    use super::*;

    fn read(status: u16, fields: &str) -> Result<Plan, &'static str> {
        let bytes = format!("HTTP/1.1 {status} X\r\n{fields}\r\n");
        plan(
            &parse_whole_head(bytes.as_bytes()).unwrap(),
            bytes.as_bytes(),
        )
    }

    #[track_caller]
    fn check(fields: &str, framing: Framing, keep_alive: bool) {
        let plan = read(200, fields).unwrap();
        assert_eq!(
            (plan.framing, plan.keep_alive),
            (framing, keep_alive),
            "{fields}"
        );
    }

    #[test]
    fn lengths_chunks_and_closes_are_told_apart() {
        check("Content-Length: 5\r\n", Framing::Length(5), true);
        check(
            "Content-Length: 5, 5\r\nContent-Length: 5\r\n",
            Framing::Length(5),
            true,
        );
        check("Transfer-Encoding: Chunked\r\n", Framing::Chunked, true);
        check(
            "Content-Length: 5\r\nConnection: x, close\r\n",
            Framing::Length(5),
            false,
        );
        check("", Framing::Close, false);
    }

    #[test]
    fn chunked_wins_over_a_length_and_ends_the_connection() {
        check(
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            Framing::Chunked,
            false,
        );
        check(
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            Framing::Chunked,
            false,
        );
    }

    #[test]
    fn contradictions_are_refused() {
        for value in [
            "-1",
            "+5",
            "0x10",
            "5 5",
            "",
            "5,6",
            "123456789012345678901234567890",
        ] {
            assert_eq!(
                read(200, &format!("Content-Length: {value}\r\n")),
                Err("http_framing_conflict"),
                "{value}"
            );
        }
        assert!(read(200, "Content-Length: 5\r\nContent-Length: 6\r\n").is_err());
        assert!(read(200, "Transfer-Encoding: chunked, gzip\r\n").is_err());
    }

    #[test]
    fn some_statuses_have_no_body() {
        let plan = read(304, "Content-Length: 5\r\n").unwrap();
        assert_eq!((plan.framing, plan.keep_alive), (Framing::Empty, true));
        let plan = read(204, "Content-Length: 5\r\n").unwrap();
        assert_eq!((plan.framing, plan.keep_alive), (Framing::Empty, false));
    }
}
