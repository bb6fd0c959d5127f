//! One request and what came of it, with the bytes as they were on the wire.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{Body, Chunks, MediaPattern, MediaType, Outcome, PayloadReader, Timestamp};

/// What a fetcher is asked to do.
#[derive(Clone, Debug)]
pub struct Request {
    /// The URL as found; this text goes out, not its normal form.
    pub url: Url,
    /// Asks "only if changed": the `ETag` of the copy that we have.
    pub etag: Option<String>,
    /// Asks "only if changed": the `Last-Modified` of the copy that we have.
    pub last_modified: Option<String>,
    /// Refuses a longer body (`size_exceeded`) from the head, where it says so.
    pub max_size: Option<u64>,
    /// What becomes of a body that did not say how long it is, and grows beyond `max_size`.
    pub beyond: Beyond,
    /// Refuses other types (`type_not_accepted`), from the head.
    pub types: Option<Arc<TypeGate>>,
    /// The whole exchange ends by then; `None` means the fetcher's own limit.
    pub timeout: Option<Duration>,
}

impl Request {
    /// A plain request for a URL.
    pub fn get(url: Url) -> Self {
        Self {
            url,
            etag: None,
            last_modified: None,
            max_size: None,
            beyond: Beyond::default(),
            types: None,
            timeout: None,
        }
    }
}

/// What becomes of a body that is longer than wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    /// `size_exceeded`.
    #[default]
    Refused,
    /// Cut off and marked so.
    Truncated,
}

/// Which media types are worth a body.
#[derive(Clone, Debug, Default)]
pub struct TypeGate {
    /// One of these must match; empty means every type.
    pub accepted: Vec<MediaPattern>,
}

impl TypeGate {
    /// Whether a body of this type is wanted. An unnamed type is.
    pub fn accepts(&self, media_type: Option<&MediaType>) -> bool {
        match media_type {
            Some(media_type) if !self.accepted.is_empty() => self
                .accepted
                .iter()
                .any(|pattern| pattern.matches(media_type)),
            _ => true,
        }
    }
}

/// One attempt at one URL, finished.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What became of it.
    pub outcome: Outcome,
    /// More about the outcome: a stable name such as `http_bad_chunk`, or what the system said.
    pub detail: Option<Cow<'static, str>>,
    /// When it began, by the wall clock.
    pub started: Timestamp,
    /// When the last byte came or the attempt was given up: politeness counts from here.
    pub ended: Instant,
    /// Where the time went.
    pub times: Times,
    /// The address that answered.
    pub remote: Option<SocketAddr>,
    /// What was spoken.
    pub protocol: Protocol,
    /// How far the other side's identity was checked.
    pub certificate: Certificate,
    /// The request as sent: line and header fields, with their final blank line.
    pub request_head: Bytes,
    /// The answer, if a readable head came.
    pub response: Option<Response>,
    /// Up to 1 KiB of what came where no head could be read.
    pub junk: Bytes,
    /// Notes beside the outcome.
    pub flags: Flags,
    /// What a login has to do with it.
    pub login: LoginStep,
}

/// What an answer says of a login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoginStep {
    /// Nothing, or nothing new.
    #[default]
    None,
    /// The server asks for one that can be given: sent again, after the host's gap, the request will
    /// have it.
    Asked,
    /// A form has just let us in, before this was asked for.
    Entered,
    /// The server has just refused it, and it is not sent there again.
    Refused,
}

impl Exchange {
    /// The detail of a request on a connection that was kept from before, and that the other side ended without a byte of an
    /// answer, as it may between two requests: no failure of the URL. Sent again, it goes out on a new connection.
    pub const KEPT_CONNECTION_ENDED: &'static str =
        "the connection that was kept had ended: no failure, it is asked for again on a new one";

    /// An attempt that ended before anything was sent.
    pub fn failed(
        outcome: Outcome,
        detail: Option<Cow<'static, str>>,
        started: Timestamp,
        ended: Instant,
    ) -> Self {
        Self {
            outcome,
            detail,
            started,
            ended,
            times: Times::default(),
            remote: None,
            protocol: Protocol::None,
            certificate: Certificate::NotTls,
            request_head: Bytes::new(),
            response: None,
            junk: Bytes::new(),
            flags: Flags::default(),
            login: LoginStep::None,
        }
    }

    /// Bytes that came over the wire for this answer.
    pub fn wire_bytes(&self) -> u64 {
        self.response
            .as_ref()
            .map_or(self.junk.len() as u64, |response| {
                response.head.as_bytes().len() as u64 + response.body.len()
            })
    }
}

