//! What a text was decoded from, and who said so.

use serde::{Deserialize, Serialize};

/// The charset of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charset {
    /// Its WHATWG name.
    pub name: String,
    /// Who said so.
    pub source: CharsetSource,
}

/// Who says what the charset of a document is: the first that speaks is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CharsetSource {
    /// A byte order mark.
    Bom,
    /// The label of the media type in the head of the answer.
    Http,
    /// The document itself: a `meta` element, an XML declaration, `@charset`.
    Meta,
    /// Its bytes.
    #[default]
    Detected,
}

impl CharsetSource {
    /// A word that stays: `bom`, `http`, `meta`, `detected`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bom => "bom",
            Self::Http => "http",
            Self::Meta => "meta",
            Self::Detected => "detected",
        }
    }
}
