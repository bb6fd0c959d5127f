//! HTTP/2, by agreement under TLS, one stream at a time.
//!
//! Frames, flow control and header compression are the `h2` crate's; what is ours is the price
//! limit (the [`meter`] counts frames that carry no data) and the head, written out as HTTP/1.1
//! would have it, so that archive and readers see one form:
//!
//! ```text
//! HTTP/1.1 200 OK            the reason phrase is the usual one; none was sent
//! content-type: text/html    names in small letters, as HTTP/2 has them
//! ```

mod head;
mod meter;
mod session;

pub(crate) use session::{GOAWAY, Session};