/// An answer: its head, and its body as received.
#[derive(Clone, Debug)]
pub struct Response {
    /// Status.
    pub status: u16,
    /// Status line and header fields.
    pub head: Head,
    /// The body as received, with transfer coding (chunks) and content coding still on.
    pub body: Body,
    /// Where the payload lies in `body` when it came in chunks; `None` means all of `body`.
    pub chunks: Option<Arc<Chunks>>,
}

impl Response {
    /// Where the payload lies in `body`, content coding still on.
    pub fn payload(&self) -> Arc<Chunks> {
        match &self.chunks {
            Some(chunks) => Arc::clone(chunks),
            None => Arc::new(Chunks::whole(self.body.len())),
        }
    }

    /// Reads the payload, content coding still on, from its first byte to its last.
    pub fn payload_reader(&self) -> PayloadReader {
        self.body.payload_reader(self.payload())
    }

    /// The declared media type, if there is a readable one.
    pub fn media_type(&self) -> Option<MediaType> {
        self.head
            .text("content-type")
            .and_then(|value| MediaType::parse(&value))
    }
}

/// The head of an answer, byte for byte, with its fields found.
#[derive(Clone, Debug)]
pub struct Head {
    bytes: Bytes,
    fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    name: (u32, u32),
    value: (u32, u32),
}

impl Head {
    /// Takes a head that was already parsed; `fields` are the spans of name and value in `bytes`.
    ///
    /// # Panics
    /// When a span lies outside `bytes` or beyond 4 GiB, which a parser of these bytes cannot produce.
    pub fn new(
        bytes: Bytes,
        fields: impl IntoIterator<Item = (Range<usize>, Range<usize>)>,
    ) -> Self {
        let span = |range: Range<usize>| {
            assert!(
                range.start <= range.end && range.end <= bytes.len(),
                "span within the head"
            );
            let number = |n: usize| u32::try_from(n).expect("heads are small");
            (number(range.start), number(range.end))
        };
        let fields = fields
            .into_iter()
            .map(|(name, value)| Field {
                name: span(name),
                value: span(value),
            })
            .collect();
        Self { bytes, fields }
    }

    /// The bytes as received, status line to blank line.
    pub fn as_bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The same head with `***` for every value of a field, as it may be kept where the value is a secret.
    #[must_use]
    pub fn masked(&self, name: &str) -> Self {
        let is_secret =
            |field: &Field| self.slice(field.name).eq_ignore_ascii_case(name.as_bytes());
        if !self.fields.iter().any(is_secret) {
            return self.clone();
        }
        let range = |(start, end): (u32, u32)| start as usize..end as usize;
        let (mut bytes, mut spans, mut copied) = (Vec::new(), Vec::new(), 0);
        for field in &self.fields {
            let (name, value) = (range(field.name), range(field.value));
            bytes.extend_from_slice(&self.bytes[copied..value.start]);
            // What lies before a value has moved as a whole.
            let moved = |at: usize| at + bytes.len() - value.start;
            let (name, start) = (moved(name.start)..moved(name.end), bytes.len());
            match is_secret(field) {
                true => bytes.extend_from_slice(b"***"),
                false => bytes.extend_from_slice(&self.bytes[value.clone()]),
            }
            spans.push((name, start..bytes.len()));
            copied = value.end;
        }
        bytes.extend_from_slice(&self.bytes[copied..]);
        Self::new(bytes.into(), spans)
    }

    /// All values of a field, in order. Names compare without case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(move |field| self.slice(field.name).eq_ignore_ascii_case(name.as_bytes()))
            .map(|field| self.slice(field.value))
    }

    /// The first value of a field, as text (UTF-8, else Latin-1).
    pub fn text(&self, name: &str) -> Option<String> {
        self.all(name).next().map(header_text)
    }

    /// All values of a field, as text.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.all(name).map(header_text).collect()
    }

    /// All fields, in order, as text.
    pub fn fields(&self) -> impl Iterator<Item = (String, String)> {
        self.fields.iter().map(|field| {
            (
                header_text(self.slice(field.name)),
                header_text(self.slice(field.value)),
            )
        })
    }

    fn slice(&self, (start, end): (u32, u32)) -> &[u8] {
        &self.bytes[start as usize..end as usize]
    }
}

