//! The demo's own little web: six hosts on loopback, about three hundred pages, and the odd things every crawler meets.
//!
//! ```text
//! text/*.txt ──> pages/* ──> Atlas (host + target ──> Answer) ──> server ──> 127.0.0.1:PORT
//!   (prose)     (one file       (everything, built once)          (its own thread)
//!                per host)
//! ```
//!
//! Everything is built when [`DemoWeb::start`] is called and never changes: two demo webs are equal to the byte.
//! Places, people and news are invented, and all prose was written for this program.
//! What is odd on purpose is listed in `oddities.rs`, with what each address answers.

mod answer;
mod atlas;
mod drawing;
mod entry;
mod html;
mod look;
mod oddities;
mod pages;
mod pdf;
mod picture;
mod png;
mod portrait;
mod server;
mod web;
mod xml;

pub(crate) use web::DemoWeb;

#[cfg(test)]
mod tests;
