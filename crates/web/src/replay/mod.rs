//! An archived page, made harmless: its links and parts lead to the archive, its scripts nowhere.
//!
//! ```text
//! capture ──> decoded ──> kind (by its bytes) ──> Html ──> markup.rs ─┐
//!                                                 Css  ──> style.rs ──┼──> Rendered
//!                                                 image, font, media ─┘   (or an attachment)
//! ```
//!
//! The sandbox of the browser is what protects; rewriting only makes the page look right. What a
//! rewriter misses is blocked by the policy that goes with every copy.

mod content;
mod kind;
mod markup;
mod style;

pub(crate) use content::Content;
pub(crate) use kind::Kind;

use std::io::Read;

use teia_archive::StoredCapture;
use teia_fetch::{DecodeLimits, Decoded};
use url::Url;

use crate::address::archive;

/// What part of a page a copy is asked for as, as pywb marks it in the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A page of its own, with a banner.
    Page,
    /// A page inside our banner or another page.
    Frame,
    /// A picture, film or sound.
    Image,
    /// A style sheet.
    Style,
    /// Anything else that a page loads.
    Part,
    /// The bytes as they were, to be saved.
    Raw,
}

impl Role {
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Page => "",
            Self::Frame => "mp_",
            Self::Image => "im_",
            Self::Style => "cs_",
            Self::Part => "oe_",
            Self::Raw => "id_",
        }
    }

    /// Reads a mark, and the key that may follow it.
    pub(crate) fn parse(mark: &str) -> Option<Self> {
        let end = mark.find('_').map_or(mark.len(), |end| end + 1);
        Some(match &mark[..end] {
            "" => Self::Page,
            "mp_" | "if_" | "fr_" => Self::Frame,
            "im_" => Self::Image,
            "cs_" => Self::Style,
            "oe_" | "js_" => Self::Part,
            "id_" => Self::Raw,
            _ => return None,
        })
    }
}

/// A copy, ready to be sent.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) kind: Kind,
    pub(crate) media_type: String,
    pub(crate) body: Content,
    /// It was longer than may be unpacked.
    pub(crate) is_cut: bool,
}

/// Makes a copy harmless. `banner` is put before the page where it is asked for as a page.
pub(crate) fn render(
    capture: &StoredCapture,
    limits: &DecodeLimits,
    (role, key): (Role, &str),
    banner: Option<&str>,
) -> Rendered {
    if let Some(rendered) = as_it_lies(capture, limits, role) {
        return rendered;
    }
    let Decoded {
        bytes, truncated, ..
    } = teia_fetch::decode(&capture.response, limits);
    let declared = capture.response.media_type();
    let essence = declared.as_ref().map_or("", |known| known.essence());
    let charset = declared.as_ref().and_then(|known| known.charset());
    let kind = if role == Role::Raw {
        Kind::Attachment
    } else {
        Kind::of(essence, &bytes, role)
    };
    let rewriter = Rewriter {
        base: Url::parse(&capture.entry.url).ok(),
        time: capture.entry.timestamp.clone(),
        key: key.to_owned(),
    };
    let (media_type, body) = match kind {
        Kind::Html => {
            let text = markup::decoded(&bytes, charset);
            let page = markup::rewrite(&text, &rewriter, banner);
            ("text/html; charset=utf-8".to_owned(), page.into())
        }
        Kind::Css => {
            let text = markup::decoded(&bytes, charset);
            let text = style::rewrite(&text, &rewriter);
            ("text/css; charset=utf-8".to_owned(), text.into())
        }
        Kind::Text => {
            let text = markup::decoded(&bytes, charset);
            ("text/plain; charset=utf-8".to_owned(), text.into())
        }
        Kind::Media(media_type) => (media_type.to_owned(), bytes),
        Kind::Svg => ("image/svg+xml".to_owned(), bytes),
        Kind::Attachment => ("application/octet-stream".to_owned(), bytes),
    };
    Rendered {
        kind,
        media_type,
        body: Content::new(body),
        is_cut: truncated,
    }
}

/// A large copy that is sent as it was received, straight from its file.
fn as_it_lies(capture: &StoredCapture, limits: &DecodeLimits, role: Role) -> Option<Rendered> {
    let response = &capture.response;
    if response.body.as_memory().is_some() {
        return None;
    }
    let is_plain = response
        .head
        .text("content-encoding")
        .is_none_or(|coding| coding.trim().is_empty() || coding.eq_ignore_ascii_case("identity"));
    let mut start = Vec::new();
    let reader = response.payload_reader();
    reader.take(SEEN_BYTES).read_to_end(&mut start).ok()?;
    // Compressed without saying so: unpacked, as the crawl did.
    if !is_plain || start.starts_with(&[0x1f, 0x8b]) {
        return None;
    }
    let declared = response.media_type();
    let essence = declared.as_ref().map_or("", |known| known.essence());
    let kind = match role {
        Role::Raw => Kind::Attachment,
        _ => Kind::of(essence, &start, role),
    };
    let media_type = match kind {
        Kind::Html | Kind::Css | Kind::Text => return None,
        Kind::Media(media_type) => media_type,
        Kind::Svg => "image/svg+xml",
        Kind::Attachment => "application/octet-stream",
    };
    let reader = response.payload_reader();
    let whole = reader.payload();
    let len = whole.min(limits.document_bytes);
    Some(Rendered {
        kind,
        media_type: media_type.to_owned(),
        is_cut: len < whole,
        body: Content::File(reader, len),
    })
}

/// Bytes by which a kind is known.
const SEEN_BYTES: u64 = 512;

/// Turns the addresses on a page into addresses of copies from the same time.
#[derive(Clone, Debug)]
pub(crate) struct Rewriter {
    /// What relative addresses stand for; a `base` element changes it.
    pub(crate) base: Option<Url>,
    pub(crate) time: String,
    /// What shows that a part is asked for by a copy, and not by a page of somebody else.
    pub(crate) key: String,
}

impl Rewriter {
    /// The copy of what an address names; none for what is not on the web, such as `javascript:`.
    pub(crate) fn to_copy(&self, address: &str, role: Role) -> Option<String> {
        let trimmed = address.trim_matches(|c: char| c.is_ascii_whitespace() || c.is_control());
        let url = match &self.base {
            Some(base) => base.join(trimmed).ok()?,
            None => Url::parse(trimmed).ok()?,
        };
        if !matches!(url.scheme(), "http" | "https" | "ftp") {
            return None;
        }
        let fragment = url
            .fragment()
            .map(|text| format!("#{text}"))
            .unwrap_or_default();
        let mut whole = url;
        whole.set_fragment(None);
        let key = if role == Role::Page { "" } else { &self.key };
        let time = format!("{}{}{key}", self.time, role.mark());
        Some(archive(&time, whole.as_str()) + &fragment)
    }

    /// Pictures that are written into the page itself stay; nothing else of that kind does.
    pub(crate) fn to_part(&self, address: &str, role: Role) -> String {
        let start = address.trim_start();
        let is_inline = start
            .get(..11)
            .is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
        if is_inline {
            return address.to_owned();
        }
        self.to_copy(address, role).unwrap_or_default()
    }
}
