//! The hostile city: a server program with a corner for every way in which the web misbehaves.
//!
//! ```text
//! corner (ID, name, trick) ──open──> door: an address on loopback that plays the trick at `/`,
//!                                    and serves honest pages at `/next` and elsewhere
//! ```
//!
//! An ID is a row of the catalogue of hostile behaviour; its corners are the variants of that
//! row. Every door has a port of its own, so that corners know nothing of each other. The
//! program `city` opens all of them and lists their addresses; tests open the ones they need.

mod certificates;
mod corner;
mod corners;
mod dns;
mod door;
mod h2;
mod step;
mod street;
mod tls;
mod trap_web;

pub use certificates::{Authority, Blemish};
pub use corner::{Corner, Site, Trick};
pub use corners::{all, corner, corners_of};
pub use dns::{Data, NameServer, Question, Record, Reply, Zone};
pub use door::Door;
pub use h2::H2Trick;
pub use step::Step;
pub use tls::TlsTrick;
pub use trap_web::{Kind, TRAPS, TrapWeb};
