//! Undoes content coding, within bounds; blocking code for a parse worker.
//!
//! ```text
//! payload ──> layer (last applied, first undone) ──> layer ──> … ──> bytes
//! ```
//!
//! What was decoded before a fault is kept: half a page is better than none. The bounds hold
//! inside each layer's output step, so a bomb is stopped before it has gone off.

mod layers;
mod undo;

pub use undo::{DecodeLimits, Decoded, decode};
