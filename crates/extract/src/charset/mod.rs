//! Bytes to text: which charset, and the decoding.
//!
//! ```text
//! byte order mark ──> label of the media type ──> label in the document ──> detection
//! ```
//!
//! The first that answers decides, as in browsers; the flag `CHARSET_FALLBACK` says that it was
//! detection, or that the bytes are not what their label says. The text is always valid UTF-8,
//! and is the body itself, uncopied, where that is so already.

mod prescan;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};
use teia_base::{CharsetSource, Flags, MediaType};

use crate::{Extracted, Source};

/// How much of a body detection looks at: more does not change its mind.
const DETECTED_BYTES: usize = 256 << 10;

/// Where documents of a language say their charset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// `<meta>`.
    Html,
    /// The XML declaration; UTF-8 unless said.
    Xml,
    /// `@charset`; UTF-8 unless said.
    Css,
    /// Nowhere.
    Plain,
}

/// A body as text.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    encoding: &'static Encoding,
    source: CharsetSource,
    flags: Flags,
    media_type: Option<MediaType>,
}

impl<'a> Decoded<'a> {
    pub(crate) fn new(source: &Source<'a>, language: Language) -> Self {
        let body = source.body;
        let mut flags = Flags::default();
        let Choice {
            encoding,
            mark_length,
            source: who,
            is_expected,
        } = choose(source, language);
        let body = &body[mark_length..];
        let is_ascii = encoding.is_ascii_compatible() && body.is_ascii();
        if who == CharsetSource::Detected && !is_expected && !is_ascii {
            flags.add(Flags::CHARSET_FALLBACK);
        }
        let text = if encoding == UTF_8 || is_ascii {
            match simdutf8::basic::from_utf8(body) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => {
                    flags.add(Flags::CHARSET_FALLBACK);
                    String::from_utf8_lossy(body)
                }
            }
        } else {
            let (text, malformed) = encoding.decode_without_bom_handling(body);
            if malformed {
                flags.add(Flags::CHARSET_FALLBACK);
            }
            text
        };
        Self {
            text,
            encoding,
            source: who,
            flags,
            media_type: source.media_type.cloned(),
        }
    }

    /// An empty result that says how the text was decoded.
    pub(crate) fn begin(&self) -> Extracted {
        Extracted {
            media_type: self.media_type.clone(),
            charset: Some(self.encoding.name()),
            charset_source: self.source,
            flags: self.flags,
            ..Extracted::default()
        }
    }
}

/// Which encoding, and why.
struct Choice {
    encoding: &'static Encoding,
    /// Bytes of the mark before the text.
    mark_length: usize,
    source: CharsetSource,
    /// Nobody said it, and nobody has to: it is what documents of the language are in unless they say otherwise.
    is_expected: bool,
}

impl Choice {
    fn by(source: CharsetSource, encoding: &'static Encoding) -> Self {
        Self {
            encoding,
            mark_length: 0,
            source,
            is_expected: false,
        }
    }
}

fn choose(source: &Source<'_>, language: Language) -> Choice {
    let body = source.body;
    if let Some((encoding, mark_length)) = Encoding::for_bom(body) {
        return Choice {
            mark_length,
            ..Choice::by(CharsetSource::Bom, encoding)
        };
    }
    if let Some(encoding) = source.charset().and_then(label) {
        return Choice::by(CharsetSource::Http, encoding);
    }
    let declared = match language {
        Language::Html => prescan::html(body),
        Language::Xml => prescan::xml(body),
        Language::Css => prescan::css(body),
        Language::Plain => None,
    };
    if let Some(encoding) = declared {
        return Choice::by(CharsetSource::Meta, encoding);
    }
    if let Some(encoding) = without_mark(body) {
        return Choice::by(CharsetSource::Detected, encoding);
    }
    // Browsers heed a late meta too, and begin anew. It matters only where the text is not UTF-8.
    if language == Language::Html
        && !is_utf8(body, false)
        && let Some(encoding) = prescan::late_html(body)
    {
        return Choice::by(CharsetSource::Meta, encoding);
    }
    // XML and style sheets without a label are in UTF-8; pages are in whatever they are in.
    let utf8_expected = matches!(language, Language::Xml | Language::Css);
    let detected = detect(body, source.top_level_domain());
    Choice {
        is_expected: utf8_expected && detected == UTF_8,
        ..Choice::by(CharsetSource::Detected, detected)
    }
}

