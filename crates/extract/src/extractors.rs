//! All extractors, and the choice among them.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use teia_base::{Flags, LinkKind, MediaType, Rel};

use crate::gunzip;
use crate::html::refresh;
use crate::link_header;
use crate::links::Links;
use crate::marks;
use crate::sniff;
use crate::{Css, Extracted, Extractor, Feed, Html, Limits, PlainText, Sitemap, Source};

/// Reads a body with the first extractor that accepts what it is, and the headers of any.
#[derive(Debug)]
pub struct Extractors {
    extractors: Vec<Box<dyn Extractor>>,
    limits: Limits,
}

impl Default for Extractors {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Extractors {
    /// The usual ones: HTML, style sheets, feeds, sitemaps, plain text.
    pub fn new(limits: Limits) -> Self {
        let extractors: Vec<Box<dyn Extractor>> = vec![
            Box::new(Html),
            Box::new(Css),
            Box::new(Feed),
            Box::new(Sitemap),
            Box::new(PlainText),
        ];
        Self { extractors, limits }
    }

    /// Adds one that is asked before the others.
    #[must_use]
    pub fn with(mut self, extractor: impl Extractor + 'static) -> Self {
        self.extractors.insert(0, Box::new(extractor));
        self
    }

    /// Whether a body of this type is read, unless it is plainly something else.
    pub fn accepts(&self, declared: &MediaType) -> bool {
        self.find(declared).is_some()
    }

    /// Whether anything is read of a body that begins so, beside its headers. What is not read need not be
    /// unpacked; [`Extractors::extract`] says the same of its beginning as of all of it.
    pub fn reads(&self, declared: Option<&MediaType>, start: &[u8]) -> bool {
        if gunzip::is_gzip(start) {
            return self.reads_inside(declared, start);
        }
        let read_as = sniff::sniff(declared, start);
        read_as.is_some_and(|media_type| self.find(&media_type).is_some())
    }

    /// Reads what it can, and never panics: an extractor that does is flagged `PARSE_CRASH`.
    pub fn extract(&self, source: &Source<'_>) -> Extracted {
        let mut extracted = catch_unwind(AssertUnwindSafe(|| self.extract_body(source)))
            .unwrap_or_else(|_| Extracted {
                media_type: source.media_type.cloned(),
                flags: Flags::PARSE_CRASH,
                ..Extracted::default()
            });
        self.read_headers(source, &mut extracted);
        let length = extracted.text.len();
        for text in [
            &mut extracted.text,
            &mut extracted.title,
            &mut extracted.description,
        ] {
            marks::limit(text);
        }
        if extracted.text.len() != length {
            extracted.forget_margins();
        }
        extracted.headings.iter_mut().for_each(marks::limit);
        for link in &mut extracted.links {
            marks::limit(&mut link.anchor);
        }
        extracted
    }

    fn extract_body(&self, source: &Source<'_>) -> Extracted {
        if !gunzip::is_gzip(source.body) {
            return self.extract_plain(source);
        }
        let declared = textual(source.media_type);
        if !self.reads_inside(source.media_type, source.body) {
            return Extracted {
                media_type: sniff::sniff(source.media_type, source.body),
                ..Extracted::default()
            };
        }
        let opened = gunzip::open(source.body, &self.limits);
        let inner = Source {
            body: &opened.body,
            media_type: declared,
            ..source.clone()
        };
        let mut extracted = self.extract_plain(&inner);
        if !opened.complete {
            extracted.flags.add(Flags::DECODE_PARTIAL);
        }
        if declared.is_none() {
            extracted.media_type = sniff::sniff(source.media_type, source.body);
        }
        extracted
    }

    /// Whether what is inside of a gzip file is read. A glance: most gzip files are none of ours.
    fn reads_inside(&self, declared: Option<&MediaType>, file: &[u8]) -> bool {
        let declared = textual(declared);
        let glance = gunzip::open(
            file,
            &Limits {
                sitemap_bytes: 4 << 10,
                ..self.limits.clone()
            },
        );
        let inside = sniff::sniff(declared, &glance.body);
        inside.as_ref().is_some_and(|media_type| {
            declared.is_some()
                || media_type.is_xml() && !media_type.is_html()
                || media_type.essence() == "text/plain" && PlainText::is_list(&glance.body)
        })
    }

