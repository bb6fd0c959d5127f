//! A page as it is kept in the index: what results show, and enough to index it again.
//!
//! Stored as one value in the field `page`: see `record`.

use serde::{Deserialize, Serialize};
use teia_base::{CanonicalUrl, CaptureId, Document, Timestamp};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::config::IndexConfig;
use crate::entry;
use crate::language::{UNDETERMINED, detect};
use crate::margins::Margins;
use crate::record::Cut;
use crate::similar::{Signature, signature};

/// What the caller knows of a document beside its content.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Texts of the links that lead to it, from other pages.
    pub anchors: Vec<String>,
    /// Its rank as a prior, from 0 to 1 (a percentile or a scaled logarithm; not raw PageRank).
    pub rank: f32,
    /// Bytes of the body as received.
    pub size: u64,
    /// It is to stay out of the index, for a reason that the document itself does not tell.
    pub noindex: bool,
    /// The address by which it wants to be known (`rel=canonical`).
    pub canonical: Option<CanonicalUrl>,
}

/// One page, understood and kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Page {
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) headings: Vec<String>,
    /// As results tell it.
    pub(crate) language: String,
    /// By which its words are stemmed: also a guess helps there.
    pub(crate) stemmed_as: String,
    pub(crate) media_type: String,
    pub(crate) fetched_micros: i64,
    pub(crate) capture: Option<CaptureId>,
    pub(crate) size: u64,
    /// Stored with a mere address only: that of an indexed page is a document of its own.
    pub(crate) repute: Repute,
    pub(crate) digest: u128,
    pub(crate) simhash: u64,
    /// The moment after which its author wants it found no more.
    pub(crate) until_micros: Option<i64>,
    /// Characters of it that may be shown.
    pub(crate) max_snippet: Option<u32>,
    /// What stands beside the main text.
    pub(crate) margins: Margins,
    /// Hash of the address of its own site that it calls the right one, where that is another: see `entry::tie`.
    #[serde(skip)]
    pub(crate) canonical: Option<u64>,
    /// Stored beside the others, in pieces.
    #[serde(skip)]
    pub(crate) text: String,
    /// Where all pieces but the first begin.
    #[serde(skip)]
    pub(crate) cuts: Vec<Cut>,
}

/// What others say of a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repute {
    /// Texts of links to it.
    pub(crate) anchors: Vec<String>,
    /// From 0 to 1.
    pub(crate) rank: f32,
}

impl Repute {
    pub(crate) fn new(anchors: &[String], rank: f32, config: &IndexConfig) -> Self {
        Self {
            anchors: lines(anchors, config.max_anchors),
            rank: if rank.is_finite() {
                rank.clamp(0.0, 1.0)
            } else {
                0.0
            },
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.anchors.is_empty() && self.rank == 0.0
    }

    /// The same for the same repute.
    pub(crate) fn mark(&self) -> u64 {
        let mut mark = Xxh3::new();
        mark.update(&self.rank.to_le_bytes());
        for anchor in &self.anchors {
            mark.update(&anchor.len().to_le_bytes());
            mark.update(anchor.as_bytes());
        }
        mark.digest()
    }
}

/// Titles, headings and anchors beyond this are cut off.
const MAX_LINE_BYTES: usize = 1 << 10;
const MAX_HEADINGS: usize = 256;
/// A declared language is believed against a detection that is less certain than this.
const CERTAIN: f32 = 0.6;
/// A language that is less certain than this is not told.
const DOUBTFUL: f32 = 0.25;

impl Page {
    pub(crate) fn new(document: &Document, extras: &Extras, config: &IndexConfig) -> Self {
        let text = cut(&document.text, config.max_text_bytes).to_owned();
        let Signature {
            digest,
            simhash,
            cuts,
            margins,
        } = signature(&text, &document.margins);
        let media_type = document.media_type.as_ref();
        let (language, confidence) = settled(
            document.language.as_deref(),
            &document.title,
            &document.description,
            &text,
        );
        Self {
            url: document.url.as_str().to_owned(),
            title: cut(&document.title, MAX_LINE_BYTES).to_owned(),
            description: cut(&document.description, 4 * MAX_LINE_BYTES).to_owned(),
            headings: lines(&document.headings, MAX_HEADINGS),
            language: if confidence < DOUBTFUL {
                UNDETERMINED.to_owned()
            } else {
                language.clone()
            },
            stemmed_as: language,
            media_type: media_type.map_or_else(String::new, |known| known.essence().to_owned()),
            fetched_micros: document.fetched.as_micros(),
            capture: document.capture,
            size: extras.size,
            repute: Repute::new(&extras.anchors, extras.rank, config),
            digest,
            simhash,
            until_micros: document.robots.unavailable_after.map(Timestamp::as_micros),
            max_snippet: document.robots.max_snippet,
            margins,
            canonical: extras
                .canonical
                .as_ref()
                .and_then(|named| canonical(&document.url, named)),
            text,
            cuts,
        }
    }

