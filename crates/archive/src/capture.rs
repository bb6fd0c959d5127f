//! One capture to compressed WARC records: pure, thread-safe, and where the processor time goes.
//!
//! ```text
//! Capture ──> response | revisit | resource ──┐
//!        ├──> request (secrets masked) ───────┼──> gzip members ──> Records ──> Writer
//!        └──> metadata (links found) ─────────┘
//! ```
//!
//! **Which digest stands where.** WARC 1.1 says that the payload of an HTTP answer is its entity
//! body, so that a payload digest is taken with the transfer coding removed; jwarc checks it so.
//! `warcio check` and pywb's indexer take it over everything after the head, chunk framing
//! included. For a body without chunks the two agree, and `WARC-Payload-Digest` is written. For a
//! chunked body no value pleases both, so the field is left out of the record (it is optional),
//! the digest of the payload stands in `Teia-Payload-Digest`, and `WARC-Block-Digest`, on which
//! all agree, protects the record. The same holds for a revisit whose answer came in chunks:
//! without the field pywb finds the original by URL and date, which always works; with it, pywb
//! would look for an original of equal framing. Our own CDXJ always holds the digest of the payload.

use std::io;

use teia_base::{
    Body, CaptureId, Certificate, Exchange, Flags, Link, LinkKind, Protocol, Response, Retry,
    Timestamp,
};

use crate::cdx::CdxEntry;
use crate::digest::{base32, block_digest, labelled, sha1};
use crate::header::{HeaderBlock, header_url};
use crate::member::{ONE_CALL_BYTES, Packer, push_body};
use crate::redact::redacted;
use crate::surt::surt;
use crate::{ArchiveConfig, ArchiveError, RecordNames};

/// What is to be archived of one exchange.
#[derive(Clone, Copy, Debug)]
pub struct Capture<'a> {
    /// Its number in the collection.
    pub id: CaptureId,
    /// Names of records in this collection.
    pub names: RecordNames,
    /// The URL as requested.
    pub url: &'a str,
    /// The exchange, which must have an answer.
    pub exchange: &'a Exchange,
    /// [`payload_digest`](crate::payload_digest) of the answer.
    pub payload_sha1: [u8; 20],
    /// The earlier capture that has the same payload; then the body is not stored again.
    pub revisit_of: Option<&'a RevisitOf>,
    /// Links found, for a metadata record where the collection wants them.
    pub outlinks: &'a [Link],
    /// Its author wants no copy shown (`noarchive`).
    pub noarchive: bool,
    /// Why the body is not whole; where `None`, the flags of the exchange decide.
    pub truncated: Option<Truncated>,
}

/// The capture that holds the payload of a revisit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisitOf {
    /// Its number, if it is in this collection.
    pub id: Option<CaptureId>,
    /// Its URL as it was requested.
    pub url: String,
    /// When it was fetched.
    pub date: Timestamp,
    /// How we know that the payload is the same.
    pub profile: RevisitProfile,
}

/// How it is known that a payload has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisitProfile {
    /// The payload came, and its digest is the same.
    IdenticalPayload,
    /// The server said so (304).
    NotModified,
}

impl RevisitProfile {
    /// The URI of the profile, as WARC 1.1 names it.
    pub fn uri(self) -> &'static str {
        match self {
            Self::IdenticalPayload => {
                "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
            }
            Self::NotModified => "http://netpreserve.org/warc/1.1/revisit/server-not-modified",
        }
    }
}

/// Why a body is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncated {
    /// It reached a limit of bytes.
    Length,
    /// It reached a limit of time.
    Time,
    /// The connection broke.
    Disconnect,
    /// Something else.
    Unspecified,
}

impl Truncated {
    /// The word in `WARC-Truncated`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

/// The compressed records of one capture, ready to be appended.
#[derive(Clone, Debug)]
pub struct Records {
    pub(crate) bytes: Body,
    pub(crate) members: Vec<Member>,
    /// Offsets are relative to `bytes`, and the file has no name yet.
    pub(crate) entry: CdxEntry,
}

impl Records {
    /// Compressed bytes.
    pub fn len(&self) -> u64 {
        self.bytes.len()
    }

    /// Whether there are none; there always are some.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The records, in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The number of the capture.
    pub fn id(&self) -> Option<CaptureId> {
        self.entry.id
    }
}

/// One record among the [`Records`] of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// What it is.
    pub kind: RecordKind,
    /// Where it begins.
    pub offset: u64,
    /// Its compressed length.
    pub len: u64,
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordKind {
    /// The first record of a file.
    Warcinfo,
    /// An HTTP answer.
    Response,
    /// An answer whose payload an earlier record holds.
    Revisit,
    /// Something that did not come over HTTP.
    Resource,
    /// A request.
    Request,
    /// What is known of a capture beside it.
    Metadata,
}

impl RecordKind {
    /// The word in `WARC-Type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warcinfo => "warcinfo",
            Self::Response => "response",
            Self::Revisit => "revisit",
            Self::Resource => "resource",
            Self::Request => "request",
            Self::Metadata => "metadata",
        }
    }
}

