//! The head of an HTTP/1 answer, read line by line as it arrives.
//!
//! Written by hand rather than taken from a library because the archive wants the bytes as they
//! came, odd reason phrases and folded lines included, and every refusal has a name of its own.
//! The result never depends on how the bytes were split into reads.

use std::ops::Range;

use memchr::{memchr, memchr2};

/// Where the name and the value of a field lie in a head.
pub(crate) type FieldSpan = (Range<usize>, Range<usize>);

/// A whole head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedHead {
    /// Bytes of it, blank line included.
    pub(crate) len: usize,
    /// 100 to 999.
    pub(crate) status: u16,
    /// The `x` of `HTTP/1.x`.
    pub(crate) minor: u8,
    /// Its fields, in order.
    pub(crate) fields: Vec<FieldSpan>,
}

impl ParsedHead {
    /// All values of a field.
    pub(crate) fn all<'a>(
        &'a self,
        bytes: &'a [u8],
        name: &'a [u8],
    ) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(move |(span, _)| bytes[span.clone()].eq_ignore_ascii_case(name))
            .map(|(_, span)| &bytes[span.clone()])
    }
}

/// Bounds of a head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadLimits {
    pub(crate) bytes: usize,
    pub(crate) fields: usize,
}

/// Reads one head; `read` is called with all bytes so far, each time more came.
#[derive(Debug)]
pub(crate) struct HeadReader {
    limits: HeadLimits,
    /// Start of the first line that is not whole yet.
    line: usize,
    /// Up to here there is no line end after `line`.
    searched: usize,
    status: Option<(u16, u8)>,
    fields: Vec<FieldSpan>,
}

impl HeadReader {
    pub(crate) fn new(limits: HeadLimits) -> Self {
        Self {
            limits,
            line: 0,
            searched: 0,
            status: None,
            fields: Vec::with_capacity(16),
        }
    }

    /// The head once it is whole, `None` while it is not, or the name of what is wrong with it.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Option<ParsedHead>, &'static str> {
        loop {
            if self.status.is_none() {
                check_prefix(bytes)?;
            }
            let Some(at) = memchr2(b'\n', b'\r', &bytes[self.searched..]) else {
                self.searched = bytes.len();
                return self.incomplete(bytes);
            };
            let at = self.searched + at;
            let (end, next) = if bytes[at] == b'\n' {
                (at, at + 1)
            } else {
                match bytes.get(at + 1) {
                    Some(b'\n') => (at, at + 2),
                    Some(_) => return Err("http_bad_header"),
                    None => {
                        self.searched = at;
                        return self.incomplete(bytes);
                    }
                }
            };
            if next > self.limits.bytes {
                return Err("http_headers_too_large");
            }
            let line = self.line..end;
            (self.line, self.searched) = (next, next);
            match self.status {
                None => self.status = Some(status_line(&bytes[line])?),
                Some((status, minor)) if line.is_empty() => {
                    let fields = std::mem::take(&mut self.fields);
                    return Ok(Some(ParsedHead {
                        len: next,
                        status,
                        minor,
                        fields,
                    }));
                }
                Some(_) => self.field_line(bytes, line)?,
            }
        }
    }

    fn incomplete(&self, bytes: &[u8]) -> Result<Option<ParsedHead>, &'static str> {
        if bytes.len() >= self.limits.bytes {
            Err("http_headers_too_large")
        } else {
            Ok(None)
        }
    }

    fn field_line(&mut self, bytes: &[u8], line: Range<usize>) -> Result<(), &'static str> {
        let text = &bytes[line.clone()];
        if memchr(0, text).is_some() {
            return Err("http_bad_header");
        }
        if is_blank(text[0]) {
            // A folded line (RFC 9112, 5.2) belongs to the value before it.
            let (_, value) = self.fields.last_mut().ok_or("http_bad_header")?;
            let rest = trim(bytes, line);
            if !rest.is_empty() {
                let start = if value.start == value.end {
                    rest.start
                } else {
                    value.start
                };
                *value = start..rest.end;
            }
            return Ok(());
        }
        let colon = memchr(b':', text).ok_or("http_bad_header")?;
        let good = |&b: &u8| b > b' ' && b != 0x7f;
        if colon == 0 || !text[..colon].iter().all(good) {
            return Err("http_bad_header");
        }
        if self.fields.len() == self.limits.fields {
            return Err("http_headers_too_large");
        }
        let name = line.start..line.start + colon;
        let value = trim(bytes, name.end + 1..line.end);
        self.fields.push((name, value));
        Ok(())
    }
}

/// Reads a head that is all there, under the default limits.
pub(crate) fn parse_whole_head(bytes: &[u8]) -> Result<ParsedHead, &'static str> {
    let limits = HeadLimits {
        bytes: 128 << 10,
        fields: 512,
    };
    HeadReader::new(limits)
        .read(bytes)?
        .ok_or("http_bad_header")
}

/// Refuses an SSH banner or a page without head as soon as its first bytes show it.
fn check_prefix(bytes: &[u8]) -> Result<(), &'static str> {
    const PREFIX: &[u8] = b"HTTP/1.";
    let known = bytes.len().min(PREFIX.len());
    if bytes[..known] == PREFIX[..known] {
        Ok(())
    } else {
        Err("http_bad_status_line")
    }
}

