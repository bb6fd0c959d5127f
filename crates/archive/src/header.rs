//! The header block of a WARC record, written so that no value can become a line of its own.

/// Writes `WARC/1.1` and named fields to a buffer.
#[derive(Debug)]
pub(crate) struct HeaderBlock<'a> {
    buffer: &'a mut Vec<u8>,
}

impl<'a> HeaderBlock<'a> {
    /// Begins a record.
    pub(crate) fn begin(buffer: &'a mut Vec<u8>) -> Self {
        buffer.extend_from_slice(b"WARC/1.1\r\n");
        Self { buffer }
    }

    /// Adds a field; a control byte in the value becomes a space.
    pub(crate) fn field(&mut self, name: &str, value: &str) {
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b": ");
        self.buffer.extend(
            value
                .bytes()
                .map(|byte| if byte.is_ascii_control() { b' ' } else { byte }),
        );
        self.buffer.extend_from_slice(b"\r\n");
    }

    /// Adds a field that holds a URL; see [`header_url`].
    pub(crate) fn url(&mut self, name: &str, url: &str) {
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b": ");
        push_header_url(self.buffer, url);
        self.buffer.extend_from_slice(b"\r\n");
    }

    /// Ends the header block with the length of the block that follows.
    pub(crate) fn end(mut self, content_length: u64) {
        self.field("Content-Length", &content_length.to_string());
        self.buffer.extend_from_slice(b"\r\n");
    }
}

/// A URL as it may stand in a header field and in the index: ASCII, no spaces, no control bytes.
pub(crate) fn header_url(url: &str) -> String {
    let mut buffer = Vec::with_capacity(url.len());
    push_header_url(&mut buffer, url);
    String::from_utf8(buffer).expect("every byte pushed is ASCII")
}

fn push_header_url(buffer: &mut Vec<u8>, url: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in url.bytes() {
        if byte.is_ascii_graphic() {
            buffer.push(byte);
        } else {
            buffer.extend_from_slice(&[
                b'%',
                HEX[usize::from(byte >> 4)],
                HEX[usize::from(byte & 15)],
            ]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_can_forge_a_line() {
        let mut buffer = Vec::new();
        let mut block = HeaderBlock::begin(&mut buffer);
        block.field("WARC-Type", "response\r\nWARC-Type: warcinfo\0");
        block.url("WARC-Target-URI", "http://a.example/\r\nX: y z\u{e9}");
        block.end(3);
        let text = String::from_utf8(buffer).unwrap();
        assert_eq!(
            text,
            "WARC/1.1\r\nWARC-Type: response  WARC-Type: warcinfo \r\n\
             WARC-Target-URI: http://a.example/%0D%0AX:%20y%20z%C3%A9\r\nContent-Length: 3\r\n\r\n"
        );
    }
}
