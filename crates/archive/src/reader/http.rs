//! The HTTP head inside a record, and the chunks of the body after it.

use std::io::{self, Read};
use std::ops::Range;

use bytes::Bytes;
use teia_base::{Body, Head};

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
    let line = std::str::from_utf8(line.get(..line.len().min(64))?).ok()?;
    let mut words = line.split_ascii_whitespace();
    let is_http = words.next()?.starts_with("HTTP/");
    let status: u16 = words.next()?.parse().ok()?;
    (is_http && (100..=999).contains(&status)).then_some(status)
}

/// Where the payload lies in a chunked body. `None` where the body is not framed as chunks at all;
/// broken framing further on ends the payload there.
pub(crate) fn chunk_ranges(body: &Body) -> io::Result<Option<Vec<Range<u64>>>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut at = 0;
    let mut is_first = true;
    loop {
        let mut line = Vec::with_capacity(32);
        body.reader(at, at.saturating_add(4 << 10))
            .take(64)
            .read_to_end(&mut line)?;
        let mut end = memchr::memchr(b'\n', &line);
        if end.is_none() && line.len() == 64 {
            // A long chunk extension.
            line.clear();
            body.reader(at, at.saturating_add(4 << 10))
                .read_to_end(&mut line)?;
            end = memchr::memchr(b'\n', &line);
        }
        let size = end.and_then(|end| {
            let digits = line[..end].split(|&byte| byte == b';').next()?.trim_ascii();
            let digits = std::str::from_utf8(digits)
                .ok()
                .filter(|text| !text.starts_with('+'))?;
            Some((u64::from_str_radix(digits, 16).ok()?, end as u64 + 1))
        });
        let Some((size, line_len)) = size else {
            return Ok((!is_first).then_some(ranges));
        };
        is_first = false;
        let start = at + line_len;
        if size == 0 {
            return Ok(Some(ranges));
        }
        let end = start.saturating_add(size).min(body.len());
        match ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => ranges.push(start..end),
        }
        let mut line_end = [0; 2];
        let read = body
            .reader(end, end.saturating_add(2))
            .read(&mut line_end)?;
        at = match &line_end[..read] {
            b"\r\n" => end + 2,
            [b'\n', ..] => end + 1,
            _ => return Ok(Some(ranges)),
        };
    }
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
    fn chunks_are_found_and_nonsense_is_not() {
        let payload = |text: &str| {
            let ranges = chunk_ranges(&Body::from(text.as_bytes().to_vec())).unwrap()?;
            let slice = |range: Range<u64>| {
                &text[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
            };
            Some(ranges.into_iter().map(slice).collect::<String>())
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
