//! The named fields of a WARC record.

use std::io;

use super::input::Layer;

const MAX_HEADER_BYTES: usize = 256 << 10;

/// Version and named fields of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordHeader {
    /// `1.0`, `1.1`.
    pub version: String,
    fields: Vec<(String, String)>,
}

impl RecordHeader {
    /// The first value of a field. Names compare without case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// All fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// `WARC-Type`, or nothing.
    pub fn kind(&self) -> &str {
        self.get("WARC-Type").unwrap_or("")
    }

    /// `WARC-Target-URI`, without the angle brackets that some writers put around it.
    pub fn url(&self) -> Option<&str> {
        let url = self.get("WARC-Target-URI")?;
        Some(
            url.strip_prefix('<')
                .and_then(|url| url.strip_suffix('>'))
                .unwrap_or(url),
        )
    }

    /// Reads a header block to its blank line. The inner error says what is wrong with it.
    pub(crate) fn read(layer: &mut Layer) -> io::Result<Result<Self, String>> {
        let first = layer.line(8 << 10)?;
        let Some(version) = first.strip_prefix(b"WARC/") else {
            if first.starts_with(b"filedesc://") {
                return Ok(Err("an ARC file, which is not read".to_owned()));
            }
            return Ok(Err(format!("no WARC record here, but `{}`", shown(&first))));
        };
        let mut header = Self {
            version: text(version),
            fields: Vec::new(),
        };
        let mut left = MAX_HEADER_BYTES;
        loop {
            let line = layer.line(left)?;
            if !line.ends_with(b"\n") {
                let what = if line.len() == left {
                    "header block too long"
                } else {
                    "header block without end"
                };
                return Ok(Err(what.to_owned()));
            }
            left -= line.len();
            if matches!(line.as_slice(), b"\n" | b"\r\n") {
                return Ok(Ok(header));
            }
            let is_folded = line.starts_with(b" ") || line.starts_with(b"\t");
            match (
                is_folded,
                header.fields.last_mut(),
                memchr::memchr(b':', &line),
            ) {
                (true, Some((_, value)), _) => {
                    value.push(' ');
                    value.push_str(&text(&line));
                }
                (_, _, Some(colon)) => header
                    .fields
                    .push((text(&line[..colon]), text(&line[colon + 1..]))),
                // A line that is no field says nothing; the ones around it still do.
                _ => {}
            }
            if left == 0 {
                return Ok(Err("header block too long".to_owned()));
            }
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn shown(bytes: &[u8]) -> String {
    bytes
        .iter()
        .take(40)
        .map(|byte| char::from(*byte))
        .flat_map(char::escape_default)
        .collect()
}
