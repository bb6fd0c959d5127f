//! One capture as it lies in the archive.

use std::io::Read;
use std::net::IpAddr;

use teia_base::{PayloadReader, Response, Timestamp};

use crate::{CdxEntry, RecordHeader};

/// A capture read back.
#[derive(Clone, Debug)]
pub struct StoredCapture {
    /// Its line in the index.
    pub entry: CdxEntry,
    /// The named fields of its own record.
    pub header: RecordHeader,
    /// Head and body as received, ready for an extractor. Of a revisit, the body is the original's;
    /// what is not HTTP has status 200 and an empty head.
    pub response: Response,
    /// The capture that holds the body, for a revisit.
    pub original: Option<CdxEntry>,
}

impl StoredCapture {
    /// When it was fetched, to the microsecond where the record has it.
    pub fn fetched(&self) -> Option<Timestamp> {
        self.header
            .get("WARC-Date")
            .and_then(Timestamp::parse)
            .or_else(|| self.entry.fetched())
    }

    /// The address that answered.
    pub fn remote(&self) -> Option<IpAddr> {
        self.header
            .get("WARC-IP-Address")
            .and_then(|text| text.parse().ok())
    }

    /// Why the body is not whole, if it is not: `length`, `time`, `disconnect`, `unspecified`.
    /// (A revisit says `length` of its own record, whose body it leaves out.)
    pub fn truncated(&self) -> Option<&str> {
        self.header
            .get("WARC-Truncated")
            .filter(|_| self.original.is_none())
    }

    /// The body as received, chunk framing included.
    pub fn raw(&self) -> impl Read + '_ {
        self.response.body.reader(0, self.response.body.len())
    }

    /// The payload: chunk framing removed, content coding kept.
    pub fn payload(&self) -> PayloadReader {
        self.response.payload_reader()
    }
}
