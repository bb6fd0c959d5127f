//! Every case of the catalogue that can be shown with a server, by its ID.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod addresses;
mod arc;
mod body;
mod catalogue;
mod dns;
mod env;
mod h2;
mod html;
mod http;
mod limits;
mod map;
mod redir;
mod rob;
mod searching;
mod support;
mod times;
mod tls;
mod together;
mod trap;
mod trap_hosts;
mod url;
