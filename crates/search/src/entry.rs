//! A page as documents of the index: the indexed one with its repute beside it, or a mere address of it.
//!
//! What a page says comes when it is fetched, what others say of it comes later and changes more often. So
//! the two are documents of their own, joined when a query is answered (`search::reputes`): new ranks and
//! anchor texts do not index a page again.

use tantivy::schema::Field;
use tantivy::{Document, TantivyDocument};
use teia_base::site_of;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::SearchError;
use crate::language::Stemmer;
use crate::page::{Page, Repute};
use crate::record;
use crate::schema::{ANCHORS, BODY, DESCRIPTION, Fields, HEADINGS, TITLE, URL_WORDS};

/// Folders below a host that `site:` can name.
const MAX_FOLDERS: usize = 3;

/// A document of the index. Its words and keys are made into lists by the `inverter`; the index library sees
/// only what it keeps for each document.
pub(crate) struct Entry {
    kept: TantivyDocument,
    /// By whose language its words are stemmed.
    pub(crate) stemmer: Stemmer,
    /// Texts, with the numbers of their fields.
    pub(crate) texts: Vec<(usize, String)>,
    /// Terms that are no words, one after the other.
    keys: Vec<u8>,
    /// Of which field each key is, and where it ends.
    ends: Vec<(Field, usize)>,
}

impl Entry {
    fn new(language: &str) -> Self {
        Self {
            kept: TantivyDocument::default(),
            stemmer: Stemmer::of(language),
            texts: Vec::new(),
            keys: Vec::new(),
            ends: Vec::new(),
        }
    }

    fn add_words(&mut self, field: usize, text: String) {
        if !text.is_empty() {
            self.texts.push((field, text));
        }
    }

    fn add_key(&mut self, field: Field, key: &[u8]) {
        self.keys.extend(key);
        self.ends.push((field, self.keys.len()));
    }

    /// A number that is looked up.
    fn add_number(&mut self, field: Field, number: u64) {
        self.add_key(field, &number.to_be_bytes());
        self.kept.add_u64(field, number);
    }

    /// Its terms that are no words.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (Field, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(field, end)| {
            let key = &self.keys[start..end];
            start = end;
            (field, key)
        })
    }
}

impl Document for Entry {
    type Value<'a> = <TantivyDocument as Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.kept.iter_fields_and_values()
    }
}

/// The document of a page that is found by its words.
pub(crate) fn indexed(fields: &Fields, page: Page) -> Result<Entry, SearchError> {
    let mut entry = Entry::new(&page.stemmed_as);
    let url = page.canonical();
    let host = url.host_str();
    for place in places(host, url.path()) {
        entry.add_key(fields.within, place.as_bytes());
    }
    for kind in kinds(&page.media_type) {
        entry.add_key(fields.kinds, kind.as_bytes());
    }
    entry.add_key(fields.url, page.url.as_bytes());
    entry.add_key(fields.language, page.language.as_bytes());
    entry.add_number(fields.digest, page.short_digest());
    let kept = &mut entry.kept;
    kept.add_text(fields.host, host);
    kept.add_text(fields.site, site_of(host));
    kept.add_text(fields.language, &page.language);
    kept.add_text(fields.media_type, &page.media_type);
    kept.add_i64(fields.fetched, page.fetched_micros);
    kept.add_u64(fields.size, page.size);
    kept.add_u64(fields.simhash, page.simhash);
    kept.add_u64(fields.tie, tie(&page.url));
    if let Some(until) = page.until_micros {
        kept.add_i64(fields.until, until);
    }
    kept.add_bytes(fields.page, &record::pack(&page)?);
    entry.add_words(URL_WORDS, spelt_out(&page.url));
    entry.add_words(TITLE, page.title);
    entry.add_words(BODY, page.text);
    entry.add_words(DESCRIPTION, page.description);
    for text in page.headings {
        entry.add_words(HEADINGS, text);
    }
    Ok(entry)
}

/// The hash by which a page and its repute find each other. Two URLs with the same one are less likely than
/// a disk that lies.
pub(crate) fn tie(url: &str) -> u64 {
    xxh3_64(url.as_bytes())
}

/// The document of what others say of a page; none where they say nothing.
pub(crate) fn repute(fields: &Fields, tie: u64, language: &str, repute: &Repute) -> Option<Entry> {
    if repute.is_empty() {
        return None;
    }
    let mut entry = Entry::new(language);
    for text in &repute.anchors {
        entry.add_words(ANCHORS, text.clone());
    }
    entry.add_number(fields.of, tie);
    entry.kept.add_f64(fields.rank, f64::from(repute.rank));
    entry.kept.add_u64(fields.mark, repute.mark());
    Some(entry)
}

/// The document of another address with the same text: kept, listed, found by nothing else.
pub(crate) fn alias(fields: &Fields, page: &Page) -> Result<Entry, SearchError> {
    let mut entry = Entry::new(&page.stemmed_as);
    entry.add_key(fields.url, page.url.as_bytes());
    entry.add_number(fields.alias_of, page.short_digest());
    entry.kept.add_bytes(fields.page, &record::pack(page)?);
    Ok(entry)
}

/// Host, its parents, folders, and the page itself: `a.b.pt`, `b.pt`, `pt`, `a.b.pt/docs`, `a.b.pt/docs/page`.
fn places<'a>(host: &'a str, path: &'a str) -> impl Iterator<Item = String> + 'a {
    let parents = host
        .match_indices('.')
        .map(|(at, _)| host[at + 1..].to_owned())
        .filter(|parent| !parent.is_empty());
    let folders = path
        .match_indices('/')
        .skip(1)
        .take(MAX_FOLDERS)
        .map(move |(at, _)| format!("{host}{}", &path[..at]));
    let page = (!path.ends_with('/')).then(|| format!("{host}{path}"));
    std::iter::once(host.to_owned())
        .chain(parents)
        .chain(folders)
        .chain(page)
}

/// `application/pdf`, `application`, `pdf`.
fn kinds(media_type: &str) -> impl Iterator<Item = &str> {
    std::iter::once(media_type)
        .chain(media_type.split('/'))
        .filter(|kind| !kind.is_empty())
}

/// The URL as text: without its scheme, percent-encoding undone where it gives readable text.
pub(crate) fn spelt_out(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut at = 0;
    let source = rest.as_bytes();
    while let Some(&byte) = source.get(at) {
        let decoded = (byte == b'%')
            .then(|| rest.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(byte));
        at += if decoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{places, spelt_out};

    #[test]
    fn a_page_lies_within_its_host_its_parents_and_its_folders() {
        let found: Vec<_> = places("www.tcu.gov.br", "/a/b/c/d/e.html").collect();
        let expected = [
            "www.tcu.gov.br",
            "tcu.gov.br",
            "gov.br",
            "br",
            "www.tcu.gov.br/a",
            "www.tcu.gov.br/a/b",
            "www.tcu.gov.br/a/b/c",
            "www.tcu.gov.br/a/b/c/d/e.html",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_words_of_a_url_are_decoded() {
        assert_eq!(
            spelt_out("https://a.pt/S%C3%A3o-Paulo?x=%"),
            "a.pt/São-Paulo?x=%"
        );
        assert_eq!(spelt_out("https://a.pt/%FF"), "a.pt/%FF");
    }
}
