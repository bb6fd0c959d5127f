//! TLS: who vouches for a host, what is offered to it, and what its refusals mean.

mod fault;
mod secure;
mod verify;

pub(crate) use fault::handshake as handshake_fault;
pub(crate) use secure::{Offer, Tls};