    fn extract_plain(&self, source: &Source<'_>) -> Extracted {
        let read_as = sniff::sniff(source.media_type, source.body);
        let reported = sniff::reported(source.media_type, read_as.as_ref());
        let extractor = read_as
            .as_ref()
            .and_then(|media_type| self.find(media_type));
        let mut extracted = extractor.map_or_else(Extracted::default, |extractor| {
            let source = Source {
                media_type: read_as.as_ref(),
                ..source.clone()
            };
            extractor.extract(&source, &self.limits)
        });
        extracted.media_type = reported;
        extracted
    }

    fn find(&self, media_type: &MediaType) -> Option<&dyn Extractor> {
        self.extractors
            .iter()
            .map(AsRef::as_ref)
            .find(|extractor| extractor.accepts(media_type))
    }

    /// `X-Robots-Tag`, `Link`, `Refresh` and `Content-Language` hold for every type.
    fn read_headers(&self, source: &Source<'_>, extracted: &mut Extracted) {
        for value in source.robots_headers {
            extracted.robots.add_header(value, source.robot_token);
        }
        if extracted.language.is_none() {
            extracted.language = source.content_language.and_then(crate::extracted::language);
        }
        let left = self
            .limits
            .links_per_page
            .saturating_sub(extracted.links.len());
        let mut links = Links::new(left);
        for value in source.link_headers {
            let canonical = link_header::read(value, source.url, &mut links);
            extracted.canonical = extracted.canonical.take().or(canonical);
        }
        if let Some(reference) = source.refresh_header.and_then(refresh::reference) {
            links.add(Cow::Borrowed(reference), LinkKind::Refresh, Rel::default());
        }
        for link in links.resolve(source.url) {
            let known = extracted
                .links
                .iter()
                .any(|known| known.kind == link.kind && known.url == link.url);
            if !known {
                extracted.links.push(link);
            }
        }
    }
}

/// The declared type, if it is one of text.
fn textual(declared: Option<&MediaType>) -> Option<&MediaType> {
    declared.filter(|media_type| sniff::is_textual(media_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    #[derive(Debug)]
    struct Crashing;

    impl Extractor for Crashing {
        fn accepts(&self, _: &MediaType) -> bool {
            true
        }

        fn extract(&self, _: &Source<'_>, _: &Limits) -> Extracted {
            panic!("as asked")
        }
    }

    #[test]
    fn a_panic_is_a_flag() {
        let url = Url::parse("http://a.example/").unwrap();
        let extracted = Extractors::default()
            .with(Crashing)
            .extract(&Source::new(&url, b"x"));
        assert!(extracted.flags.has(Flags::PARSE_CRASH));
    }

    #[test]
    fn headers_count_for_every_type() {
        let url = Url::parse("http://a.example/x.pdf").unwrap();
        let headers = ["<y>; rel=canonical".to_owned()];
        let robots = ["noindex".to_owned()];
        let mut source = Source::new(&url, b"%PDF-1.7");
        source.link_headers = &headers;
        source.robots_headers = &robots;
        source.refresh_header = Some("0;url=/z");
        source.content_language = Some("pt, en");
        let extracted = Extractors::default().extract(&source);
        assert_eq!(extracted.media_type.unwrap().essence(), "application/pdf");
        assert_eq!(extracted.canonical.as_deref(), Some("http://a.example/y"));
        assert!(extracted.robots.noindex);
        assert_eq!(extracted.language.as_deref(), Some("pt"));
        let kinds: Vec<_> = extracted
            .links
            .iter()
            .map(|link| (link.kind, link.url.as_str()))
            .collect();
        assert_eq!(
            kinds,
            [
                (LinkKind::Header, "http://a.example/y"),
                (LinkKind::Refresh, "http://a.example/z")
            ]
        );
    }
}
