//! Undoes content coding, within bounds; blocking code for a parse worker.
//!
//! ```text
//! payload ──> layer (last applied, first undone) ──> layer ──> … ──> bytes
//! ```
//!
//! What was decoded before a fault is kept: half a page is better than none. The bounds hold
//! inside each layer's output step, so a bomb is stopped before it has gone off. What nobody reads is undone in a
//! stream (`measure`), and only its beginning is held.

mod layers;
mod measure;
mod undo;

pub use measure::{Extent, Measured, measure};
pub use undo::{DecodeLimits, Decoded, decode};