/// The encoding of a label. Those that browsers replace by one question mark, for safety, say
/// nothing to us: detection may still find text.
fn label(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.as_bytes()).filter(|&encoding| encoding != REPLACEMENT)
}

/// UTF-16 without a mark, told by the zeros of its ASCII characters.
fn without_mark(body: &[u8]) -> Option<&'static Encoding> {
    let start = &body[..body.len().min(512) & !1];
    if start.len() < 4 {
        return None;
    }
    let zeros = |offset: usize| {
        start
            .iter()
            .skip(offset)
            .step_by(2)
            .filter(|&&byte| byte == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    let many = start.len() / 2 * 4 / 10;
    if odd > many && even == 0 {
        Some(UTF_16LE)
    } else if even > many && odd == 0 {
        Some(UTF_16BE)
    } else {
        None
    }
}

fn detect(body: &[u8], top_level_domain: Option<&str>) -> &'static Encoding {
    let cut = body.len() > DETECTED_BYTES;
    let body = &body[..body.len().min(DETECTED_BYTES)];
    // The usual case, decided many times faster than by the detector. An escape may begin
    // ISO-2022-JP, which is all ASCII.
    if memchr::memchr(0x1b, body).is_none() && is_utf8(body, cut) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(body, !cut);
    let hint = top_level_domain.map(str::to_ascii_lowercase);
    // A name in punycode hints at nothing the detector knows, and it takes no others with dots.
    let hint = hint
        .as_deref()
        .filter(|hint| hint.bytes().all(|byte| byte.is_ascii_alphabetic()));
    detector.guess(hint.map(str::as_bytes), Utf8Detection::Allow)
}

fn is_utf8(body: &[u8], cut: bool) -> bool {
    match std::str::from_utf8(body) {
        Ok(_) => true,
        Err(error) => cut && error.error_len().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    #[track_caller]
    fn check(content_type: &str, body: &[u8], charset: &str, text: &str, fallback: bool) {
        let url = Url::parse("http://a.example/").unwrap();
        let media_type = MediaType::parse(content_type);
        let mut source = Source::new(&url, body);
        source.media_type = media_type.as_ref();
        let decoded = Decoded::new(&source, Language::Html);
        assert_eq!(
            (decoded.encoding.name(), decoded.text.as_ref()),
            (charset, text)
        );
        assert_eq!(decoded.flags.has(Flags::CHARSET_FALLBACK), fallback);
    }

    #[test]
    fn a_mark_wins_over_every_label() {
        check(
            "text/html; charset=koi8-r",
            b"\xef\xbb\xbf\xc3\xa9",
            "UTF-8",
            "é",
            false,
        );
        check(
            "text/html; charset=utf-8",
            b"\xff\xfea\0",
            "UTF-16LE",
            "a",
            false,
        );
    }

    #[test]
    fn the_header_wins_over_the_document() {
        let body = b"<meta charset=utf-8>\xe9";
        check(
            "text/html; charset=latin1",
            body,
            "windows-1252",
            "<meta charset=utf-8>é",
            false,
        );
        check(
            "text/html",
            b"<meta charset=latin1>\xe9",
            "windows-1252",
            "<meta charset=latin1>é",
            false,
        );
    }

    #[test]
    fn what_is_not_declared_is_detected_and_flagged() {
        check("text/html", "é".as_bytes(), "UTF-8", "é", true);
        check("text/html", b"abc", "UTF-8", "abc", false);
        check(
            "text/html; charset=utf-7",
            b"+ADw-",
            "UTF-8",
            "+ADw-",
            false,
        );
        check(
            "text/html; charset=utf-8",
            b"a\xff",
            "UTF-8",
            "a\u{fffd}",
            true,
        );
        check(
            "text/html",
            b"<\0p\0>\0a\0b\0c\0",
            "UTF-16LE",
            "<p>abc",
            true,
        );
    }
}
