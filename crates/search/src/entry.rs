//! A page as documents of the index: the indexed one with its repute beside it, or a mere address of it.
//!
//! What a page says comes when it is fetched, what others say of it comes later and changes more often. So
//! the two are documents of their own, joined when a query is answered (`search::reputes`): new ranks and
//! anchor texts do not index a page again.

use tantivy::TantivyDocument;
use teia_base::site_of;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::SearchError;
use crate::page::{Page, Repute};
use crate::record;
use crate::schema::{ANCHORS, Fields};
use crate::text::marked;

/// Folders below a host that `site:` can name.
const MAX_FOLDERS: usize = 3;

/// The document of a page that is found by its words.
pub(crate) fn indexed(fields: &Fields, page: &Page) -> Result<TantivyDocument, SearchError> {
    let mut entry = TantivyDocument::default();
    let [title, headings, body, _, description, url_words] = fields.texts;
    let stemmed_as = page.stemmed_as.as_str();
    let mut add = |field, text: &str| {
        if !text.is_empty() {
            entry.add_text(field, marked(stemmed_as, text));
        }
    };
    add(title, &page.title);
    add(body, &page.text);
    add(description, &page.description);
    for text in &page.headings {
        add(headings, text);
    }
    add(url_words, &spelt_out(&page.url));

    let url = page.canonical();
    let host = url.host_str();
    for place in places(host, url.path()) {
        entry.add_text(fields.within, place);
    }
    for kind in kinds(&page.media_type) {
        entry.add_text(fields.kinds, kind);
    }
    entry.add_text(fields.url, &page.url);
    entry.add_text(fields.host, host);
    entry.add_text(fields.site, site_of(host));
    entry.add_text(fields.language, &page.language);
    entry.add_text(fields.media_type, &page.media_type);
    entry.add_u64(fields.digest, page.short_digest());
    entry.add_i64(fields.fetched, page.fetched_micros);
    entry.add_u64(fields.size, page.size);
    entry.add_u64(fields.simhash, page.simhash);
    entry.add_u64(fields.tie, tie(&page.url));
    if let Some(until) = page.until_micros {
        entry.add_i64(fields.until, until);
    }
    entry.add_bytes(fields.page, &record::pack(page)?);
    Ok(entry)
}

/// The hash by which a page and its repute find each other. Two URLs with the same one are less likely than
/// a disk that lies.
pub(crate) fn tie(url: &str) -> u64 {
    xxh3_64(url.as_bytes())
}

/// The document of what others say of a page; none where they say nothing.
pub(crate) fn repute(
    fields: &Fields,
    tie: u64,
    language: &str,
    repute: &Repute,
) -> Option<TantivyDocument> {
    if repute.is_empty() {
        return None;
    }
    let mut entry = TantivyDocument::default();
    for text in repute.anchors.iter().filter(|text| !text.is_empty()) {
        entry.add_text(fields.texts[ANCHORS], marked(language, text));
    }
    entry.add_u64(fields.of, tie);
    entry.add_f64(fields.rank, f64::from(repute.rank));
    entry.add_u64(fields.mark, repute.mark());
    Some(entry)
}

/// The document of another address with the same text: kept, listed, found by nothing else.
pub(crate) fn alias(fields: &Fields, page: &Page) -> Result<TantivyDocument, SearchError> {
    let mut entry = TantivyDocument::default();
    entry.add_text(fields.url, &page.url);
    entry.add_u64(fields.alias_of, page.short_digest());
    entry.add_bytes(fields.page, &record::pack(page)?);
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
fn spelt_out(url: &str) -> String {
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