/// Builds and compresses the records of one capture. No file is touched, except that a body above
/// 1 MiB is compressed to an unnamed temporary file.
pub fn capture_records(
    capture: &Capture<'_>,
    config: &ArchiveConfig,
) -> Result<Records, ArchiveError> {
    let Some(response) = &capture.exchange.response else {
        return Err(ArchiveError::NoResponse {
            url: capture.url.to_owned(),
        });
    };
    let kind = main_kind(capture);
    let date = capture.exchange.started.to_rfc3339_micros();
    let (bytes, (members, entry)) = Packer::with(config, |packer| {
        let mut members = Vec::with_capacity(3);
        push_main(packer, capture, response, kind, &date, config)?;
        members.push(Member {
            kind,
            offset: 0,
            len: packer.len(),
        });
        let entry = entry_of(capture, response, kind, &date, packer.len());
        if config.request_records
            && kind != RecordKind::Resource
            && !capture.exchange.request_head.is_empty()
        {
            let offset = packer.len();
            push_request(packer, capture, &date)?;
            members.push(Member {
                kind: RecordKind::Request,
                offset,
                len: packer.len() - offset,
            });
        }
        if config.metadata_records && !capture.outlinks.is_empty() {
            let offset = packer.len();
            push_metadata(packer, capture, &date)?;
            members.push(Member {
                kind: RecordKind::Metadata,
                offset,
                len: packer.len() - offset,
            });
        }
        Ok((members, entry))
    })
    .map_err(|source| ArchiveError::Build {
        url: capture.url.to_owned(),
        source,
    })?;
    Ok(Records {
        bytes,
        members,
        entry,
    })
}

