//! What came back over one connection, whatever was spoken on it.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use teia_base::{Beyond, Flags, MediaType, Outcome, Protocol, Request, Response};

use crate::config::FetchConfig;
use crate::document_type::{is_document, may_be_list};
use crate::fault::Fault;

/// What came of one request on one connection.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) detail: Option<Cow<'static, str>>,
    pub(crate) protocol: Protocol,
    pub(crate) response: Option<Response>,
    pub(crate) junk: Bytes,
    pub(crate) flags: Flags,
    pub(crate) first_byte: Duration,
    pub(crate) body: Duration,
    /// The connection can serve again.
    pub(crate) reusable: bool,
    /// What is wrong is wrong with this one stream, and says nothing of how the host speaks HTTP/2.
    pub(crate) of_stream: bool,
}

impl Answer {
    /// An answer that failed before its head was whole.
    pub(crate) fn failed(fault: Fault, protocol: Protocol) -> Self {
        Self {
            outcome: fault.outcome,
            detail: fault.detail,
            protocol,
            response: None,
            junk: Bytes::new(),
            flags: Flags::default(),
            first_byte: Duration::ZERO,
            body: Duration::ZERO,
            reusable: false,
            of_stream: false,
        }
    }
}

/// What is wrong with a document of which the end did not come: it may come whole the next time. The body of
/// any other answer says nothing beside its status.
pub(crate) fn body_short(status: u16) -> Option<Fault> {
    short_by(status, BODY_SHORT)
}

/// The same by another name.
pub(crate) fn short_by(status: u16, name: &'static str) -> Option<Fault> {
    (200..300).contains(&status).then(|| Fault::invalid(name))
}

/// The name of a body of which the end did not come.
pub(crate) const BODY_SHORT: &str = "http_body_short";

/// The safety limits of a body, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    /// Bytes taken from the wire.
    pub(crate) wire_bytes: u64,
    /// Time beyond that of a page.
    pub(crate) more_time: Duration,
}

impl Class {
    /// Documents may be larger and take longer than pages, unless the request says how long.
    pub(crate) fn of(
        media_type: Option<&MediaType>,
        request: &Request,
        config: &FetchConfig,
    ) -> Self {
        if !media_type.is_some_and(is_document) {
            return Self {
                wire_bytes: config.body_wire_bytes,
                more_time: Duration::ZERO,
            };
        }
        let more_time = config.document_timeout.saturating_sub(config.timeout);
        Self {
            wire_bytes: config.body_wire_bytes.max(config.document_wire_bytes),
            more_time: request.timeout.map_or(more_time, |_| Duration::ZERO),
        }
    }
}

/// How much of a body is wanted, judged by its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Appetite {
    /// More than this is refused, or cut off where refusing is not for this status.
    pub(crate) bytes: u64,
    /// What becomes of a longer one.
    pub(crate) beyond: Beyond,
}

impl Appetite {
    /// Asks the request's own limits, which are for documents (2xx), and the safety limit.
    pub(crate) fn of(
        request: &Request,
        status: u16,
        media_type: Option<&MediaType>,
        length: Option<u64>,
        wire_limit: u64,
    ) -> Result<Self, Fault> {
        let max_size = request.max_size.unwrap_or(u64::MAX);
        let is_document = (200..300).contains(&status);
        if is_document
            && request
                .types
                .as_ref()
                .is_some_and(|gate| !gate.accepts(media_type))
        {
            let name = media_type.map_or(String::new(), ToString::to_string);
            return Err(Fault::new(Outcome::TYPE_NOT_ACCEPTED, name));
        }
        // Whoever reads it finds out what it is, and refuses it then.
        let is_document = is_document && !media_type.is_some_and(may_be_list);
        if is_document && length.is_some_and(|length| length > max_size) {
            return Err(Outcome::SIZE_EXCEEDED.into());
        }
        let beyond = if is_document && max_size <= wire_limit {
            request.beyond
        } else {
            Beyond::Truncated
        };
        Ok(Self {
            bytes: max_size.min(wire_limit),
            beyond,
        })
    }
}