/// `HTTP/1.x SP ddd [SP reason]`; the reason may hold anything but a line end.
fn status_line(line: &[u8]) -> Result<(u16, u8), &'static str> {
    let [
        b'H',
        b'T',
        b'T',
        b'P',
        b'/',
        b'1',
        b'.',
        minor @ b'0'..=b'9',
        b' ',
        a @ b'1'..=b'9',
        b,
        c,
        rest @ ..,
    ] = line
    else {
        return Err("http_bad_status_line");
    };
    if !b.is_ascii_digit() || !c.is_ascii_digit() || !matches!(rest.first(), None | Some(b' ')) {
        return Err("http_bad_status_line");
    }
    let digit = |d: u8| u16::from(d - b'0');
    Ok((digit(*a) * 100 + digit(*b) * 10 + digit(*c), minor - b'0'))
}

fn trim(bytes: &[u8], mut span: Range<usize>) -> Range<usize> {
    while span.start < span.end && is_blank(bytes[span.start]) {
        span.start += 1;
    }
    while span.start < span.end && is_blank(bytes[span.end - 1]) {
        span.end -= 1;
    }
    span
}

fn is_blank(b: u8) -> bool {
    b == b' ' || b == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: HeadLimits = HeadLimits {
        bytes: 4096,
        fields: 8,
    };

    fn whole(bytes: &[u8]) -> Result<Option<ParsedHead>, &'static str> {
        HeadReader::new(LIMITS).read(bytes)
    }

    #[track_caller]
    fn refused(head: &str, name: &str) {
        assert_eq!(whole(head.as_bytes()).unwrap_err(), name, "{head:?}");
    }

    #[test]
    fn a_plain_head_is_read() {
        let bytes = b"HTTP/1.1 200 OK\r\nServer: x\r\nEmpty:\r\nContent-Length:  5 \r\n\r\nhello";
        let head = whole(bytes).unwrap().unwrap();
        assert_eq!(
            (head.status, head.minor, head.len),
            (200, 1, bytes.len() - 5)
        );
        assert_eq!(
            head.all(bytes, b"content-length").collect::<Vec<_>>(),
            [b"5"]
        );
        assert_eq!(head.all(bytes, b"empty").collect::<Vec<_>>(), [b""]);
    }

    #[test]
    fn status_lines_are_strict() {
        for line in [
            "HELLO",
            "HTTP/1.1 0200 OK",
            "HTTP/1.1 99",
            "HTTP/1.1 2000",
            "HTTP/9.9 200",
            "ICY 200 OK",
            "http/1.1 200",
            "SSH-2.0-x",
            "HTTP/1.1",
            "HTTP/1.1200 OK",
            "<html>",
        ] {
            refused(&format!("{line}\r\n\r\n"), "http_bad_status_line");
        }
        assert_eq!(whole(b"HTTP/1.1 999\n\n").unwrap().unwrap().status, 999);
        assert_eq!(
            whole(b"HTTP/1.0 200 \x01\xff odd\r\n\r\n")
                .unwrap()
                .unwrap()
                .minor,
            0
        );
        assert_eq!(
            whole(b"SS"),
            Err("http_bad_status_line"),
            "without waiting for the line"
        );
    }

    #[test]
    fn broken_fields_are_refused() {
        for field in [
            "no colon",
            "Name : x",
            ": x",
            "Na\0me: x",
            "A: b\0",
            " folded first",
            "A: b\rC: d",
        ] {
            refused(
                &format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n"),
                "http_bad_header",
            );
        }
        refused(
            &format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(9)),
            "http_headers_too_large",
        );
        refused(
            &format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(5000)),
            "http_headers_too_large",
        );
    }

    #[test]
    fn bare_line_feeds_and_folds_are_accepted() {
        let bytes = b"HTTP/1.1 200 OK\nA: one\n  two \nB: c\r\n\n";
        let head = whole(bytes).unwrap().unwrap();
        assert_eq!(head.all(bytes, b"a").collect::<Vec<_>>(), [b"one\n  two"]);
        assert_eq!(head.all(bytes, b"B").collect::<Vec<_>>(), [b"c"]);
    }

    fn in_pieces(bytes: &[u8], cuts: &[usize]) -> Result<Option<ParsedHead>, &'static str> {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.push(bytes.len());
        cuts.sort_unstable();
        let mut reader = HeadReader::new(LIMITS);
        for cut in cuts {
            if let Some(head) = reader.read(&bytes[..cut])? {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_the_same_however_they_are_split(
            start in prop_oneof![Just(""), Just("HTTP/1.1 200 OK\r\n"), Just("HTTP/1.1 2")],
            rest in proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b':'), Just(b' '), Just(b'a'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(any::<usize>(), 0..8),
        ) {
            let bytes = [start.as_bytes(), &rest].concat();
            prop_assert_eq!(whole(&bytes), in_pieces(&bytes, &cuts));
        }
    }
}
