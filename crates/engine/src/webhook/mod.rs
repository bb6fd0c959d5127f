//! Webhooks: somebody elsewhere is told when a run begins, rests, ends or fails, and when a trap is found.
//!
//! ```text
//! run ──> Herald ──(queue of 64)──> Courier, a thread of its own ──> POST to each receiver
//!                                       │  ^
//!                                       v  │ what an earlier process did not deliver
//!                                  Book: NAME/webhook.json
//! ```
//!
//! The run never waits: a full queue drops with a warning. A message is in the book before it is sent and until it
//! is taken or given up, so it arrives at least once, with the same id each time, also over a restart; only what
//! happened in the instant before a kill may be missing.

mod book;
mod config;
mod courier;
mod herald;
mod message;

pub use book::{Delivery, DeliveryState, deliveries, deliveries_damage};
pub use config::WebhookConfig;

pub(crate) use book::Book;
pub(crate) use herald::Herald;
