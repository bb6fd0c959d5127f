//! One line of a capture index, in the form that pywb reads and writes (CDXJ).
//!
//! ```text
//! org,example)/a 20261115200000 {"url": "http://example.org/a", "mime": "text/html", "status": "200",
//!     "digest": "…", "length": "577", "offset": "2907", "filename": "teia-….warc.gz", "id": "7"}
//! ```
//!
//! Lines of a sealed index are sorted by their bytes. All JSON values are strings; `id` is our own.

use std::fmt::Write;

use serde::Deserialize;
use teia_base::{CaptureId, Timestamp};

/// Where one capture lies, and what the index says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdxEntry {
    /// The URL in sort-friendly form: `org,example)/a`.
    pub key: String,
    /// When it was fetched: 14 digits.
    pub timestamp: String,
    /// The URL as requested.
    pub url: String,
    /// The declared media type; `warc/revisit` for a revisit, `unk` where none is declared.
    pub mime: String,
    /// The HTTP status; none for a revisit and for what did not come over HTTP.
    pub status: Option<u16>,
    /// SHA-1 of the payload in base 32.
    pub digest: Option<String>,
    /// Compressed length of the record.
    pub length: u64,
    /// Where the record begins in its file.
    pub offset: u64,
    /// The archive file.
    pub file: String,
    /// Its number in the collection, if it is one of ours.
    pub id: Option<CaptureId>,
    /// Its author wants no copy shown: it is kept, and never replayed. `A` among the `robotflags`, as
    /// other archives write it.
    pub noarchive: bool,
    /// Its body could not be read to the end, and the attempt failed: it is kept for who looks into that, and is no page.
    pub failed: bool,
}

impl CdxEntry {
    /// Reads a line, with or without its line end.
    pub fn parse(line: &str) -> Option<Self> {
        let (key, rest) = line.trim_end_matches(['\r', '\n']).split_once(' ')?;
        let (timestamp, json) = rest.split_once(' ')?;
        if !timestamp.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let fields: Fields<'_> = serde_json::from_str(json).ok()?;
        let number = |text: &str| text.parse::<u64>().ok();
        Some(Self {
            key: key.to_owned(),
            timestamp: timestamp.to_owned(),
            url: fields.url.into_owned(),
            mime: fields
                .mime
                .map_or_else(|| "-".to_owned(), std::borrow::Cow::into_owned),
            status: fields.status.and_then(|status| status.parse().ok()),
            digest: fields.digest.map(std::borrow::Cow::into_owned),
            length: fields.length.as_deref().and_then(number).unwrap_or(0),
            offset: number(&fields.offset)?,
            file: fields.filename.into_owned(),
            id: fields.id.as_deref().and_then(number).map(CaptureId),
            noarchive: fields.robotflags.is_some_and(|flags| flags.contains('A')),
            failed: fields.failed.is_some_and(|failed| failed == "yes"),
        })
    }

    /// Writes the line, with its line end.
    pub fn to_line(&self) -> String {
        let mut line =
            String::with_capacity(self.key.len() + self.url.len() + self.file.len() + 192);
        line.push_str(&self.key);
        line.push(' ');
        line.push_str(&self.timestamp);
        line.push_str(" {\"url\": ");
        push_json(&mut line, &self.url);
        if self.mime != "-" {
            line.push_str(", \"mime\": ");
            push_json(&mut line, &self.mime);
        }
        if let Some(status) = self.status {
            push_number(&mut line, "status", u64::from(status));
        }
        if let Some(digest) = &self.digest {
            line.push_str(", \"digest\": ");
            push_json(&mut line, digest);
        }
        push_number(&mut line, "length", self.length);
        push_number(&mut line, "offset", self.offset);
        line.push_str(", \"filename\": ");
        push_json(&mut line, &self.file);
        if self.failed {
            line.push_str(", \"failed\": \"yes\"");
        }
        if let Some(id) = self.id {
            push_number(&mut line, "id", id.0);
        }
        if self.noarchive {
            line.push_str(", \"robotflags\": \"A\"");
        }
        line.push_str("}\n");
        line
    }

    /// When it was fetched, to the second.
    pub fn fetched(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.timestamp)
    }

    /// Whether its payload lies in an earlier record.
    pub fn is_revisit(&self) -> bool {
        self.mime == "warc/revisit"
    }

    /// The byte after the record.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// The media type as an index has it: parameters cut off, `unk` where there is none.
pub(crate) fn mime_of(content_type: Option<&str>) -> String {
    let mime = content_type
        .unwrap_or("")
        .split([';', ' '])
        .next()
        .unwrap_or("");
    if mime.is_empty() {
        "unk".to_owned()
    } else {
        mime.to_owned()
    }
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    url: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    mime: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    digest: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    length: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    offset: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    filename: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    id: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    robotflags: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    failed: Option<std::borrow::Cow<'a, str>>,
}

fn push_number(line: &mut String, name: &str, number: u64) {
    let _infallible = write!(line, ", \"{name}\": \"{number}\"");
}

/// Writes a JSON string as Python's `json` does: everything outside ASCII escaped, so that the
/// bytes of our index are those of the usual tools.
fn push_json(line: &mut String, text: &str) {
    line.push('"');
    for character in text.chars() {
        match character {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            ' '..='~' => line.push(character),
            _ => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let _infallible = write!(line, "\\u{unit:04x}");
                }
            }
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_written() {
        let entry = CdxEntry {
            key: "org,example)/a".into(),
            timestamp: "20261115200000".into(),
            url: "http://example.org/\"a\\é😀".into(),
            mime: "text/html".into(),
            status: Some(200),
            digest: Some("B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A".into()),
            length: 577,
            offset: 2907,
            file: "x.warc.gz".into(),
            id: Some(CaptureId(7)),
            noarchive: true,
            failed: true,
        };
        let line = entry.to_line();
        assert!(line.is_ascii());
        assert_eq!(CdxEntry::parse(&line), Some(entry));
        assert_eq!(CdxEntry::parse("org,example)/ 2026 {"), None);
        assert_eq!(CdxEntry::parse(""), None);
    }
}
