//! The head of an HTTP/2 answer, written as HTTP/1.1 would have it.

use bytes::Bytes;
use http::response::Parts;
use teia_base::Head;

/// Status line and fields, none invented.
pub(super) fn written_out(parts: &Parts) -> Head {
    let mut bytes = Vec::with_capacity(512);
    bytes.extend_from_slice(b"HTTP/1.1 ");
    bytes.extend_from_slice(parts.status.as_str().as_bytes());
    bytes.push(b' ');
    bytes.extend_from_slice(
        parts
            .status
            .canonical_reason()
            .unwrap_or_default()
            .as_bytes(),
    );
    bytes.extend_from_slice(b"\r\n");
    let mut fields = Vec::with_capacity(parts.headers.len());
    for (name, value) in &parts.headers {
        let name_start = bytes.len();
        bytes.extend_from_slice(name.as_str().as_bytes());
        let name_end = bytes.len();
        bytes.extend_from_slice(b": ");
        let value_start = bytes.len();
        bytes.extend_from_slice(value.as_bytes());
        fields.push((name_start..name_end, value_start..bytes.len()));
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    Head::new(Bytes::from(bytes), fields)
}