fn main_kind(capture: &Capture<'_>) -> RecordKind {
    let is_http = ["http://", "https://"].iter().any(|scheme| {
        capture
            .url
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    match capture.revisit_of {
        Some(_) => RecordKind::Revisit,
        None if is_http => RecordKind::Response,
        None => RecordKind::Resource,
    }
}

fn push_main(
    packer: &mut Packer<'_>,
    capture: &Capture<'_>,
    response: &Response,
    kind: RecordKind,
    date: &str,
    config: &ArchiveConfig,
) -> io::Result<()> {
    let empty = Body::empty();
    let (head, body): (&[u8], &Body) = match kind {
        RecordKind::Revisit => (response.head.as_bytes(), &empty),
        RecordKind::Resource => (&[], &response.body),
        _ => (response.head.as_bytes(), &response.body),
    };
    let is_chunked = response.chunks.is_some();
    let block_sha1 = if is_chunked || config.block_digests || kind == RecordKind::Revisit {
        Some(block_digest(head, body)?)
    } else {
        None
    };
    let length = head.len() as u64 + body.len();
    let write_header = |buffer: &mut Vec<u8>| {
        let mut header = HeaderBlock::begin(buffer);
        header.field("WARC-Type", kind.name());
        header.field(
            "WARC-Record-ID",
            &capture.names.capture(capture.id).to_string(),
        );
        header.field("WARC-Date", date);
        header.url("WARC-Target-URI", capture.url);
        if let Some(remote) = capture.exchange.remote {
            header.field("WARC-IP-Address", &remote.ip().to_string());
        }
        if let Some(protocol) = protocol_name(capture.exchange.protocol) {
            header.field("WARC-Protocol", protocol);
        }
        let digest = labelled(&capture.payload_sha1);
        if is_chunked {
            header.field("Teia-Payload-Digest", &digest);
        } else {
            header.field("WARC-Payload-Digest", &digest);
        }
        if let Some(block_sha1) = &block_sha1 {
            header.field("WARC-Block-Digest", &labelled(block_sha1));
        }
        if let Some(original) = capture.revisit_of {
            header.field("WARC-Profile", original.profile.uri());
            if let Some(id) = original.id {
                header.field("WARC-Refers-To", &capture.names.capture(id).to_string());
            }
            header.url("WARC-Refers-To-Target-URI", &original.url);
            header.field("WARC-Refers-To-Date", &original.date.to_rfc3339_micros());
        }
        match truncation(capture) {
            Some(reason) => header.field("WARC-Truncated", reason.name()),
            // A revisit leaves its payload out on purpose; WARC 1.1, section 6.7.
            None if kind == RecordKind::Revisit && !response.body.is_empty() => {
                header.field("WARC-Truncated", "length");
            }
            None => {}
        }
        if capture.exchange.certificate == Certificate::Accepted {
            header.field("Teia-Certificate", "not verified");
        }
        if capture.noarchive {
            header.field("Teia-Robots", "noarchive");
        }
        if is_failed(capture) {
            header.field("Teia-Outcome", &capture.exchange.outcome.name());
        }
        header.field("Teia-Capture", &capture.id.0.to_string());
        match kind {
            RecordKind::Resource => {
                let declared = response.head.text("content-type");
                header.field(
                    "Content-Type",
                    declared.as_deref().unwrap_or("application/octet-stream"),
                );
            }
            _ => header.field("Content-Type", "application/http; msgtype=response"),
        }
        header.end(length);
    };
    if length <= ONE_CALL_BYTES {
        packer.small(|buffer| {
            write_header(buffer);
            buffer.extend_from_slice(head);
            push_body(buffer, body)?;
            buffer.extend_from_slice(b"\r\n\r\n");
            Ok(())
        })
    } else {
        let mut header = Vec::with_capacity(1024);
        write_header(&mut header);
        packer.large(&header, head, body)
    }
}

fn push_request(packer: &mut Packer<'_>, capture: &Capture<'_>, date: &str) -> io::Result<()> {
    let head = redacted(&capture.exchange.request_head);
    packer.small(|buffer| {
        let mut header = HeaderBlock::begin(buffer);
        header.field("WARC-Type", RecordKind::Request.name());
        header.field(
            "WARC-Record-ID",
            &capture.names.request(capture.id).to_string(),
        );
        header.field("WARC-Date", date);
        header.url("WARC-Target-URI", capture.url);
        header.field(
            "WARC-Concurrent-To",
            &capture.names.capture(capture.id).to_string(),
        );
        header.field("WARC-Block-Digest", &labelled(&sha1(&head)));
        header.field("Content-Type", "application/http; msgtype=request");
        header.end(head.len() as u64);
        buffer.extend_from_slice(&head);
        buffer.extend_from_slice(b"\r\n\r\n");
        Ok(())
    })
}

fn push_metadata(packer: &mut Packer<'_>, capture: &Capture<'_>, date: &str) -> io::Result<()> {
    // Links as Heritrix writes them: URL, hop letter, where it stood.
    let mut block = String::new();
    for link in capture.outlinks {
        let hop = match link.kind {
            LinkKind::Redirect => 'R',
            kind if kind.is_requisite() => 'E',
            _ => 'L',
        };
        block.push_str("outlink: ");
        block.push_str(&header_url(&link.url));
        block.push(' ');
        block.push(hop);
        block.push(' ');
        block.push_str(link.kind.name());
        block.push_str("\r\n");
    }
    let write_header = |buffer: &mut Vec<u8>| {
        let mut header = HeaderBlock::begin(buffer);
        header.field("WARC-Type", RecordKind::Metadata.name());
        header.field(
            "WARC-Record-ID",
            &capture.names.metadata(capture.id).to_string(),
        );
        header.field("WARC-Date", date);
        header.url("WARC-Target-URI", capture.url);
        header.field(
            "WARC-Concurrent-To",
            &capture.names.capture(capture.id).to_string(),
        );
        header.field("WARC-Block-Digest", &labelled(&sha1(block.as_bytes())));
        header.field("Content-Type", "application/warc-fields");
        header.end(block.len() as u64);
    };
    if block.len() as u64 <= ONE_CALL_BYTES {
        packer.small(|buffer| {
            write_header(buffer);
            buffer.extend_from_slice(block.as_bytes());
            buffer.extend_from_slice(b"\r\n\r\n");
            Ok(())
        })
    } else {
        let mut header = Vec::with_capacity(1024);
        write_header(&mut header);
        packer.large(&header, block.as_bytes(), &Body::empty())
    }
}

fn entry_of(
    capture: &Capture<'_>,
    response: &Response,
    kind: RecordKind,
    date: &str,
    len: u64,
) -> CdxEntry {
    let url = header_url(capture.url);
    let mime = match kind {
        RecordKind::Revisit => "warc/revisit".to_owned(),
        _ => crate::cdx::mime_of(response.head.text("content-type").as_deref()),
    };
    CdxEntry {
        key: surt(&url),
        timestamp: date.chars().filter(char::is_ascii_digit).take(14).collect(),
        url,
        mime,
        status: (kind == RecordKind::Response).then_some(response.status),
        digest: Some(base32(&capture.payload_sha1)),
        length: len,
        offset: 0,
        file: String::new(),
        id: Some(capture.id),
        noarchive: capture.noarchive,
        failed: is_failed(capture),
    }
}

/// Whether the answer broke off after its head, so that the attempt failed.
fn is_failed(capture: &Capture<'_>) -> bool {
    let outcome = capture.exchange.outcome;
    !outcome.is_answered() && outcome.retry() != Retry::Final
}

fn protocol_name(protocol: Protocol) -> Option<&'static str> {
    match protocol {
        Protocol::None => None,
        Protocol::Http10 => Some("http/1.0"),
        Protocol::Http11 => Some("http/1.1"),
        Protocol::H2 => Some("h2"),
    }
}

fn truncation(capture: &Capture<'_>) -> Option<Truncated> {
    let flags = capture.exchange.flags;
    capture.truncated.or_else(|| {
        if flags.has(Flags::BODY_SHORT) {
            Some(Truncated::Disconnect)
        } else if flags.has(Flags::TRUNCATED) {
            let detail = capture.exchange.detail.as_deref();
            Some(match detail.unwrap_or_default() {
                // A part that nobody asked for (206): the server left the rest out.
                "partial" => Truncated::Unspecified,
                detail if detail.contains("time") => Truncated::Time,
                _ => Truncated::Length,
            })
        } else {
            None
        }
    })
}
