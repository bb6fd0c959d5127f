//! HTTP/1: a request head out, an answer in, byte for byte.
//!
//! ```text
//! write head ──> read head ──> plan the body ──> read body ──> Answer
//!                 (1xx: again)   (refuse by type, size)   (memory, then file)
//! ```
//!
//! What is kept is what came: chunk framing and content coding stay on, and `ChunkReader` only
//! says where the payload lies. A connection serves again only if its last answer ended exactly
//! where it said it would.

mod exchange;
mod framing;
mod head;

pub(crate) use exchange::{Setting, exchange};
pub(crate) use head::parse_whole_head;
