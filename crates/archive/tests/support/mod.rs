//! Captures for tests, built as a fetcher would build them.
#![allow(dead_code, reason = "each test program uses its own part of this")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its pages fails"
)]

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use teia_archive::{
    ArchiveConfig, Capture, RecordNames, Records, RevisitOf, Truncated, capture_records,
    payload_digest,
};
use teia_base::{
    Body, CaptureId, Certificate, Chunks, Exchange, Flags, Head, Link, Outcome, Protocol, Response,
    Timestamp,
};

/// The names of all test collections.
pub(crate) const NAMES: RecordNames = RecordNames::new(0x7E1A);

/// One capture to be, and what must come back.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) id: u64,
    pub(crate) url: String,
    pub(crate) exchange: Exchange,
    pub(crate) revisit_of: Option<RevisitOf>,
    pub(crate) truncated: Option<Truncated>,
    pub(crate) outlinks: Vec<Link>,
}

impl Page {
    /// A page with this status line and these fields.
    pub(crate) fn new(id: u64, url: &str, fields: &str, body: impl Into<Vec<u8>>) -> Self {
        let body: Vec<u8> = body.into();
        let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        Self::with_head(id, url, &head, Body::from(body), None)
    }

    /// An HTML page.
    pub(crate) fn html(id: u64, url: &str, body: &str) -> Self {
        let fields = format!(
            "Content-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n",
            body.len()
        );
        Self::new(id, url, &fields, body)
    }

    /// A page whose payload came in chunks of these texts.
    pub(crate) fn chunked(id: u64, url: &str, chunks: &[&str]) -> Self {
        let mut body = Vec::new();
        let mut found = Chunks::default();
        let mut end = 0;
        for chunk in chunks {
            body.extend_from_slice(format!("{:x};ext=1\r\n", chunk.len()).as_bytes());
            found.push(u32::try_from(body.len() - end).unwrap(), chunk.len() as u64);
            body.extend_from_slice(chunk.as_bytes());
            end = body.len();
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\n\r\n");
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";
        Self::with_head(id, url, head, Body::from(body), Some(found))
    }

    pub(crate) fn with_head(
        id: u64,
        url: &str,
        head: &str,
        body: Body,
        chunks: Option<Chunks>,
    ) -> Self {
        let started = at(i64::try_from(id).unwrap());
        let mut exchange = Exchange::failed(Outcome::http(200), None, started, Instant::now());
        exchange.protocol = Protocol::Http11;
        exchange.remote = Some("192.0.2.7:80".parse().unwrap());
        exchange.certificate = Certificate::NotTls;
        exchange.request_head = Bytes::from(format!(
            "GET / HTTP/1.1\r\nHost: a.example\r\nCookie: secret={id}\r\nUser-Agent: teia\r\n\r\n"
        ));
        exchange.response = Some(response(head, body, chunks));
        Self {
            id,
            url: url.to_owned(),
            exchange,
            revisit_of: None,
            truncated: None,
            outlinks: Vec::new(),
        }
    }

    pub(crate) fn with_flags(mut self, flags: Flags, detail: Option<&'static str>) -> Self {
        self.exchange.flags = flags;
        self.exchange.detail = detail.map(Cow::Borrowed);
        self
    }

    pub(crate) fn response(&self) -> &Response {
        self.exchange.response.as_ref().unwrap()
    }

    pub(crate) fn records(&self, config: &ArchiveConfig) -> Records {
        self.records_with(config, payload_digest(self.response()).unwrap())
    }

    /// The same with this digest, whatever the payload is.
    pub(crate) fn records_with(&self, config: &ArchiveConfig, payload_sha1: [u8; 20]) -> Records {
        let capture = Capture {
            id: CaptureId(self.id),
            names: NAMES,
            url: &self.url,
            exchange: &self.exchange,
            payload_sha1,
            revisit_of: self.revisit_of.as_ref(),
            outlinks: &self.outlinks,
            noarchive: false,
            truncated: self.truncated,
        };
        capture_records(&capture, config).unwrap()
    }
}

/// The moment of the n-th capture.
pub(crate) fn at(number: i64) -> Timestamp {
    Timestamp::from_micros((1_794_772_800 + number) * 1_000_000 + 123_456)
}

/// A parsed head, as a fetcher makes it.
pub(crate) fn response(head: &str, body: Body, chunks: Option<Chunks>) -> Response {
    let mut fields = Vec::new();
    let mut start = 0;
    for line in head.split_inclusive('\n') {
        if let Some(colon) = line.find(": ") {
            let end = start + line.trim_end().len();
            fields.push((start..start + colon, (start + colon + 2).min(end)..end));
        }
        start += line.len();
    }
    let status = head[9..12].parse().unwrap();
    Response {
        status,
        head: Head::new(Bytes::from(head.to_owned()), fields),
        body,
        chunks: chunks.map(Arc::new),
    }
}

/// A body in a file, as a fetcher spools it.
pub(crate) fn spooled(bytes: &[u8]) -> Body {
    use std::io::Write;
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Body::File {
        file: std::sync::Arc::new(file),
        len: bytes.len() as u64,
    }
}

/// Bytes that do not compress away to nothing, the same for the same seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            b"etaoin shrdlu <p>&;\"=/cmfwypvbgkqjxz0123456789ETAOIN"[(state >> 33) as usize % 52]
        })
        .collect()
}

/// All bytes that a reader gives.
pub(crate) fn all(mut reader: impl std::io::Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    bytes
}

/// The shared sample data, if it is there.
pub(crate) fn shared_data(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TEIA_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let path = root.join("data").join(part);
    path.is_dir().then_some(path)
}
