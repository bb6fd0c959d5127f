//! What the demo web sends for one address.

/// HTML in UTF-8, the type of most answers.
pub(super) const HTML: &str = "text/html; charset=utf-8";

/// One prepared answer: status, headers, body, and how it is delivered.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// HTTP status code.
    pub(super) status: u16,
    /// Value of `Content-Type`.
    pub(super) media_type: &'static str,
    /// Headers beside those that the server writes itself.
    pub(super) headers: Vec<(&'static str, String)>,
    /// The body, before any content coding.
    pub(super) body: Vec<u8>,
    /// How the body reaches the client.
    pub(super) delivery: Delivery,
}

/// How a body is put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// With its length, all of it.
    Whole,
    /// In chunks, without a length.
    Chunked,
    /// With its length, but the connection closes halfway.
    CutShort,
    /// Under a status line that is no HTTP.
    Garbled,
}

impl Answer {
    /// A 200 of the given type.
    pub(super) fn ok(media_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            media_type,
            headers: Vec::new(),
            body: body.into(),
            delivery: Delivery::Whole,
        }
    }

    /// A page in UTF-8.
    pub(super) fn page(html: String) -> Self {
        Self::ok(HTML, html)
    }

    /// A redirect with a short body for those who do not follow.
    pub(super) fn redirect(status: u16, location: &str) -> Self {
        let body = format!(
            "<!doctype html><html lang=\"en\"><head><title>Moved</title></head>\
             <body><p>Moved to <a href=\"{location}\">{location}</a>.</p></body></html>"
        );
        Self::page(body)
            .with_status(status)
            .with_header("Location", location)
    }

    /// The same answer with another status.
    pub(super) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same answer with one more header.
    pub(super) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The same answer, delivered otherwise.
    pub(super) fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Whether the body is HTML.
    #[cfg(test)]
    pub(super) fn is_html(&self) -> bool {
        self.media_type.starts_with("text/html")
    }

    /// Whether the body is worth compressing.
    pub(super) fn is_text(&self) -> bool {
        self.media_type.starts_with("text/")
            || self.media_type.contains("xml")
            || self.media_type.contains("javascript")
    }

    /// A strong entity tag of the body (FNV-1a, 64 bits).
    pub(super) fn etag(&self) -> String {
        format!("\"{:016x}\"", hash(&self.body))
    }
}

/// FNV-1a, 64 bits: the one source of variety here, so that every start gives the same web.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |state, &byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A number below `bound`, the same for the same text; 0 when the bound is 0.
pub(super) fn choose(text: &str, bound: usize) -> usize {
    // The high half of the product: the low bits of FNV-1a vary least.
    let spread = (hash(text.as_bytes()) >> 33) as usize;
    spread.checked_rem(bound).unwrap_or(0)
}
