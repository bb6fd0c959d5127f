//! Extraction: bytes in, document and links out.
//!
//! ```text
//! Source ──> sniff ──> charset ──> Html | Css | Sitemap | Feed | PlainText ──> Extracted
//!  (body, URL,  (what is    (to UTF-8)     (one per media type)        (text, links,
//!   headers)     it really)                                             robots, notes)
//! ```
//!
//! Odd content is no error: an extractor yields what it can read and says in
//! [`Flags`](teia_base::Flags) what it gave up on. Every loop over a body is linear in its
//! length, every list has a bound in [`Limits`], and [`Extractors::extract`] never panics.
//!
//! ```
//! use teia_extract::{Extractors, Source};
//!
//! let url = "https://example.org/birds/".parse()?;
//! let page = Extractors::default().extract(&Source::new(&url, b"<a href=owl.html>Owls</a>"));
//! assert_eq!(page.links[0].url, "https://example.org/birds/owl.html");
//! assert_eq!(page.text, "Owls");
//! # Ok::<(), url::ParseError>(())
//! ```

mod budget;
mod charset;
mod css;
pub mod digest;
mod extracted;
mod extractor;
mod extractors;
mod feed;
mod feed_items;
mod fold;
mod gunzip;
mod html;
mod json_feed;
mod letters;
mod limits;
mod link_header;
mod link_rel;
mod links;
mod marks;
mod markup;
mod plain_text;
mod resolve;
mod sitemap;
mod sniff;
mod source;
pub mod spaceless;
mod srcset;
mod votes;
mod xml;

pub use css::Css;
pub use extracted::Extracted;
pub use extractor::Extractor;
pub use extractors::Extractors;
pub use feed::Feed;
pub use html::Html;
pub use limits::Limits;
pub use plain_text::PlainText;
pub use sitemap::Sitemap;
pub use source::Source;
