//! A corner: one way to misbehave.

use crate::h2::H2Trick;
use crate::step::Step;
use crate::tls::TlsTrick;

/// One variant of one row of the catalogue.
#[derive(Clone, Debug)]
pub struct Corner {
    /// The row: `HTTP-01`.
    pub id: &'static str,
    /// The variant: `ssh`.
    pub name: &'static str,
    /// What is done to whoever comes.
    pub trick: Trick,
}

/// What a corner does.
#[derive(Clone, Debug)]
pub enum Trick {
    /// Plain HTTP: the n-th request for `/` gets the n-th answer, later ones the last.
    Http(Vec<Vec<Step>>),
    /// The same, with this answer for `/robots.txt`.
    Robots(Vec<u8>, Vec<Vec<Step>>),
    /// Something about TLS, on so many connections; after them the corner is honest.
    Tls(TlsTrick, usize),
    /// HTTP/2 frames by hand, on so many connections; after them the corner is honest.
    H2(H2Trick, usize),
}

impl Corner {
    pub(crate) fn http(id: &'static str, name: &'static str, answer: Vec<Step>) -> Self {
        Self {
            id,
            name,
            trick: Trick::Http(vec![answer]),
        }
    }

    /// A corner that says these bytes.
    pub(crate) fn says(id: &'static str, name: &'static str, bytes: impl AsRef<[u8]>) -> Self {
        Self::http(id, name, vec![Step::say(bytes)])
    }
}
