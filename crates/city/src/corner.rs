//! A corner: one way to misbehave.

use std::fmt;
use std::sync::Arc;

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
    /// A whole site, with an answer for each address.
    Site(Site),
    /// Something about TLS, on so many connections; after them the corner is honest.
    Tls(TlsTrick, usize),
    /// HTTP/2 frames by hand, on so many connections; after them the corner is honest.
    H2(H2Trick, usize),
}

/// What a site answers to a path with its query; where it has no answer, honest pages are served.
#[derive(Clone)]
pub struct Site(Arc<Answer>);

/// The answer to a path with its query.
type Answer = dyn Fn(&str) -> Option<Vec<Step>> + Send + Sync;

impl Site {
    /// A site that answers so.
    pub fn new(answer: impl Fn(&str) -> Option<Vec<Step>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    pub(crate) fn answer(&self, path: &str) -> Option<Vec<Step>> {
        (self.0)(path)
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Site")
    }
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