    pub(crate) fn fetched(&self) -> Timestamp {
        Timestamp::from_micros(self.fetched_micros)
    }

    /// The digest as the index keeps it. A page without text is like no other.
    pub(crate) fn short_digest(&self) -> u64 {
        if self.digest == 0 {
            return xxh3_64(self.url.as_bytes());
        }
        u64::try_from(self.digest >> 64).unwrap_or_default()
    }

    pub(crate) fn canonical(&self) -> CanonicalUrl {
        CanonicalUrl::from_stored(&self.url)
    }
}

/// The address that a page calls the right one. What it says of other sites is not believed: their pages
/// are not its own.
fn canonical(url: &CanonicalUrl, named: &CanonicalUrl) -> Option<u64> {
    let is_other = named != url && named.site() == url.site();
    is_other.then(|| entry::tie(named.as_str()))
}

/// The language of a page: by detection where there is enough text, by what it declares where that
/// agrees or the text says little. [`UNDETERMINED`] where nothing tells.
pub fn settled_language(
    declared: Option<&str>,
    title: &str,
    description: &str,
    text: &str,
) -> String {
    settled(declared, title, description, text).0
}

/// The same, and how certain it is.
fn settled(declared: Option<&str>, title: &str, description: &str, text: &str) -> (String, f32) {
    let declared = declared.map(primary).filter(|code| code.len() == 2);
    let found = if text.len() < 40 {
        detect(&format!("{title} {description} {text}"))
    } else {
        detect(text)
    };
    match declared {
        Some(declared) if found.confidence < CERTAIN || found.language == UNDETERMINED => {
            (declared, 1.0)
        }
        _ => (found.language.to_owned(), found.confidence),
    }
}

/// `pt` of `pt-BR`.
pub(crate) fn primary(tag: &str) -> String {
    let code: String = tag
        .trim()
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    code.to_ascii_lowercase()
}

fn lines(texts: &[String], most: usize) -> Vec<String> {
    texts
        .iter()
        .take(most)
        .map(|text| cut(text, MAX_LINE_BYTES).to_owned())
        .collect()
}

/// The text up to a character border at or before `bytes`.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
pub(crate) mod tests {
    use teia_base::{CanonicalUrl, Directives, Document, Flags, MediaType, Outcome, Timestamp};

    /// A page with a text and nothing else.
    pub(crate) fn document(url: &str, text: &str) -> Document {
        Document {
            url: CanonicalUrl::parse(url).unwrap(),
            requested: None,
            outcome: Outcome::http(200),
            flags: Flags::default(),
            fetched: Timestamp::default(),
            capture: None,
            media_type: MediaType::parse("text/html"),
            depth: 0,
            title: String::new(),
            description: String::new(),
            headings: Vec::new(),
            text: text.to_owned(),
            margins: Vec::new(),
            language: Some("pt".to_owned()),
            links: Vec::new(),
            robots: Directives::default(),
        }
    }
}
