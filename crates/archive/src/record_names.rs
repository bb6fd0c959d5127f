//! Names of records, computed rather than stored.

use std::fmt;

use teia_base::CaptureId;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Makes the `WARC-Record-ID` of every record of one collection.
///
/// The same key and capture always give the same name, so that a revisit can name its original
/// without looking it up; and a page that forges a record cannot guess it without the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordNames {
    key: u64,
}

impl RecordNames {
    /// Names under the collection's secret key.
    pub const fn new(key: u64) -> Self {
        Self { key }
    }

    /// The main record of a capture: `response`, `revisit` or `resource`.
    pub fn capture(self, id: CaptureId) -> RecordName {
        self.name(b"capture", &id.0.to_be_bytes())
    }

    /// The request that led to a capture.
    pub fn request(self, id: CaptureId) -> RecordName {
        self.name(b"request", &id.0.to_be_bytes())
    }

    /// The metadata beside a capture.
    pub fn metadata(self, id: CaptureId) -> RecordName {
        self.name(b"metadata", &id.0.to_be_bytes())
    }

    /// The first record of an archive file.
    pub fn warcinfo(self, file: &str) -> RecordName {
        self.name(b"warcinfo", file.as_bytes())
    }

    fn name(self, kind: &[u8], what: &[u8]) -> RecordName {
        let mut text = Vec::with_capacity(kind.len() + 1 + what.len());
        text.extend_from_slice(kind);
        text.push(0);
        text.extend_from_slice(what);
        let mut bytes = xxh3_128_with_seed(&text, self.key).to_be_bytes();
        // Version 8: a UUID whose bits follow a rule of their own (RFC 9562, section 5.8).
        bytes[6] = bytes[6] & 0x0F | 0x80;
        bytes[8] = bytes[8] & 0x3F | 0x80;
        RecordName(u128::from_be_bytes(bytes))
    }
}

/// The name of one record; shows as `<urn:uuid:…>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordName(u128);

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = format!("{:032x}", self.0);
        write!(
            f,
            "<urn:uuid:{}-{}-{}-{}-{}>",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_from_key_and_capture() {
        let names = RecordNames::new(7);
        let name = names.capture(CaptureId(1));
        assert_eq!(name, RecordNames::new(7).capture(CaptureId(1)));
        assert_ne!(name, RecordNames::new(8).capture(CaptureId(1)));
        assert_ne!(name, names.request(CaptureId(1)));
        let text = name.to_string();
        assert_eq!(text.len(), 47);
        assert_eq!(text.as_bytes()[24], b'8', "{text}");
    }
}
