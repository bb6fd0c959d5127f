//! The HTTP head inside a record, and the chunks of the body after it.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use teia_base::{Body, ChunkReader, Chunks, Head};

/// Bytes of a body that are looked at at once.
const PIECE: usize = 64 << 10;

/// Where the head ends: after its blank line, whatever the line ends.
pub(crate) fn head_len(block: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = memchr::memchr(b'\n', &block[from..]) {
        let next = from + at + 1;
        match &block[next..] {
            [b'\n', ..] => return Some(next + 1),
            [b'\r', b'\n', ..] => return Some(next + 2),
            _ => from = next,
        }
    }
    None
}

/// The status, if the first line has one, and the fields of a head.
pub(crate) fn parse_head(bytes: Bytes) -> (Option<u16>, Head) {
    let mut fields: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut status = None;
    let mut start = 0;
    for (at, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let end = start + line.trim_ascii_end().len();
        let is_folded = line.starts_with(b" ") || line.starts_with(b"\t");
        if at == 0 {
            status = status_of(line);
        } else if is_folded && end > start {
            // A folded line belongs to the value above it.
            if let Some((_, value)) = fields.last_mut() {
                value.end = end;
            }
        } else if let Some(colon) = memchr::memchr(b':', line) {
            let name = start..start + line[..colon].trim_ascii_end().len();
            let blanks = line[colon + 1..]
                .iter()
                .take_while(|byte| matches!(byte, b' ' | b'\t'))
                .count();
            let value = start + colon + 1 + blanks;
            fields.push((name, value..end.max(value)));
        }
        start += line.len();
    }
    (status, Head::new(bytes, fields))
}

fn status_of(line: &[u8]) -> Option<u16> {
    // A reason may be of any bytes.
    let words = line[..line.len().min(64)].split(u8::is_ascii_whitespace);
    let mut words = words.filter(|word| !word.is_empty());
    let is_http = words.next()?.starts_with(b"HTTP/");
    let status: u16 = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
    (is_http && (100..=999).contains(&status)).then_some(status)
}

/// Where the payload lies in a chunked body. `None` where the body is not framed as chunks at all;
/// broken framing further on ends the payload there.
pub(crate) fn chunks_of(body: &Body) -> io::Result<Option<Arc<Chunks>>> {
    let mut walk = ChunkReader::new(usize::MAX);
    let mut reader = body.reader(0, body.len());
    let mut bytes = vec![0; PIECE];
    while !walk.is_done() {
        let read = reader.read(&mut bytes)?;
        if read == 0 || walk.advance(&bytes[..read]).is_err() {
            break;
        }
    }
    let is_framed = !walk.is_unframed();
    Ok(is_framed.then(|| Arc::new(walk.into_chunks())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_whatever_their_line_ends() {
        assert_eq!(head_len(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody"), Some(25));
        assert_eq!(head_len(b"HTTP/1.1 200 OK\nA: b\n\nbody"), Some(22));
        assert_eq!(head_len(b"HTTP/1.1 200 OK\r\n"), None);
        let (status, head) = parse_head(Bytes::from_static(
            b"HTTP/1.1 302 Found\r\nA:  b\r\n  c\r\nnothing\r\nD:\r\n\r\n",
        ));
        assert_eq!(status, Some(302));
        assert_eq!(head.text("a").as_deref(), Some("b c"));
        assert_eq!(head.text("d").as_deref(), Some(""));
    }

    #[test]
    fn a_status_is_found_whatever_the_reason_is_written_in() {
        let long = format!(" {}", "\u{e9}".repeat(100));
        for reason in ["", " OK", " tr\u{e8}s bien", &long] {
            assert_eq!(
                status_of(format!("HTTP/1.1 200{reason}\r\n").as_bytes()),
                Some(200)
            );
        }
        assert_eq!(status_of(b"HTTP/1.1 200 tr\xe8s bien\r\n"), Some(200));
        for line in [
            &b"HTTP/1.1 99 \r\n"[..],
            b"ICY 200 OK",
            b"HTTP/1.1",
            b"HTTP/1.1 \xe8",
            b"",
        ] {
            assert_eq!(status_of(line), None, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn chunks_are_found_and_nonsense_is_not() {
        let payload = |text: &str| {
            let body = Body::from(text.as_bytes().to_vec());
            let mut payload = String::new();
            let mut reader = body.payload_reader(chunks_of(&body).unwrap()?);
            reader.read_to_string(&mut payload).unwrap();
            Some(payload)
        };
        assert_eq!(
            payload("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n").as_deref(),
            Some("abcde")
        );
        assert_eq!(payload("plain text"), None);
        assert_eq!(payload("5\r\nabc").as_deref(), Some("abc"));
        assert_eq!(payload("ffffffffffffffff\r\nabc").as_deref(), Some("abc"));
        assert_eq!(payload("10000000000000000\r\nabc"), None);
        assert_eq!(payload(""), None);
    }
}