fn header_text(bytes: &[u8]) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.trim().to_owned(),
        Err(_) => bytes
            .iter()
            .map(|&b| char::from(b))
            .collect::<String>()
            .trim()
            .to_owned(),
    };
    // A value folded over several lines (RFC 9112, section 5.2) reads as one line.
    if text.contains(['\r', '\n']) {
        let lines = text.split(['\r', '\n']).map(str::trim);
        return lines
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
    }
    text
}

/// Where the time of an exchange went; zero where a step was not needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Name to address.
    pub dns: Duration,
    /// TCP connection, and the proxy's part of it.
    pub connect: Duration,
    /// TLS handshake.
    pub tls: Duration,
    /// From request sent to first byte.
    pub first_byte: Duration,
    /// From first byte to last.
    pub body: Duration,
}

impl Times {
    /// All of it.
    pub fn total(&self) -> Duration {
        self.dns + self.connect + self.tls + self.first_byte + self.body
    }
}

/// What was spoken with the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// Nothing was spoken.
    None,
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2; its head in a [`Response`] is written out as HTTP/1.1 would have it.
    H2,
}

/// How far the server's identity was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Certificate {
    /// Plain text, nothing to check.
    NotTls,
    /// Checked, and good.
    Verified,
    /// Not good, and taken all the same because the collection says so.
    Accepted,
}

/// Notes beside an outcome; never outcomes themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags(u32);

impl Flags {
    /// A safety limit cut the body; what came before the cut is kept.
    pub const TRUNCATED: Self = Self(1);
    /// The connection broke before the announced end of the body.
    pub const BODY_SHORT: Self = Self(1 << 1);
    /// Extraction stopped before the end of the page.
    pub const PARSE_PARTIAL: Self = Self(1 << 2);
    /// The page nests deeper than the limit.
    pub const PARSE_DEPTH_LIMITED: Self = Self(1 << 3);
    /// Extraction used up its processor time.
    pub const PARSE_TIMEOUT: Self = Self(1 << 4);
    /// Extraction failed and gave nothing.
    pub const PARSE_CRASH: Self = Self(1 << 5);
    /// The declared charset was wrong or missing.
    pub const CHARSET_FALLBACK: Self = Self(1 << 6);
    /// `noindex`.
    pub const NOINDEX: Self = Self(1 << 7);
    /// `nofollow`.
    pub const NOFOLLOW: Self = Self(1 << 8);
    /// `noarchive`.
    pub const NOARCHIVE: Self = Self(1 << 9);
    /// The certificate was not good, and taken because the collection says so.
    pub const CERTIFICATE_ACCEPTED: Self = Self(1 << 10);
    /// Content coding could not be undone; the archive holds the bytes as received.
    pub const DECODE_PARTIAL: Self = Self(1 << 11);
    /// Another URL had the same body before.
    pub const DUPLICATE: Self = Self(1 << 12);
    /// Followed for its links, not kept.
    pub const NOT_KEPT: Self = Self(1 << 13);
    /// Fetched because a kept page needs it.
    pub const REQUISITE: Self = Self(1 << 14);
    /// A redirect from https to http.
    pub const REDIRECT_INSECURE: Self = Self(1 << 15);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds a set.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether all of `other` is in here.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their names, in order.
    pub fn names(self) -> Vec<&'static str> {
        const NAMES: [(Flags, &str); 16] = [
            (Flags::TRUNCATED, "truncated"),
            (Flags::BODY_SHORT, "http_body_short"),
            (Flags::PARSE_PARTIAL, "parse_partial"),
            (Flags::PARSE_DEPTH_LIMITED, "parse_depth_limited"),
            (Flags::PARSE_TIMEOUT, "parse_timeout"),
            (Flags::PARSE_CRASH, "parse_crash"),
            (Flags::CHARSET_FALLBACK, "charset_fallback"),
            (Flags::NOINDEX, "noindex"),
            (Flags::NOFOLLOW, "nofollow"),
            (Flags::NOARCHIVE, "noarchive"),
            (Flags::CERTIFICATE_ACCEPTED, "certificate_accepted"),
            (Flags::DECODE_PARTIAL, "decode_partial"),
            (Flags::DUPLICATE, "duplicate"),
            (Flags::NOT_KEPT, "not_kept"),
            (Flags::REQUISITE, "requisite"),
            (Flags::REDIRECT_INSECURE, "redirect_insecure"),
        ];
        NAMES
            .iter()
            .filter(|(flag, _)| self.has(*flag))
            .map(|(_, name)| *name)
            .collect()
    }
}
